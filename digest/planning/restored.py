"""What a database that was lost has told already, as far as it can be known from when it was due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from digest.announcements import Kind, earliest_mailing, mailing_moment
from digest.planning.quiet import leave_quiet
from digest.planning.slots import is_taken, latest_slot, next_slot, take_slot
from digest.subscriptions import CadenceKind

if TYPE_CHECKING:
    from datetime import date

    from digest.comparing import StoredChange
    from digest.planning.turns import Rhythm
    from digest.subscriptions import Subscription

    Turns: TypeAlias = tuple[datetime | None, str]

_DAY = timedelta(days=1)

_INSTANT = timedelta(microseconds=1)
"""A turn exactly at the end of a pause is its first."""


def find_announced(change: StoredChange, mailing: date | None, datestamp: date | None) -> datetime:
    """Return when arXiv announced a change (UTC), as near as can be told; when in doubt, later.

    Whatever comes with a mailing stands in a record of the UTC day that begins that evening. A record that
    was edited comes with none: all that is known is that it was by the end of its day. A version dated behind
    the day of its own record is misdated, and its date tells nothing.

    Args:
        change: what was found, perhaps long after.
        mailing: Eastern date of the mailing that brought the paper; None where it is not known.
        datestamp: the day arXiv last changed the paper's record (UTC); None where it is not known.
    """
    if change.kind is Kind.NEW and mailing is not None:
        return min(mailing_moment(mailing), change.found_at)
    if datestamp is None and change.kind is not Kind.REPLACEMENT:
        return change.found_at
    submitted = mailing_moment(earliest_mailing(change.paper.updated))
    if datestamp is None:
        return min(submitted, change.found_at)
    begins, ends = mailing_moment(datestamp - _DAY), mailing_moment(datestamp)
    if change.kind is Kind.METADATA:
        return min(ends, change.found_at)
    is_misdated = change.paper.updated.astimezone(UTC).date() > datestamp
    return min(begins if is_misdated else max(submitted, begins), change.found_at)


def was_due_by(
    subscription: Subscription, announced: datetime, moment: datetime, *, is_first_look: bool = False
) -> bool:
    """Whether something announced then was to be told by a moment: at the first turn after it was announced.

    What was announced before a pause ended waited for its end, or came before it began; since when it was at
    rest is not known, and what is not known to be told is told again.
    """
    if subscription.paused_until is not None:
        announced = max(announced, subscription.paused_until - _INSTANT)
    return has_come_due(subscription, announced, moment, is_first_look=is_first_look)


def has_come_due(
    subscription: Subscription | Rhythm, announced: datetime, moment: datetime, *, is_first_look: bool = False
) -> bool:
    """Whether the first turn after something was announced had come by a moment, were there no pauses."""
    cadence, quiet = subscription.cadence, subscription.quiet_hours
    if is_first_look or cadence.kind is CadenceKind.AT_ONCE:
        return leave_quiet(cadence, quiet, announced) <= moment
    own_mailing = timedelta(seconds=cadence.kind is CadenceKind.ANNOUNCEMENT)
    turn = next_slot(cadence, quiet, announced - own_mailing)
    return turn is not None and turn.due_at <= moment


def pass_turns(subscription: Subscription, next_due_at: datetime | None, taken: str, since: datetime) -> Turns:
    """Return the next turn (UTC) and the turns taken, once those up to a moment were taken by the database before.

    What it did not tell waits for the next turn then, rather than go out at once under the name of one long past.

    Args:
        subscription: whose.
        next_due_at: its next turn as the copy knows it (UTC); None while nothing makes it due.
        taken: the names the copy knows of, see `digest.planning.slots`.
        since: up to when all was told (UTC).
    """
    cadence, quiet, rest = subscription.cadence, subscription.quiet_hours, subscription.paused_until
    has_passed = next_due_at is not None and next_due_at <= since and (rest is None or rest <= since)
    if not has_passed or cadence.kind is CadenceKind.AT_ONCE:
        return next_due_at, taken
    last = latest_slot(cadence, quiet, since)
    if not is_taken(taken, last.name):
        taken = take_slot(taken, last.name)
    following = next_slot(cadence, quiet, since, taken)
    return (following.due_at if following else None), taken
