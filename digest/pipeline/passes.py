"""One pass over everything that is due: the seven verbs, in order.

poll | parse | compare | match | plan | render | deliver
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.pipeline.alarms import WatchReport, watch
from digest.pipeline.feeds import FeedReport, publish_feeds
from digest.pipeline.gap_check import check_gaps
from digest.pipeline.lanes import deliver
from digest.pipeline.looking_back import look_back
from digest.pipeline.matching_step import MatchReport, match
from digest.pipeline.planning_step import PlanReport, plan
from digest.pipeline.poll_report import PollReport
from digest.pipeline.polling import poll
from digest.pipeline.roster import RosterReport, sync_roster
from digest.pipeline.settling import settling_times
from digest.pipeline.working import at_work, polling_alone
from digest.store import deliveries as outbox
from digest.store import hold_worker, overview, provenance, workers
from digest.store import runs as run_store
from digest.store.gate import adopt_gate
from digest.store.holds import Holds, load_holds
from digest.store.overview import Waits

if TYPE_CHECKING:
    from datetime import datetime

    from digest.pipeline.delivering import DeliverReport
    from digest.pipeline.site import Site


CLOCKS_DIFFER = timedelta(days=1)
"""By how much the clocks of hosts may differ; what is less passes by itself."""

ORPHANS_SETTLE = timedelta(minutes=1)
"""How long a message a dead process may have sent is left alone at most: the other side may still be taking it."""


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did, verb by verb; `watch` says what is amiss.

    `waiting` counts messages that wait for their next try, `in_doubt` those that may have arrived and are yet to
    be looked into; `holds` are the messages held for the operator, of this pass and of earlier ones;
    `is_restored` says that nothing is sent before `digest db resume`.
    """

    roster: RosterReport
    poll: PollReport
    match: MatchReport
    plan: PlanReport
    deliver: DeliverReport
    feeds: FeedReport
    watch: WatchReport = field(default_factory=WatchReport)
    waiting: int = 0
    in_doubt: Waits = field(default_factory=Waits)
    is_restored: bool = False
    holds: Holds = field(default_factory=Holds)

    @property
    def is_troubled(self) -> bool:
        """Whether the outside world failed somewhere; what failed is tried again by the next pass."""
        return bool(self.troubles)

    @property
    def troubles(self) -> list[str]:
        """What failed, one sentence each, in the order it happened."""
        sent = self.deliver
        return [
            *self.poll.failures,
            *self.plan.failures,
            *sent.retries,
            *sent.held,
            *sent.dead,
            *self.feeds.failures,
            *self.watch.failures,
        ]


def run_pass(site: Site, *, poll_anyway: bool = False, patience: timedelta = timedelta(0)) -> PassReport:
    """Do everything that is due, once.

    Args:
        site: the installation.
        poll_anyway: ask arXiv even if the last look is fresh.
        patience: how long a due digest may wait for a mailing that is not complete.

    Raises:
        StoreBusy: another process is at work on this database.
    """
    tell = site.progress.begin
    with hold_worker(site.store), at_work(site):
        recover(site)
        roster = sync_roster(site)
        with polling_alone(site) as other:
            busy = PollReport(why_not=f"another process, {other}, is asking arXiv right now")
            polled = busy if other else ask_arxiv(site, even_if_not_due=poll_anyway)
        has_nothing = bool(polled.failures) and not polled.papers  # of which "nothing changed" would say too much
        if polled.was_due and not has_nothing:
            tell("compare", "")
            site.progress.end("compare", polled.describe_changes())
        tell("match", "")
        matched = match(site, first_looks=not polled.is_cut_short, awaiting=polled.awaiting)
        if matched.changes or matched.looked_back or not has_nothing:
            site.progress.end("match", matched.describe())
        planned = plan(site, patience=patience)
        tell("deliver", "")
        delivered = deliver(site)
        feeds = publish_feeds(site)
        site.progress.end("deliver", delivered.describe(feeds.written))
        with site.store.read() as conn:
            left = overview.load_open(conn, site.clock.now())
            holds = load_holds(conn)
            is_restored = provenance.is_restored(conn)
        watched = watch(site, planning=planned.trouble)
    return PassReport(
        roster,
        polled,
        matched,
        planned,
        delivered,
        feeds,
        watched,
        waiting=left.counts.get(DeliveryState.READY, 0),
        in_doubt=left.in_doubt,
        is_restored=is_restored,
        holds=holds,
    )


def ask_arxiv(site: Site, *, even_if_not_due: bool = False) -> PollReport:
    """Ask arXiv for what is due, for ids that are missing, and for the past of new saved queries."""
    polled = poll(site, even_if_not_due=even_if_not_due)
    check_gaps(site, polled)
    look_back(site, polled)
    return polled


def recover(site: Site) -> None:
    """Take up what a process that died left behind. Only for the one that holds the database alone.

    Raises:
        StoreError: this machine's clock is behind what the database says, or another one ran ahead.
    """
    with site.store.begin() as conn:
        _refuse_moment_to_come(run_store.find_last_start(conn), site.clock.now())
        run_store.abandon_running(conn, site.clock.now())
        if site.store.dialect == "sqlite":
            waits = {kind: min(wait, ORPHANS_SETTLE) for kind, wait in settling_times(site.config).items()}
            outbox.adopt_orphans(conn, site.clock.now(), settle=waits)
            adopt_gate(conn, site.clock)
            workers.strike_off_others(conn, site.owner)


def _refuse_moment_to_come(last: datetime | None, now: datetime) -> None:
    """Refuse a database whose last look at arXiv lies ahead: what is due, and what was told, nobody could say."""
    if last is not None and last > now + CLOCKS_DIFFER:
        raise StoreError(
            f"arXiv was last looked at on {last:%a %-d %b %Y %H:%M} UTC, as the database says, and it is"
            f" {now:%a %-d %b %Y %H:%M} here: a clock is wrong, or was",
            hint="Set this machine's clock right. If it is, wait until then, or `digest db restore` a backup from"
            " before.",
        )
