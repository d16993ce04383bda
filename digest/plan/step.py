"""Freezes one digest for each subscription that is due.

Everything here holds for one pass at one moment. Papers and changes never change once they are stored; what
was checked is asked anew by the next pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from digest.interest.step import Interests
from digest.match.rules import choose_sample, list_met, read_exclusion, readable
from digest.model.announcements import (
    Kind,
    StoredChange,
    announcement_moment,
    announcements_between,
)
from digest.model.cadences import CadenceKind, leave_quiet
from digest.model.destinations import Destination
from digest.model.errors import DigestError, StoreBusy, StoreError
from digest.model.messages import (
    FIRST_DIGEST_PAPERS,
    Coverage,
    Digest,
    DigestEntry,
    EarlierDigest,
    Occasion,
    Seen,
)
from digest.model.said import Said, Saying
from digest.model.subscriptions import (
    ActiveRevision,
    DueSubscription,
    TurnState,
    UncheckedTurn,
    WhenEmpty,
)
from digest.plan.digests import (
    Shown,
    find_last_papers,
    is_already_sent,
    last_sent_until,
    make_entry,
    plan_deliveries,
    plan_digest,
)
from digest.plan.links import LinkMaker, make_links, remember_tokens
from digest.plan.order import Precedence, say_near
from digest.plan.restored import record_as_sent
from digest.plan.slots import (
    SlotDecision,
    SlotFacts,
    SlotOutcome,
    checked_moment,
    covered_since,
    decide_slot,
    first_due,
)
from digest.poll.record import load_coverage, load_unchecked
from digest.query import AnalysedPaper, PaperIndex, Query, analyse
from digest.site import Site
from digest.store.backups import load_sent_until
from digest.store.changes import load_changes, load_earlier_changes
from digest.store.digests import DigestDraft, load_earlier_digests, load_summaries, save_digests
from digest.store.matches import (
    DueSlot,
    MatchRow,
    drop_matches,
    find_recorded,
    load_due_slots,
    load_feed_matches,
    load_first_digests,
    load_pending_matches,
    load_pending_of_many,
    load_seen_versions,
    load_undue_subscriptions,
    load_unplanned_first_digests,
)
from digest.store.papers import MATCHED, STORED, count_announced, load_mark, load_versions
from digest.store.queries import load_queries
from digest.store.subscribers import find_sent
from digest.store.subscriptions import (
    claim_new_destinations,
    end_pauses,
    has_due_slots,
    load_subscriptions,
    load_with_new_destinations,
    make_due,
    make_open_due,
    store_slots,
)

_INSTANT = timedelta(microseconds=1)

_KEPT_ENTRIES = 50_000
"""Entries kept at once; if each subscription has its own saved queries, keeping them gains nothing."""

_KEPT_PAPERS = 3_000
"""Papers kept analysed from one batch of subscriptions to the next, about 26 KB each: those of a full day."""

BATCH = 1_000
"""Due subscriptions planned at once, in one transaction: what a death costs, and what others wait for."""


class Drafts:
    """Makes drafts of digests; what several subscriptions of a pass show alike is made once."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.source = site.config.arxiv.source
        self.now = site.clock.now()
        self._changes: Mapping[int, StoredChange] = {}
        self._ready: dict[int, AnalysedPaper] = {}
        self._entries: dict[tuple[object, ...], DigestEntry] = {}
        self._coverages: dict[datetime, Coverage] = {}
        self._reached: dict[tuple[Coverage, date | None, datetime | None], Coverage] = {}
        self._maker: LinkMaker | None = None
        self._scope = ""
        self._interests = Interests(site.config)
        self._texts: Mapping[str, str] = {}

    def maker(self, conn: Connection) -> LinkMaker:
        """Return what makes this installation's addresses."""
        if self._maker is None:
            self._maker = make_links(conn, self._site.config)
            self._scope = f"{self._maker.installation}{load_sent_until(conn) or ''}"
        return self._maker

    def load_coverage(self, conn: Connection, moment: datetime | None = None) -> Coverage:
        """Say what has been checked, now or at an earlier moment (UTC).

        Ask before the matches that wait are read: then it never promises more than these hold. What was
        stored and not yet matched, as by another process at this moment, does not count.
        """
        at = moment or self.now
        if at not in self._coverages:
            coverage = load_coverage(conn, self.source, at)
            if load_mark(conn, MATCHED) < load_mark(conn, STORED):
                coverage = replace(coverage, is_complete=False, is_settled=False)
            self._coverages[at] = coverage
        return self._coverages[at]

    def is_checked(self, conn: Connection, turn: DueSlot) -> bool:
        """Whether the announcements that were visible when a turn came were checked to their end."""
        timing = turn.timing
        if timing.cadence.kind is CadenceKind.AT_ONCE or self.load_coverage(conn).is_complete:
            return True
        moment = checked_moment(timing.cadence, timing.quiet_hours, self.now, self.source)
        return self.load_coverage(conn, moment).is_complete

    def _load_coverage_before(self, conn: Connection) -> Coverage:
        """Say what has been checked of the announcement before the last one."""
        last = self.load_coverage(conn)
        if last.announcement is None:
            return last
        return self.load_coverage(
            conn, announcement_moment(last.announcement) - timedelta(seconds=1)
        )

    def load_earlier(
        self, conn: Connection, quiet: Iterable[DueSubscription]
    ) -> Mapping[int, Sequence[EarlierDigest]]:
        """Return what some subscriptions without new papers were sent since their first announcement now due."""
        since: dict[int, datetime] = {}
        announcement = self.load_coverage(conn).announcement
        if announcement is not None:
            sent = announcement_moment(announcement)
            for due in quiet:
                covered_until = covered_since(due.subscription, due.last_slot) or sent
                since[due.id] = announcement_moment(
                    next(announcements_between(covered_until, sent), announcement)
                )
        return load_earlier_digests(conn, since)

    def read(self, conn: Connection, rows: Iterable[MatchRow]) -> None:
        """Read the changes that a batch of matches is about, before it is drafted."""
        ids = {id_ for row in rows for id_ in row.changes}
        self._changes = load_changes(conn, ids)
        self._texts = {query.name: query.canonical or query.text for query in load_queries(conn)}
        if len(self._ready) > _KEPT_PAPERS:
            self._ready = {id_: self._ready[id_] for id_ in ids & self._ready.keys()}
        if len(self._entries) > _KEPT_ENTRIES:
            self._entries.clear()

    def sample(
        self, conn: Connection, due: DueSubscription, rows: Iterable[MatchRow]
    ) -> list[MatchRow]:
        """Return of matches that were read those of a first digest: the nearest, or the newest of each query."""
        latest = {
            self._changes[id_].paper_key: self._changes[id_] for row in rows for id_ in row.changes
        }
        newest = sorted(
            latest.values(),
            key=lambda change: (change.paper.updated, change.paper.id),
            reverse=True,
        )
        found = PaperIndex(change.paper for change in newest).find(
            _read_queries(due.revisions).values()
        )
        in_turns = [*([newest[n] for n in met] for met in found), newest]
        chosen = {
            one.id for one in choose_sample(self._interests.sort(conn, due, newest) or in_turns)
        }
        kept = [
            replace(row, changes=tuple(id_ for id_ in row.changes if id_ in chosen)) for row in rows
        ]
        return [row for row in kept if row.changes]

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
            is_missed: it is sent as the turn before the last, and covers the announcement before the last, as far
                as no paper is of the last.
            earlier: without matches to show, what was sent before; see `load_earlier`.
            to: destinations; None for all of the subscription.

        Raise `DigestError`: it cannot be planned, such as for a template that fails.
        """
        changes = [
            self._changes[id_] for id_ in sorted({id_ for row in rows for id_ in row.changes})
        ]
        coverage = self._load_coverage_before(conn) if is_missed else self.load_coverage(conn)
        if any(
            coverage.announcement and change.announced > coverage.announcement for change in changes
        ):
            coverage = self.load_coverage(conn)
        if occasion is Occasion.SCHEDULED:
            coverage = self._extend_coverage(conn, coverage, changes, due, earlier)
            if earlier:
                coverage = replace(coverage, last_shown_at=find_last_papers(coverage, earlier))
        asked = tuple(revision.id for revision in due.revisions)

        def make(decisions: Shown, queries: Mapping[str, Query]) -> DigestEntry:
            found = tuple([change.id for change in decisions.changes])
            key = found, asked, decisions.seen, decisions.occasion, decisions.sequel
            entry = self._entries.get(key)
            if entry is None:
                entry = self._make_entry(decisions, queries)
                if not entry.queries:  # what brought it reads otherwise now
                    entry = self._make_entry(decisions, _read_recorded(conn, due, found))
                self._entries[key] = entry
            return entry

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
            make=make,
            rank=partial(self._rank, conn, due),
        )
        self.maker(conn)
        if occasion is Occasion.SCHEDULED and due.subscription.cadence.kind is CadenceKind.AT_ONCE:
            # Without turns it tells which announcements since the last digest were not checked in time.
            last = load_summaries(conn, subscription_ids=[due.id], limit=1)
            since = last[0].planned_at if last else due.created_at
            unchecked = tuple(
                one for one in load_unchecked(conn, self.source) if one.due_at > since
            )
        digest = replace(digest, unchecked=unchecked)
        plans = plan_deliveries(
            digest,
            due.subscription.destinations if to is None else to,
            lambda destination: self._site.renderer.divide(digest, destination),
            scope=f"{self._scope}:{due.id}",
        )
        return DigestDraft(due.id, digest, plans, [row.match_run_id for row in rows])

    def _rank(
        self, conn: Connection, due: DueSubscription, entries: Sequence[DigestEntry]
    ) -> tuple[Sequence[DigestEntry], Precedence]:
        """Say what of a digest comes first and last, and what is near to what its reader keeps and likes."""
        wanted = due.subscription
        near = self._interests.judge(conn, due, entries)
        is_owner = bool(near) and self._site.config.find_reader(wanted) is not None
        reasons = {id_: say_near(one, is_owner=is_owner) for id_, one in near.items() if one.is_top}
        if reasons:
            entries = [replace(entry, near=reasons.get(entry.paper.id, "")) for entry in entries]
        first, last = (
            {
                entry.paper.id: met[0]
                for entry in (entries if named else ())
                if (
                    met := list_met(
                        named, self._texts, self._ready.get(entry.change_id) or analyse(entry.paper)
                    )
                )
            }
            for named in (wanted.read_first, wanted.read_last)
        )
        return entries, Precedence(
            first, last.keys(), {id_: one.nearness for id_, one in near.items()}
        )

    def _extend_coverage(
        self,
        conn: Connection,
        coverage: Coverage,
        changes: Iterable[StoredChange],
        due: DueSubscription,
        earlier: Sequence[EarlierDigest],
    ) -> Coverage:
        covered_until = covered_since(due.subscription, due.last_slot)
        told_until = last_sent_until(earlier)
        if told_until is not None:  # a digest that was missed is for more than was out by its turn
            covered_until = max(
                announcement_moment(told_until), covered_until or announcement_moment(told_until)
            )
        first = min(
            (change.announced for change in changes if change.kind is Kind.NEW), default=None
        )
        if (
            first is not None
            and covered_until is not None
            and announcement_moment(first) <= covered_until
        ):
            # Its turn passed while arXiv could not be reached, or lay on another day by the schedule of then.
            is_unsent = _is_unsent(conn, due, first)
            covered_until = announcement_moment(first) - _INSTANT if is_unsent else covered_until
        key = coverage, first, covered_until
        if key not in self._reached:
            self._reached[key] = _name_announcements(conn, coverage, first, covered_until)
        return self._reached[key]

    def _make_entry(self, shown: Shown, queries: Mapping[str, Query]) -> DigestEntry:
        """Make the entry of a paper: other digests with the same saved queries show the same."""
        last = shown.changes[-1]
        ready = self._ready.get(last.id)
        if ready is None:
            ready = self._ready[last.id] = analyse(last.paper)
        return make_entry(shown, queries, ready=ready)


def _name_announcements(
    conn: Connection, coverage: Coverage, first: date | None, covered_until: datetime | None
) -> Coverage:
    """Say which announcements a digest is for, if several, and how many papers they all brought."""
    if coverage.announcement is None:
        return coverage
    if covered_until is not None:
        first = next(
            announcements_between(covered_until, announcement_moment(coverage.announcement)), None
        )
    if first is None or first >= coverage.announcement:
        return coverage
    counts = count_announced(conn, first, coverage.announcement)
    day_before = announcement_moment(first) - timedelta(seconds=1)
    expected = sum(
        1 for _ in announcements_between(day_before, announcement_moment(coverage.announcement))
    )
    return replace(coverage, since=first, new=sum(counts.values()), announcements=expected)


def _read_queries(revisions: Sequence[ActiveRevision]) -> dict[str, Query]:
    """Return saved queries by name, parsed, without those that can't be read; of one name the last counts."""
    return {revision.name: query for revision, query in readable(revisions)}


def _read_recorded(
    conn: Connection, due: DueSubscription, change_ids: Collection[int]
) -> dict[str, Query]:
    """Return the subscription's saved queries as they read when they recorded any of some changes."""
    followed = [revision.query_id for revision in due.revisions]
    return _read_queries([one for _, one in find_recorded(conn, change_ids, followed)])


def _load_seen(
    conn: Connection, due: DueSubscription, changes: Collection[StoredChange]
) -> dict[int, Seen]:
    """Return what the reader saw before; of papers that were never stored before, that is nothing."""
    known = [
        change.paper_key
        for change in changes
        if change.previous is not None or change.kind is Kind.KNOWN
    ]
    seen = load_seen_versions(conn, due.id, known) if known else {}
    texts = load_versions(conn, {one.key for one in seen.values()}) if seen else {}
    return {key: replace(one, paper=texts[one.key]) for key, one in seen.items()}


def _load_later(
    conn: Connection, changes: Collection[StoredChange]
) -> dict[int, tuple[StoredChange, ...]]:
    latest = {
        change.paper_key: change.id for change in sorted(changes, key=lambda change: change.id)
    }
    histories = load_earlier_changes(conn, latest.keys())
    return {
        key: tuple(change for change in histories[key] if change.id > id_)
        for key, id_ in latest.items()
    }


def _is_unsent(conn: Connection, due: DueSubscription, announcement: date) -> bool:
    """Whether no digest of a subscription covers an announcement yet; one of a failed check does not."""
    since = load_earlier_digests(conn, {due.id: announcement_moment(announcement)})
    told_until = last_sent_until(since.get(due.id, ()))
    return told_until is None or announcement > told_until


@dataclass
class PlanReport:
    """What one pass planned.

    Attributes:
        quiet: subscriptions whose turn passed without papers.
        waiting: subscriptions whose turn is open: what was announced by then is not checked yet.
        held_by_quiet_hours: subscriptions whose quiet hours put their turn off.
    """

    digests: list[Digest] = field(default_factory=list)
    deliveries: int = 0
    quiet: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    held_by_quiet_hours: list[str] = field(default_factory=list)
    failures: list[Said] = field(default_factory=list)

    @property
    def trouble(self) -> str:
        """The first subscription that could not be planned, and why; "" if all could."""
        if not self.failures:
            return ""
        others = len(self.failures) - 1
        return f"{self.failures[0]}{f' (and {others:,} more)' if others else ''}"

    def note(self, name: str, outcome: SlotOutcome) -> None:
        """Note a turn that brought no digest."""
        names = {SlotOutcome.PASS: self.quiet, SlotOutcome.POSTPONE: self.held_by_quiet_hours}
        names.get(outcome, self.waiting).append(name)

    def add(self, other: PlanReport) -> None:
        """Take in what was planned beside it."""
        for each in fields(self):
            both = getattr(self, each.name) + getattr(other, each.name)
            setattr(self, each.name, both)


def plan(site: Site, *, patience: timedelta | None = timedelta(0)) -> PlanReport:
    """Plan every digest that is due.

    Args:
        patience: how long a digest may wait past its time for an announcement that is still incomplete; None for
            as long as each cadence says.
    """
    report, now = PlanReport(), site.clock.now()
    with site.store.read() as conn:
        if not has_due_slots(conn, now):
            return report
    with site.store.begin() as conn:
        make_waiting_due(conn, now)
    drafts = Drafts(site)
    with site.store.read() as conn:
        joined = load_subscriptions(conn, ids=load_with_new_destinations(conn))
        first_digests = load_subscriptions(conn, ids=load_unplanned_first_digests(conn))
    for step, dues in ((_plan_late_first_digest, joined), (_plan_first_digest, first_digests)):
        for due in dues:
            if leave_quiet(due.subscription.cadence, due.subscription.quiet_hours, now) <= now:
                _attempt(site, report, due.subscription.name, partial(step, drafts, due))
    _plan_due(site, report, drafts, patience)
    return report


def make_waiting_due(conn: Connection, now: datetime) -> None:
    """Let subscriptions that wait for no turn show what was found in a pause, or while they still had turns.

    Open turns are due again after each check.
    """
    end_pauses(conn, now)
    make_open_due(conn, now)
    for due in load_subscriptions(conn, load_undue_subscriptions(conn)):
        if due.subscription.has_digests:
            make_due(conn, [due.id], first_due(due.subscription, now, due.last_slot))


def _plan_due(site: Site, report: PlanReport, drafts: Drafts, patience: timedelta | None) -> None:
    after: tuple[datetime, int] | None = None
    while True:
        batch: list[DueSlot] = []
        try:
            with site.store.begin() as conn:
                batch = load_due_slots(conn, drafts.now, BATCH, after=after, lock=True)
                part = _plan_slots(conn, drafts, batch, patience)
        except DigestError as error:
            is_away = isinstance(error, StoreError) and not isinstance(error, StoreBusy)
            if is_away or not batch:
                raise
            # Somebody's digest cannot be planned, or another process was at the same: each by itself, then.
            for turn in batch:
                _attempt(site, report, turn.name, partial(_plan_slot, drafts, turn.id, patience))
        else:
            report.add(part)
        if not batch:
            return
        last = batch[-1]
        after = last.state.next_due_at or drafts.now, last.id  # those before it were decided over
        site.progress.update(f"{len(report.digests):,} digests")


def _attempt(
    site: Site, report: PlanReport, name: str, step: Callable[[Connection], PlanReport]
) -> None:
    """Plan for one subscription in a transaction of its own."""
    try:
        with site.store.begin() as conn:
            part = step(conn)
    except DigestError as error:
        report.failures.append(Said.of(Saying.OF_ONE, name, error.said))
        site.progress.update(f"{name} could not be planned: {error.message}")
    else:
        report.add(part)


def _plan_late_first_digest(drafts: Drafts, due: DueSubscription, conn: Connection) -> PlanReport:
    """Send a sample of what a subscription had to those of its places alone that came later."""
    places = tuple(place for place in claim_new_destinations(conn, due.id) if not place.is_pulled)
    span = timedelta(days=due.subscription.look_back)
    had = [
        row
        for row in load_feed_matches(conn, due.id, span=span, at_least=FIRST_DIGEST_PAPERS)
        if row.digest_id is not None
        or row.match_run_id <= due.plan_after  # the rest is yet to come to all
    ]
    rows = drop_excluded(conn, due, had)
    if not (places and rows):
        return PlanReport()
    drafts.read(conn, rows)
    rows = drafts.sample(conn, due, rows)
    draft = drafts.draft(
        conn,
        due,
        rows,
        slot=f"new:{drafts.now.isoformat()}",
        occasion=Occasion.FIRST_DIGEST,
        to=places,
    )
    return _save(conn, drafts, [(due, replace(draft, consumed=()))])


def _plan_first_digest(drafts: Drafts, due: DueSubscription, conn: Connection) -> PlanReport:
    drafts.load_coverage(conn)
    pending = _load_pending(conn, drafts, {due.id: due.plan_after}, [due.id]).get(due.id, [])
    looks = [row for row in pending if row.occasion == Occasion.FIRST_DIGEST]
    if not looks:
        return PlanReport()
    # A reader's very first digest has the new papers too, unless its own turn has come: it may be days away, and
    # new papers wait for it only if there were digests before. One that is asked for shows the sample alone.
    has_turn = due.next_due_at is not None and due.next_due_at <= drafts.now
    is_known = bool(load_summaries(conn, subscription_ids=[due.id], limit=1))
    rows = looks if has_turn or due.last_slot or is_known else pending
    drafts.read(conn, rows)
    draft = drafts.draft(
        conn,
        due,
        rows,
        slot=f"run:{looks[-1].match_run_id}",
        occasion=Occasion.FIRST_DIGEST,
    )
    return _save(conn, drafts, [(due, draft)])


def drop_excluded(
    conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]
) -> list[MatchRow]:
    """Return matches without what a subscription excludes now."""
    excluded = _find_excluded(conn, due, rows)
    kept = [
        replace(row, changes=tuple(id_ for id_ in row.changes if id_ not in excluded))
        for row in rows
    ]
    return [row for row in kept if row.changes]


def _find_excluded(conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]) -> set[int]:
    exclusion = read_exclusion(due.subscription)
    changes = load_changes(conn, {id_ for row in rows for id_ in row.changes}) if exclusion else {}
    return {id_ for id_, change in changes.items() if exclusion.covers(change)}


def _plan_slot(
    drafts: Drafts, subscription_id: int, patience: timedelta | None, conn: Connection
) -> PlanReport:
    """Plan the turn of one subscription, unless somebody took it meanwhile."""
    return _plan_slots(
        conn,
        drafts,
        load_due_slots(conn, drafts.now, 1, lock=True, only=subscription_id),
        patience,
    )


def _plan_slots(
    conn: Connection, drafts: Drafts, batch: Sequence[DueSlot], patience: timedelta | None
) -> PlanReport:
    """Plan the turns of subscriptions that this transaction has locked."""
    report = PlanReport()
    heard = find_sent(conn, [turn.id for turn in batch])
    come = [turn for turn in batch if turn.id in heard]
    coverage = drafts.load_coverage(conn)
    pending = _load_pending(
        conn,
        drafts,
        {turn.id: turn.plan_after for turn in come},
        [turn.id for turn in come if turn.excludes],
    )
    decisions = _decide_turns(conn, drafts, come, pending, patience)
    states = {id_: decided.state for id_, decided in decisions.items()}
    made: dict[int, SlotDecision] = {}
    for turn in come:
        if decisions[turn.id].outcome is SlotOutcome.MAKE:
            made[turn.id] = decisions[turn.id]
        else:
            report.note(turn.name, decisions[turn.id].outcome)
    drafts.read(conn, (row for id_ in made for row in pending.get(id_, ())))
    whole = {due.id: due for due in load_subscriptions(conn, made)}
    quiet = [due for id_, due in whole.items() if id_ not in pending]
    earlier = drafts.load_earlier(conn, quiet)
    owed = {look.subscription_id for look in load_first_digests(conn)} if quiet else set()
    for due in quiet:
        had, has_note = earlier.get(due.id, ()), due.subscription.when_empty is WhenEmpty.NOTE
        is_greeted = due.id in owed or any(one.occasion is Occasion.FIRST_DIGEST for one in had)
        if (is_greeted and not coverage.failure) or (has_note and is_already_sent(coverage, had)):
            decided = made.pop(due.id)
            closed = (turn for turn in decided.unchecked if not turn.is_late)
            states[due.id] = replace(decided.state, unchecked=(*closed, *decided.state.unchecked))
            report.quiet.append(due.subscription.name)
    chosen = [
        (
            whole[id_],
            drafts.draft(
                conn,
                whole[id_],
                pending.get(id_, ()),
                slot=turn.slot,
                occasion=Occasion.SCHEDULED,
                is_missed=turn.is_missed,
                unchecked=turn.unchecked,
                earlier=earlier.get(id_, ()),
            ),
        )
        for id_, turn in made.items()
    ]
    for turn in batch:
        if turn.id not in heard:  # nobody is written to
            states[turn.id] = TurnState(None, turn.state.taken)
        elif states[turn.id] == turn.state:
            del states[turn.id]
    store_slots(conn, states)
    report.add(_save(conn, drafts, chosen))
    return report


def _decide_turns(
    conn: Connection,
    drafts: Drafts,
    come: Sequence[DueSlot],
    pending: Mapping[int, Sequence[MatchRow]],
    patience: timedelta | None,
) -> dict[int, SlotDecision]:
    """Decide what becomes of turns, by subscription; those that came alike are decided over once."""
    coverage = drafts.load_coverage(conn)
    decided: dict[int, SlotDecision] = {}
    alike: dict[object, SlotDecision] = {}
    for turn in come:
        rows = pending.get(turn.id)
        newest_run = rows[-1].match_run_id if rows else 0
        waiting_since = rows[0].matched_at if rows else None
        likeness = turn.group_key, newest_run, waiting_since
        if likeness not in alike:
            facts = SlotFacts(
                due_at=turn.state.next_due_at or drafts.now,
                state=turn.state,
                now=drafts.now,
                coverage=coverage,
                is_checked=drafts.is_checked(conn, turn),
                newest_run=newest_run,
                patience=patience,
                waiting_since=waiting_since,
            )
            alike[likeness] = decide_slot(turn.timing, facts)
        decided[turn.id] = alike[likeness]
    return decided


def _load_pending(
    conn: Connection, drafts: Drafts, plan_after: Mapping[int, int], excluding: Iterable[int]
) -> dict[int, list[MatchRow]]:
    """Return what waits to be planned, without what was excluded since or sent before."""
    pending = load_pending_of_many(conn, plan_after)
    concerned = [id_ for id_ in excluding if id_ in pending]
    for due in load_subscriptions(conn, concerned) if concerned else ():
        if excluded := _find_excluded(conn, due, pending[due.id]):
            drop_matches(conn, due.id, excluded, pending.pop(due.id))
            if left := load_pending_matches(conn, due.id, due.plan_after):
                pending[due.id] = left
    record_as_sent(conn, pending, drafts.source, drafts.now)
    return pending


def _save(
    conn: Connection, drafts: Drafts, chosen: Sequence[tuple[DueSubscription, DigestDraft]]
) -> PlanReport:
    ids = save_digests(conn, [draft for _, draft in chosen], at=drafts.now)
    saved = [
        (due, draft) for due, draft in chosen if due.id in ids
    ]  # the others' slots have their digests
    pages = [(due, draft.digest.slot, ids[due.id]) for due, draft in saved]
    remember_tokens(conn, drafts.maker(conn), pages, at=drafts.now)
    return PlanReport(
        digests=[draft.digest for _, draft in saved],
        deliveries=sum(len(draft.plans) for _, draft in saved),
    )
