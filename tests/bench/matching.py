"""How fast a day's papers are matched with all saved queries, against the plain evaluator.

    python -m tests.bench.matching

Papers are real where `DIGEST_REAL_DATA` names a folder of them, made up otherwise. Queries are what
`tests.querying` takes for realistic, made of the words, names and categories of other papers than
the day's. What is measured goes all the way: queries and papers are read, and the papers of each
query are listed. Nothing is remembered of an earlier round. The evaluator reads the same queries
and papers, and holds each paper against each query; of many queries it gets a sample, and what
these take beyond reading the papers counts as often as there are queries. Times are processor time,
medians of `ROUNDS` rounds in which each has its turn.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Final

from digest.model.papers import Paper
from digest.query import PaperIndex, analyse, matches, parse_query, words
from tests.bench.installations import Verdict, measure_in_turns, say
from tests.bench.papers import load_day
from tests.querying import QueryWriter, read_queries

ROUNDS: Final = 5
PAPERS: Final = 1_500
RATIOS: Final = {300: 2.5, 10_000: 8.0}
"""How many queries, and how many times as long the evaluator takes at least."""

_SAMPLE: Final = 300
_EVERYTHING: Final = "all:nowhereatall OR au:nobody"
"""What needs every text of a paper."""


def forget() -> None:
    """Forget all words ever read."""
    for remembered in (
        words.spell_word,
        words.read_word,
        words._part_word,
        words._fold_accents,
        words.stem,
    ):
        remembered.cache_clear()
    gc.collect()


def match_by_index(texts: Sequence[str], papers: Sequence[Paper]) -> list[list[int]]:
    """Return the papers of each query, as the index finds them."""
    return list(PaperIndex(papers).find(map(parse_query, texts)))


def match_plainly(texts: Sequence[str], papers: Sequence[Paper]) -> list[list[int]]:
    """Return the papers of each query, as the evaluator finds them."""
    ready = list(map(analyse, papers))
    found = []
    for query in map(parse_query, texts):
        found.append([place for place, paper in enumerate(ready) if matches(query, paper)])
    return found


def report(texts: Sequence[str], day: Sequence[Paper], verdict: Verdict) -> None:
    """Print how long the index and the evaluator take for some queries."""
    sample = random.Random(2).sample(texts, _SAMPLE)  # noqa: S311 - the same ones every time
    if match_by_index(sample, day) != match_plainly(sample, day):
        raise SystemExit("the index and the evaluator do not agree: nothing was measured")
    contestants = {
        "index": lambda: match_by_index(texts, day),
        "reading": lambda: PaperIndex(day),
        "evaluator": lambda: match_plainly(sample, day),
        "analysing": lambda: match_plainly([_EVERYTHING], day),
    }
    times = measure_in_turns(contestants, ROUNDS, lambda _: forget())
    of_sample = times["evaluator"] - times["analysing"]
    plainly = times["analysing"] + of_sample * len(texts) / len(sample)
    reading = f"{times['reading']:,.0f} ms of it to read the papers"
    say(f"{len(texts):,} queries: {times['index']:,.0f} ms, {reading}")
    verdict.tell(
        "  the evaluator",
        plainly / times["index"],
        "times as long",
        RATIOS[len(texts)],
        at_most=False,
    )


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    made_of, whole_day, others = load_day()
    verdict = Verdict()
    day = whole_day[:PAPERS]
    python = sys.version.split()[0]
    how = f"medians of {ROUNDS} rounds, processor time"
    say(f"Python {python}; {len(day):,} {made_of}; {how}")
    drawn = read_queries(QueryWriter(others, 1).write_realistic)
    texts = [query.text for query in islice(drawn, max(RATIOS))]
    for count in RATIOS:
        report(texts[:count], day, verdict)
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    sys.exit(main())
