"""Judges the six facts that raise an alarm, words each one, and says whether a process is stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta

from digest.inspect.coverage import AnnouncementLine, AnnouncementState
from digest.model.announcements import latest_announcement
from digest.model.said import Said, Saying
from digest.store.alarms import STUCK, Alarm, AlarmName, Overdue

PLANS = Said.of(Saying.RUN_PLANS)
"""What to do about digests that are due and not planned, and nobody knows why."""

_INSTANT = timedelta(microseconds=1)

ANNOUNCEMENT_LIMIT = timedelta(hours=10)
"""From arXiv's announcement until an announcement must be taken in completely."""

DIGEST_LIMIT = timedelta(hours=2)
"""From a digest's time until it must be planned."""

OUTBOX_LIMIT = timedelta(hours=1)
"""From when a message was planned until it must be sent or given up."""

FAILURE_SHOWN = timedelta(days=2)
"""So long after it failed a message is an alarm.

It stays in the outbox until the operator has spoken.
"""

_TAKEN_IN = (
    AnnouncementState.COMPLETE,
    AnnouncementState.CAUGHT_UP,
    AnnouncementState.DEFERRED,
    AnnouncementState.BEFORE,
)

STALE_POLL = timedelta(days=2)
"""Checks complete daily, also on days without announcement.

Two days without one need an operator.
"""

LONGEST_TURNS: Mapping[str, float] = {
    "poll": 4 * 3600.0,  # a very first check goes through weeks of papers, at arXiv's pace
    "plan": 1800.0,
    # Ten minutes beside mails that hang, ten more over the last one's final dot.
    "deliver-mail": 1800.0,
    "deliver-posts": 1200.0,
    "heartbeat": 120.0,
    "reload": 1800.0,
}
"""Seconds after which a turn counts as stuck, by job."""

_LONGEST_OTHER = 3600.0


def find_due_announcement(now: datetime) -> date:
    """Return the Eastern date of the last announcement that must be taken in by a moment (UTC)."""
    return latest_announcement(now - ANNOUNCEMENT_LIMIT - _INSTANT)


def can_send_heartbeat(alarms: Iterable[Alarm]) -> bool:
    """Whether a sign of life may be given.

    A dead address, or a crowd, must not hide all that is worse.
    """
    return not any(alarm.name in {*STUCK, AlarmName.ANNOUNCEMENT} for alarm in alarms)


def find_alarms(
    write: Callable[[datetime], str],
    announcement: AnnouncementLine | None = None,
    *,
    digests: Overdue | None = None,
    deliveries: Overdue | None = None,
    failed: Overdue | None = None,
    held: Overdue | None = None,
    is_refusing: bool = False,
) -> Iterator[Alarm]:
    """Yield what is amiss, the most urgent first; what is None is well.

    Args:
        write: writes a moment with the name of its zone.
        announcement: the last one that must be taken in by now.
        digests: those that are due and not planned.
        deliveries: those that wait for too long.
        failed: deliveries given up of late.
        held: deliveries that need the operator.
        is_refusing: more people asked for a mail with a link than are answered.
    """
    if deliveries is not None:
        yield _describe_deliveries(deliveries, write(deliveries.due_at))
    if digests is not None:
        yield _describe_digests(digests, write(digests.due_at))
    if failed is not None:
        yield _describe_failed(failed)
    if held is not None:
        # Without a number: it is sent once, and more may come to need the operator.
        what = Said.of(Saying.NEEDS_YOU, held.named, held.reason)
        remedy = Said.of(Saying.SHOW_STUCK, str(held.delivery))
        yield Alarm(AlarmName.HELD, what, remedy)
    if announcement is not None and announcement.state not in _TAKEN_IN:
        yield _describe_announcement(announcement)
    if is_refusing:
        what = Said.of(Saying.MANY_SIGNUPS)
        yield Alarm(AlarmName.SIGNUPS, what, Said.of(Saying.ASK_LATER))


def _describe_deliveries(deliveries: Overdue, since: str) -> Alarm:
    what = Said.of(Saying.MESSAGES_WAIT, f"{deliveries.count:,}", since)
    if deliveries.count == 1:
        what = Said.of(Saying.MESSAGE_WAITS, deliveries.named, since)
    remedy = Said.of(Saying.SHOW_WAITING, str(deliveries.delivery))
    return Alarm(AlarmName.OUTBOX, what, remedy)


def _describe_digests(digests: Overdue, since: str) -> Alarm:
    # Several without a number: others are due beside these, and are not late yet.
    code = Saying.DIGEST_DUE if digests.count == 1 else Saying.DIGESTS_DUE
    what = Said.of(code, digests.named, since)
    if not digests.reason:
        return Alarm(AlarmName.DIGEST, what, PLANS)
    what = Said.of(Saying.PLANNING_FAILED, what, digests.reason)
    return Alarm(AlarmName.DIGEST, what, Said.of(Saying.PLANNED_AGAIN))


def _describe_failed(failed: Overdue) -> Alarm:
    why = failed.reason or Said.of(Saying.NOBODY_KNOWS)
    what = Said.of(Saying.MESSAGES_FAILED, f"{failed.count:,}", failed.named, why)
    if failed.count == 1:
        what = Said.of(Saying.MESSAGE_FAILED, failed.named, why)
    remedy = Said.of(Saying.SHOW_STUCK, str(failed.delivery))
    return Alarm(AlarmName.FAILED, what, remedy, failed.due_at)


def _describe_announcement(line: AnnouncementLine) -> Alarm:
    announcement = f"the announcement of {line.announcement:%a %-d %b}"
    if line.failure:
        what = Said.of(Saying.NOT_FETCHED, announcement, line.failure)
        remedy = Saying.FETCHED_AGAIN
    elif line.state in (AnnouncementState.LATE, AnnouncementState.AWAITED):
        what = Said.of(Saying.NOT_OUT, announcement)
        remedy = Saying.MAY_BE_DEFERRED
    else:
        is_unchecked = line.state is AnnouncementState.NOT_CHECKED
        became = Saying.NOT_CHECKED if is_unchecked else Saying.NOT_COMPLETE
        what = Said.of(became, announcement)
        remedy = Saying.SHOW_COVERAGE
    return Alarm(AlarmName.ANNOUNCEMENT, what, Said.of(remedy))


def is_stuck(job: str, seconds: float) -> bool:
    """Tell whether a job has been at the same turn for too long."""
    return seconds > LONGEST_TURNS.get(job, _LONGEST_OTHER)
