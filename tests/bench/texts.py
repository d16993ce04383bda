"""How long TeX-flavoured text takes to become readable, as plain Unicode and as HTML.

    python -m tests.bench.texts

Every title is converted, with TeX or without, one after the other and nothing remembered between
rounds; what counts is the processor time for a title in the best round, since limits in
microseconds can't be held against a machine that others slow down. Abstracts are told besides.
Hostile texts are 4 KB each of what a parser may choke on: nests, half-open groups, dollars, scripts
of scripts, commands without arguments, and signs drawn at random; the slowest of them counts.

Goals: 60 µs a title, 10 ms for a hostile text, either way. Real titles are read where
`DIGEST_REAL_DATA` names a folder of them, made-up ones otherwise.
"""

from __future__ import annotations

import gc
import random
import sys
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from time import process_time
from typing import Final

from digest.tex import to_html, to_plain
from tests.bench.installations import Verdict, say
from tests.bench.papers import load_papers

ROUNDS: Final = 7
TITLE_MICROSECONDS = 60.0
HOSTILE_MILLISECONDS = 10.0
HOSTILE_LENGTH: Final = 4_096
DRAWN: Final = 200
_SEEDS = (
    *("{", "}", "$", "$$", "^", "_", "\\", "\\[", "\\(", "$x$ ", "{\\it ", "\\emph{", "\\frac{"),
    *("\\frac", "\\hat", "\\hat{", "\\sqrt[", "x^{", "x_{a^{", "$x^{y_{", "\\left(", "\\over"),
    *("\\begin{array}{", "\\begin{cases}", "\\text{$", "\\'", "\\mathbb{\\mathcal{", "``", "--"),
    *("~", "&", "\\\\", "\\cite[", "\\unknown{", "$5 and ", "a$b", "\\alpha", "\\not", "'"),
    *("\\url{", "{}", "\\{", "e\u0301", "\ud800", "\u202e", "$\\frac{a}{b}$ ", "^^"),
)
_NESTS = (("{", "}"), ("$x^{", "}$"), ("\\emph{", "}"), ("\\left(", "\\right)"))


def main() -> int:
    """Measure everything; return 1 where a goal was missed."""
    verdict = Verdict()
    made_of, papers = load_papers()
    titles = [paper.title for paper in papers]
    abstracts = [paper.abstract for paper in papers]
    with_tex = [title for title in titles if "$" in title or "\\" in title]
    say(f"{len(titles):,} {made_of}; {len(with_tex):,} titles with TeX")
    hostile = make_hostile()
    gc.collect()
    gc.freeze()  # the collector need not look at all these papers again and again
    for name, convert in (("plain", to_plain), ("HTML", to_html)):
        took = min(_measure(convert, titles) for _ in range(ROUNDS))
        verdict.tell(f"a title as {name}", took * 1e6, "µs", TITLE_MICROSECONDS, at_most=True)
        took = min(_measure(convert, with_tex) for _ in range(ROUNDS))
        say(f"  of those with TeX: {took * 1e6:,.1f} µs")
        say(f"  an abstract: {_measure(convert, abstracts) * 1e6:,.1f} µs")
        worst = max(hostile, key=lambda text: _find_best(convert, text))
        verdict.tell(
            f"the slowest of {len(hostile)} hostile texts as {name}, {worst[:24]!a}…",
            _find_best(convert, worst) * 1e3,
            "ms",
            HOSTILE_MILLISECONDS,
            at_most=True,
        )
    return 0 if verdict.is_met else 1


def make_hostile(seed: int = 4) -> list[str]:
    """Return texts made to be slow.

    They are one snippet over and over, pairs of them in turn, some drawn at random, and nests.
    """
    rng = random.Random(seed)  # noqa: S311 - no secret
    patterns = [[snippet] for snippet in _SEEDS]
    patterns += [rng.sample(_SEEDS, 2) for _ in range(DRAWN)]
    patterns += [rng.choices(_SEEDS, k=400) for _ in range(DRAWN)]
    hostile = []
    for pattern in patterns:
        endless = "".join(islice(cycle(pattern), HOSTILE_LENGTH))
        hostile.append(endless[:HOSTILE_LENGTH])
    half = HOSTILE_LENGTH // 2
    for opening, closing in _NESTS:
        left = opening * (half // len(opening))
        right = closing * (half // len(closing))
        hostile.append(f"{left}x{right}")
    return hostile


def _measure(convert: Callable[[str], str], texts: Sequence[str]) -> float:
    """Return the seconds of processor time a text takes."""
    began = process_time()
    for text in texts:
        convert(text)
    return (process_time() - began) / max(len(texts), 1)


def _find_best(convert: Callable[[str], str], text: str) -> float:
    """Return the least of three tries: the longest is somebody else's."""
    return min(_measure(convert, [text]) for _ in range(3))


if __name__ == "__main__":
    sys.exit(main())
