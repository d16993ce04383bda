"""How far each source was looked through, which ids are missing, and what queries were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from enum import StrEnum
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, exists, func, or_, select, update

from digest.model.papers import FIVE_DIGITS_SINCE, ArxivId
from digest.model.polls import Gap
from digest.store.dialect import insert
from digest.store.gate import is_current
from digest.store.queries import ACTIVE
from digest.store.schema import cursors, gaps, papers, query_revisions, saved_queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date, datetime

    from sqlalchemy import ColumnElement, Connection, Row


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


@dataclass(frozen=True, slots=True)
class Together:
    """Saved queries that one search looks for together, as canonical texts.

    Attributes:
        known: those that have been looked for before.
        newcomers: those that begin with this look.
        mark: announcement order of the newest paper that is no news to newcomers; (0, 0) for the newest met.
    """

    known: tuple[str, ...]
    newcomers: tuple[str, ...]
    mark: tuple[int, int] = (0, 0)


def load_cursor(conn: Connection, source: str, query_key: str = "") -> Cursor:
    """Return how far a source has been looked through."""
    row = conn.execute(select(cursors).where(*_is_cursor(source, query_key))).mappings().one_or_none()
    return Cursor(**row) if row else Cursor(source, query_key)


def load_cursors(conn: Connection, source: str) -> dict[str, Cursor]:
    """Return how far a source has been looked through, by query; queries it was never asked for are missing."""
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
        False, with nothing changed, where a later run was recorded, or another process has taken over
        the gate since.
    """
    if gate_token is not None and not is_current(conn, gate_token):
        return False
    first = insert(conn, cursors).values(
        source=source,
        query_key=query_key,
        mark_month=mark[0],
        mark_number=mark[1],
        is_bootstrapped=True,
        bootstrapped_at=started_at,
    )
    conn.execute(first.on_conflict_do_nothing(index_elements=["source", "query_key"]))
    forward = (
        update(cursors)
        .where(*_is_cursor(source, query_key), _is_behind(started_at))
        .values(
            complete_from=started_at.astimezone(UTC).date(),
            last_complete_run_id=run_id,
            last_complete_at=started_at,
        )
    )
    return conn.execute(forward).rowcount == 1


def move_together(
    conn: Connection,
    *,
    source: str,
    run_id: int,
    started_at: datetime,
    together: Together,
    mark: tuple[int, int],
) -> None:
    """Record that one complete run looked for many queries, in the transaction that moves its own cursor.

    Args:
        conn: that transaction.
        source: see `Cursor`.
        run_id: the complete run.
        started_at: when it began (UTC).
        together: the queries; the marks of those known stay, newcomers begin anew, also where they had a
            cursor long ago.
        mark: announcement order of the newest paper that is no news to newcomers.
    """
    reached = {
        "complete_from": started_at.astimezone(UTC).date(),
        "last_complete_run_id": run_id,
        "last_complete_at": started_at,
    }
    for begun, keys in ((False, together.known), (True, together.newcomers)):
        beginning = {
            "mark_month": mark[0],
            "mark_number": mark[1],
            "is_bootstrapped": True,
            "bootstrapped_at": started_at,
        }
        rows = [{"source": source, "query_key": key, **beginning, **reached} for key in keys]
        upsert = insert(conn, cursors).on_conflict_do_update(
            index_elements=["source", "query_key"],
            set_=reached | (beginning if begun else {}),
            where=_is_behind(started_at),
        )
        if rows:
            conn.execute(upsert, rows)


def _is_cursor(source: str, query_key: str) -> tuple[Any, ...]:
    return (cursors.c.source == source, cursors.c.query_key == query_key)


def _is_behind(started_at: datetime) -> ColumnElement[bool]:
    last = cursors.c.last_complete_at
    return last.is_(None) | (last <= started_at)


class GapState(StrEnum):
    """What became of a missing id."""

    OPEN = "open"
    FOUND = "found"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class GapLine:
    """A missing id as the ledger keeps it; for the fields see `Gap`.

    Attributes:
        gap: the id and how it was asked for.
        state: what became of it.
        ended_at: since when it is found or void (UTC); None while it is open.
        reason: why it is void, "" otherwise.
    """

    gap: Gap
    state: GapState
    ended_at: datetime | None
    reason: str


def load_numbers(conn: Connection, *, months: int = 2) -> dict[int, set[int]]:
    """Return the numbers stored of the latest months, by month; ids of odd spellings are no help and left out."""
    latest = select(papers.c.month).where(papers.c.archive == "").distinct()
    found: dict[int, set[int]] = {}
    for month in conn.execute(latest.order_by(papers.c.month.desc()).limit(months)).scalars():
        length = len("YYMM.") + (5 if month >= FIVE_DIGITS_SINCE else 4)
        numbers = select(papers.c.number).where(
            papers.c.month == month, papers.c.archive == "", func.length(papers.c.arxiv_id) == length
        )
        found[month] = set(conn.execute(numbers).scalars())
    return found


def note_missing(conn: Connection, ids: Iterable[ArxivId], at: datetime) -> int:
    """Note ids that are missing; return how many of them are open now and were not before.

    Args:
        conn: a writing transaction.
        ids: the ids.
        at: since when they are missed (UTC).
    """
    rows = [
        {
            "month": id_.month,
            "number": id_.number,
            "state": GapState.OPEN,
            "missed_at": at,
            "asks": 0,
            "reason": "",
        }
        for id_ in ids
        if not id_.archive
    ]
    if not rows:
        return 0
    add = insert(conn, gaps).on_conflict_do_nothing(index_elements=["month", "number"])
    return len(conn.execute(add.returning(gaps.c.number), rows).all())


def load_open(conn: Connection) -> list[Gap]:
    """Return the ids that are missing now, in order."""
    found = select(gaps).where(gaps.c.state == GapState.OPEN).order_by(gaps.c.month, gaps.c.number)
    return [_read_gap(row) for row in conn.execute(found)]


def list_gaps(conn: Connection, state: GapState | None = None, limit: int = 100) -> list[GapLine]:
    """Return missing ids with what became of them, the newest first."""
    found = select(gaps).order_by(gaps.c.month.desc(), gaps.c.number.desc()).limit(limit)
    if state is not None:
        found = found.where(gaps.c.state == state)
    return [GapLine(_read_gap(row), GapState(row.state), row.ended_at, row.reason) for row in conn.execute(found)]


def count_gaps(conn: Connection) -> dict[GapState, int]:
    """Count the missing ids by what became of them; states without any are left out."""
    counted = select(gaps.c.state, func.count()).group_by(gaps.c.state)
    return {GapState(row[0]): row[1] for row in conn.execute(counted)}


def close_found(conn: Connection, at: datetime) -> int:
    """Note which of the ids that were missing or void are stored by now; return how many."""
    is_stored = exists().where(
        and_(
            papers.c.month == gaps.c.month,
            papers.c.number == gaps.c.number,
            papers.c.archive == "",
            func.length(papers.c.arxiv_id) == case((gaps.c.month >= FIVE_DIGITS_SINCE, 10), else_=9),
        )
    )
    found = (
        update(gaps)
        .where(gaps.c.state != GapState.FOUND, is_stored)
        .values(state=GapState.FOUND, ended_at=at, reason="")
    )
    return conn.execute(found).rowcount


def note_asked(conn: Connection, asked: Iterable[Gap], at: datetime) -> None:
    """Note that arXiv was asked for ids once more."""
    _set(conn, asked, {"asks": gaps.c.asks + 1, "asked_at": at}, {})


def void_gaps(conn: Connection, given_up: Iterable[tuple[Gap, str]], at: datetime) -> None:
    """Give ids up, each with the reason."""
    pairs = list(given_up)
    reasons = {gap.id: reason for gap, reason in pairs}
    _set(
        conn,
        (gap for gap, _ in pairs),
        {"state": GapState.VOID, "ended_at": at, "reason": bindparam("why")},
        {id_: {"why": reason} for id_, reason in reasons.items()},
    )


def _set(
    conn: Connection, some: Iterable[Gap], values: dict[str, Any], own: dict[ArxivId, dict[str, str]]
) -> None:
    rows = [{"m": gap.id.month, "n": gap.id.number, **own.get(gap.id, {})} for gap in some]
    if rows:
        is_it = (gaps.c.month == bindparam("m"), gaps.c.number == bindparam("n"), gaps.c.state == GapState.OPEN)
        conn.execute(update(gaps).where(*is_it).values(values), rows)


def _read_gap(row: Any) -> Gap:  # noqa: ANN401 - a row of the table, whatever was selected beside it
    digits = 5 if row.month >= FIVE_DIGITS_SINCE else 4
    return Gap(ArxivId(row.month, row.number, digits=digits), row.missed_at, row.asks, row.asked_at)


@dataclass(frozen=True, slots=True)
class Watch:
    """A query that at least one saved query in force asks.

    Attributes:
        canonical: as printed.
        since: since when it is asked without a break (UTC).
        earlier: what these saved queries asked before, up to an interruption, the latest first.
    """

    canonical: str
    since: datetime
    earlier: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a saved query in force asks.

    Attributes:
        since: since when it is asked without a break, in whichever wording (UTC).
        texts: its canonical texts since a moment: edits make them more than one.
    """

    since: datetime
    texts: frozenset[str]


def list_watches(conn: Connection) -> list[Watch]:
    """Return every distinct query that is asked by one in force, in the order of their texts."""
    rows = conn.execute(
        select(saved_queries.c.id, query_revisions)
        .join(query_revisions, query_revisions.c.query_id == saved_queries.c.id)
        .where(saved_queries.c.state == ACTIVE)
        .order_by(query_revisions.c.number.desc(), query_revisions.c.id)
    )
    revisions: dict[int, list[Row[Any]]] = {}
    for row in rows:
        revisions.setdefault(row.query_id, []).append(row)
    asking: dict[str, list[list[Row[Any]]]] = {}
    for present, *past in revisions.values():
        if present.canonical:
            asking.setdefault(present.canonical, []).append([present, *past])
    return [
        Watch(
            canonical=text,
            since=min(present.created_at for present, *_ in histories),
            earlier=tuple(row.canonical for history in histories for row in _before(history) if row.canonical),
        )
        for text, histories in sorted(asking.items())
    ]


def list_askings(conn: Connection, moment: datetime) -> list[Asking]:
    """Return what saved queries in force have asked since a moment (UTC), in one statement; those alike once.

    What was asked before it is left out: a query that was asked then is told by a `since` no later than that.
    """
    revision = query_revisions.c
    columns: list[ColumnElement[Any]] = [
        revision.query_id,
        revision.canonical,
        revision.created_at,
        revision.ended_at,
    ]
    rows = conn.execute(
        select(*columns)
        .join(saved_queries, saved_queries.c.id == query_revisions.c.query_id)
        .where(
            saved_queries.c.state == ACTIVE,
            query_revisions.c.canonical != "",
            or_(query_revisions.c.ended_at.is_(None), query_revisions.c.ended_at > moment),
        )
        .order_by(query_revisions.c.query_id, query_revisions.c.number.desc())
    )
    askings: dict[Asking, None] = {}
    for _, revisions in groupby(rows, attrgetter("query_id")):
        history = list(revisions)
        asked = [history[0], *_before(history)]
        askings[Asking(asked[-1].created_at, frozenset(row.canonical for row in asked))] = None
    return list(askings)


def _before(history: Sequence[Row[Any]]) -> Iterator[Row[Any]]:
    """Yield the revisions that led to the present one by edits alone; a query that came back starts anew."""
    for later, earlier in pairwise(history):
        if earlier.ended_at != later.created_at:
            return
        yield earlier
