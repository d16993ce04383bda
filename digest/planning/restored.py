"""What a database that was lost has told already, as far as it can be known from when it was due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from digest.announcements import Kind, earliest_mailing, mailing_moment
from digest.planning.quiet import leave_quiet
from digest.planning.slots import next_slot
from digest.subscriptions import CadenceKind

if TYPE_CHECKING:
    from datetime import date

    from digest.comparing import StoredChange
    from digest.subscriptions import Subscription

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
    cadence, quiet = subscription.cadence, subscription.quiet_hours
    if is_first_look or cadence.kind is CadenceKind.AT_ONCE:
        return leave_quiet(cadence, quiet, announced) <= moment
    own_mailing = timedelta(seconds=cadence.kind is CadenceKind.ANNOUNCEMENT)
    turn = next_slot(cadence, quiet, announced - own_mailing)
    return turn is not None and turn.due_at <= moment
