"""Gathers what is known of each subscription, and of the people who subscribed by themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from digest.model.subscriptions import DueSubscription
from digest.people.tables import load_own_name, load_people
from digest.store.digests import DigestSummary, find_first_digests, load_summaries
from digest.store.overview import SubscriptionLine, load_subscription_lines, load_waiting
from digest.store.subscribers import DestinationStatus, load_statuses
from digest.store.subscriptions import load_subscriptions

FIRST_DIGEST_NEXT = "first digest with the next run"

_DIGESTS = 5
"""Digests of a subscription that are listed with it."""

_WAITING = 5
"""Subscriptions that are named of those for which something waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionStatus(SubscriptionLine):
    """A subscription, how much it brings in words, and if it sends a first digest with the next run."""

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
    """Return the live subscriptions by name, or all there ever were, or some.

    What is sent on announcement can't go out before the check that finds that: the next one.
    """
    greeted = find_first_digests(conn, config.subscriptions)
    lines = [
        SubscriptionStatus(
            **{each.name: getattr(line, each.name) for each in fields(line)},
            volume=describe_matches(line.days, line.began_at, now),
            is_greeted=line.settings.name in greeted,
        )
        for line in load_subscription_lines(
            conn, now, span=MATCH_SPAN, include_ended=include_ended, only=only
        )
    ]
    next_poll_at = find_next_check(conn, config.arxiv.source, clock, now)
    return [
        replace(one, next_due_at=max(one.next_due_at, next_poll_at))
        if one.settings.cadence.kind is CadenceKind.ANNOUNCEMENT
        and not one.awaits_check
        and one.next_due_at is not None
        and one.next_due_at > now
        else one
        for one in lines
    ]


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits: papers, in so many subscriptions, of which those that are due first are named."""

    papers: int
    subscriptions: int
    first: tuple[SubscriptionStatus, ...]


def find_waiting(conn: Connection, config: Config, clock: Clock, now: datetime) -> Waiting:
    """Say what waits to be sent, or for a complete check."""
    papers = load_waiting(conn)
    first = sorted(
        load_lines(conn, config, clock, now, only=[*papers][:_WAITING]),
        key=lambda line: (line.next_due_at is None, line.next_due_at, line.settings.name),
    )
    return Waiting(sum(papers.values()), len(papers), tuple(first))


@dataclass(frozen=True, slots=True)
class PersonStatus:
    """Somebody who subscribed by themselves: since when (UTC), how many saved queries, when their digests come."""

    address: str
    since: datetime
    state: str
    queries: int
    when: str


@dataclass(frozen=True, slots=True)
class SubscriptionList:
    """All subscriptions, the people, and what of digest.toml the next run takes over, "" for nothing."""

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
    dues = {due.subscription.name: due for due in load_subscriptions(conn)}
    heard = {place for due in dues.values() for place in due.subscription.destinations}
    paused = {
        place
        for one in lines
        if one.is_personal and not one.is_active(here.now)
        for place in one.settings.destinations
    }
    listed = []
    for person in load_people(conn):
        own, place = dues.get(load_own_name(conn, person)), person.destination
        state = (
            "unsubscribed" if place not in heard else "paused" if place in paused else "subscribed"
        )
        queries, when = (len(own.revisions), str(own.subscription.cadence)) if own else (0, "")
        listed.append(PersonStatus(person.address, person.since, state, queries, when))
    return SubscriptionList(here, tuple(lines), tuple(listed), describe_pending_edits(config, conn))


@dataclass(frozen=True, slots=True)
class SubscriptionDetail:
    """All about a subscription: what it follows by name, or by its text, and why a text can't be read."""

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
    lines, own = load_lines(conn, config, clock, here.now, include_ended=True), due.subscription
    unreadable = find_unreadable(own.exclude, ()) | find_unreadable(
        (*own.read_first, *own.read_last), {query.name for query in config.queries}
    )
    return SubscriptionDetail(
        here=here,
        subscription=next(line for line in lines if line.settings.name == own.name),
        queries={one.name: one.text for one in due.revisions},
        destinations=tuple(load_statuses(conn, due.id)),
        digests=tuple(load_summaries(conn, subscription_ids=[due.id], limit=_DIGESTS)),
        unreadable={text: error.message for text, error in unreadable.items()},
    )
