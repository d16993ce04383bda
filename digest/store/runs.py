"""Poll runs: what was asked of arXiv, what came, and how far a complete look reaches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from sqlalchemy import Connection


class RunOutcome(StrEnum):
    """How a run ended; `EMPTY` is complete too: arXiv was asked and had nothing."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class PollRun:
    """One look at arXiv.

    Attributes:
        id: its number.
        source: `harvest`, `query` or `first-look`.
        query_key: the canonical query, "" for a harvest.
        window_from: the first UTC day asked for; None where no window was.
        started_at: when it began (UTC).
        finished_at: when it ended (UTC); None while it runs.
        outcome: how it ended.
        pages: pages stored.
        papers: papers compared.
        total: how many papers arXiv said there are; None where it did not.
        new: papers never stored before.
        changed: papers that differ from what was stored.
        highest_id: the newest id met, "" where none was.
        is_bootstrap: the source's first look: nothing it found is news.
        mailing: Eastern date of the mailing it was to find; None where none was due.
        failure: why it is not complete, "" where it is.
    """

    id: int
    source: str
    query_key: str
    window_from: date | None
    started_at: datetime
    finished_at: datetime | None
    outcome: RunOutcome
    pages: int
    papers: int
    total: int | None
    new: int
    changed: int
    highest_id: str
    is_bootstrap: bool
    mailing: date | None
    failure: str

    @property
    def is_complete(self) -> bool:
        """Whether it looked at everything it asked for."""
        return self.outcome in (RunOutcome.COMPLETE, RunOutcome.EMPTY)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been looked through. A source never asked has the cursor of defaults.

    Attributes:
        source: see `PollRun`.
        query_key: see `PollRun`.
        complete_from: UTC day on which the last complete run started.
        last_complete_run_id: that run.
        last_complete_at: when that run started (UTC).
        mark_month: with `mark_number`, the announcement order of the newest paper at the first complete look.
        mark_number: see `mark_month`.
        is_bootstrapped: whether there was a complete look.
        bootstrapped_at: when the first complete look started (UTC).
    """

    source: str
    query_key: str = ""
    complete_from: date | None = None
    last_complete_run_id: int | None = None
    last_complete_at: datetime | None = None
    mark_month: int = 0
    mark_number: int = 0
    is_bootstrapped: bool = False
    bootstrapped_at: datetime | None = None


class SetAside(Protocol):
    """An entry that could not be read, as a parser hands it out."""

    @property
    def position(self) -> int:
        """Its place on the page, from 0."""
        ...

    @property
    def snippet(self) -> bytes:
        """Its beginning."""
        ...

    @property
    def error(self) -> str:
        """What is wrong with it."""
        ...


def start_run(
    conn: Connection,
    *,
    source: str,
    at: datetime,
    query_key: str = "",
    window_from: date | None = None,
    is_bootstrap: bool = False,
    mailing: date | None = None,
) -> int:
    """Begin a run; return its id."""
    raise NotImplementedError


def save_page(conn: Connection, run_id: int, *, number: int, url: str, at: datetime, body: bytes) -> None:
    """Keep a page as it came, and count it for its run.

    Args:
        conn: the transaction that stores what the page holds.
        run_id: its run.
        number: its place in the run, from 0.
        url: where it came from.
        at: when it was fetched (UTC).
        body: the bytes as they came.
    """
    raise NotImplementedError


def quarantine_entries(
    conn: Connection, run_id: int, page: int, entries: Iterable[SetAside], at: datetime
) -> None:
    """Set aside the entries of a page that could not be read."""
    raise NotImplementedError


def finish_run(
    conn: Connection,
    run_id: int,
    *,
    outcome: str,
    at: datetime,
    pages: int = 0,
    papers: int = 0,
    new: int = 0,
    changed: int = 0,
    total: int | None = None,
    highest_id: str = "",
    failure: str = "",
) -> bool:
    """End a run; return False where it had been given up meanwhile (see `abandon_running`)."""
    raise NotImplementedError


def load_cursor(conn: Connection, source: str, query_key: str = "") -> Cursor:
    """Return how far a source has been looked through."""
    raise NotImplementedError


def move_cursor(
    conn: Connection,
    *,
    source: str,
    run_id: int,
    started_at: datetime,
    query_key: str = "",
    mark: tuple[int, int] = (0, 0),
    gate_token: int | None = None,
) -> bool:
    """Record a complete run. A cursor only moves forward; its first move sets the mark, for good.

    Args:
        conn: the transaction that finishes the run.
        source: see `Cursor`.
        run_id: the complete run.
        started_at: when it began (UTC).
        query_key: see `Cursor`.
        mark: announcement order of the newest paper met; only the first complete look's counts.
        gate_token: the grant under which its last page came; None where no gate is kept.

    Returns:
        False, with nothing changed, where another process has taken over the gate since.
    """
    raise NotImplementedError


def last_runs(
    conn: Connection, source: str = "", limit: int = 10, *, query_key: str | None = None
) -> list[PollRun]:
    """Return the latest runs, newest first; of one source or query only where named."""
    raise NotImplementedError


def last_failure(conn: Connection, source: str, query_key: str = "") -> datetime | None:
    """Return when the latest run of a source failed (UTC); None where it did not fail."""
    raise NotImplementedError


def abandon_running(conn: Connection, at: datetime) -> int:
    """Fail the runs that a process left unfinished when it died; return how many.

    Only for a process that knows itself alone (see `hold_worker`).
    """
    raise NotImplementedError


def log_request(
    conn: Connection,
    *,
    at: datetime,
    method: str,
    url: str,
    status: int | None,
    milliseconds: int,
    size: int,
    sha256: str,
    outcome: str,
    detail: str = "",
) -> None:
    """Keep one request to arXiv: when, what, and how it was answered."""
    raise NotImplementedError
