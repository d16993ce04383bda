"""What was stored of a paper before a moment that has passed, as far as the store still shows it.

Texts stay, but which day arXiv named for a state, and when the answer was made that told it, is kept for
the present state alone. So there may be several states a paper could have been in; where they all make the
same of what came next, it does not matter which of them it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from itertools import product
from typing import TYPE_CHECKING

from digest.comparing import Horizon, KnownPaper, compare_papers, content_hash

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from digest.papers import Paper

MARGIN = timedelta(hours=1)
"""How far the time of an answer may be behind ours: so long arXiv's caches keep lists, and clocks differ."""


@dataclass(frozen=True, slots=True)
class PastText:
    """A text that was stored before the moment.

    Attributes:
        paper: the paper as it read.
        content_hash: the text's.
        stored_at: when it was stored (UTC).
        is_dated: whether the release that stored it kept datestamps; they come with the version history.
    """

    paper: Paper
    content_hash: str
    stored_at: datetime
    is_dated: bool


@dataclass(frozen=True, slots=True)
class Past:
    """What the store still shows of a paper that was known before the moment.

    Attributes:
        texts: those stored before it, oldest first; at least one.
        present: which of them is the paper's text today; None where one that came later is.
        datestamp: of the state of today; see `KnownPaper`.
        as_of: of the state of today; see `KnownPaper`.
    """

    texts: tuple[PastText, ...]
    present: int | None
    datestamp: date | None
    as_of: datetime | None


def list_states(past: Past, since: datetime, *, was_harvested: bool) -> tuple[KnownPaper, ...]:
    """Return the states a paper may have been in before a moment, the likeliest first; one where it is sure.

    Their `version_id` is the text's place in `past.texts`; their `key` says nothing.

    Args:
        past: what is still to be seen.
        since: the moment (UTC); answers older than it by more than `MARGIN` are taken to be from before it.
        was_harvested: whether any harvest was made before it: only those tell datestamps.
    """
    if past.present is not None and past.as_of is not None and past.as_of < since - MARGIN:
        return (_make_state(past, past.present, past.datestamp, past.as_of),)
    highest = max(text.paper.version for text in past.texts)
    latest = [place for place, text in enumerate(past.texts) if text.paper.version == highest]
    states = [
        _make_state(past, place, datestamp, as_of)
        for place in reversed(latest)
        for datestamp, as_of in _list_dates(
            past, place, since, came_back=len(latest) > 1, was_harvested=was_harvested
        )
    ]
    if past.present is not None and (past.as_of is None or past.as_of < since):
        states.insert(0, _make_state(past, past.present, past.datestamp, past.as_of))
    return tuple(dict.fromkeys(states))


def meet_states(
    states: Sequence[KnownPaper], papers: Sequence[Paper], as_of: datetime | None
) -> tuple[KnownPaper, ...] | None:
    """Let a paper as it came meet each of its possible states; what is stored is news whoever looks.

    Args:
        states: as `list_states` or this function returned them.
        papers: the paper as it came, as often as its page holds it.
        as_of: arXiv's own time of the page (UTC).

    Returns:
        The states it may be in afterwards; None where what comes of it depends on which it was in.
    """
    outcomes: set[tuple[object, ...]] = set()
    after: list[KnownPaper] = []
    for state in states:
        before = content_hash(state.paper)
        changes = compare_papers(papers, {state.paper.id: state}, Horizon(), as_of)
        outcomes.add(tuple((change.kind, change.fields, content_hash(change.paper), before) for change in changes))
        after += [
            replace(state, paper=change.paper, as_of=as_of, earlier=state.earlier | {before}) for change in changes
        ] or [state]
    return tuple(dict.fromkeys(after)) if len(outcomes) == 1 else None


def _make_state(past: Past, place: int, datestamp: date | None, as_of: datetime | None) -> KnownPaper:
    others = frozenset(text.content_hash for number, text in enumerate(past.texts) if number != place)
    paper = replace(past.texts[place].paper, datestamp=datestamp)
    return KnownPaper(key=0, version_id=place, paper=paper, as_of=as_of, earlier=others)


def _list_dates(
    past: Past, place: int, since: datetime, *, came_back: bool, was_harvested: bool
) -> list[tuple[date | None, datetime]]:
    """Return the dates a state of this text may have had: the likeliest first, and the extremes.

    A text keeps the version history it came with, or that of the version before it: so one whose history knows its
    version came by a harvest. Any other came by a search; but where texts come back, a harvest may have told a
    datestamp and stored no text.
    """
    text = past.texts[place]
    moments = [text.stored_at, text.stored_at - MARGIN, *([since] if came_back else [])]
    days: list[date | None] = []
    if any(other.paper.versions for other in past.texts) or (was_harvested and len(past.texts) > 1):
        days = [*(moment.astimezone(UTC).date() for moment in (moments[0], moments[-1])), date.min]
    is_harvested = any(version.number == text.paper.version for version in text.paper.versions)
    if not (is_harvested and text.is_dated):
        days.append(None)
    return list(product(days, moments))
