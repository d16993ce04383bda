"""`digest query`: how saved queries are read, what they brought, and why a paper matches one or not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from digest import tex
from digest.announcements import Kind
from digest.cli.checking import check
from digest.cli.drift import describe_drift
from digest.cli.explaining import explain
from digest.cli.naming import require_name
from digest.cli.previewing import preview
from digest.cli.rewording import diff
from digest.cli.storing import opened_store
from digest.cli.telling import json_option, print_json, print_table
from digest.cli.wording import cut, write_moment
from digest.store import papers as paper_store
from digest.store import queries as query_store
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.comparing import StoredChange
    from digest.store.queries import QueryHistory, StoredQuery

LISTING = "digest query list"
_WIDEST_TEXT = 60
_WIDEST_TITLE = 76
_SIGNS = {"new": "+", "changed": "~", "gone": "−"}


@click.group()
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
            query.name: sum(day.papers for day in query_store.query_counts(conn, query.name, since))
            for query in stored
        }
        followers: dict[str, list[str]] = {query.name: [] for query in stored}
        for due in subscription_store.load_subscriptions(conn):
            for revision in due.revisions:
                followers[revision.name].append(due.subscription.name)
        drift = describe_drift(here.config, conn)
    if as_json:
        print_json([_query_as_json(query, followers[query.name], brought[query.name]) for query in stored])
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
        empty=drift or "No saved queries yet: write one below [queries] in digest.toml, then `digest run`.",
    )
    if stored and drift:
        click.echo(f"\n{drift}")
    for query in stored:
        if query.problem:
            click.echo(f"\n{query.name} can't be read: {query.problem}")
        if query.problem and query.canonical:
            click.echo(f"Until it is mended, {query.name} goes on as: {cut(query.canonical, _WIDEST_TEXT)}")


def _query_as_json(query: StoredQuery, followers: list[str], papers: int) -> dict[str, object]:
    return {
        "name": query.name,
        "text": query.text,
        "canonical": query.canonical,
        "problem": query.problem,
        "revision": query.revision,
        "origin": query.origin,
        "since": query.created_at,
        "subscriptions": followers,
        "papers_30_days": papers,
    }


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
        polls = query_store.query_history(conn, name, limit)
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


def _by_sign(poll: QueryHistory, most: int, *, as_json: bool) -> dict[str, tuple[int, ...]]:
    """Return the newest change ids of a poll by sign, no more than are shown."""
    shown = None if as_json else most
    return {name: getattr(poll, name)[::-1][:shown] for name in _SIGNS}


def _print_poll(here: Installation, poll: QueryHistory, changes: Mapping[int, StoredChange], most: int) -> None:
    counts = "   ".join(f"{sign} {len(getattr(poll, name))} {name}" for name, sign in _SIGNS.items())
    revision = f"   as of revision {poll.revision}" if poll.revision > 1 else ""
    click.echo(click.style(f"{write_moment(poll.matched_at, here.zone):<17} {counts}{revision}", bold=True))
    for name, ids in _by_sign(poll, most, as_json=False).items():
        _print_changes(_SIGNS[name], [changes[id_] for id_ in ids if id_ in changes])
        hidden = len(getattr(poll, name)) - len(ids)
        if hidden:
            click.echo(f"  {_SIGNS[name]} … {hidden:,} more (--papers {len(getattr(poll, name))}, or --json)")


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


def _poll_as_json(poll: QueryHistory, changes: Mapping[int, StoredChange]) -> dict[str, object]:
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

    signs = {name: show(getattr(poll, name)) for name in _SIGNS}
    return {"matched_at": poll.matched_at, "revision": poll.revision, **signs}
