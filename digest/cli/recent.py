"""What a query brought of the last days, and what another wording of it gains and loses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

import click

from digest import tex
from digest.cli.context import NamedQuery, Workbench
from digest.cli.output import ProgressLines, as_dict, cut, find_width, print_json, print_wrapped, shows_colors
from digest.inspect.preview import find_stored, find_stored_days, search_days
from digest.inspect.query_volume import ChangedPaper, DaySpan, WhyNot, compare_wordings, list_submission_days
from digest.model.announcements import Kind
from digest.model.clock import write_day, write_with_zone
from digest.model.errors import count
from digest.model.messages import DigestEntry
from digest.model.papers import Paper
from digest.query import Or, Query, find_reasons
from digest.query.tree import Prefix, walk_conditions
from digest.render.terminal import write_papers

_LONGEST_HEADING = 160
_LEFT = 14
"""Columns that an id takes beside a title."""


class Found(NamedTuple):
    """Papers of some days, the last announced first; `checked_at` is None where arXiv's search was asked."""

    span: DaySpan
    papers: list[Paper]
    checked_at: datetime | None

    def describe_source(self, zone: tzinfo | None) -> str:
        """Say which days the papers are of, and where they come from."""
        whole, begun, today = self.span.whole, self.span.begun, self.span.dates[-1]
        days = f"Submitted on {count(len(whole), 'day')}"
        days += f", {write_day(whole[0], today)} to {write_day(whole[-1], today)} (UTC)"
        days += f", and so far on the {count(len(begun), 'day')} since" if begun else ""
        if self.checked_at is None:
            return f"{days}. From arXiv's search."
        return f"{days}. Stored here, last checked {write_with_zone(self.checked_at, zone, today)}."

    def as_json(self) -> dict[str, object]:
        """Return the days and where they come from."""
        return {
            "source": "arxiv" if self.checked_at is None else "store",
            "checked_at": self.checked_at,
            "days": self.span.whole,
            "days_begun": self.span.begun,
        }


def gather_stored(bench: Workbench, query: Query | Or, days: int, *, quiet: bool) -> Found | None:
    """Return what is stored of the last days that a query means; None where nothing of them is."""
    if bench.store is None:
        return None
    with bench.store.read() as conn:
        stored = find_stored_days(conn, bench.now, days)
        return stored and Found(
            stored[0], find_stored(conn, query, stored[0], ProgressLines(quiet=quiet)), stored[1]
        )


def _gather(bench: Workbench, either: Or, days: int, *, quiet: bool) -> Found:
    """Return what a query brings of the last days; from arXiv where the store does not reach back so far."""
    asked = list_submission_days(bench.now, days)
    stored = gather_stored(bench, either, days, quiet=quiet)
    if stored is not None and stored.span.dates[0] <= asked.dates[0]:
        return stored
    if any(condition.prefix is Prefix.LICENCE for condition in walk_conditions(either)):
        click.echo("note: arXiv's search gives no licences, so each paper counts as one without.", err=True)
    with bench.asking() as client:
        return Found(asked, search_days(client, either, asked, ProgressLines(quiet=quiet)), None)


def print_heading(asked: NamedQuery, sign: str = "") -> None:
    """Print a query: its name where it has one, and its text; of a long one the beginning and how long it is."""
    text = cut(asked.query.text, _LONGEST_HEADING)
    if text.endswith("…"):
        text += f" ({count(sum(1 for _ in walk_conditions(asked.query.tree)), 'condition')})"
    print_wrapped(f"{sign}{asked.name}" + "  " * bool(asked.name), text)


def print_papers(query: Query, papers: Iterable[Paper]) -> None:
    """Print papers in a few lines each, with what the query met in them marked."""
    entries = [
        DigestEntry(Kind.NEW, paper, "", (), find_reasons(query, paper), paper.published.date())
        for paper in papers
    ]
    click.echo(write_papers(entries, width=find_width(), color=shows_colors()), nl=False)


def name_query(asked: NamedQuery) -> dict[str, object]:
    """Return what a program wants to know of a query."""
    return {"name": asked.name or None, "query": asked.query.text, "canonical": asked.query.canonical}


def paper_as_json(query: Query | None, paper: Paper, why_not: WhyNot | None = None) -> dict[str, object]:
    """Return what a program wants to know of a paper, and the clauses that are met; why another query fails."""
    why = [reason.clause for reason in find_reasons(query, paper)] if query else []
    names = [author.name for author in paper.authors]
    fields = as_dict(paper, "versions", "datestamp") | {"authors": names, "url": paper.url, "why": why}
    return fields | ({"why_not": str(why_not)} if why_not is not None else {})


def compare(
    bench: Workbench, before: NamedQuery, after: NamedQuery, *, days: int, papers: int, as_json: bool
) -> None:
    """Print what one query gains and loses against another over the same days.

    Args:
        papers: how many of each side are printed.
    """
    found = _gather(bench, Or((before.query.tree, after.query.tree)), days, quiet=as_json)
    rewording = compare_wordings(before.query, after.query, found.papers)
    if as_json:
        print_json(
            {
                "old": name_query(before),
                "new": name_query(after),
                **found.as_json(),
                "gained": [paper_as_json(after.query, one.paper, one.why_not) for one in rewording.gained],
                "lost": [paper_as_json(before.query, one.paper, one.why_not) for one in rewording.lost],
                "kept": [paper_as_json(after.query, paper) for paper in rewording.kept],
            }
        )
        return
    print_heading(before, "− ")
    print_heading(after, "+ ")
    print_wrapped("", found.describe_source(bench.zone))
    gained, lost, kept = len(rewording.gained), len(rewording.lost), len(rewording.kept)
    click.echo(click.style(f"\n{count(gained, 'paper')} gained, {lost:,} lost, {kept:,} kept", bold=True))
    _print_side("+", "green", rewording.gained, "old", papers)
    _print_side("−", "red", rewording.lost, "new", papers)


def _print_side(sign: str, color: str, moved: Sequence[ChangedPaper], other: str, most: int) -> None:
    for one in moved[:most]:
        title = cut(tex.to_plain(one.paper.title), find_width() - _LEFT)
        click.echo(f"{click.style(sign, fg=color)} {one.paper.id!s:<12}{title}")
        why = f"by {', '.join(one.met)}; for the {other} one it {one.why_not}"
        print_wrapped(" " * _LEFT, cut(why, 2 * (find_width() - _LEFT)), dim=True)
    if len(moved) > most:
        click.echo(f"{sign} … {len(moved) - most:,} more (--limit {len(moved)}, or --json)")
