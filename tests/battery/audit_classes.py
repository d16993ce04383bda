"""Why our answer to a query and arXiv's differ about a paper: one class of a closed list.

A class is given only where it is shown to be the cause: with that rule changed, the query decides about the
paper as arXiv did. What no class explains is `UNCLASSIFIED`, and an error of somebody's.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from digest.query import matches, parse_query, to_arxiv
from tests.battery.audit_rules import Rule, is_met_by_rules, list_rules

if TYPE_CHECKING:
    from digest.model.papers import Paper
    from digest.query import Query


class DifferenceClass(StrEnum):
    """Why a paper is in one answer and not in the other."""

    ASKED_MORE = "asked for more"
    ACCENTS = "accents"
    TEX = "TeX"
    COLONS = "colons"
    STEMS = "beginnings of words"
    NAMES = "names"
    DOI = "DOI"
    CONTROLS = "control characters"
    UNCLASSIFIED = "unclassified"


_BY_RULE: Final = {
    Rule.TEX: DifferenceClass.TEX,
    Rule.ACCENTS: DifferenceClass.ACCENTS,
    Rule.COLONS: DifferenceClass.COLONS,
    Rule.STEMS: DifferenceClass.STEMS,
    Rule.NAMES: DifferenceClass.NAMES,
    Rule.DOI: DifferenceClass.DOI,
}


def classify_difference(query: Query, paper: Paper, parted: Paper | None, *, is_found: bool) -> DifferenceClass:
    """Say why arXiv decides otherwise about a paper.

    Args:
        query: what was asked.
        paper: the paper.
        parted: the same with blanks for its control characters; None where it has none.
        is_found: whether arXiv's answer has it.
    """
    asked = parse_query(to_arxiv(query)).tree
    if is_found and is_met_by_rules(asked, paper, frozenset()):
        return DifferenceClass.ASKED_MORE  # asked for less, arXiv would hide papers: nothing excuses that
    if parted is not None and matches(query, parted) == is_found:
        return DifferenceClass.CONTROLS
    rules = list_rules(asked)
    for chosen in chain.from_iterable(combinations(rules, number) for number in range(1, len(rules) + 1)):
        if is_met_by_rules(asked, paper, frozenset(chosen)) == is_found:
            return _BY_RULE[chosen[0]]
        if parted is not None and is_met_by_rules(asked, parted, frozenset(chosen)) == is_found:
            return DifferenceClass.CONTROLS
    return DifferenceClass.UNCLASSIFIED
