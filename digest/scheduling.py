"""What `digest serve` does all day: a handful of static jobs that call the pipeline, and their signs of life.

APScheduler says only when; what is due is decided by the store and the installation's clock, so a job
that runs late, twice or not at all changes nothing. On SQLite the jobs that work take turns: one
process, one step at a time. On PostgreSQL they run side by side, as those of other replicas do.
"""

from __future__ import annotations

import logging
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from digest.clock import SystemClock, monotonic
from digest.errors import DigestError, StoreError
from digest.pipeline import deliver, match, plan, poll, publish_feeds, sync_roster
from digest.pipeline.attention import describe_late_mailing
from digest.pipeline.gap_check import check_gaps
from digest.pipeline.looking_back import look_back
from digest.pipeline.watching import watch
from digest.pipeline.witnessing import witness
from digest.store import feeds as feed_store
from digest.store import matches as match_store
from digest.telemetry import Metrics, Verb, log_event

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from digest.config import Config
    from digest.pipeline import Site

_log = logging.getLogger("digest.schedule")

EVERY: Mapping[str, float] = MappingProxyType(
    {"poll": 60.0, "plan": 30.0, "deliver": 5.0, "publish": 60.0, "watch": 60.0, "heartbeat": 10.0}
)
"""Seconds of real time between two turns of each job."""

TICK = timedelta(seconds=30)
"""How often there must be a sign of life at least."""

LONGEST_TURN = 60.0
"""Seconds after which delivering lets the other jobs have a turn; it goes on with its next one."""

STORE_DOUBT = 60.0
"""Seconds without a transaction that could write after which the database counts as away."""

_AT_ONCE = ("poll", "deliver")
"""Jobs that begin with the schedule; the others wait for a first look at arXiv to wake them."""

_BREAK_AGAIN = 0.25
_NEEDS_RESTART = ("arxiv", "store", "mail", "slack", "web", "templates")


@dataclass(frozen=True, slots=True)
class Job:
    """One thing done again and again.

    Attributes:
        name: what it is called in logs and health.
        step: does it once.
        wakes: jobs that have something to do afterwards, and need not wait for their time.
    """

    name: str
    step: Callable[[], None]
    wakes: tuple[str, ...] = ()


@dataclass
class Pulse:
    """Signs of life of a schedule, read by health checks from other threads; ages are in seconds.

    Attributes:
        troubles: the error that ended a job's last turn, by job; those that went well are missing.
    """

    troubles: dict[str, str] = field(default_factory=dict)
    _beat_at: float | None = None
    _wrote_at: float | None = None

    @property
    def age(self) -> float | None:
        """How long ago the scheduler last ran anything; None before the first time."""
        return None if self._beat_at is None else monotonic() - self._beat_at

    @property
    def is_store_writable(self) -> bool:
        """Whether a transaction that could write went through lately."""
        return self._wrote_at is not None and monotonic() - self._wrote_at < STORE_DOUBT

    def beat(self) -> None:
        """Note that the scheduler runs jobs."""
        self._beat_at = monotonic()

    def note_write(self) -> None:
        """Note that the database took a transaction that could write."""
        self._wrote_at = monotonic()


class Schedule:
    """The jobs of one installation. Start it once, stop it once.

    Args:
        site: the installation; its worker lock is held by the caller for as long as this lives.
        every: seconds between two turns, by job.
    """

    def __init__(self, site: Site, *, every: Mapping[str, float] = EVERY) -> None:
        self.pulse = Pulse()
        self.metrics = Metrics()
        self._site = site
        self._every = every
        self._turn: AbstractContextManager[Any] = (
            threading.Lock() if site.store.dialect == "sqlite" else nullcontext()
        )
        self._stopping = threading.Event()
        self._idle = threading.Condition()
        self._working = 0
        self._published_run: int | None = None
        self._told: dict[str, object] = {}
        self._jobs = {
            job.name: job
            for job in (
                Job("poll", self._poll, wakes=("plan", "publish")),
                Job("plan", self._plan, wakes=("deliver",)),
                Job("deliver", self._deliver),
                Job("publish", self._publish),
                Job("watch", self._watch),
            )
        }
        # A job that is late is run all the same, once; one still at it is seen by health, not by a warning.
        logging.getLogger("apscheduler.scheduler").setLevel(logging.ERROR)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": ThreadPoolExecutor(len(self._jobs) + 2)},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )

    def start(self) -> None:
        """Begin. Nothing is planned before arXiv has been looked at, or the look has failed."""
        now = SystemClock().now()
        self._add("heartbeat", self._beat, now)
        for job in self._jobs.values():
            first = now if job.name in _AT_ONCE else None
            self._add(job.name, partial(self._take_turn, job), first)
        self._scheduler.start()

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over the saved queries and subscriptions of a file that was edited, at the next free moment."""
        job = Job("reload", lambda: self._reload(load), wakes=("poll",))
        self._scheduler.add_job(self._take_turn, args=[job], id="reload", replace_existing=True)

    def stop(self, *, grace: float, force: float) -> bool:
        """Begin nothing new, and let what is under way end.

        Args:
            grace: seconds it may take by itself; then connections are broken off.
            force: seconds it may take after that.

        Returns:
            Whether everything has ended. What has not leaves nothing behind that the next start cannot mend.
        """
        self._stopping.set()
        self._scheduler.pause()
        if isinstance(self._site.clock, SystemClock):
            self._site.clock.wake()
        has_ended = self._await_idle(grace)
        until = monotonic() + force
        while not has_ended and monotonic() < until:
            self._site.interrupt()
            has_ended = self._await_idle(_BREAK_AGAIN)
        self._scheduler.shutdown(wait=False)
        return has_ended

    def _add(self, name: str, run: Callable[[], None], first: datetime | None) -> None:
        self._scheduler.add_job(run, "interval", seconds=self._every[name], id=name, next_run_time=first)

    def _await_idle(self, seconds: float) -> bool:
        with self._idle:
            return self._idle.wait_for(lambda: not self._working, seconds)

    def _take_turn(self, job: Job) -> None:
        with self._turn:
            if self._stopping.is_set():
                return
            self._count(1)
            try:
                job.step()
            except Exception as error:  # noqa: BLE001 - whatever it is, the other jobs and the next turn go on
                self._note_trouble(job.name, error)
            else:
                self.pulse.troubles.pop(job.name, None)
            finally:
                self._count(-1)
        for name in job.wakes:
            self._wake(name)

    def _count(self, change: int) -> None:
        with self._idle:
            self._working += change
            self._idle.notify_all()

    def _note_trouble(self, name: str, error: Exception) -> None:
        if self._stopping.is_set():
            _log.info("%s was broken off: %s", name, error)
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
        try:
            with self._site.store.begin() as conn:
                match_store.matched_mark(conn)
        except StoreError as error:
            _log.warning("the database does not take a transaction: %s", error.message)
        else:
            self.pulse.note_write()

    def _poll(self) -> None:
        with self.metrics.time_verb(Verb.POLL):
            polled = poll(self._site)
            check_gaps(self._site, polled)
            look_back(self._site, polled)
        if polled.was_due and not polled.failures:
            log_event(Verb.POLL, "complete", papers=polled.papers, pages=polled.pages)
        for failure in polled.failures:
            log_event(Verb.POLL, "failed", level=logging.WARNING, why=failure)
        if polled.caught_up:
            first, last = polled.caught_up[0].isoformat(), polled.caught_up[-1].isoformat()
            log_event(Verb.POLL, "caught up", first=first, last=last, mailings=len(polled.caught_up))
        self._tell_late()
        for kind, papers in polled.kinds.items():
            self.metrics.count_papers(str(kind), papers)
        self._match(first_looks=not polled.is_cut_short, awaiting=polled.awaiting)
        witness(self._site, polled)

    def _tell_late(self) -> None:
        with self._site.store.read() as conn:
            late = describe_late_mailing(conn, self._site.config.arxiv.source, self._site.clock.now())
        self.metrics.set_late(is_late=bool(late))
        if self._told.get("late") != late:
            self._told["late"] = late
            if late:
                log_event(Verb.POLL, "late", level=logging.WARNING, why=late)

    def _match(self, *, first_looks: bool = True, awaiting: Collection[str] = ()) -> None:
        with self.metrics.time_verb(Verb.MATCH):
            matched = match(self._site, first_looks=first_looks, awaiting=awaiting)
        if matched.changes or matched.first_looks:
            papers, looks = len(matched.papers), matched.first_looks
            log_event(Verb.MATCH, "complete", changes=matched.changes, papers=papers, first_looks=looks)
            self.metrics.count_matches(papers)

    def _plan(self) -> None:
        with self.metrics.time_verb(Verb.PLAN):
            planned = plan(self._site, patience=None)
        for digest in planned.digests:
            name, papers = digest.subscription, len(digest.entries)
            log_event(Verb.PLAN, "frozen", subscription=name, slot=digest.slot, papers=papers)
        self._tell_once("waiting", logging.INFO, planned.waiting)
        self._tell_once("failed", logging.WARNING, planned.failures)

    def _tell_once(self, outcome: str, level: int, subscriptions: list[str]) -> None:
        """Log what stays the same from turn to turn only when it changes."""
        if subscriptions != self._told.get(outcome, []):
            log_event(Verb.PLAN, outcome, level=level, subscriptions=subscriptions)
        self._told[outcome] = subscriptions

    def _deliver(self) -> None:
        until = monotonic() + LONGEST_TURN
        with self.metrics.time_verb(Verb.DELIVER):
            report = deliver(self._site, should_stop=lambda: self._stopping.is_set() or monotonic() > until)
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

    def _publish(self) -> None:
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

    def _watch(self) -> None:
        watched = watch(self._site)
        alarms = [f"{alarm.what}. {alarm.remedy}" for alarm in watched.alarms]
        if alarms != self._told.get("alarms", []):
            for alarm in alarms:
                _log.error("alarm: %s", alarm)
        self._told["alarms"] = alarms

    def _reload(self, load: Callable[[], Config]) -> None:
        site = self._site
        try:
            config = load()
        except DigestError as error:
            _log.error("digest.toml was not taken over: %s %s", error.message, error.hint)
            return
        restart = [name for name in _NEEDS_RESTART if getattr(config, name) != getattr(site.config, name)]
        site.config = replace(
            site.config,
            queries=config.queries,
            subscriptions=config.subscriptions,
            defaults=config.defaults,
        )
        report = sync_roster(site)
        self._published_run = None
        fields = {"added": report.added, "edited": report.edited, "ended": report.ended}
        _log.info("digest.toml was taken over", extra={"fields": fields})
        for name, problem in report.unreadable:
            _log.warning("saved query %s can't be read: %s", name, problem)
        for name, problem in report.not_excluding:
            _log.warning("what %s excludes can't be read: %s", name, problem)
        if restart:
            _log.warning("what changed in %s counts after a restart", ", ".join(restart))
