"""Where people wait: commands over days of stored papers, a digest for many readers, `missed`.

    python -m tests.bench.waits --before FOLDER

Two trees take turns: a checkout named by `--before`, and this one. Each lives through the same
announcements of real papers by its own `digest run`, with its own database, beside one arXiv and
one mail server of this process. Processor time of the commands alone counts; `missed` without
anything stored is timed by the clock, against the time that arXiv's pace makes it wait. Without
`--before` this tree is measured alone, against its own limits.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Final, NamedTuple

from digest.model.clock import ManualClock, SystemClock
from digest.model.papers import Paper
from tests.bench.installations import Verdict, say
from tests.bench.papers import load_papers
from tests.bench.serving import announce
from tests.command_line import ROOT
from tests.fakes.archive import plan_announcement
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import Table
from tests.harness.installation import Installation, installed

BEGUN: Final = datetime(2026, 9, 6, 12, tzinfo=UTC)
"""A Sunday."""

ROUNDS: Final = 3
PACE: Final = 3.0
QUERY: Final = "cat:cs.LG OR cat:stat.ML"
DIGEST_PAPERS: Final = 107
LIBRARY_PAPERS: Final = 40
FIVE_IMPORTS: Final = "import apscheduler, httpx, jinja2, slack_sdk, sqlalchemy"


class Times(NamedTuple):
    """What a process took, in seconds: of the processor, and by the clock."""

    processor: float
    clock: float


@dataclass(frozen=True, slots=True)
class Tree:
    """A checkout whose commands are measured."""

    name: str
    root: Path

    def run(self, here: Installation, *arguments: str) -> Times:
        """Run one command of this tree to its end in an installation's folder."""
        return self.measure(here, "-m", "digest", *arguments)

    def measure(self, here: Installation, *arguments: str) -> Times:
        """Run Python with this tree's packages to its end."""
        environ = {**here.environment(), "PYTHONPATH": str(self.root)}
        environ["XDG_STATE_HOME"] = str(here.folder)
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a start would compile all that it loads
        begun = monotonic()
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, *arguments],
            cwd=here.folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"{self.name}: {' '.join(arguments)}\n{said}"
        return Times(usage.ru_utime + usage.ru_stime, monotonic() - begun)


class Life:
    """One tree's installation, and the announcements it lives through."""

    def __init__(self, tree: Tree, here: Installation, clock: ManualClock, size: int) -> None:
        self.tree = tree
        self.here = here
        self._clock = clock
        self._size = size
        self._moment = BEGUN
        self._papers = load_papers()[1]
        self._announced = 0
        self._number = 0

    def announce(self) -> None:
        """Let arXiv announce the next papers, and move the clock to three hours after."""
        moment = plan_announcement(self._moment + timedelta(hours=1))
        before = 0 if moment.month != self._moment.month else self._number
        self._number = before + self._size
        start = self._announced * self._size % (len(self._papers) - self._size)
        papers = self._papers[start : start + self._size]
        self.here.arxiv.add(*announce(moment, papers, 1 + before))
        self._moment = moment
        self._announced += 1
        until = moment + timedelta(hours=3) - self._clock.now()
        self._clock.sleep(until.total_seconds())

    def time(self, *arguments: str, rounds: int = ROUNDS) -> float:
        """Return the median processor time of a command that changes nothing."""
        return median(self.tree.run(self.here, *arguments).processor for _ in range(rounds))

    @property
    def stored(self) -> int:
        """Bytes of the database, with what is not yet in its main file."""
        return sum(path.stat().st_size for path in self.here.folder.glob("digest.db*"))


def write_library(folder: Path, papers: Sequence[Paper]) -> str:
    """Write a library's file; return its name."""
    entries = [
        f"@article{{p{number}, title={{{{{paper.title}}}}}}}" for number, paper in enumerate(papers)
    ]
    (folder / "library.bib").write_text("\n".join(entries), encoding="utf-8")
    return "library.bib"


def open_life(stack: ExitStack, tree: Tree, size: int) -> Life:
    """Return a tree's installation with nothing stored."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="digest-waits-")))
    clock = ManualClock(BEGUN)
    here = stack.enter_context(installed(Installation, folder, DemoArxiv((), clock)))
    subscription = {"name": "ml", "follow": ["ml"], "to": ["console"], "when": "daily at 09:00 UTC"}
    here.write_file({"ml": QUERY}, [subscription])
    return Life(tree, here, clock, size)


def compare_days(lives: Sequence[Life], days: Sequence[int]) -> dict[str, dict[str, list[float]]]:
    """Live through announcements; return seconds by command and tree at each number of days."""
    found: dict[str, dict[str, list[float]]] = {}
    for day in range(1, max(days) + 1):
        for life in lives:
            life.announce()
            took = life.tree.run(life.here, "run").processor
            if day not in days:
                continue
            name = life.tree.name
            library = write_library(life.here.folder, load_papers()[1][:LIBRARY_PAPERS])
            figures = {
                "announcement": took,
                "idle run": life.time("run"),
                "five imports": median(
                    life.tree.measure(life.here, "-c", FIVE_IMPORTS).processor
                    for _ in range(ROUNDS)
                ),
                "status": life.time("status"),
                "query show": life.time("query", "show", "ml"),
                "query list": life.time("query", "list"),
                "missed": life.time("missed", library, "--days", "7"),
                "database": float(life.stored),
            }
            for command, figure in figures.items():
                found.setdefault(command, {}).setdefault(name, []).append(figure)
            told = ", ".join(f"{command} {figure:,.2f}" for command, figure in figures.items())
            say(f"{name}, {day} announcements of {life._size:,}: {told}")
    return found


def tell_growth(what: str, sizes: Sequence[int], figures: Sequence[float]) -> None:
    """Print how a figure grows from the first to the last size, as an exponent."""
    if len(sizes) > 1 and min(figures) > 0:
        exponent = log(figures[-1] / figures[0]) / log(sizes[-1] / sizes[0])
        say(f"{what}: grows with the {exponent:.2f}th power from {sizes[0]:,} to {sizes[-1]:,}")


@dataclass(frozen=True, slots=True)
class Sent:
    """What one digest for some readers took: seconds by the clock, and bytes of the database."""

    readers: int
    seconds: float
    processor: float
    stored: int


def send_digest(stack: ExitStack, tree: Tree, readers: int) -> Sent:
    """Let a tree send one digest of `DIGEST_PAPERS` papers to readers, over one connection."""
    life = open_life(stack, tree, DIGEST_PAPERS)
    here = life.here
    papers = load_papers()[1][: 2 * DIGEST_PAPERS]
    named = {category for paper in papers for category in paper.categories}
    query = " OR ".join(f"cat:{name}" for name in sorted(named))
    to = [f"mailto:reader{number}@example.org" for number in range(readers)]
    subscription = {
        "name": "all",
        "follow": ["all"],
        "to": to,
        "when": "on announcement",
        "look_back": "0 days",
    }
    tables: dict[str, Table] = {
        "mail": {"connections": 1},
        "web": {"base_url": "http://127.0.0.1:9"},
    }
    here.write_file({"all": query}, [{**subscription, "to": ["console"]}], **tables)
    for _ in range(2):  # the first digest, and what it left out
        life.announce()
        tree.run(here, "run")
    here.write_file({"all": query}, [subscription], **tables)
    life.announce()
    before = life.stored
    took = tree.run(here, "run")
    assert len(here.mail.mails) == readers, f"{len(here.mail.mails)} mails"
    return Sent(readers, took.clock, took.processor, life.stored - before)


def compare_digests(trees: Sequence[Tree], sizes: Sequence[int]) -> dict[str, list[Sent]]:
    """Return what a digest took for so many readers, by tree."""
    found: dict[str, list[Sent]] = {tree.name: [] for tree in trees}
    for size in sizes:
        for tree in trees:
            with ExitStack() as stack:
                sent = send_digest(stack, tree, size)
            found[tree.name].append(sent)
            say(
                f"{tree.name}, one digest for {size:,} readers: {sent.seconds:.1f} s,"
                f" {sent.processor:.1f} s of the processor, {sent.stored / 1024:,.0f} KB stored"
            )
    return found


def miss_anew(tree: Tree, size: int, days: int) -> tuple[float, float]:
    """Call `digest missed` with nothing stored; return its seconds, and those it had to wait."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="digest-waits-")))
        now = datetime.now(UTC)
        clock = ManualClock(now - timedelta(days=days + 3))
        arxiv = DemoArxiv((), SystemClock(), pace=PACE, is_strict=True)
        here = stack.enter_context(installed(Installation, folder, arxiv))
        papers = load_papers()[1]
        moment = plan_announcement(clock.now())
        number = 1
        month = moment.month
        start = 0
        while moment < now:
            if moment.month != month:
                month = moment.month
                number = 1
            here.arxiv.add(*announce(moment, papers[start : start + size], number))
            number += size
            start = (start + size) % (len(papers) - size)
            moment = plan_announcement(moment + timedelta(hours=1))
        here.write_file({}, [])
        library = write_library(folder, papers[:LIBRARY_PAPERS])
        took = tree.run(here, "missed", library, "--days", str(days)).clock
        asked = here.arxiv.requests
        assert not here.arxiv.violations
        return took, PACE * (len(asked) - 1)


def main() -> int:
    """Measure what was asked for; return 1 where a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout to compare with")
    parser.add_argument("--days", type=int, nargs="*", default=[10, 30], help="announcements")
    parser.add_argument("--papers", type=int, default=1_500, help="papers of an announcement")
    parser.add_argument("--readers", type=int, nargs="*", default=[10, 1_000], help="of one digest")
    parser.add_argument("--missed-days", type=int, default=10, help="days that `missed` reads")
    asked = parser.parse_args()
    trees = [Tree("after", ROOT)]
    if asked.before:
        trees.insert(0, Tree("before", asked.before.resolve()))
    verdict = Verdict()
    if asked.days:
        judge_days(asked, trees, verdict)
    if asked.readers:
        judge_digests(compare_digests(trees, asked.readers), verdict)
    if asked.missed_days:
        for tree in trees:
            took, waits = miss_anew(tree, asked.papers, asked.missed_days)
            said = (
                f"{tree.name}, `missed` with nothing stored: {took:.1f} s, {waits:.1f} s of waits"
            )
            if tree is trees[-1]:
                verdict.tell(said, took / waits, "×", 1.2, at_most=True)
            else:
                say(f"{said}, {took / waits:.2f} ×")
    return 0 if verdict.is_met else 1


def judge_days(asked: argparse.Namespace, trees: Sequence[Tree], verdict: Verdict) -> None:
    """Measure commands over days of stored papers, and hold them against their goals."""
    with ExitStack() as stack:
        lives = [open_life(stack, tree, asked.papers) for tree in trees]
        found = compare_days(lives, asked.days)
    after = {command: by_tree["after"] for command, by_tree in found.items()}
    last = {command: figures[-1] for command, figures in after.items()}
    status = last["status"]
    idle = last["idle run"] / last["five imports"]
    verdict.tell("idle run, against the five imports", idle, "×", 2.2, at_most=True)
    shown = last["query show"] / status
    verdict.tell("`query show`, against `status`", shown, "×", 1.5, at_most=True)
    missed = last["missed"] - 1.5 * status
    verdict.tell("`missed` again, beyond 1.5 × `status`", missed, "s", 1.0, at_most=True)
    if len(trees) > 1:
        before = {command: by_tree["before"][-1] for command, by_tree in found.items()}
        ratio = last["announcement"] / before["announcement"]
        verdict.tell("an announcement's run, against before", ratio, "×", 0.75, at_most=True)
        grown = last["database"] / before["database"]
        verdict.tell("the database, against before", grown, "×", 1.35, at_most=True)
    for command, figures in after.items():
        tell_growth(f"{command}, by announcements", asked.days, figures)


def judge_digests(found: dict[str, list[Sent]], verdict: Verdict) -> None:
    """Hold what a digest for many readers took against its goals."""
    after = found["after"]
    few = after[0]
    many = after[-1]
    if many.readers > few.readers:
        further = (many.stored - few.stored) / (many.readers - few.readers) / 1024
        verdict.tell("database, a further reader", further, "KB", 4.0, at_most=True)
    if "before" in found:
        faster = found["before"][-1].seconds / many.seconds
        verdict.tell("mails a second, against before", faster, "×", 4.0, at_most=False)
    sizes = [one.readers for one in after]
    tell_growth("a digest, by readers", sizes, [one.seconds for one in after])


if __name__ == "__main__":
    sys.exit(main())
