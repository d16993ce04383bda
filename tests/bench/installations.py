"""Empty installations to measure on: a database of each kind, and a site opened on it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import process_time

from digest.config import load_config
from digest.model.clock import Clock, ManualClock
from digest.serve.installation import open_site
from digest.site import Site
from tests.fakes.config_file import write_config

EVENING = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
"""22:47 US Eastern time: an announcement is out."""


class Verdict:
    """Whether every goal was met so far."""

    is_met = True

    def judge(self, figure: float, goal: float, *, at_most: bool) -> str:
        """Return a goal and whether a figure meets it."""
        is_met = figure <= goal if at_most else figure >= goal
        self.is_met = self.is_met and is_met
        sign = "≤" if at_most else "≥"
        return f", goal {sign} {goal:,g}, {'met' if is_met else 'MISSED'}"

    def tell(self, what: str, figure: float, unit: str, goal: float, *, at_most: bool) -> None:
        """Print one line: what was measured, the goal, and whether it was met."""
        say(f"{what}: {figure:,.2f} {unit}{self.judge(figure, goal, at_most=at_most)}")


def measure_in_turns(
    contestants: Mapping[str, Callable[[], object]], rounds: int, prepare: Callable[[str], object]
) -> dict[str, float]:
    """Return milliseconds of processor time: the median of rounds in which each has its turn.

    Args:
        contestants: what is measured, by name.
        rounds: how often.
        prepare: is called with the name before each turn, and not counted.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            prepare(name)
            begun = process_time()
            run()
            times[name].append((process_time() - begun) * 1_000)
    return {name: median(taken) for name, taken in times.items()}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def opened(
    url: str, clock: Clock | None = None, arxiv: str = "http://127.0.0.1:9"
) -> Iterator[Site]:
    """Open an installation on an empty database.

    Args:
        url: the database.
        clock: what it lives by; else one that stands still in the evening of an announcement.
        arxiv: where the arXiv it asks listens.
    """
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder, ExitStack() as stack:
        path = Path(folder) / "digest.toml"
        text = write_config(
            arxiv, {}, store={"url": url}, web={"base_url": "https://digest.example.org"}
        )
        path.write_text(text, encoding="utf-8")
        config = load_config(path, {})
        lived_by = clock or ManualClock(EVENING)
        site = open_site(config, lived_by, owner="bench", jitter=lambda: 0.5)
        stack.callback(site.close)
        yield site
