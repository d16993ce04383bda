"""A feed: the newest matches, as committed, newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from digest.model.announcements import Kind, StoredChange
from digest.model.messages import FEED_DAYS, FEED_ENTRIES, Feed, FeedEntry, Occasion, Seen
from digest.model.papers import ArxivId
from digest.model.secrets import feed_uri
from digest.model.subscriptions import Wording
from digest.plan.digests import Shown, find_sequel, make_entry, matches_any
from digest.query import Query


class Matched(NamedTuple):
    """A change that a feed shows.

    `shown_at`: the moment its entry shows: within one match run no two papers have the same.
    """

    change: StoredChange
    matched_at: datetime
    shown_at: datetime


def spread_moments(
    changes: Iterable[StoredChange], matched_at: datetime, brought: Collection[int]
) -> list[Matched]:
    """Give each change of a match run a moment of its own, a second apart; the last has the run's.

    Readers sort by these moments, and papers of the same one come in any order. They are in the
    past, and what a run brought (`brought`: also what is not shown) never changes, so neither do
    they.
    """
    seconds = {id_: place for place, id_ in enumerate(sorted(brought, reverse=True))}
    spread = []
    for change in changes:
        before = timedelta(seconds=seconds.get(change.id, 0))
        spread.append(Matched(change, matched_at, matched_at - before))
    return spread


def plan_feed(
    matched: Sequence[Matched],
    wordings: Mapping[Wording, Query],
    name: tuple[str, ...],
    empty: Feed,
) -> Feed:
    """Make a feed from committed matches; the same rows always make the same feed.

    An entry's id names the feed and the paper without version, so a replacement never shows up as
    another entry; readers that know a paper from another feed show it here, too. Why a paper is
    there follows from what the saved queries asked when it was matched, so that editing them
    changes no entry that readers have.

    Args:
        wordings: what its saved queries have asked that can be read, parsed, each in the order in
            which they are named.
        name: a scope that names the installation apart from every other one, "subscription", and
            the key of that, which a new name does not change. It never changes, wherever feeds are
            served.
        empty: the feed as it is without papers, of that name.
    """
    papers = choose_papers(matched)
    entries = [_make_feed_entry(found, wordings, name) for found in papers[:FEED_ENTRIES]]
    waits = f"Nothing has matched {empty.title} yet; papers appear here once something does."
    return replace(
        empty,
        updated=max((entry.updated for entry in entries), default=empty.updated),
        entries=tuple(entries),
        notice="" if entries else waits,
        papers=len(papers),
    )


def choose_papers(matched: Iterable[Matched]) -> list[list[Matched]]:
    """Return the papers of the days a feed goes back, the newest first, each as its changes.

    A feed holds the first ones of them.
    """
    by_paper: dict[int, list[Matched]] = {}
    for one in sorted(matched, key=lambda one: one.change.id):
        by_paper.setdefault(one.change.paper_key, []).append(one)
    papers = sorted(by_paper.values(), key=_find_place, reverse=True)
    if not papers:
        return []
    first_update = _find_update(papers[0]) - timedelta(days=FEED_DAYS)
    return [found for found in papers if _find_update(found) >= first_update]


def _find_place(found: Sequence[Matched]) -> tuple[datetime, ArxivId]:
    return _find_update(found), found[-1].change.paper.id


def _find_update(found: Sequence[Matched]) -> datetime:
    """Return when a paper last changed in a way that is shown (UTC)."""
    moments = [one.shown_at for one in found if one.change.kind is not Kind.KNOWN]
    return max(moments, default=found[0].shown_at)


def _make_feed_entry(
    found: Sequence[Matched], wordings: Mapping[Wording, Query], name: tuple[str, ...]
) -> FeedEntry:
    changes = [one.change for one in found]
    sequel = find_sequel(changes, (), Occasion.SCHEDULED)
    queries = _find_queries(wordings, found[-1].matched_at)
    before = changes[0].previous
    seen = None
    if before and matches_any(queries, before):
        seen = Seen(before.version, changes[0].previous_key, before)
    entry = make_entry(Shown(changes, Occasion.SCHEDULED, seen, sequel), queries)
    return FeedEntry(
        id=feed_uri(*name, str(entry.paper.id)),
        entry=entry,
        published=found[0].shown_at,
        updated=_find_update(found),
    )


def _find_queries(wordings: Mapping[Wording, Query], at: datetime) -> dict[str, Query]:
    """Return the saved queries as they read at a moment, or at first if there were none then."""
    then: dict[str, Query] = {}
    first: dict[str, Query] = {}
    for one, query in wordings.items():
        first.setdefault(one.name, query)
        is_over = one.until is not None and one.until <= at
        if one.since <= at and not is_over:
            then[one.name] = query
    return then or first
