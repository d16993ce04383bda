"""What was news to each source: where a look begins to speak of papers rather than to learn of them.

A source that looks for the first time meets old papers, and among them ones that somebody was already
watching for: other saved queries, what this one said before it was edited, or the harvest. Those stay
news, whichever look brings them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.comparing import Horizon
from digest.planning.polls import EDIT_MARGIN, Source
from digest.query import matches, parse_query
from digest.store import cursors as cursor_store
from digest.store import queries as query_store

if TYPE_CHECKING:
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

    def judge_harvested(self, paper: Paper) -> Horizon:
        """Return the horizon of a paper that the harvest brought."""
        return self._judge(self.harvest, paper)

    def judge_found(self, text: str, paper: Paper) -> Horizon:
        """Return the horizon of a paper that the search for a canonical query brought."""
        return self._judge(self.own[text], paper)

    def _judge(self, own: Horizon, paper: Paper) -> Horizon:
        if own.is_bootstrap:
            for query, horizon in self.watched:
                if horizon.since and paper.updated >= horizon.since and matches(query, paper):
                    return horizon
        return own


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
