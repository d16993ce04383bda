"""Poll runs: what was asked of arXiv, when, how it ended, and the pages it brought."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import func, insert, not_, or_, select, true, update

from digest.model.papers import ArxivId
from digest.model.polls import LastLooks, PollSummary, Source
from digest.store.coverage import load_cursor
from digest.store.gate import was_used
from digest.store.schema import poll_runs, quarantine, raw_pages, requests
from digest.store.workers import GONE_AFTER, is_living

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from datetime import date

    from sqlalchemy import ColumnElement, Connection, Row


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


class Requested(Protocol):
    """One request to arXiv as the client reports it; see `digest.arxiv.RequestLog`."""

    @property
    def at(self) -> datetime: ...  # noqa: D102 - described by the class that has them
    @property
    def method(self) -> str: ...  # noqa: D102 - as above
    @property
    def url(self) -> str: ...  # noqa: D102 - as above
    @property
    def status(self) -> int | None: ...  # noqa: D102 - as above
    @property
    def milliseconds(self) -> int: ...  # noqa: D102 - as above
    @property
    def size(self) -> int: ...  # noqa: D102 - as above
    @property
    def sha256(self) -> str: ...  # noqa: D102 - as above
    @property
    def outcome(self) -> str: ...  # noqa: D102 - as above
    @property
    def detail(self) -> str: ...  # noqa: D102 - as above


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
    page = insert(raw_pages).values(
        run_id=run_id,
        number=number,
        url=url,
        fetched_at=at,
        sha256=hashlib.sha256(body).hexdigest(),
        size=len(body),
        body=zlib.compress(body),
    )
    conn.execute(page)
    conn.execute(update(poll_runs).where(poll_runs.c.id == run_id).values(pages=poll_runs.c.pages + 1))


def load_pages(conn: Connection, run_id: int) -> list[bytes]:
    """Return the pages of a run as they came, in order, as far as they are still kept."""
    found = select(raw_pages.c.body).where(raw_pages.c.run_id == run_id).order_by(raw_pages.c.number)
    return [zlib.decompress(body) for body in conn.execute(found).scalars()]


def quarantine_entries(
    conn: Connection, run_id: int, page: int, entries: Iterable[SetAside], at: datetime
) -> None:
    """Set aside the entries of a page that could not be read."""
    rows = [
        {
            "run_id": run_id,
            "page": page,
            "position": entry.position,
            "error": entry.error,
            "snippet": entry.snippet,
            "seen_at": at,
        }
        for entry in entries
    ]
    if rows:
        conn.execute(insert(quarantine), rows)


def log_request(conn: Connection, request: Requested) -> None:
    """Keep one request to arXiv: when, what, and how it was answered."""
    conn.execute(
        insert(requests).values(
            at=request.at,
            method=request.method,
            url=request.url,
            status=request.status,
            milliseconds=request.milliseconds,
            size=request.size,
            sha256=request.sha256,
            outcome=str(request.outcome),
            detail=request.detail,
        )
    )


def count_quarantined(conn: Connection) -> int:
    """Return how many entries of arXiv's pages could not be read and are kept aside."""
    return conn.execute(select(func.count()).select_from(quarantine)).scalar_one()


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
        new: papers announced for the first time; none in a source's first look.
        changed: papers that differ from what was stored.
        highest_id: the newest id met, "" where none was.
        is_bootstrap: the source's first look: nothing it found is news.
        failure: why it is not complete, "" where it is.
        requests: how many requests it took, retries among them.
        lookback: days it was to reach back behind the last complete look, or behind its own start.
        next_token: asks for the page after the last one stored; "" where there is none.
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
    failure: str
    requests: int = 0
    lookback: int = 0
    next_token: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it looked at everything it asked for."""
        return self.outcome in _COMPLETE

    @property
    def has_failed(self) -> bool:
        """Whether it ended before it had seen everything."""
        return self.outcome in (RunOutcome.FAILED, RunOutcome.PARTIAL)


ABANDONED = "the process ended before the run did"
"""The failure of a run whose process died: it says nothing of arXiv, so nobody need wait because of it."""

_COMPLETE = (RunOutcome.COMPLETE, RunOutcome.EMPTY)
_FAILED = (RunOutcome.FAILED, RunOutcome.PARTIAL)
_FAILURES_COUNTED = 12
"""More in a row make no difference to anybody."""

_RECENT = timedelta(days=4)
"""Reaches back over a long weekend without mailings."""


def start_run(
    conn: Connection,
    *,
    source: str,
    at: datetime,
    query_key: str = "",
    window_from: date | None = None,
    is_bootstrap: bool = False,
    lookback: int = 0,
    next_token: str = "",
    highest_id: str = "",
    owner: str = "",
) -> int:
    """Begin a run; return its id.

    `next_token` and `highest_id` are those of the run it goes on with; `owner` is the worker whose signs
    of life keep it.
    """
    begin = insert(poll_runs).values(
        source=source,
        query_key=query_key,
        window_from=window_from,
        started_at=at,
        outcome=RunOutcome.RUNNING,
        pages=0,
        papers=0,
        new=0,
        changed=0,
        highest_id=highest_id,
        is_bootstrap=is_bootstrap,
        failure="",
        gate_token=0,
        requests=0,
        lookback=lookback,
        next_token=next_token,
        owner=owner,
    )
    return int(conn.execute(begin.returning(poll_runs.c.id)).scalar_one())


def widen_run(conn: Connection, run_id: int, window_from: date) -> None:
    """Note that a run looks further back than it was begun with."""
    conn.execute(update(poll_runs).where(poll_runs.c.id == run_id).values(window_from=window_from))


def note_page(
    conn: Connection, run_id: int, *, papers: int, new: int, changed: int, highest_id: str, next_token: str
) -> None:
    """Keep how far a run has come, in the transaction that stores its page; figures are sums so far."""
    note = update(poll_runs).where(poll_runs.c.id == run_id)
    conn.execute(
        note.values(papers=papers, new=new, changed=changed, highest_id=highest_id, next_token=next_token)
    )


def finish_run(
    conn: Connection,
    run_id: int,
    *,
    outcome: str,
    at: datetime,
    pages: int,
    papers: int,
    new: int,
    changed: int,
    total: int | None = None,
    highest_id: str = "",
    failure: str = "",
    gate_token: int = 0,
    requests: int = 0,
) -> bool:
    """End a run; return False where it had been given up meanwhile (see `abandon_running`)."""
    finish = (
        update(poll_runs)
        .where(poll_runs.c.id == run_id, poll_runs.c.outcome == RunOutcome.RUNNING)
        .values(
            finished_at=at,
            outcome=RunOutcome(outcome),
            pages=pages,
            papers=papers,
            new=new,
            changed=changed,
            total=total,
            highest_id=highest_id,
            failure=failure,
            gate_token=gate_token,
            requests=requests,
        )
    )
    return conn.execute(finish).rowcount == 1


def last_runs(
    conn: Connection, source: str | None = None, limit: int = 10, *, query_key: str | None = None
) -> list[PollRun]:
    """Return the latest runs, newest first; of one source or query only where named."""
    found = select(poll_runs).order_by(poll_runs.c.id.desc()).limit(limit)
    if source is not None:
        found = found.where(poll_runs.c.source == source)
    if query_key is not None:
        found = found.where(poll_runs.c.query_key == query_key)
    return [_read_run(row) for row in conn.execute(found)]


def find_first_start(conn: Connection) -> datetime | None:
    """Return when arXiv was first asked, with or without success (UTC); None for never."""
    return conn.execute(select(poll_runs.c.started_at).order_by(poll_runs.c.id).limit(1)).scalar()


def find_last_start(conn: Connection) -> datetime | None:
    """Return when arXiv was asked last, with or without success (UTC); None for never."""
    return conn.execute(select(poll_runs.c.started_at).order_by(poll_runs.c.id.desc()).limit(1)).scalar()


def recent_polls(conn: Connection, source: str, query_keys: Collection[str], now: datetime) -> list[PollSummary]:
    """Return the finished runs of a source, for any of these queries, of the last four days.

    After a longer pause also those since the last complete one, which tells how far arXiv had come by then.
    """
    before = select(func.max(poll_runs.c.finished_at)).where(
        poll_runs.c.source == source,
        poll_runs.c.query_key.in_(query_keys),
        poll_runs.c.outcome.in_(_COMPLETE),
        poll_runs.c.finished_at < now - _RECENT,
    )
    return polls_since(conn, source, conn.execute(before).scalar() or now - _RECENT, query_keys)


def polls_since(
    conn: Connection, source: str, since: datetime, query_keys: Collection[str] = ("",)
) -> list[PollSummary]:
    """Return the runs of a source, for any of these queries, that have finished since a moment, oldest first."""
    return [poll for _, poll in _list_polls(conn, source, since, poll_runs.c.query_key.in_(query_keys))]


def polls_since_each(conn: Connection, source: str, since: datetime) -> dict[str, list[PollSummary]]:
    """Return the same by query, for all that a source was asked for; those without such a run are missing."""
    polls: dict[str, list[PollSummary]] = {}
    for key, poll in _list_polls(conn, source, since, true()):
        polls.setdefault(key, []).append(poll)
    return polls


def _list_polls(
    conn: Connection, source: str, since: datetime, is_wanted: ColumnElement[bool]
) -> Iterator[tuple[str, PollSummary]]:
    """Yield the finished runs of a source with their queries; what they judged news by is long, and not read."""
    found = (
        select(
            poll_runs.c.source,
            poll_runs.c.query_key,
            poll_runs.c.started_at,
            poll_runs.c.finished_at,
            poll_runs.c.outcome,
            poll_runs.c.papers,
            poll_runs.c.new,
            poll_runs.c.failure,
            poll_runs.c.highest_id,
            poll_runs.c.is_bootstrap,
        )
        .where(poll_runs.c.source == source, is_wanted, poll_runs.c.finished_at >= since)
        .order_by(poll_runs.c.id)
    )
    for row in conn.execute(found):
        yield (
            row.query_key,
            PollSummary(
                source=row.source,
                started_at=row.started_at,
                finished_at=row.finished_at,
                is_complete=row.outcome in _COMPLETE,
                papers=row.papers,
                new=row.new,
                failure=row.failure,
                highest=ArxivId.parse(row.highest_id).announcement_order if row.highest_id else (0, 0),
                is_bootstrap=row.is_bootstrap,
            ),
        )


def last_reaching(conn: Connection, source: str, lookback: int, query_key: str = "") -> datetime | None:
    """Return when the last complete run started (UTC) that reached back so many days or more."""
    latest = select(func.max(poll_runs.c.started_at)).where(
        poll_runs.c.source == source,
        poll_runs.c.query_key == query_key,
        poll_runs.c.outcome.in_(_COMPLETE),
        poll_runs.c.lookback >= lookback,
    )
    return conn.execute(latest).scalar()


def last_reaching_each(conn: Connection, source: str, lookback: int) -> dict[str, datetime]:
    """Return the same by query, for all that a source was asked for; those without such a run are missing."""
    latest = (
        select(poll_runs.c.query_key, func.max(poll_runs.c.started_at))
        .where(
            poll_runs.c.source == source,
            poll_runs.c.outcome.in_(_COMPLETE),
            poll_runs.c.lookback >= lookback,
        )
        .group_by(poll_runs.c.query_key)
    )
    return {row[0]: row[1] for row in conn.execute(latest)}


def list_keys(conn: Connection, source: str) -> set[str]:
    """Return what a source was ever asked for, as the keys of its runs."""
    return set(
        conn.execute(select(poll_runs.c.query_key).where(poll_runs.c.source == source).distinct()).scalars()
    )


def last_total(conn: Connection, source: str, query_key: str) -> int | None:
    """Return how many papers arXiv said there were at the last complete look; None where it never did."""
    latest = (
        select(poll_runs.c.total)
        .where(
            poll_runs.c.source == source,
            poll_runs.c.query_key == query_key,
            poll_runs.c.outcome.in_(_COMPLETE),
        )
        .order_by(poll_runs.c.id.desc())
        .limit(1)
    )
    return conn.execute(latest).scalar()


def last_looks(conn: Connection, source: str, query_key: str = "") -> LastLooks:
    """Return when a source was last looked at and with what; runs whose process died say nothing.

    News of a search are not told: a second look soon after would prove nothing.
    """
    ended = (
        select(poll_runs.c.outcome, poll_runs.c.finished_at, poll_runs.c.new, poll_runs.c.is_bootstrap)
        .where(
            poll_runs.c.source == source,
            poll_runs.c.query_key == query_key,
            poll_runs.c.finished_at.is_not(None),
            poll_runs.c.failure != ABANDONED,
        )
        .order_by(poll_runs.c.id.desc())
        .limit(_FAILURES_COUNTED)
    )
    rows = conn.execute(ended).all()
    failed = list(takewhile(lambda row: row.outcome in _FAILED, rows))
    complete = rows[len(failed)] if len(failed) < len(rows) else None
    brought_news = (
        source == Source.HARVEST and complete is not None and complete.new > 0 and not complete.is_bootstrap
    )
    return LastLooks(
        complete=load_cursor(conn, source, query_key).last_complete_at,
        failure=failed[0].finished_at if failed else None,
        failures=len(failed),
        news=complete.finished_at if complete is not None and brought_news else None,
    )


def abandon_running(conn: Connection, at: datetime) -> int:
    """Fail the runs that a process left unfinished when it died; return how many.

    On SQLite the caller knows itself alone (see `hold_worker`). On PostgreSQL a run is left to its worker for
    as long as that gives signs of life, also between two requests; one that names no worker (a process
    of the release before began it) until nobody has asked arXiv for as long.
    """
    is_left: ColumnElement[bool] = true()
    if conn.dialect.name == "postgresql":
        is_nobodys = poll_runs.c.owner == ""
        is_left = not_(or_(is_nobodys, is_living(poll_runs.c.owner)))
        if not was_used(conn, within=GONE_AFTER):
            is_left = or_(is_nobodys, is_left)
    abandon = (
        update(poll_runs)
        .where(poll_runs.c.outcome == RunOutcome.RUNNING, is_left)
        .values(outcome=RunOutcome.FAILED, finished_at=at, failure=ABANDONED)
    )
    return conn.execute(abandon).rowcount


def _read_run(row: Row[Any]) -> PollRun:
    values = row._asdict()
    del values["gate_token"], values["owner"]
    return PollRun(**{**values, "outcome": RunOutcome(row.outcome)})
