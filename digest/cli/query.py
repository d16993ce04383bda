"""`digest query` and `digest try`: how a query is read, what it brings, what another wording changes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import click

from digest.cli.add import following_options, plan_addition
from digest.cli.changes import FileChange, open_file, plan_change, saves
from digest.cli.commands import CommandGroup, quote_as_called
from digest.cli.context import NamedQuery, Workbench, opened_store, opened_workbench
from digest.cli.output import (
    Aside,
    Block,
    Part,
    ProgressLines,
    answers,
    cut,
    find_width,
    labelled,
    mark_ours,
    say,
    shows_colors,
    style,
    table,
)
from digest.cli.status import write_brief
from digest.config import edits, find_config, read_environment
from digest.inspect.here import Here
from digest.inspect.preview import describe_found, note_found, try_query
from digest.inspect.queries import (
    MATCH_SPAN,
    ChangedPaper,
    DaySpan,
    QueryList,
    QueryReading,
    Rewording,
    compare_wordings,
    find_stored,
    list_queries,
    list_submission_days,
    read_query,
    search_days,
)
from digest.model.clock import write_day, write_with_zone
from digest.model.errors import QueryError, UsageError
from digest.model.messages import Digest
from digest.model.numbers import count
from digest.query import Or
from digest.query.description import guess_person
from digest.query.tree import Prefix, walk_conditions
from digest.render.renderer import Renderer
from digest.render.terminal import write_papers
from digest.tex import to_plain

_WIDEST_TEXT, _LONGEST_HEADING = 60, 160
_LEFT = 14
"""Columns that an id takes beside a title."""


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
        place = QueryError(
            text=reading.pasted_as or reading.query, position=note.position
        ).pointer()
        lines += [(style("note", fg="yellow"), style(note.message, fg="yellow")), ("", place)]
    volume = "Not known: the last days are not stored. `digest try` asks arXiv."
    if reading.span is not None and reading.checked_at is not None:
        volume = f"{reading.volume}\n{describe_span(reading.span, reading.here)}. Stored here, last checked"
        volume += f" {write_with_zone(reading.checked_at, reading.here.zone, reading.here.now)}."
    yield labelled([*lines, ("volume", volume)], is_bold=False)
    if reading.papers:
        yield Block(
            mark_ours(write_papers(reading.papers, width=find_width(), color=shows_colors()))
        )


def describe_span(span: DaySpan, here: Here) -> str:
    """Say on which days papers were submitted."""
    whole, begun, today = span.whole, span.begun, here.now
    days = f"Submitted on {count(len(whole), 'day')}"
    days += f", {write_day(whole[0], today)} to {write_day(whole[-1], today)} (UTC)"
    return days + (f", and so far on the {count(len(begun), 'day')} since" if begun else "")


@command.command()
@click.argument("text", metavar="NAME|QUERY")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="How many papers, the newest.",
)
@answers(_show_reading)
@click.pass_context
def show(ctx: click.Context, text: str, *, limit: int) -> QueryReading:
    """Show how a query is read, what it brings, and what came lately.

    NAME is a saved query. QUERY is a text, or an address of an arXiv search. Nothing is asked of arXiv: what
    is counted is stored here.
    """
    with opened_workbench(ctx) as bench:
        name, query = bench.find_query(text, others=())
        found = find_stored(
            bench.store, query, bench.here.now, MATCH_SPAN.days, ProgressLines(quiet=True)
        )
        return read_query(name, query, bench.config.subscriptions, found, bench.here, limit=limit)


@command.command()
@click.argument("name")
@saves()
@click.pass_context
def remove(ctx: click.Context, name: str) -> FileChange:
    """Remove the saved query NAME from digest.toml."""
    file = open_file(ctx)
    return plan_change(file, edits.remove_query(file.text, name).encode(), is_removal=True)


@dataclass(frozen=True, slots=True)
class Trial:
    """What a query brings: its first digest, what its author should know, and how much it is, in words.

    `follow` says how to get new papers from now on; "" if they are saved for already.
    """

    query: str
    notes: tuple[str, ...]
    digest: Digest
    volume: str
    follow: str
    change: FileChange | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one query gains and loses against another among papers of some days."""

    here: Here
    old: str
    new: str
    span: DaySpan
    checked_at: datetime | None
    papers: Rewording
    limit: int


def _show_answer(trial: Trial | Comparison) -> Iterator[Part]:
    if isinstance(trial, Comparison):
        yield from _show_comparison(trial)
        return
    digest = trial.digest
    yield from (Aside(f"note: {note}") for note in trial.notes)
    text = Renderer().render_terminal(
        digest, width=find_width(), color=shows_colors(), limit=digest.shown
    )
    yield Block(mark_ours(text))
    yield f"Volume: {trial.volume}."
    if not digest.entries and (person := guess_person(trial.query)):
        yield quote_as_called(f"For a person's papers: `digest try {shlex.quote(person)}`")
    yield from [trial.follow] * bool(trial.follow)


def _show_comparison(compared: Comparison) -> Iterator[Part]:
    here, moved = compared.here, compared.papers
    for sign, asked in (("−", compared.old), ("+", compared.new)):
        yield f"{sign} {asked}"
    source = "From arXiv's search."
    if compared.checked_at is not None:
        source = f"Stored here, last checked {write_with_zone(compared.checked_at, here.zone, here.now)}."
    yield f"{describe_span(compared.span, here)}. {source}"
    numbers = f"{len(moved.lost):,} lost, {len(moved.kept):,} kept"
    yield style(f"\n{count(len(moved.gained), 'paper')} gained, {numbers}", bold=True)
    yield from _show_side("+", "green", moved.gained, "old", compared.limit)
    yield from _show_side("−", "red", moved.lost, "new", compared.limit)


def _show_side(
    sign: str, color: str, moved: Sequence[ChangedPaper], other: str, most: int
) -> Iterator[Part]:
    lines = []
    for one in moved[:most]:
        title = cut(to_plain(one.paper.title), find_width() - _LEFT)
        why = cut(
            f"by {', '.join(one.met)}; for the {other} one it {one.why_not}",
            2 * (find_width() - _LEFT),
        )
        lines.append(
            (f"{style(sign, fg=color)} {one.paper.id}", f"{title}\n{style(why, dim=True)}")
        )
    if lines:
        yield labelled(lines, is_bold=False)
    if len(moved) > most:
        yield f"{sign} … {len(moved) - most:,} more (--limit {len(moved)}, or --json)"


@click.command("try")
@click.argument("text", metavar="QUERY")
@click.option(
    "--days",
    type=click.IntRange(1, 366),
    help="How many days back; 7 by default and at least 15 papers, 30 with --against.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="How many papers to print.",
)
@click.option(
    "--against", "old", metavar="OLD", help="Show what QUERY gains and loses against the query OLD."
)
@click.option(
    "--save",
    "name",
    metavar="NAME",
    help="Save QUERY and a subscription in digest.toml, by this name.",
)
@following_options
@saves(_show_answer)
@click.pass_context
def command_try(
    ctx: click.Context,
    /,
    text: str,
    *,
    days: int | None,
    limit: int,
    old: str | None,
    name: str | None,
    **following: Any,  # noqa: ANN401 - as `following_options` gives
) -> Trial | Comparison:
    """See what QUERY would bring. Nothing is stored, nothing is sent.

    QUERY and OLD are a saved query's name, a text, or an address of an arXiv search.

    With --save it then goes into digest.toml; `digest add --help` says how.

    \b
    digest try "cat:cs.PF AND abs:GPU"
    digest try 'ti:"tail latency" ANDNOT cat:cs.NI' --save tail
    digest try 'cat:cs.PF AND abs:(GPU OR CUDA)' --against gpu
    """  # noqa: D301 - click reads the backspace, which must be one
    if name is None and (any(following.values()) or ctx.params["yes"] or ctx.params["dry_run"]):
        raise UsageError("nothing is saved without --save", hint="Add --save NAME.")
    if name is not None and old is not None:
        raise UsageError("--against only compares", hint="Leave out --save, or --against.")
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text)
        if old is not None:
            return _compare(bench, bench.find_query(old), asked, days or 30, limit)
        query = asked.query
        change = plan_addition(ctx, query, name, **following) if name is not None else None
        with bench.asking() as client:
            say(f"asking arXiv for {query.text} …", err=True)
            digest = try_query(client, bench.clock, query, days=days or 7, show=limit)
    follow = ""
    if change is None:
        is_set_up = find_config(ctx.obj["config_path"], read_environment()).exists()
        follow = "To get new ones from now on, add --save NAME to this command."
        follow = (
            follow
            if is_set_up
            else f"To get new ones from now on: `digest init --query {shlex.quote(text)}`"
        )
        follow = (
            f"This brings nothing: {query.futility}." if query.futility else quote_as_called(follow)
        )
    own = (
        [note.message for note in query.notes] if change is None else []
    )  # else the change has them
    return Trial(
        query=query.text,
        notes=(*own, *note_found(query, digest)),
        digest=digest,
        volume=describe_found(digest),
        follow=follow,
        change=change,
    )


def _compare(
    bench: Workbench, old: NamedQuery, new: NamedQuery, days: int, limit: int
) -> Comparison:
    """Compare two queries over the same days: those that are stored, or as arXiv's search has them."""
    either, progress = Or((old.query.tree, new.query.tree)), ProgressLines()
    asked = list_submission_days(bench.here.now, days)
    found = find_stored(bench.store, either, bench.here.now, days, progress)
    if found is None or found.span.dates[0] > asked.dates[0]:
        if any(condition.prefix is Prefix.LICENCE for condition in walk_conditions(either)):
            say(
                "note: arXiv's search gives no licences, so each paper counts as one without.",
                err=True,
            )
        with bench.asking() as client:
            found = search_days(client, either, asked, progress)
    for note in new.query.notes:
        say(f"note: {note.message}", err=True)
    before, after = (
        f"{one.name}  {cut(one.query.text, _LONGEST_HEADING)}".lstrip() for one in (old, new)
    )
    return Comparison(
        here=bench.here,
        old=before,
        new=after,
        span=found.span,
        checked_at=found.checked_at,
        papers=compare_wordings(old.query, new.query, found.papers),
        limit=limit,
    )
