"""`digest query diff`: what another wording of a query would gain and lose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest import tex
from digest.cli.previewing import (
    days_option,
    describe_source,
    find_days,
    paper_as_json,
    print_heading,
    source_option,
)
from digest.cli.telling import Lines, json_option, print_json
from digest.cli.wording import cut
from digest.cli.workbench import file_option, opened_workbench, read_query
from digest.counting import count
from digest.pipeline.previewing import find_stored, search_days
from digest.planning.previews import list_submission_days
from digest.planning.rewordings import compare_wordings
from digest.query import Or

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.cli.previewing import Choice
    from digest.cli.workbench import NamedQuery, Workbench
    from digest.papers import Paper
    from digest.pipeline.previewing import StoredDays
    from digest.pipeline.site import Progress
    from digest.planning.previews import Span
    from digest.planning.rewordings import Moved, Rewording

_WIDEST_TITLE = 84
_WIDEST_REASON = 200


@click.command()
@click.argument("old")
@click.argument("new", metavar="[NEW]", required=False)
@file_option
@days_option
@click.option(
    "--papers", type=click.IntRange(0), default=15, show_default=True, help="How many papers of each side."
)
@source_option
@json_option
@click.pass_context
def diff(
    ctx: click.Context,
    old: str,
    new: str | None,
    *,
    path: str | None,
    days: int,
    papers: int,
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
        choice = find_days(bench, days, source)
        either = Or((before.query.tree, after.query.tree))
        span, found = _gather(bench, either, choice, days, Lines(quiet=as_json))
    rewording = compare_wordings(before.query, after.query, found)
    if as_json:
        print_json(_as_json(before, after, rewording, span, choice.stored))
        return
    _print(before, after, rewording, papers)
    click.echo()
    for line in describe_source(span, choice.stored, bench.now):
        click.echo(line)


def _gather(
    bench: Workbench, either: Or, choice: Choice, days: int, progress: Progress
) -> tuple[Span, list[Paper]]:
    """Return the days looked at, and every paper of them that one of the two may bring."""
    if choice.stored is not None and bench.store is not None:
        with bench.store.read() as conn:
            return find_stored(conn, either, choice.stored, progress)
    span = list_submission_days(bench.now, days)
    with bench.asking(choice.instead) as client:
        found = search_days(client, either, span, progress)
        return span, [paper for paper in found if paper.published.date() in span.dates]


def _print(old: NamedQuery, new: NamedQuery, rewording: Rewording, most: int) -> None:

    for sign, side in (("−", old), ("+", new)):
        click.echo(f"{sign} ", nl=False)
        print_heading(side)
    click.echo()
    if old.query.canonical == new.query.canonical:
        click.echo("Both mean the same, whatever comes.")
    gained, lost, kept = len(rewording.gained), len(rewording.lost), len(rewording.kept)
    summary = f"{count(gained, 'paper')} gained, {lost:,} lost, {kept:,} kept"
    click.echo(click.style(summary, bold=True))
    _print_side("+", "green", rewording.gained, "old", most)
    _print_side("−", "red", rewording.lost, "new", most)


def _print_side(sign: str, color: str, moved: Sequence[Moved], other: str, most: int) -> None:
    for one in moved[:most]:
        title = cut(tex.to_plain(one.paper.title), _WIDEST_TITLE)
        click.echo(f"{click.style(sign, fg=color)} {one.paper.id!s:<12}{title}")
        telling = [clause for clause in one.met if not clause.startswith("NOT ")] or one.met
        met, failing = cut(", ".join(telling), _WIDEST_REASON), cut(str(one.failing), _WIDEST_REASON)
        click.echo(click.style(f"  {'':<12}by {met}; for the {other} one it {failing}", dim=True))
    if len(moved) > most:
        click.echo(f"{sign} … {len(moved) - most:,} more (--papers {len(moved)}, or --json)")


def _as_json(
    old: NamedQuery, new: NamedQuery, rewording: Rewording, span: Span, stored: StoredDays | None
) -> dict[str, object]:
    def show(moved: Moved, side: NamedQuery) -> dict[str, object]:
        failing = {"lacks": moved.failing.lacks, "has": moved.failing.has}
        return {**paper_as_json(side.query, moved.paper), "why_not": failing}

    return {
        "old": {"name": old.name or None, "query": old.query.text, "canonical": old.query.canonical},
        "new": {"name": new.name or None, "query": new.query.text, "canonical": new.query.canonical},
        "is_same": old.query.canonical == new.query.canonical,
        "source": "arxiv" if stored is None else "store",
        "unit": span.unit,
        "days": span.dates,
        "days_begun": span.begun,
        "gained": [show(moved, new) for moved in rewording.gained],
        "lost": [show(moved, old) for moved in rewording.lost],
        "kept": [paper_as_json(new.query, paper) for paper in rewording.kept],
    }
