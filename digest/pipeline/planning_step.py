"""plan: freeze one digest for each subscription whose time has come, and put its deliveries in the outbox.

A digest, its deliveries, the matches it consumes and the next due time are one transaction: either all
of it happened or none of it did. One subscription that cannot be planned never stops the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.errors import DigestError
from digest.excluding import read_exclusion
from digest.messages import Occasion
from digest.pipeline.covering import load_coverage, reach_back
from digest.pipeline.links import make_links, remember_tokens
from digest.pipeline.matching_step import readable
from digest.pipeline.roster import make_due_what_waits
from digest.planning import (
    Outcome,
    TurnFacts,
    covered_since,
    decide_turn,
    leave_quiet,
    plan_deliveries,
    plan_digest,
)
from digest.store import digests as digest_store
from digest.store import mailings as mailing_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import provenance
from digest.store import subscriptions as subscription_store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Coverage, Digest
    from digest.pipeline.site import Site
    from digest.planning import DueSubscription
    from digest.subscriptions import Subscription

BATCH = 500
"""Due subscriptions read at once."""


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


def plan(site: Site, *, patience: timedelta | None = timedelta(0)) -> PlanReport:
    """Plan every digest that is due.

    Args:
        site: the installation.
        patience: how long a digest may wait past its time for a mailing that is still incomplete; None for
            as long as each cadence says.
    """
    report = PlanReport()
    now = site.clock.now()
    with site.store.begin() as conn:
        if provenance.is_in_quarantine(conn):
            return report  # what this copy takes for news may have been told
        make_due_what_waits(conn, now)
    with site.store.read() as conn:
        first_looks = subscription_store.load_subscriptions(conn, ids=match_store.unplanned_first_looks(conn))
    for due in first_looks:
        if _rests(due.subscription, now):
            continue
        _attempt(site, report, due, partial(_plan_first_look, site, report, due))
    done: set[int] = set()
    while True:
        with site.store.read() as conn:
            batch = [
                due
                for due in subscription_store.due_subscriptions(conn, now, BATCH + len(done))
                if due.id not in done
            ]
        if not batch:
            return report
        for due in batch:
            done.add(due.id)
            _attempt(site, report, due, partial(_plan_turn, site, report, due, patience))


def _attempt(site: Site, report: PlanReport, due: DueSubscription, step: Callable[[], None]) -> None:
    try:
        step()
    except DigestError as error:
        report.failures.append(f"{due.subscription.name}: {error.message}")
        site.progress.update(f"{due.subscription.name} could not be planned: {error.message}")


def _rests(subscription: Subscription, now: datetime) -> bool:
    """Whether nothing goes out now: the file lets it rest, or its hours are quiet."""
    until = subscription.paused_until
    may_go_at = leave_quiet(subscription.cadence, subscription.quiet_hours, now)
    return may_go_at > now or (until is not None and until > now)


def _plan_first_look(site: Site, report: PlanReport, due: DueSubscription) -> None:
    with site.store.begin() as conn:
        pending = _load_pending(conn, due)
        looks = [row for row in pending if row.occasion == Occasion.FIRST_LOOK]
        if looks:
            # A reader's very first digest has the news too, unless its own turn has come: it may be days away, and
            # news waits for it only where there were digests before.
            has_turn = due.next_due_at is not None and due.next_due_at <= site.clock.now()
            rows = looks if has_turn or due.last_slot or not _is_first(conn, due) else pending
            slot = f"run:{looks[-1].match_run_id}"
            _freeze(conn, site, report, due, rows, slot=slot, occasion=Occasion.FIRST_LOOK)


def _plan_turn(site: Site, report: PlanReport, due: DueSubscription, patience: timedelta | None) -> None:
    now, name = site.clock.now(), due.subscription.name
    assert due.next_due_at is not None  # noqa: S101 - due_subscriptions returns nothing else
    with site.store.begin() as conn:
        rows = _load_pending(conn, due)
        newest_run = rows[-1].match_run_id if rows else 0
        coverage = _load_coverage(conn, site, due)
        facts = TurnFacts(due.next_due_at, due.last_slot, now, coverage, newest_run, patience)
        turn = decide_turn(due.subscription, facts)
        if turn.next_due_at != due.next_due_at or turn.taken != due.last_slot:
            mine = subscription_store.take_turn(
                conn, due.id, turn.next_due_at, due_at=due.next_due_at, last_slot=turn.taken
            )
            if not mine:
                return  # another process has taken this turn, or the file was edited meanwhile
        match turn.outcome:
            case Outcome.TELL:
                _freeze(conn, site, report, due, rows, slot=turn.slot, occasion=Occasion.SCHEDULED)
            case Outcome.PASS:
                report.quiet.append(name)
            case Outcome.WAIT:
                report.waiting.append(name)
            case Outcome.REST:
                report.resting.append(name)


def _is_first(conn: Connection, due: DueSubscription) -> bool:
    return not digest_store.list_digests(conn, subscription_ids=[due.id], limit=1)


def _load_pending(conn: Connection, due: DueSubscription) -> list[match_store.MatchRow]:
    """Return what waits to be planned, after what was excluded since it matched has been let go."""
    rows = match_store.pending_matches(conn, due.id, due.plan_after)
    exclusion = read_exclusion(due.subscription)
    if not (rows and exclusion):
        return rows
    changes = paper_store.load_changes(conn, {id_ for row in rows for id_ in row.changes})
    excluded = {id_ for id_, change in changes.items() if exclusion.covers(change)}
    if not excluded:
        return rows
    match_store.let_go(conn, due.id, excluded, rows)
    return match_store.pending_matches(conn, due.id, due.plan_after)


def _freeze(
    conn: Connection,
    site: Site,
    report: PlanReport,
    due: DueSubscription,
    rows: Sequence[match_store.MatchRow],
    *,
    slot: str,
    occasion: Occasion,
) -> None:
    now = site.clock.now()
    changes = paper_store.load_changes(conn, sorted({id_ for row in rows for id_ in row.changes})).values()
    coverage = _load_coverage(conn, site, due)
    if occasion is Occasion.SCHEDULED:
        new = [change.paper_key for change in changes if change.kind is Kind.NEW]
        coverage = reach_back(conn, coverage, new, covered_since(due.subscription, due.last_slot))
    digest = plan_digest(
        due,
        list(changes),
        {revision.name: query for revision, query in readable(due.revisions)},
        match_store.seen_versions(conn, due.id, [change.paper_key for change in changes]),
        coverage,
        slot=slot,
        occasion=occasion,
        now=now,
        announced=mailing_store.load_mailings(conn, {change.paper_key for change in changes})
        if coverage.since
        else None,
    )
    destinations, maker = due.subscription.destinations, make_links(conn, site.config)
    deliveries = plan_deliveries(
        digest,
        destinations,
        lambda destination: site.renderer.count_parts(digest, destination),
        scope=f"{maker.installation}{provenance.name_line(conn)}:{due.id}",
    )
    digest_id = digest_store.save_digest(
        conn, due.id, digest, deliveries, consumed=[row.match_run_id for row in rows], at=now
    )
    if digest_id is None:
        return  # this slot has its digest already
    remember_tokens(
        conn,
        maker,
        destinations=destinations,
        subscription=due.subscription.name,
        slot=slot,
        digest_id=digest_id,
        at=now,
    )
    report.digests.append(digest)
    report.deliveries += len(deliveries)


def _load_coverage(conn: Connection, site: Site, due: DueSubscription) -> Coverage:
    """Say what has been looked at on behalf of one subscription."""
    queries = [revision.canonical for revision in due.revisions if revision.canonical]
    return load_coverage(conn, site.config.arxiv.source, queries, site.clock.now())
