"""A subscription's feed: every match it ever had within the window, as committed, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.messages import Feed, FeedEntry, Occasion
from digest.planning.entries import Told, find_sequel, make_entry
from digest.signing import feed_uri

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from digest.comparing import StoredChange
    from digest.planning.digests import DueSubscription
    from digest.query import Query

FEED_ENTRIES = 200
"""How many papers a feed holds at least, however old: people go on holiday."""

FEED_DAYS = 30
"""How many days of papers a feed holds at least, however many."""


def plan_feed(
    due: DueSubscription,
    matched: Sequence[tuple[StoredChange, datetime]],
    queries: Mapping[str, Query],
    *,
    scope: str,
    self_url: str = "",
    home_url: str = "",
    refs_url: str = "",
) -> Feed:
    """Make a feed from committed matches; the same rows always make the same feed.

    An entry's id names the paper without version, so a replacement never shows up as another entry. The
    feed's own id names the subscription by its key, which a new name does not change.

    Args:
        due: the subscription.
        matched: changes told to it, each with the moment it was matched (UTC), in any order.
        queries: its saved queries, parsed, by name.
        scope: names the installation apart from every other one; it never changes, wherever feeds are served.
        self_url: the feed's own address, "" where it is not known.
        home_url: a page about it, "" where there is none.
        refs_url: where references of single papers are served, "" for nowhere.
    """
    by_paper: dict[int, list[tuple[StoredChange, datetime]]] = {}
    for change, at in sorted(matched, key=lambda pair: pair[0].id):
        by_paper.setdefault(change.paper_key, []).append((change, at))
    entries = [_make_feed_entry(found, queries, scope) for found in by_paper.values()]
    entries.sort(key=lambda entry: (entry.updated, entry.entry.paper.id), reverse=True)
    subscription = due.subscription
    title = subscription.title or subscription.name
    return Feed(
        id=feed_uri(scope, "subscription", str(due.id)),
        title=title,
        updated=max((entry.updated for entry in entries), default=due.created_at),
        self_url=self_url,
        home_url=home_url,
        entries=tuple(entries),
        refs_url=refs_url,
        notice="" if entries else f"Nothing has matched {title} yet; papers appear here once something does.",
    )


def _make_feed_entry(
    found: Sequence[tuple[StoredChange, datetime]], queries: Mapping[str, Query], scope: str
) -> FeedEntry:
    changes = [change for change, _ in found]
    told = [at for change, at in found if change.kind is not Kind.KNOWN] or [found[0][1]]
    sequel = find_sequel(changes, (), Occasion.SCHEDULED, None)
    entry = make_entry(Told(changes, Occasion.SCHEDULED, sequel=sequel), queries)
    uri = feed_uri(scope, "arxiv", str(entry.paper.id))
    return FeedEntry(id=uri, entry=entry, published=found[0][1], updated=max(told))
