"""The ledger of mailings: what became of each that the calendar expected, as the looks show it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import mailing_moment, mailings_between, next_mailing
from digest.planning.coverage import assess_coverage, is_late, join_coverages, was_asked

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


@dataclass(frozen=True, slots=True)
class Looks:
    """Looks that are enough for one at everything that is asked for, or for one saved query's part of it.

    Attributes:
        polls: finished polls; one that stands for several saved queries is the same object with each.
        since: since when they are to be made (UTC); None for always.
    """

    polls: Sequence[PollSummary]
    since: datetime | None = None


def assess_mailings(
    sources: Sequence[Looks],
    checks: Sequence[PollSummary],
    counts: Mapping[date, int],
    *,
    first_at: datetime | None,
    days: int,
    now: datetime,
) -> list[MailingLine]:
    """Say what became of each mailing of the last days, the newest first.

    Args:
        sources: what was looked at; all of it counts, but for an earlier mailing what was not asked by then.
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
    sources: Sequence[Looks],
    checks: Sequence[PollSummary],
    mailing: date,
    new: int,
    now: datetime,
    *,
    is_covered: bool,
) -> MailingLine:
    sent = mailing_moment(mailing)
    until = min(now, mailing_moment(next_mailing(sent)) - timedelta(seconds=1))
    asked = [looks for looks in sources if looks.since is None or was_asked(looks.since, sent, now)]
    # What came in after the last mailing is still to be looked for; of one before it has missed nothing.
    owed = asked if asked and until < now else sources
    coverage = join_coverages(
        [
            assess_coverage(
                [poll for poll in looks.polls if poll.finished_at <= until],
                until,
                checks=[c for c in checks if c.finished_at <= until],
                new=new,
            )
            for looks in owed
        ]
    )
    every = {id(poll): poll for looks in sources for poll in looks.polls}.values()
    made = [poll for poll in every if sent <= poll.started_at and poll.finished_at <= until]
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
