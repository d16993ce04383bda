"""Freezes one digest for each subscription that is due.

Everything here holds for one pass at one moment. Papers and changes never change once they are
stored; what was checked is asked anew by the next pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Connection

from digest.match.rules import read_exclusion
from digest.model.cadences import leave_quiet
from digest.model.errors import DigestError, StoreBusy, StoreError
from digest.model.messages import FIRST_DIGEST_PAPERS, Digest, EarlierDigest, Occasion
from digest.model.said import NOTHING, Said, Saying
from digest.model.slots import SlotKind, SlotName
from digest.model.subscriptions import DueSubscription, TurnState, WhenEmpty
from digest.plan.digests import is_already_sent
from digest.plan.drafts import Drafts, keep_changes, list_changes
from digest.plan.links import remember_tokens
from digest.plan.restored import record_as_sent
from digest.plan.slots import SlotDecision, SlotFacts, SlotOutcome, decide_slot, first_due
from digest.site import Site
from digest.store import changes, digests, matches, subscribers, subscriptions
from digest.store.digests import DigestDraft
from digest.store.matches import DueSlot, MatchRow

BATCH = 1_000
"""Due subscriptions planned in one transaction: what a death costs, and what others wait for."""


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
    def trouble(self) -> Said:
        """The first subscription that could not be planned, and why; nothing if all could."""
        if not self.failures:
            return NOTHING
        first, *others = self.failures
        return Said.of(Saying.AND_MORE, first, f"{len(others):,}") if others else first

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
        patience: how long a digest may wait past its time for an announcement that is still
            incomplete; None for as long as each cadence says.
    """
    report = PlanReport()
    now = site.clock.now()
    with site.store.read() as conn:
        if not subscriptions.has_due_slots(conn, now):
            return report
    with site.store.begin() as conn:
        make_waiting_due(conn, now)
    drafts = Drafts(site)
    with site.store.read() as conn:
        joined = subscriptions.load(conn, ids=subscriptions.load_with_new_destinations(conn))
        first_digests = subscriptions.load(conn, ids=matches.load_unplanned_first_digests(conn))
    for due in joined:
        if _may_go(due, now):
            step = partial(_plan_late_first_digest, drafts, due)
            _attempt(site, report, due.subscription.name, step)
    for due in first_digests:
        if _may_go(due, now):
            step = partial(_plan_first_digest, drafts, due)
            _attempt(site, report, due.subscription.name, step)
    _plan_due(site, report, drafts, patience)
    return report


def make_waiting_due(conn: Connection, now: datetime) -> None:
    """Let subscriptions that wait for no turn show what was found in a pause, or before that.

    They may have had turns then. Open turns are due again after each check.
    """
    subscriptions.end_pauses(conn, now)
    subscriptions.make_open_due(conn, now)
    for due in subscriptions.load(conn, matches.load_undue_subscriptions(conn)):
        if due.subscription.has_digests:
            subscriptions.make_due(conn, [due.id], first_due(due.subscription, now, due.last_slot))


def _may_go(due: DueSubscription, now: datetime) -> bool:
    """Whether no quiet hours hold back what has no turn of its own."""
    return leave_quiet(due.subscription.cadence, due.subscription.quiet_hours, now) <= now


def _plan_due(site: Site, report: PlanReport, drafts: Drafts, patience: timedelta | None) -> None:
    after: tuple[datetime, int] | None = None
    while True:
        batch: list[DueSlot] = []
        try:
            with site.store.begin() as conn:
                batch = matches.load_due_slots(conn, drafts.now, BATCH, after=after, lock=True)
                part = _plan_slots(conn, drafts, batch, patience)
        except DigestError as error:
            is_away = isinstance(error, StoreError) and not isinstance(error, StoreBusy)
            if is_away or not batch:
                raise
            # Somebody's digest cannot be planned, or another process was at the same: each by
            # itself, then.
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
    places = [
        place for place in subscriptions.claim_new_destinations(conn, due.id) if not place.is_pulled
    ]
    span = timedelta(days=due.subscription.look_back)
    had = []
    for row in matches.load_for_feed(conn, due.id, span=span, at_least=FIRST_DIGEST_PAPERS):
        is_yet_to_come = row.digest_id is None and row.match_run_id > due.plan_after
        if not is_yet_to_come:
            had.append(row)
    rows = drop_excluded(conn, due, had)
    if not (places and rows):
        return PlanReport()
    drafts.read(conn, rows)
    draft = drafts.draft(
        conn,
        due,
        drafts.sample(conn, due, rows),
        slot=str(SlotName(SlotKind.LATER_PLACES, drafts.now.isoformat())),
        occasion=Occasion.FIRST_DIGEST,
        to=places,
    )
    return _save(conn, drafts, [(due, replace(draft, consumed=()))])


def _plan_first_digest(drafts: Drafts, due: DueSubscription, conn: Connection) -> PlanReport:
    drafts.coverages.load(conn)
    waiting = _load_pending(conn, drafts, {due.id: due.plan_after}, [due.id])
    pending = waiting.get(due.id, [])
    samples = [row for row in pending if row.occasion == Occasion.FIRST_DIGEST]
    if not samples:
        return PlanReport()
    # A reader's very first digest has the new papers too, unless its own turn has come: it may be
    # days away, and new papers wait for it only if there were digests before. One that is asked for
    # shows the sample alone.
    has_turn = due.next_due_at is not None and due.next_due_at <= drafts.now
    is_known = bool(digests.load_summaries(conn, subscription_ids=[due.id], limit=1))
    rows = samples if has_turn or due.last_slot or is_known else pending
    drafts.read(conn, rows)
    draft = drafts.draft(
        conn,
        due,
        rows,
        slot=str(SlotName.of_run(samples[-1].match_run_id)),
        occasion=Occasion.FIRST_DIGEST,
    )
    return _save(conn, drafts, [(due, draft)])


def drop_excluded(
    conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]
) -> list[MatchRow]:
    """Return matches without what a subscription excludes now."""
    excluded = _find_excluded(conn, due, rows)
    return keep_changes(rows, list_changes(rows) - excluded)


def _find_excluded(conn: Connection, due: DueSubscription, rows: Sequence[MatchRow]) -> set[int]:
    exclusion = read_exclusion(due.subscription)
    if not exclusion:
        return set()
    stored = changes.load(conn, list_changes(rows))
    return {id_ for id_, change in stored.items() if exclusion.covers(change)}


def _plan_slot(
    drafts: Drafts, subscription_id: int, patience: timedelta | None, conn: Connection
) -> PlanReport:
    """Plan the turn of one subscription, unless somebody took it meanwhile."""
    turns = matches.load_due_slots(conn, drafts.now, 1, lock=True, only=subscription_id)
    return _plan_slots(conn, drafts, turns, patience)


def _plan_slots(
    conn: Connection, drafts: Drafts, batch: Sequence[DueSlot], patience: timedelta | None
) -> PlanReport:
    """Plan the turns of subscriptions that this transaction has locked."""
    report = PlanReport()
    heard = subscribers.find_sent(conn, [turn.id for turn in batch])
    come = [turn for turn in batch if turn.id in heard]
    drafts.coverages.load(conn)
    plan_after = {turn.id: turn.plan_after for turn in come}
    excluding = [turn.id for turn in come if turn.excludes]
    pending = _load_pending(conn, drafts, plan_after, excluding)
    decisions = _decide_turns(conn, drafts, come, pending, patience)
    states = {id_: decided.state for id_, decided in decisions.items()}
    made: dict[int, SlotDecision] = {}
    rows: list[MatchRow] = []
    for turn in come:
        decided = decisions[turn.id]
        if decided.outcome is SlotOutcome.MAKE:
            made[turn.id] = decided
            rows += pending.get(turn.id, ())
        else:
            report.note(turn.name, decided.outcome)
    drafts.read(conn, rows)
    dues = {due.id: due for due in subscriptions.load(conn, made)}
    quiet = [due for id_, due in dues.items() if id_ not in pending]
    earlier = drafts.coverages.load_earlier(conn, quiet)
    for due in _choose_silent(conn, drafts, quiet, earlier):
        states[due.id] = _pass_over(made.pop(due.id))
        report.quiet.append(due.subscription.name)
    chosen = []
    for id_, decided in made.items():
        draft = drafts.draft(
            conn,
            dues[id_],
            pending.get(id_, ()),
            slot=decided.slot,
            occasion=Occasion.SCHEDULED,
            is_missed=decided.is_missed,
            unchecked=decided.unchecked,
            earlier=earlier.get(id_, ()),
        )
        chosen.append((dues[id_], draft))
    for turn in batch:
        if turn.id not in heard:  # nobody is written to
            states[turn.id] = TurnState(None, turn.state.taken)
        elif states[turn.id] == turn.state:
            del states[turn.id]
    subscriptions.store_slots(conn, states)
    report.add(_save(conn, drafts, chosen))
    return report


def _choose_silent(
    conn: Connection,
    drafts: Drafts,
    quiet: Sequence[DueSubscription],
    earlier: Mapping[int, Sequence[EarlierDigest]],
) -> list[DueSubscription]:
    """Return which subscriptions without new papers get no digest that says so.

    A first digest says enough, the one that came or the one that will; and "no new papers" is said
    once of an announcement.
    """
    if not quiet:
        return []
    coverage = drafts.coverages.load(conn)
    owed = {sample.subscription_id for sample in matches.load_first_digests(conn)}
    silent = []
    for due in quiet:
        had = earlier.get(due.id, ())
        is_greeted = due.id in owed or any(one.occasion is Occasion.FIRST_DIGEST for one in had)
        wants_note = due.subscription.when_empty is WhenEmpty.NOTE
        is_told = wants_note and is_already_sent(coverage, had)
        if is_told or (is_greeted and not coverage.failure):
            silent.append(due)
    return silent


def _pass_over(decided: SlotDecision) -> TurnState:
    """Return where a subscription stands after a turn without the digest that was to be made."""
    closed = [turn for turn in decided.unchecked if not turn.is_late]
    return replace(decided.state, unchecked=(*closed, *decided.state.unchecked))


def _decide_turns(
    conn: Connection,
    drafts: Drafts,
    come: Sequence[DueSlot],
    pending: Mapping[int, Sequence[MatchRow]],
    patience: timedelta | None,
) -> dict[int, SlotDecision]:
    """Decide what becomes of turns, by subscription; over those that came alike only once."""
    coverage = drafts.coverages.load(conn)
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
                is_checked=drafts.coverages.is_checked(conn, turn),
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
    pending = matches.load_pending_of_many(conn, plan_after)
    concerned = [id_ for id_ in excluding if id_ in pending]
    for due in subscriptions.load(conn, concerned) if concerned else ():
        excluded = _find_excluded(conn, due, pending[due.id])
        if excluded:
            matches.drop(conn, due.id, excluded, pending.pop(due.id))
            left = matches.load_pending(conn, due.id, due.plan_after)
            if left:
                pending[due.id] = left
    record_as_sent(conn, pending, drafts.source, drafts.now)
    return pending


def _save(
    conn: Connection, drafts: Drafts, chosen: Sequence[tuple[DueSubscription, DigestDraft]]
) -> PlanReport:
    """Store drafts, and make their addresses answer; whose slot has its digest gets no other."""
    ids = digests.save(conn, [draft for _, draft in chosen], at=drafts.now)
    saved = [(due, draft) for due, draft in chosen if due.id in ids]
    pages = [(due, draft.digest.slot, ids[due.id]) for due, draft in saved]
    remember_tokens(conn, drafts.maker(conn), pages, at=drafts.now)
    return PlanReport(
        digests=[draft.digest for _, draft in saved],
        deliveries=sum(len(draft.plans) for _, draft in saved),
    )
