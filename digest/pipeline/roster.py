"""The operator's file into the store: what it names is active, what it no longer names is ended.

People who left stay away whatever the file says; people who subscribed by themselves live in the
store and are not touched here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.errors import QueryError
from digest.planning import next_due
from digest.query import parse_query
from digest.store import matches as match_store
from digest.store import queries as query_store
from digest.store import subscribers as subscriber_store
from digest.store import subscriptions as subscription_store
from digest.store.syncing import sync_subscriptions
from digest.subscriptions import DestinationKind, Origin

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.pipeline.site import Site


@dataclass(frozen=True, slots=True)
class RosterReport:
    """What reading the file changed: names of saved queries and subscriptions, and queries that can't be read."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


def sync_roster(site: Site) -> RosterReport:
    """Bring the store in line with the configuration, in one transaction. Doing it twice changes nothing."""
    texts, unreadable = {}, []
    for query in site.config.queries:
        canonical, problem = "", ""
        try:
            canonical = parse_query(query.text).canonical
        except QueryError as error:
            problem = f"{error.message}\n{error.pointer()}"
            unreadable.append((query.name, problem))
        texts[query.name] = (query.text, canonical, problem)
    now = site.clock.now()
    with site.store.begin() as conn:
        queries = query_store.sync_queries(conn, texts, Origin.FILE, now)
        subscriptions = sync_subscriptions(
            conn,
            site.config.subscriptions,
            Origin.FILE,
            now,
            lambda subscription: next_due(subscription.cadence, now),
        )
        _make_due_what_waits(conn, now)
        for subscription in site.config.subscriptions:
            for destination in subscription.destinations:
                if destination.kind is DestinationKind.MAIL:
                    subscriber_store.confirm_by_operator(conn, destination.address, subscription.name, now)
    return RosterReport(
        added=(*queries.added, *subscriptions.added),
        edited=(*queries.edited, *subscriptions.edited),
        ended=(*queries.ended, *subscriptions.ended),
        unreadable=tuple(unreadable),
    )


def _make_due_what_waits(conn: Connection, now: datetime) -> None:
    """Let subscriptions that wait for no turn tell what was found in a pause, or while they still had turns."""
    subscription_store.end_pauses(conn, now)
    waiting = subscription_store.load_subscriptions(conn, match_store.undue_subscriptions(conn))
    subscription_store.make_due(conn, [due.id for due in waiting if due.subscription.has_digests], now)
