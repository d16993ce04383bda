"""`digest query preview` and `diff`: what a query, or another wording of it, brings."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import click

from digest import tex
from digest.cli.context import file_option, opened_workbench, read_query
from digest.cli.output import Lines, cut, draw_bars, json_option, print_json, shows_colors
from digest.inspect.preview import find_stored, find_stored_days, search_days
from digest.inspect.query_volume import (
    DaySpan,
    compare_wordings,
    count_days,
    describe_volume,
    list_submission_days,
)
from digest.model.announcements import EASTERN, Kind
from digest.model.errors import UsageError, count
from digest.model.messages import DigestEntry
from digest.query import Or, find_reasons
from digest.query.tree import Prefix, walk_conditions
from digest.render.terminal import write_papers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from digest.cli.context import NamedQuery, Workbench
    from digest.inspect.query_volume import Moved
    from digest.model.papers import Paper
    from digest.query import Query


_LONGEST_HEADING = 160
_WIDEST_TITLE = 84
_WIDEST_REASON = 200


class Found(NamedTuple):
    """Papers of some days, the last announced first; `checked_at` is None where arXiv's search was asked."""

    span: DaySpan
    papers: list[Paper]
    checked_at: datetime | None

    def describe_source(self) -> str:
        """Say which days were looked at, and where the papers come from."""
        whole, begun = self.span.whole, self.span.begun
        days = f"submitted on {count(len(whole), 'day')}, {whole[0]:%a %-d %b} to {whole[-1]:%a %-d %b} (UTC)"
        days += f", and so far on the {count(len(begun), 'day')} since" if begun else ""
        if self.checked_at is None:
            return f"{days}; from arXiv's search"
        return f"{days}; stored here, last looked at {self.checked_at.astimezone(EASTERN):%a %-d %b %H:%M} ET"

    def as_json(self) -> dict[str, object]:
        """Return the days and where they come from."""
        return {
            "source": "arxiv" if self.checked_at is None else "store",
            "checked_at": self.checked_at,
            "days": self.span.whole,
            "days_begun": self.span.begun,
        }


def _looking_back(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say which papers are looked at."""
    for option in (
        file_option,
        click.option(
            "--days", type=click.IntRange(1, 366), default=30, show_default=True, help="How far to look back."
        ),
        click.option(
            "--from",
            "source",
            type=click.Choice(["store", "arxiv"]),
            help="Only what is stored, as far back as it reaches; or arXiv's search. By itself: the store where it"
            " reaches back far enough, else arXiv.",
        ),
        json_option,
    ):
        command = option(command)
    return command


@click.command()
@click.argument("text", metavar="[QUERY]", required=False)
@click.option("--papers", type=click.IntRange(0), default=5, show_default=True, help="How many papers to print.")
@_looking_back
@click.pass_context
def preview(
    ctx: click.Context,
    text: str | None,
    *,
    papers: int,
    path: str | None,
    days: int,
    source: str | None,
    as_json: bool,
) -> None:
    """Show how much QUERY brings, and a sample.

    QUERY is a saved query's name, or a query. Nothing is stored or sent. Counted are new papers, by their day of
    submission.

    \b
    digest query preview gpu
    digest query preview 'cat:cs.PF AND abs:GPU' --days 14
    digest query preview --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(read_query(text, path, "preview"))
        found = _gather(bench, asked.query, days, source, quiet=as_json)
    counts, volume = count_days(found.span, found.papers), describe_volume(found.span, found.papers)
    if as_json:
        print_json(
            {
                **_name(asked),
                **found.as_json(),
                "volume": volume,
                "papers_by_day": {day.isoformat(): number for day, number in counts.items()},
                "papers": [_paper_as_json(asked.query, paper) for paper in found.papers],
            }
        )
        return
    _print_heading(asked)
    click.echo(found.describe_source())
    if found.papers:
        click.echo(draw_bars([counts[day] for day in found.span.dates]))
    click.echo(click.style(volume, bold=True))
    if papers and found.papers:
        shown, total = found.papers[:papers], len(found.papers)
        which = f"the newest {papers} of {total:,}" if total > papers else "all of them"
        click.echo(f"\n{click.style(which, bold=True)}")
        _print_papers(asked.query, shown)


def _gather(bench: Workbench, query: Query | Or, days: int, source: str | None, *, quiet: bool) -> Found:
    """Return what a query brings of the last days, from the store or from arXiv.

    Raises:
        UsageError: what is stored was asked for, and nothing of these days is.
    """
    progress, asked = Lines(quiet=quiet), list_submission_days(bench.now, days)
    if bench.store is not None and source != "arxiv":
        with bench.store.read() as conn:
            stored = find_stored_days(conn, bench.now, days)
            if stored is not None and (source == "store" or stored[0].dates[0] <= asked.dates[0]):
                span, checked_at = stored
                return Found(span, find_stored(conn, query, span, progress), checked_at)
    if source == "store":
        raise UsageError(
            f"nothing of the last {days} days is stored here{f': {bench.why_not}' if bench.why_not else ''}",
            hint="Only a harvest stores all that is announced: `digest run`. Or ask arXiv: --from arxiv.",
        )
    tree = query if isinstance(query, Or) else query.tree
    if any(condition.prefix is Prefix.LICENCE for condition in walk_conditions(tree)):
        note = "arXiv's search tells no licences, so each paper counts as one without (--from store knows them)"
        click.echo(f"note: {note}", err=True)
    with bench.asking() as client:
        return Found(asked, search_days(client, query, asked, progress), None)


def _print_heading(asked: NamedQuery) -> None:
    """Print a query: its name where it has one, and its text; of a long one the beginning and how long it is."""
    text = cut(asked.query.text, _LONGEST_HEADING)
    if text.endswith("…"):
        text += f" ({count(sum(1 for _ in walk_conditions(asked.query.tree)), 'condition')})"
    click.echo(f"{click.style(asked.name, bold=True)}  {text}" if asked.name else click.style(text, bold=True))


def _print_papers(query: Query, papers: Iterable[Paper]) -> None:
    """Print papers in a few lines each, with what the query met in them marked."""
    entries = [
        DigestEntry(Kind.NEW, paper, "", "", (), find_reasons(query, paper), paper.published) for paper in papers
    ]
    width = min(shutil.get_terminal_size((100, 24)).columns, 110)
    click.echo(write_papers(entries, width=width, color=shows_colors()), nl=False)


def _name(asked: NamedQuery) -> dict[str, object]:
    return {"name": asked.name or None, "query": asked.query.text, "canonical": asked.query.canonical}


def _paper_as_json(query: Query, paper: Paper) -> dict[str, object]:
    """Return what a program wants to know of a paper, and the clauses that are met."""
    return {
        "id": str(paper.id),
        "version": paper.version,
        "title": paper.title,
        "authors": [author.name for author in paper.authors],
        "categories": paper.categories,
        "published": paper.published,
        "url": paper.url,
        "why": [reason.clause for reason in find_reasons(query, paper)],
    }


@click.command()
@click.argument("old")
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "--papers", type=click.IntRange(0), default=15, show_default=True, help="How many papers of each side."
)
@_looking_back
@click.pass_context
def diff(
    ctx: click.Context,
    old: str,
    new: str | None,
    *,
    papers: int,
    path: str | None,
    days: int,
    source: str | None,
    as_json: bool,
) -> None:
    """Show what query NEW gains and loses against query OLD.

    Both are looked at over the same days. Each is a saved query's name, or a query; NEW may come from a file.
    Every paper comes with the clause through which it was gained or lost.

    \b
    digest query diff gpu 'ti:GPU OR abs:GPU OR abs:accelerator'
    digest query diff team --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    with opened_workbench(ctx) as bench:
        before, after = bench.find_query(old), bench.find_query(read_query(new, path, "diff OLD"))
        either = Or((before.query.tree, after.query.tree))
        found = _gather(bench, either, days, source, quiet=as_json)
    rewording = compare_wordings(before.query, after.query, found.papers)
    if as_json:
        print_json(
            {
                "old": _name(before),
                "new": _name(after),
                **found.as_json(),
                "gained": [_moved_as_json(moved, after) for moved in rewording.gained],
                "lost": [_moved_as_json(moved, before) for moved in rewording.lost],
                "kept": [_paper_as_json(after.query, paper) for paper in rewording.kept],
            }
        )
        return
    for sign, side in (("−", before), ("+", after)):
        click.echo(f"{sign} ", nl=False)
        _print_heading(side)
    click.echo(found.describe_source())
    gained, lost, kept = len(rewording.gained), len(rewording.lost), len(rewording.kept)
    click.echo(click.style(f"\n{count(gained, 'paper')} gained, {lost:,} lost, {kept:,} kept", bold=True))
    _print_side("+", "green", rewording.gained, "old", papers)
    _print_side("−", "red", rewording.lost, "new", papers)


def _print_side(sign: str, color: str, moved: Sequence[Moved], other: str, most: int) -> None:
    for one in moved[:most]:
        title = cut(tex.to_plain(one.paper.title), _WIDEST_TITLE)
        click.echo(f"{click.style(sign, fg=color)} {one.paper.id!s:<12}{title}")
        met, failing = cut(", ".join(one.met), _WIDEST_REASON), cut(str(one.failing), _WIDEST_REASON)
        click.echo(click.style(f"  {'':<12}by {met}; for the {other} one it {failing}", dim=True))
    if len(moved) > most:
        click.echo(f"{sign} … {len(moved) - most:,} more (--papers {len(moved)}, or --json)")


def _moved_as_json(moved: Moved, side: NamedQuery) -> dict[str, object]:
    return {**_paper_as_json(side.query, moved.paper), "why_not": str(moved.failing)}
