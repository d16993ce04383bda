"""`digest replay`: the kept pages read once more, and what comes out held against what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from digest.cli.days import Day
from digest.cli.storing import opened_store
from digest.cli.telling import Lines, json_option, print_json
from digest.counting import count
from digest.errors import DigestError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from digest.pipeline.replaying import ReplayReport
    from digest.planning.differences import Difference

_SHOWN = 200
"""Differences printed as text; `--json` has them all."""

_SHOWN_PAPERS = 12

_DAY = Day()


@click.command()
@click.option("--from", "since", type=_DAY, metavar="DATE", help="First UTC day; without, the oldest kept page's.")
@click.option("--to", "until", type=_DAY, metavar="DATE", help="Last UTC day; without, today.")
@click.option(
    "--keep", type=click.Path(path_type=Path), metavar="FILE", help="A new SQLite file for what comes out."
)
@json_option
@click.pass_context
def command(
    ctx: click.Context, *, since: datetime | None, until: datetime | None, keep: Path | None, as_json: bool
) -> None:
    """Read the pages that are kept once more, and see that they make the changes that were recorded.

    Every look at arXiv that started in these days is parsed and compared again, in a store of its own: the
    installation's is only read, and its list of changes only to be held against what came out. Where something
    differs, it is named, and the exit code is 1.
    """
    from digest.pipeline.replaying import replay  # noqa: PLC0415 - the stack is loaded by the command that needs it

    first, last = since.date() if since else None, until.date() if until else None
    if first is not None and last is not None and first > last:
        raise UsageError(f"{first} is later than {last}", hint="--from names the earlier day, --to the later one.")
    progress = Lines(quiet=as_json)
    with opened_store(ctx) as here:
        progress.begin("replay", _name_span(first, last))
        report = replay(here.store, since=first, until=last, keep=keep, progress=progress)
        progress.end("replay", f"{report.pages:,} pages read again")
    if as_json:
        print_json(_as_json(report, keep))
    else:
        _tell(report, keep)
    if not report.is_equal:
        raise DigestError(
            f"{count(len(report.differences), 'difference')} between what was recorded and what comes out now",
            hint="A parser or the comparing has changed since, or the database was damaged or edited.",
        )


def _name_span(first: date | None, last: date | None) -> str:
    start = f"looks since {first}" if first else "looks whose pages are kept"
    return f"{start} until {last}" if last else start


def _tell(report: ReplayReport, keep: Path | None) -> None:
    if report.pages or report.differences:
        outcome = "all as recorded" if report.is_equal and not report.untold else _count_differing(report)
        replayed = f"{count(report.runs, 'run')}, {count(report.pages, 'page')}, {count(report.papers, 'paper')}"
        click.echo(f"replayed {replayed}: {count(report.changes, 'change')}, {outcome}")
    else:
        click.echo("nothing to replay: no page of a look in these days is kept")
    _tell_forgotten(report)
    _tell_differences(report.differences, "")
    _tell_differences(report.untold, "can't be told: ")
    if report.unsure:
        names = sorted(report.unsure)
        shown = ", ".join(names[:_SHOWN_PAPERS]) + (
            f" and {len(names) - _SHOWN_PAPERS:,} more" * (len(names) > _SHOWN_PAPERS)
        )
        click.echo(f"not known for sure in which state before these looks: {shown}")
    if keep is not None:
        click.echo(f"what came out is in {keep}")


def _count_differing(report: ReplayReport) -> str:
    untold = f"{len(report.untold):,} can't be told" if report.untold else ""
    differing = count(len(report.differences), "difference") if report.differences else ""
    return ", ".join(filter(None, (differing or "nothing contradicts what was recorded", untold)))


def _tell_forgotten(report: ReplayReport) -> None:
    """Name the runs before the first that could be replayed, in spans of the same reason."""
    spans: list[tuple[int, int, str]] = []
    for run, reason in report.plan.forgotten:
        if spans and spans[-1][2] == reason:
            spans[-1] = (spans[-1][0], run.id, reason)
        else:
            spans.append((run.id, run.id, reason))
    for first, last, reason in spans:
        runs = f"run {first}" if first == last else f"runs {first} to {last}"
        click.echo(f"not replayed: {runs} ({reason}); what they brought is taken as known")


def _tell_differences(differences: Sequence[Difference], label: str) -> None:
    for difference in differences[:_SHOWN]:
        name = difference.name if difference.subject == "page" else f"{difference.subject} {difference.name}"
        doubt = f" ({difference.doubt})" if difference.doubt else ""
        click.echo(
            f"{label}run {difference.run_id}, {name}: "
            f"recorded {difference.recorded}; comes out {difference.replayed}{doubt}"
        )
    if len(differences) > _SHOWN:
        click.echo(f"{label}{len(differences) - _SHOWN:,} more (--json has them all)")


def _as_json(report: ReplayReport, keep: Path | None) -> dict[str, Any]:
    return {
        "is_equal": report.is_equal,
        "runs": report.runs,
        "pages": report.pages,
        "papers": report.papers,
        "changes": report.changes,
        "not_replayed": [
            {"run": run.id, "started_at": run.started_at, "why": reason} for run, reason in report.plan.forgotten
        ],
        "differences": [_difference_as_json(difference) for difference in report.differences],
        "untold": [{**_difference_as_json(difference), "why": difference.doubt} for difference in report.untold],
        "unsure": [
            {"paper": paper, "run": doubt.run_id, "why": doubt.reason} for paper, doubt in report.unsure.items()
        ],
        "kept": str(keep) if keep else None,
    }


def _difference_as_json(difference: Difference) -> dict[str, Any]:
    return {
        "run": difference.run_id,
        "what": difference.subject,
        "name": difference.name,
        "recorded": difference.recorded,
        "replayed": difference.replayed,
    }
