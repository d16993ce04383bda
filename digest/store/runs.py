"""Poll runs: what arXiv was asked, what it answered, and how far each source was checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
    true,
    update,
)

from digest.model.papers import ArxivId
from digest.model.polls import LastChecks, PollSummary, RequestLog, RunOutcome, Source
from digest.model.said import Said, Saying
from digest.store.dialect import dialect_insert, in_chunks
from digest.store.gate import is_current
from digest.store.papers import MATCHED, STORED, load_mark
from digest.store.schema import cursors, poll_runs, quarantine, requests
from digest.store.workers import is_living

_NAMED = re.compile(rb"(?:oai:arXiv\.org:|arxiv\.org/abs/)([!-;=-~]{1,40}?)(?:v\d+)?<")

ABANDONED = Said.of(Saying.CHECK_ABANDONED)
"""The failure of a run whose process died: it says nothing of arXiv, so nobody need wait because of it."""

_COMPLETE = (RunOutcome.COMPLETE, RunOutcome.EMPTY)
_FAILED = (RunOutcome.FAILED, RunOutcome.PARTIAL)
_FAILURES_COUNTED = 12
"""More in a row make no difference to anybody."""

_RECENT = timedelta(days=4)
"""Reaches back over a long weekend without announcements."""


def quarantine_entries(
    conn: Connection,
    run_id: int,
    page: int,
    entries: Iterable[tuple[int, str, bytes]],
    at: datetime,
    *,
    readable: Iterable[ArxivId] = (),
) -> None:
    """Set aside entries that could not be read: their place on the page, what is wrong, and their beginning.

    Each is there once, by the id in it or else by its bytes, until it is among those that could be read.
    """
    rows = {}
    for place, error, snippet in entries:
        found = _NAMED.search(snippet)
        name = found[1].decode() if found else sha256(snippet).hexdigest()
        rows[name] = {"position": place, "error": error, "snippet": snippet, "name": name}
    for chunk in in_chunks([*map(str, readable), *rows]):
        conn.execute(delete(quarantine).where(quarantine.c.name.in_(chunk)))
    if rows:
        conn.execute(
            insert(quarantine).values(run_id=run_id, page=page, seen_at=at), [*rows.values()]
        )


def log_request(conn: Connection, request: Mapping[str, object]) -> None:
    """Keep one request to arXiv: when, what, and how it was answered."""
    conn.execute(insert(requests), request)


@dataclass(frozen=True, slots=True)
class PollRun:
    """One check of arXiv.

    Attributes:
        source: `harvest`, `query` or `first-digest`.
        window_from: the first UTC day asked for; None if no window was.
        total: how many papers arXiv said there are; None if it did not.
        new: papers announced for the first time; none in a source's first check.
        is_bootstrap: the source's first check: nothing it found is new.
        failure: why it is not complete, nothing if it is; `reader_message` says it to readers.
        lookback: days it was to reach back after the last complete check, or before its own start.
        next_token: asks for the page after the last one stored; "" if there is none.
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
    failure: Said
    requests: int = 0
    lookback: int = 0
    next_token: str = ""
    reader_message: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it got everything it asked for."""
        return self.outcome in _COMPLETE

    @property
    def has_failed(self) -> bool:
        """Whether it ended before it had seen everything."""
        return self.outcome in (RunOutcome.FAILED, RunOutcome.PARTIAL)


def start_run(
    conn: Connection,
    *,
    source: str,
    at: datetime,
    query_key: str = "",
    **begun: Any,  # noqa: ANN401 - any column's
) -> int:
    """Begin a run; return its id.

    `owner` is the worker whose signs of life keep it; for the other columns see `PollRun`.
    """
    row = {
        "source": source,
        "started_at": at,
        "query_key": query_key,
        "outcome": RunOutcome.RUNNING,
    }
    begin = insert(poll_runs).values(row | begun)
    return int(conn.execute(begin.returning(poll_runs.c.id)).scalar_one())


def note_progress(conn: Connection, run_id: int, **figures: Any) -> None:  # noqa: ANN401 - any column's
    """Keep how far a run has come, in the transaction that stores its page; figures are sums so far."""
    conn.execute(update(poll_runs).where(poll_runs.c.id == run_id).values(**figures))


def finish_run(
    conn: Connection,
    run_id: int,
    *,
    outcome: str,
    at: datetime,
    **figures: Any,  # noqa: ANN401 - any column's
) -> bool:
    """End a run, with the figures of `PollRun`; return False if it had been given up meanwhile."""
    finish = (
        update(poll_runs)
        .where(poll_runs.c.id == run_id, poll_runs.c.outcome == RunOutcome.RUNNING)
        .values(finished_at=at, outcome=RunOutcome(outcome), **figures)
    )
    return conn.execute(finish).rowcount == 1


def load_last_runs(conn: Connection, source: str | None = None, limit: int = 10) -> list[PollRun]:
    """Return the latest runs, newest first; of one source only if it is named."""
    columns = (poll_runs.c[name] for name in PollRun.__dataclass_fields__)
    found = select(*columns).order_by(poll_runs.c.id.desc()).limit(limit)
    if source is not None:
        found = found.where(poll_runs.c.source == source)
    return [
        PollRun(**{**row, "outcome": RunOutcome(row["outcome"])})
        for row in conn.execute(found).mappings()
    ]


def load_first_start(conn: Connection) -> datetime | None:
    """Return when arXiv was first asked, with or without success (UTC); None for never."""
    return conn.execute(select(poll_runs.c.started_at).order_by(poll_runs.c.id).limit(1)).scalar()


def load_last_start(conn: Connection) -> datetime | None:
    """Return when arXiv was asked last, with or without success (UTC); None for never."""
    return conn.execute(
        select(poll_runs.c.started_at).order_by(poll_runs.c.id.desc()).limit(1)
    ).scalar()


def load_last_check(conn: Connection) -> int:
    """Return the number of the last check of arXiv that has ended, well or not; 0 for none.

    While what it found is not matched, it counts as under way.
    """
    if load_mark(conn, MATCHED) < load_mark(conn, STORED):
        return 0
    ended = poll_runs.c.finished_at.is_not(None)
    newest = select(poll_runs.c.id).where(ended).order_by(poll_runs.c.id.desc()).limit(1)
    return int(conn.execute(newest).scalar() or 0)


def load_recent_polls(conn: Connection, source: str, now: datetime) -> list[PollSummary]:
    """Return the finished runs of a source of the last four days.

    After a longer pause also those since the last complete one, which shows how far arXiv had come by then.
    """
    before = select(func.max(poll_runs.c.finished_at)).where(
        poll_runs.c.source == source,
        poll_runs.c.outcome.in_(_COMPLETE),
        poll_runs.c.finished_at < now - _RECENT,
    )
    return load_polls_since(conn, source, conn.execute(before).scalar() or now - _RECENT)


def load_polls_since(conn: Connection, source: str, since: datetime) -> list[PollSummary]:
    """Return the runs of a source that have finished since a moment (UTC), oldest first."""
    found = select(poll_runs).where(poll_runs.c.source == source, poll_runs.c.finished_at >= since)
    return [
        PollSummary(
            source=row.source,
            started_at=row.started_at,
            finished_at=row.finished_at,
            is_complete=row.outcome in _COMPLETE,
            papers=row.papers,
            failure=row.failure,
            reader_message=row.reader_message,
            highest=ArxivId.parse(row.highest_id).announcement_order if row.highest_id else (0, 0),
        )
        for row in conn.execute(found.order_by(poll_runs.c.id))
    ]


def load_last_reaching(conn: Connection, source: str, lookback: int) -> datetime | None:
    """Return when the last complete run started (UTC) that reached back that many days or more."""
    latest = select(func.max(poll_runs.c.started_at)).where(
        poll_runs.c.source == source,
        poll_runs.c.outcome.in_(_COMPLETE),
        poll_runs.c.lookback >= lookback,
    )
    return conn.execute(latest).scalar()


def load_last_total(conn: Connection, source: str) -> int | None:
    """Return how many papers arXiv said there were at the last complete check; None if it never did."""
    latest = (
        select(poll_runs.c.total)
        .where(poll_runs.c.source == source, poll_runs.c.outcome.in_(_COMPLETE))
        .order_by(poll_runs.c.id.desc())
        .limit(1)
    )
    return conn.execute(latest).scalar()


def load_last_checks(conn: Connection, source: str) -> LastChecks:
    """Return when a source was last checked, and the outcome.

    Runs whose process died do not count, nor do those that failed during a pause, without a request.
    New papers of a search do not count: a second check soon after would prove nothing.
    """
    ended = (
        select(
            poll_runs.c.outcome, poll_runs.c.finished_at, poll_runs.c.new, poll_runs.c.is_bootstrap
        )
        .where(
            poll_runs.c.source == source,
            poll_runs.c.finished_at.is_not(None),
            poll_runs.c.failure != ABANDONED,
            or_(poll_runs.c.outcome.not_in(_FAILED), poll_runs.c.requests > 0),
        )
        .order_by(poll_runs.c.id.desc())
        .limit(_FAILURES_COUNTED)
    )
    rows = conn.execute(ended).all()
    failed = list(takewhile(lambda row: row.outcome in _FAILED, rows))
    complete = rows[len(failed)] if len(failed) < len(rows) else None
    brought_news = (
        source == Source.HARVEST
        and complete is not None
        and complete.new > 0
        and not complete.is_bootstrap
    )
    return LastChecks(
        complete=load_cursor(conn, source).last_complete_at,
        failure=failed[0].finished_at if failed else None,
        failures=len(failed),
        news=complete.finished_at if complete is not None and brought_news else None,
    )


def abandon_running(conn: Connection, at: datetime) -> int:
    """Fail the runs that a process left unfinished when it died; return how many.

    On SQLite the caller knows itself alone (see `lock_worker`). On PostgreSQL a run is left to its worker for
    as long as that gives signs of life, also between two requests.
    """
    is_left: ColumnElement[bool] = true()
    if conn.dialect.name == "postgresql":
        is_left = not_(is_living(poll_runs.c.owner))
    abandon = (
        update(poll_runs)
        .where(poll_runs.c.outcome == RunOutcome.RUNNING, is_left)
        .values(outcome=RunOutcome.FAILED, finished_at=at, failure=ABANDONED)
    )
    return conn.execute(abandon).rowcount


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been checked. A source never asked has the cursor of defaults.

    `last_complete_at` and `bootstrapped_at`, of the first, are when those checks started (UTC). `mark_month` and
    `mark_number` are the announcement order of the newest paper at the first.
    """

    source: str
    query_key: str = ""
    last_complete_run_id: int | None = None
    last_complete_at: datetime | None = None
    mark_month: int = 0
    mark_number: int = 0
    bootstrapped_at: datetime | None = None

    @property
    def complete_from(self) -> date | None:
        """UTC day on which the last complete run started."""
        return self.last_complete_at.date() if self.last_complete_at else None

    @property
    def is_bootstrapped(self) -> bool:
        """Whether there was a complete check."""
        return self.bootstrapped_at is not None


def load_cursor(conn: Connection, source: str) -> Cursor:
    """Return how far a source has been checked."""
    return load_cursors(conn, source).get("", Cursor(source))


def load_cursors(conn: Connection, source: str) -> dict[str, Cursor]:
    """Return how far a source has been checked, by query; queries it was never asked for are missing."""
    rows = conn.execute(select(cursors).where(cursors.c.source == source)).mappings()
    return {row["query_key"]: Cursor(**row) for row in rows}


def move_cursor(
    conn: Connection,
    *,
    source: str,
    run_id: int,
    started_at: datetime,
    query_key: str = "",
    mark: tuple[int, int] = (0, 0),
    gate_token: int | None = None,
    begins: bool = False,
) -> bool:
    """Record a complete run. A cursor only moves forward; its first move sets the mark, for good.

    `mark` is the announcement order of the newest paper met; only the first complete check's counts. If it
    `begins`, this counts as the first, also if there was a cursor long ago. Return False, with nothing changed, if
    a later run was recorded, or the gate has another holder than that of `gate_token` since.
    """
    if gate_token is not None and not is_current(conn, gate_token):
        return False
    beginning = {"mark_month": mark[0], "mark_number": mark[1], "bootstrapped_at": started_at}
    first = dialect_insert(conn, cursors).values(source=source, query_key=query_key, **beginning)
    if begins:
        first = first.on_conflict_do_update(
            index_elements=["source", "query_key"], set_=beginning, where=_is_older(started_at)
        )
    else:
        first = first.on_conflict_do_nothing(index_elements=["source", "query_key"])
    conn.execute(first)
    forward = (
        update(cursors)
        .where(cursors.c.source == source, cursors.c.query_key == query_key, _is_older(started_at))
        .values(last_complete_run_id=run_id, last_complete_at=started_at)
    )
    return conn.execute(forward).rowcount == 1


def _is_older(started_at: datetime) -> ColumnElement[bool]:
    last = cursors.c.last_complete_at
    return last.is_(None) | (last <= started_at)


def count_requests(conn: Connection, since: datetime) -> int:
    """Return how many requests to arXiv were made since a moment."""
    return int(conn.execute(select(func.count()).where(requests.c.at >= since)).scalar_one())


@dataclass(frozen=True, slots=True)
class SetAside:
    """An entry of arXiv's pages that could not be read: its place, why, and its first bytes."""

    run_id: int
    page: int
    position: int
    error: str
    snippet: bytes
    seen_at: datetime


def load_requests(conn: Connection, limit: int) -> list[RequestLog]:
    """Return the latest requests to arXiv, newest first."""
    columns = (requests.c[name] for name in RequestLog.__dataclass_fields__)
    latest = select(*columns).order_by(requests.c.id.desc()).limit(limit)
    return [RequestLog(*row) for row in conn.execute(latest)]


def load_quarantined(conn: Connection, limit: int) -> list[SetAside]:
    """Return the entries set aside last, newest first."""
    columns = (quarantine.c[name] for name in SetAside.__dataclass_fields__)
    latest = select(*columns).order_by(quarantine.c.id.desc()).limit(limit)
    return [SetAside(*row) for row in conn.execute(latest)]


def count_quarantined(conn: Connection, since: datetime | None = None) -> int:
    """Return how many entries from arXiv were set aside as unreadable, ever or since a moment."""
    found = select(func.count()).select_from(quarantine)
    if since is not None:
        found = found.where(quarantine.c.seen_at >= since)
    return int(conn.execute(found).scalar_one())
