"""Matches all changes not yet matched, and gives new saved queries their first digest.

However many first digests are owed, what is stored is read once; those of a subscription are then
given in one transaction, so that a process that dies in between has made some of them and owes the
others.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from sqlalchemy import Connection

from digest.interest.step import Interests
from digest.interest.tables import load_ordered
from digest.match.rules import (
    Exclusion,
    choose_first_digest,
    choose_sample,
    exclude_changes,
    index_changes,
    is_overtaken,
    match_changes,
    read_exclusion,
    readable,
    select_for_subscription,
)
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import CadenceKind
from digest.model.messages import Occasion
from digest.model.numbers import count
from digest.model.polls import Source
from digest.model.subscriptions import RETURNS_WITHIN, DueSubscription, QueryOutcome
from digest.query import PaperIndex
from digest.site import Site
from digest.store import changes, matches, papers, queries, runs, subscriptions, words
from digest.store.matches import FirstDigest
from digest.store.papers import MATCHED

_PAPERS_AT_ONCE: Final = 4_000
"""Stored papers held against the queries together."""

BATCH = 4000
"""Changes matched at once: bounds memory, and the work lost to a crash."""


def make_first_digests(site: Site, awaiting: Collection[str], report: MatchReport) -> None:
    """Make every first digest that is owed and can be made now: each subscription has one."""
    at = site.clock.now()
    with site.store.read() as conn:
        owed_digests = _find_ready(conn, site, matches.load_first_digests(conn), awaiting)
        if not owed_digests:
            return
        candidates = _find_candidates(conn, owed_digests, at)
        ordered = load_ordered(conn)
    interests = Interests(site.config)
    found = zip(owed_digests, candidates, strict=True)
    for id_, group in itertools.groupby(found, key=_by_subscription):
        together = list(group)
        lists = [chosen for _, chosen in together]
        if id_ in ordered:
            every: dict[int, StoredChange] = {}
            for chosen in lists:
                every |= {change.paper_key: change for change in chosen}
            first_digest, _ = together[0]
            newest = choose_first_digest(every.values(), first_digest.days, at)
            with site.store.read() as conn:
                for due in subscriptions.load(conn, [id_]):
                    lists = interests.sort(conn, due, newest) or lists
        with site.store.begin() as conn:
            _make_first_digest(conn, id_, choose_sample(lists), report, at)


def _by_subscription(found: tuple[FirstDigest, Sequence[StoredChange]]) -> int:
    first_digest, _ = found
    return first_digest.subscription_id


def _find_ready(
    conn: Connection,
    site: Site,
    owed: Sequence[FirstDigest],
    awaiting: Collection[str],
) -> list[FirstDigest]:
    """Return those whose source was read to its end, if none of their subscription is awaited."""
    source = Source(site.config.arxiv.source)
    cursors = runs.load_cursors(conn, source)
    checked = {key for key, cursor in cursors.items() if cursor.last_complete_at}
    is_all_checked = "" in checked
    waiting = {one.subscription_id for one in owed if one.revision.canonical in awaiting}
    ready: list[FirstDigest] = []
    for first_digest in owed:
        is_checked = source is Source.QUERY and first_digest.revision.canonical in checked
        if first_digest.subscription_id in waiting:
            continue
        if is_all_checked or is_checked:
            ready.append(first_digest)
    return ready


def _find_candidates(
    conn: Connection, owed_digests: Sequence[FirstDigest], at: datetime
) -> list[list[StoredChange]]:
    """Return the papers that each first digest may hold, as `choose_first_digest` leaves them."""
    kept: list[list[StoredChange]] = [[] for _ in owed_digests]
    wanted = [first_digest for first_digest in owed_digests if first_digest.days > 0]
    if not wanted:
        return kept
    revisions = [first_digest.revision for first_digest in wanted]
    queries = {revision.canonical: query for revision, query in readable(revisions)}
    ids = {first_digest.subscription_id for first_digest in wanted}
    theirs = subscriptions.load(conn, sorted(ids))
    exclusions = {stored.id: read_exclusion(stored.subscription) for stored in theirs}
    by_text: dict[str, list[int]] = defaultdict(list)
    for number, first_digest in enumerate(owed_digests):
        if first_digest.days > 0:
            by_text[first_digest.revision.canonical].append(number)
    latest = changes.list_latest(conn)
    coming = words.walk(conn, latest)
    while batch := dict(itertools.islice(coming, _PAPERS_AT_ONCE)):
        change_ids = [latest[key] for key in batch]
        index = PaperIndex(batch.values())
        answers = list(index.find(queries.values()))
        meant = set[int]().union(*answers)
        loaded = changes.load(conn, [change_ids[place] for place in meant])
        for text, met in zip(queries, answers, strict=True):
            if not met:
                continue
            found = [loaded[change_ids[place]] for place in met]
            for number in by_text[text]:
                first_digest = owed_digests[number]
                id_ = first_digest.subscription_id
                exclusion = exclusions.get(id_, Exclusion())
                included = [one for one in found if not exclusion.excludes(one.paper)]
                fresh = _drop_seen(conn, id_, included)
                # What is chosen of a part and the next part is what would be chosen of both.
                chosen = choose_first_digest([*kept[number], *fresh], first_digest.days, at)
                kept[number] = list(chosen)
    return kept


def _drop_seen(
    conn: Connection,
    subscription_id: int,
    found: Sequence[StoredChange],
) -> list[StoredChange]:
    keys = [change.paper_key for change in found]
    seen = matches.load_seen_papers(conn, subscription_id, keys)
    return [change for change in found if change.paper_key not in seen]


def _make_first_digest(
    conn: Connection,
    subscription_id: int,
    sample: Sequence[StoredChange],
    report: MatchReport,
    at: datetime,
) -> None:
    occasion = Occasion.FIRST_DIGEST
    # Nobody else matches meanwhile, nor gives another first digest of this subscription.
    mark = papers.load_mark(conn, MATCHED, lock=True)
    run_id = matches.begin_run(conn, from_change=0, to_change=mark, at=at, occasion=occasion)
    if not matches.close_first_digest(conn, subscription_id, run_id):
        return
    # What this subscription was shown meanwhile by another process stays out.
    chosen = _drop_seen(conn, subscription_id, sample)
    ids = tuple(sorted(change.id for change in chosen))
    matches.save(conn, run_id, {subscription_id: ids}, at=at, occasion=occasion)
    if ids:
        report.first_digests += 1
    report.first_digest_papers.update(change.paper_key for change in chosen)


@dataclass
class MatchReport:
    """What one pass matched.

    Attributes:
        by_query: new papers that entered or changed, by saved query's name.
        news: the distinct changes among these -> the keys of their papers.
        papers: distinct papers chosen for any subscription.
        excluded: distinct papers that some subscription excludes.
        first_digests: how many first digests that hold any paper were given.
        first_digest_papers: the papers of these, which are among `papers`.
    """

    changes: int = 0
    by_query: dict[str, int] = field(default_factory=dict)
    news: dict[int, int] = field(default_factory=dict)
    papers: set[int] = field(default_factory=set)
    excluded: set[int] = field(default_factory=set)
    first_digests: int = 0
    first_digest_papers: set[int] = field(default_factory=set)

    def describe(self) -> str:
        """Say what each saved query brought, how much in all, and what first digests hold."""
        news = self._describe_news()
        if self.first_digest_papers:
            papers = count(len(self.first_digest_papers), "paper")
            owed_digests = f"{papers} for a first digest"
            return f"{news}, and {owed_digests}" if news else owed_digests
        if news:
            return news
        return "nothing new for any saved query" if self.changes else "nothing new to match"

    def _describe_news(self) -> str:
        brought = {name: number for name, number in self.by_query.items() if number}
        if not brought:
            return ""
        papers = set(self.news.values())
        said = count(len(papers), "paper")
        if len(brought) == 1:
            (name,) = brought
            said = f"{name}: {said}"
        else:
            total = sum(brought.values())
            if total != len(papers):
                said = f"{count(total, 'match', 'matches')}, {said}"
            each = " · ".join(f"{name} {number}" for name, number in brought.items())
            said = f"{each} = {said}"
        if self.excluded:
            said += f", {len(self.excluded)} excluded by a subscription"
        left = papers - self.papers - self.excluded
        if left:
            said += f", {count(len(left), 'paper')} that no subscription takes"
        return said

    def add(
        self,
        outcomes: Mapping[int, QueryOutcome],
        names: Mapping[int, str],
        by_id: Mapping[int, StoredChange],
    ) -> None:
        """Count the new papers that saved queries brought: `outcomes` and `names` by revision."""
        for revision_id, outcome in outcomes.items():
            if revision_id not in names:
                continue
            name = names[revision_id]
            news: dict[int, int] = {}
            for id_ in (*outcome.new, *outcome.changed):
                if by_id[id_].kind is not Kind.KNOWN:
                    news[id_] = by_id[id_].paper_key
            self.by_query[name] = self.by_query.get(name, 0) + len(news)
            self.news.update(news)


def match(site: Site, *, first_digests: bool = True, awaiting: Collection[str] = ()) -> MatchReport:
    """Match what was found since the last pass, then give new saved queries their first digest.

    Args:
        first_digests: False while arXiv could not be asked: a first digest that shows nothing for
            want of papers would be the only one, so it stays owed.
        awaiting: canonical queries whose first digests stay owed all the same.
    """
    report = MatchReport()
    while _match_batch(site, report):
        site.progress.update(f"{report.changes:,} changes")
    if first_digests:
        make_first_digests(site, awaiting, report)
        report.papers |= report.first_digest_papers
    return report


def _match_batch(site: Site, report: MatchReport) -> bool:
    """Match the next changes, or find that others did meanwhile; return False if there are none."""
    # What left the file may be there again within a while, and must have lost nothing.
    ended_since = site.clock.now() - RETURNS_WITHIN
    with site.store.read() as conn:
        mark = papers.load_mark(conn, MATCHED)
        found = changes.load_after(conn, mark, BATCH)
        names = {revision.id: revision.name for revision in queries.active_revisions(conn)}
        revisions = queries.active_revisions(conn, ended_since=ended_since)
        texts = [change.text_key for change in found]
        replaced = [change.previous_key for change in found]
        read = words.load(conn, [*texts, *replaced])
    if not found:
        return False
    index = index_changes(found, read)
    outcomes = match_changes(found, revisions, index)
    days: dict[date, list[int]] = {}
    for number, change in enumerate(found):
        if change.kind is Kind.NEW:
            days.setdefault(change.announced, []).append(number)
    with site.store.read() as conn:
        leasts = Interests(site.config).measure_least(conn, days, index)
    at = site.clock.now()
    last_change = found[-1].id
    by_id = {change.id: change for change in found}
    with site.store.begin() as conn:
        now_at = papers.load_mark(conn, MATCHED, lock=True)
        met = [revision.query_id for revision in revisions if revision.id in outcomes]
        followers = subscriptions.load_followers(conn, met)
        askers = subscriptions.load(conn, followers, ended_since=ended_since)
        # Last: on PostgreSQL an edit may come between two readings, and what was read before it is
        # what counts.
        if now_at != mark or queries.active_revisions(conn, ended_since=ended_since) != revisions:
            return True
        run_id = matches.begin_run(
            conn, from_change=mark, to_change=last_change, at=at, occasion="poll"
        )
        matches.save_for_query(conn, run_id, outcomes)
        for day, least in leasts.items():
            subscriptions.save_least(conn, day, least)
        overtaken = find_overtaken(conn, site.config.arxiv.source, found)
        chosen = _choose_for_askers(askers, outcomes, by_id, overtaken, report)
        matches.save(conn, run_id, chosen, at=at, occasion="scheduled")
        at_once = [stored.id for stored in askers if _is_at_once(stored) and stored.id in chosen]
        subscriptions.make_due(conn, at_once, at)
        matches.set_matched_mark(conn, last_change, expected=mark)
    report.changes += len(found)
    report.add(outcomes, names, by_id)
    for ids in chosen.values():
        report.papers.update(by_id[id_].paper_key for id_ in ids)
    return True


def _choose_for_askers(
    askers: Iterable[DueSubscription],
    outcomes: Mapping[int, QueryOutcome],
    by_id: Mapping[int, StoredChange],
    overtaken: Collection[int],
    report: MatchReport,
) -> dict[int, tuple[int, ...]]:
    """Return the changes that each subscription gets, by its id; report what they exclude."""
    kind_of = {id_: change.kind for id_, change in by_id.items()}
    chosen: dict[int, tuple[int, ...]] = {}
    for stored in askers:
        kinds = stored.subscription.kinds
        exclusion = read_exclusion(stored.subscription)
        found = [outcomes[revision.id] for revision in stored.revisions if revision.id in outcomes]
        included = [exclude_changes(outcome, exclusion, by_id) for outcome in found]
        ids = select_for_subscription(kinds, included, kind_of, overtaken)
        if exclusion:
            unfiltered = select_for_subscription(kinds, found, kind_of, overtaken)
            excluded = set(unfiltered) - set(ids)
            report.excluded.update(by_id[id_].paper_key for id_ in excluded)
        if ids:
            chosen[stored.id] = ids
    return chosen


def _is_at_once(stored: DueSubscription) -> bool:
    subscription = stored.subscription
    return subscription.cadence.kind is CadenceKind.AT_ONCE and subscription.has_digests


def find_overtaken(
    conn: Connection, source: str, changes: Iterable[StoredChange]
) -> frozenset[int]:
    """Return the changes that are all there ever was to meet of a paper.

    It was replaced while nobody checked.
    """
    cursors = runs.load_cursors(conn, source).values()
    starts = [cursor.bootstrapped_at for cursor in cursors if cursor.bootstrapped_at]
    began = min(starts, default=None)
    mark = (0, 0)
    if source == Source.HARVEST:
        marks = [(cursor.mark_month, cursor.mark_number) for cursor in cursors]
        mark = max(marks, default=mark)
    return frozenset(change.id for change in changes if is_overtaken(change, mark, began))
