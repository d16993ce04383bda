"""How long the live view of a query takes over 20,000 stored papers, against one evaluation of it.

    python -m tests.bench.trying

The live view is all of it: how the query is read, its figures, what comes near it, ten papers with
their reasons, and the part of the page. The evaluation holds the same papers, analysed beforehand,
against the query. They take turns, and the median of each query's rounds counts. Real papers are
read where `DIGEST_REAL_DATA` names a folder of them, made-up ones otherwise.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from itertools import cycle, islice, product
from pathlib import Path
from statistics import median
from time import process_time, sleep
from typing import Final

from digest.inspect.trial import QueryTrials
from digest.model.clock import ManualClock
from digest.model.papers import ArxivId, Paper
from digest.model.people import LONGEST_QUERY
from digest.query import AnalysedPaper, Query, analyse, matches, parse_query
from digest.render.contexts import TrialContext
from tests.bench.installations import Verdict, opened, say
from tests.bench.papers import load_papers
from tests.stored_month import gather, store_month

PAPERS = 20_000
ROUNDS = 9
RATIO = 3.0
MEGABYTES = 150.0
QUERIES: Final = (
    "abs:GPU AND (cat:cs.DC OR cat:cs.PF)",
    "tail latency",
    "cat:cs.LG",
    "learning",
    'all:"machine learning"',
    "trans* ANDNOT cat:cs.CV",
    'author:"Wei Wang"',
    'ti:"tail latency" AND cat:cs.PF',
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_COMMON = "we model data show results paper method system time new problem field"


def write_hostile() -> Iterator[str]:
    """Yield queries that are as long as they may be, and ask for as much as they can."""
    pairs = list(product(_LETTERS, repeat=2))
    common = _COMMON.split()
    yield " OR ".join([f"{a}*" for a in _LETTERS] + [f"{a}{b}*" for a, b in pairs])
    yield " OR ".join(f'"{a} {b}"' for a, b in product(common, repeat=2))
    yield " OR ".join(f'au:"{a}*, {b}*"' for a, b in pairs)
    yield " OR ".join(f"NOT {a}*" for a, _ in pairs)


def choose_papers(now: datetime) -> tuple[str, list[Paper]]:
    """Return what they are, and papers of the four weeks before a moment.

    What is missing comes again.
    """
    made_of, papers = load_papers()
    missing = max(PAPERS - len(papers), 0)
    month = now.year * 100 + now.month
    more = []
    for number, paper in enumerate(islice(cycle(papers), missing)):
        more.append(replace(paper, id=ArxivId(month, 90_000 - number)))
    return made_of, gather((papers + more)[:PAPERS], now)


def read_megabytes() -> float:
    """Return how much memory this process has; what is free goes back to the system first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096 / 1e6


def measure(run: Callable[[], object]) -> float:
    """Return milliseconds of processor time."""
    begun = process_time()
    run()
    return (process_time() - begun) * 1e3


def evaluate(query: Query, ready: list[AnalysedPaper]) -> int:
    """Return how many papers a query means."""
    return sum(matches(query, paper) for paper in ready)


def compare(show: Callable[[str], object], ready: list[AnalysedPaper]) -> float:
    """Print how long each query's live view and evaluation take.

    Return the median of the ratios.
    """
    ratios: list[float] = []
    for text in QUERIES:
        query = parse_query(text)
        shown = []
        evaluated = []
        for _ in range(ROUNDS):
            shown.append(measure(partial(show, text)))
            evaluated.append(measure(partial(evaluate, query, ready)))
        live = median(shown)
        plain = median(evaluated)
        ratios.append(live / plain)
        say(f"  {text}: {live:.0f} ms, evaluation {plain:.0f} ms")
    return median(ratios)


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    now = datetime.fromisoformat("2016-09-02T03:47:00+00:00")
    verdict = Verdict()
    made_of, papers = choose_papers(now)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="digest-bench-"))
        site = stack.enter_context(opened(f"sqlite:///{folder}/digest.db", ManualClock(now)))
        store_month(site.store, papers, now, first=date(2016, 8, 3))
        trials = QueryTrials(site)
        before = read_megabytes()
        begun = process_time()
        while not trials.try_text("gpu").is_ready:
            sleep(0.5)
        say(f"{len(papers):,} {made_of}, read in {process_time() - begun:.1f} s of processor time")
        verdict.tell("memory for them", read_megabytes() - before, "MB", MEGABYTES, at_most=True)
        ready = [analyse(paper) for paper in papers]
        for text in QUERIES:  # what they need of each paper is made, and kept
            evaluate(parse_query(text), ready)

        def show(text: str) -> str:
            return site.renderer.render_web("trial.html", TrialContext(trials.try_text(text)))

        ratio = compare(show, ready)
        verdict.tell(
            "live view against one evaluation, the median query", ratio, "×", RATIO, at_most=True
        )
        hostile = (text[:LONGEST_QUERY].rpartition(" OR ")[0] for text in write_hostile())
        worst = max(measure(partial(show, text)) for text in hostile)
        say(f"the worst of four hostile queries: {worst:.0f} ms")
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
