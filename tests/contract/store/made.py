"""Made-up papers, subscriptions and digests to fill a store with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
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
from digest.store import Store
from digest.store.changes import save_changes
from digest.store.digests import DigestDraft, save_digests
from digest.store.matches import begin_match_run, save_matches
from digest.store.papers import STORED, load_known, load_mark
from digest.store.queries import sync_queries
from digest.store.schema import deliveries
from digest.store.schema import subscriptions as subscriptions_table
from digest.store.subscribers import confirm_by_operator
from digest.store.sync import sync_subscriptions

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
MORNING = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
DAY = timedelta(days=1)
MAIL = Destination(DestinationKind.MAIL, "reader@example.org")
SLACK = Destination(DestinationKind.SLACK, "#papers")
FEED = Destination(DestinationKind.FEED)


def make_paper(number: int = 1, version: int = 1, **changes: Any) -> Paper:  # noqa: ANN401 - any field of Paper
    """Return a paper with something in every field."""
    paper = Paper(
        id=ArxivId(202611, number),
        version=version,
        title=f"Tail latency below $10^{{-3}}$ s, part {number}",
        abstract="First lines.\nSecond paragraph on caches.",
        authors=(
            Author("Ada Müller", ("Turm University", "Lab 2")),
            Author("The Crate Collaboration"),
        ),
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
    papers: Sequence[Paper],
    *,
    kind: Kind = Kind.NEW,
    run_id: int = 1,
    at: datetime = NOW,
) -> tuple[StoredChange, ...]:
    """Store papers as changes of one kind, whatever was known of them before."""
    with store.begin() as conn:
        known = load_known(conn, [paper.id for paper in papers])
        changes = [
            Change(kind, paper, known.get(paper.id), ("title",) if paper.id in known else ())
            for paper in papers
        ]
        return save_changes(conn, changes, content_hash, run_id=run_id, at=at)


def make_subscription(name: str = "team", **changes: Any) -> Subscription:  # noqa: ANN401 - any field of it
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
    """A schedule by which everything is due at one moment, and what changes its quiet hours an hour later."""

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
    names = {name for subscription in wanted for name in subscription.queries}
    with store.begin() as conn:
        sync_queries(conn, {name: (f"all:{name}", f"all:{name}", "") for name in names}, FILE, at)
        sync_subscriptions(conn, wanted, FILE, at, AlwaysDue(at + DAY))
        for subscription in wanted:
            for destination in subscription.destinations:
                if destination.kind is DestinationKind.MAIL:
                    confirm_by_operator(conn, destination.address, subscription.name, at)
        rows = conn.execute(select(subscriptions_table.c.name, subscriptions_table.c.id))
        return {row.name: row.id for row in rows}


def store_match(
    store: Store,
    chosen: dict[int, tuple[int, ...]],
    *,
    at: datetime = NOW,
    occasion: Occasion = Occasion.SCHEDULED,
) -> int:
    """Keep one match run that brings these changes to these subscriptions; return its id."""
    with store.begin() as conn:
        ids = [id_ for of_one in chosen.values() for id_ in of_one]
        run_id = begin_match_run(
            conn, from_change=min(ids) - 1, to_change=max(ids), at=at, occasion="poll"
        )
        save_matches(conn, run_id, chosen, at=at, occasion=occasion)
        return run_id


BY_AUTHOR = FirstReason(WhyFirst.AUTHORS, ("A. Lindquell",))


def make_digest(
    changes: Sequence[StoredChange], *, slot: str = "2026-11-20", subscription: str = "team"
) -> Digest:
    """Return a digest of changes, with something in every field."""
    entries = tuple(
        DigestEntry(
            kind=change.kind,
            paper=change.paper,
            label="v1 → v2",
            queries=("perf",),
            reasons=(
                Reason("ti:tail", (Span(Field.TITLE, 0, 4), Span(Field.AUTHORS, 0, 3, 1)), "perf"),
            ),
            announced=change.announced,
            change_id=change.id,
            near=NearLibrary("Tails of queues"),
        )
        for change in changes
    )
    return Digest(
        subscription=subscription,
        title="The team's papers",
        slot=slot,
        occasion=Occasion.SCHEDULED,
        planned_at=MORNING,
        zone="Europe/Berlin",
        entries=entries,
        groups=(
            Group("New", len(entries), Form.TWO_SENTENCES, reasons=((BY_AUTHOR,),) * len(entries)),
        ),
        shown=len(entries),
        queries=(("perf", "all:perf"),),
        coverage=Coverage(
            NOW.date(),
            is_complete=True,
            compared=412,
            matched=len(entries),
            checked_at=NOW,
            source="harvest",
        ),
    )


def plan(
    destination: Destination = MAIL, parts: int = 1, *, key: str = "key"
) -> tuple[DeliveryPlan, ...]:
    """Return the plans of a digest's parts to one destination."""
    return tuple(
        DeliveryPlan(destination, part, parts, f"{key}-{destination}-{part}")
        for part in range(parts)
    )


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
    ids = subscribe(store, make_subscription(subscription, destinations=ways))
    (change,) = store_papers(store, [make_paper(next_number(store))])
    run_id = store_match(store, {ids[subscription]: (change.id,)})
    plans = [one for way in ways for one in plan(way, parts, key=f"{subscription}-{slot}")]
    digest = make_digest([change], slot=slot, subscription=subscription)
    with store.begin() as conn:
        digest_id = save_digest(conn, ids[subscription], digest, plans, consumed=[run_id], at=at)
    assert digest_id is not None
    return Planned(digest_id, ids[subscription])


@contextmanager
def recording(store: Store) -> Iterator[list[str]]:
    """Record every SQL statement a store executes while the block lasts, but for the modes of connections."""
    statements: list[str] = []

    def note(*call: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event
        if not call[2].startswith("PRAGMA"):
            statements.append(call[2])

    event.listen(store.engine, "before_cursor_execute", note)
    yield statements
    event.remove(store.engine, "before_cursor_execute", note)


def next_number(store: Store) -> int:
    """Return the number of a paper that is not stored yet."""
    with store.read() as conn:
        return load_mark(conn, STORED) + 1


def make_message(text: str = "From: digest@example.org\r\n\r\nHello") -> Message:
    return Message("message/rfc822", text.encode(), "key", "digest.eml")


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
    return save_digests(conn, [DigestDraft(subscription_id, digest, plans, consumed)], at=at).get(
        subscription_id
    )


def states(store: Store) -> list[str]:
    """Return the state of each delivery, in the order of their ids."""
    with store.read() as conn:
        return list(conn.execute(select(deliveries.c.state).order_by(deliveries.c.id)).scalars())
