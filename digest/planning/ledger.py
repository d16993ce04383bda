"""The ledger of mailings: what became of each that the calendar expected, as the looks show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import mailing_moment, mailings_between, next_mailing
from digest.planning.coverage import assess_coverage, is_late, join_coverages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime

    from digest.planning.coverage import PollSummary


class MailingState(StrEnum):
    """What became of a mailing.

    `DEFERRED`: arXiv was looked at again and again, and nothing came before the next mailing was due.
    `CAUGHT_UP`: it was complete only with looks made after the next mailing.
    """

    COMPLETE = "complete"
    CAUGHT_UP = "caught up"
    INCOMPLETE = "incomplete"
    AWAITED = "not out yet"
    LATE = "late"
    DEFERRED = "deferred"
    NOT_LOOKED_AT = "not looked at"
    BEFORE = "before the first look"


@dataclass(frozen=True, slots=True)
class MailingLine:
    """One mailing.

    Attributes:
        mailing: Eastern date of its evening.
        state: what became of it.
        new: papers announced for the first time in it; estimated from the order of ids where several came at once.
        looks: complete looks between it and the next one.
        failed: looks in that time that failed.
        checked_at: when the last of them ended (UTC); None where there was none.
        failure: how the last one failed, where the mailing is not complete; "" otherwise.
    """

    mailing: date
    state: MailingState
    new: int
    looks: int
    failed: int
    checked_at: datetime | None
    failure: str


def assess_mailings(
    sources: Sequence[Sequence[PollSummary]],
    checks: Sequence[PollSummary],
    counts: Mapping[date, int],
    *,
    first_at: datetime | None,
    days: int,
    now: datetime,
) -> list[MailingLine]:
    """Say what became of each mailing of the last days, the newest first.

    Args:
        sources: finished polls, each list enough for one look at everything asked for; all of them count.
        checks: finished gap checks.
        counts: papers each mailing brought, by its Eastern date.
        first_at: when the first complete look began (UTC); None where there was none yet.
        days: how far back.
        now: the moment (UTC).
    """
    lines: list[MailingLine] = []
    is_covered = False
    for mailing in reversed(list(mailings_between(now - timedelta(days=days), now))):
        line = _assess_mailing(sources, checks, mailing, counts.get(mailing, 0), now, is_covered=is_covered)
        is_covered = is_covered or line.state is MailingState.COMPLETE
        following = mailing_moment(next_mailing(mailing_moment(mailing)))
        if first_at is None or first_at >= following:
            line = replace(line, state=MailingState.BEFORE)
        lines.append(line)
    return lines


def _assess_mailing(
    sources: Sequence[Sequence[PollSummary]],
    checks: Sequence[PollSummary],
    mailing: date,
    new: int,
    now: datetime,
    *,
    is_covered: bool,
) -> MailingLine:
    sent = mailing_moment(mailing)
    until = min(now, mailing_moment(next_mailing(sent)) - timedelta(seconds=1))
    known = [[poll for poll in polls if poll.finished_at <= until] for polls in sources]
    coverage = join_coverages(
        [
            assess_coverage(polls, until, checks=[c for c in checks if c.finished_at <= until], new=new)
            for polls in known
        ]
    )
    made = [poll for polls in known for poll in polls if poll.started_at >= sent]
    if coverage.is_complete:
        state = MailingState.COMPLETE
    elif is_covered and coverage.is_awaited and not new:
        state = MailingState.DEFERRED
    elif is_covered:
        state = MailingState.CAUGHT_UP
    elif is_late(coverage, until):
        state = MailingState.LATE
    elif coverage.is_awaited:
        state = MailingState.AWAITED
    else:
        state = MailingState.INCOMPLETE if made else MailingState.NOT_LOOKED_AT
    return MailingLine(
        mailing=mailing,
        state=state,
        new=new,
        looks=sum(poll.is_complete for poll in made),
        failed=sum(not poll.is_complete for poll in made),
        checked_at=max((poll.finished_at for poll in made), default=None),
        failure=coverage.failure if state in (MailingState.INCOMPLETE, MailingState.NOT_LOOKED_AT) else "",
    )
