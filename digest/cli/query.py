"""`digest query`: lists the saved queries, and shows how one is read and what it brings."""

from __future__ import annotations

from collections.abc import Iterator

import click

from digest.cli.changes import FileChange, open_file, plan_change, saves
from digest.cli.commands import CommandGroup
from digest.cli.context import opened_store, opened_workbench
from digest.cli.output import Block, Part, ProgressLines, answers, cut, find_width, labelled, shows_colors, table
from digest.cli.status import write_brief
from digest.config import edits
from digest.inspect.here import Here
from digest.inspect.queries import (
    MATCH_SPAN,
    DaySpan,
    QueryList,
    QueryReading,
    find_stored,
    list_queries,
    read_query,
)
from digest.model.clock import write_day, write_with_zone
from digest.model.errors import QueryError, count
from digest.render.terminal import write_papers

_WIDEST_TEXT = 60


@click.group(cls=CommandGroup)
def command() -> None:
    """Saved queries: list them, and show how one is read and what it brings."""


def _show_list(listed: QueryList) -> Iterator[Part]:
    rows = [
        (
            query.name if query.name != query.text else "–",
            cut(query.text, _WIDEST_TEXT),
            write_brief(query.volume) if query.canonical else "unreadable",
            " ".join(query.subscriptions) or "nobody follows it",
        )
        for query in listed.queries
    ]
    empty = listed.edited or "No queries yet. `digest add` adds one, then `digest run`."
    yield table(("QUERY", "TEXT", "NEW PAPERS", "SUBSCRIPTIONS"), rows, empty=empty)
    if listed.queries and listed.edited:
        yield f"\n{listed.edited}"
    for query in listed.queries:
        if query.problem:
            yield f"\n{query.name} can't be read: {query.problem}"
        if query.problem and query.canonical:
            yield f"Until it is mended, {query.name} goes on as: {cut(query.canonical, _WIDEST_TEXT)}"


@command.command("list")
@answers(_show_list)
@click.pass_context
def list_(ctx: click.Context) -> QueryList:
    """List the saved queries: what each found, and who follows it."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        return list_queries(conn, bench.config, bench.here.now)


def _show_reading(reading: QueryReading) -> Iterator[Part]:
    lines = []
    if reading.name:
        lines = [
            (reading.name if reading.name != reading.query else "query", reading.query),
            ("followed by", ", ".join(reading.subscriptions) or "no subscription"),
        ]
    lines.append(("read as", "\n".join(reading.outline)))
    lines += [("as a query", reading.pasted_as)] if reading.pasted_as else []
    lines += [("in one form", reading.canonical), ("arXiv is asked", reading.arxiv)]
    for note in reading.notes:
        place = QueryError(text=reading.pasted_as or reading.query, position=note.position).pointer()
        lines += [(click.style("note", fg="yellow"), click.style(note.message, fg="yellow")), ("", place)]
    volume = "Not known: the last days are not stored. `digest try` asks arXiv."
    if reading.span is not None and reading.checked_at is not None:
        volume = f"{reading.volume}\n{describe_span(reading.span, reading.here)}. Stored here, last checked"
        volume += f" {write_with_zone(reading.checked_at, reading.here.zone, reading.here.now)}."
    yield labelled([*lines, ("volume", volume)], is_bold=False)
    if reading.papers:
        yield Block(write_papers(reading.papers, width=find_width(), color=shows_colors()).removesuffix("\n"))


def describe_span(span: DaySpan, here: Here) -> str:
    """Say on which days papers were submitted."""
    whole, begun, today = span.whole, span.begun, here.now
    days = f"Submitted on {count(len(whole), 'day')}"
    days += f", {write_day(whole[0], today)} to {write_day(whole[-1], today)} (UTC)"
    return days + (f", and so far on the {count(len(begun), 'day')} since" if begun else "")


@command.command()
@click.argument("text", metavar="NAME|QUERY")
@click.option("--limit", type=click.IntRange(0), default=5, show_default=True, help="How many papers, the newest.")
@answers(_show_reading)
@click.pass_context
def show(ctx: click.Context, text: str, *, limit: int) -> QueryReading:
    """Show how a query is read, what it brings, and what came lately.

    NAME is a saved query. QUERY is a text, or an address of an arXiv search. Nothing is asked of arXiv: what
    is counted is stored here.
    """
    with opened_workbench(ctx) as bench:
        name, query = bench.find_query(text, others=())
        found = find_stored(bench.store, query, bench.here.now, MATCH_SPAN.days, ProgressLines(quiet=True))
        return read_query(name, query, bench.config.subscriptions, found, bench.here, limit=limit)


@command.command()
@click.argument("name")
@saves()
@click.pass_context
def remove(ctx: click.Context, name: str) -> FileChange:
    """Remove the saved query NAME from digest.toml."""
    file = open_file(ctx)
    return plan_change(file, edits.remove_query(file.text, name).encode(), is_removal=True)
