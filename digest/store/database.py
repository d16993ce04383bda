"""Asks a database what must always be true and where it comes from, keeps its secrets, and deletes what is old.

Asked after a move, of every backup and by `digest db check`; any count but zero is a fault of ours, or of a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, delete, exists, false, func, or_, select, text, tuple_, update

from digest.model.messages import DeliveryState
from digest.store.dialect import in_chunks, metadata
from digest.store.dialect import insert as insert_unless_there
from digest.store.engine import Store
from digest.store.papers import forget_unmatched
from digest.store.schema import ACTIVE_DELIVERY, attempts, deliveries, installation, near_days, tokens

INVARIANTS: Mapping[str, str] = MappingProxyType(
    {
        "a match is in a digest of its own subscription": """
            SELECT count(*) FROM matches JOIN digests ON digests.id = matches.digest_id
            WHERE digests.subscription_id <> matches.subscription_id""",
        "a digest with papers comes from matches": """
            SELECT count(*) FROM digests WHERE papers > 0 AND substr(slot, 1, 4) <> 'new:'
            AND NOT EXISTS (SELECT 1 FROM matches WHERE matches.digest_id = digests.id)""",
        "a digest has no more papers than were matched for it": """
            SELECT count(*) FROM digests WHERE substr(slot, 1, 4) <> 'new:' AND papers > coalesce(
                (SELECT sum(matches.papers) FROM matches WHERE matches.digest_id = digests.id), 0)""",
        "a slot has one digest": """
            SELECT count(*) FROM (SELECT 1 FROM digests
            GROUP BY subscription_id, slot HAVING count(*) > 1) AS twice""",
        "a part goes to a destination once": """
            SELECT count(*) FROM (SELECT 1 FROM deliveries
            GROUP BY digest_id, destination, part HAVING count(*) > 1) AS twice""",
        "all parts of a digest are there": """
            SELECT count(*) FROM (SELECT 1 FROM deliveries
            GROUP BY digest_id, destination HAVING count(*) <> max(parts) OR max(part) >= max(parts)) AS short""",
        "a part is sent after those before it": """
            SELECT count(*) FROM deliveries AS later WHERE part > 0 AND state IN ('sending', 'sent') AND EXISTS (
                SELECT 1 FROM deliveries AS earlier WHERE earlier.digest_id = later.digest_id
                AND earlier.destination = later.destination AND earlier.part < later.part
                AND earlier.state <> 'sent')""",
        "a delivery has a known state": """
            SELECT count(*) FROM deliveries WHERE state NOT IN ('ready', 'claimed', 'sending', 'sent', 'unknown',
                'held', 'dead', 'suppressed')""",
        "a delivery has a time of its end once it has ended": """
            SELECT count(*) FROM deliveries WHERE (ended_at IS NOT NULL)
                <> (state IN ('sent', 'dead', 'suppressed'))""",
        "a claim on a delivery has an end": """
            SELECT count(*) FROM deliveries WHERE state IN ('claimed', 'sending') AND lease_until IS NULL""",
        "every attempt is on record": """
            SELECT count(*) FROM deliveries WHERE attempts <>
                (SELECT count(*) FROM attempts WHERE attempts.delivery_id = deliveries.id)""",
        "what was sent was attempted": """
            SELECT count(*) FROM deliveries WHERE state = 'sent' AND NOT EXISTS (SELECT 1 FROM attempts
                WHERE attempts.delivery_id = deliveries.id AND attempts.outcome = 'sent')""",
        "what may have been sent is kept": """
            SELECT count(*) FROM deliveries WHERE state IN ('sending', 'unknown') AND body IS NULL""",
        "only what is being sent has an open attempt": """
            SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = attempts.delivery_id
            WHERE attempts.ended_at IS NULL AND deliveries.state <> 'sending'""",
        "nothing was sent to a destination that had unsubscribed": """
            SELECT count(*) FROM attempts JOIN deliveries ON deliveries.id = attempts.delivery_id
            JOIN digests ON digests.id = deliveries.digest_id
            JOIN subscriptions ON subscriptions.id = digests.subscription_id
            JOIN suppressions ON suppressions.destination = deliveries.destination
                AND (suppressions.subscription = subscriptions.name
                OR (suppressions.subscription = '' AND digests.occasion <> 'letter'))
            WHERE attempts.started_at > suppressions.since""",
        "no change is numbered beyond the counter": """
            SELECT count(*) FROM changes WHERE id > (SELECT value FROM marks WHERE name = 'changes')""",
        "nothing is matched that is not stored": """
            SELECT count(*) FROM marks WHERE name = 'matched'
            AND value > (SELECT value FROM marks WHERE name = 'changes')""",
        "every change is matched once": """
            SELECT count(*) FROM (SELECT from_change, to_change,
                lag(to_change) OVER (ORDER BY id) AS reached FROM match_runs WHERE occasion = 'poll') AS runs
            WHERE from_change > to_change OR from_change <> coalesce(reached, from_change)""",
        "matching has come as far as its mark says": """
            SELECT count(*) FROM match_runs WHERE to_change > (SELECT value FROM marks WHERE name = 'matched')""",
        "a change belongs to the paper whose version it brought": """
            SELECT count(*) FROM changes JOIN versions ON versions.id = changes.version_id
            WHERE versions.paper_id <> changes.paper_id""",
        "a paper's latest version is its own": """
            SELECT count(*) FROM papers WHERE latest_version_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM versions
                WHERE versions.id = papers.latest_version_id AND versions.paper_id = papers.id)""",
        "a source is checked as far as a complete run went": """
            SELECT count(*) FROM cursors JOIN poll_runs ON poll_runs.id = cursors.last_complete_run_id
            WHERE poll_runs.outcome NOT IN ('complete', 'empty')""",
        "no source is checked beyond its last run": """
            SELECT count(*) FROM cursors
            WHERE last_complete_run_id > (SELECT coalesce(max(id), 0) FROM poll_runs)""",
        "a saved query has one text at a time": """
            SELECT count(*) FROM (SELECT 1 FROM query_revisions WHERE ended_at IS NULL
            GROUP BY query_id HAVING count(*) > 1) AS twice""",
        "there is one installation": """
            SELECT abs(count(*) - 1) FROM installation""",
    }
)
"""What must be true → how many rows break it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """An invariant that does not hold."""

    name: str
    count: int


def load_violations(conn: Connection) -> list[Violation]:
    """Ask a database for every invariant; return those that do not hold, none where all is well."""
    counts = {name: int(conn.execute(text(query)).scalar_one()) for name, query in INVARIANTS.items()}
    return [
        *(Violation(name, count) for name, count in counts.items() if count),
        *(_find_damage(conn) if conn.dialect.name == "sqlite" else ()),
    ]


def count_rows(conn: Connection) -> dict[str, int]:
    """Return how many rows each table holds, by name, in the order in which they can be filled."""
    return {
        table.name: conn.execute(select(func.count()).select_from(table)).scalar_one()
        for table in metadata.sorted_tables
    }


def _find_damage(conn: Connection) -> Iterator[Violation]:
    """Let SQLite check its own file."""
    said = [row[0] for row in conn.exec_driver_sql("PRAGMA integrity_check(20)")]
    if said != ["ok"]:
        yield Violation(f"the file is whole ({said[0]})", len(said))
    orphans = conn.exec_driver_sql("PRAGMA foreign_key_check").all()
    if orphans:
        yield Violation(f"every reference leads somewhere ({orphans[0][0]} to {orphans[0][2]})", len(orphans))


KEPT_DAYS = {"rendered bytes": 7, "deliveries": 180, "top tenths of announcements": 180}
"""How many days each is kept from the end of a digest's deliveries.
Papers that matched, matches and digests are kept for ever."""

_PORTION = 500
"""So much is deleted in one transaction: others need not wait long."""


def delete_expired(store: Store, now: datetime, *, unmatched_days: int = 0) -> dict[str, int]:
    """Delete what is older than `KEPT_DAYS` at a moment (UTC); return how much of each.

    Deliveries go with all others of their digest, once the last of them has had its time. Papers that matched
    nothing are forgotten after their own days, 0 for never.
    """
    if unmatched_days:
        forget = partial(forget_unmatched, at=now, limit=_PORTION)
        _delete_all(store, forget, now - timedelta(unmatched_days))
    return {kind: _delete_all(store, _DELETIONS[kind], now - timedelta(days)) for kind, days in KEPT_DAYS.items()}


def _delete_all(store: Store, delete_portion: Callable[[Connection, datetime], int], before: datetime) -> int:
    total, last = 0, _PORTION
    while last == _PORTION:
        with store.begin() as conn:
            last = delete_portion(conn, before)
        total += last
    return total


def _delete_bytes(conn: Connection, before: datetime) -> int:
    is_old = (deliveries.c.body.is_not(None), deliveries.c.ended_at < before)
    old = select(deliveries.c.id).where(*is_old).limit(_PORTION)
    return conn.execute(
        update(deliveries).where(deliveries.c.id.in_(old)).values(body=None, media_type=None)
    ).rowcount


def _delete_deliveries(conn: Connection, before: datetime) -> int:
    other = deliveries.alias("other")
    is_late = or_(other.c.ended_at.is_(None), other.c.ended_at >= before)
    old = (
        select(deliveries.c.digest_id)
        .where(deliveries.c.ended_at < before)
        .where(~exists().where(other.c.digest_id == deliveries.c.digest_id, is_late))
        .distinct()
        .limit(_PORTION)
    )
    digest_ids = conn.execute(old).scalars().all()
    theirs = deliveries.c.digest_id.in_(digest_ids)
    conn.execute(delete(attempts).where(attempts.c.delivery_id.in_(select(deliveries.c.id).where(theirs))))
    conn.execute(delete(deliveries).where(theirs))
    return len(digest_ids)


def _delete_near_days(conn: Connection, before: datetime) -> int:
    keys = (near_days.c.announced_on, near_days.c.subscription_id)
    old = select(*keys).where(near_days.c.announced_on < before.date()).limit(_PORTION)
    return conn.execute(delete(near_days).where(tuple_(*keys).in_(old))).rowcount


_DELETIONS = {
    "rendered bytes": _delete_bytes,
    "deliveries": _delete_deliveries,
    "top tenths of announcements": _delete_near_days,
}


TAKEN_AS_SENT = "taken as sent before the database was restored"


def try_writing(conn: Connection) -> None:
    """Do all that a write needs and change nothing: an error tells why nothing can be written."""
    conn.execute(update(installation).where(false()).values(sent_until=None))


def load_sent_until(conn: Connection) -> datetime | None:
    """Return until when all that was due had gone out before a restore (UTC); None if there was none.

    The keys of its messages begin with it. A restored database may make another digest for a slot that the lost
    one had a digest for: a key that the other side knows would make it a duplicate.
    """
    moment: datetime | None = conn.execute(select(installation.c.sent_until)).scalar()
    return moment


def set_sent_until(conn: Connection, until: datetime) -> None:
    """Keep until when all that was due had gone out (UTC); see `load_sent_until`."""
    conn.execute(update(installation).values(sent_until=until))


def take_as_sent(conn: Connection, until: datetime, at: datetime) -> int:
    """End the deliveries that were due by a moment, since the database before sent them; return how many."""
    due = update(deliveries).where(ACTIVE_DELIVERY, deliveries.c.not_before <= until)
    ended = {"state": DeliveryState.SUPPRESSED, "ended_at": at, "lease_until": None, "last_error": TAKEN_AS_SENT}
    ids = conn.execute(due.values(ended).returning(deliveries.c.id)).scalars().all()
    for chunk in in_chunks(ids):
        open_ = attempts.c.outcome.in_((DeliveryState.SENDING, DeliveryState.UNKNOWN))
        close = update(attempts).where(attempts.c.delivery_id.in_(chunk), open_)
        conn.execute(close.values(ended_at=at, outcome=DeliveryState.SUPPRESSED, detail=TAKEN_AS_SENT))
    return len(ids)


class TokenPurpose(StrEnum):
    """What a token opens, and nothing else. `ENDED`: nothing any more, for good."""

    LEAVE = "leave"
    WEB = "web"
    PREFERENCES = "preferences"
    ARCHIVE = "archive"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class StoredToken:
    """What a token stands for.

    Attributes:
        purpose: what it opens.
        destination: whose it is, as `kind:address`; "" where it belongs to no destination.
        subscription: which subscription it is about; "" for all.
        digest_id: which digest it shows; None where it shows none.
    """

    purpose: TokenPurpose
    destination: str
    subscription: str
    digest_id: int | None
    created_at: datetime


def remember_tokens(conn: Connection, rows: Sequence[dict[str, Any]], *, at: datetime) -> None:
    """Keep what tokens stand for from a moment (UTC) on, in one statement; each as `make_token_row` wrote it."""
    if rows:
        keep = insert_unless_there(conn, tokens).on_conflict_do_nothing(index_elements=["hash"])
        conn.execute(keep, [row | {"created_at": at} for row in rows])


def make_token_row(
    token_hash: str,
    purpose: str,
    *,
    destination: str = "",
    subscription: str = "",
    digest_id: int | None = None,
) -> dict[str, Any]:
    """Return what is kept of a token, by its hash (`digest.model.secrets.token_hash`)."""
    return {
        "hash": token_hash,
        "purpose": TokenPurpose(purpose).value,
        "destination": destination,
        "subscription": subscription,
        "digest_id": digest_id,
    }


def load_token(conn: Connection, token_hash: str) -> StoredToken | None:
    """Return what a token stands for; None where it is unknown."""
    row = conn.execute(select(tokens).where(tokens.c.hash == token_hash)).one_or_none()
    if row is None:
        return None
    return StoredToken(
        purpose=TokenPurpose(row.purpose),
        destination=row.destination,
        subscription=row.subscription,
        digest_id=row.digest_id,
        created_at=row.created_at,
    )


def load_secret(conn: Connection) -> str:
    """Return the secret this installation was given when its tables were made."""
    return str(conn.execute(select(installation.c.secret)).scalar_one())
