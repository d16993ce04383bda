"""Subscribers: who agreed to get mails, where they go, and who unsubscribed.

Unsubscribing beats all else.
"""

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
    update,
)

from digest.model.destinations import Destination, DestinationKind, mail_to, normalise_address
from digest.model.errors import UsageError
from digest.model.messages import DeliveryState, Occasion
from digest.model.numbers import count
from digest.model.said import NOTHING, Said, Saying
from digest.model.slots import LetterSlot
from digest.model.subscriptions import (
    EVERYTHING,
    RETURNS_WITHIN,
    SubscriberState,
    SubscriptionState,
)
from digest.store.dialect import Moment, dialect_insert, is_among, later, make_storable, upsert
from digest.store.schema import (
    NEWEST_MATCH_RUN,
    PAPERS_MATCHED,
    WAITS_FOR_DIGEST,
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
"""Addresses that are in their one spelling already, sound or not.

Most are, and judging one takes a while.
"""

LETTERS = "(letters)"
"""The subscription that letters belong to in the outbox.

No name in the operator's file has such brackets.
"""

_LEFT_THIS_OR_ALL = suppressions.c.subscription.in_((literal(EVERYTHING), subscriptions.c.name))

_LEAVE = (
    select(suppressions.c.reason)
    .where(suppressions.c.destination == deliveries.c.destination, _LEFT_THIS_OR_ALL)
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
"""What decides whether a delivery may be sent.

It is built once, since it is asked before every message.
"""

BY_OPERATOR = Said.of(Saying.OPERATOR)
"""How somebody was confirmed, unsubscribed or resubscribed, if the operator did it for them."""

REFUSED = Said.of(Saying.REFUSED_IN_A_ROW)
"""How an address left that its mail server does not know; `resubscribe` has it written to again."""

HAS_ENDED = Said.of(Saying.HAS_ENDED)
"""Why a message is suppressed. If the subscription returns in time, it is sent."""

_RETURNS = f"will only be sent if it is there again within {RETURNS_WITHIN.days} days"

_UNSENT = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.HELD, DeliveryState.DEAD)
"""Certainly not sent.

What is `sending` or `unknown` may be on its way: it is decided when it is next begun.
"""


def destination_key(destination: Destination | str) -> str:
    """Return a destination as it is stored and compared: a mail address in its one spelling."""
    given = Destination.parse(destination) if isinstance(destination, str) else destination
    written = str(given)
    if not written.startswith(_MAIL) or _SETTLED.fullmatch(given.address):
        return written
    try:
        address = normalise_address(given.address)
    except UsageError:
        address = given.address.casefold()  # odd, and all the same somebody's
    return str(Destination(given.kind, address))


def load_aliases(conn: Connection, destination: Destination) -> list[str]:
    """Return every destination that is the same place on the other side, itself among them, sorted.

    A Slack channel goes by its name and by its id; once the id of the name is known, both share
    one pace.
    """
    key = destination_key(destination)
    kind = destination.kind
    if kind is not DestinationKind.SLACK:
        return [key]
    place = destination_addresses.c
    remote = load_known_address(conn, destination) or destination.address
    is_same = and_(place.remote_address == remote, place.destination.startswith(f"{kind}:"))
    same = conn.execute(select(place.destination).where(is_same)).scalars()
    by_id = str(Destination(kind, remote))
    return sorted({key, by_id, *same})


def block_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone until a moment (UTC); an earlier one never shortens it."""
    block = {"remote_address": "", "blocked_until": until}
    rows = [{"destination": place} | block for place in load_aliases(conn, destination)]
    asked_for = literal(until, Moment)
    before = func.coalesce(destination_addresses.c.blocked_until, asked_for)
    latest = later(before, asked_for)
    upsert(conn, destination_addresses, rows, {"blocked_until": latest})


def unblock_destination(conn: Connection, destination: Destination, until: datetime) -> None:
    """Leave a destination alone no longer than up to a moment (UTC), whatever it has asked for."""
    place = destination_addresses.c
    is_there = place.destination.in_(load_aliases(conn, destination))
    lift = update(destination_addresses).where(is_there, place.blocked_until > until)
    conn.execute(lift.values(blocked_until=until))


def remember_address(conn: Connection, destination: Destination, remote_address: str) -> None:
    """Keep what the other side calls a destination."""
    known = {"remote_address": make_storable(remote_address)}
    row = {"destination": destination_key(destination)} | known
    upsert(conn, destination_addresses, row, known)


def load_known_address(conn: Connection, destination: Destination) -> str:
    """Return what the other side calls a destination, "" if it was never asked."""
    place = destination_addresses.c
    key = destination_key(destination)
    found = select(place.remote_address).where(place.destination == key)
    return str(conn.execute(found).scalar() or "")


@dataclass(frozen=True, slots=True)
class DestinationStatus:
    """One destination of a subscription."""

    destination: Destination
    state: DestinationState
    reason: Said
    since: datetime


def load_statuses(conn: Connection, subscription_id: int) -> list[DestinationStatus]:
    """Return every destination a subscription has or had, in its order."""
    places = subscription_destinations.c
    found = select(subscription_destinations).where(places.subscription_id == subscription_id)
    statuses = []
    for row in conn.execute(found.order_by(places.position, places.id)):
        destination = Destination.parse(row.destination)
        state = DestinationState(row.state)
        statuses.append(DestinationStatus(destination, state, row.reason, row.since))
    return statuses


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
    if not ids:
        return set()
    places = conn.execute(_PLACES, {"ids": ids}).all()
    return {id_ for id_, place in places if _is_sent(place)}


def _is_sent(place: str) -> bool:
    """Whether somebody is written to there. Nearly all are mail addresses, and read at a glance."""
    if place.startswith(_MAIL) and place.removeprefix(_MAIL).strip():
        return True
    return not Destination.parse(place).is_pulled


def confirm_by_operator(conn: Connection, address: str, subscription: str, at: datetime) -> None:
    """Count an address in the operator's file as confirmed, unless its owner left.

    Twice is as good as once.
    """
    key = destination_key(mail_to(address)).removeprefix(_MAIL)
    confirmed = {"state": SubscriberState.CONFIRMED, "how": str(BY_OPERATOR), "since": at}
    insertion = dialect_insert(conn, subscribers)
    once = insertion.on_conflict_do_nothing(index_elements=["address"])
    conn.execute(once, {"address": key} | confirmed)
    found = select(subscribers).where(subscribers.c.address == key)
    person = conn.execute(found).one()
    if person.state != SubscriberState.CONFIRMED:
        return
    consent = consents.c
    is_theirs = consent.subscriber_id == person.id
    known = select(consent.id).where(is_theirs, consent.subscription == subscription)
    if conn.execute(known.limit(1)).first() is None:
        log_consent(conn, person.id, subscription, "confirmed", how=BY_OPERATOR, at=at)


def save_unsubscription(
    conn: Connection, destination: Destination | str, subscription: str, *, how: Said, at: datetime
) -> bool:
    """Stop writing to a destination from this commit on, and suppress what waits.

    Return False if it had left already.
    """
    key = destination_key(destination)
    person_id = _lock_person(conn, key)
    is_first = _suppress(conn, key, subscription, how=how, at=at)
    ids = _subscriptions_of(conn, key, subscription)
    places = subscription_destinations.c
    is_active = places.state == DestinationState.ACTIVE
    leave = update(subscription_destinations).where(_is_destination(key, ids), is_active)
    conn.execute(leave.values(state=DestinationState.UNSUBSCRIBED, reason=how, since=at))
    waiting = deliveries.c.destination == key
    if subscription:
        waiting &= of_subscriptions(ids)
    suppress_waiting(conn, waiting, Said.of(Saying.LEFT, how), at)
    # A subscription that nobody receives any more has no next turn.
    idle = set(ids) - find_sent(conn, ids)
    conn.execute(update(subscriptions).where(subscriptions.c.id.in_(idle)).values(next_due_at=None))
    # Of a channel, or of who never was a subscriber, the suppression says it all.
    if is_first and person_id is not None:
        if subscription == EVERYTHING:
            left = {"state": SubscriberState.UNSUBSCRIBED, "how": str(how), "since": at}
            conn.execute(update(subscribers).where(subscribers.c.id == person_id).values(left))
        log_consent(conn, person_id, subscription, "unsubscribed", how=how, at=at)
    return is_first


def _suppress(conn: Connection, key: str, subscription: str, *, how: Said, at: datetime) -> bool:
    """Note that a destination left; False if that was noted before."""
    row = {"destination": key, "subscription": subscription, "reason": how, "since": at}
    leave = dialect_insert(conn, suppressions).on_conflict_do_nothing()
    noted = conn.execute(leave.returning(suppressions.c.since), row)
    return noted.first() is not None


def load_last_refusals(
    conn: Connection,
    delivery_id: int,
    number: int,
) -> tuple[str, list[str | None]]:
    """Return whose digest a delivery carries, and for what the last ones there were refused.

    The newest comes first. One that arrived has None. What was planned before the destination was
    subscribed does not count.
    """
    row = conn.execute(_ASKED, {"asked": delivery_id}).one()
    one = deliveries.c
    subscribed_at = literal(row.place_since, Moment)
    is_there = and_(one.destination == row.destination, one.created_at >= subscribed_at)
    has_ended = one.state.in_((DeliveryState.SENT, DeliveryState.DEAD))
    ended = select(one.refusal).where(is_there, has_ended)
    newest_first = ended.order_by(one.id.desc())
    refusals = conn.execute(newest_first.limit(number)).scalars()
    return row.name, list(refusals)


def load_refused(conn: Connection) -> list[tuple[str, Destination]]:
    """Return the subscriptions in force with the addresses that were refused too often.

    That is in too many of their digests.
    """
    mine = subscriptions.c
    places = subscription_destinations.c
    is_live = mine.state != SubscriptionState.ENDED
    has_left = places.state == DestinationState.UNSUBSCRIBED
    found = select(mine.name, places.destination).join(subscription_destinations)
    refused = found.where(has_left, places.reason == REFUSED, is_live)
    rows = conn.execute(refused.order_by(mine.name, places.destination))
    return [(row.name, Destination.parse(row.destination)) for row in rows]


def save_resubscription(
    conn: Connection, destination: Destination | str, subscription: str, *, how: Said, at: datetime
) -> bool:
    """Resubscribe, because the person who unsubscribed asks for it.

    Return False if there was nothing to undo. What was matched meanwhile is not sent: a digest
    starts with what is matched from now on, if nobody else kept the subscription's digests going.
    Every other leave holds: what was left by itself, too, stays left, and all of it if everything
    was.
    """
    key = destination_key(destination)
    person_id = _lock_person(conn, key)
    is_it = and_(suppressions.c.destination == key, suppressions.c.subscription == subscription)
    if conn.execute(delete(suppressions).where(is_it)).rowcount == 0:
        return False
    still_left = load_unsubscribed(conn, key)
    if EVERYTHING not in still_left:
        ids = _subscriptions_of(conn, key, subscription, but=still_left)
        _write_to_again(conn, key, ids, how=how, at=at)
        has_left = subscribers.c.state == SubscriberState.UNSUBSCRIBED
        returning = update(subscribers).where(subscribers.c.id == person_id, has_left)
        conn.execute(returning.values(state=SubscriberState.CONFIRMED, how=str(how), since=at))
    if person_id is not None:
        log_consent(conn, person_id, subscription, "returned", how=how, at=at)
    return True


def _write_to_again(conn: Connection, key: str, ids: list[int], *, how: Said, at: datetime) -> None:
    """Let a destination that left subscriptions be one of theirs again."""
    sent = find_sent(conn, ids)
    idle = set(ids) - sent
    restart = update(subscriptions).where(subscriptions.c.id.in_(idle))
    conn.execute(restart.values(plan_after=NEWEST_MATCH_RUN))
    has_left = subscription_destinations.c.state == DestinationState.UNSUBSCRIBED
    places = update(subscription_destinations).where(_is_destination(key, ids))
    theirs = places.where(has_left)
    conn.execute(theirs.values(state=DestinationState.ACTIVE, reason=how, since=at))


def load_unsubscribed(conn: Connection, destination: Destination | str) -> frozenset[str]:
    """Return the names of the subscriptions a destination left.

    `EVERYTHING` is among them if it left for good.
    """
    is_theirs = suppressions.c.destination == destination_key(destination)
    left = select(suppressions.c.subscription).where(is_theirs)
    return frozenset(conn.execute(left).scalars())


def load_undoable(
    conn: Connection, destination: Destination | str, subscription: str
) -> datetime | None:
    """Return since when (UTC) a destination gets nothing for one reason alone.

    It left this subscription.
    """
    left = suppressions.c
    key = destination_key(destination)
    if EVERYTHING in load_unsubscribed(conn, key):
        return None
    places = subscription_destinations.c
    is_left = and_(left.destination == key, left.subscription == subscription)
    has_left = and_(places.destination == key, places.state == DestinationState.UNSUBSCRIBED)
    is_live = subscriptions.c.state != SubscriptionState.ENDED
    found = (
        select(left.since)
        .join(subscriptions, subscriptions.c.name == left.subscription)
        .join(subscription_destinations)
        .where(is_left, has_left, is_live)
    )
    return conn.execute(found).scalar()


def load_singly_unsubscribed(conn: Connection, destination: Destination | str) -> list[str]:
    """Return the subscriptions in force that a destination has left each by itself, by name.

    They name it still.
    """
    key = destination_key(destination)
    mine = subscriptions.c
    left = suppressions.c
    places = subscription_destinations.c
    found = select(mine.name).join(subscription_destinations)
    suppressed = found.join(suppressions, left.subscription == mine.name)
    is_named = and_(places.destination == key, places.state != DestinationState.DISABLED)
    is_live = mine.state != SubscriptionState.ENDED
    theirs = suppressed.where(is_named, left.destination == key, is_live)
    return list(conn.execute(theirs.order_by(mine.name)).scalars())


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
        return row.place_reason or Said.of(Saying.NO_DESTINATION, row.destination, row.name)
    if row.unsubscribed is not None:
        return Said.of(Saying.UNSUBSCRIBED, row.unsubscribed)
    is_mail = row.destination.startswith(_MAIL)
    if not is_mail or row.reader_state == SubscriberState.CONFIRMED:
        return NOTHING
    address = row.destination.removeprefix(_MAIL)
    return Said.of(Saying.NOT_CONFIRMED, address)


def _refuse_letter(conn: Connection, slot: str, destination: str) -> Said:
    """Say why a letter must not be sent, nothing if it may.

    It goes to somebody who has confirmed nothing yet, or left everything, while its request is
    there.
    """
    number = LetterSlot.parse(slot).signup_id
    address = destination.partition(":")[2]
    asked = select(signups.c.id).where(signups.c.id == number, signups.c.address == address)
    if conn.execute(asked).first() is None:
        return Said.of(Saying.LETTER_NOT_AWAITED)
    if LETTERS in load_unsubscribed(conn, destination):
        return Said.of(Saying.LETTERS_NOT_WANTED)
    return NOTHING


def _subscriptions_of(
    conn: Connection, key: str, subscription: str, but: Collection[str] = ()
) -> list[int]:
    """Return which subscriptions a destination leaves, or comes back to.

    Those of some names are left out.
    """
    places = subscription_destinations.c
    mine = subscriptions.c
    found = select(mine.id).join(subscription_destinations)
    theirs = found.where(places.destination == key, mine.name.not_in(but))
    if subscription != EVERYTHING:
        theirs = theirs.where(mine.name == subscription)
    return list(conn.execute(theirs).scalars())


def _lock_person(conn: Connection, key: str) -> int | None:
    """Let changes of one person take turns: each locks the person before anything of theirs.

    Return the person's id, None if nobody has this address.
    """
    is_theirs = subscribers.c.address == key.removeprefix(_MAIL)
    found = select(subscribers.c.id).where(is_theirs)
    return conn.execute(found.with_for_update()).scalar()


def _is_destination(key: str, ids: list[int]) -> ColumnElement[bool]:
    places = subscription_destinations.c
    return and_(places.destination == key, places.subscription_id.in_(ids))


def log_consent(
    conn: Connection, subscriber_id: int, subscription: str, event: str, *, how: Said, at: datetime
) -> None:
    """Keep what a person agreed to, and how."""
    row = {
        "subscriber_id": subscriber_id,
        "subscription": subscription,
        "event": event,
        "how": str(how),
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
        """Say in a sentence without full stop what became of them, and how to read them still."""
        name = self.subscription
        gone = name
        never = _RETURNS
        if self.destination:
            gone = f"{self.destination} in {name}"
            never = "will never be sent"
        return (
            f"digest.toml no longer names {gone}: {self._count()} not sent yet {never}"
            f" (`digest subscription show {name}` lists its digests)"
        )

    def _count(self) -> str:
        """Say how many messages and papers there are of these."""
        waited = []
        if self.messages:
            to = f" to {self.destination}" if self.destination else ""
            waited.append(count(self.messages, "message") + to)
        if self.papers:
            waited.append(count(self.papers, "paper"))
        return " and ".join(waited)


def count_waiting(conn: Connection, subscription_id: int) -> int:
    """Count the papers that matched a subscription and are in no digest yet."""
    found = select(PAPERS_MATCHED).join(subscriptions)
    is_its_own = matches.c.subscription_id == subscription_id
    waiting = found.where(is_its_own, WAITS_FOR_DIGEST)
    return int(conn.execute(waiting).scalar_one())


def suppress_waiting(
    conn: Connection, which: ColumnElement[bool], reason: Said, at: datetime
) -> int:
    """Suppress every delivery of some digests or destinations that waits or failed.

    A delivery that a process is about to begin is among them: the first to change its row wins.
    Return how many were suppressed.

    `which` is a condition on `deliveries`; see `of_subscriptions`. The reason is shown to the
    operator.
    """
    suppress = update(deliveries).where(deliveries.c.state.in_(_UNSENT), which)
    ended = {
        "state": DeliveryState.SUPPRESSED,
        "last_error": reason,
        "ended_at": at,
        "lease_until": None,
    }
    return conn.execute(suppress.values(ended)).rowcount


def requeue_ended(
    conn: Connection,
    which: ColumnElement[bool],
    since: datetime,
    at: datetime,
) -> None:
    """Let messages go after all that were suppressed as their subscription ended.

    None of them may have arrived.
    """
    one = deliveries.c
    tried = attempts.c
    may_have_arrived = exists().where(tried.delivery_id == one.id, tried.outcome.not_in(_UNSENT))
    was_suppressed = and_(one.state == DeliveryState.SUPPRESSED, one.last_error == HAS_ENDED)
    suppressed = update(deliveries).where(was_suppressed, one.ended_at >= since, which)
    requeue = suppressed.where(not_(may_have_arrived))
    fresh = {
        "state": DeliveryState.READY,
        "last_error": NOTHING,
        "ended_at": None,
        "not_before": at,
    }
    conn.execute(requeue.values(fresh))


def of_subscriptions(ids: list[int]) -> ColumnElement[bool]:
    """Return the condition that a delivery carries a digest of one of these subscriptions."""
    theirs = select(digests.c.id).where(digests.c.subscription_id.in_(ids))
    return deliveries.c.digest_id.in_(theirs)
