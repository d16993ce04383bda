"""Replicas that go on sending while their database is cut off, crashed, swallowed by the network, and replaced.

Three replicas of `digest serve`, a PostgreSQL with a synchronous standby, a mail server and a Slack. Wave after
wave of digests goes out, and into the middle of each falls a fault. Nothing may be lost, no process may end,
and nothing may come twice where the other side can be asked; mails that come twice are counted.

    .ci/battery database --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from digest.store import open_store
from digest.store.database import load_violations
from tests.battery.database_world import DATABASE, REPLICAS, Arrived, DatabaseWorld, open_world

CUTS = 3


@dataclass
class Tally:
    """What came of everything."""

    digests: int = 0
    lost: list[str] = field(default_factory=list)
    posts_doubled: list[str] = field(default_factory=list)
    mails_doubled: list[str] = field(default_factory=list)
    exits: int = 0
    unsettled: int = 0

    def add(self, arrived: Arrived, exits: list[str]) -> None:
        """Count a wave."""
        self.digests += len(arrived.expected)
        self.lost += arrived.lost
        self.posts_doubled += arrived.doubled("slack:")
        self.mails_doubled += arrived.doubled("mailto:")
        self.exits += len(exits)
        self.unsettled += sum(count for state, count in arrived.states.items() if state != "sent")

    @property
    def is_well(self) -> bool:
        """Whether the promises were kept."""
        return not (self.lost or self.posts_doubled or self.exits or self.unsettled)


def cut_all(world: DatabaseWorld, draw: random.Random) -> str:
    """End every session, again and again."""
    ended = 0
    for _ in range(CUTS):
        found = world.primary.do(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{DATABASE}'"
        )
        ended += len(found)
        time.sleep(draw.uniform(0.2, 1.5))
    return f"{ended} sessions ended in {CUTS} cuts"


def restart(world: DatabaseWorld, draw: random.Random) -> str:
    """Crash the server, and start it again."""
    world.primary.crash()
    away = draw.uniform(0.0, 6.0)
    time.sleep(away)
    world.primary.start()
    return f"crashed, away for {away:.1f} s"


def swallow_one(world: DatabaseWorld, draw: random.Random) -> str:
    """Let one replica's lines swallow everything."""
    return _swallow(world, draw, [draw.randrange(len(world.replicas))])


def swallow_all(world: DatabaseWorld, draw: random.Random) -> str:
    """Let every replica's lines swallow everything."""
    return _swallow(world, draw, list(range(len(world.replicas))))


def _swallow(world: DatabaseWorld, draw: random.Random, numbers: list[int]) -> str:
    links = [link for number in numbers for link in world.replicas[number].links]
    seconds, cut, mute = draw.uniform(0.5, 30.0), draw.random() < 0.5, draw.random() < 0.3
    for link in links:
        (link.mute if mute else link.swallow)()
    time.sleep(seconds)
    for link in links:
        link.mend(cut=cut)
    what = "answers" if mute else "everything"
    return f"{what} of {len(numbers)} swallowed for {seconds:.1f} s, then {'cut' if cut else 'delivered late'}"


def replace_primary(world: DatabaseWorld, draw: random.Random) -> str:
    """Lose the primary, and promote its standby."""
    del draw
    begun = time.monotonic()
    world.fail_over()
    return f"the standby was promoted within {time.monotonic() - begun:.1f} s"


FAULTS: tuple[Callable[[DatabaseWorld, random.Random], str], ...] = (
    cut_all,
    restart,
    swallow_one,
    swallow_all,
    replace_primary,
)


def live(seed: int, rounds: int, folder: Path) -> bool:
    """Live through every fault so many times; print what came of it, and return whether all was well."""
    draw = random.Random(seed)  # noqa: S311 - the same faults for the same seed
    tally, begun = Tally(), time.monotonic()
    faults = [fault for _ in range(rounds) for fault in draw.sample(FAULTS, len(FAULTS))]
    with open_world(folder, len(faults)) as world:
        for _ in range(REPLICAS):
            world.add_replica()
        for fault in faults:
            places = world.begin_wave()
            world.await_first(places, draw.uniform(0.05, 0.4))
            done = fault(world, draw)
            arrived = world.end_wave(places)
            tally.add(arrived, world.find_exits())
            lost, doubled = len(arrived.lost), len(arrived.doubled(""))
            print(  # noqa: T201 - a command
                f"  {fault.__name__}: {done}; {len(places)} digests, lost {lost}, doubled {doubled}, "
                f"settled after {arrived.seconds:.0f} s, states {dict(arrived.states)}",
                flush=True,
            )
            if fault is replace_primary:
                world.follow_again()
        tracebacks = world.count_tracebacks()
        codes = [replica.stop() for replica in world.replicas]
        store = open_store(world.primary.url(DATABASE))
        with store.read() as conn:
            broken = load_violations(conn)
        store.close()
    print(f"database faults, seed {seed}: {time.monotonic() - begun:.0f} s, {len(faults)} faults")  # noqa: T201
    print(  # noqa: T201
        f"  digests {tally.digests}, lost {len(tally.lost)}, doubled in Slack {len(tally.posts_doubled)}, "
        f"mails doubled {len(tally.mails_doubled)}, unsettled {tally.unsettled}"
    )
    print(f"  processes that ended by themselves {tally.exits}, exit codes {codes}, tracebacks {tracebacks}")  # noqa: T201
    print("  broken invariants", broken)  # noqa: T201
    return tally.is_well and not broken and set(codes) == {0}


def main() -> int:
    """Run the battery."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="how often each fault happens")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="digest-database-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        well = live(asked.seed, asked.rounds, folder / "faults")
    print("database: well" if well else "database: BROKEN")  # noqa: T201
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
