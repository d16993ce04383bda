"""Which saved query matched which change: the decision between comparing and planning.

A change is held against every query active when it was found, and against what the paper was
before: that tells what entered a query (new), what stayed in it with other words (changed) and what
left it (gone). The seen feed shows these; subscriptions take from them what their kinds ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.query import StandingQueries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from digest.comparing import StoredChange


@dataclass(frozen=True, slots=True)
class ActiveRevision:
    """A saved query as it reads now.

    Attributes:
        id: the revision's key: another text is another revision.
        query_id: the saved query's key, the same over all revisions.
        name: its name.
        text: as written, or in its one form where what is written can't be read any more.
        canonical: as printed; equal queries have equal canonical texts.
        active_from_change: changes above this id are matched against it.
    """

    id: int
    query_id: int
    name: str
    text: str
    canonical: str
    active_from_change: int


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """What a run of changes means to one saved query, as change ids in growing order.

    Attributes:
        new: the paper matches now and did not before (or was never stored before).
        changed: it matched before and still does.
        gone: it matched before and does not any more.
    """

    new: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()
    gone: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def match_changes(
    changes: Sequence[StoredChange], revisions: Iterable[ActiveRevision], standing: StandingQueries | None = None
) -> dict[int, QueryOutcome]:
    """Hold changes against queries; return outcomes by revision id, only of those with any.

    Equal queries (one canonical text) are evaluated once, and where there is much to do all of them together.

    Args:
        changes: what was found.
        revisions: the saved queries in force.
        standing: the same queries as they were kept from the batch before, where there was one.
    """
    active = list(revisions)
    standing = standing or StandingQueries()
    standing.keep({revision.canonical: revision.text for revision in active})
    replaced = [place for place, change in enumerate(changes) if change.previous is not None]
    papers = [change.paper for change in changes]
    papers += [change.previous for change in changes if change.previous is not None]
    by_text = {text: _compare(changes, replaced, met) for text, met in standing.hold(papers)}
    outcomes = {
        revision.id: _drop_earlier(by_text[revision.canonical], revision.active_from_change)
        for revision in active
        if revision.canonical in by_text
    }
    return {id_: outcome for id_, outcome in outcomes.items() if outcome}


def _compare(changes: Sequence[StoredChange], replaced: Sequence[int], met: Iterable[int]) -> QueryOutcome:
    """Return what a query meets as an outcome: of the changes' papers, then of those that were replaced."""
    found = set(met)
    now = {place for place in found if place < len(changes)}
    before = {replaced[place - len(changes)] for place in found - now}
    new, changed, gone = (
        tuple(changes[place].id for place in sorted(places))
        for places in (now - before, now & before, before - now)
    )
    return QueryOutcome(new, changed, gone)


def _drop_earlier(outcome: QueryOutcome, mark: int) -> QueryOutcome:
    """Return what of an outcome came of changes above a mark."""
    kinds = (outcome.new, outcome.changed, outcome.gone)
    return QueryOutcome(*(tuple(id_ for id_ in ids if id_ > mark) for ids in kinds))


def select_for_subscription(
    kinds: Iterable[Kind],
    outcomes: Iterable[QueryOutcome],
    kind_of: Mapping[int, Kind],
    overtaken: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the change ids a subscription is told of: those of its kinds, in growing order.

    A cross-list or an edit is told only where it brings the paper into a query; inside a query that
    held the paper already it is no news. It needs the kind cross-list either way. A withdrawal is
    told even where its last words no longer match: somebody may have read the paper.

    Args:
        kinds: what the subscription asks for.
        outcomes: of its saved queries.
        kind_of: the kind of each change.
        overtaken: replacements of papers that came out and were replaced before anybody looked (see
            `is_overtaken`): who asks for new papers is told of them, too, since nothing else would.
    """
    wanted = set(kinds)
    chosen: set[int] = set()
    for outcome in outcomes:
        chosen.update(id_ for id_ in outcome.new if _entering_kind(kind_of[id_]) in wanted)
        if Kind.NEW in wanted:
            chosen.update(id_ for id_ in outcome.new if id_ in overtaken)
        chosen.update(id_ for id_ in outcome.changed if kind_of[id_] in wanted & _TOLD_AGAIN)
        chosen.update(id_ for id_ in outcome.gone if kind_of[id_] in wanted & {Kind.WITHDRAWAL})
    return tuple(sorted(chosen))


def is_overtaken(change: StoredChange, mark: tuple[int, int], since: datetime | None) -> bool:
    """Whether a replacement is the first that could be met of a paper which came out since somebody watches.

    Args:
        change: what was found.
        mark: announcement order of the newest paper when the harvest first looked; (0, 0) without one.
        since: when the source first looked (UTC); None before.
    """
    if change.kind is not Kind.REPLACEMENT or change.previous is not None:
        return False
    if mark > (0, 0):
        return change.paper.id.announcement_order > mark
    return since is not None and change.paper.published >= since


_TOLD_AGAIN = {Kind.REPLACEMENT, Kind.WITHDRAWAL}


def _entering_kind(kind: Kind) -> Kind:
    return Kind.CROSS_LIST if kind is Kind.METADATA else kind
