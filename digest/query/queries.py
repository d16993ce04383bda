"""A saved query as read, and the reasons why a paper matches it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from digest.model.papers import Field, Paper, Reason, Span
from digest.query.canonical import can_be_met, canonicalise, print_canonical, print_condition
from digest.query.evaluation import (
    STEMMED,
    AnalysedPaper,
    Test,
    WordPattern,
    analyse,
    compile_tree,
    find_categories,
    narrow_names,
    read_name,
)
from digest.query.paper_words import TEXTS
from digest.query.tokens import Note, NoteKind
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, spread_condition

_FIELD_NUMBERS = {one: number for number, one in enumerate(Field)}


@dataclass(frozen=True)
class Query:
    """A saved query that could be read.

    Attributes:
        text: as written.
        tree: what it means, in the order written.
        notes: what its author should know: missing operators, words left out, unknown categories;
            by place.
        pasted_as: the query made from the text, if that is a pasted address or a part of one; else
            "".
    """

    text: str
    tree: Node
    notes: tuple[Note, ...] = field(default=(), compare=False)
    pasted_as: str = field(default="", compare=False)

    @property
    def expression(self) -> str:
        """The query that was read: the text itself, or what was made of a pasted one."""
        return self.pasted_as or self.text

    @cached_property
    def canonical(self) -> str:
        """The one text all spellings of this query share; equal texts mean equal queries."""
        return print_canonical(self.tree)

    @property
    def futility(self) -> str:
        """Why no paper can ever meet it, with the categories that may be meant; "" if one can."""
        if can_be_met(canonicalise(self.tree)):
            return ""
        unknown = [note.message for note in self.notes if note.kind is NoteKind.UNKNOWN_CATEGORY]
        return "; ".join(unknown) or "it excludes what it wants"

    @cached_property
    def test(self) -> Test:
        """The query as a function of a paper made ready with `analyse`, compiled once."""
        return compile_tree(self.tree)


def matches(query: Query | Node, paper: Paper | AnalysedPaper) -> bool:
    """Tell whether a paper is meant by a query.

    Pass an `analyse`d paper if many queries read it, and a Query rather than its tree if one
    reads many papers: either is then prepared once.
    """
    test = query.test if isinstance(query, Query) else compile_tree(query)
    return test(analyse(paper))


_compile = lru_cache(maxsize=2**13)(compile_tree)
"""A query's parts are asked about paper after paper: each is compiled once."""

_read_name = lru_cache(maxsize=2**13)(read_name)
_spread = lru_cache(maxsize=2**13)(spread_condition)
"""The conditions that one is the union of, kept alike: `all:` stands for one of each field."""


@lru_cache(maxsize=2**13)
def _read_words(condition: Condition, prefix: Prefix) -> WordPattern:
    """Return what to search a field for, by words or by stems, as its prefix has it."""
    return WordPattern.compile(condition, is_stemmed=prefix in STEMMED)


def find_reasons(query: Query | Node, paper: Paper | AnalysedPaper) -> tuple[Reason, ...]:
    """Return the clauses through which a paper matches, in the order written; () if it doesn't.

    Of an OR only the operands that are met contribute. A clause met by an absence reads `NOT …` and
    has no spans. Spans are offsets into the paper's raw fields, TeX and all.
    """
    if isinstance(query, Query):
        tree = query.tree
        test = query.test
    else:
        tree = query
        test = _compile(query)
    ready = analyse(paper)
    if not test(ready):
        return ()
    reasons: dict[str, Reason] = {}
    for reason in _explain(tree, ready, is_met=True):
        reasons.setdefault(reason.clause, reason)
    return tuple(reasons.values())


def _explain(node: Node, paper: AnalysedPaper, *, is_met: bool) -> Iterator[Reason]:
    """Yield why a node is met or, if it is not `is_met`, why it isn't. The caller knows which."""
    match node:
        case Condition() if is_met:
            yield Reason(print_condition(node), find_spans(node, paper))
        case Condition():
            yield Reason(f"NOT {print_condition(node)}")
        case Not(operand):
            yield from _explain(operand, paper, is_met=not is_met)
        case And(operands) | Or(operands):
            for operand in operands:
                test = _compile(operand)
                if test(paper) == is_met:
                    yield from _explain(operand, paper, is_met=is_met)


def find_spans(condition: Condition, paper: AnalysedPaper) -> tuple[Span, ...]:
    """Return every place of a paper that meets a condition, in order; dates have none."""
    spans: set[Span] = set()
    for part in _spread(condition):
        spans.update(_find_in_field(part, paper))
    return tuple(sorted(spans, key=_by_place))


def _by_place(span: Span) -> tuple[int, int, int, int]:
    return _FIELD_NUMBERS[span.field], span.index, span.start, span.end


def _find_in_field(condition: Condition, paper: AnalysedPaper) -> Iterable[Span]:
    """Return the places that meet a condition in the field that its prefix names."""
    text = condition.text.casefold()
    match condition.prefix:
        case Prefix.AUTHOR | Prefix.PERSON:
            return _find_authors(condition, paper)
        case Prefix.CATEGORY:
            met = find_categories(condition, paper)
            return _mark_whole(Field.CATEGORIES, paper.paper.categories, met)
        case Prefix.ID:
            indexes = (0,) if text in paper.ids else ()
            return _mark_whole(Field.ID, (str(paper.paper.id),), indexes)
        case Prefix.DOI:
            indexes = (paper.dois[text],) if text in paper.dois else ()
            return _mark_whole(Field.DOIS, paper.paper.dois, indexes)
        case prefix if prefix in TEXTS:
            name = TEXTS[prefix]
            places = _read_words(condition, prefix).find(getattr(paper, name))
            return [Span(Field(name), start, end) for start, end in places]
        case _:  # no field of a paper shows it
            return ()


def _find_authors(condition: Condition, paper: AnalysedPaper) -> Iterator[Span]:
    """Yield the parts of the authors' names that a condition means."""
    pattern = _read_name(condition)
    for index in narrow_names(pattern, paper):
        name = paper.names[index]
        meant = name.find_meant(pattern)
        for first, last in _join_neighbours(meant):
            start, end = name.find_raw_parts(first, last)
            yield Span(Field.AUTHORS, start, end, index)


def _join_neighbours(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of consecutive numbers as pairs of first and last: a whole name is one place."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        first = number
        if runs and runs[-1][1] == number - 1:
            first, _ = runs.pop()
        runs.append((first, number))
    return runs


def _mark_whole(field: Field, values: Sequence[str], indexes: Iterable[int]) -> Iterator[Span]:
    """Yield the places of some values of a field, each from its first character to its last."""
    for index in indexes:
        yield Span(field, 0, len(values[index]), index)
