"""What a pass of planning has read already: a hundred thousand digests of one mailing read its papers once.

Everything here holds for one pass at one moment. Papers and changes never change once they are stored; what
was looked at is asked anew by the next pass.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import Kind, mailing_moment, mailings_between
from digest.messages import Occasion
from digest.pipeline.covering import load_coverage, reach_back
from digest.pipeline.links import make_links
from digest.pipeline.matching_step import readable
from digest.planning import (
    covered_since,
    find_last_papers,
    find_told_until,
    is_weekly,
    make_entry,
    plan_deliveries,
    plan_digest,
)
from digest.query import analyse
from digest.store import digests as digest_store
from digest.store import mailings as mailing_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import provenance
from digest.store import trails as trail_store
from digest.store import turns as turn_store
from digest.store.freezing import freeze_entry, join_frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.comparing import StoredChange
    from digest.matching import ActiveRevision
    from digest.messages import Coverage, DigestEntry
    from digest.papers import Paper
    from digest.pipeline.links import LinkMaker
    from digest.pipeline.site import Site
    from digest.planning import DueSubscription, EarlierDigest, Seen, Told
    from digest.query import AnalysedPaper, Query
    from digest.store.digests import Draft
    from digest.store.matches import MatchRow

_INSTANT = timedelta(microseconds=1)

_KEPT_CHANGES = 20_000
"""Changes kept at once: a week's worth."""

_KEPT_ENTRIES, _KEPT_QUERIES = 50_000, 10_000
"""Entries and saved queries kept at once; where each subscription has its own, keeping them gains nothing."""


class Drafts:
    """Makes drafts of digests, and remembers what they share.

    Attributes:
        now: the moment everything is planned at (UTC).
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self.now = site.clock.now()
        self._changes: dict[int, StoredChange] = {}
        self._mailings: dict[int, tuple[date | None, date | None]] = {}
        self._texts: dict[int, int] = {}
        self._seen: dict[int, Paper] = {}
        self._histories: dict[int, tuple[StoredChange, ...]] = {}
        self._ready: dict[int, AnalysedPaper] = {}
        self._entries: dict[tuple[object, ...], tuple[DigestEntry, str]] = {}
        self._coverages: dict[tuple[frozenset[str], datetime], Coverage] = {}
        self._reached: dict[tuple[Coverage, date | None, datetime | None], Coverage] = {}
        self._queries: dict[int, Query] = {}
        self._maker: LinkMaker | None = None
        self._scope = ""

    def maker(self, conn: Connection) -> LinkMaker:
        """Return what makes this installation's addresses."""
        if self._maker is None:
            self._maker = make_links(conn, self._site.config)
            self._scope = f"{self._maker.installation}{provenance.name_line(conn)}"
        return self._maker

    def load_coverage(self, conn: Connection, due: DueSubscription) -> Coverage:
        """Say what has been looked at on behalf of one subscription; see `load_coverages`."""
        return self._load_coverage(conn, _list_queries(due))

    def _load_coverage_before(self, conn: Connection, due: DueSubscription) -> Coverage:
        """Say what has been looked at of the mailing before the last one, on behalf of one subscription."""
        last = self.load_coverage(conn, due).mailing
        if last is None:
            return self.load_coverage(conn, due)
        return self._load_coverage(conn, _list_queries(due), mailing_moment(last) - timedelta(seconds=1))

    def load_coverages(self, conn: Connection, ids: Collection[int]) -> Mapping[int, Coverage]:
        """Say what has been looked at on behalf of some subscriptions.

        Ask before the matches that wait are read: then it never promises more than these hold. What was
        stored and not yet matched, as by another process at this moment, is not looked at.
        """
        if self._site.config.arxiv.source == "harvest":
            return dict.fromkeys(ids, self._load_coverage(conn, ()))
        asked = turn_store.asked_queries(conn, ids)
        return {id_: self._load_coverage(conn, queries) for id_, queries in asked.items()}

    def _load_coverage(
        self, conn: Connection, queries: Collection[str], moment: datetime | None = None
    ) -> Coverage:
        source = self._site.config.arxiv.source
        # One harvest looks for everybody; a search looks for the queries it is given.
        asked = frozenset(() if source == "harvest" else queries)
        key = asked, moment or self.now
        if key not in self._coverages:
            coverage = load_coverage(conn, source, sorted(asked), moment or self.now)
            if match_store.matched_mark(conn) < match_store.stored_mark(conn):
                coverage = replace(coverage, is_complete=False, is_settled=False)
            self._coverages[key] = coverage
        return self._coverages[key]

    def load_earlier(
        self, conn: Connection, quiet: Iterable[DueSubscription]
    ) -> Mapping[int, Sequence[EarlierDigest]]:
        """Return what some subscriptions without news were told since the first mailing they are to hear of."""
        since: dict[int, datetime] = {}
        for due in quiet:
            mailing = self.load_coverage(conn, due).mailing
            if mailing is not None:
                sent = mailing_moment(mailing)
                covered_until = covered_since(due.subscription, due.last_slot) or sent
                since[due.id] = mailing_moment(next(mailings_between(covered_until, sent), mailing))
        return digest_store.load_earlier(conn, since)

    def read_ahead(self, conn: Connection, rows: Iterable[MatchRow]) -> None:
        """Read the changes that some matches are about, in a few statements for all."""
        missing = {id_ for row in rows for id_ in row.changes if id_ not in self._changes}
        if not missing:
            return
        found = paper_store.load_changes(conn, missing)
        self._changes.update(found)
        self._mailings.update(mailing_store.load_mailings(conn, {change.paper_key for change in found.values()}))
        self._texts.update(digest_store.load_text_keys(conn, missing))

    def forget(self) -> None:
        """Let go of what was read where it has become much; call it between two batches."""
        if len(self._changes) > _KEPT_CHANGES:
            for kept in (self._changes, self._mailings, self._texts, self._ready, self._seen, self._histories):
                kept.clear()
        if len(self._entries) > _KEPT_ENTRIES:
            self._entries.clear()
        if len(self._queries) > _KEPT_QUERIES:
            self._queries.clear()

    def draft(
        self,
        conn: Connection,
        due: DueSubscription,
        rows: Sequence[MatchRow],
        *,
        slot: str,
        occasion: Occasion,
        is_missed: bool = False,
        earlier: Sequence[EarlierDigest] = (),
    ) -> Draft:
        """Make the digest of one subscription.

        Args:
            conn: the transaction that stores it.
            due: the subscription.
            rows: the matches it tells.
            slot: its slot's name.
            occasion: why it exists.
            is_missed: it is told as the turn before the last, and tells of the mailing before the last.
            earlier: without matches to tell, what was told before; see `load_earlier`.

        Raises:
            DigestError: it cannot be planned, such as for a template that fails.
        """
        self.read_ahead(conn, rows)
        changes = [self._changes[id_] for id_ in sorted({id_ for row in rows for id_ in row.changes})]
        coverage = self._load_coverage_before(conn, due) if is_missed else self.load_coverage(conn, due)
        if occasion is Occasion.SCHEDULED:
            coverage = self._reach_back(conn, coverage, changes, due, earlier)
            coverage = replace(coverage, told_at=find_last_papers(coverage, earlier)) if earlier else coverage
        tells_days = coverage.since is not None or is_weekly(due.subscription)
        written: dict[int, str] = {}
        asked = tuple(revision.id for revision in due.revisions)

        def make(told: Told, queries: Mapping[str, Query]) -> DigestEntry:
            found = tuple([change.id for change in told.changes])
            key = found, asked, told.seen, told.occasion, told.mailing, told.sequel
            known = self._entries.get(key)
            if known is None:
                known = self._make_entry(told, queries)
                if not known[0].queries:  # what brought it reads otherwise now
                    known = self._make_entry(told, self._read_recorded(conn, due, found))
                self._entries[key] = known
            entry, text = known
            written[entry.change_id] = text
            return entry

        digest = plan_digest(
            due,
            changes,
            self._read_queries(due.revisions),
            self._load_seen(conn, due, changes),
            coverage,
            slot=slot,
            occasion=occasion,
            now=self.now,
            announced=self._mailings if tells_days else None,
            later=self._load_later(conn, changes) if tells_days else None,
            make=make,
        )
        content = join_frozen(digest, [written[entry.change_id] for entry in digest.entries])
        self.maker(conn)
        plans = plan_deliveries(
            digest,
            due.subscription.destinations,
            lambda destination: self._site.renderer.divide(digest, destination),
            scope=f"{self._scope}:{due.id}",
        )
        consumed = [row.match_run_id for row in rows]
        return digest_store.Draft(due.id, digest, content, plans, consumed)

    def _reach_back(
        self,
        conn: Connection,
        coverage: Coverage,
        changes: Iterable[StoredChange],
        due: DueSubscription,
        earlier: Sequence[EarlierDigest],
    ) -> Coverage:
        covered_until = covered_since(due.subscription, due.last_slot)
        told_until = find_told_until(earlier)
        if told_until is not None:  # a digest that was missed stands for more than was out by its turn
            covered_until = max(mailing_moment(told_until), covered_until or mailing_moment(told_until))
        mailings = [self._mailings[change.paper_key][0] for change in changes if change.kind is Kind.NEW]
        first = min((mailing for mailing in mailings if mailing is not None), default=None)
        if first is not None and covered_until is not None and mailing_moment(first) <= covered_until:
            # Its turn passed while arXiv could not be reached, or lay on another day by the schedule of then.
            covered_until = mailing_moment(first) - _INSTANT if _is_untold(conn, due, first) else covered_until
        key = coverage, first, covered_until
        if key not in self._reached:
            self._reached[key] = reach_back(conn, coverage, first, covered_until)
        return self._reached[key]

    def _make_entry(self, told: Told, queries: Mapping[str, Query]) -> tuple[DigestEntry, str]:
        """Make the entry of a paper, and freeze it: other digests with the same saved queries tell the same."""
        last = told.changes[-1]
        ready = self._ready.get(last.id)
        if ready is None:
            ready = self._ready[last.id] = analyse(last.paper)
        entry = make_entry(told, queries, ready=ready)
        return entry, freeze_entry(entry, self._texts[entry.change_id])

    def _read_queries(self, revisions: Sequence[ActiveRevision]) -> dict[str, Query]:
        """Return saved queries by name, parsed, without those that can't be read; of one name the last counts."""
        missing = [revision for revision in revisions if revision.id not in self._queries]
        self._queries.update({revision.id: query for revision, query in readable(missing)})
        return {
            revision.name: self._queries[revision.id] for revision in revisions if revision.id in self._queries
        }

    def _read_recorded(
        self, conn: Connection, due: DueSubscription, change_ids: Collection[int]
    ) -> dict[str, Query]:
        """Return the subscription's saved queries as they read when they recorded any of some changes.

        Which of those that it follows no more brought a change to it is not kept.
        """
        followed = [revision.query_id for revision in due.revisions]
        return self._read_queries([one for _, one in trail_store.find_recorded(conn, change_ids, followed)])

    def _load_seen(
        self, conn: Connection, due: DueSubscription, changes: Collection[StoredChange]
    ) -> dict[int, Seen]:
        """Return what the reader saw before; of papers that were never stored before, that is nothing."""
        known = [
            change.paper_key for change in changes if change.previous is not None or change.kind is Kind.KNOWN
        ]
        seen = match_store.seen_versions(conn, due.id, known) if known else {}
        missing = {one.key for one in seen.values()} - self._seen.keys()
        if missing:
            self._seen.update(paper_store.load_versions(conn, missing))
        return {key: replace(one, paper=self._seen[one.key]) for key, one in seen.items()}

    def _load_later(
        self, conn: Connection, changes: Collection[StoredChange]
    ) -> dict[int, tuple[StoredChange, ...]]:
        """Return what was found of papers after these changes, by paper: read once for all digests of a pass."""
        latest = {change.paper_key: change.id for change in sorted(changes, key=lambda change: change.id)}
        missing = latest.keys() - self._histories.keys()
        if missing:
            self._histories.update(paper_store.earlier_changes(conn, missing))
        return {
            key: tuple(change for change in self._histories[key] if change.id > id_) for key, id_ in latest.items()
        }


def _is_untold(conn: Connection, due: DueSubscription, mailing: date) -> bool:
    """Whether no digest of a subscription stands for all of a mailing yet; one of a look that failed does not."""
    since = digest_store.load_earlier(conn, {due.id: mailing_moment(mailing)})
    told_until = find_told_until(since.get(due.id, ()))
    return told_until is None or mailing > told_until


def _list_queries(due: DueSubscription) -> set[str]:
    return {revision.canonical for revision in due.revisions if revision.canonical}
