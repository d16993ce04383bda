"""`digest query`: how saved queries are read, what they brought, and why a paper matches one or not."""

from __future__ import annotations

import shutil
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import click

from digest import tex
from digest.arxiv.pages import fetch_papers
from digest.cli.commands import CommandGroup
from digest.cli.context import (
    describe_drift,
    file_option,
    opened_store,
    opened_workbench,
    read_query,
    require_name,
)
from digest.cli.output import as_dict, cut, json_option, print_json, print_table, wrap, write_moment
from digest.cli.query_preview import diff, preview
from digest.cli.saving import open_file, plan_change, save_change, saving_options
from digest.cli.subscription import find_excluders
from digest.config import edits
from digest.inspect.query_volume import find_failing
from digest.model.announcements import Kind
from digest.model.errors import UnknownName, UsageError
from digest.model.papers import ArxivId
from digest.query import (
    And,
    Condition,
    Not,
    Or,
    analyse,
    find_reasons,
    matches,
    parse_query,
    to_arxiv,
)
from digest.query.canonical import print_outline, print_tree
from digest.query.queries import find_spans
from digest.render.terminal import quote_places
from digest.render.text import apply_styles
from digest.store import papers as paper_store
from digest.store import queries as query_store
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from digest.cli.context import Installation, NamedQuery, Workbench
    from digest.cli.saving import Manner
    from digest.model.announcements import StoredChange
    from digest.model.papers import Paper
    from digest.query import AnalysedPaper, Node, Query
    from digest.store.queries import QueryRow, StoredQuery


_LABEL = 16
_WIDEST = 84
_LEAD = 24
"""Letters of a long query shown before the place that is meant."""


@click.command()
@click.argument("text", metavar="[QUERY]", required=False)
@file_option
@json_option
@click.pass_context
def check(ctx: click.Context, text: str | None, *, path: str | None, as_json: bool) -> None:
    """Say how QUERY is read, what arXiv is asked, what to look out for.

    QUERY is a saved query's name, a query, or an address of an arXiv search or a part of one.

    \b
    digest query check 'cat:cs.PF AND abs:GPU OR ti:"tail latency"'
    digest query check --file query.txt
    """  # noqa: D301 - click reads the backspace, which must be one
    written = read_query(text, path, "check")
    with opened_workbench(ctx) as bench:
        query = parse_query(bench.saved.get(written, written))
    if as_json:
        print_json(_as_json(query))
    else:
        _print(query)


def _print(query: Query) -> None:
    _print_lines("read as", print_outline(query.tree))
    if query.pasted_as:
        _print_wrapped("as a query", query.pasted_as)
    _print_wrapped("in one form", query.canonical)
    _print_wrapped("arXiv is asked", to_arxiv(query))
    for note in query.notes:
        _print_wrapped("note", note.message, style="yellow")
        _print_lines("", point_at(query.expression, note.position, _WIDEST))


def _print_wrapped(label: str, text: str, *, style: str | None = None) -> None:
    _print_lines(label, wrap(text, _WIDEST), style=style)


def _print_lines(label: str, lines: Sequence[str], *, style: str | None = None) -> None:
    for number, line in enumerate(lines):
        name = f"{'' if number else label:<{_LABEL}}"
        click.echo(f"{click.style(name, fg=style) if style else name}{line}".rstrip())


def point_at(text: str, position: int, width: int) -> list[str]:
    """Return a text on one line with a caret below a place; of a longer text the part around it."""
    line = "".join(" " if letter.isspace() else letter for letter in text)
    place = min(position, len(line))
    start, end = 0, len(line)
    if len(line) > width:
        start = max(0, min(place - _LEAD, len(line) - width))
        end = min(len(line), start + width)
    before, behind = "…" if start else "", "…" if end < len(line) else ""
    return [f"{before}{line[start:end]}{behind}", f"{' ' * (len(before) + place - start)}^"]


def _as_json(query: Query) -> dict[str, object]:
    return {
        "text": query.text,
        "pasted_as": query.pasted_as or None,
        "read_as": print_tree(query.tree),
        "outline": print_outline(query.tree),
        "canonical": query.canonical,
        "arxiv": to_arxiv(query),
        "notes": query.notes,
    }


_NARROWEST = 40
_MOST_PLACES = 3
_WIDEST_EXPLAINING = 96


@click.command()
@click.argument("query_text", metavar="QUERY")
@click.argument("paper_id", metavar="PAPER")
@click.option("--offline", is_flag=True, help="Only papers that are stored; ask arXiv for none.")
@json_option
@click.pass_context
def explain(ctx: click.Context, query_text: str, paper_id: str, *, offline: bool, as_json: bool) -> None:
    """Say why PAPER matches QUERY, or which clause fails.

    QUERY is a saved query's name, or a query; PAPER an id or an address. A paper that is not stored is
    asked of arXiv.

    \b
    digest query explain perf 2611.15012
    digest query explain 'cat:cs.PF AND abs:GPU' https://arxiv.org/abs/2611.15012
    """  # noqa: D301 - click reads the backspace, which must be one
    id_ = read_paper_id(paper_id, query_text, "digest query explain QUERY PAPER")
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(query_text)
        paper, is_stored = _find_paper(bench, id_, offline=offline)
        excluders = find_excluders(bench.config, asked.name, paper)
    if as_json:
        print_json({**_as_json_explaining(asked, paper, is_stored=is_stored), "excluded_by": dict(excluders)})
        return
    _print_match(asked, paper, is_stored=is_stored)
    for name, cause in excluders:
        click.echo(f"excluded by the subscription {name}: {cause}")


def read_paper_id(text: str, other: str, order: str) -> ArxivId:
    """Return the id of the paper that is to be explained.

    Args:
        text: what was given as the paper.
        other: what was given beside it.
        order: the command with what it takes, in order: shown where the two were mixed up.

    Raises:
        UsageError: it is no id.
        UnknownName: its number can't be.
    """
    try:
        id_ = ArxivId.parse(text)
    except UsageError as error:
        try:
            ArxivId.parse(other)
        except UsageError:
            raise error from None
        raise UsageError(error.message, hint=f"The order is: {order}.") from None
    if not id_.is_possible:
        raise UnknownName(
            f"there is no such id: {id_}",
            hint="Numbers have five digits since 2015 (2603.10026), four from April 2007 on (0706.1234); before"
            " that ids began with an archive (hep-th/9901001).",
        )
    return id_


def _find_paper(bench: Workbench, id_: ArxivId, *, offline: bool) -> tuple[Paper, bool]:
    """Return a paper and whether it is stored; arXiv is asked for one that is not.

    Raises:
        UnknownName: there is no such paper, or none stored.
    """
    if bench.store is not None:
        with bench.store.read() as conn:
            known = paper_store.load_paper(conn, id_)
        if known is not None:
            return known.paper, True
    if offline:
        raise UnknownName(f"{id_} is not stored here", hint="Without --offline arXiv is asked for it.")
    with bench.asking() as client:
        found = [paper for fetched in fetch_papers(client, [id_]) for paper in fetched.page.papers]
    if not found:
        raise UnknownName(f"arXiv knows no paper {id_}", hint=f"Look at {id_.url} in a browser.")
    return found[0], False


class Clause(NamedTuple):
    """One node of a query as a line: its text, how deep it lies, whether it is met, and the condition in it."""

    text: str
    depth: int
    is_met: bool
    condition: Condition | None = None


def walk_clauses(node: Node, paper: AnalysedPaper, depth: int = 0) -> Iterator[Clause]:
    """Yield each node of a query; a condition and its negation are one."""
    is_met = matches(node, paper)
    match node:
        case (Condition() as condition) | Not(Condition() as condition):
            yield Clause(print_tree(node), depth, is_met, condition)
        case Not(operand):
            yield Clause("not", depth, is_met)
            yield from walk_clauses(operand, paper, depth + 1)
        case And(operands) | Or(operands):
            yield Clause("all of" if isinstance(node, And) else "any of", depth, is_met)
            for operand in operands:
                yield from walk_clauses(operand, paper, depth + 1)


def _print_match(asked: NamedQuery, paper: Paper, *, is_stored: bool) -> None:
    ready = analyse(paper)
    is_match = matches(asked.query, ready)
    source = "" if is_stored else click.style("  (not stored here: as arXiv has it now)", dim=True)
    head = f"{paper.id}v{paper.version}"
    for number, line in enumerate(wrap(tex.to_plain(paper.title), _WIDEST_EXPLAINING - len(head) - 2)):
        click.echo(f"{' ' * len(head) if number else head}  {line}{'' if number else source}")
    verdict = click.style("matches" if is_match else "does not match", bold=True)
    click.echo(f"{verdict}  {f'{asked.name}: ' if asked.name else ''}{' '.join(asked.query.text.split())}")
    if not is_match:
        click.echo(f"it {find_failing(asked.query, ready)}")
    for clause in walk_clauses(asked.query.tree, ready):
        _print_clause(clause, ready)


def _print_clause(clause: Clause, ready: AnalysedPaper) -> None:
    indent = "  " * (clause.depth + 1)
    sign = click.style("✓", fg="green") if clause.is_met else click.style("✗", fg="red")
    click.echo(f"{indent}{sign} {clause.text}")
    spans = find_spans(clause.condition, ready) if clause.condition else ()
    width = min(shutil.get_terminal_size((100, 24)).columns, 110) - len(indent) - 20
    quotes = list(quote_places(ready.paper, spans, max(width, _NARROWEST)))
    for field, quote in quotes[:_MOST_PLACES]:
        shown = apply_styles(quote, color=sys.stdout.isatty())
        click.echo(f"{indent}    {click.style(f'{field}:', dim=True)} {shown}")
    if len(quotes) > _MOST_PLACES:
        click.echo(f"{indent}    {click.style(f'and {len(quotes) - _MOST_PLACES} more', dim=True)}")


def _as_json_explaining(asked: NamedQuery, paper: Paper, *, is_stored: bool) -> dict[str, object]:
    ready = analyse(paper)
    failing = find_failing(asked.query, ready)
    return {
        "paper": f"{paper.id}v{paper.version}",
        "title": paper.title,
        "is_stored": is_stored,
        "name": asked.name or None,
        "query": asked.query.text,
        "matches": matches(asked.query, ready),
        "clauses": [
            {"clause": clause.text, "depth": clause.depth, "is_met": clause.is_met}
            for clause in walk_clauses(asked.query.tree, ready)
        ],
        "reasons": [
            {"clause": reason.clause, "spans": reason.spans} for reason in find_reasons(asked.query, ready)
        ],
        "lacks": failing.lacks,
        "has_excluded": failing.has,
    }


LISTING = "digest query list"
_WIDEST_TEXT = 60
_WIDEST_TITLE = 76
_SIGNS = {"new": "+", "changed": "~", "gone": "−"}


@click.group(cls=CommandGroup)
def command() -> None:
    """Saved queries: list them, check one, see what it brought, and why a paper matches."""


for part in (check, preview, diff, explain):
    command.add_command(part)


@command.command("list")
@json_option
@click.pass_context
def list_queries(ctx: click.Context, *, as_json: bool) -> None:
    """List the saved queries: what each found, and who follows it."""
    with opened_store(ctx) as here, here.store.read() as conn:
        stored = query_store.load_queries(conn)
        since = here.now - timedelta(days=30)
        brought = {
            query.name: sum(day.papers for day in query_store.load_query_counts(conn, query.name, since))
            for query in stored
        }
        followers: dict[str, list[str]] = {query.name: [] for query in stored}
        for due in subscription_store.load_subscriptions(conn):
            for revision in due.revisions:
                followers[revision.name].append(due.subscription.name)
        drift = describe_drift(here.config, conn)
    if as_json:
        print_json(
            [
                {**as_dict(query), "subscriptions": followers[query.name], "papers_30_days": brought[query.name]}
                for query in stored
            ]
        )
        return
    _print_queries(stored, followers, brought, drift)


def _print_queries(
    stored: list[StoredQuery], followers: Mapping[str, list[str]], brought: Mapping[str, int], drift: str
) -> None:
    print_table(
        ["QUERY", "TEXT", "FOUND IN 30 DAYS", "SUBSCRIPTIONS"],
        [
            [
                query.name,
                cut(query.text, _WIDEST_TEXT),
                "unreadable" if not query.canonical else f"{brought[query.name]:,}",
                " ".join(followers[query.name]) or "nobody follows it",
            ]
            for query in stored
        ],
        empty=drift or "No saved queries yet: `digest add` saves one, then `digest run`.",
    )
    if stored and drift:
        click.echo(f"\n{drift}")
    for query in stored:
        if query.problem:
            click.echo(f"\n{query.name} can't be read: {query.problem}")
        if query.problem and query.canonical:
            click.echo(f"Until it is mended, {query.name} goes on as: {cut(query.canonical, _WIDEST_TEXT)}")


@command.command()
@click.argument("name")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="How many polls, the latest.")
@click.option(
    "--papers",
    type=click.IntRange(0),
    default=12,
    show_default=True,
    help="How many papers of each poll and sign.",
)
@json_option
@click.pass_context
def history(ctx: click.Context, name: str, limit: int, papers: int, *, as_json: bool) -> None:
    """Show what came into NAME (+), changed (~) or left (−) it.

    This is the saved query's seen feed, poll by poll: everything it brought, whoever was told.
    """
    with opened_store(ctx) as here, here.store.read() as conn:
        _require_query(here, conn, name)
        polls = query_store.load_query_history(conn, name, limit)
        wanted = {id_ for poll in polls for ids in _by_sign(poll, papers, as_json=as_json).values() for id_ in ids}
        changes = paper_store.load_changes(conn, wanted)
    if as_json:
        print_json([_poll_as_json(poll, changes) for poll in polls])
        return
    if not polls:
        click.echo(
            f"Nothing found since {name} was saved has matched it. `digest run` looks; `{LISTING}` says how it is"
            " read. What a first look brought was there before, and stands in that digest alone."
        )
    for poll in polls:
        _print_poll(here, poll, changes, papers)


def _require_query(here: Installation, conn: Connection, name: str) -> None:
    known = [query.name for query in query_store.load_queries(conn, include_ended=True)]
    written = [query.name for query in here.config.queries]
    require_name(name, known, what="saved query", listing=LISTING, written=written)


def _by_sign(poll: QueryRow, most: int, *, as_json: bool) -> dict[str, tuple[int, ...]]:
    """Return the newest change ids of a poll by sign, no more than are shown."""
    shown = None if as_json else most
    return {name: getattr(poll.outcome, name)[::-1][:shown] for name in _SIGNS}


def _print_poll(here: Installation, poll: QueryRow, changes: Mapping[int, StoredChange], most: int) -> None:
    counts = "   ".join(f"{sign} {len(getattr(poll.outcome, name))} {name}" for name, sign in _SIGNS.items())
    revision = f"   as of revision {poll.revision}" if poll.revision > 1 else ""
    click.echo(click.style(f"{write_moment(poll.matched_at, here.zone):<17} {counts}{revision}", bold=True))
    for name, ids in _by_sign(poll, most, as_json=False).items():
        _print_changes(_SIGNS[name], [changes[id_] for id_ in ids if id_ in changes])
        hidden = len(getattr(poll.outcome, name)) - len(ids)
        if hidden:
            click.echo(
                f"  {_SIGNS[name]} … {hidden:,} more (--papers {len(getattr(poll.outcome, name))}, or --json)"
            )


def _print_changes(sign: str, found: Iterable[StoredChange]) -> None:
    for change in found:
        name = f"{change.paper.id}v{change.paper.version}"
        title = cut(tex.to_plain(change.paper.title), _WIDEST_TITLE)
        click.echo(f"  {sign} {name:<16} {title}  {click.style(describe_change(change), dim=True)}")


def describe_change(change: StoredChange) -> str:
    """Say in a word or two what a change was, such as `new`, `v1 → v2` or `comment edited`."""
    match change.kind:
        case Kind.REPLACEMENT if change.previous:
            return f"v{change.previous.version} → v{change.paper.version}"
        case Kind.METADATA:
            return f"{', '.join(change.fields).replace('_', ' ')} edited"
        case Kind.KNOWN:
            return "known from before"
        case kind:
            return str(kind)


def _poll_as_json(poll: QueryRow, changes: Mapping[int, StoredChange]) -> dict[str, object]:
    def show(ids: tuple[int, ...]) -> list[dict[str, object]]:
        return [
            {
                "id": str(change.paper.id),
                "version": change.paper.version,
                "title": change.paper.title,
                "kind": change.kind,
                "change": describe_change(change),
            }
            for change in (changes[id_] for id_ in ids if id_ in changes)
        ]

    signs = {name: show(getattr(poll.outcome, name)) for name in _SIGNS}
    return {"matched_at": poll.matched_at, "revision": poll.revision, **signs}


@command.command()
@click.argument("name")
@click.option("--from-subscriptions", is_flag=True, help="Take it from the subscriptions that follow it, too.")
@saving_options
@click.pass_context
def remove(ctx: click.Context, name: str, *, from_subscriptions: bool, manner: Manner) -> None:
    """Remove the saved query NAME from digest.toml."""
    file = open_file(ctx)
    content = file.encode(edits.remove_query(file.text, name, from_subscriptions=from_subscriptions))
    save_change(ctx, plan_change(file, content), manner, is_removal=True)
