"""The two files of the branch: `snapshot`, a database, and `journal`.

The journal says who may change the database, and what changed since the snapshot. Both files are
compressed, padded so that their length says little, and encrypted with AES-256-GCM. In front stand
a word that names the format, the generation (a number that grows with each push) and the nonce. The
file's name and the generation are authenticated with it: none can stand in for another.
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

JOURNAL = "journal"
SNAPSHOT = "snapshot"

LEASE = timedelta(minutes=60)
"""How long one run may work: the `timeout-minutes` of the workflow."""

MARGIN = timedelta(minutes=5)
"""How long after its end a lease still counts: clocks differ, and Slack shows late what it took."""

MOST_CHANGES = 60_000
"""Bytes of a journal; if more has changed, a snapshot is pushed."""

NONCE_BYTES = 12
_FORMAT = b"digest-state 1\n"
_NUMBER = 8
_STEPS = {JOURNAL: 4_096, SNAPSHOT: 65_536}
"""Lengths are padded to multiples of these."""


FOREIGN = (
    "Set DIGEST_STORE_STATE_KEY to the newest key of this repository. "
    "If it is lost, delete the branch and start new: `digest run --start-new`."
)

_STAYS = {"deliveries": ("body", "shared")}
"""Columns that stay at home, by table: the rendered bytes of messages are made again from the
frozen digest, and their `media_type` says that they were there."""

_AT_HOME = ("workers", "job_turns", "bodies", "words")
"""Tables that stay at home: the processes at work, which the other side could not ask anyway;
rendered bytes; and the words of texts: they can be read again, and packed as they are they would
half fill a push."""

_COLUMNS = """SELECT made.name, parts.name
FROM sqlite_schema AS made, pragma_table_info(made.name) AS parts WHERE made.type = 'table'"""


@dataclass(frozen=True, slots=True)
class Journal:
    """What is on the branch beside the snapshot.

    `generation` counts the pushes, and `snapshot` is the number of the one that brought the
    snapshot. `owner` is the run that has the lease, "" if none has; then `until` is the beginning
    of 1970. `changes` are statements of SQL that make today's database of the snapshot.
    """

    generation: int
    snapshot: int
    owner: str
    until: datetime
    changes: str

    def refuse_living(self, now: datetime, *, accepts_clock: bool) -> None:
        """Refuse, by `LeaseHeld`, to take a lease that somebody has."""
        if not self.owner:
            return
        is_ahead = now < self.until - LEASE - MARGIN
        if is_ahead and not accepts_clock:
            until = f"{self.until:%d %b %Y %H:%M} UTC"
            raise OutsideError(
                f"the run {self.owner} has this state until {until}: a clock is wrong",
                hint="Correct this machine's clock if it is behind. "
                "Else: `digest run --accept-clock`.",
            )
        is_living = now < self.until + MARGIN
        if is_living and not is_ahead:
            latest = write_with_zone(self.until + MARGIN, None, now)
            raise LeaseHeld(
                f"the run {self.owner} is at work on this state, at the latest until {latest}",
                hint="Call it again then, or once that run has ended.",
            )


def write_journal(journal: Journal) -> bytes:
    """Return a journal as bytes, to be sealed."""
    fields = asdict(journal)
    fields["until"] = journal.until.isoformat()
    return lzma.compress(json.dumps(fields).encode())


def read_journal(content: bytes) -> Journal:
    """Return a journal from its bytes."""
    fields = json.loads(lzma.decompress(content))
    fields["until"] = datetime.fromisoformat(fields["until"])
    return Journal(**fields)


def seal(key: bytes, name: str, generation: int, content: bytes, nonce: bytes) -> bytes:
    """Encrypt a file of the branch."""
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - few have a branch

    head = _FORMAT + generation.to_bytes(_NUMBER) + nonce
    measured = len(content).to_bytes(_NUMBER) + content
    step = _STEPS[name]
    steps = -(-len(measured) // step)  # rounded up
    padded = measured.ljust(steps * step, b"\0")
    return head + aead.AESGCM(key).encrypt(nonce, padded, _bind(name, generation))


def unseal(key: bytes, name: str, sealed: bytes) -> tuple[int, bytes]:
    """Decrypt a file of the branch; return its generation and content."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415 - as above

    if not sealed.startswith(_FORMAT):
        raise StoreError(f"the branch holds a {name} that this release can't read", hint=FOREIGN)
    rest = sealed[len(_FORMAT) :]
    generation = int.from_bytes(rest[:_NUMBER])
    nonce = rest[_NUMBER : _NUMBER + NONCE_BYTES]
    text = rest[_NUMBER + NONCE_BYTES :]
    try:
        padded = aead.AESGCM(key).decrypt(nonce, text, _bind(name, generation))
    except (InvalidTag, ValueError) as error:
        raise StoreError(
            "the state on the branch can't be decrypted: "
            "it was made with another key, or was changed",
            hint=FOREIGN,
        ) from error
    length = int.from_bytes(padded[:_NUMBER])
    return generation, padded[_NUMBER : _NUMBER + length]


def _bind(name: str, generation: int) -> bytes:
    return f"{name} {generation}".encode()


def copy_for_travel(path: Path, copy: Path) -> None:
    """Write a small copy of a database to a new file, without what stays at home."""
    try:
        with closing(sqlite3.connect(path)) as source:
            source.execute("VACUUM INTO ?", (str(copy),))
        with closing(sqlite3.connect(copy, isolation_level=None)) as made:
            columns = made.execute(_COLUMNS).fetchall()  # the release before had not all of them
            if not columns:
                raise sqlite3.DatabaseError("it has no tables")
            for table, column in columns:
                if column in _STAYS.get(table, ()):
                    made.execute(f"UPDATE {table} SET {column} = NULL")
            for table in {table for table, _ in columns}.intersection(_AT_HOME):
                made.execute(f"DELETE FROM {table}")
            made.execute("VACUUM")
    except sqlite3.Error as error:
        hint = "If it is not the database of your digests, move it away."
        raise StoreError(f"{path} can't be copied to the branch: {error}", hint=hint) from error


def write_differences(path: Path, base: Path) -> str | None:
    """Return the statements that make the database at a path of the copy `base`.

    Return None if their tables differ.
    """
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as conn:
        conn.execute("ATTACH ? AS base", (str(base),))
        conn.execute("BEGIN")
        tables = _list_tables(conn, "main")
        if tables != _list_tables(conn, "base"):
            return None
        statements: list[str] = []
        for name in tables:
            if name not in _AT_HOME:
                statements += _compare(conn, name)
    return "\n".join(statements)


def apply_differences(path: Path, changes: str) -> None:
    """Run statements that `write_differences` wrote, all or none."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA foreign_keys=OFF")
        conn.executescript(f"BEGIN;\n{changes}\nCOMMIT;")


def _list_tables(conn: sqlite3.Connection, schema: str) -> dict[str, str]:
    """Return each table with the statement that made it."""
    found = conn.execute(
        f"SELECT name, sql FROM {schema}.sqlite_schema WHERE type = 'table' ORDER BY name"
    )
    return {name: sql for name, sql in found if not name.startswith("sqlite_")}


def _compare(conn: sqlite3.Connection, table: str) -> Iterator[str]:
    """Yield a statement for each row of a table that is not in both databases.

    A row that changed is deleted by its key and inserted anew. A table without a key goes by all of
    its columns.
    """
    kept = []
    keys = []
    for _, name, _, _, _, place_in_key in conn.execute(f"PRAGMA main.table_info({table})"):
        if name not in _STAYS.get(table, ()):
            kept.append(f'"{name}"')
        if place_in_key:
            keys.append(f'"{name}"')
    columns = ", ".join(kept)
    here = f"SELECT {columns} FROM main.{table}"
    there = f"SELECT {columns} FROM base.{table}"
    condition = " || ' AND ' || ".join(f"'{name} = ' || quote({name})" for name in keys or kept)
    for (where,) in conn.execute(f"SELECT {condition} FROM ({there} EXCEPT {here})"):
        yield f"DELETE FROM {table} WHERE {where};"
    values = " || ', ' || ".join(f"quote({name})" for name in kept)
    for (row,) in conn.execute(f"SELECT {values} FROM ({here} EXCEPT {there})"):
        yield f"INSERT INTO {table} ({columns}) VALUES ({row});"
