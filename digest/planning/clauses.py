"""Why papers are met, for the digests of a whole crowd: what their saved queries share is worked out once.

    clauses = Clauses()
    clauses.find_reasons(query, analyse(paper))  # as `digest.query.find_reasons`, the same reasons

A hundred thousand saved queries are made of conditions that many of them have, and each is held against papers
that many of them mean. Here a query is taken apart once for all its papers, a condition is prepared once for all
queries, and is held against a paper once.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from digest.papers import Field, Reason, Span
from digest.query.evaluation import STEMMED, TEXTS, compile_condition, read_name
from digest.query.names import NamePattern
from digest.query.patterns import WordPattern
from digest.query.printing import print_condition
from digest.query.reasons import find_spans
from digest.query.spreading import spread_condition
from digest.query.tree import And, Condition, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from digest.query import AnalysedPaper, Node, Query
    from digest.query.analysis import WordText
    from digest.query.evaluation import Test

    _Known: TypeAlias = dict[int, tuple[Reason, ...]]
    _Explain: TypeAlias = Callable[[AnalysedPaper, _Known], Sequence[Reason] | None]
    """Says of a paper why something is so, None where it is not; what conditions say of the paper is kept."""
    _Find: TypeAlias = Callable[[AnalysedPaper], Iterable[Span]]

_PLACES = {field: place for place, field in enumerate(Field)}


class Clauses:
    """Explains matches, and remembers what it explained; `forget` it now and then."""

    def __init__(self) -> None:
        self._conditions: dict[Condition, _Explain] = {}
        self._queries: dict[str, _Explain] = {}
        self._known: dict[AnalysedPaper, _Known] = {}

    def __len__(self) -> int:
        """How much is remembered: queries, conditions, and what each said of each paper."""
        return len(self._conditions) + len(self._queries) + sum(map(len, self._known.values()))

    def forget(self) -> None:
        """Let go of everything."""
        for kept in (self._conditions, self._queries, self._known):
            kept.clear()

    def find_reasons(self, query: Query, paper: AnalysedPaper) -> tuple[Reason, ...]:
        """Return the clauses through which a paper matches, in the order written; () where it doesn't.

        `paper` is told from others by identity: pass the same object along.
        """
        explain = self._queries.get(query.text)
        if explain is None:
            explain = self._queries[query.text] = self._take_apart(query.tree, is_wanted=True)
        known = self._known.get(paper)
        if known is None:
            known = self._known[paper] = {}
        found = explain(paper, known) or ()
        if len(found) == 1 or len(found) == len({reason.clause for reason in found}):
            return tuple(found)
        first: dict[str, Reason] = {}
        for reason in found:
            first.setdefault(reason.clause, reason)
        return tuple(first.values())

    def _take_apart(self, node: Node, *, is_wanted: bool) -> _Explain:
        """Return what says why a node is met or, not wanted, why it isn't."""
        match node:
            case Condition():
                return self._prepare(node) if is_wanted else _explain_absence(self._prepare(node), node)
            case Not(operand):
                return self._take_apart(operand, is_wanted=not is_wanted)
            case And(operands) | Or(operands):
                parts = [self._take_apart(operand, is_wanted=is_wanted) for operand in operands]
                return _require_all(parts) if isinstance(node, And) is is_wanted else _gather_any(parts)

    def _prepare(self, condition: Condition) -> _Explain:
        explain = self._conditions.get(condition)
        if explain is None:
            explain = self._conditions[condition] = _explain_condition(condition, len(self._conditions))
        return explain


def _require_all(parts: Sequence[_Explain]) -> _Explain:
    def explain(paper: AnalysedPaper, known: _Known) -> Sequence[Reason] | None:
        found: list[Reason] = []
        for part in parts:
            reasons = part(paper, known)
            if reasons is None:
                return None
            found += reasons
        return found

    return explain


def _gather_any(parts: Sequence[_Explain]) -> _Explain:
    def explain(paper: AnalysedPaper, known: _Known) -> Sequence[Reason] | None:
        found: list[Reason] = []
        for part in parts:
            found += part(paper, known) or ()
        return found or None  # whatever is so has a reason

    return explain


def _explain_absence(explain_presence: _Explain, condition: Condition) -> _Explain:
    absent = (Reason(f"NOT {print_condition(condition)}"),)
    return lambda paper, known: absent if explain_presence(paper, known) is None else None


def _explain_condition(condition: Condition, number: int) -> _Explain:
    """Return what explains a condition; `number` stands for it in what is known of a paper."""
    is_met, clause = _prepare_test(condition), print_condition(condition)
    find_places: list[Callable[[AnalysedPaper], tuple[Span, ...]]] = []

    def explain(paper: AnalysedPaper, known: _Known) -> Sequence[Reason] | None:
        found = known.get(number)
        if found is None:
            if is_met(paper):
                if not find_places:  # of an OR many operands are never met
                    find_places.append(_prepare_places(condition))
                found = (Reason(clause, find_places[0](paper)),)
            else:
                found = ()
            known[number] = found
        return found or None

    return explain


def _prepare_test(condition: Condition) -> Test:
    """Return a condition's test. Of long lists of names hardly one is met: who has no such part is passed by."""
    is_met = compile_condition(condition)
    if condition.prefix is not Prefix.AUTHOR or condition.shape is not Shape.PHRASE:
        return is_met
    pattern = read_name(condition)
    first = (pattern.anywhere or pattern.last)[0] if isinstance(pattern, NamePattern) else "*"
    return is_met if first.endswith("*") else lambda paper: first in paper.name_parts and is_met(paper)


def _prepare_places(condition: Condition) -> Callable[[AnalysedPaper], tuple[Span, ...]]:
    """Return what finds every place that meets a condition, in order: as `find_spans` does."""
    finders = [_prepare_part(part) for part in spread_condition(condition)]

    def find(paper: AnalysedPaper) -> tuple[Span, ...]:
        spans = [span for find_part in finders for span in find_part(paper)]
        return tuple(spans) if len(spans) < 2 else tuple(sorted(set(spans), key=_order))  # noqa: PLR2004 - a pair

    return find


def _prepare_part(part: Condition) -> _Find:
    """Return what finds the places of a condition on one field: of one on words, prepared once."""
    if part.prefix not in TEXTS:
        is_met = compile_condition(part)
        return lambda paper: find_spans(part, paper) if is_met(paper) else ()
    pattern = WordPattern.compile(part, is_stemmed=part.prefix in STEMMED)
    field = Field(TEXTS[part.prefix])
    find_text: Callable[[AnalysedPaper], WordText] = attrgetter(field)
    if pattern.word:  # the usual case
        return _find_word(pattern.word, field, find_text)
    return lambda paper: [Span(field, start, end) for start, end in pattern.find(find_text(paper))]


def _find_word(term: str, field: Field, find_text: Callable[[AnalysedPaper], WordText]) -> _Find:
    def find(paper: AnalysedPaper) -> Iterable[Span]:
        text = find_text(paper)
        return [Span(field, *text.find_words(number, number)) for number in text.numbers.get(term, ())]

    return find


def _order(span: Span) -> tuple[int, int, int, int]:
    return _PLACES[span.field], span.index, span.start, span.end
