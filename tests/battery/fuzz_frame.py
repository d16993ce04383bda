"""What both fuzz batteries share.

Inputs by number, read in batches by several processes, under a watch.
"""

from __future__ import annotations

import os
import signal
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, NamedTuple, Protocol

import click

HANG: Final = 2
"""Seconds of processor time after which a reader is taken to hang."""

_BATCH = 2_000
_NICE = 10


class HungError(Exception):
    """A reader took longer than `HANG` seconds."""


class Finding(NamedTuple):
    """What is wrong about an input: which it is, of which kind, of which sort of input, and why."""

    number: int
    kind: str
    sort: str
    why: str


class Read(NamedTuple):
    """What came of one input.

    Attributes:
        sort: of the input, such as its interface.
        verdict: what its reader said.
        size: of the input.
        remarks: whatever else is counted.
        wrong: why the verdict is wrong, "" where it is right.
    """

    sort: str
    verdict: str
    size: int
    remarks: tuple[str, ...] = ()
    wrong: str = ""


class Battery(Protocol):
    """Reads input `number` of a seed; may raise anything, which is a crash."""

    def __call__(self, seed: int, number: int) -> Read: ...


@dataclass
class Tally:
    """What came of a number of inputs.

    Attributes:
        verdicts, remarks: how often, by sort of input.
        findings: what is wrong.
        slowest: seconds of processor time, and the number of the input that took them.
        size: of all inputs together.
    """

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    remarks: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    size: int = 0

    def add(self, other: Tally) -> None:
        self.verdicts += other.verdicts
        self.remarks += other.remarks
        self.findings += other.findings
        self.slowest = max(self.slowest, other.slowest)
        self.size += other.size

    def count_kinds(self) -> Counter[str]:
        """Return how often each kind of finding was made."""
        return Counter(finding.kind for finding in self.findings)


def read_inputs(battery: Battery, seed: int, first: int, count: int) -> Tally:
    """Read `count` inputs from number `first` on.

    The watch over them also ends a hang in a regular expression.
    """

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise HungError

    signal.signal(signal.SIGPROF, give_up)
    tally = Tally()
    for number in range(first, first + count):
        signal.setitimer(signal.ITIMER_PROF, HANG)
        begun = time.process_time()
        try:
            read = battery(seed, number)
        except HungError:
            tally.findings.append(Finding(number, "hang", "", f"more than {HANG} seconds"))
        except Exception:  # noqa: BLE001 - whatever it is, it is what is searched for
            tally.findings.append(Finding(number, "crash", "", traceback.format_exc()))
        else:
            tally.size += read.size
            tally.verdicts[read.sort, read.verdict] += 1
            tally.remarks.update((read.sort, remark) for remark in read.remarks)
            if read.wrong:
                tally.findings.append(Finding(number, "wrong", read.sort, read.wrong))
        tally.slowest = max(tally.slowest, (time.process_time() - begun, number))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def read_all(battery: Battery, seed: int, inputs: int, processes: int) -> Tally:
    """Read inputs 0 to `inputs` in several processes, and say what came of them."""
    tally = Tally()
    begun = time.monotonic()
    with ProcessPoolExecutor(processes, initializer=os.nice, initargs=(_NICE,)) as pool:
        starts = range(0, inputs, _BATCH)
        batches = [
            pool.submit(read_inputs, battery, seed, first, min(_BATCH, inputs - first))
            for first in starts
        ]
        for done, batch in enumerate(as_completed(batches), start=1):
            tally.add(batch.result())
            if done % max(1, len(batches) // 20) == 0:
                read = sum(tally.verdicts.values())
                told = (
                    f"{read:>11,} inputs  {time.monotonic() - begun:6.0f} s"
                    f"  {len(tally.findings)} findings"
                )
                click.echo(told, err=True)
    _tell(tally, time.monotonic() - begun)
    return tally


def _tell(tally: Tally, seconds: float) -> None:
    """Print counts by sort and verdict, remarks, the slowest input and the number of findings."""
    click.echo(
        f"{sum(tally.verdicts.values()):,} inputs, {tally.size / 1e6:,.0f} MB, "
        f"in {seconds:,.0f} s\n"
    )
    for title, counted in (("verdicts", tally.verdicts), ("remarks", tally.remarks)):
        click.echo(f"{title}:")
        for (sort, name), count in sorted(counted.items()):
            click.echo(f"  {sort:8}{name:54}{count:12,}")
    click.echo(f"\nslowest: {tally.slowest[0] * 1_000:,.0f} ms, input {tally.slowest[1]:,}")
    kinds = tally.count_kinds()
    click.echo(f"{kinds['crash']} crashes, {kinds['hang']} hangs, {kinds['wrong']} wrong verdicts")
