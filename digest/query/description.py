"""A query in words for people, what else these find, a short name for it, and the person whom words may name."""

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
_MOST_LOOKED_AT, _MOST_NOTES, _MOST_NAMED, _FEW, _RARE = 8, 2, 2, 3, 0.25
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
    """Describe nodes; neighbours that look into one field as one: `the title has "tail" and "latency"`."""
    parts: list[str] = []
    for place, group in groupby(nodes, key=_find_place):
        if place:
            *others, last = (_quote(one) for one in group if isinstance(one, Condition))
            parts.append(place.format(f"{', '.join(others)} {word} {last}" if others else last))
        else:
            parts += map(_enclose, group)
    joints = (
        f", {'but' if word == 'and' and part.startswith(_NOT) else word} " for part in parts[1:]
    )
    return parts[0] + "".join(map(str.__add__, joints, parts[1:]))


def _find_place(node: Node) -> str | None:
    return _PLACES.get(node.prefix) if isinstance(node, Condition) else None


def _quote(condition: Condition) -> str:
    text = f"{condition.text}{'*' * (condition.shape is Shape.BEGINNING)}"
    exact = f"the exact word{'s' * (' ' in text)} " if condition.shape is Shape.EXACT else ""
    return text if condition.prefix is Prefix.CATEGORY else f'{exact}"{text}"'


def _enclose(node: Node) -> str:
    """Describe a part of a query: in parentheses, unless all of it looks into one field."""
    if not isinstance(node, And | Or):
        return describe_query(node)
    places = set(map(_find_place, node.operands))
    return (
        describe_query(node)
        if len(places) == 1 and None not in places
        else f"({describe_query(node)})"
    )


def note_other_words(node: Node, papers: PaperIndex, found: Iterable[int]) -> list[str]:
    """Say which other words of one stem bring most of the papers, by their numbers, that a query's words find."""
    among, wanted = set(found), dict.fromkeys(islice(_list_wanted(node), _MOST_LOOKED_AT))
    return list(
        islice(filter(None, (_note_others(one, papers, among) for one in wanted)), _MOST_NOTES)
    )


def _note_others(condition: Condition, papers: PaperIndex, among: set[int]) -> str:
    words = papers.list_words(condition)
    own, *exact = [
        intern_condition(condition.prefix, Shape.EXACT, word) for word in (condition.text, *words)
    ]
    met, typed, *each = map(
        among.intersection, papers.find([condition, own, *exact]) if words else [(), ()]
    )
    others = met - typed
    by_word = {word: len(said & others) for word, said in zip(words, each, strict=True)}
    named = sorted(filter(by_word.__getitem__, words), key=by_word.__getitem__, reverse=True)[
        :_MOST_NAMED
    ]
    is_plural = own.text.rstrip("s") in [word.rstrip("s") for word in named[:1]] and len(
        typed
    ) >= _RARE * len(met)
    if not named or is_plural or len(others) < _FEW or 2 * len(others) <= len(met):
        return ""
    term, exactly = (
        print_condition(one).removeprefix(f"{Prefix.ALL}:") for one in (condition, own)
    )
    said = " and ".join(f'"{word}"' for word in named)
    missing = f'{len(others):,} of {len(met):,} papers are without "{own.text}"'
    return f"{term} also finds {said}; {missing}, and {exactly} leaves them out"


def name_query(node: Node) -> str:
    """Return a few words that a query is about, for a name: its words and people, else its categories."""
    wanted = [one for one in _list_wanted(node) if one.shape is not Shape.RANGE]
    categories = [one.text for one in wanted if one.prefix is Prefix.CATEGORY]
    words = [one.text for one in wanted if one.prefix is not Prefix.CATEGORY]
    if len(categories) == 1 and not words:
        return taxonomy.CATEGORIES.get(categories[0], categories[0])
    return " ".join(
        " ".join(dict.fromkeys(words or categories)).replace(",", " ").split()[:_WORDS_OF_A_NAME]
    )


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
