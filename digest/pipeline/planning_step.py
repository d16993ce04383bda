"""plan: freeze one digest for each subscription whose time has come, and put its deliveries in the outbox.

A digest, its deliveries, the matches it consumes and the next due time are one transaction: either all
of it happened or none of it did. One subscription that cannot be planned never stops the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from digest.announcements import Kind, alarm_moment
from digest.errors import DigestError
from digest.excluding import read_exclusion
from digest.messages import Occasion
from digest.pipeline.covering import load_coverage, reach_back
from digest.pipeline.links import make_links, remember_tokens
from digest.pipeline.matching_step import readable
from digest.pipeline.roster import make_due_what_waits
from digest.planning import latest_slot, next_due, plan_deliveries, plan_digest
from digest.store import digests as digest_store
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import subscriptions as subscription_store
from digest.subscriptions import CadenceKind, QuietDays

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
        failures: subscriptions that could not be planned, and why.
    """

    digests: list[Digest] = field(default_factory=list)
    deliveries: int = 0
    quiet: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def plan(site: Site, *, patience: timedelta = timedelta(0)) -> PlanReport:
    """Plan every digest that is due.

    Args:
        site: the installation.
        patience: how long a digest may wait past its time for a mailing that is still incomplete.
    """
    report = PlanReport()
    now = site.clock.now()
    with site.store.begin() as conn:
        make_due_what_waits(conn, now)
    with site.store.read() as conn:
        first_looks = subscription_store.load_subscriptions(conn, ids=match_store.unplanned_first_looks(conn))
    for due in first_looks:
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


def _plan_turn(site: Site, report: PlanReport, due: DueSubscription, patience: timedelta) -> None:
    now, cadence = site.clock.now(), due.subscription.cadence
    assert due.next_due_at is not None  # noqa: S101 - due_subscriptions returns nothing else
    with site.store.begin() as conn:
        rows = _load_pending(conn, due)
        coverage = _load_coverage(conn, site, due)
        if _is_waiting(cadence.kind, coverage, due.next_due_at, now, patience, has_papers=bool(rows)):
            report.waiting.append(due.subscription.name)
            return
        if cadence.kind is CadenceKind.AT_ONCE:
            slot = f"run:{rows[-1].match_run_id}" if rows else due.last_slot
        else:
            slot = latest_slot(cadence, due.next_due_at, now).name
        if rows or _speaks_on_quiet_days(due.subscription, coverage):
            _freeze(conn, site, report, due, rows, slot=slot, occasion=Occasion.SCHEDULED)
        else:
            report.quiet.append(due.subscription.name)
        subscription_store.set_next_due(conn, due.id, next_due(cadence, now), last_slot=slot)


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


def _is_waiting(
    kind: CadenceKind,
    coverage: Coverage,
    due_at: datetime,
    now: datetime,
    patience: timedelta,
    *,
    has_papers: bool,
) -> bool:
    """Whether a turn waits for the rest of the mailing; a quiet day must have been seen to its end.

    A digest `on announcement` waits for its mailing as long as that takes, but papers that have come are
    not kept back for those that may be missing: in the morning they go out, with a line that says so.
    """
    if kind is CadenceKind.AT_ONCE or (coverage.is_complete if has_papers else coverage.is_settled):
        return False
    if kind is not CadenceKind.ANNOUNCEMENT:
        return now - due_at < patience
    if not has_papers or coverage.mailing is None:
        return True
    return now < alarm_moment(coverage.mailing)


def _speaks_on_quiet_days(subscription: Subscription, coverage: Coverage) -> bool:
    if subscription.cadence.kind is CadenceKind.AT_ONCE:
        return False  # without turns there is none to be quiet; its first look may have told all there was
    if subscription.quiet_days is QuietDays.HEARTBEAT:
        return True
    return subscription.quiet_days is QuietDays.NOTE and coverage.is_settled


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
        coverage = reach_back(conn, coverage, new)
    digest = plan_digest(
        due,
        list(changes),
        {revision.name: query for revision, query in readable(due.revisions)},
        match_store.seen_versions(conn, due.id, [change.paper_key for change in changes]),
        coverage,
        slot=slot,
        occasion=occasion,
        now=now,
    )
    destinations, maker = due.subscription.destinations, make_links(conn, site.config)
    deliveries = plan_deliveries(
        digest,
        destinations,
        lambda destination: site.renderer.count_parts(digest, destination),
        scope=f"{maker.installation}:{due.id}",
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
