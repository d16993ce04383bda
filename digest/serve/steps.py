"""The steps of a run: `run` walks them once, the jobs of `serve` keep walking them."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.deliver.dispatch import deliver
from digest.deliver.feeds import FeedReport, publish_feeds
from digest.deliver.step import settling_times
from digest.match.step import MatchReport, match
from digest.model.alarms import AlarmName
from digest.model.errors import DigestError, StoreError
from digest.model.messages import DeliveryState
from digest.plan.step import PlanReport, plan
from digest.poll.record import PollReport
from digest.poll.search import look_back
from digest.poll.step import check_gaps, poll
from digest.serve.alarms import WatchReport, watch
from digest.serve.configuration import RosterReport, sync_roster
from digest.serve.installation import at_work, polling_alone
from digest.serve.telemetry import Metrics, Verb, log_event
from digest.store import database, hold_worker, views, workers
from digest.store import outbox as outbox_module
from digest.store import queries as feed_store
from digest.store import runs as run_store
from digest.store.gate import adopt_gate
from digest.store.outbox_sends import Holds, load_holds
from digest.store.views import Waits

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from datetime import datetime

    from digest.config import Config
    from digest.deliver.dispatch import Lane
    from digest.deliver.step import DeliverReport
    from digest.poll.installation import Site


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
            left = views.load_open(conn, site.clock.now())
            holds = load_holds(conn)
            is_restored = database.is_restored(conn)
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
    """Ask arXiv for what is due, for ids that are missing, and for the past of new saved queries.

    Each look at arXiv also lets go of what has had its time: pages of earlier looks first of all.
    """
    polled = poll(site, even_if_not_due=even_if_not_due)
    check_gaps(site, polled)
    look_back(site, polled)
    if polled.was_due:
        database.delete_expired(site.store, site.clock.now())
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
            outbox_module.adopt_orphans(conn, site.clock.now(), settle=waits)
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


_log = logging.getLogger("digest.schedule")

LONGEST_DELIVERY = 60.0
"""Seconds after which delivering says what it did and takes its next turn, unless a send hangs."""

_NEEDS_RESTART = ("arxiv", "store", "mail", "slack", "webhooks", "web", "templates")


class Steps:
    """The steps of one installation.

    Args:
        site: the installation.
        is_stopping: whether nothing new is to be begun.

    Attributes:
        metrics: what was counted.
        told: what the log was told last, by outcome: what stays the same is told once.
        remarks: what could not be done in a job's last turn, which went to its end all the same, by job; those
            without any are missing.
    """

    def __init__(self, site: Site, is_stopping: Callable[[], bool]) -> None:
        self.metrics = Metrics()
        self.told: dict[str, object] = {}
        self.remarks: dict[str, str] = {}
        self._site = site
        self._is_stopping = is_stopping
        self._published_run: int | None = None

    def poll(self) -> None:
        """Ask arXiv for what is due, unless another worker is at it, and match what came.

        What a worker stored that died before it matched waits for no other look, nor for the end of that one's.
        """
        self._match(first_looks=False)
        with polling_alone(self._site) as other:
            if other:
                _log.debug("%s is asking arXiv", other)
            else:
                self._poll()

    def _poll(self) -> None:
        if self._site.store.path is None:
            with self._site.store.begin() as conn:
                run_store.abandon_running(conn, self._site.clock.now())
        with self.metrics.time_verb(Verb.POLL):
            polled = ask_arxiv(self._site)
        self.metrics.set_late_requests(self._site.client.late_requests)
        if polled.was_due and not polled.failures:
            log_event(Verb.POLL, "complete", papers=polled.papers, pages=polled.pages)
        for failure in polled.failures:
            log_event(Verb.POLL, "failed", level=logging.WARNING, why=failure)
        if polled.caught_up:
            first, last = polled.caught_up[0].isoformat(), polled.caught_up[-1].isoformat()
            log_event(Verb.POLL, "caught up", first=first, last=last, mailings=len(polled.caught_up))
        for kind, papers in polled.kinds.items():
            self.metrics.count_papers(str(kind), papers)
        self._match(first_looks=not polled.is_cut_short, awaiting=polled.awaiting)

    def _match(self, *, first_looks: bool = True, awaiting: Collection[str] = ()) -> None:
        with self.metrics.time_verb(Verb.MATCH):
            matched = match(self._site, first_looks=first_looks, awaiting=awaiting)
        if matched.changes or matched.first_looks:
            papers, looks = len(matched.papers), matched.first_looks
            log_event(Verb.MATCH, "complete", changes=matched.changes, papers=papers, first_looks=looks)
            self.metrics.count_matches(papers)

    def plan(self) -> None:
        """Freeze the digests that are due."""
        with self.metrics.time_verb(Verb.PLAN):
            planned = plan(self._site, patience=None)
        for digest in planned.digests:
            name, papers = digest.subscription, len(digest.entries)
            log_event(Verb.PLAN, "frozen", subscription=name, slot=digest.slot, papers=papers)
        self._tell_once("waiting", logging.INFO, planned.waiting)
        self._tell_once("failed", logging.WARNING, planned.failures)
        if planned.trouble:
            self.remarks["plan"] = planned.trouble
        else:
            self.remarks.pop("plan", None)

    def _tell_once(self, outcome: str, level: int, subscriptions: list[str]) -> None:
        """Log what stays the same from turn to turn only when it changes."""
        if subscriptions != self.told.get(outcome, []):
            log_event(Verb.PLAN, outcome, level=level, subscriptions=subscriptions)
        self.told[outcome] = subscriptions

    def deliver(self, lane: Lane) -> None:
        """Send what is due on some ways out."""
        with self.metrics.time_verb(Verb.DELIVER):
            report = deliver(self._site, lanes=[lane], should_stop=self._is_stopping, turn=LONGEST_DELIVERY)
        for transport, messages in sorted(report.sent.items()):
            log_event(Verb.DELIVER, "sent", transport=transport, messages=messages)
            self.metrics.count_deliveries(transport, "sent", messages)
        for outcome, lines in (
            ("retried", report.retries),
            ("unknown", report.unknown),
            ("held", report.held),
            ("dead", report.dead),
        ):
            for line in lines:  # each begins with its destination, and that with the transport
                log_event(Verb.DELIVER, outcome, level=logging.WARNING, why=line)
                self.metrics.count_deliveries(line.partition(":")[0], outcome)

    def publish(self) -> None:
        """Write the feeds that are files, where something was matched since."""
        with self._site.store.read() as conn:
            newest = feed_store.newest_match_run(conn)
        if newest != self._published_run:
            feeds = publish_feeds(self._site)
            for failure in feeds.failures:
                log_event(Verb.RENDER, "failed", level=logging.WARNING, why=failure)
            if not feeds.failures:
                self._published_run = newest
            if feeds.written:
                log_event(Verb.RENDER, "published", files=feeds.written)

    def watch(self) -> None:
        """Tell the operator what should have happened and has not."""
        watched = watch(self._site)
        for failure in watched.failures:
            _log.error("%s", failure)
        self.metrics.set_late(is_late=any(alarm.name is AlarmName.MAILING for alarm in watched.alarms))
        alarms = [alarm.detail for alarm in watched.alarms]
        if alarms != self.told.get("alarms", []):
            for alarm in alarms:
                _log.error("alarm: %s", alarm)
        self.told["alarms"] = alarms

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over the saved queries and subscriptions of a file that was edited, and where alarms go.

        All stays as it was where the file is refused, or anything is raised.

        Raises:
            StoreError: the database does not take the subscriptions now.
        """
        site = self._site
        try:
            config = load()
        except DigestError as error:
            what = error.message.partition("\n")[0]  # of several mistakes how many; `digest config check` has each
            _log.error("digest.toml was not taken over: %s. %s", what.rstrip("."), error.hint)
            return
        before = site.config
        restart = [name for name in _NEEDS_RESTART if getattr(config, name) != getattr(site.config, name)]
        site.config = replace(
            site.config,
            queries=config.queries,
            subscriptions=config.subscriptions,
            defaults=config.defaults,
            alarms=config.alarms,
        )
        try:
            report = sync_roster(site)
        except BaseException:
            site.config = before
            raise
        self._published_run = None
        fields = {name: getattr(report, name) for name in ("added", "edited", "ended")}
        _log.info("digest.toml was taken over", extra={"fields": fields})
        for sentence in (*report.doubts, *report.remarks):
            _log.warning("%s", " ".join(sentence.splitlines()[:2]))  # without the place, which a line can't show
        if restart:
            _log.warning("what changed in %s counts after a restart", ", ".join(restart))
