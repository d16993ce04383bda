"""Feeds from committed rows: served over HTTP, or written whole as files. No digest, no slot, no delivery."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from digest import signing
from digest.errors import DigestError
from digest.excluding import read_exclusion
from digest.pipeline.links import make_links, make_refs_url
from digest.pipeline.matching_step import readable
from digest.planning.feeds import FEED_DAYS, FEED_ENTRIES, plan_feed
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import subscriptions as subscription_store
from digest.store import tokens as token_store
from digest.subscriptions import DestinationKind
from digest.transports.static_file import write_if_changed

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange
    from digest.messages import Feed
    from digest.pipeline.site import Site
    from digest.planning import DueSubscription


def load_feed(conn: Connection, site: Site, due: DueSubscription, *, self_url: str = "") -> Feed:
    """Make a subscription's feed from what is committed."""
    return plan_feed(
        due,
        load_matched(conn, due, site.clock.now()),
        {revision.name: query for revision, query in readable(due.revisions)},
        scope=signing.derive_token(token_store.installation_secret(conn), "feed entries"),
        self_url=self_url,
        home_url=site.config.web.base_url,
        refs_url=make_refs_url(site.config),
    )


def load_matched(conn: Connection, due: DueSubscription, now: datetime) -> list[tuple[StoredChange, datetime]]:
    """Return the changes a feed tells of, each with the moment it was matched (UTC)."""
    rows = match_store.feed_matches(conn, due.id, since=now - timedelta(days=FEED_DAYS), at_least=FEED_ENTRIES)
    changes = paper_store.load_changes(conn, [id_ for row in rows for id_ in row.changes])
    latest = {change.paper_key: change for _, change in sorted(changes.items())}
    exclusion = read_exclusion(due.subscription)
    excluded = {key for key, change in latest.items() if exclusion.covers(change)}
    return [
        (changes[id_], row.matched_at)
        for row in rows
        for id_ in row.changes
        if id_ in changes and changes[id_].paper_key not in excluded
    ]


@dataclass
class FeedReport:
    """Which feed files were written because their content changed, and which could not be."""

    written: int = 0
    failures: list[str] = field(default_factory=list)


def publish_feeds(site: Site) -> FeedReport:
    """Write every feed that is a file, where its content has changed; one that can't be stops no other."""
    report = FeedReport()
    with site.store.read() as conn:
        for due in subscription_store.load_subscriptions(conn):
            for destination in due.subscription.destinations:
                if destination.is_pulled and destination.kind is DestinationKind.FILE:
                    feed = load_feed(conn, site, due)
                    is_json = destination.address.endswith(".json")
                    body = site.renderer.render_json_feed(feed) if is_json else site.renderer.render_atom(feed)
                    try:
                        report.written += write_if_changed(site.config.folder / destination.address, body)
                    except DigestError as error:
                        report.failures.append(error.message)
    return report


def feed_urls(conn: Connection, site: Site) -> dict[str, str]:
    """Return the secret address of each subscription that has a feed, by name; "" without a public address."""
    maker = make_links(conn, site.config)
    return {
        due.subscription.name: maker.feed_url(due.subscription.name, due.feed_generation)
        for due in subscription_store.load_subscriptions(conn)
        if any(destination.kind is DestinationKind.FEED for destination in due.subscription.destinations)
    }
