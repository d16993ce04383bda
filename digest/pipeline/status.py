"""The facts of the status screen: what works, what does not, what comes next. Nothing is decided or changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import EASTERN, has_mailing, latest_mailing, mailing_moment, next_mailing
from digest.pipeline.attention import find_troubles, polled_keys
from digest.planning import assess_coverage, join_coverages
from digest.planning.polls import next_poll_time
from digest.store import overview
from digest.store import runs as run_store
from digest.store.gate import load_breaker
from digest.store.presence import find_worker

if TYPE_CHECKING:
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.clock import Clock
    from digest.config import Config
    from digest.pipeline.attention import Trouble
    from digest.store import Store
    from digest.store.overview import Breaker, Outbox, SubscriptionLine
    from digest.store.presence import Worker

SPAN = timedelta(days=30)
"""How far back papers are counted."""


@dataclass(frozen=True, slots=True)
class Intake:
    """How far arXiv has been looked at.

    Attributes:
        source: `harvest` or `query`.
        mailing: Eastern date of the last mailing; None before the first look.
        is_complete: all of it has been looked at, for every saved query.
        checked_at: when the last look ended (UTC); None before the first.
        looked_at: papers compared since that mailing.
        new: papers among them that were never met before; none in a source's very first look.
    """

    source: str
    mailing: date | None
    is_complete: bool
    checked_at: datetime | None
    looked_at: int
    new: int


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
        worker: the process at work; None where none is seen.
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
    worker: Worker | None


def load_status(config: Config, store: Store, clock: Clock) -> Status:
    """Gather the screen's facts."""
    now = clock.now()
    worker = find_worker(store)
    size = overview.measure_size(store)
    with store.read() as conn:
        outbox = overview.load_outbox(conn, now)
        breaker = load_breaker(conn, clock)
        troubles = find_troubles(
            conn, config.arxiv.source, now, outbox=outbox, breaker=breaker, has_worker=worker is not None
        )
        return Status(
            now=now,
            troubles=tuple(troubles),
            intake=load_intake(conn, config.arxiv.source, now),
            breaker=breaker,
            next_mailing=next_mailing(now),
            no_mailing=_find_gap(now),
            next_poll_at=next_poll_time(now),
            requests=overview.count_requests(conn, now - timedelta(hours=24)),
            subscriptions=tuple(overview.load_subscription_lines(conn, now, span=SPAN)),
            outbox=outbox,
            papers=overview.count_papers(conn),
            dialect=store.dialect,
            size=size,
            worker=worker,
        )


def load_intake(conn: Connection, source: str, now: datetime) -> Intake:
    """Say how far arXiv has been looked at: by one harvest, or by every saved query."""
    keys = polled_keys(conn, source) or [""]
    looks = [run_store.recent_polls(conn, source, [key], now) for key in keys]
    coverage = join_coverages([assess_coverage(polls, now) for polls in looks])
    last_runs = [run for key in keys for run in run_store.last_runs(conn, source, 1, query_key=key)]
    checked = [run.finished_at for run in last_runs if run.finished_at is not None]
    since = mailing_moment(latest_mailing(now))
    runs = [
        run for run in run_store.last_runs(conn, source, limit=10 * (len(keys) + 1)) if run.started_at >= since
    ]
    return Intake(
        source=source,
        mailing=latest_mailing(now) if checked else None,
        is_complete=coverage.is_complete,
        checked_at=max(checked, default=None),
        looked_at=coverage.looked_at,
        new=sum(run.new for run in runs if not run.is_bootstrap),
    )


def _find_gap(now: datetime) -> tuple[date, ...]:
    """Return the evenings between now and the next mailing that have none."""
    day, last = now.astimezone(EASTERN).date(), next_mailing(now)
    days = [day + timedelta(days=number) for number in range((last - day).days)]
    return tuple(day for day in days if not has_mailing(day))
