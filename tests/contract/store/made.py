"""Made-up papers, subscriptions and digests to fill a store with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, event, select

from digest.compare import content_hash
from digest.model.announcements import Change, Kind, StoredChange
from digest.model.cadences import Cadence
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import (
    Coverage,
    DeliveryPlan,
    Digest,
    DigestEntry,
    FirstReason,
    Form,
    Group,
    Message,
    NearLibrary,
    Occasion,
    WhyFirst,
)
from digest.model.papers import ArxivId, Author, Field, Paper, Reason, Span
from digest.model.subscriptions import FILE, Subscription
from digest.store import Store, changes, digests, matches, papers, queries, subscribers
from digest.store.digests import DigestDraft
from digest.store.papers import STORED
from digest.store.schema import deliveries
from digest.store.schema import subscriptions as subscriptions_table
from digest.store.sync import sync_subscriptions

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MAIL = Destination(DestinationKind.MAIL, "reader@example.org")
SLACK = Destination(DestinationKind.SLACK, "#papers")
FEED = Destination(DestinationKind.FEED)


def make_paper(
    number: int = 1,
    version: int = 1,
    **changes: Any,  # noqa: ANN401 - any field of `Paper`
) -> Paper:
    """Return a paper with something in every field."""
    person = Author("Ada Müller", ("Turm University", "Lab 2"))
    group = Author("The Crate Collaboration")
    paper = Paper(
        id=ArxivId(202611, number),
        version=version,
        title=f"Tail latency below $10^{{-3}}$ s, part {number}",
        abstract="First lines.\nSecond paragraph on caches.",
        authors=(person, group),
        categories=("cs.PF", "cs.DC"),
        published=NOW - 3 * DAY,
        updated=NOW - 2 * DAY,
        comment="12 pages",
        journal_ref="J. Queues 3 (2026) 1",
        dois=("10.1000/made.1", "10.1000/made.2"),
        report_no="TR-7",
        license="http://creativecommons.org/licenses/by/4.0/",
    )
    return replace(paper, **changes)


def store_papers(
    store: Store,
    given: Sequence[Paper],
    *,
    kind: Kind = Kind.NEW,
    run_id: int = 1,
    at: datetime = NOW,
) -> tuple[StoredChange, ...]:
    """Store papers as changes of one kind, whatever was known of them before."""
    with store.begin() as conn:
        ids = [paper.id for paper in given]
        known = papers.load_known(conn, ids)
        found = []
        for paper in given:
            before = known.get(paper.id)
            changed_fields = ("title",) if before else ()
            found.append(Change(kind, paper, before, changed_fields))
        return changes.save(conn, found, content_hash, run_id=run_id, at=at)


def make_subscription(
    name: str = "team",
    **changes: Any,  # noqa: ANN401 - any field of `Subscription`
) -> Subscription:
    """Return a subscription to the saved query `perf` by mail."""
    subscription = Subscription(
        name=name,
        queries=("perf",),
        destinations=(MAIL,),
        cadence=Cadence.parse("daily at 08:00 UTC"),
    )
    return replace(subscription, **changes)


@dataclass(frozen=True)
class AlwaysDue:
    """A schedule by which everything is due at one moment.

    What changes its quiet hours becomes due an hour later.
    """

    moment: datetime

    def next_due(
        self, subscription: Subscription, now: datetime, taken: str, paused_until: datetime | None
    ) -> datetime:
        del subscription, now, taken, paused_until
        return self.moment

    def realign_due(
        self, subscription: Subscription, due_at: datetime, now: datetime, taken: str
    ) -> datetime:
        del subscription, now, taken
        return due_at + timedelta(hours=1)


def subscribe(store: Store, *wanted: Subscription, at: datetime = NOW) -> dict[str, int]:
    """Make these the subscriptions of the file, with their saved queries.

    Return their ids by name.
    """
    texts = {}
    for subscription in wanted:
        for name in subscription.queries:
            text = f"all:{name}"
            texts[name] = (text, text, "")
    with store.begin() as conn:
        queries.sync(conn, texts, FILE, at)
        sync_subscriptions(conn, wanted, FILE, at, AlwaysDue(at + DAY))
        for subscription in wanted:
            for destination in subscription.destinations:
                if destination.kind is DestinationKind.MAIL:
                    subscribers.confirm_by_operator(
                        conn, destination.address, subscription.name, at
                    )
        names_and_ids = select(subscriptions_table.c.name, subscriptions_table.c.id)
        rows = conn.execute(names_and_ids)
        return {row.name: row.id for row in rows}


def store_match(
    store: Store,
    chosen: Mapping[int, tuple[int, ...]],
    *,
    at: datetime = NOW,
    occasion: Occasion = Occasion.SCHEDULED,
) -> int:
    """Keep one match run that brings these changes to these subscriptions; return its id."""
    ids: list[int] = []
    for of_one in chosen.values():
        ids += of_one
    before_first = min(ids) - 1
    last = max(ids)
    with store.begin() as conn:
        run_id = matches.begin_run(
            conn, from_change=before_first, to_change=last, at=at, occasion="poll"
        )
        matches.save(conn, run_id, chosen, at=at, occasion=occasion)
        return run_id


BY_AUTHOR = FirstReason(WhyFirst.AUTHORS, ("A. Lindquell",))


def make_digest(
    changes: Sequence[StoredChange], *, slot: str = "2026-11-20", subscription: str = "team"
) -> Digest:
    """Return a digest of changes, with something in every field."""
    entries = tuple(make_entry(change) for change in changes)
    count = len(entries)
    group = Group("New", count, Form.TWO_SENTENCES, reasons=((BY_AUTHOR,),) * count)
    coverage = Coverage(
        NOW.date(),
        is_complete=True,
        compared=412,
        matched=count,
        checked_at=NOW,
        source="harvest",
    )
    return Digest(
        subscription=subscription,
        title="The team's papers",
        slot=slot,
        occasion=Occasion.SCHEDULED,
        planned_at=MORNING,
        zone="Europe/Berlin",
        entries=entries,
        groups=(group,),
        shown=count,
        queries=(("perf", "all:perf"),),
        coverage=coverage,
    )


def make_entry(change: StoredChange) -> DigestEntry:
    """Return a change as an entry of a digest, with a reason in its title and its authors."""
    in_title = Span(Field.TITLE, 0, 4)
    in_authors = Span(Field.AUTHORS, 0, 3, 1)
    reason = Reason("ti:tail", (in_title, in_authors), "perf")
    return DigestEntry(
        kind=change.kind,
        paper=change.paper,
        label="v1 → v2",
        queries=("perf",),
        reasons=(reason,),
        announced=change.announced,
        change_id=change.id,
        near=NearLibrary("Tails of queues"),
    )


def plan(
    destination: Destination = MAIL, parts: int = 1, *, key: str = "key"
) -> tuple[DeliveryPlan, ...]:
    """Return the plans of a digest's parts to one destination."""
    plans = []
    for part in range(parts):
        part_key = f"{key}-{destination}-{part}"
        plans.append(DeliveryPlan(destination, part, parts, part_key))
    return tuple(plans)


@dataclass(frozen=True)
class Planned:
    digest_id: int
    subscription_id: int


MATCHED_LATE = "matching has come as far as its mark says"
"""The one invariant that `store_digest` does not keep: nothing was polled for its papers."""


def store_digest(
    store: Store,
    *destinations: Destination,
    parts: int = 1,
    slot: str = "2026-11-20",
    subscription: str = "team",
    at: datetime = MORNING,
) -> Planned:
    """Store a subscription, a paper that matched it, and the digest of it with its deliveries."""
    ways = destinations or (MAIL,)
    wanted = make_subscription(subscription, destinations=ways)
    subscription_id = subscribe(store, wanted)[subscription]
    paper = make_paper(next_number(store))
    (change,) = store_papers(store, [paper])
    run_id = store_match(store, {subscription_id: (change.id,)})
    key = f"{subscription}-{slot}"
    plans: list[DeliveryPlan] = []
    for way in ways:
        plans += plan(way, parts, key=key)
    digest = make_digest([change], slot=slot, subscription=subscription)
    with store.begin() as conn:
        digest_id = save_digest(conn, subscription_id, digest, plans, consumed=[run_id], at=at)
    assert digest_id is not None
    return Planned(digest_id, subscription_id)


@contextmanager
def recording(store: Store) -> Iterator[list[str]]:
    """Record every SQL statement that a store executes while the block lasts, without PRAGMAs."""
    statements: list[str] = []

    def note(*call: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event
        statement = call[2]
        if not statement.startswith("PRAGMA"):
            statements.append(statement)

    event.listen(store.engine, "before_cursor_execute", note)
    yield statements
    event.remove(store.engine, "before_cursor_execute", note)


def next_number(store: Store) -> int:
    """Return the number of a paper that is not stored yet."""
    with store.read() as conn:
        return papers.load_mark(conn, STORED) + 1


def make_message(text: str = "From: digest@example.org\r\n\r\nHello") -> Message:
    body = text.encode()
    return Message("message/rfc822", body, "key", "digest.eml")


def save_digest(
    conn: Connection,
    subscription_id: int,
    digest: Digest,
    plans: Sequence[DeliveryPlan],
    *,
    consumed: Collection[int],
    at: datetime,
) -> int | None:
    """Freeze one digest; return its number, None where its slot was taken."""
    draft = DigestDraft(subscription_id, digest, plans, consumed)
    numbers = digests.save(conn, [draft], at=at)
    return numbers.get(subscription_id)


def states(store: Store) -> list[str]:
    """Return the state of each delivery, in the order of their ids."""
    in_order = select(deliveries.c.state).order_by(deliveries.c.id)
    with store.read() as conn:
        return list(conn.execute(in_order).scalars())
