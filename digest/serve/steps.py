"""The steps of a pass: `run` walks them once, the jobs of `serve` keep walking them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

from digest.deliver.dispatch import LANES, Lane, deliver
from digest.deliver.feeds import FeedReport, publish_feeds
from digest.deliver.rounds import deliver_in_rounds
from digest.deliver.rules import Step
from digest.deliver.step import DeliverReport, hold_alike_refusals, restore_messages
from digest.deliver.transports.registry import settling_times
from digest.interest.libraries import LibraryReport, read_libraries
from digest.match.step import MatchReport, match
from digest.model.clock import write_with_zone
from digest.model.errors import StoreError
from digest.model.messages import DeliveryState
from digest.model.said import Said, Saying
from digest.people.letters import queue_letters
from digest.people.signups import delete_expired_signups
from digest.plan.restored import CLOCKS_DIFFER, accept_clock, record_all_as_sent
from digest.plan.step import PlanReport, plan
from digest.poll.record import PollReport
from digest.poll.search import fetch_first_digest_papers
from digest.poll.step import check_gaps, poll
from digest.serve.alarms import WatchReport, watch
from digest.serve.configuration import ConfigReport, sync_config
from digest.serve.installation import keep_beating, poll_alone
from digest.site import Site
from digest.store import attempts, lock_worker, outbox, runs, subscriptions, words, workers
from digest.store.attempts import HeldDeliveries
from digest.store.gate import free_gate
from digest.store.outbox import Waits

ORPHANS_SETTLE = timedelta(minutes=1)
"""The longest time a message that a dead process may have sent is not touched.

It may still arrive.
"""


@dataclass(slots=True)
class PassReport:
    """What one pass did, verb by verb; `watch` says what is wrong.

    `waiting` counts messages that wait for their next try, `in_doubt` those that may have arrived
    and are yet to be checked; `held` are those held for the operator, of this pass and of earlier
    ones. `corrections` counts what a wrong clock had written, by table; None if nobody asked for
    them.
    """

    config: ConfigReport = field(default_factory=ConfigReport)
    poll: PollReport = field(default_factory=PollReport)
    libraries: LibraryReport = field(default_factory=LibraryReport)
    match: MatchReport = field(default_factory=MatchReport)
    plan: PlanReport = field(default_factory=PlanReport)
    deliver: DeliverReport = field(default_factory=DeliverReport)
    feeds: FeedReport = field(default_factory=FeedReport)
    watch: WatchReport = field(default_factory=WatchReport)
    waiting: int = 0
    in_doubt: Waits = field(default_factory=Waits)
    held: HeldDeliveries = field(default_factory=HeldDeliveries)
    corrections: Mapping[str, int] | None = None

    @property
    def troubles(self) -> list[Said]:
        """What failed outside, in the order it happened; the next pass tries it again."""
        unsent = [
            Said.of(Saying.AT_DESTINATION, str(one.destination), one.reason)
            for one in self.deliver.failures
            if one.step is not Step.SHORTEN
        ]
        before = (*self.poll.failures, *self.plan.failures)
        after = (*self.feeds.failures, *self.watch.failures)
        return [*before, *unsent, *after]


def run_pass(
    site: Site,
    *,
    poll_anyway: bool = False,
    patience: timedelta = timedelta(0),
    longest_wait: timedelta = timedelta(0),
    accepts_clock: bool = False,
) -> PassReport:
    """Do everything that is due, once, unless another process does.

    Wait for what is due within `longest_wait`.
    """
    with ExitStack() as stack:
        if site.branch is not None:
            site.branch.take_lease(accepts_clock=accepts_clock)
            stack.enter_context(site.branch.watching(site.interrupt))
        stack.enter_context(lock_worker(site.store))
        stack.enter_context(keep_beating(site))
        corrections = recover(site, accepts_clock=accepts_clock)
        report = PassReport(sync_config(site), corrections=corrections)
        steps = Steps(site, report, poll_anyway=poll_anyway, patience=patience)
        steps.poll()
        steps.match()
        steps.wait(longest_wait)
        steps.plan()
        report.deliver = steps.deliver()
        steps.publish()
        steps.watch()
        said = report.deliver.describe(report.feeds.written, report.feeds.pages)
        site.progress.end("deliver", said)
        with site.store.read() as conn:
            left = outbox.load_open(conn, site.clock.now())
            report.waiting = left.counts.get(DeliveryState.READY, 0)
            report.in_doubt = left.in_doubt
            report.held = attempts.load_held(conn)
    return report


class Steps:
    """The steps of one installation.

    `run` walks them once, in order, the jobs of `serve` again and again. A due digest waits at most
    `patience` for an announcement that is not complete; None as its cadence says.
    """

    def __init__(
        self,
        site: Site,
        report: PassReport,
        *,
        poll_anyway: bool = False,
        patience: timedelta | None = None,
    ) -> None:
        self.report = report
        self._site = site
        self._poll_anyway = poll_anyway
        self._patience = patience

    def poll(self) -> PollReport:
        """Ask arXiv for what is due, for missing ids, and for the past of new saved queries.

        Then read libraries. While another process checks arXiv, this one does not. Each check also
        deletes what is too old.
        """
        site = self._site
        self.report.libraries = LibraryReport()
        with poll_alone(site) as other:
            if other:
                # What the other fetches for first digests is not there yet, so none is given now.
                why_not = f"another process, {other}, is checking arXiv right now"
                polled = PollReport(why_not=why_not, is_cut_short=True)
            else:
                polled = self._poll_alone()
        self.report.poll = polled
        if polled.was_due and not polled.has_nothing:
            site.progress.begin("compare", "")
            site.progress.end("compare", polled.describe_changes())
        return polled

    def _poll_alone(self) -> PollReport:
        """Ask arXiv, while no other process does."""
        site = self._site
        if site.store.path is None:
            with site.store.begin() as conn:
                runs.abandon_running(conn, site.clock.now())
        polled = poll(site, even_if_not_due=self._poll_anyway)
        check_gaps(site, polled)
        fetch_first_digest_papers(site, polled)
        self.report.libraries = read_libraries(site, polled, asks_again=self._poll_anyway)
        if polled.was_due:
            unmatched_days = site.config.store.forget_unmatched_after
            outbox.delete_expired(site.store, site.clock.now(), unmatched_days=unmatched_days)
        return polled

    def match(self) -> MatchReport:
        """Match what was found, and give first digests.

        None is given while arXiv can't be asked for what they lack.
        """
        progress = self._site.progress
        polled = self.report.poll
        progress.begin("match", "")
        matched = match(self._site, first_digests=not polled.is_cut_short, awaiting=polled.awaiting)
        if matched.changes or matched.first_digest_papers or not polled.has_nothing:
            progress.end("match", matched.describe())
        self.report.match = matched
        if matched.changes:
            # So that nothing is shown as waiting that was sent.
            with self._site.store.begin() as conn:
                record_all_as_sent(conn, self._site.config.arxiv.source, self._site.clock.now())
        return matched

    def wait(self, longest: timedelta) -> None:
        """Wait for the next slot, if it comes that soon, and see what was announced meanwhile."""
        site = self._site
        checked = self.report.poll
        now = site.clock.now()
        with site.store.read() as conn:
            due_at = subscriptions.load_next_slot(conn, now)
        if due_at is None or due_at - now > longest:
            return
        until = write_with_zone(due_at, site.config.zone, now)
        site.progress.begin("plan", f"waiting until {until}")
        site.clock.sleep((due_at - now).total_seconds())
        if self.poll().was_due:
            self.match()
        else:
            self.report.poll = checked

    def plan(self) -> PlanReport:
        """Freeze the digests that are due."""
        self.report.plan = plan(self._site, patience=self._patience)
        return self.report.plan

    def deliver(
        self, lane: Lane | None = None, *, should_stop: Callable[[], bool] = lambda: False
    ) -> DeliverReport:
        """Send what is due, on some kinds of destination or on all.

        Two lanes may do so at once. So what each did is returned, and kept nowhere else.
        """
        queue_letters(self._site)
        self._site.progress.begin("deliver", "")
        if self._site.branch is not None:
            delivered = deliver_in_rounds(self._site, self._site.branch)
        else:
            lanes = [lane] if lane else LANES
            delivered = deliver(self._site, lanes=lanes, should_stop=should_stop)
        hold_alike_refusals(self._site, delivered)
        return delivered

    def publish(self) -> FeedReport:
        """Write the feeds that are files, and the folders that are sites."""
        self.report.feeds = publish_feeds(self._site)
        followed = self._site.config.subscriptions
        places = chain.from_iterable(one.destinations for one in followed)
        if any(place.is_site for place in places):
            from digest.deliver.pages import publish_sites  # noqa: PLC0415 - few have one

            publish_sites(self._site, self.report.feeds)
        return self.report.feeds

    def watch(self) -> WatchReport:
        """Tell the operator what should have happened and has not.

        Forget requests that nobody confirmed. Read words anew that another release read otherwise.
        """
        now = self._site.clock.now()
        with self._site.store.begin() as conn:
            delete_expired_signups(conn, now)
            words.renew(conn)
        self.report.watch = watch(self._site, planning=self.report.plan.trouble)
        return self.report.watch


def recover(site: Site, *, accepts_clock: bool = False) -> Mapping[str, int] | None:
    """Take up what a process that died left, if no clock is wrong.

    Its caller holds the database alone. If it `accepts_clock`, what another clock wrote is put
    right, and counted: see `accept_clock`.
    """
    with site.store.begin() as conn:
        corrections = accept_clock(conn, site.clock.now()) if accepts_clock else None
        now = site.clock.now()
        _require_clock(runs.load_last_start(conn), now)
        runs.abandon_running(conn, now)
        if site.store.dialect == "sqlite":
            settling = settling_times(site.config)
            waits = {kind: min(wait, ORPHANS_SETTLE) for kind, wait in settling.items()}
            outbox.release_claims(conn, now, settle=waits)
            free_gate(conn, site.clock)
            workers.remove_others(conn, site.owner)
    restore_messages(site)
    return corrections


def _require_clock(last: datetime | None, now: datetime) -> None:
    """Refuse to go on if arXiv was last checked later than now: what is due then is not known."""
    if last is None or last <= now + CLOCKS_DIFFER:
        return
    form = "%a %-d %b %Y %H:%M"
    raise StoreError(
        f"arXiv was last checked on {last:{form}} UTC, as the database says, and it is"
        f" {now:{form}} here: a clock is wrong, or was",
        hint="Correct this machine's clock. If it is right: `digest run --accept-clock`.",
    )
