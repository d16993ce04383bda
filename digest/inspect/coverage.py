"""Says what became of each expected announcement, and counts missing ids and requests."""

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

_LEAD = timedelta(days=5)
"""Polls from so long before the first announcement are read, too.

They say how far arXiv had come by then.
"""


def is_checked(conn: Connection, source: str) -> bool:
    """Whether arXiv is checked at all: not if it is searched, and there is no saved query."""
    return source == "harvest" or bool(queries.active_revisions(conn))


def find_next_check(conn: Connection, source: str, clock: Clock, now: datetime) -> datetime:
    """Return from when on the next check is worth a request (UTC).

    It is `now` if a check is due. After errors of arXiv there is a pause, which must be over first.
    """
    paused_for = timedelta(seconds=load_breaker(conn, clock).seconds)
    may_ask_at = now + paused_for
    if not is_checked(conn, source):
        return may_ask_at
    due_at = next_check_at(runs.load_last_checks(conn, source)) or now
    return max(may_ask_at, due_at)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What has been checked of the last days.

    Attributes:
        announcements: newest first.
        gaps: how many ids are in each state.
        requests: how many were made in the last 24 hours.
    """

    source: str
    announcements: tuple[AnnouncementLine, ...]
    gaps: dict[GapState, int]
    requests: int


def load_ledger(conn: Connection, source: str, now: datetime, *, days: int) -> Ledger:
    """Return what was checked of the announcements of the last days."""
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
    since = now - timedelta(days=days) - _LEAD
    return assess_announcements(
        polls=runs.load_polls_since(conn, source, since),
        gap_checks=runs.load_polls_since(conn, Source.GAPS, since),
        counts=papers.count_announced(conn, since.date(), now.date()),
        first_at=first_at,
        days=days,
        now=now,
    )


class AnnouncementState(StrEnum):
    """What became of an announcement.

    `DEFERRED`: arXiv was checked again and again, and nothing came before the next announcement was
    due. `CAUGHT_UP`: only checks after the next announcement made this one complete.
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
    """One announcement, with the checks between it and the next one.

    Attributes:
        announcement: the Eastern date.
        new: how many papers are new in the announcement; an estimate from the order of ids if
            several announcements came at once.
        checks: how many checks were complete.
        failed: how many checks were not.
        checked_at: when the last check ended (UTC); None if there was none.
        failure: why the last poll failed, if the announcement was not checked completely.
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
    gap_checks: Sequence[PollSummary],
    counts: Mapping[date, int],
    *,
    first_at: datetime | None,
    days: int,
    now: datetime,
) -> list[AnnouncementLine]:
    """Say what became of each announcement of the last days, the newest first.

    Args:
        polls: finished polls of the source that is checked.
        gap_checks: finished polls that asked arXiv for missing ids.
        counts: how many papers each announcement brought, by its date.
        first_at: when the first complete check began (UTC); None if there was none yet.
    """
    lines: list[AnnouncementLine] = []
    is_later_complete = False
    announcements = list(announcements_between(now - timedelta(days=days), now))
    for announcement in reversed(announcements):
        new = counts.get(announcement, 0)
        line = _assess_announcement(
            polls, gap_checks, announcement, new, now, is_later_complete=is_later_complete
        )
        is_later_complete = is_later_complete or line.state is AnnouncementState.COMPLETE
        following = next_announcement(announcement_moment(announcement))
        is_before = first_at is None or first_at >= announcement_moment(following)
        if is_before:
            line = replace(line, state=AnnouncementState.BEFORE)
        lines.append(line)
    return lines


def _assess_announcement(
    polls: Sequence[PollSummary],
    gap_checks: Sequence[PollSummary],
    announcement: date,
    new: int,
    now: datetime,
    *,
    is_later_complete: bool,
) -> AnnouncementLine:
    announced_at = announcement_moment(announcement)
    following_at = announcement_moment(next_announcement(announced_at))
    until = min(now, following_at - timedelta(seconds=1))
    earlier = [poll for poll in polls if poll.finished_at <= until]
    earlier_gap_checks = [check for check in gap_checks if check.finished_at <= until]
    coverage = assess_coverage(earlier, until, checks=earlier_gap_checks, new=new)
    polls_since = [poll for poll in earlier if poll.started_at >= announced_at]
    if coverage.is_complete:
        state = AnnouncementState.COMPLETE
    elif is_later_complete and coverage.is_awaited and not new:
        state = AnnouncementState.DEFERRED
    elif is_later_complete:
        state = AnnouncementState.CAUGHT_UP
    elif is_late(coverage, until):
        state = AnnouncementState.LATE
    elif coverage.is_awaited:
        state = AnnouncementState.AWAITED
    elif polls_since:
        state = AnnouncementState.INCOMPLETE
    else:
        state = AnnouncementState.NOT_CHECKED
    complete = [poll for poll in polls_since if poll.is_complete]
    checked_at = max((poll.finished_at for poll in polls_since), default=None)
    # The last poll may be from before the announcement: then its failure says why none came since.
    last = max(earlier, key=lambda poll: poll.finished_at, default=None)
    needs_reason = state in (AnnouncementState.INCOMPLETE, AnnouncementState.NOT_CHECKED)
    return AnnouncementLine(
        announcement=announcement,
        state=state,
        new=new,
        checks=len(complete),
        failed=len(polls_since) - len(complete),
        checked_at=checked_at,
        failure=last.failure if last and needs_reason else NOTHING,
    )
