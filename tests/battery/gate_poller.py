"""One process that asks and asks, as fast as the gate lets it.

Killed, paused and cut off by `gate`.

Run by itself: `python -m tests.battery.gate_poller SETTINGS`, a JSON text of `PollerSettings`.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import random
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlalchemy import ColumnElement, Double, literal

import digest.model.clock
from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.model.clock import Clock, Grant, SystemClock
from digest.model.errors import DigestError
from digest.store import StoreGate, open_store

_NAP = 0.05


@dataclass(frozen=True)
class PollerSettings:
    """How a process asks.

    Attributes:
        name: what the gate knows it by, and the server.
        database: its URL, over a line of its own.
        arxiv: where to ask.
        journal: the file it appends what it counted to.
        spacing: seconds between requests.
        lease: seconds a grant lasts.
        deadline: seconds a request may take.
        dawdle: seconds, at most, between a grant and its request: where a pause does most harm.
        shift: seconds by which its host's clock is wrong.
        plant: a fault of its own that the battery must find; "" for none.
    """

    name: str
    database: str
    arxiv: str
    journal: str
    spacing: float
    lease: float
    deadline: float
    dawdle: float
    shift: float
    plant: str = ""

    def write(self) -> str:
        return json.dumps(asdict(self))


class DawdlingGate(StoreGate):
    """Counts its grants, and takes its time before it hands one over."""

    granted = 0
    dawdle = 0.0
    is_careless = False

    def acquire(self) -> Grant:
        """Wait until one request may be made."""
        grant = super().acquire()
        self.granted += 1
        time.sleep(random.uniform(0, self.dawdle))  # noqa: S311 - real processes in real time
        return replace(grant, good_until=float("inf")) if self.is_careless else grant


def main(text: str) -> None:
    settings = PollerSettings(**json.loads(text))
    logging.basicConfig(level=logging.WARNING, filename=f"{settings.journal}.log")
    _shift_clock(settings.shift)
    DawdlingGate.dawdle = settings.dawdle
    DawdlingGate.is_careless = settings.plant == "no-age"
    if settings.plant == "host-clock":
        _now = _read_host_clock
    store = None
    while store is None:
        try:
            store = open_store(settings.database)
        except DigestError:
            time.sleep(_NAP)
    gate = DawdlingGate(
        store,
        SystemClock(),
        settings.name,
        spacing=settings.spacing,
        lease=settings.lease,
        deadline=settings.deadline,
    )
    agent = f"{settings.name} (battery@digest.example)"
    client = ArxivClient(
        ArxivAddresses(settings.arxiv), agent, gate, SystemClock(), deadline=settings.deadline
    )
    with Path(settings.journal).open("a", encoding="utf-8") as journal:
        before = (0, 0)
        while True:
            try:
                client.search("all:gate", size=1)
            except DigestError as error:
                logging.warning("%s", error.message)  # noqa: LOG015 - a process of its own
                time.sleep(_NAP)
            counts = (gate.granted, client.requests)
            moved = [now - then for now, then in zip(counts, before, strict=True)]
            journal.write(json.dumps(moved) + "\n")
            journal.flush()
            before = counts


def _read_host_clock(clock: Clock | None) -> ColumnElement[float]:
    """Say the time as this host has it, which the gate must never go by."""
    del clock
    return literal(time.time(), Double)


def _shift_clock(seconds: float) -> None:
    """Let this process's host be wrong about the time: whoever looks at its clock sees another."""
    real = time.time
    moment = dt.datetime

    class Shifted(moment):  # type: ignore[valid-type, misc]  # the class itself, under another name
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:
            return moment.now(tz) + dt.timedelta(seconds=seconds)

    time.time = lambda: real() + seconds
    digest.model.clock.datetime = Shifted  # type: ignore[attr-defined]  # the one reader of time


if __name__ == "__main__":
    main(sys.argv[1])
