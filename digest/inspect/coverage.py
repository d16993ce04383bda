"""Says what became of each expected announcement: checks, missing ids, entries set aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection

from digest.model.announcements import announcement_moment, announcements_between, next_announcement
from digest.model.clock import Clock
from digest.model.polls import PollSummary, Source
from digest.model.said import NOTHING, Said
from digest.poll.rules import assess_coverage, is_late, next_check_at
from digest.store import gaps, papers, queries, runs
from digest.store.gaps import GapState
from digest.store.gate import load_breaker

_MARGIN = timedelta(days=5)
"""Checks from so long before the first announcement shown say how far arXiv had come by then."""


def is_checked(conn: Connection, source: str) -> bool:
    """Whether arXiv is checked at all: not if it is searched, and there is no saved query."""
    return source == "harvest" or bool(queries.active_revisions(conn))


def find_next_check(conn: Connection, source: str, clock: Clock, now: datetime) -> datetime:
    """Return from when on the next check is worth a request (UTC); now where one is due."""
    paused_for = timedelta(seconds=load_breaker(conn, clock).seconds)
    may_ask_at = now + paused_for
    if not is_checked(conn, source):
        return may_ask_at
    due_at = next_check_at(runs.load_last_checks(conn, source)) or now
    return max(may_ask_at, due_at)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What has been checked of the last days.

    These are the announcements, newest first; the missing ids; and the requests of a day.
    """

    source: str
    announcements: tuple[AnnouncementLine, ...]
    gaps: dict[GapState, int]
    requests: int


def load_ledger(conn: Connection, source: str, now: datetime, *, days: int) -> Ledger:
    """Say what was checked of the announcements of the last days."""
    first_at = runs.load_cursor(conn, source).bootstrapped_at
    announcements = load_announcements(conn, source, now, first_at=first_at, days=days)
    return Ledger(
        source=source,
        announcements=tuple(announcements),
        gaps=gaps.count_gaps(conn),
        requests=runs.count_requests(conn, now - timedelta(hours=24)),
    )


def load_announcements(
    conn: Connection, source: str, now: datetime, *, first_at: datetime | None, days: int
) -> list[AnnouncementLine]:
    """Say what became of each announcement of the last days, the newest first.

    See `assess_announcements`.
    """
    since = now - timedelta(days=days) - _MARGIN
    return assess_announcements(
        polls=runs.load_polls_since(conn, source, since),
        checks=runs.load_polls_since(conn, Source.GAPS, since),
        counts=papers.count_announced(conn, since.date(), now.date()),
        first_at=first_at,
        days=days,
        now=now,
    )


class AnnouncementState(StrEnum):
    """What became of an announcement.

    `DEFERRED`: arXiv was checked again and again, and nothing came before the next announcement was
    due. `CAUGHT_UP`: it was complete only with checks made after the next announcement.
    """

    COMPLETE = "complete"
    CAUGHT_UP = "caught up"
    INCOMPLETE = "incomplete"
    AWAITED = "not out yet"
    LATE = "late"
    DEFERRED = "deferred"
    NOT_CHECKED = "not checked"
    BEFORE = "before the first check"


@dataclass(frozen=True, slots=True)
class AnnouncementLine:
    """One announcement (Eastern date), with the checks before the next one.

    Of these it has how many were complete, how many failed, and the last (UTC). How many papers are
    new in it is estimated from the order of ids if several announcements came at once.
    """

    announcement: date
    state: AnnouncementState
    new: int
    checks: int
    failed: int
    checked_at: datetime | None
    failure: Said


def assess_announcements(
    polls: Sequence[PollSummary],
    checks: Sequence[PollSummary],
    counts: Mapping[date, int],
    *,
    first_at: datetime | None,
    days: int,
    now: datetime,
) -> list[AnnouncementLine]:
    """Say what became of each announcement of the last days, the newest first.

    `first_at` is when the first complete check began (UTC); None if there was none yet.
    """
    lines: list[AnnouncementLine] = []
    is_covered = False
    announcements = list(announcements_between(now - timedelta(days=days), now))
    for announcement in reversed(announcements):
        new = counts.get(announcement, 0)
        line = _assess_announcement(polls, checks, announcement, new, now, is_covered=is_covered)
        is_covered = is_covered or line.state is AnnouncementState.COMPLETE
        following = next_announcement(announcement_moment(announcement))
        if first_at is None or first_at >= announcement_moment(following):
            line = replace(line, state=AnnouncementState.BEFORE)
        lines.append(line)
    return lines


def _assess_announcement(
    polls: Sequence[PollSummary],
    checks: Sequence[PollSummary],
    announcement: date,
    new: int,
    now: datetime,
    *,
    is_covered: bool,
) -> AnnouncementLine:
    sent = announcement_moment(announcement)
    following = announcement_moment(next_announcement(sent))
    until = min(now, following - timedelta(seconds=1))
    earlier = [poll for poll in polls if poll.finished_at <= until]
    earlier_checks = [check for check in checks if check.finished_at <= until]
    coverage = assess_coverage(earlier, until, checks=earlier_checks, new=new)
    made = [poll for poll in earlier if sent <= poll.started_at]
    if coverage.is_complete:
        state = AnnouncementState.COMPLETE
    elif is_covered and coverage.is_awaited and not new:
        state = AnnouncementState.DEFERRED
    elif is_covered:
        state = AnnouncementState.CAUGHT_UP
    elif is_late(coverage, until):
        state = AnnouncementState.LATE
    elif coverage.is_awaited:
        state = AnnouncementState.AWAITED
    elif made:
        state = AnnouncementState.INCOMPLETE
    else:
        state = AnnouncementState.NOT_CHECKED
    complete = [poll for poll in made if poll.is_complete]
    last = max(earlier, key=lambda poll: poll.finished_at, default=None)
    last_made_at = max((poll.finished_at for poll in made), default=None)
    has_failed = state in (AnnouncementState.INCOMPLETE, AnnouncementState.NOT_CHECKED)
    return AnnouncementLine(
        announcement=announcement,
        state=state,
        new=new,
        checks=len(complete),
        failed=len(made) - len(complete),
        checked_at=last_made_at,
        failure=last.failure if last and has_failed else NOTHING,
    )
