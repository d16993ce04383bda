"""Gathers what is known of each subscription, and of the people who subscribed by themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime

from sqlalchemy import Connection

from digest.config import Config
from digest.inspect.coverage import find_next_check
from digest.inspect.here import Here
from digest.inspect.queries import MATCH_SPAN, describe_matches, describe_pending_edits
from digest.match.rules import find_unreadable
from digest.model.cadences import CadenceKind
from digest.model.clock import Clock
from digest.model.destinations import Destination
from digest.model.numbers import count
from digest.model.subscriptions import DueSubscription, SubscriptionState
from digest.people.tables import load_own_subscription_name, load_people
from digest.store import digests, overview, subscribers, subscriptions
from digest.store.digests import DigestSummary
from digest.store.overview import SubscriptionLine
from digest.store.subscribers import DestinationStatus

NONE_YET = "No subscriptions yet. `digest add` makes one, then `digest run`."

FIRST_DIGEST_NEXT = "first digest with the next run"
"""What is said in place of a turn if the next run sends a first digest."""

_DIGESTS = 5
"""Digests of a subscription that are listed with it."""

_WAITING = 5
"""How many subscriptions are named at most, if papers wait in more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionStatus(SubscriptionLine):
    """A subscription with what the status screen says of it.

    `volume`: how many papers it brings, in words. `is_greeted`: the next run sends a first
    digest, because digest.toml adds a destination or the whole subscription.
    """

    volume: str
    is_greeted: bool


def load_lines(
    conn: Connection,
    config: Config,
    clock: Clock,
    now: datetime,
    *,
    include_ended: bool = False,
    only: Collection[int] | None = None,
) -> list[SubscriptionStatus]:
    """Return the live subscriptions by name, or ended ones, too, or only those with some ids.

    A digest on announcement can't go out before a check has found the announcement. So it is due
    with the next check at the earliest.
    """
    with_first_digest = digests.find_first_digests(conn, config.subscriptions)
    stored = overview.load_subscription_lines(
        conn, now, span=MATCH_SPAN, include_ended=include_ended, only=only
    )
    next_poll_at = find_next_check(conn, config.arxiv.source, clock, now)
    lines = []
    for line in stored:
        known = {field.name: getattr(line, field.name) for field in fields(line)}
        status = SubscriptionStatus(
            **known,
            volume=describe_matches(line.days, line.began_at, now),
            is_greeted=line.settings.name in with_first_digest,
        )
        lines.append(_postpone_to_check(status, next_poll_at, now))
    return lines


def describe_next_digest(
    here: Here, line: SubscriptionStatus, *, write: Callable[[datetime], str] | None = None
) -> str:
    """Say when a subscription's next digest comes, or why none does, and what waits for it."""
    waits = f", {count(line.waiting, 'paper')}" if line.waiting else ""
    if line.state is SubscriptionState.ENDED:
        return "never: it has ended, since digest.toml no longer names it"
    if not line.is_active(here.now):
        return f"paused{here.write_until(line.paused_until)}{waits}"
    places = line.settings.destinations
    if not places:
        return "–"
    if all(place.is_pulled for place in places):
        return "read when fetched"
    due_at = line.next_due_at
    if line.is_greeted:
        comes = FIRST_DIGEST_NEXT
    elif due_at is not None and due_at <= here.now:
        comes = "due, with the next run"
    else:
        write = write or here.write
        comes = write(due_at) if due_at else "as papers come"
        if line.awaits_check:
            check = "with the next complete check"
            comes = f"{comes}, or {check}" if line.waiting else check
    return f"{comes}{waits}"


def _postpone_to_check(
    line: SubscriptionStatus, next_poll_at: datetime, now: datetime
) -> SubscriptionStatus:
    """Put off a turn on announcement to the next check, if it would come before that.

    A turn that has come stays as it is.
    """
    is_on_announcement = line.settings.cadence.kind is CadenceKind.ANNOUNCEMENT
    if line.next_due_at is None or line.next_due_at <= now:
        return line
    if line.awaits_check or not is_on_announcement:
        return line
    return replace(line, next_due_at=max(line.next_due_at, next_poll_at))


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many papers wait, in how many subscriptions, and the first of these in order of turn.

    `first` has only some of the subscriptions if there are many.
    """

    papers: int
    subscriptions: int
    first: tuple[SubscriptionStatus, ...]


def find_waiting(conn: Connection, config: Config, clock: Clock, now: datetime) -> Waiting:
    """Return what waits to be sent, or waits for a complete check."""
    papers_by_id = overview.load_waiting(conn)
    named = [*papers_by_id][:_WAITING]
    lines = load_lines(conn, config, clock, now, only=named)
    first = sorted(lines, key=_order_by_turn)
    return Waiting(sum(papers_by_id.values()), len(papers_by_id), tuple(first))


def _order_by_turn(line: SubscriptionStatus) -> tuple[bool, datetime | None, str]:
    return line.next_due_at is None, line.next_due_at, line.settings.name


@dataclass(frozen=True, slots=True)
class PersonStatus:
    """Somebody who subscribed by themselves.

    `since` is the moment (UTC) of that. `queries` counts their saved queries. `when` says when
    their own subscription sends, "" if they have none.
    """

    address: str
    since: datetime
    state: str
    queries: int
    when: str


@dataclass(frozen=True, slots=True)
class SubscriptionList:
    """All subscriptions, and the people who subscribed by themselves.

    `edited` says which changes in digest.toml the next run takes over; "" for none.
    """

    here: Here
    subscriptions: tuple[SubscriptionStatus, ...]
    people: tuple[PersonStatus, ...]
    edited: str


def list_subscriptions(
    conn: Connection,
    config: Config,
    clock: Clock,
    here: Here,
) -> SubscriptionList:
    """Gather the subscriptions, and the people who subscribed by themselves."""
    lines = load_lines(conn, config, clock, here.now)
    edited = describe_pending_edits(config, conn)
    people = tuple(_list_people(conn, here, lines))
    return SubscriptionList(here, tuple(lines), people, edited)


def _list_people(
    conn: Connection, here: Here, lines: Iterable[SubscriptionStatus]
) -> Iterator[PersonStatus]:
    dues = {due.subscription.name: due for due in subscriptions.load(conn)}
    written_to: set[Destination] = set()
    for due in dues.values():
        written_to.update(due.subscription.destinations)
    paused: set[Destination] = set()
    for line in lines:
        if line.is_personal and not line.is_active(here.now):
            paused.update(line.settings.destinations)
    for person in load_people(conn):
        if person.destination not in written_to:
            state = "unsubscribed"
        elif person.destination in paused:
            state = "paused"
        else:
            state = "subscribed"
        own_due = dues.get(load_own_subscription_name(conn, person))
        yield PersonStatus(
            address=person.address,
            since=person.since,
            state=state,
            queries=len(own_due.revisions) if own_due else 0,
            when=str(own_due.subscription.cadence) if own_due else "",
        )


@dataclass(frozen=True, slots=True)
class SubscriptionDetail:
    """All about a subscription.

    `queries` are the texts of its saved queries, by name. `unreadable` says of each text in its
    order or its exclusions that can't be read why that is so.
    """

    here: Here
    subscription: SubscriptionStatus
    queries: Mapping[str, str]
    destinations: tuple[DestinationStatus, ...]
    digests: tuple[DigestSummary, ...]
    unreadable: Mapping[str, str]


def load_detail(
    conn: Connection,
    config: Config,
    clock: Clock,
    here: Here,
    due: DueSubscription,
) -> SubscriptionDetail:
    """Gather all about a subscription, also one that has ended."""
    subscription = due.subscription
    lines = load_lines(conn, config, clock, here.now, include_ended=True)
    line = next(line for line in lines if line.settings.name == subscription.name)
    names = {query.name for query in config.queries}
    unreadable = find_unreadable(subscription.exclude, ())
    unreadable |= find_unreadable((*subscription.read_first, *subscription.read_last), names)
    why_unreadable = {text: error.message for text, error in unreadable.items()}
    summaries = digests.load_summaries(conn, subscription_ids=[due.id], limit=_DIGESTS)
    return SubscriptionDetail(
        here=here,
        subscription=line,
        queries={one.name: one.text for one in due.revisions},
        destinations=tuple(subscribers.load_statuses(conn, due.id)),
        digests=tuple(summaries),
        unreadable=why_unreadable,
    )
