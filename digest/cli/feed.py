"""`digest feed`: personal feeds and their secret addresses. The one command that prints a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from digest.cli.commands import CommandGroup
from digest.cli.context import opened_store, require_name, suggest_name
from digest.cli.output import json_option, print_json, print_table
from digest.deliver.feeds import find_first_digest
from digest.model.errors import ConfigurationError, UnknownName, UsageError
from digest.model.subscriptions import DestinationKind
from digest.plan.links import make_links
from digest.store import queries
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.cli.context import Installation
    from digest.config import Config
    from digest.model.subscriptions import Destination, DueSubscription
    from digest.store.queries import FeedPlace, StoredQuery


@click.group(cls=CommandGroup)
def command() -> None:
    """Feeds: list them, show a secret address, make it void."""


of_query_option = click.option(
    "--query", "is_query", is_flag=True, help="NAME is a saved query, not a subscription."
)
"""Says what a name is of."""


@command.command("list")
@json_option
@click.pass_context
def list_feeds(ctx: click.Context, *, as_json: bool) -> None:
    """List the feeds, those served and those written as files."""
    with opened_store(ctx) as here, here.store.read() as conn:
        places = {place.name: place for place in queries.load_feed_places(conn)}
        feeds = [
            (due, destination)
            for due in subscription_store.load_subscriptions(conn)
            for destination in due.subscription.destinations
            if destination.is_pulled
        ]
        of_queries = queries.load_query_places(conn)
    if as_json:
        served = [
            {
                "subscription": due.subscription.name,
                "feed": destination,
                "is_open": bool(destination.address) or places[due.subscription.name].is_open,
                "queries": due.subscription.queries,
            }
            for due, destination in feeds
        ]
        of_each = [
            {"subscription": None, "feed": "feed", "is_open": place.is_open, "queries": [place.name]}
            for place in of_queries
        ]
        print_json(served + of_each)
        return
    rows = [
        [
            due.subscription.name,
            here.show(destination),
            _describe_state(here, due, destination, places),
            " ".join(due.subscription.queries),
        ]
        for due, destination in feeds
    ]
    rows += [["-", "feed", _describe_place(here, place), place.name] for place in of_queries]
    print_table(
        ["SUBSCRIPTION", "FEED", "STATE", "QUERIES"],
        rows,
        empty='No feeds yet: write to = "feed" (or "file:feeds/name.atom") in a subscription, then `digest run`; '
        "or open one of a saved query: digest feed url NAME --query.",
    )


def _describe_state(
    here: Installation, due: DueSubscription, destination: Destination, places: dict[str, FeedPlace]
) -> str:
    if destination.address:
        is_there = here.config.folder.joinpath(destination.address).exists()
        return "written" if is_there else "not written yet: `digest run`"
    return _describe_place(here, places[due.subscription.name])


def _describe_place(here: Installation, place: FeedPlace) -> str:
    if not place.is_open:
        option = " --query" if place.origin else ""
        return f"revoked; another address: digest feed rotate {place.name}{option}"
    if not here.config.web.base_url:
        return "needs base_url under [web], and `digest serve`"
    return "open" + (f", address no. {place.generation + 1}" if place.generation else "")


@command.command()
@click.argument("name")
@of_query_option
@json_option
@click.pass_context
def url(ctx: click.Context, name: str, *, is_query: bool, as_json: bool) -> None:
    """Print the secret address of NAME's feed.

    Whoever knows it can read the feed, so hand it to one reader. With .json in place of .atom it is a JSON Feed.

    With --query it is the feed of a saved query, whoever follows that; it is opened where it was not yet, and
    begins with what the query finds in the last days, and goes on with new papers and cross-lists.
    """
    with opened_store(ctx) as here:
        if is_query:
            with here.store.begin() as conn:
                place = open_query_feed(conn, here.config, name, here.now)
                addresses = write_addresses(here, conn, place, place.generation)
        else:
            with here.store.read() as conn:
                place = require_subscription_feed(conn, name)
                addresses = write_addresses(here, conn, place, place.generation)
    _print_addresses(place, addresses, as_json=as_json)


@command.command()
@click.argument("name")
@of_query_option
@json_option
@click.pass_context
def rotate(ctx: click.Context, name: str, *, is_query: bool, as_json: bool) -> None:
    """Give NAME's feed a new secret address; the old one is void.

    It is void within half a minute, and for good: feed readers are told that it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_place(conn, name, is_query=is_query)
        if is_query:
            generation = queries.rotate_query_feed(conn, place.key)
        else:
            generation = subscription_store.bump_feed_generation(conn, place.key)
        addresses = write_addresses(here, conn, place, generation)
    _print_addresses(place, addresses, as_json=as_json)
    if place.is_open and not as_json:
        click.echo("The address before it is void within half a minute: hand out the new one.", err=True)


@command.command()
@click.argument("name")
@of_query_option
@click.pass_context
def revoke(ctx: click.Context, name: str, *, is_query: bool) -> None:
    """Close NAME's feed: its address is void until another is made.

    It is void within half a minute: for 30 days it says that the feed was closed, then it is gone.
    """
    with opened_store(ctx) as here, here.store.begin() as conn:
        place = _require_place(conn, name, is_query=is_query)
        if place.is_open and is_query:
            queries.revoke_query_feed(conn, place.key, here.now)
        elif place.is_open:
            subscription_store.revoke_feed(conn, place.key, here.now)
    option = " --query" if is_query else ""
    click.echo(f"The feed of {name} is closed. To open it at another address: digest feed rotate {name}{option}")


def _require_place(conn: Connection, name: str, *, is_query: bool) -> FeedPlace:
    return require_query_feed(conn, name) if is_query else require_subscription_feed(conn, name)


def _print_addresses(place: FeedPlace, addresses: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        print_json({"query" if place.origin else "subscription": place.name, **addresses})
    else:
        click.echo(addresses["atom"])


def require_subscription_feed(conn: Connection, name: str) -> FeedPlace:
    """Return a live subscription's feed.

    Raises:
        UnknownName: there is no such subscription, or it has no feed with an address.
    """
    live = {due.subscription.name: due.subscription for due in subscription_store.load_subscriptions(conn)}
    with_feed = [
        subscription.name
        for subscription in live.values()
        if any(destination.kind is DestinationKind.FEED for destination in subscription.destinations)
    ]
    if name not in with_feed and name in live:
        raise UnknownName(
            f"the subscription {name} has no feed with an address",
            hint='Add "feed" to its `to` in digest.toml, then `digest run`.',
        )
    if name not in with_feed:
        raise UnknownName(
            f"no subscription {name!r} has a feed", hint=suggest_name(name, with_feed, "digest feed list")
        )
    return next(place for place in queries.load_feed_places(conn) if place.name == name)


def require_query(conn: Connection, name: str, written: Iterable[str] = ()) -> StoredQuery:
    """Return a saved query in force.

    Args:
        conn: a reading transaction.
        name: the saved query's.
        written: what `digest.toml` names, taken over by a run or not yet.

    Raises:
        UnknownName: there is none of this name.
    """
    stored = {query.name: query for query in queries.load_queries(conn)}
    require_name(name, stored, what="saved query", listing="digest query list", written=written)
    return stored[name]


def find_query_feed(conn: Connection, query: StoredQuery) -> FeedPlace | None:
    """Return a saved query's feed, None where it was never opened."""
    return next((place for place in queries.load_query_places(conn) if place.key == query.id), None)


def require_query_feed(conn: Connection, name: str) -> FeedPlace:
    """Return the feed of a saved query in force.

    Raises:
        UnknownName: there is no such saved query, or its feed was never opened.
    """
    place = find_query_feed(conn, require_query(conn, name))
    if place is None:
        raise UnknownName(
            f"the saved query {name} has no feed yet", hint=f"Open one: `digest feed url {name} --query`."
        )
    return place


def open_query_feed(conn: Connection, config: Config, name: str, now: datetime) -> FeedPlace:
    """Return the feed of a saved query in force, opened now where it never was.

    Args:
        conn: a writing transaction.
        config: what the operator configured.
        name: the saved query's.
        now: the moment (UTC).

    Raises:
        UnknownName: there is no such saved query.
    """
    query = require_query(conn, name, [query.name for query in config.queries])
    place = find_query_feed(conn, query)
    if place is None:
        first_digest = find_first_digest(conn, config, query, now)
        queries.open_query_feed(conn, query.id, first_digest, now)
    return place or require_query_feed(conn, name)


def write_addresses(here: Installation, conn: Connection, place: FeedPlace, generation: int) -> dict[str, str]:
    """Return a feed's addresses by format.

    Raises:
        ConfigurationError: the installation has no public address.
        UsageError: the feed was revoked.
    """
    if not here.config.web.base_url:
        raise ConfigurationError(
            f"the feed of {place.name} has no address: nothing says where `digest serve` can be reached",
            hint='Write base_url = "https://…" below [web]; or, without a server, to = "file:feeds/name.atom".',
        )
    if not place.is_open and generation == place.generation:
        raise UsageError(
            f"the feed of {place.name} was revoked: no address works",
            hint=f"Make one: `digest feed rotate {place.name}{' --query' if place.origin else ''}`.",
        )
    maker = make_links(conn, here.config)
    if place.origin:
        token = maker.query_feed_token(place.name, place.origin, generation)
    else:
        token = maker.feed_token(place.name, generation)
    return {suffix: maker.write_feed_url(token, suffix) for suffix in ("atom", "json")}
