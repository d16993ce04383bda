"""Takes as sent what a lost database had sent; puts right what a wrong clock wrote.

The backup does not know what was sent after it was made. So the operator names a moment until which
all that was due had gone out. Papers announced between the backup and the loss are in no backup:
they are fetched again later. So the moment is kept, and each plan compares with it what is
announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, Double, Text, cast, func, or_, select, update

from digest.match.rules import readable
from digest.model.announcements import Kind, StoredChange, announcement_moment, next_announcement
from digest.model.cadences import CadenceKind
from digest.model.messages import Coverage, Digest, Occasion
from digest.model.slots import TURNS, SlotKind, SlotName
from digest.model.subscriptions import DueSubscription, SubscriptionState, TurnState
from digest.plan.digests import plan_digest
from digest.plan.slots import first_due, is_taken, latest_slot, next_due, take_slot
from digest.poll.coverage import load_coverage
from digest.store import attempts, backups, changes, matches
from digest.store.dialect import Moment, metadata
from digest.store.digests import DigestDraft
from digest.store.digests import save as save_digests
from digest.store.matches import MatchRow
from digest.store.schema import digests, poll_runs, subscriptions, workers
from digest.store.subscriptions import end_pauses, store_slots
from digest.store.subscriptions import load as load_subscriptions

CLOCKS_DIFFER = timedelta(days=1)
"""By how much the clocks of hosts may differ; what is less passes by itself."""

_LEFT = {subscriptions.c.next_due_at, subscriptions.c.paused_until, workers.c.seen_at}
"""Turns, which are planned anew; the ends of pauses, which people choose; signs of life."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What a restored database took as sent: messages, and papers for each subscription."""

    deliveries: int
    papers: int


def settle(conn: Connection, until: datetime, *, source: str, now: datetime) -> Settled:
    """Take as sent whatever of a restored database was due by a moment, and keep the moment.

    Pauses that were over by then have ended, and turns that had come were taken.
    """
    backups.set_sent_until(conn, until)
    end_pauses(conn, until)
    turns = {}
    for due in load_subscriptions(conn):
        is_active = due.state == SubscriptionState.ACTIVE
        if is_active and due.next_due_at is not None and due.next_due_at <= until:
            taken = _take_slot(due, until)
            turns[due.id] = TurnState(next_due(due.subscription, until, taken), taken)
    store_slots(conn, turns)
    return Settled(
        attempts.mark_taken_as_sent(conn, until, now), record_all_as_sent(conn, source, now)
    )


def _take_slot(due: DueSubscription, until: datetime) -> str:
    """Return the slots a subscription had taken by a moment."""
    cadence = due.subscription.cadence
    if cadence.kind is CadenceKind.AT_ONCE:
        return due.last_slot
    name = latest_slot(cadence, due.subscription.quiet_hours, until).name
    return due.last_slot if is_taken(due.last_slot, name) else take_slot(due.last_slot, name)


def record_all_as_sent(conn: Connection, source: str, now: datetime) -> int:
    """Take as sent what waits for any subscription and was due by the moment that is kept.

    Return how many papers that were, each counted once for each subscription.
    """
    if backups.load_sent_until(conn) is None:
        return 0
    active = {
        due.id: due.plan_after
        for due in load_subscriptions(conn)
        if due.state == SubscriptionState.ACTIVE and due.subscription.has_digests
    }
    return record_as_sent(conn, matches.load_pending_of_many(conn, active), source, now)


def record_as_sent(
    conn: Connection, pending: dict[int, list[MatchRow]], source: str, now: datetime
) -> int:
    """Record what was due by the moment that is kept as a digest that goes nowhere.

    So its feed keeps these papers, later versions of them are known as such, and their history says
    what became of them.
    """
    until = backups.load_sent_until(conn)
    if until is None or not pending:
        return 0
    ids: set[int] = set()
    for rows in pending.values():
        for row in rows:
            ids.update(row.changes)
    stored = changes.load(conn, ids)
    announced = {id_: find_announced(change) for id_, change in stored.items()}
    early = {id_ for id_, moment in announced.items() if moment <= until}
    concerned = [id_ for id_, rows in pending.items() if _brings_any(rows, early)]
    papers = 0
    for due in load_subscriptions(conn, concerned):
        sent = _choose_sent(due, pending[due.id], announced, until)
        if not sent:
            continue
        taken = [stored[id_] for id_ in sent]
        consumed = matches.split_sent(conn, due.id, sent, pending[due.id])
        coverage = load_coverage(conn, source, now)
        record = _make_record(conn, due, taken, coverage, number=max(consumed), now=now)
        save_digests(conn, [DigestDraft(due.id, record, (), consumed)], at=now)
        papers += len({change.paper_key for change in taken})
        del pending[due.id]
        left = matches.load_pending(conn, due.id, due.plan_after)
        if left:
            pending[due.id] = left
    return papers


def _brings_any(rows: Iterable[MatchRow], changes: set[int]) -> bool:
    return any(not changes.isdisjoint(row.changes) for row in rows)


def _choose_sent(
    due: DueSubscription,
    rows: Iterable[MatchRow],
    announced: Mapping[int, datetime],
    until: datetime,
) -> set[int]:
    """Return which changes that wait had been sent to a subscription by a moment."""
    sent: set[int] = set()
    for row in rows:
        early = [id_ for id_ in row.changes if announced[id_] <= until]
        if row.occasion != Occasion.FIRST_DIGEST:
            sent.update([id_ for id_ in early if was_due_by(due, announced[id_], until)])
        elif row.matched_at <= until:
            sent.update(early)
    return sent


def _make_record(
    conn: Connection,
    due: DueSubscription,
    changes: Sequence[StoredChange],
    coverage: Coverage,
    *,
    number: int,
    now: datetime,
) -> Digest:
    """Make a digest of what was sent before."""
    return plan_digest(
        due,
        changes,
        {revision.name: query for revision, query in readable(due.revisions)},
        matches.load_seen_versions(conn, due.id, {change.paper_key for change in changes}),
        coverage,
        slot=str(SlotName(SlotKind.RESTORED, str(number))),
        occasion=Occasion.ALREADY_SENT,
        now=now,
    )


def find_announced(change: StoredChange) -> datetime:
    """Return when arXiv announced a change (UTC), as near as is known; when in doubt, later.

    A record that was edited comes with no announcement. All that is known is that it was edited
    before the next.
    """
    moment = announcement_moment(change.announced)
    if change.kind is Kind.METADATA:
        moment = announcement_moment(next_announcement(moment))
    return min(moment, change.found_at)


def was_due_by(due: DueSubscription, announced: datetime, until: datetime) -> bool:
    """Whether a subscription had a turn by a moment for what was announced.

    A pause holds it back until its end. What a weekly digest still waited for at that moment was
    not sent.
    """
    return first_due(due.subscription, max(announced, due.paused_until or announced)) <= until


def accept_clock(conn: Connection, now: datetime) -> Counter[str]:
    """Take a moment (UTC) for the present; return how many moments of each table were put right.

    What a clock wrote that had gone ahead stays done, but nobody knows when: it counts as done at
    the last check before. Its digests get other slots, since theirs are for the days that will
    come; and messages from now on get other keys, so that none is taken for one of those. Each last
    turn is decided anew: what waits goes out.
    """
    until = now + CLOCKS_DIFFER
    is_turn = or_(*(digests.c.slot.like(kind.pattern) for kind in TURNS))
    early = update(digests).where(digests.c.planned_at > until, is_turn)
    conn.execute(early.values(slot=SlotKind.EARLY.prefix + cast(digests.c.id, Text)))
    moved = _move_moments(conn, now, until)
    if moved.total():
        # This changes the keys alone: nothing was due before arXiv began.
        sent_until = backups.load_sent_until(conn) or datetime(1991, 1, 1, tzinfo=UTC)
        backups.set_sent_until(conn, sent_until + timedelta(microseconds=1))
        moved["next digests"] = _open_turns(conn, now)
    return +moved


def _move_moments(conn: Connection, now: datetime, until: datetime) -> Counter[str]:
    """Write the last check before now in place of moments after another; count these by table."""
    checks = select(func.max(poll_runs.c.started_at)).where(poll_runs.c.started_at <= now)
    then = conn.execute(checks).scalar() or now
    limits = {Moment: until, Double: until.timestamp()}
    instead = {Moment: then, Double: then.timestamp()}
    moved = Counter[str]()
    for table in metadata.sorted_tables:
        columns = {column for column in table.columns if type(column.type) in limits}
        for column in columns - _LEFT:
            kind = type(column.type)
            late = update(table).where(column > limits[kind])
            moved[table.name] += conn.execute(late.values({column.name: instead[kind]})).rowcount
    return moved


def _open_turns(conn: Connection, now: datetime) -> int:
    """Let each last turn be decided anew, and return how many; pauses that end later go on."""
    active = update(subscriptions).where(subscriptions.c.state == SubscriptionState.ACTIVE)
    pauses = active.where(subscriptions.c.paused_until > now)
    conn.execute(pauses.values(state=SubscriptionState.PAUSED))
    turns = active.where(subscriptions.c.next_due_at > now)
    anew = turns.values(next_due_at=now, last_slot="", unchecked="")
    return conn.execute(anew).rowcount
