"""From a tree to one function of a paper: true where the paper is meant.

Each condition becomes a closure over what it looks for, each operator a closure over its operands, so
that a query costs about a microsecond a paper once both are prepared.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from digest import taxonomy
from digest.query.analysis import AnalysedPaper
from digest.query.dates import split_range
from digest.query.names import NamePattern
from digest.query.patterns import WordPattern
from digest.query.people import PersonPattern
from digest.query.spreading import spread_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from digest.query.analysis import WordText

Test: TypeAlias = Callable[[AnalysedPaper], bool]

TEXTS: Mapping[Prefix, str] = {
    Prefix.TITLE: "title",
    Prefix.ABSTRACT: "abstract",
    Prefix.COMMENT: "comment",
    Prefix.JOURNAL_REF: "journal_ref",
    Prefix.REPORT_NO: "report_no",
}
"""The prefixes that search words -> the attribute of an AnalysedPaper (and of a Paper) each looks into."""

STEMMED = frozenset((Prefix.TITLE, Prefix.ABSTRACT))


def compile_tree(node: Node) -> Test:
    """Return a function that tells whether a paper meets the tree."""
    match node:
        case Condition():
            return compile_condition(node)
        case Not(operand):
            return _negate(compile_tree(operand))
        case And(operands):
            return _require_all(tuple(map(compile_tree, operands)))
        case Or(operands):
            return _compile_or(operands)


def _compile_or(operands: Sequence[Node]) -> Test:
    names: list[Condition] = []
    tests: list[Test] = []
    for operand in operands:
        if isinstance(operand, Condition) and _is_about_whole_parts(operand):
            names.append(operand)
        else:
            tests.append(compile_tree(operand))
    if len(names) == 1:
        tests.append(compile_condition(names[0]))
    elif names:  # lists of authors are long, and most papers are by none of them
        tests.append(_compile_names(names))
    return _require_any(tuple(tests))


def _negate(test: Test) -> Test:
    return lambda paper: not test(paper)


def _require_all(tests: tuple[Test, ...]) -> Test:
    def is_met(paper: AnalysedPaper) -> bool:
        for test in tests:  # noqa: SIM110  # a generator would cost more than the tests
            if not test(paper):
                return False
        return True

    return is_met


def _require_any(tests: tuple[Test, ...]) -> Test:
    def is_met(paper: AnalysedPaper) -> bool:
        for test in tests:  # noqa: SIM110  # a generator would cost more than the tests
            if test(paper):
                return True
        return False

    return is_met


def compile_condition(condition: Condition) -> Test:
    """Return a function that tells whether a paper meets one condition."""
    compile_one = _COMPILERS[condition.prefix]
    if condition.prefix in (Prefix.AUTHOR, Prefix.PERSON):
        tests = tuple(map(compile_one, spread_condition(condition)))
        return tests[0] if len(tests) == 1 else _require_any(tests)
    return compile_one(condition)


def _compile_all(condition: Condition) -> Test:
    parts = spread_condition(condition)
    stemmed, plain = (WordPattern.compile(condition, is_stemmed=is_stemmed) for is_stemmed in (True, False))
    stem, word = stemmed.word, plain.word
    if not word:
        return _require_any(tuple(map(compile_condition, parts)))
    is_met_otherwise = _require_any(tuple(compile_condition(part) for part in parts if part.prefix not in TEXTS))
    return lambda paper: (  # one word, the usual case, at once: six closures would take three times as long
        stem in paper.title.numbers
        or stem in paper.abstract.numbers
        or word in paper.comment.numbers
        or word in paper.journal_ref.numbers
        or word in paper.report_no.numbers
        or is_met_otherwise(paper)
    )


def _compile_words(condition: Condition) -> Test:
    prefix = condition.prefix
    pattern = WordPattern.compile(condition, is_stemmed=prefix in STEMMED)
    find_text: Callable[[AnalysedPaper], WordText] = attrgetter(TEXTS[prefix])
    if term := pattern.word:
        return lambda paper: term in find_text(paper).numbers
    return lambda paper: pattern.is_met(find_text(paper))


def read_name(condition: Condition) -> NamePattern | PersonPattern:
    """Return what a condition on authors says of a name."""
    return _read_person(condition) if condition.prefix is Prefix.PERSON else _read_author(condition)


def _read_person(condition: Condition) -> PersonPattern:
    return PersonPattern.parse(condition.text)


def _read_author(condition: Condition) -> NamePattern:
    return NamePattern.parse(condition.text + ("*" if condition.shape is Shape.BEGINNING else ""))


def _compile_author(condition: Condition) -> Test:
    pattern = _read_author(condition)
    if condition.shape is Shape.WORD:
        part = pattern.anywhere[0]
        return lambda paper: part in paper.name_parts

    def is_met(paper: AnalysedPaper) -> bool:
        return any(paper.names[index].find_meant(pattern) for index in narrow_names(pattern, paper))

    return is_met


def narrow_names(pattern: NamePattern | PersonPattern, paper: AnalysedPaper) -> Iterable[int]:
    """Return the indexes of the authors who may be meant, in order: all where what is asked for is open-ended."""
    firsts = pattern.endings if isinstance(pattern, PersonPattern) else (pattern.anywhere or pattern.last)[:1]
    if any(first.endswith("*") for first in firsts):
        return range(len(paper.names))
    return sorted({index for first in firsts for index in paper.name_parts.get(first, ())})


def _is_about_whole_parts(condition: Condition) -> bool:
    """Tell whether a condition is on authors, and no part it asks for may go on."""
    if condition.prefix is not Prefix.AUTHOR or condition.shape is Shape.BEGINNING:
        return False
    return "*" not in condition.text


def _compile_names(conditions: Iterable[Condition]) -> Test:
    """Return a function that tells whether any of such conditions is met."""
    enough: set[str] = set()
    closer: dict[str, list[NamePattern]] = {}
    for condition in chain.from_iterable(map(spread_condition, conditions)):
        pattern = _read_author(condition)
        if condition.shape is Shape.WORD:
            enough.add(pattern.anywhere[0])
        else:
            closer.setdefault((pattern.anywhere or pattern.last)[0], []).append(pattern)

    def is_met(paper: AnalysedPaper) -> bool:
        parts = paper.name_parts
        if not enough.isdisjoint(parts):
            return True
        for part in closer.keys() & parts.keys():
            for index in parts[part]:
                if any(map(paper.names[index].find_meant, closer[part])):
                    return True
        return False

    return is_met


def _compile_person(condition: Condition) -> Test:
    pattern = _read_person(condition)
    endings = tuple(pattern.endings)

    def is_met(paper: AnalysedPaper) -> bool:
        for ending in endings:
            for index in paper.name_parts.get(ending, ()):
                if paper.names[index].find_meant(pattern):
                    return True
        return False

    return is_met


def _compile_category(condition: Condition) -> Test:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        beginning = text.casefold()
        return lambda paper: any(name.startswith(beginning) for name in paper.category_names)
    if taxonomy.is_archive(text):
        return lambda paper: text in paper.archives
    name = text.casefold()
    return lambda paper: name in paper.category_names


def _compile_id(condition: Condition) -> Test:
    id_ = condition.text.casefold()
    return lambda paper: id_ in paper.ids


def _compile_doi(condition: Condition) -> Test:
    doi = condition.text.casefold()
    return lambda paper: doi in paper.dois


def _compile_range(condition: Condition) -> Test:
    start, end = split_range(condition.text)
    return lambda paper: start <= paper.submitted_minute <= end


_COMPILERS: Mapping[Prefix, Callable[[Condition], Test]] = {
    **dict.fromkeys(TEXTS, _compile_words),
    Prefix.ALL: _compile_all,
    Prefix.AUTHOR: _compile_author,
    Prefix.PERSON: _compile_person,
    Prefix.CATEGORY: _compile_category,
    Prefix.ID: _compile_id,
    Prefix.DOI: _compile_doi,
    Prefix.SUBMITTED: _compile_range,
}
