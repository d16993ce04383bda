"""The two files of the branch: `snapshot`, a database, and `journal`, who may change it and what changed since.

Both are compressed, padded so that their length says little, and encrypted with AES-256-GCM. In front stand a word
that names the format, the generation (a number that grows with each push) and the nonce. The file's name and
the generation are authenticated with it: neither can be put in the place of another.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

from digest.model.clock import write_with_zone
from digest.model.errors import LeaseHeld, OutsideError, StoreError

JOURNAL, SNAPSHOT = "journal", "snapshot"

LEASE = timedelta(minutes=60)
"""How long one run may work: the `timeout-minutes` of the workflow."""

MARGIN = timedelta(minutes=5)
"""How long after its end a lease still counts, for clocks differ and Slack shows late what it took."""

MOST_CHANGES = 60_000
"""Bytes of a journal; if more has changed, a snapshot is pushed."""

NONCE_BYTES = 12
_FORMAT = b"digest-state 1\n"
_NUMBER = 8
_STEPS = {JOURNAL: 4_096, SNAPSHOT: 65_536}
"""Lengths are padded to multiples of these."""


FOREIGN = (
    "Set DIGEST_STORE_STATE_KEY to the newest key of this repository. If it is lost, delete the branch and"
    " start new: `digest run --start-new`."
)

_STAYS = {"deliveries": "body"}
"""Columns that stay at home, by table: the rendered bytes of messages are made again from the
frozen digest, and their `media_type` says that they were there."""

_AT_HOME = ("workers", "job_turns")
"""Tables that stay at home: the processes at work, which the other side could not ask anyway."""


@dataclass(frozen=True, slots=True)
class Journal:
    """What is on the branch beside the snapshot.

    `generation` counts the pushes, and `snapshot` is the number of the one that brought the snapshot. `owner` is
    the run that has the lease, "" if none has; then `until` is the beginning of 1970. `changes` are statements of
    SQL that make today's database of the snapshot.
    """

    generation: int
    snapshot: int
    owner: str
    until: datetime
    changes: str

    def refuse_living(self, now: datetime, *, accepts_clock: bool) -> None:
        """Refuse, by `LeaseHeld`, to take a lease that somebody has."""
        is_ahead = now < self.until - LEASE - MARGIN
        if self.owner and is_ahead and not accepts_clock:
            raise OutsideError(
                f"the run {self.owner} has this state until {self.until:%d %b %Y %H:%M} UTC: a clock is wrong",
                hint="Correct this machine's clock if it is behind. Else: `digest run --accept-clock`.",
            )
        if self.owner and not is_ahead and now < self.until + MARGIN:
            until = write_with_zone(self.until + MARGIN, None, now)
            raise LeaseHeld(
                f"the run {self.owner} is at work on this state, at the latest until {until}",
                hint="Call it again then, or once that run has ended.",
            )


def write_journal(journal: Journal) -> bytes:
    """Return a journal as bytes, to be sealed."""
    return lzma.compress(
        json.dumps(asdict(journal) | {"until": journal.until.isoformat()}).encode()
    )


def read_journal(content: bytes) -> Journal:
    """Return a journal from its bytes."""
    found = json.loads(lzma.decompress(content))
    return Journal(**(found | {"until": datetime.fromisoformat(found["until"])}))


def seal(key: bytes, name: str, generation: int, content: bytes, nonce: bytes) -> bytes:
    """Encrypt a file of the branch."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - for a state on a branch alone

    head = _FORMAT + generation.to_bytes(_NUMBER) + nonce
    told = len(content).to_bytes(_NUMBER) + content
    padded = told.ljust(-(-len(told) // _STEPS[name]) * _STEPS[name], b"\0")
    return head + AESGCM(key).encrypt(nonce, padded, _bind(name, generation))


def unseal(key: bytes, name: str, sealed: bytes) -> tuple[int, bytes]:
    """Decrypt a file of the branch; return its generation and content."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - as above

    if not sealed.startswith(_FORMAT):
        raise StoreError(f"the branch holds a {name} that this release can't read", hint=FOREIGN)
    rest = sealed[len(_FORMAT) :]
    number, nonce, text = (
        rest[:_NUMBER],
        rest[_NUMBER : _NUMBER + NONCE_BYTES],
        rest[_NUMBER + NONCE_BYTES :],
    )
    generation = int.from_bytes(number)
    try:
        told = AESGCM(key).decrypt(nonce, text, _bind(name, generation))
    except (InvalidTag, ValueError) as error:
        raise StoreError(
            "the state on the branch can't be decrypted: it was made with another key, or was changed",
            hint=FOREIGN,
        ) from error
    return generation, told[_NUMBER:][: int.from_bytes(told[:_NUMBER])]


def _bind(name: str, generation: int) -> bytes:
    return f"{name} {generation}".encode()


def copy_for_travel(path: Path, copy: Path) -> None:
    """Write a small copy of a database, without what stays at home, to a file that is not there yet."""
    try:
        with closing(sqlite3.connect(path)) as source:
            source.execute("VACUUM INTO ?", (str(copy),))
        with closing(sqlite3.connect(copy, isolation_level=None)) as made:
            for table in _AT_HOME:
                made.execute(f"DELETE FROM {table}")
            for table, column in _STAYS.items():
                made.execute(f"UPDATE {table} SET {column} = NULL")
            made.execute("VACUUM")
    except sqlite3.Error as error:
        hint = "If it is not the database of your digests, move it away."
        raise StoreError(f"{path} can't be copied to the branch: {error}", hint=hint) from error


def write_differences(path: Path, base: Path) -> str | None:
    """Return the statements that make the database at a path of the copy `base`; None if the tables differ."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as conn:
        conn.execute("ATTACH ? AS base", (str(base),))
        conn.execute("BEGIN")
        if _list_tables(conn, "main") != _list_tables(conn, "base"):
            return None
        return "\n".join(
            line for name in _list_tables(conn, "main") for line in _compare(conn, name)
        )


def apply_differences(path: Path, changes: str) -> None:
    """Run statements that `write_differences` wrote, all or none."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA foreign_keys=OFF")
        conn.executescript(f"BEGIN;\n{changes}\nCOMMIT;")


def _list_tables(conn: sqlite3.Connection, schema: str) -> dict[str, str]:
    """Return each table that travels, with the statement that made it."""
    found = conn.execute(
        f"SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table' ORDER BY name"
    )
    return {
        name: sql for name, sql in found if name not in _AT_HOME and not name.startswith("sqlite_")
    }


def _compare(conn: sqlite3.Connection, table: str) -> Iterator[str]:
    columns = [(row[1], row[5]) for row in conn.execute(f"PRAGMA main.table_info({table})")]
    kept = [f'"{name}"' for name, _ in columns if name != _STAYS.get(table)]
    keys = [f'"{name}"' for name, place in columns if place] or kept
    here, there = (f"SELECT {', '.join(kept)} FROM {schema}.{table}" for schema in ("main", "base"))
    where = " || ' AND ' || ".join(f"'{name} = ' || quote({name})" for name in keys)
    for (condition,) in conn.execute(f"SELECT {where} FROM ({there} EXCEPT {here})"):
        yield f"DELETE FROM {table} WHERE {condition};"
    values = " || ', ' || ".join(f"quote({name})" for name in kept)
    for (row,) in conn.execute(f"SELECT {values} FROM ({here} EXCEPT {there})"):
        yield f"INSERT INTO {table} ({', '.join(kept)}) VALUES ({row});"
