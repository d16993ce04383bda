"""How often the sentence that is shown of an abstract is one that readers chose.

    python -m tests.bench.sentences FILE
    python -m tests.bench.sentences --fit FILE

FILE has one abstract a line, as JSON: `title`, `sentences`, and `good`, the numbers (from 1) of the
sentences that a reader accepts as the one under the title. The first form asks the product, which
splits an abstract by itself. The second fits the weights anew and prints them for `WEIGHTS` in
`digest/render/sentences.py`, with an estimate for abstracts nobody judged: five-fold, the mean of
six draws with its spread.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from digest.render.sentences import PHRASES, choose_snippet, measure_sentences, split_sentences
from digest.render.text import show_plain
from tests.bench.installations import say

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.float64]

DRAWS = 6
FOLDS = 5
PENALTY = 200.0
"""Of the squares of the weights, for signals of spread 1.

Between 150 and 300 the estimate is the same.
"""

_IN_A_ROW = 5
_MANY = 50
_LEAST_SPREAD = 0.1
"""A signal seldom given does not weigh more for it."""


class Judged(NamedTuple):
    """An abstract: its title, its sentences in plain text, and which of them are good."""

    title: str
    sentences: list[str]
    good: list[float]


def read_judged(path: Path) -> list[Judged]:
    """Read abstracts whose sentences were judged."""
    judged: list[Judged] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        told = json.loads(line)
        texts = [show_plain(text) for text in told["sentences"]]
        good = [float(number in told["good"]) for number in range(1, len(texts) + 1)]
        judged.append(Judged(show_plain(told["title"]), texts, good))
    return judged


class Shares(NamedTuple):
    """How often the product is right, each as a share of all abstracts.

    Attributes:
        one: the sentence shown is good.
        two: one of two sentences shown is good.
        alike: the abstract was split as readers did.
    """

    one: float
    two: float
    alike: float


def try_product(judged: Sequence[Judged]) -> Shares:
    """Return how often the product is right."""
    right = {1: 0, 2: 0}
    alike = 0
    for title, sentences, good in judged:
        abstract = " ".join(sentences)
        split = [abstract[slice(*place)] for place in split_sentences(abstract)]
        alike += split == sentences
        accepted = [one for one, is_good in zip(sentences, good, strict=True) if is_good]
        for count in right:
            shown = "".join(part.text for part in choose_snippet(title, abstract, sentences=count))
            right[count] += any(_shares(shown, one) for one in accepted)
    return Shares(right[1] / len(judged), right[2] / len(judged), alike / len(judged))


def _shares(shown: str, sentence: str) -> bool:
    """Return whether something of a sentence is shown.

    Few have so many letters in common by chance.
    """
    starts = range(max(1, len(sentence) - _MANY))
    return any(sentence[at : at + _MANY] in shown for at in starts)


def fit_weights(measured: Sequence[Numbers], judged: Sequence[Judged]) -> Numbers:
    """Return a weight for each signal: a logistic regression with small weights."""
    import numpy as np  # noqa: PLC0415 - only who fits weights needs it

    raw = np.vstack(measured)
    good = np.concatenate([one.good for one in judged])
    spread = np.maximum(raw.std(0), _LEAST_SPREAD)
    signals = (raw - raw.mean(0)) / spread
    table = np.c_[signals, np.ones(len(raw))]
    penalty = np.r_[np.full(len(spread), PENALTY), 0]
    weights = np.zeros(len(penalty))
    for _ in range(12):  # Newton's steps
        chance = 1 / (1 + np.exp(-table @ weights))
        steepness = chance * (1 - chance)
        bend = (table.T * steepness) @ table + np.diag(penalty)
        slope = table.T @ (chance - good) + penalty * weights
        weights -= np.linalg.solve(bend, slope)
    return np.asarray(weights[:-1] / spread)


def estimate(measured: Sequence[Numbers], judged: Sequence[Judged]) -> Numbers:
    """Return for each draw the shares of abstracts with a good sentence.

    The first share is of those whose best sentence is good, the second of those with one of two.
    """
    import numpy as np  # noqa: PLC0415 - only who fits weights needs it

    shares = []
    for draw in range(DRAWS):
        order = np.random.default_rng(draw).permutation(len(judged))
        right: list[tuple[float, float]] = []
        for fold in range(FOLDS):
            held = set(order[fold::FOLDS].tolist())
            known = [at for at in range(len(judged)) if at not in held]
            weights = fit_weights([measured[at] for at in known], [judged[at] for at in known])
            for at in held:
                best_first = np.argsort(-(measured[at] @ weights), kind="stable")
                good = np.array(judged[at].good)[best_first]
                right.append((good[0], good[:2].max()))
        shares.append(np.mean(right, axis=0))
    return np.array(shares)


def main(arguments: Sequence[str]) -> int:
    """Ask the product, or fit the weights."""
    judged = read_judged(Path(arguments[-1]))
    if "--fit" in arguments:
        report_weights(judged)
        return 0
    began = process_time()
    right = try_product(judged)
    took = (process_time() - began) / len(judged)
    shown = f"right {right.one:.1%}, one of two {right.two:.1%}"
    say(f"{len(judged)} abstracts: {shown}; split as readers did {right.alike:.1%}")
    say(f"{took * 1e3:.2f} ms an abstract, chosen from twice")
    return 0


def report_weights(judged: Sequence[Judged]) -> None:
    """Fit the weights and print them, with the estimate."""
    import numpy as np  # noqa: PLC0415 - only who fits weights needs it

    signals = [measure_sentences(one.title, one.sentences) for one in judged]
    names = dict.fromkeys(PHRASES)
    for sentences in signals:
        for found in sentences:
            names |= dict.fromkeys(found)
    measured = []
    for sentences in signals:
        rows = []
        for found in sentences:
            rows.append([found.get(name, 0.0) for name in names])
        measured.append(np.array(rows))
    table = []
    for name, weight in zip(names, fit_weights(measured, judged), strict=True):
        table.append(f'"{name}": {weight:.2f},')
    for at in range(0, len(table), _IN_A_ROW):
        say("    " + " ".join(table[at : at + _IN_A_ROW]))
    shares = estimate(measured, judged)
    of_what = f"of {len(judged)}, five-fold, {DRAWS} draws, {len(names)} signals"
    lines = zip(("right", "one of two"), shares.mean(0), shares.std(0), strict=True)
    for what, mean, spread in lines:
        say(f"# {what} {mean:.1%} ± {spread:.1%} {of_what}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
