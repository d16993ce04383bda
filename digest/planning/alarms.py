"""The dead-man's switch: what should have happened by now and has not, and when somebody is told of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import alarm_moment, latest_mailing, mailing_moment
from digest.planning.coverage import was_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from digest.messages import Coverage

REMIND_EVERY = timedelta(hours=24)
"""An alarm that lasts is told again after this long."""

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
"""Between two attempts to tell of an alarm whose message could not be sent."""

_INSTANT = timedelta(microseconds=1)


class AlarmName(StrEnum):
    """What can be amiss; each is one alarm, however much of it there is."""

    MAILING = "mailing"
    DIGEST = "digest"
    OUTBOX = "outbox"
    HELD = "held"
    DEAD = "dead"
    RESTORED = "restored"


_WORDS = {
    "mailing": "Mailing",
    "digest": "Digests",
    "outbox": "Outbox",
    "held": "Held",
    "dead": "Given up",
    "restored": "Restored",
}

STUCK = frozenset({AlarmName.DIGEST, AlarmName.OUTBOX})
"""Alarms that say a process does not do its work; the others are for a person, whatever is restarted."""

SILENCING = STUCK | {AlarmName.MAILING, AlarmName.RESTORED}
"""Alarms that say the installation does not do its work: no sign of life is given meanwhile. A single message
that is held or was given up is not among them, or one reader's dead address would hide all that is worse."""

_TRIED_AGAIN = "It is tried again; there is nothing to do unless this lasts."

LONGEST_HEADLINE = 82
"""Characters of what stands in a subject behind the name of this product."""


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
    """What has been due for too long.

    Attributes:
        number: how many.
        oldest: the name of the one to tell of: the oldest, or of those given up the last.
        due_at: since when there has been any (UTC).
        reason: what happened to the one that is named, "" where that is known to nobody.
        delivery: the number of the delivery that is named; 0 for none.
    """

    number: int
    oldest: str
    due_at: datetime
    reason: str = ""
    delivery: int = 0


@dataclass(frozen=True, slots=True)
class AlarmFacts:
    """What alarms are decided from.

    Attributes:
        coverage: what was looked at of the last mailing that should be there (see `find_due_mailing`), complete
            where any since is; for every saved query that was asked by then; None where none was.
        digests: subscriptions whose turn is overdue, with what kept planning from one, where that is known; None
            for none.
        deliveries: deliveries neither ended nor on their way in time; None for none.
        held: deliveries held for the operator for as long; None for none.
        dead: deliveries given up and not told of enough (see `find_told_until`), with the reason of the last; None
            for none.
        is_restored: the database is a copy, and holds everything back until the operator has spoken: that
            nothing is planned or sent is then no alarm of its own.
        asked_since: when arXiv was first asked, with or without success (UTC); None for never. Mailings from
            before are not expected.
        is_served: a process is at work all the time, beside which `digest run` does nothing.
    """

    coverage: Coverage | None
    digests: Overdue | None = None
    deliveries: Overdue | None = None
    held: Overdue | None = None
    dead: Overdue | None = None
    is_restored: bool = False
    asked_since: datetime | None = None
    is_served: bool = False


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

    @property
    def detail(self) -> str:
        """What is amiss, and what to do."""
        return f"{self.what}. {self.remedy}"


def find_alarms(
    facts: AlarmFacts, limits: Limits, now: datetime, write: Callable[[datetime], str]
) -> tuple[Alarm, ...]:
    """Return what is amiss at a moment (UTC), the most urgent first.

    Args:
        facts: what is known.
        limits: how long each may take.
        now: the moment (UTC).
        write: writes a moment as its reader is shown it, with the name of its zone.
    """
    return tuple(_find(facts, limits, now, write))


def find_told_until(now: datetime, since: datetime | None, told_at: datetime | None) -> datetime:
    """Return the moment up to which deliveries given up have been told of enough, or are too old for it (UTC).

    Nobody mends the dead address of a reader who is gone, so each is told of, recalled once it has stayed given up
    for a day, and then let go. What nobody could be told yet stays with the alarm, however long that takes.

    Args:
        now: the moment (UTC).
        since: when the alarm of them that lasts was raised (UTC); None where there is none.
        told_at: when that was last told (UTC); None before.
    """
    return min(told_at or since or now, now) - REMIND_EVERY


def find_due_mailing(limit: timedelta, now: datetime) -> date:
    """Return the Eastern date of the last mailing whose limit has passed at a moment (UTC).

    That the next one has gone out meanwhile does not end its being missed, or whoever looks once a day, at the
    wrong hour, would never hear of any.
    """
    return latest_mailing(now - limit - _INSTANT)


def find_owed(before: datetime) -> datetime:
    """Return the moment up to which papers must have come, and their turn, to be told by a moment (both UTC).

    That is what a digest `on announcement` is held to. It waits for the rest of a mailing until the next morning,
    but not longer (see `digest.planning.turns`): until then only what waited before that mailing is owed.
    """
    mailing = latest_mailing(before)
    return before if alarm_moment(mailing) <= before else mailing_moment(mailing)


def choose_pause(attempts: int, jitter: float) -> timedelta:
    """Return how long to wait before an alarm is told again after so many attempts (1 at least) failed.

    Args:
        attempts: how often it was tried.
        jitter: from 0 up to 1: what is waited lies between half the pause and all of it.
    """
    doubled: timedelta = FIRST_PAUSE * 2 ** min(attempts - 1, 16)
    return min(doubled, LONGEST_PAUSE) * (0.5 + jitter / 2)


def _find(facts: AlarmFacts, limits: Limits, now: datetime, write: Callable[[datetime], str]) -> Iterator[Alarm]:
    if facts.is_restored:
        what = "the database was restored: nothing is sent until you call digest resume"
        yield Alarm(AlarmName.RESTORED, what, "`digest restore --status` says what waits and how to go on.")
    else:
        yield from _find_overdue(facts, limits, now, write)
    if facts.dead is not None:
        number, place, since = facts.dead.number, facts.dead.oldest, write(facts.dead.due_at)
        reason = facts.dead.reason or "nobody knows why"
        one = f"the delivery to {place} was given up on {since}: {reason}"
        many = f"{number:,} deliveries were given up since {since}, the last of them to {place}: {reason}"
        id_ = facts.dead.delivery
        remedy = f"`digest delivery show {id_}` says more, `digest delivery retry {id_}` tries it again."
        if number > 1:
            remedy = "`digest delivery list --state dead` shows them, `digest delivery retry ID` tries one again."
        yield Alarm(AlarmName.DEAD, one if number == 1 else many, remedy)
    yield from _find_missing_mailing(facts, limits.mailing, now)


def _find_overdue(
    facts: AlarmFacts, limits: Limits, now: datetime, write: Callable[[datetime], str]
) -> Iterator[Alarm]:
    if facts.deliveries is not None and _is_over(facts.deliveries.due_at, limits.outbox, now):
        late, since = facts.deliveries, write(facts.deliveries.due_at)
        number, place = late.number, late.oldest
        one = f"a delivery to {place} has been waiting since {since}"
        many = f"{number:,} deliveries have been waiting since {since}, the oldest to {place}"
        which = "it" if number == 1 else "the oldest"
        shows = f"`digest delivery show {late.delivery}` says what keeps {which}"
        remedy = f"`digest run` sends what is due; {shows}."
        if facts.is_served:
            remedy = f"{shows}, `digest status --jobs` how the process at work stands."
        yield Alarm(AlarmName.OUTBOX, one if number == 1 else many, remedy)
    if facts.digests is not None and _is_over(facts.digests.due_at, limits.digest, now):
        number, name = facts.digests.number, facts.digests.oldest
        since = write(facts.digests.due_at)
        one = f"the digest of {name} has been due since {since} and is not planned"
        many = f"{number:,} digests are due and not planned, that of {name} since {since}"
        why = f"; planning failed: {facts.digests.reason}" if facts.digests.reason else ""
        yield Alarm(
            AlarmName.DIGEST,
            f"{one if number == 1 else many}{why}",
            "`digest status --jobs` and the log say why."
            if facts.is_served
            else "`digest run` plans what is due; where it does not, `digest status --jobs` and the log say why.",
        )
    if facts.held is not None and _is_over(facts.held.due_at, limits.outbox, now):
        number, place, since = facts.held.number, facts.held.oldest, write(facts.held.due_at)
        one = f"a delivery of {since} to {place} is held for you"
        many = f"{number:,} deliveries are held for you, the oldest of {since} to {place}"
        id_ = facts.held.delivery
        remedy = (
            f"`digest delivery show {id_}` says why, `digest delivery retry {id_}` sends it once that is mended,"
            f" `digest delivery drop {id_}` ends it."
        )
        if number > 1:
            remedy = (
                "`digest delivery list --state held` says why, `digest delivery retry --held` sends them once"
                " that is mended, `digest delivery drop ID` ends one."
            )
        yield Alarm(AlarmName.HELD, one if number == 1 else many, remedy)


def _find_missing_mailing(facts: AlarmFacts, limit: timedelta | None, now: datetime) -> Iterator[Alarm]:
    coverage = facts.coverage
    if limit is None or coverage is None or coverage.mailing is None or coverage.is_complete:
        return
    sent = mailing_moment(coverage.mailing)
    if not (_is_over(sent, limit, now) and was_asked(facts.asked_since, sent, now)):
        return
    mailing = f"the mailing of {coverage.mailing:%a %-d %b}"
    if coverage.failure:
        yield Alarm(AlarmName.MAILING, f"{mailing} is not taken in: {coverage.failure}", _TRIED_AGAIN)
    elif coverage.is_awaited:
        remedy = "Looks go on; arXiv may have deferred it (https://info.arxiv.org/help/availability.html)."
        yield Alarm(AlarmName.MAILING, f"{mailing} is not out yet", remedy)
    else:
        yield Alarm(
            AlarmName.MAILING, f"{mailing} is not taken in completely", "`digest coverage` says what lacks."
        )


def _is_over(since: datetime, limit: timedelta | None, now: datetime) -> bool:
    return limit is not None and now - since > limit


def describe_alarms(alarms: Sequence[Alarm]) -> str:
    """Return alarms as one line; "" for none."""
    return "; ".join(alarm.what for alarm in alarms)


def does_its_work(alarms: Iterable[Alarm]) -> bool:
    """Whether the installation does its work, as far as these alarms tell: a sign of life may be given."""
    return SILENCING.isdisjoint(alarm.name for alarm in alarms)


def write_headline(about: Sequence[str]) -> str:
    """Return what is amiss, as sentences without full stops, as one line that a subject has room for."""
    whole = "; ".join(about)
    if len(whole) <= LONGEST_HEADLINE:
        return whole
    more = f" (and {len(about) - 1} more)" if len(about) > 1 else ""
    if len(about[0]) + len(more) <= LONGEST_HEADLINE:
        return about[0] + more
    kept = about[0][: LONGEST_HEADLINE - len(more) - 2]
    return f"{(kept.rpartition(' ')[0] or kept).rstrip(' :;,')} …{more}"


def name_alarm(name: str) -> str:
    """Return an alarm by name, in a word that begins a sentence."""
    return _WORDS.get(name, name)


def name_alarms(names: Iterable[str]) -> str:
    """Return alarms by name, in words within a sentence."""
    return ", ".join(name_alarm(name).lower() for name in names)
