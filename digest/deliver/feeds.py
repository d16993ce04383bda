"""Loads feeds from committed rows, and writes those that are files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain

from sqlalchemy import Connection

from digest.deliver.transports.file import write_own
from digest.match.rules import read_exclusion, read_saved
from digest.model import secrets
from digest.model.destinations import OWN_FEED, Destination
from digest.model.errors import DigestError
from digest.model.messages import FEED_DAYS, FEED_ENTRIES, Feed
from digest.model.said import Said
from digest.model.subscriptions import DueSubscription, Wording
from digest.plan.feeds import Matched, plan_feed, spread_moments
from digest.plan.links import make_refs_url
from digest.poll.coverage import load_unchecked
from digest.query import Query
from digest.site import Site
from digest.store import changes, matches, queries, subscriptions, tokens

_SPAN = timedelta(days=FEED_DAYS)


@dataclass
class FeedReport:
    """How many feed files and pages of sites were written, and why others could not be.

    Only what changed is written.
    """

    written: int = 0
    pages: int = 0
    failures: list[Said] = field(default_factory=list)


def load_feed(conn: Connection, site: Site, due: DueSubscription, *, self_url: str = "") -> Feed:
    """Make a subscription's feed from what is committed."""
    empty = Feed("", due.subscription.title, due.created_at, self_url, site.config.web.base_url, ())
    return _make_feed(conn, site, [due], ("subscription", str(due.id)), empty)


def load_site_feed(
    conn: Connection, site: Site, dues: Sequence[DueSubscription], folder: str, title: str
) -> Feed:
    """Make the feed of a folder of pages.

    A paper comes once, whichever of the subscriptions brought it.
    """
    began_at = min(due.created_at for due in dues)
    empty = Feed("", title, began_at, "", site.config.web.base_url, ())
    feed = _make_feed(conn, site, dues, ("site", folder), empty)
    if not site.config.hides_queries:
        return feed
    hidden = []
    for one in feed.entries:
        entry = replace(one.entry, reasons=(), queries=())
        hidden.append(replace(one, entry=entry))
    return replace(feed, entries=tuple(hidden))


def _make_feed(
    conn: Connection,
    site: Site,
    dues: Sequence[DueSubscription],
    whose: tuple[str, str],
    empty: Feed,
) -> Feed:
    matched: dict[int, Matched] = {}
    for due in dues:
        matched |= {one.change.id: one for one in load_matched(conn, due)}
    scope = secrets.derive_token(tokens.load_secret(conn), "feed entries")
    name = (scope, *whose)
    described = replace(
        empty,
        id=secrets.feed_uri(*name),
        refs_url=make_refs_url(site.config),
        unchecked=load_unchecked(conn, site.config.arxiv.source),
    )
    return plan_feed([*matched.values()], _load_wordings(conn, dues), name, described)


def _load_wordings(conn: Connection, dues: Sequence[DueSubscription]) -> dict[Wording, Query]:
    """Return the queries that can be read; of the others their revisions say why they can't."""
    read: dict[Wording, Query] = {}
    for due in dues:
        for one in queries.load_wordings(conn, due.id):
            query = read_saved(one.text)
            if query:
                read[one] = query
    return read


def load_matched(conn: Connection, due: DueSubscription) -> list[Matched]:
    """Return the changes a subscription's feed is made of."""
    rows = matches.load_for_feed(conn, due.id, span=_SPAN, at_least=FEED_ENTRIES)
    by_id = changes.load(conn, list(chain.from_iterable(row.changes for row in rows)))
    latest = {change.paper_key: change for _, change in sorted(by_id.items())}
    exclusion = read_exclusion(due.subscription)
    excluded = {key for key, change in latest.items() if exclusion.covers(change)}
    matched: list[Matched] = []
    for row in rows:
        known = [by_id[id_] for id_ in row.changes if id_ in by_id]
        spread = spread_moments(known, row.matched_at, row.brought)
        matched += [one for one in spread if one.change.paper_key not in excluded]
    return matched


def publish_feeds(site: Site) -> FeedReport:
    """Write every feed that is a file, if its content has changed.

    One that can't be written stops no other.
    """
    report = FeedReport()
    with site.store.read() as conn:
        for due in subscriptions.load(conn):
            for destination in due.subscription.destinations:
                if destination.is_pulled and destination != OWN_FEED:
                    _publish_feed(conn, site, due, destination, report)
    return report


def _publish_feed(
    conn: Connection,
    site: Site,
    due: DueSubscription,
    destination: Destination,
    report: FeedReport,
) -> None:
    form = "json" if destination.address.lower().endswith(".json") else "atom"
    body = site.renderer.render_feed(load_feed(conn, site, due), form)
    path = site.config.folder / destination.address
    try:
        report.written += write_own(path, body, is_of_site=False)
    except DigestError as error:
        report.failures.append(error.said)
