"""What a subscription never wants to hear of: some papers, and whatever some queries bring.

To exclude a query is to read each saved query of this subscription, and of no other, as if it ended in
`ANDNOT (…)`. So a paper that stops being excluded is new to the subscription, and one that begins to be
is gone from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.errors import QueryError
from digest.matching import QueryOutcome
from digest.query import analyse, matches, parse_query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from digest.comparing import StoredChange
    from digest.papers import ArxivId, Paper
    from digest.query import Query
    from digest.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What one subscription excludes.

    Attributes:
        papers: by id, in whichever version.
        queries: those that can be read.
        problems: texts that can't be read and exclude nothing, each with what is wrong.
    """

    papers: frozenset[ArxivId] = frozenset()
    queries: tuple[Query, ...] = ()
    problems: tuple[tuple[str, QueryError], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.papers or self.queries)

    def find_cause(self, paper: Paper) -> str:
        """Return what excludes a paper, in the words of `digest.toml`; "" where nothing does."""
        if paper.id in self.papers:
            return f"exclude_papers names {paper.id}"
        if not self.queries:
            return ""
        ready = analyse(paper)
        return next((f"exclude = {query.text}" for query in self.queries if matches(query, ready)), "")

    def covers(self, change: StoredChange) -> bool:
        """Tell whether a change is not told: its paper is excluded, or was until it was withdrawn."""
        if self.find_cause(change.paper):
            return True
        was = change.previous if change.kind is Kind.WITHDRAWAL else None
        return was is not None and bool(self.find_cause(was))


def read_exclusion(subscription: Subscription) -> Exclusion:
    """Return what a subscription excludes; an unreadable query excludes nothing, since nothing may be lost."""
    if not (subscription.exclude or subscription.exclude_papers):
        return _NOTHING
    return _read(subscription.exclude, subscription.exclude_papers)


_NOTHING = Exclusion()


@lru_cache(maxsize=2**10)
def _read(texts: tuple[str, ...], papers: tuple[ArxivId, ...]) -> Exclusion:
    queries, problems = [], []
    for text in texts:
        try:
            queries.append(parse_query(text))
        except QueryError as error:
            problems.append((text, error))
    return Exclusion(frozenset(papers), tuple(queries), tuple(problems))


def exclude_changes(
    outcome: QueryOutcome, exclusion: Exclusion, changes: Mapping[int, StoredChange]
) -> QueryOutcome:
    """Return what a run of changes means to a saved query with its exclusions.

    Args:
        outcome: what it means without them.
        exclusion: of one subscription.
        changes: the run's, by id.
    """
    if not exclusion:
        return outcome
    hidden = {id_ for id_ in (*outcome.new, *outcome.changed) if exclusion.find_cause(changes[id_].paper)}
    was_hidden = {id_ for id_ in (*outcome.changed, *outcome.gone) if _was_hidden(changes[id_], exclusion)}
    entered = [id_ for id_ in outcome.changed if id_ in was_hidden - hidden]
    left = [id_ for id_ in outcome.changed if id_ in hidden - was_hidden]
    return QueryOutcome(
        new=_order(outcome.new, hidden, entered),
        changed=_order(outcome.changed, hidden | was_hidden),
        gone=_order(outcome.gone, was_hidden, left),
    )


def _was_hidden(change: StoredChange, exclusion: Exclusion) -> bool:
    return change.previous is not None and bool(exclusion.find_cause(change.previous))


def _order(ids: Iterable[int], without: set[int], besides: Iterable[int] = ()) -> tuple[int, ...]:
    return tuple(sorted({*ids} - without | {*besides}))
