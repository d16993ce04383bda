"""Where our answer to a query and arXiv's differ: each difference in one of a closed list of classes.

A class is given only where it is shown to be the cause: with that rule changed, the query decides about the
paper as arXiv did. `OWNERS`, `UNSEEN` and `REPORT_NO` stand for what arXiv knows and does not hand out, which
nobody can show: they are given last, and only where a condition that searches such things would settle it. What
no class explains is `UNCLASSIFIED`, and an error of somebody's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from digest.query import matches, parse_query, to_arxiv
from digest.query.auditing import Rule, is_met_by_rules, list_rules
from digest.query.tree import Prefix, walk_conditions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from digest.papers import ArxivId, Paper
    from digest.query import Condition, Node, Query
    from digest.query.auditing import Rules


class DifferenceClass(StrEnum):
    """Why a paper is in one answer and not in the other; `EXPLANATIONS` says each in a sentence."""

    ASKED_MORE = "asked for more"
    ACCENTS = "accents"
    TEX = "TeX"
    COLONS = "colons"
    STEMS = "beginnings of words"
    NAMES = "names"
    SUBMITTER = "submitter"
    OWNERS = "owners"
    JOINED = "all: joined"
    UNSEEN = "all: unseen"
    REPORT_NO = "report number"
    DOI = "DOI"
    VERSION = "version"
    METADATA = "metadata"
    CONTROLS = "control characters"
    NOT_INDEXED = "not in arXiv's index"
    BEFORE = "before the first look"
    SINCE = "since the last look"
    NOT_WATCHED = "not watched"
    MISSED = "missed"
    UNCLASSIFIED = "unclassified"

    @property
    def is_alarming(self) -> bool:
        """Whether somebody has to look: something was lost, or nobody knows why."""
        return self in (DifferenceClass.MISSED, DifferenceClass.UNCLASSIFIED)


EXPLANATIONS: Final = {
    DifferenceClass.ASKED_MORE: "arXiv can't be asked exactly this, so it is asked for more; the rest goes here",
    DifferenceClass.ACCENTS: "accents don't count here (Schrodinger, Schrödinger); in arXiv's texts they do",
    DifferenceClass.TEX: "TeX is read as it shows here; in arXiv's index its commands and signs are words",
    DifferenceClass.COLONS: "a colon between letters parts words here; in arXiv's index it joins them, as in I:C",
    DifferenceClass.STEMS: "a beginning with * is held against words here, at arXiv against their stems alone",
    DifferenceClass.NAMES: "arXiv cuts names at blanks alone, reads Moore as More, a first name as a beginning",
    DifferenceClass.SUBMITTER: "arXiv counts who submitted a paper among its authors",
    DifferenceClass.OWNERS: "arXiv counts registered owners among the authors, and doesn't tell who they are",
    DifferenceClass.JOINED: "arXiv's all: joins all fields into one; here one field must have all the words",
    DifferenceClass.UNSEEN: "arXiv's all: knows what it doesn't hand out: owners, ORCID, ACM and MSC classes",
    DifferenceClass.REPORT_NO: "arXiv's search knows report numbers and doesn't tell them: only a harvest does",
    DifferenceClass.DOI: "capitals don't count in a DOI here; at arXiv they do",
    DifferenceClass.VERSION: "arXiv's search shows another version than the one stored",
    DifferenceClass.METADATA: "arXiv's search shows other words for the same version than are stored",
    DifferenceClass.CONTROLS: "arXiv's text has control characters: they part words there and are dropped here",
    DifferenceClass.NOT_INDEXED: "it is announced and stored, and arXiv's search doesn't have it yet",
    DifferenceClass.BEFORE: "it was announced before this installation's first look, so it is not stored",
    DifferenceClass.SINCE: "it was announced after this installation's last look, so it is not stored yet",
    DifferenceClass.NOT_WATCHED: "it is not stored: without harvests only what saved queries ask for is",
    DifferenceClass.MISSED: "it should be stored and is not: something was lost; see `digest coverage --missing`",
    DifferenceClass.UNCLASSIFIED: "nothing known explains it: please report it with what --json prints",
}
"""What each class means, for people."""

_BY_RULE: Final = {
    Rule.TEX: DifferenceClass.TEX,
    Rule.ACCENTS: DifferenceClass.ACCENTS,
    Rule.COLONS: DifferenceClass.COLONS,
    Rule.STEMS: DifferenceClass.STEMS,
    Rule.NAMES: DifferenceClass.NAMES,
    Rule.SUBMITTER: DifferenceClass.SUBMITTER,
    Rule.DOI: DifferenceClass.DOI,
    Rule.JOINED: DifferenceClass.JOINED,
}
_UNSEEN: Final = {
    Prefix.AUTHOR: DifferenceClass.OWNERS,
    Prefix.REPORT_NO: DifferenceClass.REPORT_NO,
    Prefix.ALL: DifferenceClass.UNSEEN,
}
_MOST_BESIDES_UNSEEN: Final = 1


@dataclass(frozen=True, slots=True)
class Dispute:
    """A paper that may be in one answer and not in the other.

    Attributes:
        id: which.
        stored: as it is stored; None where it is not.
        theirs: as arXiv's search shows it; None where that does not know it.
        is_found: arXiv's answer to the query has it.
        parted: as arXiv's search shows it with blanks for its control characters; None where it has none.
    """

    id: ArxivId
    stored: Paper | None
    theirs: Paper | None
    is_found: bool
    parted: Paper | None = None


@dataclass(frozen=True, slots=True)
class Covered:
    """What harvests have stored without a gap: announcement orders, of which the first is not included."""

    after: tuple[int, int]
    until: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        id: the paper.
        title: its title, raw.
        is_found: arXiv's answer has it.
        kind: the class.
        because: all rules that had to change together, where it was more than one; the first gives the class.
    """

    id: ArxivId
    title: str
    is_found: bool
    kind: DifferenceClass
    because: tuple[DifferenceClass, ...] = ()


@dataclass(frozen=True)
class Question:
    """What was asked, and what there is to compare the answer with.

    Attributes:
        query: the query.
        first: when its papers were submitted, at the earliest (UTC) …
        last: … and at the latest.
        covered: None without a harvest.
        is_stored: whether anything is stored at all.
    """

    query: Query
    first: datetime
    last: datetime
    covered: Covered | None = None
    is_stored: bool = False

    @cached_property
    def asked(self) -> Node:
        """What arXiv is asked instead, which may be more."""
        return parse_query(to_arxiv(self.query)).tree

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of arXiv's that can matter to what is asked."""
        return list_rules(self.asked)

    def is_answered_by(self, paper: Paper) -> bool:
        """Tell whether a paper belongs to our answer."""
        return self.first <= paper.published <= self.last and matches(self.query, paper)


def classify_difference(question: Question, dispute: Dispute) -> Difference | None:
    """Say why a paper is in one answer and not in the other; None where both answers agree about it."""
    paper = dispute.stored or dispute.theirs
    if paper is None:
        return None
    if question.is_answered_by(paper) == dispute.is_found:
        kinds = _judge_coverage(question, dispute)
    else:
        kinds = _judge_meaning(question, dispute)
    if not kinds:
        return None
    return Difference(dispute.id, paper.title, dispute.is_found, kinds[0], kinds if len(kinds) > 1 else ())


def _judge_coverage(question: Question, dispute: Dispute) -> tuple[DifferenceClass, ...]:
    """Say why a paper that both answers mean is not stored; () where it is, or where nothing is stored at all."""
    if dispute.stored is not None or not dispute.is_found or not question.is_stored:
        return ()
    order, covered = dispute.id.announcement_order, question.covered
    if covered is None:
        return (DifferenceClass.NOT_WATCHED,)
    if order <= covered.after:
        return (DifferenceClass.BEFORE,)
    return (DifferenceClass.SINCE if order > covered.until else DifferenceClass.MISSED,)


def _judge_meaning(question: Question, dispute: Dispute) -> tuple[DifferenceClass, ...]:
    stored, theirs = dispute.stored, dispute.theirs
    if theirs is None:
        return (DifferenceClass.NOT_INDEXED,)
    if stored is not None and question.is_answered_by(theirs) == dispute.is_found:
        return (DifferenceClass.METADATA if stored.version == theirs.version else DifferenceClass.VERSION,)
    if dispute.parted is not None and question.is_answered_by(dispute.parted) == dispute.is_found:
        return (DifferenceClass.CONTROLS,)
    paper = theirs if stored is None else replace(theirs, report_no=stored.report_no, submitter=stored.submitter)
    if dispute.is_found and matches(question.asked, paper):
        return (DifferenceClass.ASKED_MORE,)  # asked for less, arXiv would hide papers: nothing excuses that
    found = _find_rules(question, paper, is_found=dispute.is_found)
    if not found and dispute.parted is not None:
        besides = _find_rules(question, dispute.parted, is_found=dispute.is_found)
        found = (DifferenceClass.CONTROLS, *besides) if besides else ()
    return found or (DifferenceClass.UNCLASSIFIED,)


def _find_rules(question: Question, paper: Paper, *, is_found: bool) -> tuple[DifferenceClass, ...]:
    """Return the fewest rules of arXiv's that make the query decide as arXiv did; () where none do.

    Only where none of those that can be seen at work are enough, one condition is taken to be met by something
    arXiv knows and does not hand out.
    """
    for rules in _choose_rules(question, len(Rule)):
        if is_met_by_rules(question.asked, paper, rules) == is_found:
            return _name_rules(rules)
    for rules in _choose_rules(question, _MOST_BESIDES_UNSEEN):
        for condition in _list_unseen(question.asked, paper):
            if is_met_by_rules(question.asked, paper, rules, assumed=condition) == is_found:
                return (_UNSEEN[condition.prefix], *_name_rules(rules))
    return ()


def _choose_rules(question: Question, most: int) -> Iterator[Rules]:
    chosen = chain.from_iterable(combinations(question.rules, number) for number in range(most + 1))
    return map(frozenset, chosen)


def _name_rules(rules: Rules) -> tuple[DifferenceClass, ...]:
    return tuple(kind for rule, kind in _BY_RULE.items() if rule in rules)


def _list_unseen(asked: Node, paper: Paper) -> Iterator[Condition]:
    """Yield conditions that arXiv may hold against more than it hands out."""
    for condition in dict.fromkeys(walk_conditions(asked)):
        is_told = condition.prefix is Prefix.REPORT_NO and paper.report_no
        if condition.prefix in _UNSEEN and not is_told:
            yield condition
