"""Runs the jobs by APScheduler."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_EXECUTED, JobEvent, JobExecutionEvent
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from digest.config import Config
from digest.deliver.dispatch import LANES
from digest.model.clock import SystemClock, monotonic
from digest.model.errors import StoreError
from digest.serve.installation import Heartbeat
from digest.serve.jobs import Jobs
from digest.serve.telemetry import Pulse
from digest.site import Site
from digest.store.workers import BEAT

_log = logging.getLogger("digest.schedule")

EVERY: Mapping[str, float] = MappingProxyType(
    {
        "poll": 60.0,
        "plan": 30.0,
        "deliver-mail": 5.0,
        "deliver-posts": 5.0,
        "publish": 60.0,
        "watch": 60.0,
        "heartbeat": BEAT,
    }
)
"""Seconds of real time between two turns of each job."""

_DELIVERING = tuple(f"deliver-{lane.name}" for lane in LANES)

_AT_ONCE = ("poll", *_DELIVERING)
"""Jobs that begin with the schedule; the others start after the first check of arXiv."""

_LONG_CHECK = timedelta(minutes=15)
"""After so long alarms are sent even if the first check of arXiv has not ended. They then do not wait either until
what was due before the start is planned."""

_BREAK_AGAIN = 0.25
_LAST_MOMENT = 0.5
"""Seconds in which what was given up at last may say so."""


@dataclass(frozen=True, slots=True)
class Job:
    """One thing done again and again.

    Attributes:
        wakes: jobs that have something to do afterwards, and need not wait for their time.
        goes_beside: it waits for others outside, and so keeps no other job waiting, on SQLite either.
    """

    name: str
    step: Callable[[], None]
    wakes: tuple[str, ...] = ()
    goes_beside: bool = False


class Schedule:
    """The jobs of one installation. Start it once, stop it once.

    Args:
        site: the installation; its worker lock is held by the caller for as long as this lives.
        every: seconds between two turns, by job.
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
        self._idle = threading.Condition()
        self._working = 0
        self._jobs = {
            job.name: job
            for job in (
                Job("poll", self.jobs.poll, wakes=("plan",)),
                Job("plan", self.jobs.plan, wakes=(*_DELIVERING, "publish", "watch")),
                *(
                    Job(name, partial(self.jobs.deliver, lane), goes_beside=True)
                    for name, lane in zip(_DELIVERING, LANES, strict=True)
                ),
                Job("publish", self.jobs.publish),
                Job("watch", self.jobs.watch, goes_beside=True),
            )
        }
        # A job that is late is run all the same, once, and one that failed is reported by the events: no warning
        # of APScheduler's own is needed.
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
        for job in self._jobs.values():
            self._add(job.name, partial(self._run_job, job), first.get(job.name))  # others wait for being woken
        self._scheduler.start()

    def reload(self, load: Callable[[], Config]) -> None:
        """Take over the saved queries and subscriptions of a file that was edited, at the next free moment."""
        job = Job("reload", partial(self.jobs.reload, load), wakes=("poll",))
        self._scheduler.add_job(self._run_job, args=[job], id=job.name, replace_existing=True)

    def stop(self, *, grace: float, force: float) -> bool:
        """Begin nothing new, and let what is under way end.

        Args:
            grace: seconds it may take by itself; then connections are broken off.
            force: seconds it may take after that: an answer that came is still written down meanwhile, however
                slow the database is. Then this, too, is given up.

        Returns:
            Whether everything has ended. What has not leaves nothing that the next start cannot repair.
        """
        self._stopping.set()
        self._scheduler.pause()
        if isinstance(self._site.clock, SystemClock):
            self._site.clock.wake()
        has_ended = self._await_idle(grace)
        until = monotonic() + force
        while not has_ended and monotonic() < until:
            self._site.hang_up()
            has_ended = self._await_idle(_BREAK_AGAIN)
        if not has_ended:
            self._site.interrupt()
            has_ended = self._await_idle(_LAST_MOMENT)
        self._scheduler.shutdown(wait=False)
        if has_ended:
            self._signs.sign_off()
        return has_ended

    def _add(self, name: str, run: Callable[[], None], first: datetime | None) -> None:
        self._scheduler.add_job(run, "interval", seconds=self._every[name], id=name, next_run_time=first)

    def _await_idle(self, seconds: float) -> bool:
        with self._idle:
            return self._idle.wait_for(lambda: not self._working, seconds)

    def _run_job(self, job: Job) -> None:
        with nullcontext() if job.goes_beside else self._turn:
            if self._stopping.is_set():
                return
            self.pulse.board.begin(job.name, SystemClock().now())
            self._count(1)
            try:
                job.step()
            finally:
                self._count(-1)
                for name in job.wakes:
                    self._wake(name)

    def _count(self, change: int) -> None:
        with self._idle:
            self._working += change
            self._idle.notify_all()

    def _note_event(self, event: JobEvent) -> None:
        """Note what APScheduler says of a job; it calls this from the thread the job ran in."""
        board, name = self.pulse.board, event.job_id
        if isinstance(event, JobExecutionEvent) and event.exception is not None:
            board.end(name, SystemClock().now(), type(event.exception).__name__)
            self._note_trouble(name, event.exception)
        else:
            board.end(name, SystemClock().now(), self.jobs.remarks.get(name, ""))
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
            _log.warning("the database does not record that this process is alive: %s", error.message)
        else:
            self.pulse.note_write()
