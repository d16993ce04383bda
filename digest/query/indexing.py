"""From a query's tree to its node in the graph all queries share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest import taxonomy
from digest.query.dates import split_range
from digest.query.evaluation import STEMMED, read_name
from digest.query.graph import Kind, negate
from digest.query.lexicon import PLAIN_COLUMNS, STEMMED_COLUMNS, Column, Lexicon
from digest.query.names import NamePattern, fold_umlauts, list_spellings
from digest.query.patterns import WordPattern
from digest.query.spreading import spread_beyond_words, spread_condition
from digest.query.tree import And, Condition, Node, Not, Prefix, Shape
from digest.query.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from digest.query.patterns import Run

_AND, _OR, _SPREAD = Kind.AND, Kind.OR, Kind.SPREAD  # as in the graph
_MOST_KNOWN = 2**14
_COLUMNS: Mapping[Prefix, Column] = {
    Prefix.TITLE: Column.TITLE,
    Prefix.ABSTRACT: Column.ABSTRACT,
    Prefix.COMMENT: Column.COMMENT,
    Prefix.JOURNAL_REF: Column.JOURNAL_REF,
    Prefix.REPORT_NO: Column.REPORT_NO,
}


class Indexer:
    """Finds trees in a lexicon's graph, and adds what is not there yet.

    Equal trees, however they were written, come to one reference: see `printing.canonicalise`.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._known: dict[Condition, int] = {}
        """The conditions met last: the lexicon knows them all, but would have to read their texts again."""

    def find(self, node: Node) -> int:
        """Return the reference to what meets a tree."""
        if isinstance(node, Condition):
            reference = self._known.get(node)
            return self._read_condition(node) if reference is None else reference
        if isinstance(node, Not):
            return negate(self.find(node.operand))
        kind = _AND if isinstance(node, And) else _OR
        return self._lexicon.graph.join(kind, map(self.find, node.operands))

    def _read_condition(self, condition: Condition) -> int:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        read = _READERS.get(condition.prefix, _find_test)
        if condition.prefix is Prefix.ALL:
            reference = read(self._lexicon, condition)
        else:
            parts = [read(self._lexicon, part) for part in spread_condition(condition)]
            reference = self._lexicon.graph.join(_OR, parts)
        self._known[condition] = reference
        return reference


def _find_all(lexicon: Lexicon, condition: Condition) -> int:
    plain = WordPattern.compile(condition, is_stemmed=False)
    parts = spread_beyond_words(condition.shape, condition.text)
    references = [_READERS[part.prefix](lexicon, part) for part in parts]
    references += _find_pattern(lexicon, STEMMED_COLUMNS, plain.stem())
    references += _find_pattern(lexicon, PLAIN_COLUMNS, plain)
    return lexicon.graph.join(_SPREAD, references)


def _find_words(lexicon: Lexicon, condition: Condition) -> int:
    pattern = WordPattern.compile(condition, is_stemmed=condition.prefix in STEMMED)
    return _find_pattern(lexicon, (_COLUMNS[condition.prefix],), pattern)[0]


def _find_pattern(lexicon: Lexicon, columns: Sequence[Column], pattern: WordPattern) -> list[int]:
    """Return the references to what meets a pattern in each of some columns."""
    found = [_find_clause(lexicon, columns, runs) for runs in pattern.clauses]
    if pattern.beginning:
        found.append([lexicon.find_beginning(column, pattern.beginning) << 1 for column in columns])
    if len(found) == 1:
        return found[0]
    join = lexicon.graph.join
    return [join(_AND, [references[place] for references in found]) for place in range(len(columns))]


def _find_clause(lexicon: Lexicon, columns: Sequence[Column], runs: Sequence[Run]) -> list[int]:
    """Return the references to what meets any of some runs in each of some columns."""
    if len(runs) == 1:
        return [leaf << 1 for leaf in _find_run(lexicon, columns, runs[0])]
    found = [_find_run(lexicon, columns, run) for run in runs]
    join = lexicon.graph.join
    return [join(_OR, [leaves[place] << 1 for leaves in found]) for place in range(len(columns))]


def _find_run(lexicon: Lexicon, columns: Sequence[Column], run: Run) -> list[int]:
    if len(run.terms) == 1:
        return lexicon.find_terms(columns, run.terms[0])
    return lexicon.find_phrase(columns, run.terms, run.places)


def _find_author(lexicon: Lexicon, condition: Condition) -> int:
    if condition.shape is not Shape.BEGINNING and _is_whole_parts(condition.text):
        return lexicon.find_parts(map(fold_umlauts, map(fold, condition.text.split()))) << 1
    pattern = read_name(condition)
    if not isinstance(pattern, NamePattern):
        return _find_test(lexicon, condition)
    if len(pattern.anywhere) == 1 and not _is_whole(pattern.anywhere[0]):
        begun = list_spellings(pattern.anywhere[0][:-1])
        leaves = [lexicon.find_beginning(Column.NAME_PART, spelling) << 1 for spelling in begun]
        return lexicon.graph.join(_OR, leaves)
    return _find_name(lexicon, condition, pattern) << 1


def _is_whole_parts(name: str) -> bool:
    """Tell whether a name is nothing but parts to be met as they are, as most are."""
    return "," not in name and "*" not in name


def _find_name(lexicon: Lexicon, condition: Condition, pattern: NamePattern) -> int:
    match pattern:
        case NamePattern(anywhere=parts) if parts and all(map(_is_whole, parts)):
            return lexicon.find_parts(parts)
        case NamePattern(last=(last,), given=(first,)) if _is_whole(last) and _is_whole(first):
            return lexicon.find_signature(last, first)
    parts = pattern.anywhere or pattern.last
    rarest = sorted(filter(_is_whole, parts), key=lambda part: (lexicon.count_names(part), -len(part)))
    return lexicon.find_name(condition, rarest[:1], list_spellings(max(parts, key=len)[:-1]))


def _is_whole(part: str) -> bool:
    return not part.endswith("*")


def _find_person(lexicon: Lexicon, condition: Condition) -> int:
    pattern = read_name(condition)
    endings = () if isinstance(pattern, NamePattern) else pattern.endings
    return lexicon.find_name(condition, endings) << 1


def _find_category(lexicon: Lexicon, condition: Condition) -> int:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        return lexicon.find_beginning(Column.CATEGORY, text.casefold()) << 1
    if taxonomy.is_archive(text):
        return lexicon.find_term(Column.ARCHIVE, text) << 1
    return lexicon.find_term(Column.CATEGORY, text.casefold()) << 1


def _find_id(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_term(Column.ID, condition.text.casefold()) << 1


def _find_doi(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_term(Column.DOI, condition.text.casefold()) << 1


def _find_range(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_range(*split_range(condition.text)) << 1


def _find_test(lexicon: Lexicon, condition: Condition) -> int:
    return lexicon.find_test(condition) << 1


_READERS: Mapping[Prefix, Callable[[Lexicon, Condition], int]] = {
    **dict.fromkeys(_COLUMNS, _find_words),
    Prefix.ALL: _find_all,
    Prefix.AUTHOR: _find_author,
    Prefix.PERSON: _find_person,
    Prefix.CATEGORY: _find_category,
    Prefix.ID: _find_id,
    Prefix.DOI: _find_doi,
    Prefix.SUBMITTED: _find_range,
}
"""A condition of any other kind is held against each paper by the plain evaluator's own closure."""
