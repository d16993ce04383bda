"""Damages pages of arXiv, and libraries, by the million, and reads them.

    python -m tests.battery.fuzz --inputs 1000000 --seed 1

A reader gives a page or an `ArxivError`, or of a library a reading or a `ConfigurationError`.
Anything else is a crash, more than `HANG` seconds a hang, and what counts as falsely accepted says
`tests.battery.fuzz_oracle`. Input N of a seed is always the same bytes: `--input N` reads that one
alone. Findings are kept with their bytes; the exit code is 1 where there are any.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import click

from tests.battery.fuzz_frame import Read, Tally, read_all
from tests.battery.fuzz_libraries import LIBRARIES, damage
from tests.battery.fuzz_mutators import mutate
from tests.battery.fuzz_oracle import Outcome, assess
from tests.battery.fuzz_pages import SEEDS, Seed


def make_input(seed: int, number: int) -> tuple[Seed, bytes]:
    """Return the page that input `number` of a seed was, and what it has become."""
    draw = random.Random(f"{seed} {number}")  # noqa: S311 - the same damage for the same seed
    is_library = number % 3 == 0
    seeds = LIBRARIES if is_library else SEEDS
    page = draw.choice(seeds)
    other = draw.choice(seeds)
    way = damage if is_library else mutate
    return page, way(draw, page.body, other.body)


def check_seeds() -> None:
    """Tell whether the undamaged pages are read: who refuses everything finds nothing either.

    Raises:
        RuntimeError: one is not.
    """
    for page in (*SEEDS, *LIBRARIES):
        outcome = assess(page, page.body)
        if outcome != Outcome(page.verdict):
            raise RuntimeError(f"the undamaged page {page.body[:2_000]!r} came to {outcome}")


def read_input(seed: int, number: int) -> Read:
    """Read one damaged page; what it lacks without a trace in it is remarked."""
    page, body = make_input(seed, number)
    outcome = assess(page, body)
    unseen = (outcome.unseen,) if outcome.unseen else ()
    return Read(page.interface, outcome.verdict, len(body), unseen, outcome.finding)


def keep_findings(tally: Tally, seed: int, folder: Path) -> None:
    """Write each finding's bytes into a folder, and what is wrong with them next to them."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, kind, _, why in sorted(tally.findings):
        page, body = make_input(seed, number)
        name = folder / f"{seed}-{number}-{kind}-{page.interface}"
        name.with_suffix(".xml").write_bytes(body)
        name.with_suffix(".txt").write_text(f"{why}\n", encoding="utf-8", errors="replace")
        click.echo(f"  {name}.xml: {why.strip().splitlines()[-1][:200]}")


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--inputs", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--findings", type=click.Path(path_type=Path), default=Path("build", "fuzz"), show_default=True
)
@click.option("--input", "number", type=click.IntRange(0), help="Read this one alone and show it.")
def main(inputs: int, seed: int, processes: int, findings: Path, number: int | None) -> None:
    """Damage pages, read them, and say what came of it."""
    if number is not None:
        page, body = make_input(seed, number)
        click.echo(
            json.dumps(
                {"interface": page.interface, "body": body.decode("utf-8", "replace")}, indent=1
            )
        )
        click.echo(str(assess(page, body)))
        return
    check_seeds()
    tally = read_all(read_input, seed, inputs, processes)
    if tally.findings:
        keep_findings(tally, seed, findings)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
