"""What is asked of arXiv on behalf of saved queries, and since when without a break."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import or_, select

from digest.store.queries import ACTIVE
from digest.store.schema import query_revisions, saved_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row


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
