"""People: who agreed to be written to, and who left. Leaving beats everything else."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, and_, delete, func, insert, literal, select, true, update

from digest.consent import EVERYTHING, SubscriberState
from digest.store import dialect
from digest.store.destinations import destination_key
from digest.store.schema import (
    consents,
    deliveries,
    digests,
    match_runs,
    subscribers,
    subscription_destinations,
    subscriptions,
    suppressions,
)
from digest.store.waiting import of_subscriptions, suppress_waiting
from digest.subscriptions import Destination, DestinationKind, SubscriptionState

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection, Row


class DestinationState(StrEnum):
    """`LEFT`: whoever reads there left. `DISABLED`: the file does not name it any more."""

    ACTIVE = "active"
    LEFT = "left"
    DISABLED = "disabled"


_LEAVE = (
    select(suppressions.c.reason)
    .where(
        suppressions.c.destination == deliveries.c.destination,
        suppressions.c.subscription.in_((literal(EVERYTHING), subscriptions.c.name)),
    )
    .order_by(suppressions.c.subscription)
    .limit(1)
    .scalar_subquery()
)

_READER = (
    select(subscribers.c.state)
    .where(subscribers.c.address == func.substr(deliveries.c.destination, len(f"{DestinationKind.MAIL}:") + 1))
    .scalar_subquery()
)

_ASKED = (
    select(
        deliveries.c.id,
        deliveries.c.destination,
        subscriptions.c.name,
        subscriptions.c.state.label("subscription_state"),
        subscription_destinations.c.state.label("place_state"),
        subscription_destinations.c.reason.label("place_reason"),
        _LEAVE.label("left"),
        _READER.label("reader_state"),
    )
    .join(digests, digests.c.id == deliveries.c.digest_id)
    .join(subscriptions, subscriptions.c.id == digests.c.subscription_id)
    .outerjoin(
        subscription_destinations,
        and_(
            subscription_destinations.c.subscription_id == subscriptions.c.id,
            subscription_destinations.c.destination == deliveries.c.destination,
        ),
    )
    .where(dialect.is_among(deliveries.c.id, "asked"))
)
"""What decides whether deliveries may be sent; built once, since it is asked before every message."""


def confirm_by_operator(conn: Connection, address: str, subscription: str, at: datetime) -> None:
    """Count an address in the operator's file as confirmed, unless its owner left; twice is as good as once."""
    key = _address_key(address)
    row = {"address": key, "state": SubscriberState.CONFIRMED, "how": "operator", "since": at}
    conn.execute(dialect.insert(conn, subscribers).on_conflict_do_nothing(index_elements=["address"]), row)
    is_pending = (subscribers.c.address == key) & (subscribers.c.state == SubscriberState.PENDING)
    conn.execute(update(subscribers).where(is_pending).values(state=row["state"], how=row["how"], since=at))
    person = conn.execute(select(subscribers).where(subscribers.c.address == key)).one()
    known = select(consents.c.id).where(
        consents.c.subscriber_id == person.id, consents.c.subscription == subscription
    )
    if person.state == SubscriberState.CONFIRMED and conn.execute(known.limit(1)).first() is None:
        _log_consent(conn, person.id, subscription=subscription, event="confirmed", how="operator", at=at)


def leave(conn: Connection, destination: Destination | str, subscription: str, *, how: str, at: datetime) -> bool:
    """Stop writing to a destination from this commit on: what waits for it is suppressed.

    Args:
        conn: a writing transaction.
        destination: who leaves.
        subscription: the name of the subscription to leave; "" for everything, for good.
        how: `one-click`, `page`, `mail`, `operator` …
        at: the moment (UTC).

    Returns:
        False where it had left already.
    """
    key = destination_key(destination)
    row = {"destination": key, "subscription": subscription, "reason": how, "since": at}
    leaving = dialect.insert(conn, suppressions).on_conflict_do_nothing().returning(suppressions.c.since)
    is_first = conn.execute(leaving, row).first() is not None
    ids = _subscriptions_of(conn, key, subscription)
    conn.execute(
        update(subscription_destinations)
        .where(_is_place(key, ids), subscription_destinations.c.state != DestinationState.LEFT)
        .values(state=DestinationState.LEFT, reason=how, since=at)
    )
    waiting = deliveries.c.destination == key
    suppress_waiting(conn, waiting & (of_subscriptions(ids) if subscription else true()), f"left ({how})", at)
    _stop_turns(conn, ids)
    if is_first:
        _log_leave(conn, key, subscription, how, at)
    return is_first


def come_back(
    conn: Connection, destination: Destination | str, subscription: str, *, how: str, at: datetime
) -> bool:
    """Take back a leave, at the wish of whoever left; False where there was none.

    What was matched meanwhile is not sent: a digest starts with what is matched from now on, where
    nobody else kept the subscription's digests going. Every other leave holds: what was left by itself,
    too, stays left, and all of it where everything was.
    """
    key = destination_key(destination)
    is_it = and_(suppressions.c.destination == key, suppressions.c.subscription == subscription)
    if conn.execute(delete(suppressions).where(is_it)).rowcount == 0:
        return False
    still_left = load_departures(conn, key)
    ids = [] if EVERYTHING in still_left else _subscriptions_of(conn, key, subscription, but=still_left)
    idle = [id_ for id_ in ids if not _has_way_out(conn, id_)]
    if idle:
        newest = select(func.coalesce(func.max(match_runs.c.id), 0)).scalar_subquery()
        conn.execute(update(subscriptions).where(subscriptions.c.id.in_(idle)).values(plan_after=newest))
    conn.execute(
        update(subscription_destinations)
        .where(_is_place(key, ids), subscription_destinations.c.state == DestinationState.LEFT)
        .values(state=DestinationState.ACTIVE, reason=how, since=at)
    )
    mine = subscribers.c.address == key.removeprefix("mailto:")
    is_left = subscribers.c.state == SubscriberState.LEFT
    if EVERYTHING not in still_left:
        returning = update(subscribers).where(mine, is_left)
        conn.execute(returning.values(state=SubscriberState.CONFIRMED, how=how, since=at))
    subscriber_id = conn.execute(select(subscribers.c.id).where(mine)).scalar()
    if subscriber_id is not None:
        _log_consent(conn, subscriber_id, subscription=subscription, event="returned", how=how, at=at)
    return True


def load_departures(conn: Connection, destination: Destination | str) -> frozenset[str]:
    """Return the names of the subscriptions a destination left, `EVERYTHING` among them where it left for good."""
    left = select(suppressions.c.subscription).where(suppressions.c.destination == destination_key(destination))
    return frozenset(conn.execute(left).scalars())


def list_left_alone(conn: Connection, destination: Destination | str) -> list[str]:
    """Return the subscriptions in force that name a destination which has left each by itself, by name."""
    key = destination_key(destination)
    places = subscription_destinations.c
    found = (
        select(subscriptions.c.name)
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .join(suppressions, suppressions.c.subscription == subscriptions.c.name)
        .where(
            places.destination == key,
            places.state != DestinationState.DISABLED,
            suppressions.c.destination == key,
            subscriptions.c.state != SubscriptionState.ENDED,
        )
        .order_by(subscriptions.c.name)
    )
    return list(conn.execute(found).scalars())


def refusal(conn: Connection, delivery_id: int) -> str:
    """Say why a delivery must not be sent, "" where it may; see `refusals`."""
    return refusals(conn, [delivery_id])[delivery_id]


def refusals(conn: Connection, delivery_ids: Collection[int]) -> dict[int, str]:
    """Say of each of some deliveries why it must not be sent, "" where it may.

    The decision of record: the transaction that records the intent to send asks here.
    """
    return {row.id: _refuse(row) for row in conn.execute(_ASKED, {"asked": delivery_ids})}


def _refuse(row: Row[*tuple[Any, ...]]) -> str:
    if row.subscription_state == SubscriptionState.ENDED:
        return f"the subscription {row.name} has ended"
    if row.place_state != DestinationState.ACTIVE:
        return row.place_reason or f"{row.destination} is no destination of {row.name} any more"
    if row.left is not None:
        return f"left ({row.left})"
    kind, _, address = row.destination.partition(":")
    if kind != DestinationKind.MAIL or row.reader_state == SubscriberState.CONFIRMED:
        return ""
    return f"{address} has not confirmed"


def _address_key(address: str) -> str:
    return destination_key(Destination(DestinationKind.MAIL, address)).removeprefix(f"{DestinationKind.MAIL}:")


def _subscriptions_of(conn: Connection, key: str, subscription: str, but: Collection[str] = ()) -> list[int]:
    """Return which subscriptions a destination leaves, or comes back to, but those of some names."""
    found = (
        select(subscriptions.c.id)
        .join(subscription_destinations, subscription_destinations.c.subscription_id == subscriptions.c.id)
        .where(subscription_destinations.c.destination == key, subscriptions.c.name.not_in(but))
    )
    if subscription != EVERYTHING:
        found = found.where(subscriptions.c.name == subscription)
    return list(conn.execute(found).scalars())


def _is_place(key: str, ids: list[int]) -> ColumnElement[bool]:
    places = subscription_destinations.c
    return and_(places.destination == key, places.subscription_id.in_(ids))


def _has_way_out(conn: Connection, subscription_id: int) -> bool:
    """Whether anything is still sent for a subscription."""
    places = subscription_destinations.c
    active = select(places.destination).where(
        places.subscription_id == subscription_id, places.state == DestinationState.ACTIVE
    )
    return any(not Destination.parse(text).is_pulled for text in conn.execute(active).scalars())


def _stop_turns(conn: Connection, ids: list[int]) -> None:
    """A subscription that nobody receives any more has no next turn."""
    idle = [id_ for id_ in ids if not _has_way_out(conn, id_)]
    if idle:
        conn.execute(update(subscriptions).where(subscriptions.c.id.in_(idle)).values(next_due_at=None))


def _log_leave(conn: Connection, key: str, subscription: str, how: str, at: datetime) -> None:
    mine = subscribers.c.address == key.removeprefix(f"{DestinationKind.MAIL}:")
    subscriber_id = conn.execute(select(subscribers.c.id).where(mine)).scalar()
    if subscriber_id is None:
        return  # a channel, or an address that never was a subscriber: the suppression says it all
    if subscription == EVERYTHING:
        conn.execute(update(subscribers).where(mine).values(state=SubscriberState.LEFT, how=how, since=at))
    _log_consent(conn, subscriber_id, subscription=subscription, event="left", how=how, at=at)


def _log_consent(
    conn: Connection, subscriber_id: int, *, subscription: str, event: str, how: str, at: datetime
) -> None:
    row = {"subscriber_id": subscriber_id, "subscription": subscription, "event": event, "how": how, "at": at}
    conn.execute(insert(consents), row)
