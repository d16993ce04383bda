"""Keeps walking the steps as jobs of `serve`, by APScheduler; logs and counts what came of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobEvent, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from digest.config import Config
from digest.deliver.dispatch import LANES, Lane
from digest.deliver.rules import Step
from digest.match.step import MatchReport, match
from digest.model.clock import SystemClock, monotonic
from digest.model.errors import DigestError, StoreError
from digest.model.said import NOTHING, Said
from digest.serve.configuration import sync_config
from digest.serve.installation import Heartbeat
from digest.serve.steps import PassReport, Steps
from digest.serve.telemetry import Metrics, Pulse, Verb, log_event
from digest.site import Site
from digest.store import queries
from digest.store.alarms import AlarmName
from digest.store.workers import BEAT

_log = logging.getLogger("digest.schedule")

EVERY: Mapping[str, float] = {
    "poll": 60.0,
    "plan": 30.0,
    "deliver-mail": 5.0,
    "deliver-posts": 5.0,
    "publish": 60.0,
    "watch": 60.0,
    "heartbeat": BEAT,
}
"""Seconds of real time between two turns of each job."""

_DELIVERING = tuple(f"deliver-{lane.name}" for lane in LANES)

_AT_ONCE = ("poll", *_DELIVERING)
"""Jobs that begin with the schedule; the others start after the first check of arXiv."""

_LONG_CHECK = timedelta(minutes=15)
"""Alarms wait for the first check of arXiv, and for the planning after it.

They wait no longer than this.
"""

_BREAK_AGAIN = 0.25
_LAST_MOMENT = 0.5
"""Seconds in which what was given up at last may say so."""

_OUTCOMES = {Step.RETRY: "retried", Step.ASK: "unknown", Step.HOLD: "held", Step.GIVE_UP: "dead"}
"""What logs and metrics call what follows a failure; one that is shortened goes on."""

TAKEN_OVER = ("queries", "subscriptions", "defaults", "alarms", "zotero")
"""What a reload takes over from an edited file."""

_OF_FILE = ("path", "folder", "warnings", "origins", "given", "hidden", "choose_proxy")
"""What of the configuration says how it was read, or follows from it; all else is settings."""

NEEDS_RESTART = tuple(
    one.name for one in fields(Config) if one.name not in (*TAKEN_OVER, *_OF_FILE)
)
"""What a reload names, since a process keeps it as it was when it began."""


class Jobs:
    """The jobs of one installation.

    `remarks` say by job what a last turn, which went to its end, could not do.
    """

    def __init__(self, site: Site, is_stopping: Callable[[], bool]) -> None:
        self.metrics = Metrics()
        self.logged: dict[str, Sequence[str | Said]] = {}
        self.remarks: dict[str, Said] = {}
        self._site = site
        self._is_stopping = is_stopping
        self._steps = Steps(site, PassReport())
        self._published: tuple[int | None, int] | None = None
        self._pages = 0

    def poll(self) -> None:
        """Ask arXiv for what is due, unless another worker is at it, and match what came.

        What a worker stored that died before it matched waits for no other check, nor for the end
        of that one's.
        """
        with self.metrics.time_verb(Verb.MATCH):
            self._note_match(match(self._site, first_digests=False))
        with self.metrics.time_verb(Verb.POLL):
            polled = self._steps.poll()
        if polled.was_due and not polled.failures:
            log_event(Verb.POLL, "complete", papers=polled.papers, pages=polled.pages)
        for failure in polled.failures:
            log_event(Verb.POLL, "failed", level=logging.WARNING, why=str(failure))
        self._log_catching_up(polled.caught_up)
        for trouble in self._steps.report.libraries.troubles:
            log_event(Verb.POLL, "library", level=logging.WARNING, why=trouble)
        for kind, papers in polled.kinds.items():
            self.metrics.papers.labels(str(kind)).inc(papers)
        with self.metrics.time_verb(Verb.MATCH):
            self._note_match(self._steps.match())

    def _log_catching_up(self, days: Sequence[date]) -> None:
        """Log which announcements came out while nobody checked, if any did."""
        if days:
            log_event(
                Verb.POLL,
                "caught up",
                first=days[0].isoformat(),
                last=days[-1].isoformat(),
                announcements=len(days),
            )

    def _note_match(self, matched: MatchReport) -> None:
        if matched.changes or matched.first_digests:
            log_event(
                Verb.MATCH,
                "complete",
                changes=matched.changes,
                papers=len(matched.papers),
                first_digests=matched.first_digests,
            )
            self.metrics.matches.inc(len(matched.papers))

    def plan(self) -> None:
        """Freeze the digests that are due."""
        with self.metrics.time_verb(Verb.PLAN):
            planned = self._steps.plan()
        for digest in planned.digests:
            log_event(
                Verb.PLAN,
                "frozen",
                subscription=digest.subscription,
                slot=digest.slot,
                papers=len(digest.entries),
            )
        if self._is_news("waiting", planned.waiting):
            log_event(Verb.PLAN, "waiting", subscriptions=planned.waiting)
        failures = [str(one) for one in planned.failures]
        if self._is_news("failed", failures):
            log_event(Verb.PLAN, "failed", level=logging.WARNING, subscriptions=failures)
        self.remarks = {"plan": planned.trouble} if planned.trouble else {}

    def _is_news(self, outcome: str, lines: Sequence[str | Said]) -> bool:
        """Whether what stays the same from turn to turn has changed."""
        before = self.logged.get(outcome, [])
        self.logged[outcome] = lines
        return lines != before

    def deliver(self, lane: Lane) -> None:
        """Send what is due on some kinds of destination."""
        with self.metrics.time_verb(Verb.DELIVER):
            report = self._steps.deliver(lane, should_stop=self._is_stopping)
        if report.pages:
            self._pages += report.pages  # one lane alone has any: the other must not write here
        for transport, messages in sorted(report.sent.items()):
            log_event(Verb.DELIVER, "sent", transport=transport, messages=messages)
            self.metrics.deliveries.labels(transport, "sent").inc(messages)
        for failure in report.failures:
            outcome = _OUTCOMES.get(failure.step)
            if outcome:
                why = f"{failure.destination}: {failure.reason}"
                log_event(Verb.DELIVER, outcome, level=logging.WARNING, why=why)
                self.metrics.deliveries.labels(str(failure.destination.kind), outcome).inc()

    def publish(self) -> None:
        """Write feeds that are files and folders that are sites.

        Nothing is written unless something was matched or sent since.
        """
        with self._site.store.read() as conn:
            newest = queries.load_newest_match_run(conn), self._pages
        if newest != self._published:
            feeds = self._steps.publish()
            for failure in feeds.failures:
                log_event(Verb.RENDER, "failed", level=logging.WARNING, why=str(failure))
            if not feeds.failures:
                self._published = newest
            if feeds.written or feeds.pages:
                log_event(Verb.RENDER, "published", files=feeds.written + feeds.pages)

    def watch(self) -> None:
        """Tell the operator what should have happened and has not."""
        watched = self._steps.watch()
        for failure in watched.failures:
            _log.error("%s", failure)
        is_late = any(alarm.name is AlarmName.ANNOUNCEMENT for alarm in watched.alarms)
        self.metrics.late.set(is_late)
        alarms = [alarm.detail for alarm in watched.alarms]
        if self._is_news("alarms", alarms):
            for alarm in alarms:
                _log.error("alarm: %s", alarm)

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over the saved queries and subscriptions of a file that was edited.

        Also where alarms go. All stays as it was if the file is refused, or anything is raised.
        """
        site = self._site
        try:
            config = load()
        except DigestError as error:
            # Of several mistakes it says how many; `digest doctor --quick` has each.
            what, *_ = error.message.split("\n")
            _log.error("the new digest.toml is not used: %s. %s", what.rstrip("."), error.hint)
            return
        before = site.config
        restart = [one for one in NEEDS_RESTART if getattr(config, one) != getattr(before, one)]
        taken = {name: getattr(config, name) for name in TAKEN_OVER}
        site.config = replace(before, **taken)
        try:
            report = sync_config(site)
        except BaseException:
            site.config = before
            raise
        self._published = None
        changed = {name: getattr(report, name) for name in ("added", "edited", "ended")}
        _log.info("the new digest.toml is in use", extra={"fields": changed})
        for sentence in (*report.doubts, *report.remarks):
            # Without the place, which a line can't show.
            first_lines = sentence.splitlines()[:2]
            _log.warning("%s", " ".join(first_lines))
        if restart:
            _log.warning("restart `digest serve` for the changes in %s", ", ".join(restart))


@dataclass(frozen=True, slots=True)
class Job:
    """One thing done again and again. Afterwards it `wakes` jobs that have something to do then.

    A job that `goes_beside` waits for others outside, and so keeps no other job waiting, on SQLite
    either.
    """

    name: str
    step: Callable[[], None]
    wakes: tuple[str, ...] = ()
    goes_beside: bool = False


def _list_jobs(jobs: Jobs) -> list[Job]:
    """Return the jobs of an installation, and what each wakes."""
    delivering = [
        Job(name, partial(jobs.deliver, lane), goes_beside=True)
        for name, lane in zip(_DELIVERING, LANES, strict=True)
    ]
    return [
        Job("poll", jobs.poll, wakes=("plan",)),
        Job("plan", jobs.plan, wakes=(*_DELIVERING, "publish", "watch")),
        *delivering,
        Job("publish", jobs.publish),
        Job("watch", jobs.watch, goes_beside=True),
    ]


class Schedule:
    """The jobs of one installation.

    Start it once, stop it once. Its caller holds the worker lock meanwhile.
    """

    def __init__(self, site: Site, *, every: Mapping[str, float] = EVERY) -> None:
        self._stopping = threading.Event()
        self.jobs = Jobs(site, self._stopping.is_set)
        self.pulse = Pulse()
        self._site = site
        self._signs = Heartbeat(site)
        self._every = every
        self._turn: AbstractContextManager[Any] = (
            threading.Lock() if site.store.dialect == "sqlite" else nullcontext()
        )
        self._jobs = {job.name: job for job in _list_jobs(self.jobs)}
        # A job that is late is run all the same, once, and one that failed is reported by the
        # events: no warning of APScheduler's own is needed.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
        logging.getLogger("apscheduler.executors.default").setLevel(logging.CRITICAL)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(len(self._jobs) + 2)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_listener(self._note_event, EVENT_JOB_EXECUTED | EVENT_JOB_ERROR)

    def start(self) -> None:
        """Begin. Nothing is planned before arXiv has been checked, or the check has failed."""
        self._beat()
        now = SystemClock().now()
        first = {**dict.fromkeys(_AT_ONCE, now), "watch": now + _LONG_CHECK}
        self._add("heartbeat", self._beat, now)
        for job in self._jobs.values():  # those without a first moment wait for being woken
            self._add(job.name, partial(self._run_job, job), first.get(job.name))
        self._scheduler.start()

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over an edited file at the next free moment: its saved queries and subscriptions."""
        job = Job("reload", partial(self.jobs.reload, load), wakes=("poll",))
        self._scheduler.add_job(self._run_job, args=[job], id=job.name, replace_existing=True)

    def stop(self, *, grace: float, force: float) -> bool:
        """Begin nothing new, and let what is under way end; return whether it has.

        After so many seconds of `grace`, connections are broken off. An answer that came is still
        written down for so many more, however slow the database is. What has not ended then leaves
        nothing that the next start cannot repair.
        """
        self._stopping.set()
        if isinstance(self._site.clock, SystemClock):
            self._site.clock.wake()
        ending = threading.Thread(target=self._scheduler.shutdown, name="ending", daemon=True)
        ending.start()  # it waits for the jobs that have begun
        ending.join(grace)
        until = monotonic() + force
        while ending.is_alive() and monotonic() < until:
            self._site.hang_up()
            ending.join(_BREAK_AGAIN)
        if ending.is_alive():
            self._site.interrupt()
            ending.join(_LAST_MOMENT)
        if ending.is_alive():
            return False
        self._signs.sign_off()
        return True

    def _add(self, name: str, run: Callable[[], None], first: datetime | None) -> None:
        self._scheduler.add_job(
            run, "interval", seconds=self._every[name], id=name, next_run_time=first
        )

    def _run_job(self, job: Job) -> None:
        with nullcontext() if job.goes_beside else self._turn:
            if self._stopping.is_set():
                return
            self.pulse.board.begin(job.name, SystemClock().now())
            try:
                job.step()
            finally:
                for name in job.wakes:
                    self._wake(name)

    def _note_event(self, event: JobEvent) -> None:
        """Note what APScheduler says of a job; it calls this from the thread the job ran in."""
        name = event.job_id
        now = SystemClock().now()
        if isinstance(event, JobExecutionEvent) and event.exception is not None:
            self.pulse.board.end(name, now, Said.plain(type(event.exception).__name__))
            self._note_trouble(name, event.exception)
        else:
            self.pulse.board.end(name, now, self.jobs.remarks.get(name, NOTHING))
            self.pulse.troubles.pop(name, None)

    def _note_trouble(self, name: str, error: BaseException) -> None:
        if self._stopping.is_set():
            _log.info("%s was stopped: %s", name, error)
            return
        self.pulse.troubles[name] = type(error).__name__
        if isinstance(error, StoreError):
            _log.error("%s failed: %s %s", name, error.message, error.hint)
        else:
            _log.error("%s failed", name, exc_info=error)

    def _wake(self, name: str) -> None:
        if not self._stopping.is_set():
            self._scheduler.modify_job(name, next_run_time=SystemClock().now())

    def _beat(self) -> None:
        self.pulse.beat()
        self.pulse.board.begin("heartbeat", SystemClock().now())
        try:
            self._signs.beat(self.pulse.board.list_turns())
        except StoreError as error:
            _log.warning(
                "the database does not record that this process is alive: %s", error.message
            )
        else:
            self.pulse.note_write()
