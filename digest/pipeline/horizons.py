"""What was news to each source: where a look begins to speak of papers rather than to learn of them.

A source that looks for the first time meets old papers, and among them ones that somebody was already
watching for: other saved queries, what this one said before it was edited, or the harvest. Those stay
news, whichever look brings them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from digest.comparing import Horizon, is_first_news
from digest.planning.polls import EDIT_MARGIN, SEARCH_LOOKBACKS, Source
from digest.planning.searches import JOINT_LOOKBACK
from digest.query import analyse, matches, parse_query
from digest.store import cursors as cursor_store
from digest.store.watches import list_watches

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from sqlalchemy import Connection

    from digest.papers import Paper
    from digest.query import Query
    from digest.store.cursors import Cursor
    from digest.store.watches import Watch

_FIRST_REACH: Final = timedelta(days=max(days for days, _ in SEARCH_LOOKBACKS))
"""How far the first look for a query reached that has no mark."""

_FIRST_JOINT_REACH: Final = timedelta(days=JOINT_LOOKBACK)
"""How far it reached at least for a query with a mark: one that a look for many or a harvest met first."""

Judge: TypeAlias = "Callable[[Paper], Horizon]"
"""What a look judges news by: the horizon of each paper."""


def horizon_of(cursor: Cursor) -> Horizon:
    """Return what a source had announced before Digest first looked, from its cursor."""
    since = cursor.bootstrapped_at - EDIT_MARGIN if cursor.bootstrapped_at else None
    return Horizon(
        is_bootstrap=not cursor.is_bootstrapped,
        mark=(cursor.mark_month, cursor.mark_number),
        since=since,
        began_on=cursor.bootstrapped_at.astimezone(UTC).date() if cursor.bootstrapped_at else None,
    )


@dataclass(frozen=True, slots=True)
class Watched:
    """A query that somebody has watched for without a break.

    Attributes:
        horizon: what is news to it.
        floor: papers whose present version is older (UTC) are none; None where their ids tell.
    """

    horizon: Horizon
    floor: datetime | None = None


@dataclass(frozen=True, slots=True)
class Horizons:
    """The horizons of the harvest and of every saved query that is searched for.

    Attributes:
        harvest: the harvest's own.
        own: by canonical query; a bootstrapping one where nobody has watched for just that.
        watched: queries somebody has watched for without a break, each with its horizon.
        looked: by canonical query, when the last complete look started (UTC) that was made for it, or for
            what it was before it was edited; those without any are missing.
        harvested: the same of harvests alone.
    """

    harvest: Horizon
    own: dict[str, Horizon]
    watched: dict[str, Horizon]
    looked: dict[str, datetime] = field(default_factory=dict)
    harvested: dict[str, datetime] = field(default_factory=dict)

    def is_newcomer(self, text: str) -> bool:
        """Whether a canonical query is searched for the first time since it is wanted."""
        return self.own[text].is_bootstrap

    def judge_harvest(self) -> Judge:
        """Return what the harvest judges news by, which in its first look asks those who were searched for."""
        watched = [(text, Watched(horizon, horizon.since)) for text, horizon in self.watched.items()]
        return make_judge(self.harvest, watched if self.harvest.is_bootstrap else ())

    def judge_search(self, text: str) -> Judge:
        """Return what the search for a canonical query judges news by.

        The last page of a look holds older papers than are wanted, and at times more of them than its first.
        """
        own = self.own[text]
        watched = (self.watched if own.is_bootstrap else self.watched | {text: own}).items()
        return make_judge(
            replace(own, floor=_find_floor(own)),
            chain.from_iterable(_watch(other, horizon) for other, horizon in watched),
        )

    def judge_joint(self, texts: Collection[str], rest: Horizon) -> Judge:
        """Return what one search for several queries judges news by.

        Args:
            texts: the canonical queries.
            rest: what is news to whoever has not watched yet. What is news by that is news to all; else it
                is to those watching who know that it was not there before.
        """
        known = {text: self.own[text] for text in texts if not self.is_newcomer(text)}
        watched = (self.watched | known).items()
        return make_judge(rest, chain.from_iterable(_watch(text, horizon) for text, horizon in watched))


def _find_floor(horizon: Horizon) -> datetime | None:
    """Return how far back (UTC) the first look for a query reached; None where ids tell what came out later."""
    if horizon.mark > (0, 0) or horizon.since is None:
        return None
    return horizon.since + EDIT_MARGIN - _FIRST_REACH


def _watch(text: str, horizon: Horizon) -> list[tuple[str, Watched]]:
    """Return what is news to a query that has been looked for, whichever look brings it.

    Its first look met all that was there then and no older than that look reached: what was not met is
    news, if late or cross-listed later. Of older papers those are news that came out after it, by their ids.
    """
    if horizon.since is None:
        return [(text, Watched(horizon))]
    if horizon.mark == (0, 0):
        return [(text, Watched(horizon, _find_floor(horizon)))]
    recent = Watched(replace(horizon, mark=(0, 0)), horizon.since + EDIT_MARGIN - _FIRST_JOINT_REACH)
    return [(text, recent), (text, Watched(horizon))]


def load_horizons(conn: Connection) -> Horizons:
    """Return the horizons of the harvest and of all saved queries in force."""
    harvest = cursor_store.load_cursor(conn, Source.HARVEST)
    searched = cursor_store.load_cursors(conn, Source.QUERY)
    horizons = Horizons(horizon_of(harvest), {}, {})
    for watch in list_watches(conn):
        text, cursor = watch.canonical, searched.get(watch.canonical)
        by_harvest, by_search = _last_look(harvest, watch), _last_look(cursor, watch)
        if by_harvest is not None:
            horizons.harvested[text] = by_harvest
        if cursor is not None and by_search is not None:
            horizons.own[text] = horizons.watched[text] = horizon_of(cursor)
        elif by_harvest is not None:
            horizons.own[text] = horizon_of(harvest)  # until now everything was looked through, this query's too
        else:
            horizons.own[text] = Horizon(is_bootstrap=True)
            before = (searched[earlier] for earlier in watch.earlier if earlier in searched)
            last = next((cursor for cursor in before if cursor.is_bootstrapped), None)
            if last is not None:
                horizons.watched[last.query_key] = horizon_of(last)
                by_search = last.last_complete_at
        looks = [look for look in (by_harvest, by_search) if look is not None]
        if looks:
            horizons.looked[text] = max(looks)
    return horizons


def _last_look(cursor: Cursor | None, watch: Watch) -> datetime | None:
    """Return when a source last looked since a query is wanted; looks from before an interruption do not count."""
    last = cursor.last_complete_at if cursor is not None else None
    return last if last is not None and last >= watch.since else None


def make_judge(own: Horizon, watched: Iterable[tuple[str, Watched]] = ()) -> Judge:
    """Return the horizon of each paper for one look.

    Args:
        own: what is news to the look itself.
        watched: canonical queries, and what else is news if it matches them.
    """
    groups: dict[Watched, list[str]] = {}
    for text, watch in watched:
        groups.setdefault(watch, []).append(text)

    @cache
    def read_watched() -> list[tuple[Watched, list[Query]]]:  # most papers are news or stored, and need nobody
        ordered = sorted(groups.items(), key=lambda group: (group[0].horizon.mark, min(group[1])))
        return [(watch, [*map(parse_query, sorted(texts))]) for watch, texts in ordered]

    return lambda paper: own if _is_news(own, paper) else _judge_paper(own, read_watched(), paper)


def _judge_paper(own: Horizon, watched: Iterable[tuple[Watched, Collection[Query]]], paper: Paper) -> Horizon:
    """Return the horizon that counts for what is no news to a look: its own, or of whoever waited for the paper.

    Who waits with the lowest mark comes first: what is news to one is news.
    """
    ready = analyse(paper)
    for watch, queries in watched:
        is_recent = watch.floor is None or paper.updated >= watch.floor
        if is_recent and any(matches(query, ready) for query in queries):
            return watch.horizon
    return own


def _is_news(horizon: Horizon, paper: Paper) -> bool:
    """Whether a paper that is not stored would be news by this horizon."""
    if horizon.is_bootstrap:
        return False
    if paper.version == 1:
        return is_first_news(paper, horizon)
    return horizon.since is not None and paper.updated >= horizon.since
