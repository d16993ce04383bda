"""The facts of the status screen: what works, what does not, what comes next. Nothing is decided or changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import EASTERN, has_mailing, latest_mailing, next_mailing
from digest.clock import SystemClock
from digest.pipeline.alarms import load_alarms
from digest.pipeline.attention import Trouble, find_troubles, polled_keys
from digest.pipeline.covering import load_whole_coverage
from digest.planning.alarms import AlarmName
from digest.store import alarms as alarm_store
from digest.store import overview, provenance
from digest.store import runs as run_store
from digest.store.gate import load_breaker
from digest.store.job_turns import list_turns
from digest.store.workers import list_workers
from digest.telemetry.health import is_stuck

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.clock import Clock
    from digest.config import Config
    from digest.planning.alarms import Alarm
    from digest.store import Store
    from digest.store.overview import Breaker, Outbox, SubscriptionLine
    from digest.store.workers import Worker

SPAN = timedelta(days=30)
"""How far back papers are counted."""

_RESTART = "`digest status --jobs`; then start `digest serve` again"


@dataclass(frozen=True, slots=True)
class Intake:
    """How far arXiv has been looked at.

    Attributes:
        source: `harvest` or `query`.
        mailing: Eastern date of the last mailing; None before the first look.
        is_complete: all of it has been looked at, for every saved query.
        checked_at: when the last look ended (UTC); None before the first.
        looked_at: papers compared since that mailing.
        new: papers that mailing is known to have brought; 0 where that is not known.
        is_awaited: nothing of the mailing was there yet.
    """

    source: str
    mailing: date | None
    is_complete: bool
    checked_at: datetime | None
    looked_at: int
    new: int
    is_awaited: bool


@dataclass(frozen=True, slots=True)
class Status:
    """The screen's facts; moments are in UTC.

    Attributes:
        now: the moment they hold for.
        troubles: what needs somebody.
        intake: how far arXiv has been looked at.
        breaker: whether arXiv asked us to stay away.
        next_mailing: Eastern date of the next mailing.
        no_mailing: Eastern dates before it on which there is none, though days pass.
        next_poll_at: from when on a new look is worth a request.
        requests: made to arXiv within 24 hours.
        subscriptions: a line for each.
        outbox: how it stands.
        papers: how many are stored.
        dialect: `sqlite` or `postgresql`.
        size: bytes of the database.
        workers: the processes at work, and those that fell silent lately.
        alarms: what is amiss; `troubles` has it too.
        untold: names of those that somebody is to be told of and nobody was yet.
        is_held_back: the database was restored, and plans and sends nothing before `digest db resume`.
    """

    now: datetime
    troubles: tuple[Trouble, ...]
    intake: Intake
    breaker: Breaker
    next_mailing: date
    no_mailing: tuple[date, ...]
    next_poll_at: datetime
    requests: int
    subscriptions: tuple[SubscriptionLine, ...]
    outbox: Outbox
    papers: int
    dialect: str
    size: int
    workers: tuple[Worker, ...]
    alarms: tuple[Alarm, ...]
    untold: tuple[AlarmName, ...]
    is_held_back: bool


def load_status(config: Config, store: Store, clock: Clock) -> Status:
    """Gather the screen's facts."""
    now = clock.now()
    size = overview.measure_size(store)
    with store.read() as conn:
        workers = tuple(list_workers(conn))
        has_worker = any(not worker.is_gone for worker in workers)
        outbox = overview.load_outbox(conn, now)
        breaker = load_breaker(conn, clock)
        alarms = load_alarms(conn, config, now)
        told_at = {alarm.name: alarm.told_at for alarm in alarm_store.list_alarms(conn)}
        source = config.arxiv.source
        troubles = [
            # What failed is named message by message below.
            *(Trouble(one.what, one.remedy) for one in alarms if one.name is not AlarmName.FAILED),
            *find_troubles(conn, source, now, breaker=breaker, has_worker=has_worker),
            *_find_job_troubles(conn, workers),
        ]
        return Status(
            now=now,
            troubles=tuple(troubles),
            intake=load_intake(conn, config.arxiv.source, now),
            breaker=breaker,
            next_mailing=next_mailing(now),
            no_mailing=_find_gap(now),
            next_poll_at=max(
                find_next_look(conn, config.arxiv.source, now), now + timedelta(seconds=breaker.seconds)
            ),
            requests=overview.count_requests(conn, now - timedelta(hours=24)),
            subscriptions=tuple(overview.load_subscription_lines(conn, now, span=SPAN)),
            outbox=outbox,
            papers=overview.count_papers(conn),
            dialect=store.dialect,
            size=size,
            workers=workers,
            alarms=alarms,
            untold=tuple(one.name for one in alarms if config.alarms.to and not told_at.get(one.name)),
            is_held_back=provenance.is_restored(conn),
        )


def _find_job_troubles(conn: Connection, workers: Iterable[Worker]) -> Iterator[Trouble]:
    """Yield what makes a process at work not ready, besides what is told of already: its jobs."""
    living = {worker.owner for worker in workers if not worker.is_gone}
    moment = SystemClock().now()  # jobs have their turns in real time, whatever the installation's clock says
    for turn in list_turns(conn):
        if turn.owner not in living:
            continue
        if turn.trouble:
            yield Trouble(f"the job {turn.job} failed last time: {turn.trouble}", "the log says why")
        age = (moment - turn.began_at).total_seconds() if turn.began_at and turn.is_under_way else 0.0
        if is_stuck(turn.job, age):
            yield Trouble(f"the job {turn.job} has been at the same turn for {age / 60:.0f} min", _RESTART)


def load_intake(conn: Connection, source: str, now: datetime) -> Intake:
    """Say how far arXiv has been looked at: by one harvest, or by every saved query."""
    keys = polled_keys(conn, source) or [""]
    coverage = load_whole_coverage(conn, source, now)
    last_runs = [run for key in keys for run in run_store.last_runs(conn, source, 1, query_key=key)]
    checked = [run.finished_at for run in last_runs if run.finished_at is not None]
    return Intake(
        source=source,
        mailing=latest_mailing(now) if checked else None,
        is_complete=coverage.is_complete,
        checked_at=max(checked, default=None),
        looked_at=coverage.looked_at,
        new=coverage.new,
        is_awaited=coverage.is_awaited,
    )


def find_next_look(conn: Connection, source: str, now: datetime) -> datetime:
    """Return from when on the next look at arXiv is worth a request (UTC); now where one is due."""
    looks = (run_store.last_looks(conn, source, key) for key in polled_keys(conn, source))
    return max(now, min((look.next_at or now for look in looks), default=now))


def _find_gap(now: datetime) -> tuple[date, ...]:
    """Return the evenings between now and the next mailing that have none."""
    day, last = now.astimezone(EASTERN).date(), next_mailing(now)
    days = [day + timedelta(days=number) for number in range((last - day).days)]
    return tuple(day for day in days if not has_mailing(day))
