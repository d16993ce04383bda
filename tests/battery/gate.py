"""The poll gate under fire.

Several processes, one row, and everything that can happen to processes and links.

Kills, pauses, black holes (what is sent is acknowledged and swallowed, and perhaps delivered late),
lost answers, cut links, and hosts whose clocks are ±90 s wrong. An arXiv notes each request: none
may begin before the spacing since the end of the one before it is over.

    .ci/battery gate --faults 300 --seed 1
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from digest.store import open_store
from tests.battery.gate_arxiv import NotingArxiv, find_breaches, longest_silence
from tests.battery.gate_poller import PollerSettings
from tests.links import Link
from tests.postgres_servers import PostgresServer, own_server

ROOT = Path(__file__).parents[2]
POLLERS = 4
SHIFTS = (-90.0, 0.0, 90.0)
PLANTS = ("", "host-clock", "no-age")


@dataclass(frozen=True)
class Pace:
    """One part of the battery.

    How fast it goes, and how long and how often something goes wrong.
    """

    name: str
    spacing: float
    lease: float
    deadline: float
    dawdle: float
    pause: tuple[float, float]
    hole: tuple[float, float]
    between: tuple[float, float]


SCALED = Pace("a tenth of the time", 0.3, 1.8, 0.9, 0.2, (0.2, 4.0), (0.5, 4.0), (0.1, 0.6))
REAL = Pace("the real three seconds", 3.0, 18.0, 9.0, 1.0, (1.0, 25.0), (1.0, 12.0), (1.0, 4.0))


@dataclass
class Poller:
    """A process, its line to the database, and whether something is wrong with it just now."""

    settings: PollerSettings
    link: Link
    process: subprocess.Popen[bytes] | None = None
    is_struck: bool = False

    def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own words
            [sys.executable, "-m", "tests.battery.gate_poller", self.settings.write()],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class Fire:
    """Lets one thing after another go wrong.

    Args:
        pace: how fast.
        pollers: with whom.
        draw: decides what.
    """

    pace: Pace
    pollers: list[Poller]
    draw: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    exits: int = 0
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)

    def burn(self, faults: int) -> None:
        """Return once so many faults have happened and are over."""
        next_at = time.monotonic()
        while sum(self.counts.values()) < faults or self._due:
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            if now >= next_at and sum(self.counts.values()) < faults:
                self._strike()
                next_at = now + self.draw.uniform(*self.pace.between)
            self._look_after()
            time.sleep(0.01)

    def _look_after(self) -> None:
        """Start anew what ended by itself, and count it: a poller never should."""
        for poller in self.pollers:
            if (
                not poller.is_struck
                and poller.process is not None
                and poller.process.poll() is not None
            ):
                self.exits += 1
                poller.start()

    def _strike(self) -> None:
        well = [poller for poller in self.pollers if not poller.is_struck]
        if len(well) < 2:
            return  # somebody must be left to ask
        poller = self.draw.choice(well)
        strike = self.draw.choice(
            (self._kill, self._pause, self._pause, self._hole, self._mute, self._cut)
        )
        poller.is_struck = True
        self.counts[strike.__name__.lstrip("_")] += 1
        strike(poller)

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, self.draw.getrandbits(32), what))

    def _kill(self, poller: Poller) -> None:
        poller.end()
        poller.settings = replace(poller.settings, shift=self.draw.choice(SHIFTS))

        def start() -> None:
            poller.start()
            poller.is_struck = False

        self._later(self.draw.uniform(0, 1), start)

    def _pause(self, poller: Poller) -> None:
        poller.signal(signal.SIGSTOP)

        def go_on() -> None:
            poller.signal(signal.SIGCONT)
            poller.is_struck = False

        self._later(self.draw.uniform(*self.pace.pause), go_on)

    def _hole(self, poller: Poller) -> None:
        poller.link.swallow()
        self._mend_later(poller)

    def _mute(self, poller: Poller) -> None:
        poller.link.mute()
        self._mend_later(poller)

    def _cut(self, poller: Poller) -> None:
        poller.link.cut()
        poller.is_struck = False

    def _mend_later(self, poller: Poller) -> None:
        def mend() -> None:
            poller.link.mend(cut=self.draw.random() < 0.5)
            poller.is_struck = False

        self._later(self.draw.uniform(*self.pace.hole), mend)


def live(
    pace: Pace, faults: int, asked: argparse.Namespace, server: PostgresServer, folder: Path
) -> bool:
    """Live through so many faults; print what came of it, and return whether all was well."""
    database = f"gate_{pace.name.split()[-1]}"
    server.do(f"CREATE DATABASE {database}")
    open_store(server.url(database), create=True).close()
    seed: int = asked.seed
    draw = random.Random(f"{seed} {pace.name}")  # noqa: S311 - the same faults for the same seed
    begun = time.monotonic()
    with ExitStack() as stack:
        arxiv = stack.enter_context(NotingArxiv(seed))
        pollers = []
        for number in range(POLLERS):
            link = stack.enter_context(Link(("127.0.0.1", server.port)))
            settings = PollerSettings(
                name=f"poller{number}",
                database=f"postgresql://postgres@127.0.0.1:{link.port}/{database}",
                arxiv=f"{arxiv.url}/api/query",
                journal=str(folder / f"{database}.{number}"),
                spacing=pace.spacing,
                lease=pace.lease,
                deadline=pace.deadline,
                dawdle=pace.dawdle,
                shift=SHIFTS[number % len(SHIFTS)],
                plant=asked.plant,
            )
            pollers.append(Poller(settings, link))
            stack.callback(pollers[-1].end)
            pollers[-1].start()
        wanted = 2 if asked.plant else POLLERS
        wait_until(
            lambda: len({one.who for one in arxiv.served}) >= wanted,
            120 + 10 * pace.spacing * POLLERS,
        )
        before = len(arxiv.served)
        fire = Fire(pace, pollers, draw)
        fire.burn(faults)
        wait_until(lambda: len(arxiv.served) > before, 30)
        served = arxiv.served
    breaches = find_breaches(served, pace.spacing)
    overlaps = [breach for breach in breaches if breach.gap < 0]
    granted, made = _read_journals(folder, database)
    seconds = time.monotonic() - begun
    print(f"{pace.name}, spacing {pace.spacing:g} s, seed {seed}: {seconds:.0f} s")  # noqa: T201
    print("  faults   ", sum(fire.counts.values()), dict(sorted(fire.counts.items())))  # noqa: T201
    print("  requests ", len(served), Counter(one.who for one in served))  # noqa: T201
    print(f"  too close {len(breaches) - len(overlaps)}, overlapping {len(overlaps)}")  # noqa: T201
    print(f"  grants that lapsed before a byte left: {granted - made}")  # noqa: T201
    print(  # noqa: T201
        f"  longest silence {longest_silence(served):.1f} s; "
        f"pollers that ended by themselves: {fire.exits}"
    )
    for breach in breaches[:10]:
        print("  ", breach)  # noqa: T201
    return not breaches and not fire.exits and len(served) > faults / 4


def wait_until(is_so: Callable[[], bool], seconds: float) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it is not for so long.
    """
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError(f"not so within {seconds:g} s")
        time.sleep(0.02)


def _read_journals(folder: Path, database: str) -> tuple[int, int]:
    rows = [
        json.loads(line)
        for path in folder.glob(f"{database}.[0-9]")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.endswith("]")
    ]
    granted, made = (sum(column) for column in zip(*rows, strict=True))
    return granted, made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--real-faults", type=int, default=15, help="faults at the real spacing")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=PLANTS, default="", help="a fault that must be found")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="digest-gate-") as name,
        own_server(fsync="off") as server,
    ):
        parts = [(SCALED, asked.faults), (REAL, asked.real_faults)]
        well = [live(pace, count, asked, server, Path(name)) for pace, count in parts if count]
    print("gate: well" if all(well) else "gate: BREACHED")  # noqa: T201
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
