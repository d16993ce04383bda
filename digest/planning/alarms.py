"""The dead-man's switch: what should have happened by now and has not, and when somebody is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import mailing_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from digest.messages import Coverage

REMIND_EVERY = timedelta(hours=24)
"""An alarm that lasts is told again after this long."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
"""Between two attempts to tell of an alarm whose message could not be sent."""


class AlarmName(StrEnum):
    """What can be amiss; each is one alarm, however much of it there is."""

    MAILING = "mailing"
    DIGEST = "digest"
    OUTBOX = "outbox"
    HELD = "held"
    DEAD = "dead"


STUCK = frozenset({AlarmName.DIGEST, AlarmName.OUTBOX})
"""Alarms that say a process does not do its work; the others are for a person, whatever is restarted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long each may take before somebody is told; None for however long.

    Attributes:
        mailing: from arXiv's announcement until a mailing has been taken in completely.
        digest: from a digest's due time until it is planned.
        outbox: from a delivery's due time until it has ended.
    """

    mailing: timedelta | None
    digest: timedelta | None
    outbox: timedelta | None


@dataclass(frozen=True, slots=True)
class Overdue:
    """What has been due for too long: how many, the oldest one's name, and since when it is due (UTC)."""

    number: int
    oldest: str
    due_at: datetime


@dataclass(frozen=True, slots=True)
class AlarmFacts:
    """What alarms are decided from.

    Attributes:
        coverage: what was looked at of the last mailing, for every saved query; None where nobody asks for any.
        digests: subscriptions whose turn is overdue; None for none.
        deliveries: deliveries neither ended nor on their way in time; those held for the operator are apart.
        held: deliveries that have waited too long for the operator's word.
        dead: deliveries given up within `REMIND_EVERY`, with the reason of the last; None for none.
        is_mailing_missed: a mailing was missing when this was last looked at. That the next one is expected
            meanwhile does not end it; a mailing that has come does.
    """

    coverage: Coverage | None
    digests: Overdue | None = None
    deliveries: Overdue | None = None
    dead: Overdue | None = None
    held: Overdue | None = None
    is_mailing_missed: bool = False


@dataclass(frozen=True, slots=True)
class Alarm:
    """One thing somebody must hear of.

    Attributes:
        name: which.
        what: what is amiss, as a sentence without a full stop.
        remedy: what to do.
    """

    name: AlarmName
    what: str
    remedy: str


def find_alarms(facts: AlarmFacts, limits: Limits, now: datetime) -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC), the most urgent first."""
    return tuple(_find(facts, limits, now))


def choose_pause(attempts: int, jitter: float) -> timedelta:
    """Return how long to wait before an alarm is told again after so many attempts (1 at least) failed.

    Args:
        attempts: how often it was tried.
        jitter: from 0 up to 1: what is waited lies between half the pause and all of it.
    """
    doubled: timedelta = FIRST_PAUSE * 2 ** min(attempts - 1, 16)
    return min(doubled, LONGEST_PAUSE) * (0.5 + jitter / 2)


def _find(facts: AlarmFacts, limits: Limits, now: datetime) -> Iterator[Alarm]:
    if facts.deliveries is not None and _is_over(facts.deliveries.due_at, limits.outbox, now):
        number, oldest = facts.deliveries.number, facts.deliveries.oldest
        waits = "a delivery waits" if number == 1 else f"{number:,} deliveries wait"
        what = f"{waits} since {_write(facts.deliveries.due_at)}, the oldest to {oldest}"
        yield Alarm(AlarmName.OUTBOX, what, "See `digest status` and `digest delivery list`.")
    if facts.digests is not None and _is_over(facts.digests.due_at, limits.digest, now):
        number, oldest = facts.digests.number, facts.digests.oldest
        due = f"the digest of {oldest} is" if number == 1 else f"{number:,} digests are, {oldest}'s first,"
        what = f"{due} due since {_write(facts.digests.due_at)} and not planned"
        yield Alarm(AlarmName.DIGEST, what, "`digest status` says what is wrong, the log says why.")
    if facts.held is not None and _is_over(facts.held.due_at, limits.outbox, now):
        number, oldest = facts.held.number, facts.held.oldest
        held = "a delivery is" if number == 1 else f"{number:,} deliveries are"
        what = f"{held} held for you since {_write(facts.held.due_at)}, the oldest to {oldest}"
        yield Alarm(AlarmName.HELD, what, "`digest delivery list --state held` says why; `retry` or `drop` them.")
    if facts.dead is not None:
        number = facts.dead.number
        gone = "a delivery was" if number == 1 else f"{number:,} deliveries were"
        what = f"{gone} given up since {_write(facts.dead.due_at)}, the last one {facts.dead.oldest}"
        yield Alarm(
            AlarmName.DEAD, what, "`digest delivery list --state dead` shows them, `retry` tries one again."
        )
    yield from _find_missing_mailing(facts, limits.mailing, now)


def _find_missing_mailing(facts: AlarmFacts, limit: timedelta | None, now: datetime) -> Iterator[Alarm]:
    coverage = facts.coverage
    if limit is None or coverage is None or coverage.mailing is None or coverage.is_complete:
        return
    if not facts.is_mailing_missed and not _is_over(mailing_moment(coverage.mailing), limit, now):
        return
    mailing = f"the mailing of {coverage.mailing:%a %-d %b}"
    if coverage.failure:
        yield Alarm(AlarmName.MAILING, f"{mailing} is not taken in: {coverage.failure}", "It is tried again.")
    elif coverage.is_awaited:
        remedy = "Looks go on; arXiv may have deferred it (https://info.arxiv.org/help/availability.html)."
        yield Alarm(AlarmName.MAILING, f"{mailing} is not out yet", remedy)
    else:
        yield Alarm(
            AlarmName.MAILING, f"{mailing} is not taken in completely", "`digest coverage` says what lacks."
        )


def _is_over(since: datetime, limit: timedelta | None, now: datetime) -> bool:
    return limit is not None and now - since > limit


def _write(moment: datetime) -> str:
    return f"{moment:%a %-d %b %H:%M} UTC"


def describe_alarms(alarms: Sequence[Alarm]) -> str:
    """Return alarms as one line; "" for none."""
    return "; ".join(alarm.what for alarm in alarms)
