"""Requests that wait for the button in a mail, and how many were made by whom.

Nothing here is kept for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from digest.model.cadences import Cadence, CadenceKind
from digest.model.destinations import Destination, mail_to
from digest.model.messages import DeliveryState, Occasion
from digest.model.people import REQUEST_LIFETIME, Limit, RequestKind, SignupRequest
from digest.model.subscriptions import Subscription, SubscriptionState
from digest.store.dialect import dialect_insert, lock_advisory, upsert
from digest.store.schema import (
    attempts,
    deliveries,
    digests,
    request_counts,
    signups,
    subscriptions,
)
from digest.store.subscribers import LETTERS
from digest.store.subscriptions import list_settings

REFUSED = "refused"
"""The name under which refused requests are counted: those that met a limit."""

_HOUR = 3600

_COUNTING = 20_261_123
"""Names the lock under which limits are judged and counted; any number that nothing else uses."""

_PORTION = 500
"""Letters deleted in one transaction."""

_KEPT_COUNTS = timedelta(days=31)
"""As long as the longest limit reaches back, and a day."""

_UNMAILED = ""
"""The hash of a request's link until its letter is made."""

_SELECT_LETTERS = select(subscriptions.c.id).where(subscriptions.c.name == LETTERS)
"""Asks for the key of the subscription that letters belong to."""

_IN_FLIGHT = (DeliveryState.CLAIMED, DeliveryState.SENDING)


@dataclass(frozen=True, slots=True)
class StoredSignup:
    """A request made by a form."""

    id: int
    kind: RequestKind
    address: str
    choices: SignupRequest
    asked_at: datetime
    ends_at: datetime

    @property
    def destination(self) -> Destination:
        """Where its letter goes."""
        return mail_to(self.address)


def save_signup(
    conn: Connection, kind: RequestKind, address: str, choices: SignupRequest, *, at: datetime
) -> int:
    """Store a request; return its number. Known and unknown addresses make the same row."""
    row = {
        "kind": kind,
        "address": address,
        "choices": choices.write(),
        "token": _UNMAILED,
        "asked_at": at,
        "ends_at": at + REQUEST_LIFETIME,
    }
    insertion = insert(signups).values(row).returning(signups.c.id)
    return int(conn.execute(insertion).scalar_one())


def claim_signups(conn: Connection, limit: int) -> list[StoredSignup]:
    """Return requests whose letter is still to be made, the oldest first.

    Nobody else gets them meanwhile.
    """
    is_unmailed = signups.c.token == _UNMAILED
    waiting = select(signups).where(is_unmailed)
    oldest = waiting.order_by(signups.c.id).limit(limit)
    claimed = oldest.with_for_update(skip_locked=True)
    return [_read(row) for row in conn.execute(claimed)]


def mark_mailed(conn: Connection, signup_id: int, token_hash: str, ends_at: datetime) -> None:
    """Note that a letter was made: the hash of its link, and until when it opens (UTC)."""
    request = update(signups).where(signups.c.id == signup_id)
    conn.execute(request.values(token=token_hash, ends_at=ends_at))


def load_signup(
    conn: Connection, token_hash: str, kind: RequestKind | None, now: datetime
) -> StoredSignup | None:
    """Return the request that a letter's link is for; None if its time is over.

    If a kind is given, a request of another kind is None, too. A connection that writes locks the
    row: when the button is pressed, the request is deleted.
    """
    if not token_hash:
        return None
    is_linked = signups.c.token == token_hash
    is_open = signups.c.ends_at > now
    request = select(signups).where(is_linked, is_open)
    can_write = not conn.get_execution_options().get("postgresql_readonly")
    if can_write:
        request = request.with_for_update()
    row = conn.execute(request).one_or_none()
    if row is None or kind not in (None, row.kind):
        return None
    return _read(row)


def delete_signup(conn: Connection, signup_id: int) -> None:
    """Delete a request: its button was pressed, or nothing more follows."""
    conn.execute(delete(signups).where(signups.c.id == signup_id))


def require_letters(conn: Connection, at: datetime) -> int:
    """Return the key of the subscription that letters belong to; store it if it is missing.

    It has ended, so that no digest is planned for it.
    """
    letters = Subscription(LETTERS, (), (), Cadence(CadenceKind.AT_ONCE), title="letters")
    ended = {
        "name": LETTERS,
        "origin": LETTERS,
        "state": SubscriptionState.ENDED,
        "last_slot": "",
        "plan_after": 0,
        "feed_generation": 0,
        "created_at": at,
        "ended_at": at,
    }
    row = list_settings(letters) | ended
    insertion = dialect_insert(conn, subscriptions)
    conn.execute(insertion.on_conflict_do_nothing(index_elements=["name"]), row)
    return int(conn.execute(_SELECT_LETTERS).scalar_one())


def has_unmailed_signups(conn: Connection) -> bool:
    """Whether a request still waits for its letter to be made."""
    is_unmailed = signups.c.token == _UNMAILED
    unmailed = select(signups.c.id).where(is_unmailed)
    return conn.execute(unmailed.limit(1)).first() is not None


def delete_expired_signups(conn: Connection, now: datetime) -> int:
    """Delete requests whose time is over, letters that nobody waits for, and old counts.

    Return how many requests. A letter on its way out is left for the next time.
    """
    expired = delete(signups).where(signups.c.ends_at <= now)
    gone = conn.execute(expired).rowcount
    _delete_old_letters(conn, now)
    is_old = request_counts.c.hour < _hour_of(now - _KEPT_COUNTS)
    conn.execute(delete(request_counts).where(is_old))
    return gone


def _delete_old_letters(conn: Connection, now: datetime) -> None:
    is_in_flight = deliveries.c.state.in_(_IN_FLIGHT)
    busy = select(deliveries.c.digest_id).where(is_in_flight)
    letter = digests.c
    is_letter = letter.occasion == Occasion.LETTER
    is_of_letters = letter.subscription_id.in_(_SELECT_LETTERS)
    is_over = letter.planned_at <= now - REQUEST_LIFETIME
    is_idle = letter.id.not_in(busy)
    old = select(letter.id).where(is_letter, is_of_letters, is_over, is_idle)
    ids = list(conn.execute(old.limit(_PORTION)).scalars())
    if not ids:
        return
    is_delivery = deliveries.c.digest_id.in_(ids)
    delivery_ids = select(deliveries.c.id).where(is_delivery)
    is_attempt = attempts.c.delivery_id.in_(delivery_ids)
    conn.execute(delete(attempts).where(is_attempt))
    conn.execute(delete(deliveries).where(is_delivery))
    conn.execute(delete(digests).where(letter.id.in_(ids)))


def count_request(conn: Connection, name: str, at: datetime) -> None:
    """Count one more under a name.

    Names are hashes: what is stored shows no address and no network.
    """
    row = {"name": name, "hour": _hour_of(at), "count": 1}
    upsert(conn, request_counts, row, {"count": request_counts.c.count + 1})


def lock_counts(conn: Connection) -> None:
    """Let no other transaction count before this one ends.

    So each that judges a limit sees all that was counted.
    """
    lock_advisory(conn, _COUNTING)


def find_next_allowed(conn: Connection, name: str, limit: Limit, now: datetime) -> datetime | None:
    """Return from when on (UTC) one more request is allowed; None if one is allowed now.

    Requests are counted by the hour, and the limit's span may begin within an hour. All of that
    hour is counted, so that never more requests are taken than the limit says.
    """
    columns = request_counts.c
    is_within = columns.hour >= _hour_of(now - limit.span)
    number = columns.count.label("number")
    hours = select(columns.hour, number).where(columns.name == name, is_within)
    counted = {row.hour: row.number for row in conn.execute(hours)}
    remaining = sum(counted.values())
    allowed_at = None
    for hour in sorted(counted):  # the oldest hour is the first to leave the span
        if remaining >= limit.most:
            hour_ends_at = datetime.fromtimestamp((hour + 1) * _HOUR, UTC)
            allowed_at = hour_ends_at + limit.span
        remaining -= counted[hour]
    return allowed_at


def is_refusing(conn: Connection, now: datetime) -> bool:
    """Whether requests were refused in the last hour; as they are counted, up to two hours ago."""
    columns = request_counts.c
    is_recent = columns.hour >= _hour_of(now - timedelta(hours=1))
    refused = select(columns.hour).where(columns.name == REFUSED, is_recent)
    return conn.execute(refused.limit(1)).first() is not None


def _hour_of(moment: datetime) -> int:
    return int(moment.timestamp()) // _HOUR


def _read(row: Row[Any]) -> StoredSignup:
    return StoredSignup(
        id=row.id,
        kind=RequestKind(row.kind),
        address=row.address,
        choices=SignupRequest.parse(row.choices),
        asked_at=row.asked_at,
        ends_at=row.ends_at,
    )
