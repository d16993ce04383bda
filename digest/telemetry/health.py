"""Facts about a running process, and whether they are good: pure, so that every threshold can be tested."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from digest.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

MISSED_TICKS = 2
"""A scheduler this many ticks late counts as stuck."""

STALE_POLL = timedelta(days=2)
"""Looks complete daily, also on days without a mailing: two days without one need an operator."""

LONGEST_TURNS: Mapping[str, float] = MappingProxyType(
    {
        "poll": 4 * 3600.0,  # a very first look goes through weeks of papers, at arXiv's pace
        "plan": 1800.0,
        "deliver-mail": 1800.0,  # ten minutes beside mails that hang, ten more over the last one's final dot
        "deliver-posts": 1200.0,
        "heartbeat": 120.0,
        "reload": 1800.0,
    }
)
"""Seconds after which a turn counts as stuck, by job."""

_LONGEST_OTHER = 3600.0


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """What is known of a running process.

    Attributes:
        is_store_writable: a transaction that writes has just gone through.
        tick: how often the scheduler should tick.
        heartbeat_at: when it last did (UTC); None before the first time.
        last_complete_poll_at: when the last complete look at arXiv ended (UTC); None for never.
        breaker_until: arXiv is left alone until then (UTC); None while it is not.
        dead: deliveries that failed for good and nobody has looked at.
        held: deliveries that wait for the operator.
        is_restored: the database was restored, and nobody has said yet how to go on.
    """

    is_store_writable: bool
    tick: timedelta
    heartbeat_at: datetime | None
    last_complete_poll_at: datetime | None = None
    breaker_until: datetime | None = None
    dead: int = 0
    held: int = 0
    is_restored: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """What the facts mean.

    Attributes:
        failures: why this process is not ready; a load balancer or supervisor should act.
        warnings: what the operator should look at; restarting helps none of it.
    """

    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether the process does its work."""
        return not self.failures


def is_stuck(job: str, seconds: float) -> bool:
    """Tell whether a job has been at the same turn for too long."""
    return seconds > LONGEST_TURNS.get(job, _LONGEST_OTHER)


def assess_health(facts: HealthFacts, now: datetime) -> Health:
    """Judge the facts at a moment (UTC)."""
    return Health(tuple(_find_failures(facts, now)), tuple(_find_warnings(facts, now)))


def _find_failures(facts: HealthFacts, now: datetime) -> Iterator[str]:
    if not facts.is_store_writable:
        yield "the database can't be written"
    if facts.heartbeat_at is None:
        yield "the scheduler has not ticked yet"
    elif now - facts.heartbeat_at > MISSED_TICKS * facts.tick:
        yield f"the scheduler last ticked {_write_age(now - facts.heartbeat_at)} ago"


def _find_warnings(facts: HealthFacts, now: datetime) -> Iterator[str]:
    if facts.breaker_until is not None and facts.breaker_until > now:
        yield f"arXiv asked for a pause: {_write_age(facts.breaker_until - now)} are left of it"
    if facts.last_complete_poll_at is None:
        yield "arXiv has not been looked at completely yet"
    elif now - facts.last_complete_poll_at > STALE_POLL:
        yield f"the last complete look at arXiv was {_write_age(now - facts.last_complete_poll_at)} ago"
    if facts.is_restored:
        yield "the database was restored and nothing is sent: digest db resume"
    if facts.dead:
        yield f"{count(facts.dead, 'delivery is', 'deliveries are')} dead: digest delivery list"
    if facts.held:
        yield f"{count(facts.held, 'delivery is', 'deliveries are')} held for you: digest delivery list"


def _write_age(age: timedelta) -> str:
    """Write a span in its largest unit: seconds, minutes, hours or days."""
    seconds = int(age.total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
