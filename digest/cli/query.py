"""`digest query`: lists the saved queries, and shows how one is read and what it brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import click

from digest import tex
from digest.cli.commands import CommandGroup
from digest.cli.context import NamedQuery, Workbench, describe_drift, opened_store, opened_workbench
from digest.cli.output import (
    as_dict,
    cut,
    find_columns,
    json_option,
    print_json,
    print_table,
    print_wrapped,
    say,
    write_brief,
)
from digest.cli.recent import Found, gather_stored, name_query, paper_as_json, print_papers
from digest.cli.saving import Manner, open_file, plan_change, save_change, saving_options
from digest.config import edits
from digest.inspect.query_volume import MATCH_SPAN, count_days, describe_matches, describe_volume
from digest.model.announcements import Kind, StoredChange
from digest.model.clock import write_moment
from digest.model.errors import QueryError
from digest.query import Query, to_arxiv
from digest.query.canonical import print_outline, print_tree
from digest.store import papers as paper_store
from digest.store import queries as query_store
from digest.store import subscriptions as subscription_store
from digest.store.queries import QueryRow, StoredQuery

_LABEL = 16
_WIDEST_TEXT = 60
_SIGNS = {"new": "+", "changed": "~", "gone": "−"}
_WORDS = {"new": "came in", "changed": "changed", "gone": "left"}


@click.group(cls=CommandGroup)
def command() -> None:
    """Saved queries: list them, and show how one is read and what it brings."""


@command.command("list")
@json_option
@click.pass_context
def list_queries(ctx: click.Context, *, as_json: bool) -> None:
    """List the saved queries: what each found, and who follows it."""
    with opened_store(ctx) as here, here.store.read() as conn:
        stored = query_store.load_queries(conn)
        since = here.now - MATCH_SPAN
        brought = {one.name: query_store.load_query_counts(conn, one.name, since) for one in stored}
        volumes = {one.name: describe_matches(brought[one.name], one.created_at, here.now) for one in stored}
        followers: dict[str, list[str]] = {query.name: [] for query in stored}
        for due in subscription_store.load_subscriptions(conn):
            for revision in () if due.is_personal else due.revisions:
                followers[revision.name].append(due.subscription.name)
        drift = describe_drift(here.config, conn)
    if as_json:
        print_json(
            [
                as_dict(query)
                | {"subscriptions": followers[query.name], "days": brought[query.name]}
                | {"volume": volumes[query.name]}
                for query in stored
            ]
        )
        return
    _print_queries(stored, followers, volumes, drift)


def _print_queries(
    stored: list[StoredQuery], followers: Mapping[str, list[str]], volumes: Mapping[str, str], drift: str
) -> None:
    print_table(
        ["QUERY", "TEXT", "NEW PAPERS", "SUBSCRIPTIONS"],
        [
            [
                query.name if query.name != query.text else "–",
                cut(query.text, _WIDEST_TEXT),
                "unreadable" if not query.canonical else write_brief(volumes[query.name]),
                " ".join(followers[query.name]) or "nobody follows it",
            ]
            for query in stored
        ],
        empty=drift or "No queries yet. `digest add` adds one, then `digest run`.",
    )
    if stored and drift:
        say(f"\n{drift}")
    for query in stored:
        if query.problem:
            say(f"\n{query.name} can't be read: {query.problem}")
        if query.problem and query.canonical:
            say(f"Until it is mended, {query.name} goes on as: {cut(query.canonical, _WIDEST_TEXT)}")


@command.command()
@click.argument("text", metavar="NAME|QUERY")
@click.option("--limit", type=click.IntRange(0), default=3, show_default=True, help="How many checks, the latest.")
@click.option(
    "--papers", type=click.IntRange(0), default=5, show_default=True, help="How many papers of each check."
)
@json_option
@click.pass_context
def show(ctx: click.Context, text: str, *, limit: int, papers: int, as_json: bool) -> None:
    """Show how a query is read, what it brings, and what came lately.

    NAME is a saved query. QUERY is a text, or an address of an arXiv search. Nothing is asked of arXiv: what
    is counted is stored here.

    Of a saved query you see check by check what came into it (+), changed in it (~) and left it (−).
    """
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text, others=())
        found = gather_stored(bench, asked.query, MATCH_SPAN.days, quiet=True)
        checks, changes = _load_checks(bench, asked.name, limit, None if as_json else papers)
    followers = [one.name for one in bench.config.subscriptions if asked.name in one.queries]
    if as_json:
        print_json(_as_json(asked, followers, found, checks, changes))
        return
    if asked.name:
        label = asked.name if asked.name != asked.query.text else "query"
        print_wrapped(label, asked.query.text, width=_LABEL)
        print_wrapped("followed by", ", ".join(followers) or "no subscription", width=_LABEL)
    _print_reading(asked.query)
    _print_volume(bench, found)
    if papers and found is not None and found.papers and not checks:
        print_papers(asked.query, found.papers[:papers])
    for check in checks:
        _print_check(bench, check, changes, papers)


def _load_checks(
    bench: Workbench, name: str, limit: int, papers: int | None
) -> tuple[list[QueryRow], dict[int, StoredChange]]:
    """Return the last checks that brought something to a saved query, and the changes of it that are shown."""
    if bench.store is None or not name:
        return [], {}
    with bench.store.read() as conn:
        if name not in {query.name for query in query_store.load_queries(conn)}:
            return [], {}
        checks = query_store.load_query_history(conn, name, limit)
        wanted = {id_ for check in checks for ids in _by_sign(check, papers).values() for id_ in ids}
        return checks, dict(paper_store.load_changes(conn, wanted))


def _print_reading(query: Query) -> None:
    print_wrapped("read as", "\n".join(print_outline(query.tree)), width=_LABEL)
    if query.pasted_as:
        print_wrapped("as a query", query.pasted_as, width=_LABEL)
    print_wrapped("in one form", query.canonical, width=_LABEL)
    print_wrapped("arXiv is asked", to_arxiv(query), width=_LABEL)
    for note in query.notes:
        print_wrapped("note", note.message, width=_LABEL, fg="yellow")
        place = QueryError(text=query.expression, position=note.position).pointer()
        print_wrapped("", place, width=_LABEL)


def _print_volume(bench: Workbench, found: Found | None) -> None:
    if found is None:
        print_wrapped("volume", "Not known: the last days are not stored. `digest try` asks arXiv.", width=_LABEL)
        return
    volume = describe_volume(found.span, found.papers)
    print_wrapped("volume", f"{volume}\n{found.describe_source(bench.zone)}", width=_LABEL)


def _by_sign(check: QueryRow, most: int | None) -> dict[str, tuple[int, ...]]:
    """Return the newest change ids of a check by sign, no more than are shown; None for all."""
    return {name: getattr(check.outcome, name)[::-1][:most] for name in _SIGNS}


def _print_check(bench: Workbench, check: QueryRow, changes: Mapping[int, StoredChange], most: int) -> None:
    counts = "   ".join(
        f"{sign} {len(getattr(check.outcome, name))} {_WORDS[name]}" for name, sign in _SIGNS.items()
    )
    revision = f"   as of revision {check.revision}" if check.revision > 1 else ""
    click.echo(
        click.style(f"{write_moment(check.matched_at, bench.zone, bench.now):<17} {counts}{revision}", bold=True)
    )
    for name, ids in _by_sign(check, most).items():
        _print_changes(_SIGNS[name], [changes[id_] for id_ in ids if id_ in changes])
        found = len(getattr(check.outcome, name))
        if found > len(ids):
            click.echo(f"  {_SIGNS[name]} … {found - len(ids):,} more (--papers {found}, or --json)")


def _print_changes(sign: str, found: Iterable[StoredChange]) -> None:
    for change in found:
        head = f"  {sign} {f'{change.paper.id}v{change.paper.version}':<14} "
        what = describe_change(change)
        title = cut(tex.to_plain(change.paper.title), find_columns() - len(head) - len(what) - 2)
        click.echo(f"{head}{title}  {click.style(what, dim=True)}")


def describe_change(change: StoredChange) -> str:
    """Say in a word or two what a change was, such as `new`, `v1 → v2` or `comment edited`."""
    match change.kind:
        case Kind.REPLACEMENT if change.previous:
            return f"v{change.previous.version} → v{change.paper.version}"
        case Kind.METADATA:
            return f"{', '.join(change.fields).replace('_', ' ')} edited"
        case Kind.KNOWN:
            return "from before the first check"
        case kind:
            return str(kind)


def _as_json(
    asked: NamedQuery,
    followers: Sequence[str],
    found: Found | None,
    checks: Iterable[QueryRow],
    changes: Mapping[int, StoredChange],
) -> dict[str, object]:
    query = asked.query
    days = count_days(found.span, found.papers) if found else {}
    return {
        **name_query(asked),
        "pasted_as": query.pasted_as or None,
        "read_as": print_tree(query.tree),
        "outline": print_outline(query.tree),
        "arxiv": to_arxiv(query),
        "notes": query.notes,
        "subscriptions": followers,
        "volume": describe_volume(found.span, found.papers) if found else None,
        **(found.as_json() if found else {}),
        "papers_by_day": {day.isoformat(): number for day, number in days.items()},
        "papers": [paper_as_json(query, paper) for paper in found.papers] if found else [],
        "checks": [_check_as_json(check, changes) for check in checks],
    }


def _check_as_json(check: QueryRow, changes: Mapping[int, StoredChange]) -> dict[str, object]:
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

    signs = {name: show(getattr(check.outcome, name)) for name in _SIGNS}
    return {"matched_at": check.matched_at, "revision": check.revision, **signs}


@command.command()
@click.argument("name")
@saving_options
@click.pass_context
def remove(ctx: click.Context, name: str, *, manner: Manner) -> None:
    """Remove the saved query NAME from digest.toml."""
    file = open_file(ctx)
    content = edits.remove_query(file.text, name).encode()
    save_change(ctx, plan_change(file, content), manner, is_removal=True)
