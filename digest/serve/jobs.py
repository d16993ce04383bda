"""Walks the steps as jobs of `serve`, logs and counts what came of them, and takes over an edited file."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from digest.config import Config
from digest.deliver.dispatch import Lane
from digest.match.step import MatchReport, match
from digest.model.errors import DigestError
from digest.serve.configuration import sync_config
from digest.serve.steps import PassReport, Steps
from digest.serve.telemetry import Metrics, Verb, log_event
from digest.site import Site
from digest.store.alarms import AlarmName
from digest.store.queries import load_newest_match_run

_log = logging.getLogger("digest.schedule")

# `incoming` are the addresses of `[slack.webhooks]` and `[discord]`.
_NEEDS_RESTART = ("arxiv", "store", "mail", "slack", "incoming", "webhooks", "web", "templates")
_TAKEN_OVER = ("queries", "subscriptions", "defaults", "alarms", "zotero")


class Jobs:
    """The jobs of one installation.

    Attributes:
        logged: what was logged last, by outcome: what stays the same is logged once.
        remarks: what could not be done in a job's last turn, which went to its end all the same, by job; those
            without any are missing.
    """

    def __init__(self, site: Site, is_stopping: Callable[[], bool]) -> None:
        self.metrics = Metrics()
        self.logged: dict[str, Sequence[str]] = {}
        self.remarks: dict[str, str] = {}
        self._site, self._is_stopping = site, is_stopping
        self._steps = Steps(site, PassReport())
        self._published_run: int | None = None

    def poll(self) -> None:
        """Ask arXiv for what is due, unless another worker is at it, and match what came.

        What a worker stored that died before it matched waits for no other check, nor for the end of that one's.
        """
        with self.metrics.time_verb(Verb.MATCH):
            self._note_match(match(self._site, first_digests=False))
        with self.metrics.time_verb(Verb.POLL):
            polled = self._steps.poll()
        if polled.was_due and not polled.failures:
            log_event(Verb.POLL, "complete", papers=polled.papers, pages=polled.pages)
        for failure in polled.failures:
            log_event(Verb.POLL, "failed", level=logging.WARNING, why=failure)
        if polled.caught_up:
            first, last = polled.caught_up[0].isoformat(), polled.caught_up[-1].isoformat()
            log_event(Verb.POLL, "caught up", first=first, last=last, announcements=len(polled.caught_up))
        for trouble in self._steps.report.libraries.troubles:
            log_event(Verb.POLL, "library", level=logging.WARNING, why=trouble)
        for kind, papers in polled.kinds.items():
            self.metrics.papers.labels(str(kind)).inc(papers)
        with self.metrics.time_verb(Verb.MATCH):
            self._note_match(self._steps.match())

    def _note_match(self, matched: MatchReport) -> None:
        if matched.changes or matched.first_digests:
            papers, looks = len(matched.papers), matched.first_digests
            log_event(Verb.MATCH, "complete", changes=matched.changes, papers=papers, first_digests=looks)
            self.metrics.matches.inc(papers)

    def plan(self) -> None:
        """Freeze the digests that are due."""
        with self.metrics.time_verb(Verb.PLAN):
            planned = self._steps.plan()
        for digest in planned.digests:
            name, papers = digest.subscription, len(digest.entries)
            log_event(Verb.PLAN, "frozen", subscription=name, slot=digest.slot, papers=papers)
        for outcome, level, names in (
            ("waiting", logging.INFO, planned.waiting),
            ("failed", logging.WARNING, planned.failures),
        ):
            if self._is_news(outcome, names):
                log_event(Verb.PLAN, outcome, level=level, subscriptions=names)
        self.remarks = {"plan": planned.trouble} if planned.trouble else {}

    def _is_news(self, outcome: str, lines: Sequence[str]) -> bool:
        """Whether what stays the same from turn to turn has changed."""
        before = self.logged.get(outcome, [])
        self.logged[outcome] = lines
        return lines != before

    def deliver(self, lane: Lane) -> None:
        """Send what is due on some kinds of destination."""
        with self.metrics.time_verb(Verb.DELIVER):
            report = self._steps.deliver(lane, should_stop=self._is_stopping)
        for transport, messages in sorted(report.sent.items()):
            log_event(Verb.DELIVER, "sent", transport=transport, messages=messages)
            self.metrics.deliveries.labels(transport, "sent").inc(messages)
        for outcome, lines in (
            ("retried", report.retries),
            ("unknown", report.unknown),
            ("held", report.held),
            ("dead", report.dead),
        ):
            for line in lines:  # each begins with its destination, and that with the transport
                log_event(Verb.DELIVER, outcome, level=logging.WARNING, why=line)
                self.metrics.deliveries.labels(line.partition(":")[0], outcome).inc()

    def publish(self) -> None:
        """Write the feeds that are files, if something was matched since."""
        with self._site.store.read() as conn:
            newest = load_newest_match_run(conn)
        if newest != self._published_run:
            feeds = self._steps.publish()
            for failure in feeds.failures:
                log_event(Verb.RENDER, "failed", level=logging.WARNING, why=failure)
            if not feeds.failures:
                self._published_run = newest
            if feeds.written:
                log_event(Verb.RENDER, "published", files=feeds.written)

    def watch(self) -> None:
        """Tell the operator what should have happened and has not."""
        watched = self._steps.watch()
        for failure in watched.failures:
            _log.error("%s", failure)
        self.metrics.late.set(any(alarm.name is AlarmName.ANNOUNCEMENT for alarm in watched.alarms))
        alarms = [alarm.detail for alarm in watched.alarms]
        if self._is_news("alarms", alarms):
            for alarm in alarms:
                _log.error("alarm: %s", alarm)

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over the saved queries and subscriptions of a file that was edited, and where alarms go.

        All stays as it was if the file is refused, or anything is raised.

        Raises:
            StoreError: the database does not take the subscriptions now.
        """
        site = self._site
        try:
            config = load()
        except DigestError as error:
            what, *_ = error.message.split("\n")  # of several mistakes how many; `digest doctor --quick` has each
            _log.error("the new digest.toml is not used: %s. %s", what.rstrip("."), error.hint)
            return
        before = site.config
        restart = [name for name in _NEEDS_RESTART if getattr(config, name) != getattr(site.config, name)]
        site.config = replace(site.config, **{name: getattr(config, name) for name in _TAKEN_OVER})
        try:
            report = sync_config(site)
        except BaseException:
            site.config = before
            raise
        self._published_run = None
        fields = {name: getattr(report, name) for name in ("added", "edited", "ended")}
        _log.info("the new digest.toml is in use", extra={"fields": fields})
        for sentence in (*report.doubts, *report.remarks):
            _log.warning("%s", " ".join(sentence.splitlines()[:2]))  # without the place, which a line can't show
        if restart:
            _log.warning("restart `digest serve` for the changes in %s", ", ".join(restart))
