"""`digest query`: lists the saved queries, and shows how one is read and what it brings."""

from __future__ import annotations

from collections.abc import Sequence

import click

from digest.cli.changes import SaveOptions, open_file, plan_change, save_change, saving_options
from digest.cli.commands import CommandGroup
from digest.cli.context import NamedQuery, describe_pending_edits, opened_store, opened_workbench
from digest.cli.output import as_dict, cut, json_option, print_json, print_table, print_wrapped, say, write_brief
from digest.cli.recent import Found, gather_stored, name_query, paper_as_json, print_papers
from digest.config import edits
from digest.inspect.query_volume import MATCH_SPAN, count_days, describe_matches, describe_volume
from digest.model.errors import QueryError
from digest.query import Query, to_arxiv
from digest.query.canonical import print_outline, print_tree
from digest.store.queries import load_queries, load_query_counts
from digest.store.subscriptions import load_subscriptions

_LABEL = 16
_WIDEST_TEXT = 60


@click.group(cls=CommandGroup)
def command() -> None:
    """Saved queries: list them, and show how one is read and what it brings."""


@command.command("list")
@json_option
@click.pass_context
def list_queries(ctx: click.Context, *, as_json: bool) -> None:
    """List the saved queries: what each found, and who follows it."""
    with opened_store(ctx) as here, here.store.read() as conn:
        stored = load_queries(conn)
        since = here.now - MATCH_SPAN
        brought = {one.name: load_query_counts(conn, one.name, since) for one in stored}
        volumes = {one.name: describe_matches(brought[one.name], one.created_at, here.now) for one in stored}
        followers: dict[str, list[str]] = {query.name: [] for query in stored}
        for due in load_subscriptions(conn):
            for revision in () if due.is_personal else due.revisions:
                followers[revision.name].append(due.subscription.name)
        drift = describe_pending_edits(here.config, conn)
    if as_json:
        more = {name: {"subscriptions": followers[name], "days": brought[name]} for name in followers}
        print_json([as_dict(one) | more[one.name] | {"volume": volumes[one.name]} for one in stored])
        return
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
@click.option("--limit", type=click.IntRange(0), default=5, show_default=True, help="How many papers, the newest.")
@json_option
@click.pass_context
def show(ctx: click.Context, text: str, *, limit: int, as_json: bool) -> None:
    """Show how a query is read, what it brings, and what came lately.

    NAME is a saved query. QUERY is a text, or an address of an arXiv search. Nothing is asked of arXiv: what
    is counted is stored here.
    """
    with opened_workbench(ctx) as bench:
        asked = bench.find_query(text, others=())
        found = gather_stored(bench, asked.query, MATCH_SPAN.days, quiet=True)
    followers = [one.name for one in bench.config.subscriptions if asked.name in one.queries]
    if as_json:
        print_json(_as_json(asked, followers, found))
        return
    if asked.name:
        label = asked.name if asked.name != asked.query.text else "query"
        print_wrapped(label, asked.query.text, width=_LABEL)
        print_wrapped("followed by", ", ".join(followers) or "no subscription", width=_LABEL)
    _print_reading(asked.query)
    volume = "Not known: the last days are not stored. `digest try` asks arXiv."
    if found is not None:
        volume = f"{describe_volume(found.span, found.papers)}\n{found.describe_source(bench.zone)}"
    print_wrapped("volume", volume, width=_LABEL)
    if limit and found is not None and found.papers:
        print_papers(asked.query, found.papers[:limit])


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


def _as_json(asked: NamedQuery, followers: Sequence[str], found: Found | None) -> dict[str, object]:
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
    }


@command.command()
@click.argument("name")
@saving_options
@click.pass_context
def remove(ctx: click.Context, name: str, *, options: SaveOptions) -> None:
    """Remove the saved query NAME from digest.toml."""
    file = open_file(ctx)
    content = edits.remove_query(file.text, name).encode()
    save_change(ctx, plan_change(file, content), options, is_removal=True)
