"""A database that is a copy: noticed when a worker starts, held back whole, and released by the operator's word.

What the lost database sent after the copy was taken, the copy does not know; what was announced meanwhile it
finds anew and takes for news. So no digest is planned from it and nothing sent, old or new, until somebody
says up to when the lost one had sent: what was due by then is let go, all the rest is told once.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from digest.errors import UsageError
from digest.messages import Occasion
from digest.pipeline.attention import polled_keys
from digest.pipeline.covering import load_coverage
from digest.pipeline.dating import date_changes
from digest.pipeline.matching_step import readable
from digest.planning import plan_digest
from digest.planning.restored import pass_turns, was_due_by
from digest.store import cursors as cursor_store
from digest.store import digests as digest_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import provenance, stamps
from digest.store import subscriptions as subscription_store
from digest.store.parting import split_told
from digest.store.stamps import Reach
from digest.subscriptions import SubscriptionState

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.planning import DueSubscription
    from digest.store import Store
    from digest.store.matches import MatchRow
    from digest.store.provenance import Provenance

_log = logging.getLogger("digest.restore")


@dataclass(frozen=True, slots=True)
class Quarantine:
    """What is held back, and what is known of why.

    Attributes:
        taken_at: when the copy was taken (UTC); None where nobody knows.
        restored_at: when a worker found it (UTC); None where none has started yet.
        lost: how far the database before it had come, as far as known.
        deliveries: how many wait.
        papers: how many papers of active subscriptions wait to be planned, each counted for each of them.
        subscriptions: how many these are.
        has_looked: arXiv has been looked at completely since it was found, and all that came is matched.
    """

    taken_at: datetime | None
    restored_at: datetime | None
    lost: Reach
    deliveries: int
    papers: int
    subscriptions: int
    has_looked: bool

    def describe(self) -> str:
        """Say in a sentence that nothing is sent, and why."""
        return "this database was restored from a copy: nothing is planned or sent until you say how to go on"


@dataclass(frozen=True, slots=True)
class Resumed:
    """What the end of a quarantine did.

    Attributes:
        released: deliveries that are sent now.
        dropped: deliveries taken as sent.
        told: papers taken as told, each counted for each subscription.
    """

    released: int
    dropped: int
    told: int


def recognise_copy(store: Store, now: datetime) -> bool:
    """Find out whether a database is an older copy of itself, and hold everything if so; for a worker's start.

    On PostgreSQL nothing tells a copy but the mark that `digest backup` leaves in it: see `mark_restored`.

    Returns:
        Whether it is in quarantine, from now on or from before.
    """
    with store.read() as conn:
        known = provenance.load_provenance(conn)
        why = "it was restored from a backup" if known.is_unmet else stamps.find_copy(conn, store)
        lost = _find_lost(conn, known, store)
    if why:
        held = _enter(store, now, lost)
        _log.warning("nothing is sent, %d deliveries are held: %s", held, why)
        return True
    stamps.begin_counting(store)
    return known.quarantined_at is not None


def mark_restored(store: Store, now: datetime) -> int:
    """Hold everything, since the operator says that the database was restored; return how many deliveries."""
    with store.read() as conn:
        lost = _find_lost(conn, provenance.load_provenance(conn), store, is_said=True)
    return _enter(store, now, lost)


def take_back(store: Store, now: datetime) -> bool:
    """Let a database that was moved work here again, as a copy of what it is there; False where it was not moved.

    What was sent from there, and when, the file beside it does not know.

    Raises:
        StoreError: another one was to be moved here, and has not arrived.
    """
    with store.read() as conn:
        provenance.refuse_unfilled(conn, store.url_masked)
        was_moved = bool(provenance.load_provenance(conn).moved_to)
    if was_moved:
        _enter(store, now, Reach())
    return was_moved


def load_quarantine(conn: Connection, store: Store, source: str) -> Quarantine | None:
    """Return what is held back, None where nothing is.

    Args:
        conn: a reading transaction.
        store: its database.
        source: `harvest` or `query`.
    """
    known = provenance.load_provenance(conn)
    if known.quarantined_at is None:
        return None
    waiting = [(due, _load_waiting(conn, due)) for due in _load_active(conn)]
    return Quarantine(
        taken_at=None if known.quarantined_at == known.restored_at else known.quarantined_at,
        restored_at=known.restored_at,
        lost=_find_lost(conn, known, store),
        deliveries=provenance.count_held_back(conn),
        papers=sum(row.papers for _, rows in waiting for row in rows),
        subscriptions=sum(bool(rows) for _, rows in waiting),
        has_looked=_has_looked(conn, source, known.restored_at),
    )


def resume(conn: Connection, source: str, now: datetime, *, since: datetime | None = None) -> Resumed:
    """End the quarantine, in one transaction.

    Args:
        conn: a writing transaction.
        source: `harvest` or `query`.
        now: the moment (UTC).
        since: what was due by then (UTC) was sent by the database before and is let go; None releases all.

    Raises:
        UsageError: there is no quarantine, or `since` lies ahead, or nobody knows yet what was announced.
    """
    known = provenance.load_provenance(conn)
    if known.quarantined_at is None:
        raise UsageError(
            "nothing is held back: there is nothing to resume", hint="`digest status` shows how it is."
        )
    if known.is_unmet:
        raise UsageError(
            "nothing has begun to work on this copy yet, so what it would send is not its own",
            hint="Call `digest run --now` first: it sends nothing, and finds what was announced meanwhile.",
        )
    if since is None:
        return Resumed(provenance.release(conn), 0, 0)
    if since > now:
        raise UsageError(
            "the moment given lies ahead", hint="Name the last moment at which all was sent, or an earlier."
        )
    if not _has_looked(conn, source, known.restored_at):
        raise UsageError(
            "arXiv has not been looked at since the restore, so it is not known yet what was due by then",
            hint="Call `digest run --now` first, or let `digest serve` look: neither sends anything now.",
        )
    awake = _load_awake(conn, since)
    told = sum(_take_as_told(conn, due, source, since, now) for due in awake)
    turns = {due.id: pass_turns(due.subscription, due.next_due_at, due.last_slot, since) for due in awake}
    subscription_store.take_turns(conn, turns)
    gone = provenance.list_held_back(conn, since)
    provenance.take_as_sent(conn, gone, now)
    return Resumed(provenance.release(conn), len(gone), told)


def _enter(store: Store, now: datetime, lost: Reach) -> int:
    """Let a line of its own begin with a copy, held back whole; return how many deliveries wait."""
    generation = secrets.token_hex(8)
    with store.read() as conn:
        before, sendings = provenance.load_provenance(conn).generation, stamps.load_sendings(conn)
    # The file first: a death in between leaves a copy that is found once more, and nothing forgotten.
    stamps.write_stamp(store, stamps.Stamp(generation, sendings or 0, lost=lost, copied=before))
    with store.begin() as conn:
        held = provenance.enter_quarantine(conn, generation, now)
    stamps.begin_counting(store)
    return held


def _find_lost(conn: Connection, known: Provenance, store: Store, *, is_said: bool = False) -> Reach:
    """Return how far the database before had come; the file beside a copy that nobody met is still that one's."""
    stamp = stamps.load_stamp(store)
    if known.quarantined_at is None or known.is_unmet:
        return stamps.find_lost(known.generation, stamps.load_sendings(conn) or 0, stamp, is_said=is_said)
    is_ours = stamp is not None and known.generation in (stamp.generation, stamp.copied)
    return stamp.lost if stamp is not None and is_ours else Reach()


def _load_active(conn: Connection) -> list[DueSubscription]:
    return [due for due in _load_sending(conn) if due.state == SubscriptionState.ACTIVE]


def _load_awake(conn: Connection, moment: datetime) -> list[DueSubscription]:
    """Return what no command let rest at a moment (UTC), each with the end of its last pause in `paused_until`."""
    ends = subscription_store.load_pauses(conn)
    return [
        replace(due, subscription=replace(due.subscription, paused_until=_find_later(due, ends.get(due.id))))
        for due in _load_sending(conn)
        if due.state == SubscriptionState.ACTIVE or ((end := ends.get(due.id)) is not None and end <= moment)
    ]


def _find_later(due: DueSubscription, pause_end: datetime | None) -> datetime | None:
    return max(filter(None, (due.subscription.paused_until, pause_end)), default=None)


def _load_sending(conn: Connection) -> list[DueSubscription]:
    return [due for due in subscription_store.load_subscriptions(conn) if due.subscription.has_digests]


def _load_waiting(conn: Connection, due: DueSubscription) -> list[MatchRow]:
    return match_store.pending_matches(conn, due.id, due.plan_after)


def _has_looked(conn: Connection, source: str, since: datetime | None) -> bool:
    looks = [cursor_store.load_cursor(conn, source, key).last_complete_at for key in polled_keys(conn, source)]
    is_matched = match_store.matched_mark(conn) == match_store.stored_mark(conn)
    return since is not None and is_matched and all(look is not None and look >= since for look in looks)


def _take_as_told(conn: Connection, due: DueSubscription, source: str, since: datetime, now: datetime) -> int:
    """Put what one subscription was told by a moment on record as a digest that goes nowhere.

    So its feed keeps these papers, later versions of them are known as such, and their trail says who told them.

    Returns:
        How many changes that are.
    """
    rows = _load_waiting(conn, due)
    changes = paper_store.load_changes(conn, sorted({id_ for row in rows for id_ in row.changes}))
    announced = date_changes(conn, changes)
    told: set[int] = set()
    for row in rows:
        is_first_look = row.occasion == Occasion.FIRST_LOOK
        told |= {
            id_
            for id_ in row.changes
            if was_due_by(due.subscription, announced[id_], since, is_first_look=is_first_look)
        }
    if told:
        record = plan_digest(
            due,
            [changes[id_] for id_ in told],
            {revision.name: query for revision, query in readable(due.revisions)},
            match_store.seen_versions(conn, due.id, {changes[id_].paper_key for id_ in told}),
            load_coverage(conn, source, (revision.canonical for revision in due.revisions), now),
            slot=f"restored:{now:%Y-%m-%dT%H:%M:%SZ}",
            occasion=Occasion.TAKEN_AS_TOLD,
            now=now,
        )
        consumed = split_told(conn, due.id, told, rows)
        digest_store.save_digest(conn, due.id, record, (), consumed=consumed, at=now)
    return len(told)
