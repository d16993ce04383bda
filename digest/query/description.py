"""A query in words for people, what else these find, a short name for it, and a person in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from digest.model import taxonomy
from digest.query.canonical import print_condition
from digest.query.index import PaperIndex
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape, intern_condition

_PLACES = {
    Prefix.ALL: "the paper has {} anywhere",
    Prefix.TITLE: "the title has {}",
    Prefix.ABSTRACT: "the abstract has {}",
    Prefix.AUTHOR: "an author is {}",
    Prefix.PERSON: "an author is {}",
    Prefix.CATEGORY: "the paper is in {}",
}
_NOT = "not if "
_MOST_LOOKED_AT = 8
"""Conditions of a query whose other words are looked for."""
_MOST_NOTES = 2
_MOST_NAMED = 2
"""Other words named in one note."""
_FEW = 3
"""Fewer papers than these deserve no note."""
_RARE = 0.25
"""A plural deserves a note only if a smaller part of the papers has the word as typed."""
_WORDS_OF_A_NAME = 4
_NAME = re.compile(r"(?:(?:^| +)(?!(?:AND|OR|NOT|ANDNOT)\b)[^\W\d_][\w.'’-]*){2,3}")


def describe_query(node: Node) -> str:
    """Say when a query finds a paper: `the paper is in cs.PF, and the abstract has "gpu"`."""
    match node:
        case Condition(prefix=prefix):
            return _describe_all([node], "and") if prefix in _PLACES else print_condition(node)
        case Not(operand):
            return f"{_NOT}{_enclose(operand)}"
        case And(operands):
            return _describe_all(operands, "and")
        case Or(operands):
            return _describe_all(operands, "or")


def _describe_all(nodes: Iterable[Node], word: str) -> str:
    """Describe nodes; neighbours that look into one field are described as one.

    `the title has "tail" and "latency"`.
    """
    parts: list[str] = []
    for place, group in groupby(nodes, key=_find_place):
        if place is None:
            parts += map(_enclose, group)
            continue
        *others, last = [_quote(one) for one in group if isinstance(one, Condition)]
        said = f"{', '.join(others)} {word} {last}" if others else last
        parts.append(place.format(said))
    described, *others = parts
    for part in others:
        joint = "but" if word == "and" and part.startswith(_NOT) else word
        described += f", {joint} {part}"
    return described


def _find_place(node: Node) -> str | None:
    return _PLACES.get(node.prefix) if isinstance(node, Condition) else None


def _quote(condition: Condition) -> str:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        text += "*"
    if condition.prefix is Prefix.CATEGORY:
        return text
    if condition.shape is Shape.EXACT:
        words = "words" if " " in text else "word"
        return f'the exact {words} "{text}"'
    return f'"{text}"'


def _enclose(node: Node) -> str:
    """Describe a part of a query: in parentheses, unless all of it looks into one field."""
    described = describe_query(node)
    if not isinstance(node, And | Or):
        return described
    places = set(map(_find_place, node.operands))
    is_in_one_field = len(places) == 1 and None not in places
    return described if is_in_one_field else f"({described})"


def note_other_words(node: Node, papers: PaperIndex, found: Iterable[int]) -> list[str]:
    """Say which other words of one stem bring most of the papers that a query's words find.

    `found` are the numbers of the papers that the query finds.
    """
    among = set(found)
    wanted = dict.fromkeys(islice(_list_wanted(node), _MOST_LOOKED_AT))
    notes = (_note_others(condition, papers, among) for condition in wanted)
    return list(islice(filter(None, notes), _MOST_NOTES))


def _note_others(condition: Condition, papers: PaperIndex, among: set[int]) -> str:
    words = papers.list_words(condition)
    if not words:
        return ""
    own, *exact = [
        intern_condition(condition.prefix, Shape.EXACT, word) for word in (condition.text, *words)
    ]
    met, typed, *each = map(among.intersection, papers.find([condition, own, *exact]))
    others = met - typed
    if len(others) < _FEW or 2 * len(others) <= len(met):
        return ""
    number_of = {word: len(said & others) for word, said in zip(words, each, strict=True)}
    said = [word for word in words if number_of[word]]
    named = sorted(said, key=number_of.__getitem__, reverse=True)[:_MOST_NAMED]
    if not named:
        return ""
    is_plural = named[0].rstrip("s") == own.text.rstrip("s")
    if is_plural and len(typed) >= _RARE * len(met):
        return ""
    quoted = " and ".join(f'"{word}"' for word in named)
    missing = f'{len(others):,} of {len(met):,} papers are without "{own.text}"'
    term = _print_term(condition)
    return f"{term} also finds {quoted}; {missing}, and {_print_term(own)} leaves them out"


def _print_term(condition: Condition) -> str:
    return print_condition(condition).removeprefix(f"{Prefix.ALL}:")


def name_query(node: Node) -> str:
    """Return a few words that a query is about: its words and people, else its categories."""
    categories: list[str] = []
    words: list[str] = []
    for condition in _list_wanted(node):
        if condition.prefix is Prefix.CATEGORY:
            categories.append(condition.text)
        elif condition.shape is not Shape.RANGE:
            words.append(condition.text)
    if len(categories) == 1 and not words:
        return taxonomy.CATEGORIES.get(categories[0], categories[0])
    distinct = dict.fromkeys(words or categories)
    name = " ".join(distinct).replace(",", " ").split()
    return " ".join(name[:_WORDS_OF_A_NAME])


def _list_wanted(node: Node) -> Iterator[Condition]:
    match node:
        case Condition():
            yield node
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _list_wanted(operand)
        case Not():
            return


def guess_person(text: str) -> str:
    """Return the query for a person's papers if two or three words may be a name, else ""."""
    name = text.strip().strip('"')
    return f'author:"{name}"' if _NAME.fullmatch(name) else ""
