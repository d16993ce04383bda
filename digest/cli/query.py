"""`digest query` and `digest try`: how a query is read, what it brings, what other words change."""

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
    echo_folded,
    find_width,
    labelled,
    mark_ours,
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
    QueryStatus,
    Rewording,
    add_found,
    add_matches,
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
from digest.query import Or, Query
from digest.query.description import guess_person
from digest.query.tree import Prefix, walk_conditions
from digest.render.renderer import Renderer
from digest.render.terminal import write_papers
from digest.tex import to_plain

_WIDEST_TEXT = 60
_LONGEST_HEADING = 160
_ID_COLUMNS = 14
"""Columns that an id takes, to the left of a title."""


@click.group(cls=CommandGroup)
def command() -> None:
    """Saved queries: list them, and show how one is read and what it brings."""


def _show_list(listed: QueryList) -> Iterator[Part]:
    rows = [_describe_query(query) for query in listed.queries]
    pending = listed.edited  # a sentence about edits that no run took over yet
    empty = pending or "No queries yet. `digest add` adds one, then `digest run`."
    yield table(("QUERY", "TEXT", "NEW PAPERS", "SUBSCRIPTIONS"), rows, empty=empty)
    if rows and pending:
        yield f"\n{pending}"
    for query in listed.queries:
        if not query.problem:
            continue
        yield f"\n{query.name} can't be read: {query.problem}"
        if query.canonical:
            before = cut(query.canonical, _WIDEST_TEXT)
            yield f"Until it is mended, {query.name} goes on as: {before}"


def _describe_query(query: QueryStatus) -> tuple[str, ...]:
    is_named = query.name != query.text  # a query without a name is stored by its text
    name = query.name if is_named else "–"
    volume = write_brief(query.volume) if query.canonical else "unreadable"
    followers = " ".join(query.subscriptions) or "nobody follows it"
    return (name, cut(query.text, _WIDEST_TEXT), volume, followers)


@command.command("list")
@answers(_show_list)
@click.pass_context
def list_(ctx: click.Context) -> QueryList:
    """List the saved queries: what each found, and who follows it."""
    with opened_store(ctx) as bench, bench.store.read() as conn:
        return list_queries(conn, bench.config, bench.here.now)


def _show_reading(reading: QueryReading) -> Iterator[Part]:
    lines = list(_describe_reading(reading))
    for note in reading.notes:
        text = reading.pasted_as or reading.query
        place = QueryError(text=text, position=note.position).pointer()
        lines.append((style("note", fg="yellow"), style(note.message, fg="yellow")))
        lines.append(("", place))
    lines.append(("volume", _describe_volume(reading)))
    yield labelled(lines, is_bold=False)
    if reading.papers:
        text = write_papers(reading.papers, width=find_width(), color=shows_colors())
        yield Block(mark_ours(text))


def _describe_reading(reading: QueryReading) -> Iterator[tuple[str, str]]:
    """Yield how a query was written and how it is read, each below its label."""
    if reading.name:
        is_named = reading.name != reading.query
        label = reading.name if is_named else "query"
        yield label, reading.query
        yield "followed by", ", ".join(reading.subscriptions) or "no subscription"
    yield "read as", "\n".join(reading.outline)
    if reading.pasted_as:
        yield "as a query", reading.pasted_as
    yield "in one form", reading.canonical
    yield "arXiv is asked", reading.arxiv


def _describe_volume(reading: QueryReading) -> str:
    here = reading.here
    if reading.volume is None or reading.checked_at is None:
        return "Not known: the last days are not stored. `digest try` asks arXiv."
    checked = write_with_zone(reading.checked_at, here.zone, here.now)
    if reading.span is not None:
        days = describe_span(reading.span, here)
        return f"{reading.volume}\n{days}. Stored here, last checked {checked}."
    if reading.saved_at is None:
        return (
            f"{reading.volume}\nMatched in the last {MATCH_SPAN.days} days. Last checked {checked}."
        )
    saved = f"since it was saved on {write_day(reading.saved_at, here.now)}"
    return (
        f"{reading.volume}\nMatched {saved}; its first digest is not counted."
        f" Last checked {checked}."
    )


def describe_span(span: DaySpan, here: Here) -> str:
    """Say on which days papers were submitted."""
    whole_days = count(len(span.whole), "day")
    first = write_day(span.whole[0], here.now)
    last = write_day(span.whole[-1], here.now)
    days = f"Submitted on {whole_days}, {first} to {last} (UTC)"
    if span.begun:
        days += f", and so far on the {count(len(span.begun), 'day')} since"
    return days


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

    NAME is a saved query: what it matched in the last 30 days is counted. QUERY is a text, or an
    address of an arXiv search: the papers stored here are counted. Nothing is asked of arXiv.
    """
    with opened_workbench(ctx) as bench:
        name, query = bench.find_query(text, others=())  # refuses a misspelt name
        reading = read_query(name, query, bench.config.subscriptions, bench.here)
        if bench.store is None:
            return reading
        with bench.store.read() as conn:
            known = add_matches(conn, bench.config.arxiv.source, reading, query, limit)
        if known is not None:
            return known
        found = find_stored(
            bench.store, query, bench.here.now, MATCH_SPAN.days, ProgressLines(quiet=True)
        )
        return reading if found is None else add_found(reading, query, found, limit)


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
    """What a query brings: its first digest, notes for its author, and how much it is, in words.

    `follow` says how to get new papers from now on; "" if the query is being saved.
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


def _show_answer(answer: Trial | Comparison) -> Iterator[Part]:
    if isinstance(answer, Comparison):
        yield from _show_comparison(answer)
    else:
        yield from _show_trial(answer)


def _show_trial(trial: Trial) -> Iterator[Part]:
    digest = trial.digest
    for note in trial.notes:
        yield Aside(f"note: {note}")
    text = Renderer().render_terminal(
        digest, width=find_width(), color=shows_colors(), limit=digest.shown
    )
    yield Block(mark_ours(text))
    yield f"Volume: {trial.volume}."
    person = guess_person(trial.query)
    if person and not digest.entries:
        yield quote_as_called(f"For a person's papers: `digest try {shlex.quote(person)}`")
    if trial.follow:
        yield trial.follow


def _show_comparison(compared: Comparison) -> Iterator[Part]:
    here = compared.here
    moved = compared.papers
    yield f"− {compared.old}"
    yield f"+ {compared.new}"
    source = "From arXiv's search."
    if compared.checked_at is not None:
        checked = write_with_zone(compared.checked_at, here.zone, here.now)
        source = f"Stored here, last checked {checked}."
    yield f"{describe_span(compared.span, here)}. {source}"
    gained = count(len(moved.gained), "paper")
    heading = f"\n{gained} gained, {len(moved.lost):,} lost, {len(moved.kept):,} kept"
    yield style(heading, bold=True)
    yield from _show_side("+", "green", moved.gained, "old", compared.limit)
    yield from _show_side("−", "red", moved.lost, "new", compared.limit)


def _show_side(
    sign: str, color: str, papers: Sequence[ChangedPaper], unmet: str, limit: int
) -> Iterator[Part]:
    """Yield the papers that one query brings, and why the `unmet` one, "old" or "new", does not."""
    width = find_width() - _ID_COLUMNS
    mark = style(sign, fg=color)
    lines = []
    for one in papers[:limit]:
        title = cut(to_plain(one.paper.title), width)
        met = ", ".join(one.met)
        why = cut(f"by {met}; for the {unmet} one it {one.why_not}", 2 * width)  # two lines
        text = f"{title}\n{style(why, dim=True)}"
        lines.append((f"{mark} {one.paper.id}", text))
    if lines:
        yield labelled(lines, is_bold=False)
    if len(papers) > limit:
        yield f"{sign} … {len(papers) - limit:,} more (--limit {len(papers)}, or --json)"


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
    is_for_saving = any(following.values()) or ctx.params["yes"] or ctx.params["dry_run"]
    if name is None and is_for_saving:
        raise UsageError("nothing is saved without --save", hint="Add --save NAME.")
    if name is not None and old is not None:
        raise UsageError("--against only compares", hint="Leave out --save, or --against.")
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text)
        if old is not None:
            return _compare(bench, bench.find_query(old), asked, days or 30, limit)
        query = asked.query
        change = None
        if name is not None:
            change = plan_addition(ctx, query, name, **following)
        with bench.asking() as client:
            echo_folded(f"asking arXiv for {query.text} …", err=True)
            digest = try_query(client, bench.clock, query, days=days or 7, show=limit)
    own_notes = []
    follow = ""
    if change is None:  # a change that saves the query shows its notes itself
        own_notes = [note.message for note in query.notes]
        follow = _say_how_to_follow(ctx, text, query)
    return Trial(
        query=query.text,
        notes=(*own_notes, *note_found(query, digest)),
        digest=digest,
        volume=describe_found(digest),
        follow=follow,
        change=change,
    )


def _say_how_to_follow(ctx: click.Context, text: str, query: Query) -> str:
    if query.futility:
        return f"This brings nothing: {query.futility}."
    if find_config(ctx.obj["config_path"], read_environment()).exists():
        return quote_as_called("To get new ones from now on, add --save NAME to this command.")
    start = f"digest init --query {shlex.quote(text)}"
    return quote_as_called(f"To get new ones from now on: `{start}`")


def _compare(
    bench: Workbench, old: NamedQuery, new: NamedQuery, days: int, limit: int
) -> Comparison:
    """Compare two queries over the same days: stored ones, or as arXiv's search has them."""
    either = Or((old.query.tree, new.query.tree))
    progress = ProgressLines()
    wanted = list_submission_days(bench.here.now, days)
    found = find_stored(bench.store, either, bench.here.now, days, progress)
    if found is None or found.span.dates[0] > wanted.dates[0]:  # not all wanted days are stored
        asks_licence = any(one.prefix is Prefix.LICENCE for one in walk_conditions(either))
        if asks_licence:
            note = "note: arXiv's search gives no licences, so each paper counts as one without."
            echo_folded(note, err=True)
        with bench.asking() as client:
            found = search_days(client, either, wanted, progress)
    for remark in new.query.notes:
        echo_folded(f"note: {remark.message}", err=True)
    return Comparison(
        here=bench.here,
        old=_write_heading(old),
        new=_write_heading(new),
        span=found.span,
        checked_at=found.checked_at,
        papers=compare_wordings(old.query, new.query, found.papers),
        limit=limit,
    )


def _write_heading(one: NamedQuery) -> str:
    text = cut(one.query.text, _LONGEST_HEADING)
    return f"{one.name}  {text}".lstrip()
