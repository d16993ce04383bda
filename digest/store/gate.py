"""The pace of requests to arXiv, kept as one row that every process of an installation obeys.

Before each request one UPDATE must change the row: the process that asks gets a lease longer than
any request lives, and the moment of the next request moves on. So requests never overlap and never
come closer than the spacing, however many processes ask, and even if one dies or is paused. Time is
the database's, so that no process's clock matters; under a simulated clock it is that clock's.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Double,
    Row,
    and_,
    case,
    literal,
    or_,
    select,
    update,
)

from digest.model.clock import Clock, GateOutcome, Grant, RequestOutcome, monotonic
from digest.model.errors import ArxivThrottled, StoreBusy, StoreError
from digest.model.pace import LEASE, REQUEST_DEADLINE, SPACING
from digest.model.said import Said, Saying
from digest.store import engine
from digest.store.dialect import database_clock, later, metadata
from digest.store.schema import gate

_log = logging.getLogger("digest.gate")

PASSER_BY = "try:"
"""How holders are called that ask once and keep no worker's lock."""

SIMULATED_MARGIN = 1.0
"""Added to the spacing under a simulated clock, which may know whole seconds only."""

FIRST_BACKOFF = 60.0
LONGEST_BACKOFF = 3600.0
REFUSED_PAUSE = 4 * 3600.0
"""After arXiv's robot block: asking on would count as an attack."""

GOES_ON = Said.of(Saying.NEXT_CHECK_GOES_ON)
"""What becomes of a poll that the breaker stops."""

LONGEST_RETRY_AFTER = 24 * 3600.0
"""A longer wish of arXiv's is taken for a mistake."""

_LONGEST_WAIT = 1.0
"""Seconds slept at most before asking again: another process may have let go early."""

_IS_IT = gate.c.name == engine.GATE
"""The one row of the gate."""


@dataclass(frozen=True, slots=True)
class Breaker:
    """Whether arXiv asked us to stay away.

    That is for how many seconds more (0 = not), why, and how often in a row.
    """

    seconds: float
    reason: str
    failures: int


class StoreGate:
    """Implements `digest.model.clock.Gate` on the one row.

    Args:
        clock: waits; and gives the time if it is simulated.
        holder: this process's name, shown to those who wait.
        spacing: seconds from the end of one request to the start of the next.
        lease: seconds a grant holds the gate unless it is released.
        deadline: seconds a request may take; one begun so late that it could outlive the lease is
            not made.
        patience: seconds to wait for a turn before giving up.
        jitter: spreads the breaker's back-off: seconds to seconds.
    """

    def __init__(
        self,
        store: engine.Store,
        clock: Clock,
        holder: str,
        *,
        spacing: float = SPACING,
        lease: float = LEASE,
        deadline: float = REQUEST_DEADLINE,
        patience: float = 600.0,
        jitter: Callable[[float], float] = lambda seconds: seconds,
    ) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder
        self._spacing = spacing
        self._lease = lease
        self._usable = lease - deadline
        if clock.is_simulated:
            self._spacing += SIMULATED_MARGIN
            self._usable = math.inf
        self._patience = patience
        self._jitter = jitter
        self._ended_at = -math.inf

    def acquire(self) -> Grant:
        """Wait until one request may be made; see `Gate`. Without a database nobody may ask."""
        waited = 0.0
        while True:
            self._keep_own_spacing()
            grant = self._try_acquire()
            if grant is not None:
                return grant
            nap = self._choose_wait(self._patience - waited)
            self._sleep(nap)
            waited += nap

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Tell the gate that the request of this grant has ended; spacing counts from now.

        A grant that was lost meanwhile frees nothing, but still moves the next request on and opens
        the breaker: both only ever ask for more patience. If the database does not answer, the
        lease keeps everybody away until it ends.
        """
        self._ended_at = monotonic()
        try:
            self._write_release(grant, outcome)
        except StoreError as error:
            _log.warning(
                "the end of a request was not recorded; the next waits for its lease: %s",
                error.message,
            )

    def _write_release(self, grant: Grant, outcome: GateOutcome) -> None:
        row = gate.c
        with self._store.begin() as conn:
            now = _now(self._clock)
            is_mine = row.token == grant.token
            values: dict[str, Any] = {
                "next_at": later(row.next_at, now + self._spacing),
                "lease_until": case((is_mine, now), else_=row.lease_until),
            }
            if outcome.outcome is RequestOutcome.OK:
                values["breaker_failures"] = case((is_mine, 0), else_=row.breaker_failures)
                values["breaker_reason"] = case((is_mine, ""), else_=row.breaker_reason)
            elif outcome.outcome is not RequestOutcome.FAILED:
                pause = self._choose_pause(conn, outcome)
                values["breaker_until"] = later(row.breaker_until, now + pause)
                values["breaker_failures"] = row.breaker_failures + 1
                values["breaker_reason"] = str(outcome.outcome)
            conn.execute(update(gate).where(_IS_IT).values(values))

    def _keep_own_spacing(self) -> None:
        """Wait the spacing since our own last request.

        It goes by a clock that nobody puts right or replaces, too.
        """
        left = self._ended_at + self._spacing - monotonic()
        if left > 0 and not self._clock.is_simulated:
            self._sleep(left)

    def _try_acquire(self) -> Grant | None:
        """Take the gate if it is free; None if it is not."""
        asked_at = monotonic()  # before the database reads its own clock
        row = gate.c
        with self._store.begin() as conn:
            now = _now(self._clock)
            is_free = and_(row.lease_until <= now, row.next_at <= now, row.breaker_until <= now)
            take = update(gate).where(_IS_IT, is_free)
            taken = {
                "holder": self._holder,
                "token": row.token + 1,
                "lease_until": now + self._lease,
                "next_at": now + self._spacing,
            }
            token = conn.execute(take.values(taken).returning(row.token)).scalar()
        if token is None:
            return None
        return Grant(token, asked_at + self._usable)

    def _choose_wait(self, patience: float) -> float:
        """Return how long to sleep before asking again, having seen why it was refused."""
        with self._store.read() as conn:
            row = _look(conn, self._clock)
        seconds = row.breaker_until - row.now
        if seconds > patience:
            raise _explain_pause(seconds, row.breaker_reason)
        if patience <= 0:
            holder = row.holder or "another process"
            raise StoreBusy(
                f"{holder} asked arXiv for longer than {self._patience:.0f} s",
                hint="All processes together make one request at a time. Try again later.",
            )
        free_at = max(row.lease_until, row.next_at, row.breaker_until)
        wait = max(free_at - row.now, 0.001)
        longest = patience
        if not self._clock.is_simulated:
            longest = min(_LONGEST_WAIT, patience)
        return float(min(wait, longest))

    def _sleep(self, seconds: float) -> None:
        begun = monotonic()
        self._clock.sleep(seconds)
        if self._clock.is_simulated:
            return
        slept = monotonic() - begun
        if slept < seconds - 0.1:
            raise StoreBusy(
                "stopped while waiting for a turn to send a request to arXiv",
                hint="Nothing is lost. The next run asks again.",
            )

    def _choose_pause(self, conn: Connection, outcome: GateOutcome) -> float:
        """Return for how many seconds nobody asks arXiv after it refused or throttled a request."""
        if outcome.outcome is RequestOutcome.REFUSED:
            return REFUSED_PAUSE
        locked = select(gate.c.breaker_failures).where(_IS_IT).with_for_update()
        failures = conn.execute(locked).scalar() or 0
        doubled = FIRST_BACKOFF * 2 ** min(failures, 16)
        backoff = min(self._jitter(doubled), LONGEST_BACKOFF)
        asked_for = outcome.retry_after or 0.0
        if asked_for < 1:
            return backoff
        return max(backoff, min(asked_for, LONGEST_RETRY_AFTER))


def _explain_pause(seconds: float, reason: str) -> ArxivThrottled:
    """Return the error of a pause that is longer than anybody here waits."""
    asked = "asked for a pause"
    if reason == RequestOutcome.REFUSED:
        asked = "blocked this client"
    minutes = max(seconds / 60, 1)
    said = f"arXiv {asked}; the next request is sent in {minutes:.0f} min at the earliest"
    return ArxivThrottled(said, hint=GOES_ON, retry_after=seconds)


def is_current(conn: Connection, token: int) -> bool:
    """Whether no other request has been granted since.

    It stays so until the writing transaction ends.
    """
    held = select(gate.c.token).where(_IS_IT).with_for_update(read=True)
    return conn.execute(held).scalar() == token


def free_gate(
    conn: Connection, clock: Clock, *, spacing: float = SPACING, passers_by: bool = False
) -> None:
    """Free the gate of a process known to be dead: for one that knows itself alone, at its start.

    Its last request may have lived until a moment ago, so the spacing starts now; so it does if the
    clock has gone back. A passer-by (see `PASSER_BY`) is not the one known to be dead, and keeps
    what it holds.

    `passers_by` frees what a passer-by left as well, if it is known that none is about.
    """
    row = gate.c
    now = _now(clock)
    spaced = now + spacing
    # No grant waits so long: the clock was put right since.
    is_beyond = row.next_at > now + LEASE
    free = update(gate).where(_IS_IT, or_(row.lease_until > now, is_beyond))
    if not passers_by:
        free = free.where(row.holder.not_like(f"{PASSER_BY}%"))
    next_at = case((is_beyond, spaced), else_=later(row.next_at, spaced))
    conn.execute(free.values(lease_until=now, next_at=next_at))
    if passers_by or clock.is_simulated:
        return
    # What keeps no database may have asked just before there was one.
    unused = update(gate).where(_IS_IT, row.token == 0, row.next_at == 0)
    conn.execute(unused.values(next_at=spaced))


def load_breaker(conn: Connection, clock: Clock | None = None) -> Breaker:
    """Return the state of the circuit breaker; the clock matters if it is simulated."""
    row = _look(conn, clock)
    seconds = max(row.breaker_until - row.now, 0.0)
    return Breaker(seconds, row.breaker_reason, row.breaker_failures)


def create_standalone(path: Path) -> engine.Store:
    """Open (or make) a file that holds nothing but a gate.

    It keeps the pace of commands that keep no database.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise engine.explain_file(str(path), error) from error
    store = engine.connect(f"sqlite:///{path}", create=True)
    with store.begin() as conn:
        metadata.create_all(conn, tables=[gate])
        engine.insert_gate(conn)
    return store


def _now(clock: Clock | None) -> ColumnElement[float]:
    if clock is not None and clock.is_simulated:
        return literal(clock.now().timestamp(), Double)
    return database_clock()


def _look(conn: Connection, clock: Clock | None) -> Row[Any]:
    found = select(gate, _now(clock).label("now"))
    return conn.execute(found.where(_IS_IT)).one()
