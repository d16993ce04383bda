"""Damages pages of arXiv by the million and reads them: `python -m tests.battery.fuzz --inputs 1000000 --seed 1`.

A reader gives a page or an `ArxivError`. Anything else is a crash, more than `HANG` seconds a hang, and what
counts as falsely accepted says `tests.battery.fuzz_oracle`. Input N of a seed is always the same bytes:
`--input N` reads that one alone. Findings are kept with their bytes; the exit code is 1 where there are any.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tests.battery.fuzz_mutators import mutate
from tests.battery.fuzz_oracle import Outcome, assess
from tests.battery.fuzz_pages import SEEDS, Seed

if TYPE_CHECKING:
    from types import FrameType

HANG: Final = 10
"""Seconds of processor time after which a reader is taken to hang; the largest inputs have 2 million bytes."""

_BATCH = 2_000
_NICE = 10
_INTERFACES = ("atom", "oai")


class HungError(Exception):
    """A reader took longer than `HANG` seconds."""


@dataclass
class Tally:
    """What came of a number of inputs.

    Attributes:
        verdicts: how often an interface's reader came to a verdict.
        unseen: how often an accepted page lacks something without a trace, by interface.
        findings: what is wrong, as (number, kind, interface, why).
        slowest: seconds of processor time, and the number of the input that took them.
        size: bytes read.
    """

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    unseen: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[tuple[int, str, str, str]] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    size: int = 0

    def add(self, other: Tally) -> None:
        """Take in what came of other inputs."""
        self.verdicts += other.verdicts
        self.unseen += other.unseen
        self.findings += other.findings
        self.slowest = max(self.slowest, other.slowest)
        self.size += other.size


def make_input(seed: int, number: int) -> tuple[Seed, bytes]:
    """Return the page that input `number` of a seed was, and what it has become."""
    draw = random.Random(f"{seed} {number}")  # noqa: S311 - the same damage for the same seed
    page = draw.choice(SEEDS)
    other = draw.choice(SEEDS)
    return page, mutate(draw, page.body, other.body)


def check_seeds() -> None:
    """Tell whether the undamaged pages are read: who refuses everything finds nothing either.

    Raises:
        RuntimeError: one is not.
    """
    for page in SEEDS:
        outcome = assess(page, page.body)
        if outcome != Outcome(page.verdict):
            raise RuntimeError(f"the undamaged page {page.body[:2_000]!r} came to {outcome}")


def read_inputs(seed: int, first: int, count: int) -> Tally:
    """Read `count` inputs from number `first` on, one after the other."""
    tally = Tally()
    for number in range(first, first + count):
        page, body = make_input(seed, number)
        tally.size += len(body)
        begun = time.process_time()
        try:
            outcome = assess(page, body)
        except HungError:
            tally.findings.append((number, "hang", page.interface, f"more than {HANG} seconds"))
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            tally.findings.append((number, "crash", page.interface, traceback.format_exc()))
        else:
            tally.verdicts[page.interface, outcome.verdict] += 1
            if outcome.unseen:
                tally.unseen[page.interface, outcome.unseen] += 1
            if outcome.finding:
                tally.findings.append((number, "accepted", page.interface, outcome.finding))
        tally.slowest = max(tally.slowest, (time.process_time() - begun, number))
    return tally


def _read_batch(seed: int, first: int, count: int) -> Tally:
    """Read inputs under a watch that ends a hang, also one within a regular expression."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise HungError

    signal.signal(signal.SIGPROF, give_up)
    tally = Tally()
    for number in range(first, first + count):
        signal.setitimer(signal.ITIMER_PROF, HANG)
        tally.add(read_inputs(seed, number, 1))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def read_all(seed: int, inputs: int, processes: int) -> Tally:
    """Read inputs 0 to `inputs` in several processes, saying now and then how far it has come."""
    tally = Tally()
    begun = time.monotonic()
    with ProcessPoolExecutor(processes, initializer=os.nice, initargs=(_NICE,)) as pool:
        batches = [
            pool.submit(_read_batch, seed, first, min(_BATCH, inputs - first))
            for first in range(0, inputs, _BATCH)
        ]
        for done, batch in enumerate(as_completed(batches), start=1):
            tally.add(batch.result())
            if done % max(1, len(batches) // 20) == 0:
                read = sum(tally.verdicts.values())
                told = f"{read:>11,} inputs  {time.monotonic() - begun:6.0f} s  {len(tally.findings)} findings"
                click.echo(told, err=True)
    return tally


def tell(tally: Tally, seconds: float) -> None:
    """Print the counts by interface and verdict, what cannot be seen, the slowest input and the findings."""
    read = sum(tally.verdicts.values())
    click.echo(f"{read:,} inputs, {tally.size / 1e6:,.0f} MB, in {seconds:,.0f} s\n")
    click.echo(f"{'verdict':24}" + "".join(f"{interface:>12}" for interface in _INTERFACES))
    for verdict in sorted({verdict for _, verdict in tally.verdicts}, key=lambda name: (name == "accepted", name)):
        counts = (tally.verdicts[interface, verdict] for interface in _INTERFACES)
        click.echo(f"{verdict:24}" + "".join(f"{count:12,}" for count in counts))
    click.echo("\nAccepted with something missing that the page itself does not show:")
    for (interface, unseen), count in sorted(tally.unseen.items()):
        click.echo(f"  {interface:6}{unseen:56}{count:9,}")
    kinds = Counter(kind for _, kind, _, _ in tally.findings)
    click.echo(f"\nslowest: {tally.slowest[0] * 1_000:,.0f} ms, input {tally.slowest[1]:,}")
    click.echo(
        f"{kinds['crash']} crashes, {kinds['hang']} hangs, {kinds['accepted']} falsely accepted as complete"
    )


def keep_findings(tally: Tally, seed: int, folder: Path) -> None:
    """Write each finding's bytes into a folder, and what is wrong with them next to them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, kind, interface, why in sorted(tally.findings):
        name = folder / f"{seed}-{number}-{kind}-{interface}"
        name.with_suffix(".xml").write_bytes(make_input(seed, number)[1])
        name.with_suffix(".txt").write_text(f"{why}\n", encoding="utf-8", errors="replace")
        click.echo(f"  {name}.xml: {why.strip().splitlines()[-1][:200]}")


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--inputs", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--findings", type=click.Path(path_type=Path), default=Path("build", "fuzz"), show_default=True)
@click.option("--input", "number", type=click.IntRange(0), help="Read this one alone and show it.")
def main(inputs: int, seed: int, processes: int, findings: Path, number: int | None) -> None:
    """Damage pages, read them, and say what came of it."""
    if number is not None:
        page, body = make_input(seed, number)
        click.echo(json.dumps({"interface": page.interface, "body": body.decode("utf-8", "replace")}, indent=1))
        click.echo(str(assess(page, body)))
        return
    check_seeds()
    begun = time.monotonic()
    tally = read_all(seed, inputs, processes)
    tell(tally, time.monotonic() - begun)
    if tally.findings:
        keep_findings(tally, seed, findings)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
