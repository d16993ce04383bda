"""What each job does in a turn: one verb of the pipeline, and what is told of it in log and metrics."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from digest.errors import DigestError
from digest.pipeline import deliver, match, plan, publish_feeds, sync_roster
from digest.pipeline.alarms import watch
from digest.pipeline.passes import ask_arxiv
from digest.pipeline.working import polling_alone
from digest.planning.alarms import AlarmName
from digest.store import feeds as feed_store
from digest.store import runs as run_store
from digest.telemetry import Metrics, Verb, log_event

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from digest.config import Config
    from digest.pipeline import Lane, Site

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
