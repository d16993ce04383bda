"""Reads the time, the one module that does; says what a gate is, and writes moments for people.

Everything that decides takes a moment as a value; everything that waits asks the clock it was
given. `SystemClock` is the machine's; `RemoteClock` lives by another process's simulated time (a
stand-in for arXiv that keeps `/_control/now`), so that real processes live through months in
minutes; `ManualClock` is still until it is moved.
"""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from digest.model.errors import ConfigurationError

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})

_ANSWER = 30.0
"""Seconds a test clock may take."""

_TEST_CLOCK_HINT = "Unset DIGEST_TEST_CLOCK, or point it at http://127.0.0.1:PORT/_control/now."

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux's `CLOCK_MONOTONIC` stops while the machine is suspended, and leases do not."""


class Clock(Protocol):
    """Tells the time and waits.

    `is_simulated` is true if waiting costs no real time; spacing between requests is then kept
    in this clock's time rather than in the database's.
    """

    @property
    def is_simulated(self) -> bool:
        """Whether this is not the machine's own time."""
        ...

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds (none for zero or less)."""
        ...


class SystemClock:
    """The machine's own time. `wake` ends every sleep at once, for a quick shutdown."""

    is_simulated = False

    def __init__(self) -> None:
        self._woken = threading.Event()

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait that many seconds, or until `wake` is called."""
        if seconds > 0:
            self._woken.wait(seconds)

    def wake(self) -> None:
        """End every sleep, now and from now on."""
        self._woken.set()


class ManualClock:
    """Stands still until it is moved; sleeping moves it. For the demo and for tests."""

    is_simulated = True

    def __init__(self, now: datetime) -> None:
        self._now = to_utc(now)
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Move the clock on by that many seconds."""
        if seconds > 0:
            self.advance(timedelta(seconds=seconds))

    def advance(self, by: timedelta) -> None:
        """Move the clock on."""
        with self._lock:
            self._now += by

    def set(self, now: datetime) -> None:
        """Put the clock to a moment."""
        self._now = to_utc(now)


class RemoteClock:
    """Simulated time kept by another process on this machine.

    Its URL answers GET with JSON whose `now` is an ISO 8601 moment; `POST ?advance=SECONDS` moves
    it.
    """

    is_simulated = True

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in LOOPBACK_HOSTS:
            raise ConfigurationError(
                f"a test clock must be on this machine, not at {url}",
                hint=_TEST_CLOCK_HINT,
            )
        self._url = url

    def now(self) -> datetime:
        """Return the simulated moment, aware, in UTC."""
        return self._ask("")

    def sleep(self, seconds: float) -> None:
        """Move the simulated clock on by seconds, rounded up: such clocks print whole ones."""
        if seconds > 0:
            self._ask(f"?advance={math.ceil(seconds)}", method="POST")

    def _ask(self, query: str, method: str = "GET") -> datetime:
        from http.client import HTTPException  # noqa: PLC0415 - loaded under a test clock alone
        from urllib.request import ProxyHandler, Request, build_opener  # noqa: PLC0415 - as above

        try:
            url = f"{self._url}{query}"
            asked = Request(url, method=method)  # noqa: S310 - the scheme was checked
            straight = build_opener(ProxyHandler({}))
            with straight.open(asked, timeout=_ANSWER) as answer:
                told = json.load(answer)["now"]
            return to_utc(datetime.fromisoformat(told))
        except (OSError, ValueError, LookupError, TypeError, HTTPException) as error:
            raise ConfigurationError(
                f"the test clock at {self._url} can't be read: {error}", hint=_TEST_CLOCK_HINT
            ) from error


def to_utc(moment: datetime) -> datetime:
    """Return the same moment in UTC."""
    if moment.tzinfo is None:
        raise ValueError("a clock needs an aware moment")
    try:
        return moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment.isoformat()} is out of range") from error


def read_rfc_date(text: str) -> datetime:
    """Read a moment as headers of mail and of HTTP write it; return it in UTC.

    These are the forms of RFC 5322 §3.3 and of RFC 9110 §5.6.7, its two old ones among them.
    """
    try:
        moment = parsedate_to_datetime(text.strip())
    except (TypeError, IndexError, OverflowError) as error:
        raise ValueError(f"{text.strip()[:40]!r} is not a date") from error
    return to_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def monotonic() -> float:
    """Return seconds on a clock that never goes back, nor stops for a sleep.

    Only differences mean anything.
    """
    return time.clock_gettime(_CLOCK)


class RequestOutcome(StrEnum):
    """How a request ended, as far as the pace cares."""

    OK = "ok"
    FAILED = "failed"
    THROTTLED = "throttled"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to make exactly one request.

    Attributes:
        token: fences everything stored because of it.
        good_until: the moment, by `digest.model.clock.monotonic`, from which on the request must
            not be begun any more: it could outlive the lease.
    """

    token: int
    good_until: float = math.inf


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What the gate hears after a request; `retry_after` is what arXiv asked for, in seconds."""

    outcome: RequestOutcome
    retry_after: float | None = None


class Gate(Protocol):
    """Lets one request through at a time, never sooner than the spacing allows."""

    def acquire(self) -> Grant:
        """Wait until one request may be made.

        Raise `ArxivThrottled`: the circuit breaker is open for longer than the caller is willing to
        wait. Raise `StoreBusy`: another process holds the gate and did not let go in time.
        """
        ...

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Tell the gate that the request of this grant has ended; spacing counts from now."""
        ...


def write_age(age: timedelta) -> str:
    """Write a span in its largest unit: seconds, minutes, hours or days."""
    seconds = int(age.total_seconds())
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{max(seconds, 0)} s"


def name_zone(zone: tzinfo | None, now: datetime) -> str:
    """Name a zone by its place, such as `Berlin`; the machine's own by what it calls itself now."""
    if isinstance(zone, ZoneInfo):
        return zone.key.rpartition("/")[2].replace("_", " ")
    return now.astimezone(zone).tzname() or "local time"


def write_day(day: date, today: date) -> str:
    """Write a date as `Thu 19 Nov`; of another year than this one as `Thu 19 Nov 2026`."""
    written = f"{day:%a %-d %b}"
    return written if day.year == today.year else f"{written} {day.year}"


def write_moment(moment: datetime, zone: tzinfo | None, today: date) -> str:
    """Write a moment as `Fri 20 Nov 09:05`; see `write_day`."""
    local = moment.astimezone(zone)
    return f"{write_day(local, today)} {local:%H:%M}"


def write_with_zone(moment: datetime, zone: tzinfo | None, today: date) -> str:
    """Write a moment as `Fri 20 Nov 09:05 Berlin`, for words that are read away from any screen."""
    return f"{write_moment(moment, zone, today)} {name_zone(zone, moment)}"
