"""Which feed a command means, a subscription's or a saved query's, and what its addresses are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.cli.naming import require_name, suggest_name
from digest.errors import ConfigurationError, UnknownName, UsageError
from digest.pipeline.feeds import find_first_look
from digest.pipeline.links import make_links
from digest.store import feeds as feed_store
from digest.store import queries as query_store
from digest.store import query_feeds as query_feed_store
from digest.store import subscriptions as subscription_store
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.cli.storing import Installation
    from digest.config import Config
    from digest.store.feeds import FeedPlace
    from digest.store.queries import StoredQuery

LISTING = "digest feed list"


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
        is_query = any(query.name == name for query in query_store.load_queries(conn))
        hint = f"For the saved query of this name: `digest feed url {name} --query`." if is_query else ""
        raise UnknownName(
            f"no subscription {name!r} has a feed", hint=hint or suggest_name(name, with_feed, LISTING)
        )
    return next(place for place in feed_store.load_feed_places(conn) if place.name == name)


def require_query(conn: Connection, name: str, written: Iterable[str] = ()) -> StoredQuery:
    """Return a saved query in force.

    Args:
        conn: a reading transaction.
        name: the saved query's.
        written: what `digest.toml` names, taken over by a run or not yet.

    Raises:
        UnknownName: there is none of this name.
    """
    stored = {query.name: query for query in query_store.load_queries(conn)}
    require_name(name, stored, what="saved query", listing="digest query list", written=written)
    return stored[name]


def find_query_feed(conn: Connection, query: StoredQuery) -> FeedPlace | None:
    """Return a saved query's feed, None where it was never opened."""
    return next((place for place in query_feed_store.load_query_places(conn) if place.key == query.id), None)


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
        first_look = find_first_look(conn, config, query, now)
        query_feed_store.open_query_feed(conn, query.id, first_look, now)
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
