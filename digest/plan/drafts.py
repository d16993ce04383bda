"""Drafts digests. What several subscriptions of a pass show alike is made once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from sqlalchemy import Connection

from digest.interest.step import Interests
from digest.match.rules import choose_sample, list_met, readable
from digest.model.announcements import Kind, StoredChange
from digest.model.cadences import CadenceKind
from digest.model.destinations import Destination
from digest.model.libraries import Near
from digest.model.messages import (
    Coverage,
    Digest,
    DigestEntry,
    EarlierDigest,
    Occasion,
    Seen,
    Share,
)
from digest.model.papers import ArxivId
from digest.model.subscriptions import ActiveRevision, DueSubscription, UncheckedTurn
from digest.plan.coverage import Coverages
from digest.plan.digests import Shown, find_last_papers, make_entry, plan_deliveries, plan_digest
from digest.plan.links import LinkMaker, make_links
from digest.plan.order import Precedence, find_near
from digest.poll.coverage import load_unchecked
from digest.query import AnalysedPaper, PaperIndex, Query, analyse
from digest.site import Site
from digest.store import backups, changes, digests, matches, papers, queries, words
from digest.store.digests import DigestDraft
from digest.store.matches import MatchRow

_KEPT_ENTRIES = 50_000
"""Entries kept at once: that gains nothing if all subscriptions have queries of their own."""

_KEPT_PAPERS = 3_000
"""Papers kept analysed from one batch of subscriptions to the next: a full day's, 26 KB each."""


class Drafts:
    """Makes the drafts of one pass.

    Attributes:
        coverages: what was checked, as this pass sees it.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self.source = site.config.arxiv.source
        self.now = site.clock.now()
        self.coverages = Coverages(self.source, self.now)
        self._interests = Interests(site.config)
        self._maker: LinkMaker | None = None
        self._scope = ""
        self._changes: Mapping[int, StoredChange] = {}
        self._texts: Mapping[str, str] = {}
        self._ready: dict[int, AnalysedPaper] = {}
        self._entries: dict[tuple[object, ...], DigestEntry] = {}

    def maker(self, conn: Connection) -> LinkMaker:
        """Return what makes this installation's addresses."""
        if self._maker is None:
            self._maker = make_links(conn, self._site.config)
        return self._maker

    def _find_scope(self, conn: Connection) -> str:
        """Return how the keys of messages begin: as no others do, and none of a lost database."""
        if not self._scope:
            self._scope = f"{self.maker(conn).installation}{backups.load_sent_until(conn) or ''}"
        return self._scope

    def read(self, conn: Connection, rows: Iterable[MatchRow]) -> None:
        """Read the changes that a batch of matches is about, before it is drafted."""
        ids = list_changes(rows)
        self._changes = changes.load(conn, ids)
        self._texts = {query.name: query.canonical or query.text for query in queries.load(conn)}
        if len(self._ready) > _KEPT_PAPERS:
            self._ready = {id_: self._ready[id_] for id_ in ids & self._ready.keys()}
        if len(self._entries) > _KEPT_ENTRIES:
            self._entries.clear()

    def sample(
        self, conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]
    ) -> list[MatchRow]:
        """Return of matches that were read those of a first digest.

        These are the nearest to a library, or the newest of each query.
        """
        latest: dict[int, StoredChange] = {}
        for row in rows:
            for id_ in row.changes:
                change = self._changes[id_]
                latest[change.paper_key] = change
        newest = sorted(latest.values(), key=_find_update, reverse=True)
        lists = self._interests.sort(conn, due, newest) or _list_by_query(conn, due, newest)
        chosen = {change.id for change in choose_sample(lists)}
        return keep_changes(rows, chosen)

    def draft(
        self,
        conn: Connection,
        due: DueSubscription,
        rows: Sequence[MatchRow],
        *,
        slot: str,
        occasion: Occasion,
        is_missed: bool = False,
        unchecked: tuple[UncheckedTurn, ...] = (),
        earlier: Sequence[EarlierDigest] = (),
        to: Sequence[Destination] | None = None,
    ) -> DigestDraft:
        """Make the digest of one subscription.

        Args:
            unchecked: turns that closed unchecked, which it tells.
            is_missed: it is sent as the turn before the last, and covers the announcement before
                the last, as far as no paper is of the last.
            earlier: without matches to show, what was sent before; see `Coverages.load_earlier`.
            to: destinations; None for all of the subscription.

        Raise `DigestError`: it cannot be planned, such as for a template that fails.
        """
        changes = [self._changes[id_] for id_ in sorted(list_changes(rows))]
        coverages = self.coverages
        coverage = coverages.load_missed(conn, changes) if is_missed else coverages.load(conn)
        if occasion is Occasion.SCHEDULED:
            coverage = self._add_earlier(conn, coverage, changes, due, earlier)
        asked = tuple([revision.id for revision in due.revisions])
        digest = plan_digest(
            due,
            changes,
            _read_queries(due.revisions),
            _load_seen(conn, due, changes),
            coverage,
            slot=slot,
            occasion=occasion,
            now=self.now,
            load_later=partial(_load_later, conn, changes),
            make=partial(self._recall_entry, conn, due, asked),
            rank=partial(self._rank, conn, due),
        )
        if occasion is Occasion.SCHEDULED and due.subscription.cadence.kind is CadenceKind.AT_ONCE:
            unchecked = self._load_unchecked(conn, due)
        digest = replace(digest, unchecked=unchecked)
        plans = plan_deliveries(
            digest,
            due.subscription.destinations if to is None else to,
            partial(self._divide, digest),
            scope=f"{self._find_scope(conn)}:{due.id}",
        )
        return DigestDraft(due.id, digest, plans, [row.match_run_id for row in rows])

    def _add_earlier(
        self,
        conn: Connection,
        coverage: Coverage,
        changes: Sequence[StoredChange],
        due: DueSubscription,
        earlier: Sequence[EarlierDigest],
    ) -> Coverage:
        """Add which announcements a digest is for, and when their papers were shown last."""
        extended = self.coverages.extend(conn, coverage, changes, due, earlier)
        if not earlier:
            return extended
        return replace(extended, last_shown_at=find_last_papers(extended, earlier))

    def _load_unchecked(self, conn: Connection, due: DueSubscription) -> tuple[UncheckedTurn, ...]:
        """Return which announcements since the last digest were not checked in time.

        A subscription without turns tells these in place of its turns.
        """
        last = digests.load_summaries(conn, subscription_ids=[due.id], limit=1)
        since = last[0].planned_at if last else due.created_at
        return tuple(one for one in load_unchecked(conn, self.source) if one.due_at > since)

    def _divide(self, digest: Digest, destination: Destination) -> tuple[Share | None, ...]:
        return self._site.renderer.divide(digest, destination)

    def _recall_entry(
        self,
        conn: Connection,
        due: DueSubscription,
        asked: tuple[int, ...],
        shown: Shown,
        queries: Mapping[str, Query],
    ) -> DigestEntry:
        """Return the entry of a paper as another digest with the same saved queries shows it."""
        found = tuple([change.id for change in shown.changes])
        key = found, asked, shown.seen, shown.occasion, shown.sequel
        entry = self._entries.get(key)
        if entry is None:
            entry = self._make_entry(shown, queries)
            if not entry.queries:  # what brought it reads otherwise now
                entry = self._make_entry(shown, _read_recorded(conn, due, found))
            self._entries[key] = entry
        return entry

    def _make_entry(self, shown: Shown, queries: Mapping[str, Query]) -> DigestEntry:
        last = shown.changes[-1]
        ready = self._ready.get(last.id)
        if ready is None:
            ready = analyse(last.paper)
            self._ready[last.id] = ready
        return make_entry(shown, queries, ready=ready)

    def _rank(
        self, conn: Connection, due: DueSubscription, entries: Sequence[DigestEntry]
    ) -> tuple[Sequence[DigestEntry], Precedence]:
        """Say what of a digest comes first and last, and what is near to what its reader keeps."""
        near = self._interests.judge(conn, due, entries)
        if near:
            entries = self._mark_near(due, near, entries)
        first = self._find_met(due.subscription.read_first, entries)
        last = self._find_met(due.subscription.read_last, entries)
        nearness = {id_: one.nearness for id_, one in near.items()}
        return entries, Precedence(first, last.keys(), nearness)

    def _mark_near(
        self, due: DueSubscription, near: Mapping[ArxivId, Near], entries: Sequence[DigestEntry]
    ) -> Sequence[DigestEntry]:
        """Note to what the nearest papers are near."""
        is_owner = self._site.config.find_reader(due.subscription) is not None
        top = {id_: one for id_, one in near.items() if one.is_top}
        if not top:
            return entries
        marked = []
        for entry in entries:
            found = top.get(entry.paper.id)
            near_to = find_near(found, is_owner=is_owner) if found else None
            marked.append(replace(entry, near=near_to))
        return marked

    def _find_met(self, named: Sequence[str], entries: Iterable[DigestEntry]) -> dict[ArxivId, str]:
        """Return the first of some queries that each paper matches, for those that match any."""
        found: dict[ArxivId, str] = {}
        if not named:
            return found
        for entry in entries:
            ready = self._ready.get(entry.change_id) or analyse(entry.paper)
            met = list_met(named, self._texts, ready)
            if met:
                found[entry.paper.id] = met[0]
        return found


def list_changes(rows: Iterable[MatchRow]) -> set[int]:
    """Return the ids of the changes that matches bring."""
    ids: set[int] = set()
    for row in rows:
        ids.update(row.changes)
    return ids


def keep_changes(rows: Iterable[MatchRow], kept: Collection[int]) -> list[MatchRow]:
    """Return matches with some changes alone; those without any of them are left out."""
    left = []
    for row in rows:
        changes = tuple([id_ for id_ in row.changes if id_ in kept])
        if changes:
            left.append(replace(row, changes=changes))
    return left


def _find_update(change: StoredChange) -> tuple[datetime, ArxivId]:
    return change.paper.updated, change.paper.id


def _list_by_query(
    conn: Connection, due: DueSubscription, newest: Sequence[StoredChange]
) -> list[Sequence[StoredChange]]:
    """Return of the newest changes those of each query, and then all of them."""
    read = words.load(conn, [change.text_key for change in newest])
    index = PaperIndex(read.get(change.text_key, change.paper) for change in newest)
    places = index.find(_read_queries(due.revisions).values())
    lists = [_choose(newest, met) for met in places]
    return [*lists, newest]


def _choose(changes: Sequence[StoredChange], places: Iterable[int]) -> Sequence[StoredChange]:
    return [changes[place] for place in places]


def _read_queries(revisions: Sequence[ActiveRevision]) -> dict[str, Query]:
    """Return saved queries by name, parsed, without those that can't be read.

    Of one name the last counts.
    """
    return {revision.name: query for revision, query in readable(revisions)}


def _read_recorded(
    conn: Connection, due: DueSubscription, change_ids: Collection[int]
) -> dict[str, Query]:
    """Return the subscription's saved queries as they read when they found any of some changes."""
    followed = [revision.query_id for revision in due.revisions]
    return _read_queries([one for _, one in matches.find_recorded(conn, change_ids, followed)])


def _load_seen(
    conn: Connection, due: DueSubscription, changes: Iterable[StoredChange]
) -> dict[int, Seen]:
    """Return what the reader saw before: nothing of papers that were never stored before."""
    known = [change.paper_key for change in changes if change.previous or change.kind is Kind.KNOWN]
    seen = matches.load_seen_versions(conn, due.id, known) if known else {}
    if not seen:
        return {}
    texts = papers.load_versions(conn, {one.key for one in seen.values()})
    return {key: replace(one, paper=texts[one.key]) for key, one in seen.items()}


def _load_later(
    conn: Connection, shown: Iterable[StoredChange]
) -> dict[int, tuple[StoredChange, ...]]:
    """Return what was found of papers after the last of these changes, by their keys."""
    last: dict[int, int] = {}
    for change in shown:
        last[change.paper_key] = max(change.id, last.get(change.paper_key, 0))
    later = {}
    for key, history in changes.load_earlier(conn, last.keys()).items():
        later[key] = tuple([change for change in history if change.id > last[key]])
    return later
