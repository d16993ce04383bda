"""What becomes of deliveries nobody wants any more, while they wait: one statement for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select, update

from digest.counting import count
from digest.messages import DeliveryState
from digest.store.dialect import in_chunks
from digest.store.schema import (
    deliveries,
    digests,
    matches,
    saved_queries,
    subscription_queries,
    subscriptions,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

_MOST_NAMED = 3
"""Digests that are named one by one at most."""

_WAITING = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.HELD)
"""Certainly not sent. What is `sending` or `unknown` may be on its way: it is decided when it is next begun."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """What waited for a destination that the file names no more, and goes nowhere.

    Attributes:
        subscription: whose digests they were.
        destination: where they would have gone.
        messages: how many.
        digests: the ids of the digests in them, which are kept.
    """

    subscription: str
    destination: str
    messages: int
    digests: tuple[int, ...]

    def describe(self) -> str:
        """Say in a sentence what became of them, and how their papers can still be read."""
        are = "message that waited or was" if self.messages == 1 else "messages that waited or were"
        shown = [f"digest preview {self.subscription} --digest {id_}" for id_ in self.digests[:_MOST_NAMED]]
        more = f" and {len(self.digests) - _MOST_NAMED} more" if len(self.digests) > _MOST_NAMED else ""
        return (
            f"{self.messages} {are} held for {self.destination} will not be sent: digest.toml names it no more in"
            f" {self.subscription}. To read what was in them: {', '.join(shown)}{more}"
        )


@dataclass(frozen=True, slots=True)
class Abandoned:
    """What waited for a subscription that the file names no more, and goes nowhere.

    Attributes:
        subscription: its name.
        papers: how many matched and were in no digest yet.
        messages: how many that were planned had not been sent.
        queries: the saved queries it had, which go on listing what they found.
    """

    subscription: str
    papers: int
    messages: int
    queries: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say in a sentence what became of them, and how they can still be read."""
        papers = f"{count(self.papers, 'paper')} that waited for its next digest" if self.papers else ""
        held = "was held" if self.messages == 1 else "were held"
        messages = f"{count(self.messages, 'message')} that waited or {held}" if self.messages else ""
        goes = "goes" if self.papers + self.messages == 1 else "go"
        listed = ", ".join(f"digest query history {name}" for name in self.queries[:_MOST_NAMED])
        return (
            f"{self.subscription} has ended, since digest.toml names it no more:"
            f" {' and '.join(filter(None, (papers, messages)))} {goes} nowhere. Named again, it tells what is"
            f" found from then on{f'; {listed} lists what was found before' if listed else ''}"
        )


def find_abandoned(conn: Connection, names: Mapping[int, str]) -> tuple[Abandoned, ...]:
    """Return what waits for subscriptions that are about to end, by name; nothing for those without any.

    Args:
        conn: the transaction that ends them.
        names: the names, by id, of those that had somewhere to send digests to.
    """
    papers: dict[int, int] = {}
    messages: dict[int, int] = {}
    queries: dict[int, list[str]] = {}
    told = matches.c.digest_id.is_not(None) | (matches.c.match_run_id <= subscriptions.c.plan_after)
    waiting = (
        select(matches.c.subscription_id, func.sum(matches.c.papers))
        .join(subscriptions, subscriptions.c.id == matches.c.subscription_id)
        .where(~told)
        .group_by(matches.c.subscription_id)
    )
    unsent = (
        select(digests.c.subscription_id, func.count())
        .join(deliveries, deliveries.c.digest_id == digests.c.id)
        .where(deliveries.c.state.in_(_WAITING))
        .group_by(digests.c.subscription_id)
    )
    asked = (
        select(subscription_queries.c.subscription_id, saved_queries.c.name)
        .join(saved_queries, saved_queries.c.id == subscription_queries.c.query_id)
        .order_by(subscription_queries.c.position)
    )
    for some in in_chunks(names):
        papers |= dict(conn.execute(waiting.where(matches.c.subscription_id.in_(some))).all())
        messages |= dict(conn.execute(unsent.where(digests.c.subscription_id.in_(some))).all())
        for id_, query in conn.execute(asked.where(subscription_queries.c.subscription_id.in_(some))):
            queries.setdefault(id_, []).append(query)
    return tuple(
        Abandoned(names[id_], papers.get(id_, 0), messages.get(id_, 0), tuple(queries.get(id_, ())))
        for id_ in sorted(papers.keys() | messages.keys(), key=names.__getitem__)
    )


def find_dropped(
    conn: Connection, subscription: str, subscription_id: int, destinations: Iterable[str]
) -> list[Dropped]:
    """Return what waits for destinations of a subscription that are about to be dropped."""
    found = (
        select(deliveries.c.destination, deliveries.c.digest_id)
        .where(
            deliveries.c.state.in_(_WAITING),
            of_subscriptions([subscription_id]),
            deliveries.c.destination.in_(list(destinations)),
        )
        .order_by(deliveries.c.destination, deliveries.c.digest_id)
    )
    waiting: dict[str, list[int]] = {}
    for destination, digest_id in conn.execute(found):
        waiting.setdefault(destination, []).append(digest_id)
    return [Dropped(subscription, to, len(ids), tuple(dict.fromkeys(ids))) for to, ids in waiting.items()]


def suppress_waiting(conn: Connection, which: ColumnElement[bool], reason: str, at: datetime) -> int:
    """Suppress every waiting delivery of some digests or destinations; return how many.

    A delivery that a process is about to begin is among them: whoever changes its row first wins.

    Args:
        conn: a writing transaction.
        which: a condition on `deliveries`; see `of_subscriptions`.
        reason: shown to the operator.
        at: the moment (UTC).
    """
    suppress = (
        update(deliveries)
        .where(deliveries.c.state.in_(_WAITING), which)
        .values(state=DeliveryState.SUPPRESSED, last_error=reason, ended_at=at, lease_until=None)
    )
    return conn.execute(suppress).rowcount


def of_subscriptions(ids: list[int]) -> ColumnElement[bool]:
    """Return the condition that a delivery carries a digest of one of these subscriptions."""
    return deliveries.c.digest_id.in_(select(digests.c.id).where(digests.c.subscription_id.in_(ids)))
