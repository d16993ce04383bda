"""Poll runs: what arXiv was asked, what it answered, and how far each source was checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from hashlib import sha256
from itertools import takewhile
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    delete,
    func,
    insert,
    not_,
    or_,
    select,
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
"""The failure of a run whose process died.

It says nothing of arXiv, so nobody need wait because of it.
"""

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
    """Set aside entries that could not be read: their place on the page, what is wrong, the start.

    Each is there once, by the id in it or else by its bytes, until it is among those that could be
    read.
    """
    rows = {}
    for place, error, snippet in entries:
        name = _name_entry(snippet)
        rows[name] = {"position": place, "error": error, "snippet": snippet, "name": name}
    seen_again = [*map(str, readable), *rows]
    for chunk in in_chunks(seen_again):
        conn.execute(delete(quarantine).where(quarantine.c.name.in_(chunk)))
    if rows:
        set_aside = insert(quarantine).values(run_id=run_id, page=page, seen_at=at)
        conn.execute(set_aside, list(rows.values()))


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
        return self.outcome in _FAILED


def _name_entry(snippet: bytes) -> str:
    """Return the id in an entry that can't be read, or else the hash of its bytes."""
    found = _NAMED.search(snippet)
    if found:
        return found[1].decode()
    return sha256(snippet).hexdigest()


def start(
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
    row = {"source": source, "query_key": query_key, "started_at": at}
    row["outcome"] = RunOutcome.RUNNING
    begin = insert(poll_runs).values(row | begun)
    return int(conn.execute(begin.returning(poll_runs.c.id)).scalar_one())


def note_progress(
    conn: Connection,
    run_id: int,
    **figures: Any,  # noqa: ANN401 - any column's
) -> None:
    """Keep how far a run has come, in the transaction that stores its page.

    Figures are sums so far.
    """
    progress = update(poll_runs).where(poll_runs.c.id == run_id)
    conn.execute(progress.values(**figures))


def finish(
    conn: Connection,
    run_id: int,
    *,
    outcome: str,
    at: datetime,
    **figures: Any,  # noqa: ANN401 - any column's
) -> bool:
    """End a run, with the figures of `PollRun`; return False if it had been given up meanwhile."""
    run = poll_runs.c
    finish = update(poll_runs).where(run.id == run_id, run.outcome == RunOutcome.RUNNING)
    ended = {"finished_at": at, "outcome": RunOutcome(outcome)}
    return conn.execute(finish.values(ended | figures)).rowcount == 1


def _select_latest(table: Table, read_as: type, limit: int) -> Select[tuple[Any, ...]]:
    """Return the query for the last rows of a table, as a dataclass with its columns reads them."""
    columns = [table.c[field.name] for field in fields(read_as)]
    newest_first = select(*columns).order_by(table.c.id.desc())
    return newest_first.limit(limit)


def load_last(conn: Connection, source: str | None = None, limit: int = 10) -> list[PollRun]:
    """Return the latest runs, newest first; of one source only if it is named."""
    found = _select_latest(poll_runs, PollRun, limit)
    if source is not None:
        found = found.where(poll_runs.c.source == source)
    runs = []
    for row in conn.execute(found).mappings():
        outcome = RunOutcome(row["outcome"])
        runs.append(PollRun(**{**row, "outcome": outcome}))
    return runs


def load_first_start(conn: Connection) -> datetime | None:
    """Return when arXiv was first asked, with or without success (UTC); None for never."""
    run = poll_runs.c
    earliest_first = select(run.started_at).order_by(run.id)
    return conn.execute(earliest_first.limit(1)).scalar()


def load_last_start(conn: Connection) -> datetime | None:
    """Return when arXiv was asked last, with or without success (UTC); None for never."""
    run = poll_runs.c
    latest_first = select(run.started_at).order_by(run.id.desc())
    return conn.execute(latest_first.limit(1)).scalar()


def load_last_check(conn: Connection) -> int:
    """Return the number of the last check of arXiv that has ended, well or not; 0 for none.

    While what it found is not matched, it counts as under way.
    """
    stored = load_mark(conn, STORED)
    matched = load_mark(conn, MATCHED)
    if matched < stored:
        return 0
    run = poll_runs.c
    ended = select(run.id).where(run.finished_at.is_not(None))
    newest_first = ended.order_by(run.id.desc())
    return int(conn.execute(newest_first.limit(1)).scalar() or 0)


def _is_complete(source: str) -> ColumnElement[bool]:
    """Whether a run is a complete check of a source."""
    return and_(poll_runs.c.source == source, poll_runs.c.outcome.in_(_COMPLETE))


def load_recent_polls(conn: Connection, source: str, now: datetime) -> list[PollSummary]:
    """Return the finished runs of a source of the last four days.

    After a longer pause also those since the last complete one, which shows how far arXiv had come
    by then.
    """
    finished_at = poll_runs.c.finished_at
    is_old = finished_at < now - _RECENT
    before = select(func.max(finished_at)).where(_is_complete(source), is_old)
    since = conn.execute(before).scalar() or now - _RECENT
    return load_polls_since(conn, source, since)


def load_polls_since(conn: Connection, source: str, since: datetime) -> list[PollSummary]:
    """Return the runs of a source that have finished since a moment (UTC), oldest first."""
    run = poll_runs.c
    found = select(poll_runs).where(run.source == source, run.finished_at >= since)
    oldest_first = found.order_by(run.id)
    return [_summarize(row) for row in conn.execute(oldest_first)]


def _summarize(row: Row[Any]) -> PollSummary:
    highest = (0, 0)
    if row.highest_id:
        highest = ArxivId.parse(row.highest_id).announcement_order
    return PollSummary(
        source=row.source,
        started_at=row.started_at,
        finished_at=row.finished_at,
        is_complete=row.outcome in _COMPLETE,
        papers=row.papers,
        failure=row.failure,
        reader_message=row.reader_message,
        highest=highest,
    )


def load_last_reaching(conn: Connection, source: str, lookback: int) -> datetime | None:
    """Return when the last complete run started (UTC) that reached back that many days or more."""
    run = poll_runs.c
    found = select(func.max(run.started_at)).where(_is_complete(source))
    latest = found.where(run.lookback >= lookback)
    return conn.execute(latest).scalar()


def load_last_total(conn: Connection, source: str) -> int | None:
    """Return how many papers arXiv said there were at the last complete check.

    None if it never did.
    """
    run = poll_runs.c
    complete = select(run.total).where(_is_complete(source))
    newest_first = complete.order_by(run.id.desc())
    return conn.execute(newest_first.limit(1)).scalar()


def load_last_checks(conn: Connection, source: str) -> LastChecks:
    """Return when a source was last checked, and the outcome.

    Runs whose process died do not count, nor do those that failed during a pause, without a
    request. New papers of a search do not count: a second check soon after would prove nothing.
    """
    rows = _load_last_ended(conn, source)
    failed = list(takewhile(_has_failed, rows))
    failure = failed[0].finished_at if failed else None
    news = None
    if len(failed) < len(rows):
        complete = rows[len(failed)]
        brought_news = complete.new > 0 and not complete.is_bootstrap
        if source == Source.HARVEST and brought_news:
            news = complete.finished_at
    last_complete = load_cursor(conn, source).last_complete_at
    return LastChecks(complete=last_complete, failure=failure, failures=len(failed), news=news)


def _load_last_ended(conn: Connection, source: str) -> Sequence[Any]:
    """Return the last runs of a source that say something of arXiv, newest first."""
    run = poll_runs.c
    has_ended = and_(run.finished_at.is_not(None), run.failure != ABANDONED)
    asked_arxiv = or_(run.outcome.not_in(_FAILED), run.requests > 0)
    found = select(run.outcome, run.finished_at, run.new, run.is_bootstrap)
    of_source = found.where(run.source == source, has_ended, asked_arxiv)
    newest_first = of_source.order_by(run.id.desc())
    return conn.execute(newest_first.limit(_FAILURES_COUNTED)).all()


def _has_failed(row: Row[Any]) -> bool:
    return row.outcome in _FAILED


def abandon_running(conn: Connection, at: datetime) -> int:
    """Fail the runs that a process left unfinished when it died; return how many.

    On SQLite the caller knows itself alone (see `lock_worker`). On PostgreSQL a run is left to its
    worker for as long as that gives signs of life, also between two requests.
    """
    run = poll_runs.c
    abandon = update(poll_runs).where(run.outcome == RunOutcome.RUNNING)
    if conn.dialect.name == "postgresql":
        abandon = abandon.where(not_(is_living(run.owner)))
    ended = {"outcome": RunOutcome.FAILED, "finished_at": at, "failure": ABANDONED}
    return conn.execute(abandon.values(ended)).rowcount


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a source has been checked. A source never asked has the cursor of defaults.

    `last_complete_at` and `bootstrapped_at`, of the first, are when those checks started (UTC).
    `mark_month` and `mark_number` are the announcement order of the newest paper at the first.
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
    """Return how far a source has been checked, by query.

    Queries it was never asked for are missing.
    """
    found = select(cursors).where(cursors.c.source == source)
    rows = conn.execute(found).mappings()
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

    `mark` is the announcement order of the newest paper met; only the first complete check's
    counts. If it `begins`, this counts as the first, also if there was a cursor long ago. Return
    False, with nothing changed, if a later run was recorded, or the gate has another holder than
    that of `gate_token` since.
    """
    if gate_token is not None and not is_current(conn, gate_token):
        return False
    month, number = mark
    beginning = {"mark_month": month, "mark_number": number, "bootstrapped_at": started_at}
    key = {"source": source, "query_key": query_key}
    last_start = cursors.c.last_complete_at
    is_older = last_start.is_(None) | (last_start <= started_at)
    first = dialect_insert(conn, cursors).values(key | beginning)
    if begins:
        first = first.on_conflict_do_update(
            index_elements=list(key), set_=beginning, where=is_older
        )
    else:
        first = first.on_conflict_do_nothing(index_elements=list(key))
    conn.execute(first)
    is_its_own = and_(cursors.c.source == source, cursors.c.query_key == query_key)
    forward = update(cursors).where(is_its_own, is_older)
    moved = forward.values(last_complete_run_id=run_id, last_complete_at=started_at)
    return conn.execute(moved).rowcount == 1


def count_requests(conn: Connection, since: datetime) -> int:
    """Return how many requests to arXiv were made since a moment."""
    recent = select(func.count()).where(requests.c.at >= since)
    number = conn.execute(recent).scalar_one()
    return int(number)


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
    latest = _select_latest(requests, RequestLog, limit)
    return [RequestLog(*row) for row in conn.execute(latest)]


def load_quarantined(conn: Connection, limit: int) -> list[SetAside]:
    """Return the entries set aside last, newest first."""
    latest = _select_latest(quarantine, SetAside, limit)
    return [SetAside(*row) for row in conn.execute(latest)]


def count_quarantined(conn: Connection, since: datetime | None = None) -> int:
    """Return how many entries from arXiv were set aside as unreadable, ever or since a moment."""
    found = select(func.count()).select_from(quarantine)
    if since is not None:
        found = found.where(quarantine.c.seen_at >= since)
    return int(conn.execute(found).scalar_one())
