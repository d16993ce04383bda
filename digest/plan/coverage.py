"""What was checked before a pass plans: which announcements each of its digests is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from sqlalchemy import Connection

from digest.model.announcements import (
    Kind,
    StoredChange,
    announcement_moment,
    announcements_between,
)
from digest.model.cadences import CadenceKind
from digest.model.messages import Coverage, EarlierDigest
from digest.model.subscriptions import DueSubscription
from digest.plan.digests import last_sent_until
from digest.plan.slots import find_covered_until, find_visible_moment
from digest.poll.coverage import load_coverage
from digest.store import digests, papers
from digest.store.matches import DueSlot
from digest.store.papers import MATCHED, STORED

_INSTANT = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)


class Coverages:
    """What was checked, read once for a pass and for each moment it asks about."""

    def __init__(self, source: str, now: datetime) -> None:
        self._source = source
        self._now = now
        self._at: dict[datetime, Coverage] = {}
        self._named: dict[tuple[Coverage, date | None, datetime | None], Coverage] = {}

    def load(self, conn: Connection, moment: datetime | None = None) -> Coverage:
        """Say what has been checked, now or at an earlier moment (UTC).

        Ask before the matches that wait are read: then it never promises more than these hold. What
        was stored and not yet matched, as by another process at this moment, does not count.
        """
        at = moment or self._now
        if at not in self._at:
            coverage = load_coverage(conn, self._source, at)
            if papers.load_mark(conn, MATCHED) < papers.load_mark(conn, STORED):
                coverage = replace(coverage, is_complete=False, is_settled=False)
            self._at[at] = coverage
        return self._at[at]

    def is_checked(self, conn: Connection, turn: DueSlot) -> bool:
        """Whether what had been announced when a turn came was checked to its end."""
        timing = turn.timing
        if timing.cadence.kind is CadenceKind.AT_ONCE or self.load(conn).is_complete:
            return True
        moment = find_visible_moment(timing.cadence, timing.quiet_hours, self._now, self._source)
        return self.load(conn, moment).is_complete

    def load_missed(self, conn: Connection, changes: Iterable[StoredChange]) -> Coverage:
        """Say what has been checked for the turn before the last.

        That is the announcement before the last one, if no change is of the last.
        """
        last = self.load(conn)
        if last.announcement is None:
            return last
        before = self.load(conn, announcement_moment(last.announcement) - _SECOND)
        announced = before.announcement
        if announced and any(change.announced > announced for change in changes):
            return last
        return before

    def load_earlier(
        self, conn: Connection, quiet: Iterable[DueSubscription]
    ) -> Mapping[int, Sequence[EarlierDigest]]:
        """Return what some subscriptions without new papers were sent before.

        That is since their first announcement that is now due.
        """
        since: dict[int, datetime] = {}
        last = self.load(conn).announcement
        if last is not None:
            last_sent = announcement_moment(last)
            for due in quiet:
                covered_until = find_covered_until(due.subscription, due.last_slot) or last_sent
                first = next(announcements_between(covered_until, last_sent), last)
                since[due.id] = announcement_moment(first)
        return digests.load_earlier(conn, since)

    def extend(
        self,
        conn: Connection,
        coverage: Coverage,
        changes: Iterable[StoredChange],
        due: DueSubscription,
        earlier: Sequence[EarlierDigest],
    ) -> Coverage:
        """Add which announcements a digest is for, by its turns, its papers and what was sent."""
        covered_until = find_covered_until(due.subscription, due.last_slot)
        told_until = last_sent_until(earlier)
        if told_until is not None:  # a digest that was missed is for more than was out by its turn
            told_at = announcement_moment(told_until)
            covered_until = max(told_at, covered_until or told_at)
        new = [change.announced for change in changes if change.kind is Kind.NEW]
        first = min(new, default=None)
        if first is not None and covered_until is not None:
            announced_at = announcement_moment(first)
            # Its turn passed while arXiv could not be reached, or lay on another day by the
            # schedule of then.
            if announced_at <= covered_until and _is_unsent(conn, due, first):
                covered_until = announced_at - _INSTANT
        key = coverage, first, covered_until
        if key not in self._named:
            self._named[key] = _name_announcements(conn, coverage, first, covered_until)
        return self._named[key]


def _name_announcements(
    conn: Connection, coverage: Coverage, first: date | None, covered_until: datetime | None
) -> Coverage:
    """Say which announcements a digest is for, if several, and how many papers they all brought."""
    last = coverage.announcement
    if last is None:
        return coverage
    last_sent = announcement_moment(last)
    if covered_until is not None:
        first = next(announcements_between(covered_until, last_sent), None)
    if first is None or first >= last:
        return coverage
    counts = papers.count_announced(conn, first, last).values()
    expected = announcements_between(announcement_moment(first) - _SECOND, last_sent)
    return replace(coverage, since=first, new=sum(counts), announcements=len(list(expected)))


def _is_unsent(conn: Connection, due: DueSubscription, announcement: date) -> bool:
    """Whether no digest covers an announcement yet; one of a failed check does not."""
    since = digests.load_earlier(conn, {due.id: announcement_moment(announcement)})
    told_until = last_sent_until(since.get(due.id, ()))
    return told_until is None or announcement > told_until
