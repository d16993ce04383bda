"""How far a SQLite database has come, told by a file beside it: so an older copy put in its place is noticed.

The database counts the messages it has begun to send, and the file repeats the count before the network is
touched. A database that has counted fewer than the file says is an older copy; one of another generation
is another database; one without its file was copied by itself. Whoever copies both together, as a
snapshot of a whole machine does, is noticed by nobody and must say so (`digest restore --mark`).
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, bindparam, exists, select
from sqlalchemy.dialects import sqlite

from digest.errors import StoreError
from digest.store.dialect import insert
from digest.store.failures import explain_file
from digest.store.provenance import load_provenance
from digest.store.schema import digests, marks

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from digest.store.engine import Store

SENDINGS = "sendings"
"""The mark that counts messages begun to be sent."""

_SIZE = 512
"""Bytes of the file, always: it is written over in place, so a full disk is no obstacle."""

_MOMENTS = ("sent_at", "clear_at", "lost_at", "lost_clear_at")

_MESSAGES = bindparam("messages", type_=BigInteger)
_COUNT = (
    sqlite.insert(marks)
    .values(name=SENDINGS, value=_MESSAGES)
    .on_conflict_do_update(index_elements=["name"], set_={"value": marks.c.value + _MESSAGES})
    .returning(marks.c.value)
)

_writing = threading.Lock()


@dataclass(frozen=True, slots=True)
class Reach:
    """How far a database had come with what it sends.

    Attributes:
        sent_at: when it began the last message (UTC); None for never, or not known.
        clear_at: the last moment known at which nothing that was due was left (UTC); None where none is.
    """

    sent_at: datetime | None = None
    clear_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stamp:
    """How far a database has come.

    Attributes:
        generation: of which line it is.
        sendings: how many messages it has begun to send.
        sent_at: when it began the last of them (UTC); None for never.
        clear_at: the last moment known at which nothing that was due was left (UTC); None where none is.
        lost: the same of the database that this one is a copy of, as far as known.
        copied: the generation of that one as the copy had it; "" where this is no copy, or it is not known.
    """

    generation: str
    sendings: int = 0
    sent_at: datetime | None = None
    clear_at: datetime | None = None
    lost: Reach = Reach()
    copied: str = ""


def judge_copy(generation: str, sendings: int | None, stamp: Stamp | None, *, has_told: bool) -> str:
    """Say why a database must be taken for an older copy; "" where it is what it was.

    Args:
        generation: what it says itself.
        sendings: how many messages it has begun to send; None where it never counted.
        stamp: what the file beside it says; None where there is none.
        has_told: whether it ever made a digest.
    """
    if stamp is None:
        is_alone = sendings is not None
        return "the file that says how far it had come is not beside it" if is_alone else ""
    if stamp.generation != generation:
        return "it is not the database that last worked here" if has_told or sendings or stamp.sendings else ""
    if (sendings or 0) < stamp.sendings:
        behind = stamp.sendings - (sendings or 0)
        return f"{behind:,} message{'s' * (behind != 1)} more had been begun here than it knows of"
    return ""


def find_lost(generation: str, sendings: int, stamp: Stamp | None, *, is_said: bool) -> Reach:
    """Return how far the database that was lost had come, as the file tells; nothing where it may be another's.

    A snapshot of a whole machine, or what is left where a database was moved away, has a file as old as itself.

    Args:
        generation: what the copy says itself.
        sendings: how many messages it has begun to send.
        stamp: what the file beside it says; None where there is none.
        is_said: the operator says that this is a copy, and nothing else does.
    """
    if stamp is None:
        return Reach()
    is_further = stamp.sendings > sendings or (stamp.sendings == sendings and not is_said)
    if stamp.copied != generation and not (stamp.generation == generation and is_further):
        return Reach()
    return Reach(stamp.sent_at or stamp.lost.sent_at, stamp.clear_at or stamp.lost.clear_at)


def refuse_gone(path: Path) -> None:
    """Refuse to make a database anew where the file beside it says that one has worked: it would tell all again.

    Args:
        path: where it is to be made.

    Raises:
        StoreError: one that had sent something is gone.
    """
    path = path.resolve()
    stamp = read_stamp(path)
    if stamp is not None and stamp.sendings:
        raise StoreError(
            f"the database that worked here is gone: {path}",
            hint="Put a backup in its place: `digest restore FILE`. To begin anew, which tells everybody a first"
            f" look again, also who has left, remove {stamp_path(path)}.",
        )


def find_copy(conn: Connection, store: Store) -> str:
    """Say why a database must be taken for an older copy, "" where it is what it was; see `judge_copy`."""
    if store.path is None:
        return ""
    sendings = load_sendings(conn)
    has_told = bool(conn.execute(select(exists().select_from(digests))).scalar())
    return judge_copy(load_provenance(conn).generation, sendings, load_stamp(store), has_told=has_told)


def load_sendings(conn: Connection) -> int | None:
    """Return how many messages a database has begun to send; None where it never counted."""
    return conn.execute(select(marks.c.value).where(marks.c.name == SENDINGS)).scalar()


def begin_counting(store: Store) -> None:
    """Make the file and the count of a SQLite database where there are none yet; harmless when done again."""
    if store.path is None:
        return
    with store.read() as conn:
        generation = load_provenance(conn).generation
        sendings = load_sendings(conn)
    stamp = load_stamp(store)
    if stamp is None or stamp.generation != generation:
        # The file first: a count without a file would look like a copy.
        write_stamp(store, Stamp(generation, sendings or 0))
    if sendings is None:
        with store.begin() as conn:
            none = insert(conn, marks).on_conflict_do_nothing()
            conn.execute(none, {"name": SENDINGS, "value": 0})


def count_sending(conn: Connection, at: datetime, messages: int = 1) -> Stamp | None:
    """Count messages that are begun to be sent, in the transaction that records the intents.

    Returns:
        What the file must say before the network is touched (see `keep_stamp`); None on PostgreSQL, where
        there is no file, and one row that all replicas count in would make them wait for each other.
    """
    if conn.dialect.name != "sqlite":
        return None
    sendings = conn.execute(_COUNT, {"messages": messages}).scalar_one()
    return Stamp(load_provenance(conn).generation, sendings, at)


def keep_stamp(store: Store, stamp: Stamp | None) -> None:
    """Let the file say what was counted, unless it says more already.

    Raises:
        StoreError: it can't be written.
    """
    if stamp is None:
        return
    with _writing:
        before = load_stamp(store)
        if before is not None and before.generation == stamp.generation and before.sendings >= stamp.sendings:
            return
        if before is not None and before.generation == stamp.generation:
            stamp = replace(before, sendings=stamp.sendings, sent_at=stamp.sent_at)
        _write(store, stamp, is_lasting=False)


def note_clear(store: Store, generation: str, at: datetime) -> None:
    """Let the file say that nothing which was due by a moment (UTC) is left, unless it is another database's now.

    Raises:
        StoreError: it can't be written.
    """
    with _writing:
        before = load_stamp(store)
        if before is not None and before.generation == generation:
            _write(store, replace(before, clear_at=at), is_lasting=False)


def load_stamp(store: Store) -> Stamp | None:
    """Return what the file beside a database says; None where there is none, or it can't be read."""
    return None if store.path is None else read_stamp(store.path)


def read_stamp(database: Path) -> Stamp | None:
    """Return what the file beside a SQLite database says, whether or not that is there; see `load_stamp`."""
    try:
        said = json.loads(stamp_path(database).read_text(encoding="utf-8"))
        # The release before wrote less: what it does not say is not known.
        moments = {name: datetime.fromisoformat(said[name]) for name in _MOMENTS if said.get(name)}
        sent, clear, lost, lost_clear = (moments.get(name) for name in _MOMENTS)
        copied = str(said.get("copied", ""))
        return Stamp(str(said["generation"]), int(said["sendings"]), sent, clear, Reach(lost, lost_clear), copied)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_stamp(store: Store, stamp: Stamp) -> None:
    """Write the file beside a database anew, for good; nothing on PostgreSQL.

    Raises:
        StoreError: it can't be written.
    """
    if store.path is not None:
        with _writing:
            _write(store, stamp, is_lasting=True)


def stamp_path(database: Path) -> Path:
    """Return where the file beside a database is."""
    return database.with_name(database.name + ".stamp")


def _write(store: Store, stamp: Stamp, *, is_lasting: bool) -> None:
    assert store.path is not None  # noqa: S101 - asked by both callers
    moments = (stamp.sent_at, stamp.clear_at, stamp.lost.sent_at, stamp.lost.clear_at)
    said = {
        "generation": stamp.generation,
        "sendings": stamp.sendings,
        **{name: moment.isoformat() if moment else "" for name, moment in zip(_MOMENTS, moments, strict=True)},
        "copied": stamp.copied,
    }
    path = stamp_path(store.path)
    try:
        handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.pwrite(handle, json.dumps(said).ljust(_SIZE - 1).encode() + b"\n", 0)
            if is_lasting:
                os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise explain_file(f"the file {path} beside the database", error) from error
