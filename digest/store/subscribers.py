"""Subscribers: who agreed to get mails, where they go, and who unsubscribed. Unsubscribing beats all else."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    not_,
    select,
    true,
    update,
)

from digest.model.destinations import Destination, DestinationKind, mail_to, normalise_address
from digest.model.errors import UsageError
from digest.model.messages import DeliveryState, Occasion
from digest.model.numbers import count
from digest.model.said import NOTHING, Said, Saying
from digest.model.subscriptions import (
    EVERYTHING,
    RETURNS_WITHIN,
    SubscriberState,
    SubscriptionState,
)
from digest.store.dialect import Moment, dialect_insert, is_among, later, make_storable, upsert
from digest.store.schema import (
    NEWEST_MATCH_RUN,
    attempts,
    consents,
    deliveries,
    destination_addresses,
    digests,
    matches,
    signups,
    subscribers,
    subscription_destinations,
    subscriptions,
    suppressions,
)

_MAIL = f"{DestinationKind.MAIL}:"

_SETTLED = re.compile(r"[a-z0-9._+-]+@[a-z0-9.-]+", re.ASCII)
"""Addresses that are in their one spelling already, sound or not; most are, and judging one takes a while."""

LETTERS = "(letters)"
"""The subscription that letters belong to in the outbox. No name in the operator's file has such brackets."""

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
    .where(subscribers.c.address == func.substr(deliveries.c.destination, len(_MAIL) + 1))
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
        subscription_destinations.c.since.label("place_since"),
        _LEAVE.label("unsubscribed"),
        _READER.label("reader_state"),
        digests.c.occasion,
        digests.c.slot,
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
    .where(deliveries.c.id == bindparam("asked"))
)
"""What decides whether a delivery may be sent; built once, since it is asked before every message."""

REFUSED = "refused in three digests in a row"
"""How an address left that its mail server does not know; `resubscribe` has it written to again."""

HAS_ENDED = Said.of(Saying.HAS_ENDED)
"""Why a message is suppressed. If the subscription returns in time, it is sent."""

_RETURNS = f"will only be sent if it is there again within {RETURNS_WITHIN.days} days"

_UNSENT = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.HELD, DeliveryState.DEAD)
"""Certainly not sent. What is `sending` or `unknown` may be on its way: it is decided when it is next begun."""


def destination_key(destination: Destination | str) -> str:
    """Return a destination as it is stored and compared: a mail address in its one spelling."""
    given = Destination.parse(destination) if isinstance(destination, str) else destination
    if given.kind is not DestinationKind.MAIL or _SETTLED.fullmatch(given.address):
        return str(given)
    try:
        return str(Destination(given.kind, normalise_address(given.address)))
    except UsageError:
        return str(
            Destination(given.kind, given.address.casefold())
        )  # odd, and all the same somebody's


def load_aliases(conn: Connection, destination: Destination) -> list[str]:
    """Return every destination that is the same place on the other side, itself among them, sorted.

    A Slack channel goes by its name and by its id; once the id of the name is known, both share one pace.
    """
    key = destination_key(destination)
    if destination.kind is not DestinationKind.SLACK:
        return [key]
    remote = load_known_address(conn, destination) or destination.address
    same = select(destination_addresses.c.destination).where(
        destination_addresses.c.remote_address == remote,
        destination_addresses.c.destination.startswith(f"{DestinationKind.SLACK}:"),
    )
    return sorted(
        {key, str(Destination(DestinationKind.SLACK, remote)), *conn.execute(same).scalars()}
    )


def block_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone until a moment (UTC); an earlier one never shortens it."""
    block = {"remote_address": "", "blocked_until": until}
    rows = [{"destination": place, **block} for place in load_aliases(conn, destination)]
    asked_for = literal(until, Moment)
    latest = later(func.coalesce(destination_addresses.c.blocked_until, asked_for), asked_for)
    upsert(conn, destination_addresses, rows, {"blocked_until": latest})


def unblock_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone no longer than up to a moment (UTC), whatever it has asked for."""
    lift = update(destination_addresses).where(
        destination_addresses.c.destination.in_(load_aliases(conn, destination)),
        destination_addresses.c.blocked_until > until,
    )
    conn.execute(lift.values(blocked_until=until))


def remember_address(conn: Connection, destination: Destination, remote_address: str) -> None:
    """Keep what the other side calls a destination."""
    known = {"remote_address": make_storable(remote_address)}
    upsert(
        conn, destination_addresses, {"destination": destination_key(destination), **known}, known
    )


def load_known_address(conn: Connection, destination: Destination) -> str:
    """Return what the other side calls a destination, "" if it was never asked."""
    found = select(destination_addresses.c.remote_address).where(
        destination_addresses.c.destination == destination_key(destination)
    )
    return str(conn.execute(found).scalar() or "")


@dataclass(frozen=True, slots=True)
class DestinationStatus:
    """One destination of a subscription."""

    destination: Destination
    state: DestinationState
    reason: str
    since: datetime


def load_statuses(conn: Connection, subscription_id: int) -> list[DestinationStatus]:
    """Return every destination a subscription has or had, in its order."""
    places = subscription_destinations.c
    found = (
        select(subscription_destinations)
        .where(places.subscription_id == subscription_id)
        .order_by(places.position, places.id)
    )
    return [
        DestinationStatus(
            Destination.parse(row.destination), DestinationState(row.state), row.reason, row.since
        )
        for row in conn.execute(found)
    ]


class DestinationState(StrEnum):
    """`UNSUBSCRIBED`: by its reader. `DISABLED`: the file no longer names it."""

    ACTIVE = "active"
    UNSUBSCRIBED = "unsubscribed"
    DISABLED = "disabled"


_PLACES = select(
    subscription_destinations.c.subscription_id, subscription_destinations.c.destination
).where(
    is_among(subscription_destinations.c.subscription_id, "ids"),
    subscription_destinations.c.state == DestinationState.ACTIVE,
)


def find_sent(conn: Connection, ids: Collection[int]) -> set[int]:
    """Return those of some subscriptions that have digests: feeds alone need none."""
    places = conn.execute(_PLACES, {"ids": ids}).all() if ids else ()
    return {id_ for id_, place in places if _is_sent(place)}


def _is_sent(place: str) -> bool:
    """Whether somebody is written to there. Nearly all are mail addresses, and read at a glance."""
    is_mail = place.startswith(_MAIL) and place[len(_MAIL) :].strip() != ""
    return is_mail or not Destination.parse(place).is_pulled


def confirm_by_operator(conn: Connection, address: str, subscription: str, at: datetime) -> None:
    """Count an address in the operator's file as confirmed, unless its owner left; twice is as good as once."""
    key = destination_key(mail_to(address)).removeprefix(_MAIL)
    row = {"address": key, "state": SubscriberState.CONFIRMED, "how": "operator", "since": at}
    conn.execute(
        dialect_insert(conn, subscribers).on_conflict_do_nothing(index_elements=["address"]), row
    )
    person = conn.execute(select(subscribers).where(subscribers.c.address == key)).one()
    known = select(consents.c.id).where(
        consents.c.subscriber_id == person.id, consents.c.subscription == subscription
    )
    if person.state == SubscriberState.CONFIRMED and conn.execute(known.limit(1)).first() is None:
        log_consent(conn, person.id, subscription, "confirmed", how="operator", at=at)


def save_unsubscription(
    conn: Connection, destination: Destination | str, subscription: str, *, how: str, at: datetime
) -> bool:
    """Stop writing to a destination from this commit on, and suppress what waits; False if it had left already."""
    key = destination_key(destination)
    person_id = _lock_person(conn, key)
    row = {"destination": key, "subscription": subscription, "reason": how, "since": at}
    leaving = (
        dialect_insert(conn, suppressions).on_conflict_do_nothing().returning(suppressions.c.since)
    )
    is_first = conn.execute(leaving, row).first() is not None
    ids = _subscriptions_of(conn, key, subscription)
    conn.execute(
        update(subscription_destinations)
        .where(
            _is_destination(key, ids), subscription_destinations.c.state == DestinationState.ACTIVE
        )
        .values(state=DestinationState.UNSUBSCRIBED, reason=how, since=at)
    )
    waiting = deliveries.c.destination == key
    suppress_waiting(
        conn,
        waiting & (of_subscriptions(ids) if subscription else true()),
        Said.of(Saying.LEFT, how),
        at,
    )
    # A subscription that nobody receives any more has no next turn.
    idle = set(ids) - find_sent(conn, ids)
    conn.execute(update(subscriptions).where(subscriptions.c.id.in_(idle)).values(next_due_at=None))
    if (
        is_first and person_id is not None
    ):  # of a channel, or who never was a subscriber, the suppression says it all
        if subscription == EVERYTHING:
            left = {"state": SubscriberState.UNSUBSCRIBED, "how": how, "since": at}
            conn.execute(update(subscribers).where(subscribers.c.id == person_id).values(left))
        log_consent(conn, person_id, subscription, "unsubscribed", how=how, at=at)
    return is_first


def load_last_refusals(
    conn: Connection,
    delivery_id: int,
    number: int,
) -> tuple[str, list[str | None]]:
    """Return whose digest a delivery carries, and for what the last ones to its address were refused.

    The newest comes first. One that arrived has None. What was planned before the destination was
    subscribed does not count.
    """
    row = conn.execute(_ASKED, {"asked": delivery_id}).one()
    ended = (DeliveryState.SENT, DeliveryState.DEAD)
    theirs = (
        deliveries.c.destination == row.destination,
        deliveries.c.created_at >= literal(row.place_since, Moment),
    )
    last = select(deliveries.c.refusal).where(*theirs, deliveries.c.state.in_(ended))
    return row.name, list(
        conn.execute(last.order_by(deliveries.c.id.desc()).limit(number)).scalars()
    )


def load_refused(conn: Connection) -> list[tuple[str, Destination]]:
    """Return the subscriptions in force with the addresses that were refused in too many of their digests."""
    places = subscription_destinations.c
    found = (
        select(subscriptions.c.name, places.destination)
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(places.state == DestinationState.UNSUBSCRIBED, places.reason == REFUSED)
        .where(subscriptions.c.state != SubscriptionState.ENDED)
        .order_by(subscriptions.c.name, places.destination)
    )
    return [(row.name, Destination.parse(row.destination)) for row in conn.execute(found)]


def save_resubscription(
    conn: Connection, destination: Destination | str, subscription: str, *, how: str, at: datetime
) -> bool:
    """Resubscribe, because the person who unsubscribed asks for it; False if there was nothing to undo.

    What was matched meanwhile is not sent: a digest starts with what is matched from now on, if
    nobody else kept the subscription's digests going. Every other leave holds: what was left by itself,
    too, stays left, and all of it if everything was.
    """
    key = destination_key(destination)
    person_id = _lock_person(conn, key)
    is_it = and_(suppressions.c.destination == key, suppressions.c.subscription == subscription)
    if conn.execute(delete(suppressions).where(is_it)).rowcount == 0:
        return False
    still_left = load_unsubscribed(conn, key)
    ids = (
        []
        if EVERYTHING in still_left
        else _subscriptions_of(conn, key, subscription, but=still_left)
    )
    idle = set(ids) - find_sent(conn, ids)
    restart = update(subscriptions).where(subscriptions.c.id.in_(idle))
    conn.execute(restart.values(plan_after=NEWEST_MATCH_RUN))
    conn.execute(
        update(subscription_destinations)
        .where(
            _is_destination(key, ids),
            subscription_destinations.c.state == DestinationState.UNSUBSCRIBED,
        )
        .values(state=DestinationState.ACTIVE, reason=how, since=at)
    )
    is_left = subscribers.c.state == SubscriberState.UNSUBSCRIBED
    if EVERYTHING not in still_left:
        returning = update(subscribers).where(subscribers.c.id == person_id, is_left)
        conn.execute(returning.values(state=SubscriberState.CONFIRMED, how=how, since=at))
    if person_id is not None:
        log_consent(conn, person_id, subscription, "returned", how=how, at=at)
    return True


def load_unsubscribed(conn: Connection, destination: Destination | str) -> frozenset[str]:
    """Return the names of the subscriptions a destination left, `EVERYTHING` among them if it left for good."""
    left = select(suppressions.c.subscription).where(
        suppressions.c.destination == destination_key(destination)
    )
    return frozenset(conn.execute(left).scalars())


def load_undoable(
    conn: Connection, destination: Destination | str, subscription: str
) -> datetime | None:
    """Return since when (UTC) a destination gets nothing for the one reason that it left this subscription."""
    key, places = destination_key(destination), subscription_destinations.c
    found = (
        select(suppressions.c.since)
        .join(subscriptions, subscriptions.c.name == suppressions.c.subscription)
        .join(subscription_destinations, places.subscription_id == subscriptions.c.id)
        .where(suppressions.c.destination == key, suppressions.c.subscription == subscription)
        .where(places.destination == key, places.state == DestinationState.UNSUBSCRIBED)
        .where(subscriptions.c.state != SubscriptionState.ENDED)
    )
    return None if EVERYTHING in load_unsubscribed(conn, key) else conn.execute(found).scalar()


def load_singly_unsubscribed(conn: Connection, destination: Destination | str) -> list[str]:
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


def load_refusal(conn: Connection, delivery_id: int) -> Said:
    """Say why a delivery must not be sent; nothing if it may.

    The decision of record: the transaction that records the intent to send asks here.
    """
    row = conn.execute(_ASKED, {"asked": delivery_id}).one()
    if row.occasion == Occasion.LETTER:
        return _refuse_letter(conn, row.slot, row.destination)
    if row.subscription_state == SubscriptionState.ENDED:
        return Said.of(Saying.NAMED_HAS_ENDED, row.name)
    if row.place_state != DestinationState.ACTIVE:
        gone = Said.of(Saying.NO_DESTINATION, row.destination, row.name)
        return Said.plain(row.place_reason) if row.place_reason else gone
    if row.unsubscribed is not None:
        return Said.of(Saying.UNSUBSCRIBED, row.unsubscribed)
    kind, _, address = row.destination.partition(":")
    if kind != DestinationKind.MAIL or row.reader_state == SubscriberState.CONFIRMED:
        return NOTHING
    return Said.of(Saying.NOT_CONFIRMED, address)


def _refuse_letter(conn: Connection, slot: str, destination: str) -> Said:
    """A letter goes to somebody who has confirmed nothing yet, or left everything, while its request is there."""
    number, address = int(slot.split(":")[1]), destination.partition(":")[2]
    asked = select(signups.c.id).where(signups.c.id == number, signups.c.address == address)
    if conn.execute(asked).first() is None:
        return Said.of(Saying.LETTER_NOT_AWAITED)
    if LETTERS in load_unsubscribed(conn, destination):
        return Said.of(Saying.LETTERS_NOT_WANTED)
    return NOTHING


def _subscriptions_of(
    conn: Connection, key: str, subscription: str, but: Collection[str] = ()
) -> list[int]:
    """Return which subscriptions a destination leaves, or comes back to, but those of some names."""
    found = (
        select(subscriptions.c.id)
        .join(
            subscription_destinations,
            subscription_destinations.c.subscription_id == subscriptions.c.id,
        )
        .where(subscription_destinations.c.destination == key, subscriptions.c.name.not_in(but))
    )
    if subscription != EVERYTHING:
        found = found.where(subscriptions.c.name == subscription)
    return list(conn.execute(found).scalars())


def _lock_person(conn: Connection, key: str) -> int | None:
    """Let changes of one person take turns: each locks the person before anything of theirs.

    Return the person's id, None if nobody has this address.
    """
    mine = subscribers.c.address == key.removeprefix(_MAIL)
    return conn.execute(select(subscribers.c.id).where(mine).with_for_update()).scalar()


def _is_destination(key: str, ids: list[int]) -> ColumnElement[bool]:
    places = subscription_destinations.c
    return and_(places.destination == key, places.subscription_id.in_(ids))


def log_consent(
    conn: Connection, subscriber_id: int, subscription: str, event: str, *, how: str, at: datetime
) -> None:
    """Keep what a person agreed to, and how."""
    row = {
        "subscriber_id": subscriber_id,
        "subscription": subscription,
        "event": event,
        "how": how,
        "at": at,
    }
    conn.execute(insert(consents), row)


@dataclass(frozen=True, slots=True)
class DroppedMatches:
    """What waited for something that the file names no more, and goes nowhere.

    Attributes:
        destination: where the messages would have gone; "" if the subscription has ended.
        messages: how many waited, were held or had failed.
    """

    subscription: str
    destination: str
    messages: int
    papers: int = 0

    def describe(self) -> str:
        """Say in a sentence without full stop what became of them, and how they can still be read."""
        name = self.subscription
        to = f" to {self.destination}" if self.destination else ""
        messages = f"{count(self.messages, 'message')}{to}" if self.messages else ""
        papers = count(self.papers, "paper") if self.papers else ""
        waited = " and ".join(filter(None, (messages, papers)))
        gone = f"{self.destination} in {name}" if self.destination else name
        never = "will never be sent" if self.destination else _RETURNS
        return (
            f"digest.toml no longer names {gone}: {waited} not sent yet {never}"
            f" (`digest subscription show {name}` lists its digests)"
        )


def count_waiting(conn: Connection, subscription_id: int) -> int:
    """Count the papers that matched a subscription and are in no digest yet."""
    waiting = (
        select(func.coalesce(func.sum(matches.c.papers), 0))
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .where(
            matches.c.subscription_id == subscription_id,
            matches.c.digest_id.is_(None),
            matches.c.match_run_id > subscriptions.c.plan_after,
        )
    )
    return int(conn.execute(waiting).scalar_one())


def suppress_waiting(
    conn: Connection, which: ColumnElement[bool], reason: Said, at: datetime
) -> int:
    """Suppress every delivery of some digests or destinations that waits or failed; return how many.

    A delivery that a process is about to begin is among them: the first to change its row wins.

    `which` is a condition on `deliveries`; see `of_subscriptions`. The reason is shown to the operator.
    """
    suppress = (
        update(deliveries)
        .where(deliveries.c.state.in_(_UNSENT), which)
        .values(state=DeliveryState.SUPPRESSED, last_error=reason, ended_at=at, lease_until=None)
    )
    return conn.execute(suppress).rowcount


def requeue_ended(
    conn: Connection,
    which: ColumnElement[bool],
    since: datetime,
    at: datetime,
) -> None:
    """Let messages go after all that were suppressed as their subscription ended, if none may have arrived."""
    may_have_arrived = exists().where(
        attempts.c.delivery_id == deliveries.c.id, attempts.c.outcome.not_in(_UNSENT)
    )
    requeue = update(deliveries).where(
        deliveries.c.state == DeliveryState.SUPPRESSED,
        deliveries.c.last_error == HAS_ENDED,
        deliveries.c.ended_at >= since,
        which,
        not_(may_have_arrived),
    )
    conn.execute(
        requeue.values(state=DeliveryState.READY, last_error=NOTHING, ended_at=None, not_before=at)
    )


def of_subscriptions(ids: list[int]) -> ColumnElement[bool]:
    """Return the condition that a delivery carries a digest of one of these subscriptions."""
    return deliveries.c.digest_id.in_(
        select(digests.c.id).where(digests.c.subscription_id.in_(ids))
    )
