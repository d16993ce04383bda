"""Loads feeds from committed rows, and writes those that are files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import Connection

from digest.deliver.transports.file import write_if_changed
from digest.match.rules import read_exclusion
from digest.model import secrets
from digest.model.errors import DigestError, QueryError
from digest.model.messages import FEED_DAYS, FEED_ENTRIES, Feed
from digest.model.subscriptions import DestinationKind, DueSubscription, Wording
from digest.plan.feeds import Matched, plan_feed, spread_moments
from digest.plan.links import make_refs_url
from digest.query import Query, parse_query
from digest.site import Site
from digest.store.changes import load_changes
from digest.store.matches import load_feed_matches
from digest.store.queries import load_wordings
from digest.store.subscriptions import load_subscriptions
from digest.store.tokens import load_secret

_SPAN = timedelta(days=FEED_DAYS)


def load_feed(conn: Connection, site: Site, due: DueSubscription, *, self_url: str = "") -> Feed:
    """Make a subscription's feed from what is committed."""
    wordings = _read_wordings(load_wordings(conn, due.id))
    scope = secrets.derive_token(load_secret(conn), "feed entries")
    name, home, refs = (scope, "subscription", str(due.id)), site.config.web.base_url, make_refs_url(site.config)
    id_, title = secrets.feed_uri(*name), due.subscription.title
    empty = Feed(id_, title, due.created_at, self_url, home, (), refs_url=refs)
    return plan_feed(load_matched(conn, due), wordings, name, empty)


def load_matched(conn: Connection, due: DueSubscription) -> list[Matched]:
    """Return the changes a subscription's feed is made of."""
    rows = load_feed_matches(conn, due.id, span=_SPAN, at_least=FEED_ENTRIES)
    changes = load_changes(conn, [id_ for row in rows for id_ in row.changes])
    latest = {change.paper_key: change for _, change in sorted(changes.items())}
    exclusion = read_exclusion(due.subscription)
    excluded = {key for key, change in latest.items() if exclusion.covers(change)}
    matched = (
        spread_moments((changes[id_] for id_ in row.changes if id_ in changes), row.matched_at, row.brought)
        for row in rows
    )
    return [one for one in itertools.chain.from_iterable(matched) if one.change.paper_key not in excluded]


def _read_wordings(wordings: Iterable[Wording]) -> dict[Wording, Query]:
    """Return what can be read of what saved queries have asked, parsed."""
    read = {}
    for wording in wordings:
        try:
            read[wording] = parse_query(wording.text)
        except QueryError:
            continue  # kept as the revision's `problem` when it was stored, and shown there
    return read


@dataclass
class FeedReport:
    """Which feed files were written because their content changed, and which could not be."""

    written: int = 0
    failures: list[str] = field(default_factory=list)


def publish_feeds(site: Site) -> FeedReport:
    """Write every feed that is a file, if its content has changed; one that can't be stops no other."""
    report = FeedReport()
    with site.store.read() as conn:
        for due in load_subscriptions(conn):
            for destination in due.subscription.destinations:
                if destination.is_pulled and destination.kind is DestinationKind.FILE:
                    feed = load_feed(conn, site, due)
                    suffix = "json" if destination.address.lower().endswith(".json") else "atom"
                    body = write_feed(site, feed, suffix)
                    try:
                        report.written += write_if_changed(site.config.folder / destination.address, body)
                    except DigestError as error:
                        report.failures.append(error.message)
    return report


def write_feed(site: Site, feed: Feed, suffix: str) -> bytes:
    """Write a feed as `atom` or `json`."""
    return site.renderer.render_json_feed(feed) if suffix == "json" else site.renderer.render_atom(feed)
