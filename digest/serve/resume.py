"""Lets a restored database send again, from a moment on.

What the lost database sent after the backup was taken, the backup does not know; what was announced meanwhile it
finds again and takes for new. So no digest is planned from it and nothing sent, old or new, until somebody says
up to when the lost one had sent: what was due by then is not sent, everything else is sent once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from digest.inspect.coverage import is_checked
from digest.match.step import readable
from digest.model.announcements import Kind, earliest_mailing, mailing_moment
from digest.model.cadences import CadenceKind, leave_quiet
from digest.model.errors import UsageError
from digest.model.messages import Occasion
from digest.model.subscriptions import SubscriptionState
from digest.plan.digests import plan_digest
from digest.plan.turns import next_slot
from digest.poll.coverage import load_coverage
from digest.store import database
from digest.store import digests as digest_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import runs as cursor_store
from digest.store import subscriptions as subscription_store
from digest.store.matches import split_told
from digest.store.papers import load_mailings

if TYPE_CHECKING:
    from datetime import date

    from sqlalchemy import Connection

    from digest.model.announcements import StoredChange
    from digest.model.subscriptions import DueSubscription, Subscription


@dataclass(frozen=True, slots=True)
class Resumed:
    """What became of what a restored database held back.

    Attributes:
        released: deliveries that are sent now.
        dropped: deliveries taken as sent.
        told: papers taken as sent, each counted for each subscription.
    """

    released: int
    dropped: int
    told: int


def resume(conn: Connection, source: str, now: datetime, *, since: datetime | None = None) -> Resumed:
    """Let a restored database plan and send again, in one transaction.

    Args:
        conn: a writing transaction.
        source: `harvest` or `query`.
        now: the moment (UTC).
        since: what was due by then (UTC) was sent by the lost database and is not sent again; None: nothing was.

    Raises:
        UsageError: the database was not restored, or `since` lies ahead, or nobody knows yet what was announced.
    """
    copied_at = database.load_copied_at(conn)
    if copied_at is None:
        raise UsageError(
            "sending is not stopped: there is nothing to resume", hint="`digest status` shows how it is."
        )
    dropped = told = 0
    if since is not None:
        if since > now:
            raise UsageError(
                "this moment is in the future", hint="Name the last moment when all was sent, or an earlier one."
            )
        if not _has_looked(conn, source, copied_at):
            raise UsageError(
                "arXiv has not been checked since the restore, so it is not known what was due by then",
                hint="Run `digest run --now` first, or let `digest serve` check. Neither sends anything now.",
            )
        for due in subscription_store.load_subscriptions(conn):
            if due.subscription.has_digests and due.state == SubscriptionState.ACTIVE:
                told += _take_as_told(conn, due, source, since, now)
        dropped = database.take_as_sent(conn, since, now)
    return Resumed(database.resume(conn, now), dropped, told)


def _has_looked(conn: Connection, source: str, since: datetime) -> bool:
    looked = cursor_store.load_cursor(conn, source).last_complete_at
    is_matched = match_store.load_matched_mark(conn) == match_store.load_stored_mark(conn)
    return is_matched and ((looked is not None and looked > since) or not is_checked(conn, source))


def _take_as_told(conn: Connection, due: DueSubscription, source: str, since: datetime, now: datetime) -> int:
    """Record what one subscription was sent by a moment as a digest that goes nowhere.

    So its feed keeps these papers, later versions of them are known as such, and their history says who sent them.

    Returns:
        How many changes that are.
    """
    rows = match_store.load_pending_matches(conn, due.id, due.plan_after)
    changes = paper_store.load_changes(conn, sorted({id_ for row in rows for id_ in row.changes}))
    days = load_mailings(conn, {change.paper_key for change in changes.values()})
    announced = {id_: find_announced(change, *days[change.paper_key]) for id_, change in changes.items()}
    told: set[int] = set()
    for row in rows:
        is_first_digest = row.occasion == Occasion.FIRST_DIGEST
        told |= {
            id_
            for id_ in row.changes
            if was_due_by(due.subscription, announced[id_], since, is_first_digest=is_first_digest)
        }
    if told:
        record = plan_digest(
            due,
            [changes[id_] for id_ in told],
            {revision.name: query for revision, query in readable(due.revisions)},
            match_store.load_seen_versions(conn, due.id, {changes[id_].paper_key for id_ in told}),
            load_coverage(conn, source, now),
            slot=f"restored:{now:%Y-%m-%dT%H:%M:%SZ}",
            occasion=Occasion.ALREADY_SENT,
            now=now,
        )
        consumed = split_told(conn, due.id, told, rows)
        digest_store.save_digests(conn, [digest_store.DigestDraft(due.id, record, (), consumed)], at=now)
    return len(told)


_DAY = timedelta(days=1)

_INSTANT = timedelta(microseconds=1)
"""A turn exactly at the end of a pause is its first."""


def find_announced(change: StoredChange, mailing: date | None, datestamp: date | None) -> datetime:
    """Return when arXiv announced a change (UTC), as near as is known; when in doubt, later.

    Whatever comes with an announcement stands in a record of the UTC day that begins that evening. A record that
    was edited comes with none: all that is known is that it was by the end of its day. A version dated behind
    the day of its own record is misdated, and its date tells nothing.

    Args:
        change: what was found, perhaps long after.
        mailing: Eastern date of the announcement that brought the paper; None where it is not known.
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
    subscription: Subscription, announced: datetime, moment: datetime, *, is_first_digest: bool = False
) -> bool:
    """Whether something announced then was due by a moment: at the first turn after it was announced."""
    cadence, quiet = subscription.cadence, subscription.quiet_hours
    if is_first_digest or cadence.kind is CadenceKind.AT_ONCE:
        return leave_quiet(cadence, quiet, announced) <= moment
    own_mailing = timedelta(seconds=cadence.kind is CadenceKind.ANNOUNCEMENT)
    turn = next_slot(cadence, quiet, announced - own_mailing)
    return turn is not None and turn.due_at <= moment
