"""A query in words for people, other words of one stem, a short name, and a guess at a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Protocol

from digest.model import taxonomy
from digest.query.canonical import print_condition
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
"""For so many conditions of a query, other words of the same stem are looked for."""
_MOST_NOTES = 2
_MOST_NAMED = 2
"""Other words named in one note."""
_FEW = 3
"""Fewer papers with other words deserve no note."""
_RARE = 0.25
"""A plural deserves a note only if less than this part of the papers has the word as typed.

The papers are those that the word finds by its stem.
"""
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


class SearchedPapers(Protocol):
    """Papers with numbers, as `PaperIndex` has them, or more of them together."""

    def find(self, queries: Sequence[Node], /) -> Iterator[list[int]]:
        """Yield the numbers of the papers that each query means."""

    def list_words(self, condition: Condition, /) -> list[str]:
        """Return in order the words of titles and abstracts that one word finds by its stem."""


def note_other_words(node: Node, papers: SearchedPapers, found: Iterable[int]) -> list[str]:
    """Say which other words of one stem bring most of the papers that a query's words find.

    `found` are the numbers of the papers that the query finds.
    """
    among = set(found)
    affirmed = dict.fromkeys(islice(_list_affirmed(node), _MOST_LOOKED_AT))
    notes = (_note_others(condition, papers, among) for condition in affirmed)
    return list(islice(filter(None, notes), _MOST_NOTES))


def _note_others(condition: Condition, papers: SearchedPapers, among: set[int]) -> str:
    words = papers.list_words(condition)
    if not words:
        return ""
    typed, *exact_words = [
        intern_condition(condition.prefix, Shape.EXACT, word) for word in (condition.text, *words)
    ]
    numbers = papers.find([condition, typed, *exact_words])
    by_stem, as_typed, *by_word = map(among.intersection, numbers)
    others = by_stem - as_typed
    if len(others) < _FEW or 2 * len(others) <= len(by_stem):
        return ""
    number_of = {word: len(found & others) for word, found in zip(words, by_word, strict=True)}
    bringing = [word for word in words if number_of[word]]
    named = sorted(bringing, key=number_of.__getitem__, reverse=True)[:_MOST_NAMED]
    if not named:
        return ""
    is_plural = named[0].rstrip("s") == typed.text.rstrip("s")
    if is_plural and len(as_typed) >= _RARE * len(by_stem):
        return ""
    quoted = " and ".join(f'"{word}"' for word in named)
    missing = f'{len(others):,} of {len(by_stem):,} papers are without "{typed.text}"'
    term = _print_term(condition)
    return f"{term} also finds {quoted}; {missing}, and {_print_term(typed)} leaves them out"


def _print_term(condition: Condition) -> str:
    return print_condition(condition).removeprefix(f"{Prefix.ALL}:")


def name_query(node: Node) -> str:
    """Return a few words that a query is about: its words and people, else its categories."""
    categories: list[str] = []
    words: list[str] = []
    for condition in _list_affirmed(node):
        if condition.prefix is Prefix.CATEGORY:
            categories.append(condition.text)
        elif condition.shape is not Shape.RANGE:
            words.append(condition.text)
    if len(categories) == 1 and not words:
        return taxonomy.CATEGORIES.get(categories[0], categories[0])
    distinct = dict.fromkeys(words or categories)
    name = " ".join(distinct).replace(",", " ").split()
    return " ".join(name[:_WORDS_OF_A_NAME])


def _list_affirmed(node: Node) -> Iterator[Condition]:
    """Yield the conditions of a query that are not under a NOT."""
    match node:
        case Condition():
            yield node
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _list_affirmed(operand)
        case Not():
            return


def guess_person(text: str) -> str:
    """Return the query for a person's papers if two or three words may be a name, else ""."""
    name = text.strip().strip('"')
    return f'author:"{name}"' if _NAME.fullmatch(name) else ""
