"""How fast a day's papers are held against all saved queries, next to who else could do it.

    python -m tests.bench.matching                      100,000 queries and 2,500 papers
    python -m tests.bench.matching --queries 1000000    a million, reported without goals

wants `pip install -e '.[check]'`, uses one core, takes some minutes, and exits with 1 where a goal is missed.
Papers are real where `DIGEST_REAL_DATA` names a folder of them, made up otherwise. Queries are what
`tests.querying` takes for realistic, made of the words, names and categories of other papers than the day's.

What is measured goes all the way from texts to packed rows: TeX resolved, words cut, folded, stemmed and looked
up, the queries evaluated and the papers of each listed, with nothing remembered of an earlier round. All times
are processor time of this one run, medians of `ROUNDS` rounds in which each contestant has its turn. How much of
it goes into TeX is told, too: the same with the texts resolved beforehand.

1. The limit is one `translate` and one `split` of each paper, all of its texts joined: about the least it takes
   to look at every word. Done text by text it is quicker, since most texts are ASCII by themselves.
2. The plain evaluator holds every paper against a sample of the queries: closures compiled and papers analysed
   beforehand, which takes it some seconds more.
3. tantivy only searches, for a sample of the queries: that its index and its query objects are built is not
   counted. It is left out where it isn't installed.
"""

from __future__ import annotations

import gc
import random
import sys
from dataclasses import replace
from itertools import islice
from statistics import median
from time import process_time
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from digest.query import analyse, parse_query, words
from digest.query.index import texts
from digest.query.index.batch import scan
from digest.query.index.reverse_index import ReverseIndex
from tests.bench import memory
from tests.bench.installations import Verdict, measure_in_turns, say
from tests.bench.papers import load_day
from tests.bench.search_engine import SearchEngine
from tests.querying import QueryWriter, read_queries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from digest.model.papers import Paper
    from digest.query import Query

ROUNDS: Final = 7
GOAL_QUERIES: Final = 100_000
LIMIT, PLAIN, ENGINE = 12.0, 400.0, 8.0
"""The goals: at most so many times the limit, at least so many times as fast as the others."""

PLAIN_PAIR, INSERTION, MEMORY, GROWTH = 1.5, 50.0, 1_100, 2.0
"""Microseconds the plain evaluator may take for a pair, else it is no measure; microseconds an insertion may
take; bytes a query may; and how much longer reading may take for ten times the queries."""

_PLAIN_SAMPLE, _ENGINE_SAMPLE = 200, 5_000
_AFTER_ANOTHER_DAY = "  all of it, after another day's"
"""What a process that goes on takes: it remembers words and formulas of as many papers that came before."""

_TABLE = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}


class Bench:
    """A day's papers, queries, and what has been said of them so far."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.made_of, self.day, self._others = load_day()
        self.day_before = self._others[: len(self.day)]
        self.texts = [query.text for query in self._draw(count)]
        self.verdict = Verdict(has_goals=count == GOAL_QUERIES)
        self.searching = 0.0

    def _draw(self, count: int) -> list[Query]:
        return list(islice(read_queries(QueryWriter(self._others, 1).write_realistic), count))

    def build(self, texts: Sequence[str]) -> tuple[ReverseIndex[int], float, float]:
        """Return an index of queries, and what reading and adding one took: medians, in microseconds."""
        index: ReverseIndex[int] = ReverseIndex()
        reading, adding = [], []
        for start in range(0, len(texts), 1_000):
            begun = process_time()
            queries = [parse_query(text) for text in texts[start : start + 1_000]]
            read = process_time()
            for key, query in enumerate(queries, start=start):
                index.add(key, query)
            reading.append((read - begun) * 1e6 / len(queries))
            adding.append((process_time() - read) * 1e6 / len(queries))
        return index, median(reading), median(adding)


def forget() -> None:
    """Forget all words and formulas ever read."""
    for remembered in (
        words.spell_word,
        words.read_word,
        words._part_word,
        words._fold_accents,
        words.stem,
        texts._read_formula,
        texts._read_island,
    ):
        remembered.cache_clear()
    gc.collect()


def list_texts(paper: Paper) -> tuple[str, ...]:
    """Return all texts of a paper that words are looked for in."""
    names = (author.name for author in paper.authors)
    return (paper.title, paper.abstract, paper.comment, paper.journal_ref, paper.report_no, *names)


def touch_papers(papers: Sequence[Paper]) -> int:
    """Do the least with every paper that cuts it into words."""
    return sum(len(" ".join(list_texts(paper)).translate(_TABLE).split()) for paper in papers)


def touch_texts(papers: Sequence[Paper]) -> int:
    """Do the least with every text of some papers that cuts it into words."""
    return sum(len(text.translate(_TABLE).split()) for paper in papers for text in list_texts(paper))


def has_tex(paper: Paper) -> bool:
    """Whether a paper's title, abstract or comment holds TeX."""
    return any(sign in text for text in (paper.title, paper.abstract, paper.comment) for sign in "$\\")


def resolve(paper: Paper) -> Paper:
    """Return a paper with its TeX resolved, as far as words go."""
    title, abstract, comment = (texts.resolve_text(text) for text in (paper.title, paper.abstract, paper.comment))
    return replace(paper, title=title, abstract=abstract, comment=comment)


def measure(
    contestants: dict[str, Callable[[], object]],
    rounds: int = ROUNDS,
    *,
    before: Mapping[str, Callable[[], object]] | None = None,
) -> dict[str, float]:
    """Return milliseconds of processor time, the median of some rounds in which each has its turn.

    Args:
        contestants: what is measured, by name; nothing is remembered when it begins.
        rounds: how often.
        before: what some of them remember all the same: is done first, and not counted.
    """

    def prepare(name: str) -> None:
        forget()
        if before and name in before:
            before[name]()

    return measure_in_turns(contestants, rounds, prepare)


def report_matching(bench: Bench) -> float:
    """Print what matching takes, step by step and against the limit; return milliseconds."""
    index, reading, adding = bench.build(bench.texts)
    matches = index.match(bench.day)
    assert index._prepared is not None
    _, detector, layout = index._prepared
    batch = scan(bench.day)
    detection = detector.detect(batch)
    pairs = int(np.diff(matches._rows.bounds).sum())
    say(f"{len(bench.day):,} {bench.made_of}, {sum(map(has_tex, bench.day)):,} of them with TeX")
    say(f"{bench.count:,} queries, {len(layout.roots):,} of them different")
    say(f"{len(matches):,} queries match; {pairs:,} pairs of different queries and papers are listed\n")
    resolved = list(map(resolve, bench.day))
    times = measure(
        {
            "limit: translate and split": lambda: touch_papers(bench.day),
            "  the same text by text": lambda: touch_texts(bench.day),
            "text to packed rows": lambda: index.match(bench.day),
            "  reading the papers": lambda: scan(bench.day),
            "  detecting": lambda: detector.detect(batch),
            "  evaluating and listing": lambda: layout.evaluate(detection),
            "  all of it, no TeX left": lambda: index.match(resolved),
            _AFTER_ANOTHER_DAY: lambda: index.match(bench.day),
        },
        before={_AFTER_ANOTHER_DAY: lambda: index.match(bench.day_before)},
    )
    limit, whole = times["limit: translate and split"], times["text to packed rows"]
    say(f"  {'':32}{'ms':>9}{'× limit':>9}   goal")
    for name, taken in times.items():
        goal = bench.verdict.judge(taken / limit, LIMIT, at_most=True) if taken is whole else ""
        say(f"  {name:32}{taken:9.1f}{taken / limit:9.1f}{goal}")
    say(
        f"\nReading a query's text takes {reading:.0f} µs, adding the query read {adding:.0f} µs"
        f"{bench.verdict.judge(adding, INSERTION, at_most=True)}"
    )
    fewer, _, _ = bench.build(bench.texts[: bench.count // 10])
    fewer.match(bench.day[:1])
    assert fewer._prepared is not None
    small = fewer._prepared.detector
    growth = measure(
        {"few": lambda: small.detect(scan(bench.day)), "many": lambda: detector.detect(scan(bench.day))}
    )
    ratio = growth["many"] / growth["few"]
    say(
        f"Reading and detecting for a tenth of the queries takes {growth['few']:.0f} ms; for all of them"
        f" {ratio:.2f} times that{bench.verdict.judge(ratio, GROWTH, at_most=True)}"
    )
    bench.searching = times["  detecting"] + times["  evaluating and listing"]
    return whole


def report_plain(bench: Bench, whole: float) -> None:
    """Print how the plain evaluator fares."""
    sample = [parse_query(text) for text in random.Random(2).sample(bench.texts, _PLAIN_SAMPLE)]  # noqa: S311 - the same ones every time
    ready = list(map(analyse, bench.day))
    tests = [query.test for query in sample]

    def hold() -> None:
        for paper in ready:
            for test in tests:
                test(paper)

    hold()  # so that every paper is analysed
    taken = measure({"plain": hold}, rounds=3)["plain"]
    pair = taken * 1_000 / len(sample) / len(ready)
    ratio = taken / len(sample) * bench.count / whole
    say(f"\nThe plain evaluator takes {pair:.2f} µs a pair{bench.verdict.judge(pair, PLAIN_PAIR, at_most=True)}")
    say(
        f"  of {len(sample)} queries; for all of them {ratio:,.0f} times as long"
        f"{bench.verdict.judge(ratio, PLAIN, at_most=False)}"
    )


def report_engine(bench: Bench, whole: float) -> None:
    """Print how tantivy fares."""
    try:
        engine = SearchEngine(bench.day)
    except ImportError:
        say("\ntantivy was skipped: it is not installed")
        return
    sample = random.Random(3).sample(bench.texts, min(_ENGINE_SAMPLE, bench.count))  # noqa: S311 - as above
    queries = [engine.translate(parse_query(text).tree) for text in sample]
    found = sum(map(engine.search, queries))
    taken = measure({"search": lambda: sum(map(engine.search, queries))}, rounds=3)["search"]
    ratio = taken / len(queries) * bench.count / whole
    alone = taken / len(queries) * bench.count / bench.searching
    say(f"\ntantivy finds {found:,} papers for {len(queries):,} queries in {taken:,.0f} ms, its search alone")
    say(f"  for all of them {ratio:.1f} times as long{bench.verdict.judge(ratio, ENGINE, at_most=False)}")
    say(f"  and {alone:.1f} times as long as detecting, evaluating and listing, without reading the papers")


def report_memory(bench: Bench) -> None:
    """Print what the index takes."""
    if not memory.is_measurable():
        say("\nMemory was not measured: this system does not tell a process's own peak")
        return
    growth = memory.measure_index(bench.count)
    kept = growth.kept / bench.count
    say(f"\nThe index keeps {kept:,.0f} bytes a query{bench.verdict.judge(kept, MEMORY, at_most=True)}")
    say(f"  a match takes {growth.matching / 1e6:,.0f} MB more while it runs")


@click.command()
@click.option("--queries", default=GOAL_QUERIES, show_default=True, help="how many queries there are")
def main(queries: int) -> None:
    """Measure everything."""
    say(f"Python {sys.version.split()[0]}, numpy {np.__version__}, medians of {ROUNDS} rounds, processor time\n")
    bench = Bench(queries)
    whole = report_matching(bench)
    report_plain(bench, whole)
    report_engine(bench, whole)
    report_memory(bench)
    raise SystemExit(0 if bench.verdict.is_met else 1)


if __name__ == "__main__":
    main()
