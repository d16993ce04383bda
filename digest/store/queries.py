"""Saved queries and their revisions: another text is another revision, and the old one stays readable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.matching import ActiveRevision
    from digest.messages import DayCount


@dataclass(frozen=True, slots=True)
class SyncReport:
    """Names of what was added (or came back), edited and ended."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A saved query as stored, with its present revision.

    Attributes:
        id: its key.
        name: unique within `origin`.
        origin: `file` or `store`.
        is_active: False once it ended.
        text: as written.
        canonical: as printed; "" where it can't be read.
        problem: why it can't be read, "" where it can.
        revision: counts the texts it had, from 1.
        created_at: when it was first stored (UTC).
    """

    id: int
    name: str
    origin: str
    is_active: bool
    text: str
    canonical: str
    problem: str
    revision: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class QueryHistory:
    """What one match run meant to one saved query, as change ids in growing order."""

    match_run_id: int
    matched_at: datetime
    revision: int
    new: tuple[int, ...]
    changed: tuple[int, ...]
    gone: tuple[int, ...]


def sync_queries(
    conn: Connection, queries: Mapping[str, tuple[str, str, str]], origin: str, at: datetime
) -> SyncReport:
    """Make the saved queries of an origin exactly these; doing it twice changes nothing.

    A new query starts after the last stored change. An edited one goes on where matching stands, so
    no change falls between two revisions.

    Args:
        conn: a writing transaction.
        queries: name → (text as written, canonical text, problem or "").
        origin: `Origin` as text.
        at: the moment (UTC).
    """
    raise NotImplementedError


def active_revisions(conn: Connection) -> list[ActiveRevision]:
    """Return every saved query in force that can be read, by name."""
    raise NotImplementedError


def load_queries(conn: Connection, *, include_ended: bool = False) -> list[StoredQuery]:
    """Return the saved queries by name."""
    raise NotImplementedError


def query_history(conn: Connection, name: str, limit: int = 20) -> list[QueryHistory]:
    """Return what the latest match runs brought for a saved query, newest first; those without news are left out.

    Raises:
        UnknownName: no saved query has this name.
    """
    raise NotImplementedError


def query_counts(conn: Connection, name: str, since: datetime) -> list[DayCount]:
    """Return how many papers entered a saved query per UTC day since a moment, days without any left out."""
    raise NotImplementedError
