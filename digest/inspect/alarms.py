"""Judges the six facts that raise an alarm, words each alarm, and says whether a process is stuck."""

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
"""So long after it failed a message is an alarm; it stays in the outbox until the operator has spoken."""

_TAKEN_IN = (
    AnnouncementState.COMPLETE,
    AnnouncementState.CAUGHT_UP,
    AnnouncementState.DEFERRED,
    AnnouncementState.BEFORE,
)

STALE_POLL = timedelta(days=2)
"""Checks complete daily, also on days without announcement: two days without one need an operator."""

LONGEST_TURNS: Mapping[str, float] = {
    "poll": 4 * 3600.0,  # a very first check goes through weeks of papers, at arXiv's pace
    "plan": 1800.0,
    "deliver-mail": 1800.0,  # ten minutes beside mails that hang, ten more over the last one's final dot
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
    """Whether a sign of life may be given: a dead address, or a crowd, must not hide all that is worse."""
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
        since = write(deliveries.due_at)
        one = f"a message to {deliveries.named} has been waiting since {since}"
        many = f"{deliveries.number:,} messages have been waiting for more than an hour, the first since {since}"
        remedy = f"`digest delivery show {deliveries.delivery}` says what keeps it."
        yield Alarm(AlarmName.OUTBOX, one if deliveries.number == 1 else many, remedy)
    if digests is not None:
        since, why = (
            write(digests.due_at),
            f"; planning failed: {digests.reason}" if digests.reason else "",
        )
        one = f"the digest of {digests.named} has been due since {since} and is not planned"
        # Without a number: others are due beside these, and are not late yet.
        many = f"digests are due and not planned, that of {digests.named} since {since}"
        what = f"{one if digests.number == 1 else many}{why}"
        if digests.reason:
            yield Alarm(AlarmName.DIGEST, what, "Planning is tried again by itself.")
        else:
            yield Alarm(AlarmName.DIGEST, what, PLANS)
    if failed is not None:
        why = str(failed.reason) or "nobody knows why"
        one = f"the message to {failed.named} failed: {why}"
        many = f"{failed.number:,} messages failed in the last two days, the last of them to {failed.named}: {why}"
        remedy = f"`digest delivery show {failed.delivery}` says what to do."
        yield Alarm(AlarmName.FAILED, one if failed.number == 1 else many, remedy, failed.due_at)
    if held is not None:
        # Without a number: it is sent once, and more may come to need the operator.
        what = f"a message to {held.named} needs you: {held.reason}"
        yield Alarm(
            AlarmName.HELD, what, f"`digest delivery show {held.delivery}` says what to do."
        )
    if announcement is not None and announcement.state not in _TAKEN_IN:
        yield _describe_announcement(
            announcement, f"the announcement of {announcement.announcement:%a %-d %b}"
        )
    if is_refusing:
        what = "more people asked for a mail with a link than are answered in an hour"
        yield Alarm(
            AlarmName.SIGNUPS, what, "They can ask again later. `digest help people` says more."
        )


def _describe_announcement(line: AnnouncementLine, announcement: str) -> Alarm:
    if line.failure:
        return Alarm(
            AlarmName.ANNOUNCEMENT,
            Said.of(Saying.NOT_FETCHED, announcement, line.failure),
            "It is tried again. There is nothing to do unless this lasts.",
        )
    if line.state in (AnnouncementState.LATE, AnnouncementState.AWAITED):
        remedy = "Checks go on. arXiv may have deferred it (https://info.arxiv.org/help/availability.html)."
        return Alarm(AlarmName.ANNOUNCEMENT, f"{announcement} is not out yet", remedy)
    became = "checked" if line.state is AnnouncementState.NOT_CHECKED else "fetched completely"
    what = f"{announcement} was not {became}"
    return Alarm(AlarmName.ANNOUNCEMENT, what, "`digest coverage` says what is missing.")


def is_stuck(job: str, seconds: float) -> bool:
    """Tell whether a job has been at the same turn for too long."""
    return seconds > LONGEST_TURNS.get(job, _LONGEST_OTHER)
