"""How much of a digest one mail shows: abstracts shorten in steps, then papers are left to a link.

Gmail cuts a mail whose HTML is longer than about 102 KB, and with the end goes the way to
unsubscribe. Each fragment is rendered and encoded once, so the choice costs joins, not renderings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUDGET = 100_000
"""Bytes an HTML part may take as it is sent, styles inlined, quoted-printable."""

STEPS: tuple[int | None, ...] = (None, 400, 200, 0)
"""Abstracts: whole, 400 characters, 200, none."""

WEEKLY_STEPS = STEPS[1:]
"""A week is skimmed: its abstracts begin with 400 characters."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What is shown: the first `papers` ones, each abstract up to `abstract_limit` (None for whole)."""

    papers: int
    abstract_limit: int | None


def fit_papers(
    most: int, measure: Callable[[Fit], int], budget: int = BUDGET, *, steps: Sequence[int | None] = STEPS
) -> Fit:
    """Choose the fullest abstracts at which all of `most` papers fit; else as many as fit without any.

    Args:
        most: how many papers are to be shown.
        measure: the size of the whole part in bytes for a choice.
        budget: bytes it may take.
        steps: how abstracts shorten.
    """
    for step in steps:
        if measure(Fit(most, step)) <= budget:
            return Fit(most, step)
    fewest, above = 0, most
    while above - fewest > 1:
        middle = (fewest + above) // 2
        if measure(Fit(middle, 0)) <= budget:
            fewest = middle
        else:
            above = middle
    return Fit(fewest, 0)
