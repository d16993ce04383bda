"""Why our answer to a query and arXiv's differ about a paper: a rule of arXiv's, or one of a closed list.

A rule is given only where it is shown to be the cause: with that rule changed, the query decides about the
paper as arXiv did. What nothing explains is `UNCLASSIFIED`, and an error of somebody's.
"""

from __future__ import annotations

from enum import StrEnum
from itertools import chain, combinations
from typing import TYPE_CHECKING

from digest.query import matches, parse_query, to_arxiv
from tests.battery.audit_rules import Rule, is_met_by_rules, list_rules

if TYPE_CHECKING:
    from digest.model.papers import Paper
    from digest.query import Query


class DifferenceClass(StrEnum):
    """Why a paper is in one answer and not in the other, where no rule of arXiv's is the cause."""

    ASKED_MORE = "asked for more"
    CONTROLS = "control characters"
    UNCLASSIFIED = "unclassified"


def classify_difference(
    query: Query, paper: Paper, parted: Paper | None, *, is_found: bool
) -> Rule | DifferenceClass:
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
            return chosen[0]
        if parted is not None and is_met_by_rules(asked, parted, frozenset(chosen)) == is_found:
            return DifferenceClass.CONTROLS
    return DifferenceClass.UNCLASSIFIED
