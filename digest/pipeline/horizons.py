"""What was news to each source: where a look begins to speak of papers rather than to learn of them.

A source that looks for the first time meets old papers, and among them ones that somebody was already
watching for: other saved queries, what this one said before it was edited, or the harvest. Those stay
news, whichever look brings them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from digest.comparing import Horizon
from digest.planning.polls import EDIT_MARGIN, Source
from digest.query import matches, parse_query
from digest.store import cursors as cursor_store
from digest.store import queries as query_store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sqlalchemy import Connection

    from digest.papers import Paper
    from digest.query import Query
    from digest.store.cursors import Cursor
    from digest.store.queries import Watch


def horizon_of(cursor: Cursor) -> Horizon:
    """Return what a source had announced before Digest first looked, from its cursor."""
    since = cursor.bootstrapped_at - EDIT_MARGIN if cursor.bootstrapped_at else None
    return Horizon(
        is_bootstrap=not cursor.is_bootstrapped,
        mark=(cursor.mark_month, cursor.mark_number),
        since=since,
    )


@dataclass(frozen=True, slots=True)
class Horizons:
    """The horizons of the harvest and of every saved query that is searched for.

    Attributes:
        harvest: the harvest's own.
        own: by canonical query; a bootstrapping one where nobody has watched for just that.
        watched: queries somebody has watched for without a break, each with its horizon.
    """

    harvest: Horizon
    own: dict[str, Horizon]
    watched: tuple[tuple[Query, Horizon], ...]

    def is_newcomer(self, text: str) -> bool:
        """Whether a canonical query is searched for the first time since it is wanted."""
        return self.own[text].is_bootstrap

    def write_harvest_judge(self) -> str:
        """Write down what the harvest judges news by."""
        return write_judge(self.harvest, self.watched)

    def write_search_judge(self, text: str) -> str:
        """Write down what the search for a canonical query judges news by."""
        return write_judge(self.own[text], self.watched)

    def write_joint_judge(self, texts: Collection[str]) -> str:
        """Write down what one search for several queries judges news by: theirs of whom a paper is known to match.

        Queries that nobody watched for yet bring old papers only.
        """
        own = [(parse_query(text), self.own[text]) for text in sorted(texts) if not self.is_newcomer(text)]
        return write_judge(Horizon(is_bootstrap=True), [*own, *self.watched])


def load_horizons(conn: Connection) -> Horizons:
    """Return the horizons of the harvest and of all saved queries in force."""
    harvest = cursor_store.load_cursor(conn, Source.HARVEST)
    own: dict[str, Horizon] = {}
    watched: dict[str, Horizon] = {}
    for watch in query_store.list_watches(conn):
        cursor = cursor_store.load_cursor(conn, Source.QUERY, watch.canonical)
        if _has_gone_on(cursor, watch):
            own[watch.canonical] = watched[watch.canonical] = horizon_of(cursor)
        elif _has_gone_on(harvest, watch):
            own[watch.canonical] = horizon_of(harvest)  # until now everything was looked through, this query's too
        else:
            own[watch.canonical] = Horizon(is_bootstrap=True)
            before = (cursor_store.load_cursor(conn, Source.QUERY, text) for text in watch.earlier)
            last = next((cursor for cursor in before if cursor.is_bootstrapped), None)
            if last is not None:
                watched[last.query_key] = horizon_of(last)
    by_query = tuple((parse_query(text), horizon) for text, horizon in watched.items())
    return Horizons(horizon_of(harvest), own, by_query)


def _has_gone_on(cursor: Cursor, watch: Watch) -> bool:
    """Whether a source has looked since a query is wanted; looks from before an interruption do not count."""
    return cursor.last_complete_at is not None and cursor.last_complete_at >= watch.since


def write_judge(own: Horizon, watched: Iterable[tuple[Query, Horizon]] = ()) -> str:
    """Write down what a look judges news by, so that its pages can be judged alike another day."""
    asked = [[query.canonical, _freeze(horizon)] for query, horizon in watched] if own.is_bootstrap else []
    return json.dumps({"own": _freeze(own), "watched": asked})


def read_judge(text: str) -> Callable[[Paper], Horizon]:
    """Return what `write_judge` wrote down, as the horizon of each paper."""
    kept = json.loads(text)
    own = _thaw(kept["own"])
    watched = tuple((parse_query(query), _thaw(horizon)) for query, horizon in kept["watched"])
    return lambda paper: judge_paper(own, watched, paper)


def judge_paper(own: Horizon, watched: Iterable[tuple[Query, Horizon]], paper: Paper) -> Horizon:
    """Return the horizon that counts for one paper: its look's own, or that of whoever already waited for it."""
    if own.is_bootstrap:
        for query, horizon in watched:
            if horizon.since and paper.updated >= horizon.since and matches(query, paper):
                return horizon
    return own


def _freeze(horizon: Horizon) -> list[Any]:
    return [horizon.is_bootstrap, *horizon.mark, horizon.since.isoformat() if horizon.since else None]


def _thaw(kept: list[Any]) -> Horizon:
    is_bootstrap, month, number, since = kept
    return Horizon(is_bootstrap, (month, number), datetime.fromisoformat(since) if since else None)
