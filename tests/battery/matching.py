"""The index of papers against who answers them otherwise: the plain evaluator, and SQLite's FTS5.

Three comparisons, each of whole sets of papers, so that what an index finds too much or too little
counts alike:

1. all queries against some papers, pair by pair, as the plain evaluator answers them;
2. some of them against all papers, which are as many as a day brings;
3. as many queries of the language that FTS5 shares, against all papers, as FTS5 answers them.

Half of the queries are what people save, half are whatever the language has. The exit code is 1 for
any mismatch.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

import click

from digest.model.papers import Paper
from digest.query import PaperIndex, Query, analyse
from tests.battery.matching_oracle import NotSharedError, Oracle, translate
from tests.bench.pages import REAL
from tests.bench.papers import load_day
from tests.integration.query.test_real_papers import read_papers
from tests.querying import QueryWriter, read_queries

_CHUNK: Final = 5_000
"""Queries asked at once: all of them together would need their trees in memory."""

_MOST_SHOWN: Final = 20


class Tally:
    """What came of a comparison.

    Attributes:
        queries: how many were compared.
        pairs: of how many queries and papers the verdict was compared.
        met: how many of these pairs are matches.
        mismatches: the queries answered otherwise, and the papers about which.
    """

    def __init__(self) -> None:
        self.queries = self.pairs = self.met = 0
        self.mismatches: list[tuple[str, list[int]]] = []

    def compare(
        self,
        papers: Sequence[Paper],
        queries: Sequence[Query],
        answer: Callable[[int], Sequence[int]],
    ) -> None:
        """Hold the index's answers to queries against another's, asked by the query's place."""
        found = PaperIndex(papers).find(queries)
        for key, (query, met) in enumerate(zip(queries, found, strict=True)):
            ours = set(met)
            theirs = set(answer(key))
            self.met += len(theirs)
            if ours != theirs:
                self.mismatches.append((query.text, sorted(ours ^ theirs)))
        self.queries += len(queries)
        self.pairs += len(queries) * len(papers)


def load_odd() -> list[Paper]:
    """Return papers with odd texts and names, and with everything only a harvest tells.

    None without real data.
    """
    if not REAL:
        return []
    return [
        *read_papers("data", "odd_papers.jsonl")[::3],
        *read_papers("standin", "fixture_papers.jsonl")[::10],
    ]


def draw(papers: Sequence[Paper], seed: int) -> Iterator[Query]:
    """Yield queries, realistic ones and any others in turn."""
    realistic = read_queries(QueryWriter(papers, seed).write_realistic)
    others = read_queries(QueryWriter(papers, seed + 1).write_any)
    for pair in zip(realistic, others, strict=False):
        yield from pair


def draw_shared(papers: Sequence[Paper], seed: int) -> Iterator[tuple[Query, str]]:
    """Yield queries that FTS5 can be asked, too, with how."""
    for query in draw(papers, seed):
        try:
            yield query, translate(query.tree)
        except NotSharedError:
            continue


def compare_plainly(papers: Sequence[Paper], queries: Iterator[Query], count: int) -> Tally:
    """Hold so many queries against papers, by the index and by the plain evaluator."""
    tally = Tally()
    ready = list(map(analyse, papers))
    while chunk := list(islice(queries, min(_CHUNK, count - tally.queries))):

        def answer(key: int, chunk: Sequence[Query] = chunk) -> list[int]:
            test = chunk[key].test
            return [place for place, paper in enumerate(ready) if test(paper)]

        tally.compare(papers, chunk, answer)
        tell_progress(tally, count)
    return tally


def compare_with_oracle(
    papers: Sequence[Paper], shared: Iterator[tuple[Query, str]], count: int
) -> Tally:
    """Hold so many queries against papers, by the index and by FTS5."""
    tally = Tally()
    oracle = Oracle(papers)
    while chunk := list(islice(shared, min(_CHUNK, count - tally.queries))):
        questions = [question for _, question in chunk]

        def answer(key: int, questions: Sequence[str] = questions) -> list[int]:
            return oracle.find(questions[key])

        tally.compare(papers, [query for query, _ in chunk], answer)
        tell_progress(tally, count)
    return tally


def tell_progress(tally: Tally, count: int) -> None:
    """Say how far a comparison is, where somebody watches."""
    if sys.stderr.isatty():
        click.echo(f"\r{tally.queries:,} of {count:,}", err=True, nl=False)


def tell(name: str, tally: Tally, seconds: float) -> None:
    click.echo(
        f"{name:18}{tally.queries:10,} queries{tally.pairs:14,} pairs{tally.met:12,} matches"
        f"{len(tally.mismatches):6,} mismatches{seconds:8,.0f} s"
    )
    for text, papers in tally.mismatches[:_MOST_SHOWN]:
        click.echo(f"    {text[:160]}  about {len(papers)} papers, as number {papers[0]}")


@click.command(help=__doc__.partition("\n\n")[0] if __doc__ else None)
@click.option("--queries", type=click.IntRange(1), default=10_000, show_default=True)
@click.option(
    "--papers",
    type=click.IntRange(1),
    default=250,
    show_default=True,
    help="of the day in the first comparison",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=2_000,
    show_default=True,
    help="queries of the second",
)
@click.option("--seed", type=int, default=1, show_default=True)
def main(queries: int, papers: int, sample: int, seed: int) -> None:
    made_of, day, others = load_day()
    click.echo(f"{made_of}, seed {seed}")
    some = random.Random(seed).sample(day, min(papers, len(day)))  # noqa: S311 - by the seed
    some += load_odd()
    vocabulary = [*some, *day, *others[: len(day)]]
    comparisons: dict[str, Callable[[], Tally]] = {
        "plain evaluator": lambda: compare_plainly(some, draw(vocabulary, seed), queries),
        "a whole day": lambda: compare_plainly(day, draw(vocabulary, seed + 10), sample),
        "FTS5": lambda: compare_with_oracle(day, draw_shared(vocabulary, seed + 20), queries),
    }
    mismatches = 0
    for name, compare in comparisons.items():
        begun = time.monotonic()
        tally = compare()
        tell(name, tally, time.monotonic() - begun)
        mismatches += len(tally.mismatches)
    raise SystemExit(1 if mismatches else 0)


if __name__ == "__main__":
    main()
