"""plan: freeze one digest for each subscription whose time has come, and put its deliveries in the outbox.

A digest, its deliveries, the matches it consumes and the next due time are one transaction: either all
of it happened or none of it did. One subscription that cannot be planned never stops the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from digest.errors import DigestError, StoreBusy, StoreError
from digest.excluding import read_exclusion
from digest.messages import Occasion
from digest.pipeline.drafting import Drafts
from digest.pipeline.links import remember_tokens
from digest.pipeline.roster import make_due_what_waits
from digest.planning import Outcome, TurnFacts, decide_turn, is_told, leave_quiet
from digest.store import digests as digest_store
from digest.store import idling, provenance
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import subscriptions as subscription_store
from digest.store import turns as turn_store
from digest.store.parting import let_go
from digest.subscriptions import QuietDays

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Digest
    from digest.pipeline.site import Site
    from digest.planning import DueSubscription, Turn
    from digest.store.turns import DueTurn
    from digest.subscriptions import Subscription

BATCH = 1_000
"""Due subscriptions planned at once, in one transaction: what a death costs, and what others wait for."""


@dataclass
class PlanReport:
    """What one pass planned.

    Attributes:
        digests: what was frozen, in order.
        deliveries: how many deliveries they made.
        quiet: subscriptions whose turn passed without papers.
        waiting: subscriptions whose mailing is not complete yet.
        resting: subscriptions whose quiet hours put their turn off.
        failures: subscriptions that could not be planned, and why.
    """

    digests: list[Digest] = field(default_factory=list)
    deliveries: int = 0
    quiet: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    resting: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def trouble(self) -> str:
        """The first subscription that could not be planned, and why; "" where all could."""
        if not self.failures:
            return ""
        others = len(self.failures) - 1
        return f"{self.failures[0].rstrip('.')}{f' (and {others:,} more)' if others else ''}"

    def add(self, other: PlanReport) -> None:
        """Take in what was planned beside it."""
        self.digests += other.digests
        self.deliveries += other.deliveries
        self.quiet += other.quiet
        self.waiting += other.waiting
        self.resting += other.resting
        self.failures += other.failures


def plan(site: Site, *, patience: timedelta | None = timedelta(0)) -> PlanReport:
    """Plan every digest that is due.

    Args:
        site: the installation.
        patience: how long a digest may wait past its time for a mailing that is still incomplete; None for
            as long as each cadence says.
    """
    report, now = PlanReport(), site.clock.now()
    with site.store.read() as conn:
        if not idling.has_turns(conn, now):
            return report
    with site.store.begin() as conn:
        if provenance.is_restored(conn):
            return report  # what this copy takes for news may have been told
        make_due_what_waits(conn, now)
    drafts = Drafts(site)
    with site.store.read() as conn:
        first_looks = subscription_store.load_subscriptions(conn, ids=match_store.unplanned_first_looks(conn))
    for due in first_looks:
        if not _rests(due.subscription, now):
            _attempt(site, report, due.subscription.name, partial(_plan_first_look, drafts, due))
    _plan_due(site, report, drafts, patience)
    return report


def _plan_due(site: Site, report: PlanReport, drafts: Drafts, patience: timedelta | None) -> None:
    """Plan every turn that has come, batch by batch."""
    after: tuple[datetime, int] | None = None
    while True:
        batch: list[DueTurn] = []
        try:
            with site.store.begin() as conn:
                batch = turn_store.due_turns(conn, drafts.now, BATCH, after=after, lock=True)
                part = _plan_turns(conn, drafts, batch, patience)
        except DigestError as error:
            is_away = isinstance(error, StoreError) and not isinstance(error, StoreBusy)
            if is_away or not batch:
                raise
            # Somebody's digest cannot be planned, or another process was at the same: each by itself, then.
            for turn in batch:
                _attempt(site, report, turn.name, partial(_plan_turn, drafts, turn.id, patience))
        else:
            report.add(part)
        if not batch:
            return
        after = batch[-1].next_due_at, batch[-1].id  # those that wait stay due: the next batch begins behind
        drafts.forget()
        site.progress.update(f"{len(report.digests):,} digests")


def _attempt(site: Site, report: PlanReport, name: str, step: Callable[[Connection], PlanReport]) -> None:
    """Plan for one subscription in a transaction of its own."""
    try:
        with site.store.begin() as conn:
            part = step(conn)
    except DigestError as error:
        report.failures.append(f"{name}: {error.message}")
        site.progress.update(f"{name} could not be planned: {error.message}")
    else:
        report.add(part)


def _rests(subscription: Subscription, now: datetime) -> bool:
    """Whether nothing goes out now: the file lets it rest, or its hours are quiet."""
    until = subscription.paused_until
    may_go_at = leave_quiet(subscription.cadence, subscription.quiet_hours, now)
    return may_go_at > now or (until is not None and until > now)


def _plan_first_look(drafts: Drafts, due: DueSubscription, conn: Connection) -> PlanReport:
    drafts.load_coverage(conn, due)
    pending = _load_pending(conn, {due.id: due.plan_after}, [due.id]).get(due.id, [])
    looks = [row for row in pending if row.occasion == Occasion.FIRST_LOOK]
    if not looks:
        return PlanReport()
    # A reader's very first digest has the news too, unless its own turn has come: it may be days away, and
    # news waits for it only where there were digests before.
    has_turn = due.next_due_at is not None and due.next_due_at <= drafts.now
    rows = looks if has_turn or due.last_slot or not _is_first(conn, due) else pending
    slot = f"run:{looks[-1].match_run_id}"
    draft = drafts.draft(conn, due, rows, slot=slot, occasion=Occasion.FIRST_LOOK)
    return _save(conn, drafts, [(due, draft)])


def _plan_turn(drafts: Drafts, subscription_id: int, patience: timedelta | None, conn: Connection) -> PlanReport:
    """Plan the turn of one subscription, unless somebody took it meanwhile."""
    found = turn_store.due_turns(conn, drafts.now, 1, lock=True, only=subscription_id)
    return _plan_turns(conn, drafts, found, patience)


def _plan_turns(
    conn: Connection, drafts: Drafts, batch: Sequence[DueTurn], patience: timedelta | None
) -> PlanReport:
    """Plan the turns of subscriptions that this transaction has locked."""
    report = PlanReport()
    heard = turn_store.sent_somewhere(conn, [turn.id for turn in batch])
    come = [turn for turn in batch if turn.id in heard]
    coverages = drafts.load_coverages(conn, heard)
    pending = _load_pending(
        conn, {turn.id: turn.plan_after for turn in come}, [turn.id for turn in come if turn.excludes]
    )
    decisions: dict[object, Turn] = {}
    taken: dict[int, tuple[datetime | None, str]] = {}
    told: dict[int, Turn] = {}
    for turn in come:
        rows = pending.get(turn.id)
        newest_run = rows[-1].match_run_id if rows else 0
        waiting_since = rows[0].matched_at if rows else None
        coverage = coverages[turn.id]
        # Turns alike share the very object; to compare what it says would take longer than to decide.
        likeness = turn.likeness, newest_run, waiting_since, id(coverage)
        decided = decisions.get(likeness)
        if decided is None:
            facts = TurnFacts(
                turn.next_due_at,
                turn.last_slot,
                drafts.now,
                coverage,
                newest_run,
                patience,
                waiting_since,
            )
            decided = decisions[likeness] = decide_turn(turn.rhythm, facts)
        if decided.next_due_at != turn.next_due_at or decided.taken != turn.last_slot:
            taken[turn.id] = decided.next_due_at, decided.taken
        match decided.outcome:
            case Outcome.TELL:
                told[turn.id] = decided
            case Outcome.PASS:
                report.quiet.append(turn.name)
            case Outcome.WAIT:
                report.waiting.append(turn.name)
            case Outcome.REST:
                report.resting.append(turn.name)
    drafts.read_ahead(conn, (row for id_ in told for row in pending.get(id_, ())))
    whole = {due.id: due for due in subscription_store.load_subscriptions(conn, told)}
    quiet = [due for id_, due in whole.items() if id_ not in pending]
    earlier = drafts.load_earlier(conn, quiet)
    for due in quiet:
        has_note = due.subscription.quiet_days is QuietDays.NOTE
        if has_note and is_told(coverages[due.id], earlier.get(due.id, ())):
            del told[due.id]
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
                earlier=earlier.get(id_, ()),
            ),
        )
        for id_, turn in told.items()
    ]
    taken |= {turn.id: (None, turn.last_slot) for turn in batch if turn.id not in heard}  # nobody is written to
    subscription_store.take_turns(conn, taken)
    report.add(_save(conn, drafts, chosen))
    return report


def _is_first(conn: Connection, due: DueSubscription) -> bool:
    return not digest_store.list_digests(conn, subscription_ids=[due.id], limit=1)


def _load_pending(
    conn: Connection, plan_after: Mapping[int, int], excluding: Iterable[int]
) -> dict[int, list[match_store.MatchRow]]:
    """Return what waits to be planned, by those who have anything, after what was excluded since was let go.

    Args:
        conn: a writing transaction.
        plan_after: subscription -> only match runs after this one.
        excluding: those among them that exclude anything.
    """
    pending = match_store.pending_of_many(conn, plan_after)
    concerned = [id_ for id_ in excluding if id_ in pending]
    for due in subscription_store.load_subscriptions(conn, concerned) if concerned else ():
        exclusion, rows = read_exclusion(due.subscription), pending[due.id]
        if not exclusion:
            continue
        changes = paper_store.load_changes(conn, {id_ for row in rows for id_ in row.changes})
        excluded = {id_ for id_, change in changes.items() if exclusion.covers(change)}
        if excluded:
            let_go(conn, due.id, excluded, rows)
            left = match_store.pending_matches(conn, due.id, due.plan_after)
            if left:
                pending[due.id] = left
            else:
                del pending[due.id]
    return pending


def _save(
    conn: Connection, drafts: Drafts, chosen: Sequence[tuple[DueSubscription, digest_store.Draft]]
) -> PlanReport:
    """Store digests that were drafted, with their deliveries and addresses."""
    ids = digest_store.save_digests(conn, [draft for _, draft in chosen], at=drafts.now)
    saved = [(due, draft) for due, draft in chosen if due.id in ids]  # the others' slots have their digests
    maker = drafts.maker(conn)
    remember_tokens(conn, maker, [(due, draft.digest.slot, ids[due.id]) for due, draft in saved], at=drafts.now)
    return PlanReport(
        digests=[draft.digest for _, draft in saved], deliveries=sum(len(draft.plans) for _, draft in saved)
    )
