"""What the product's database says after a battery, read without the product's code."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.battery.month_oracle import State


@dataclass(frozen=True)
class StoredChange:
    """A change as the product keeps it."""

    id: int
    kind: str
    state: State
    found_at: datetime


@dataclass(frozen=True)
class Book:
    """What the product's database says, read without the product's code.

    Attributes:
        changes: of each paper, oldest first.
        first_seen: when each paper was stored.
        looks: begin and end of each complete harvest.
        outcomes: how many looks ended how.
        digests: as frozen, oldest first.
        waiting: subscription and change, for each that waits for the next digest.
    """

    changes: dict[str, list[StoredChange]]
    first_seen: dict[str, datetime]
    looks: list[tuple[datetime, datetime]]
    outcomes: Counter[str]
    digests: list[Told]
    waiting: frozenset[tuple[str, int]]


class Entry(NamedTuple):
    """A paper in a digest: its id, and the version and the kind it is told as."""

    paper: str
    version: int
    kind: str


@dataclass(frozen=True)
class Told:
    """A digest as frozen."""

    subscription: str
    slot: str
    occasion: str
    planned_at: datetime
    announcement: str
    is_complete: bool
    papers: tuple[Entry, ...]

    @property
    def is_scheduled(self) -> bool:
        """Whether it was due; a first look is not."""
        return self.occasion == "scheduled"

    def __str__(self) -> str:
        when = f"{self.planned_at:%Y-%m-%d %H:%M}Z on announcement {self.announcement}"
        return f"{self.subscription} {self.slot} planned {when}"


def read_book(database: Path) -> Book:
    """Read a database that no process has open any more."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as conn:
        versions = {
            row[0]: (row[1], State(row[2], frozenset(row[3].split()), bool(row[4]), row[5]))
            for row in conn.execute(
                "SELECT versions.id, arxiv_id, version, categories, is_withdrawn, journal_ref"
                " FROM versions JOIN papers ON papers.id = paper_id"
            )
        }
        changes: dict[str, list[StoredChange]] = {}
        for key, version, kind, found_at in conn.execute(
            "SELECT id, version_id, kind, found_at FROM changes"
            " WHERE fields NOT IN ('license', 'report_no', 'report_no license') ORDER BY id"
        ):
            paper_id, state = versions[version]
            changes.setdefault(paper_id, []).append(StoredChange(key, kind, state, _read_moment(found_at)))
        first_seen = {
            paper_id: _read_moment(at)
            for paper_id, at in conn.execute(
                "SELECT arxiv_id, min(found_at) FROM changes JOIN papers ON papers.id = paper_id GROUP BY arxiv_id"
            )
        }
        ran = list(conn.execute("SELECT source, outcome, started_at, finished_at FROM poll_runs ORDER BY id"))
        looks = [
            (_read_moment(begun), _read_moment(ended))
            for source, outcome, begun, ended in ran
            if source == "harvest" and outcome in ("complete", "empty")
        ]
        outcomes = Counter(f"{source}: {outcome}" for source, outcome, _, _ in ran)
        digests = [
            _read_digest(row, versions)
            for row in conn.execute(
                "SELECT name, slot, occasion, planned_at, content FROM digests"
                " JOIN subscriptions ON subscriptions.id = subscription_id ORDER BY digests.id"
            )
        ]
        rows = conn.execute(
            "SELECT name, changes FROM matches JOIN subscriptions ON id = subscription_id WHERE digest_id IS NULL"
        )
        waiting = frozenset((name, key) for name, blob in rows for (key,) in struct.iter_unpack("<q", blob))
    return Book(changes, first_seen, looks, outcomes, digests, waiting)


def _read_digest(row: tuple[str, str, str, str, str], versions: dict[int, tuple[str, State]]) -> Told:
    name, slot, occasion, planned_at, content = row
    frozen = json.loads(content)
    return Told(
        subscription=name,
        slot=slot,
        occasion=occasion,
        planned_at=_read_moment(planned_at),
        announcement=frozen["coverage"]["announcement"] or "",
        is_complete=frozen["coverage"]["is_complete"],
        papers=tuple(
            Entry(paper, state.version, entry["kind"])
            for entry in frozen["entries"]
            for paper, state in [versions[entry["text"]]]
        ),
    )


def _read_moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
