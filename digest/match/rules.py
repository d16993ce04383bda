"""Decides which changes a subscription gets, what it excludes, and what a first digest holds.

To exclude a query is to read each saved query of this subscription, and of no other, as if it ended
in `ANDNOT (…)`. So a paper that stops being excluded is new to the subscription, and one that
begins to be is gone from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain, zip_longest
from typing import Any

from digest.model.announcements import Kind, StoredChange
from digest.model.errors import QueryError
from digest.model.messages import FIRST_DIGEST_PAPERS
from digest.model.papers import ArxivId, Paper
from digest.model.subscriptions import ActiveRevision, QueryOutcome, Subscription
from digest.query import (
    AnalysedPaper,
    IndexedPaper,
    PaperIndex,
    Query,
    analyse,
    matches,
    parse_query,
)

_SENT_AGAIN = {Kind.REPLACEMENT, Kind.WITHDRAWAL}

QUERY_LISTS = {
    "queries": "follows",
    "exclude": "excludes",
    "read_first": "reads first",
    "read_last": "reads last",
}
"""What of a subscription are queries, and what it does to them."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What one subscription excludes."""

    papers: frozenset[ArxivId] = frozenset()
    queries: tuple[Query, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.papers or self.queries)

    def find_cause(self, paper: Paper) -> str:
        """Return what excludes a paper, in the words of `digest.toml`; "" if nothing does."""
        if paper.id in self.papers:
            return f"exclude_papers names {paper.id}"
        ready = analyse(paper)
        for query in self.queries:
            if matches(query, ready):
                return f"exclude = {query.text}"
        return ""

    def excludes(self, paper: Paper | None) -> bool:
        """Return whether there is a paper, and it is excluded."""
        return paper is not None and self.find_cause(paper) != ""

    def covers(self, change: StoredChange) -> bool:
        """Return whether a change is not shown.

        Its paper is excluded, or was until it was withdrawn.
        """
        if self.excludes(change.paper):
            return True
        return change.kind is Kind.WITHDRAWAL and self.excludes(change.previous)


def read_exclusion(subscription: Subscription) -> Exclusion:
    """Return what a subscription excludes.

    An unreadable query excludes nothing, since nothing may be lost.
    """
    return _read(subscription.exclude, subscription.exclude_papers)


@lru_cache(maxsize=2**10)
def _read(texts: tuple[str, ...], papers: tuple[ArxivId, ...]) -> Exclusion:
    queries = tuple(filter(None, map(read_saved, texts)))
    return Exclusion(frozenset(papers), queries)


def find_unreadable(texts: Iterable[str], named: Collection[str] = ()) -> dict[str, QueryError]:
    """Return queries that can't be read, each with what is wrong, except those of some names."""
    problems = {}
    for text in texts:
        if text in named:
            continue
        try:
            parse_query(text)
        except QueryError as error:
            problems[text] = error
    return problems


def list_met(named: Iterable[str], texts: Mapping[str, str], paper: AnalysedPaper) -> list[str]:
    """Return which queries a paper matches, each a text or the name of a saved query in `texts`."""
    met: list[str] = []
    for name in named:
        query = read_saved(texts.get(name, name))
        if query is not None and matches(query, paper):
            met.append(name)
    return met


def find_unread(subscription: Subscription, named: Collection[str]) -> list[tuple[str, QueryError]]:
    """Return which texts of a subscription can't be read, and why; not those of `named`."""
    unread: list[tuple[str, QueryError]] = []
    for key, verb in QUERY_LISTS.items():
        problems = find_unreadable(getattr(subscription, key), named)
        said = f"what {subscription.name} {verb}"
        unread += [(said, problem) for problem in problems.values()]
    return unread


def keep_readable(
    written: Subscription,
    before: Subscription,
    lost: Collection[str],
) -> Subscription:
    """Return a subscription that goes on, list by list, with what it had beside what can't be read.

    `lost` are the queries, and the sources of libraries, that can't be read now.
    """
    lists: dict[str, Any] = {}
    for key in (*QUERY_LISTS, "library", "not_like"):
        has = getattr(written, key)
        if any(one in lost for one in has):
            had = [one for one in getattr(before, key) if one not in lost]
            lists[key] = tuple(dict.fromkeys([*has, *had]))
    return replace(written, **lists)


def exclude_changes(
    outcome: QueryOutcome, exclusion: Exclusion, changes: Mapping[int, StoredChange]
) -> QueryOutcome:
    """Return what a run of changes means to a saved query with its exclusions."""
    if not exclusion:
        return outcome
    hidden: set[int] = set()
    for id_ in (*outcome.new, *outcome.changed):
        if exclusion.excludes(changes[id_].paper):
            hidden.add(id_)
    was_hidden: set[int] = set()
    for id_ in (*outcome.changed, *outcome.gone):
        if exclusion.excludes(changes[id_].previous):
            was_hidden.add(id_)
    changed = set(outcome.changed)
    entered = changed & was_hidden - hidden
    left = changed & hidden - was_hidden
    return QueryOutcome(
        new=tuple(sorted(set(outcome.new) - hidden | entered)),
        changed=tuple(sorted(changed - hidden - was_hidden)),
        gone=tuple(sorted(set(outcome.gone) - was_hidden | left)),
    )


def readable(revisions: Iterable[ActiveRevision]) -> list[tuple[ActiveRevision, Query]]:
    """Return the revisions whose text can be read.

    The others are shown by `digest status` until they are mended.
    """
    pairs: list[tuple[ActiveRevision, Query]] = []
    for revision in revisions:
        query = read_saved(revision.text)
        if query is not None:
            pairs.append((revision, query))
    return pairs


@lru_cache(maxsize=2**14)
def read_saved(text: str) -> Query | None:
    """Return a saved query by its text, None if it can't be read."""
    try:
        return parse_query(text)
    except QueryError:
        return None  # kept as the revision's `problem` when it was stored, and shown there


def index_changes(changes: Sequence[StoredChange], words: Mapping[int, IndexedPaper]) -> PaperIndex:
    """Index the papers of changes; after them those that were replaced.

    `words` are those that were read before, by the keys of their texts.
    """
    papers = [words.get(change.text_key, change.paper) for change in changes]
    replaced = [
        words.get(change.previous_key, change.previous)
        for change in changes
        if change.previous is not None
    ]
    return PaperIndex([*papers, *replaced])


def match_changes(
    changes: Sequence[StoredChange],
    revisions: Collection[ActiveRevision],
    index: PaperIndex | None = None,
) -> dict[int, QueryOutcome]:
    """Hold changes against queries; return outcomes by revision id, only of those with any.

    Equal queries (one canonical text) are evaluated once. `index` is what `index_changes` makes of
    the changes.
    """
    queries = {revision.canonical: query for revision, query in readable(revisions)}
    replaced = [place for place, change in enumerate(changes) if change.previous is not None]
    if index is None:
        index = index_changes(changes, {})
    by_text: dict[str, QueryOutcome] = {}
    for text, met in zip(queries, index.find(queries.values()), strict=True):
        if met:
            by_text[text] = _compare(changes, replaced, met)
    outcomes: dict[int, QueryOutcome] = {}
    for revision in revisions:
        if revision.canonical in by_text:
            whole = by_text[revision.canonical]
            outcome = _drop_earlier(whole, revision.active_from_change)
            if outcome:
                outcomes[revision.id] = outcome
    return outcomes


def _compare(
    changes: Sequence[StoredChange], replaced: Sequence[int], met: Iterable[int]
) -> QueryOutcome:
    """Return what a query meets as an outcome.

    `met` are numbers of the changes' papers, then of those that were replaced.
    """
    now: set[int] = set()
    before: set[int] = set()
    for number in met:
        if number < len(changes):
            now.add(number)
        else:
            before.add(replaced[number - len(changes)])
    return QueryOutcome(
        new=_list_ids(changes, now - before),
        changed=_list_ids(changes, now & before),
        gone=_list_ids(changes, before - now),
    )


def _list_ids(changes: Sequence[StoredChange], places: Iterable[int]) -> tuple[int, ...]:
    return tuple(changes[place].id for place in sorted(places))


def _drop_earlier(outcome: QueryOutcome, mark: int) -> QueryOutcome:
    """Return what of an outcome was found after a query was saved."""
    return QueryOutcome(
        new=_list_later(outcome.new, mark),
        changed=_list_later(outcome.changed, mark),
        gone=_list_later(outcome.gone, mark),
    )


def _list_later(ids: Iterable[int], mark: int) -> tuple[int, ...]:
    return tuple(id_ for id_ in ids if id_ > mark)


def select_for_subscription(
    kinds: Iterable[Kind],
    outcomes: Iterable[QueryOutcome],
    kind_of: Mapping[int, Kind],
    overtaken: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the change ids a subscription gets: those of its kinds, in growing order.

    A cross-list or an edit is shown only if it brings the paper into a query; inside a query that
    held the paper already it is not new. It needs the kind cross-listed either way. A withdrawal is
    shown even if its last text no longer matches: somebody may have read the paper.

    Args:
        overtaken: replacements of papers that came out and were replaced before a check (see
            `is_overtaken`): a subscription to new papers gets them too, since nothing else would
            bring them.
    """
    wanted = set(kinds)
    entering = wanted - {Kind.METADATA}
    if Kind.CROSS_LIST in wanted:
        entering.add(Kind.METADATA)
    again = wanted & _SENT_AGAIN
    leaving = wanted & {Kind.WITHDRAWAL}
    chosen: set[int] = set()
    for outcome in outcomes:
        chosen.update(id_ for id_ in outcome.new if kind_of[id_] in entering)
        if Kind.NEW in wanted:
            chosen.update(id_ for id_ in outcome.new if id_ in overtaken)
        chosen.update(id_ for id_ in outcome.changed if kind_of[id_] in again)
        chosen.update(id_ for id_ in outcome.gone if kind_of[id_] in leaving)
    return tuple(sorted(chosen))


def is_overtaken(change: StoredChange, mark: tuple[int, int], since: datetime | None) -> bool:
    """Whether a replacement is the first change that could be met of its paper.

    The paper came out since somebody watches.

    Args:
        mark: announcement order of the newest paper at the first harvest; (0, 0) without one.
        since: when the source was first checked (UTC); None before.
    """
    if change.kind is not Kind.REPLACEMENT or change.previous is not None or change.fields:
        return False  # an earlier version was met, also of a paper that was forgotten since
    if mark > (0, 0):
        return change.paper.id.announcement_order > mark
    return since is not None and change.paper.published >= since


def choose_first_digest(
    candidates: Iterable[StoredChange], days: int, now: datetime
) -> tuple[StoredChange, ...]:
    """Return the papers a new saved query shows once: the last `days` days.

    The newest 15 if those hold fewer. `candidates` are the newest change of each paper that
    matches. A paper counts by the submission of its present version: the stored history has no
    announcement dates from before Digest first checked arXiv.
    """
    if days <= 0:
        return ()
    newest = sorted(candidates, key=_by_submission, reverse=True)
    since = now - timedelta(days=days)
    recent = [change for change in newest if change.paper.updated >= since]
    if len(recent) >= FIRST_DIGEST_PAPERS:
        return tuple(recent)
    return tuple(newest[:FIRST_DIGEST_PAPERS])


def _by_submission(change: StoredChange) -> tuple[datetime, ArxivId]:
    return change.paper.updated, change.paper.id


def choose_sample(found: Iterable[Sequence[StoredChange]]) -> tuple[StoredChange, ...]:
    """Return the papers of one first digest: at most 15 of what each query found, in turns.

    The newest come first.
    """
    sample: dict[int, StoredChange] = {}
    for change in chain.from_iterable(zip_longest(*found)):
        if change is not None and len(sample) < FIRST_DIGEST_PAPERS:
            sample.setdefault(change.paper_key, change)
    return tuple(sample.values())
