"""A query in words for people, and a short name for it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from digest.model import taxonomy
from digest.query.canonical import print_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PLACES = {
    Prefix.ALL: "{} anywhere",
    Prefix.TITLE: "{} in the title",
    Prefix.ABSTRACT: "{} in the abstract",
    Prefix.AUTHOR: "author {}",
    Prefix.PERSON: "author {}",
    Prefix.CATEGORY: "category {}",
}
_WORDS_OF_A_NAME = 4


def describe_query(node: Node) -> str:
    """Say what a query finds: `category cs.PF and "gpu" in the abstract`."""
    match node:
        case Condition(prefix=prefix):
            return _describe_all([node], "and") if prefix in _PLACES else print_condition(node)
        case Not(operand):
            return f"not {_enclose(operand)}"
        case And(operands):
            return _describe_all(operands, "and")
        case Or(operands):
            return _describe_all(operands, "or")


def _describe_all(nodes: Iterable[Node], word: str) -> str:
    """Describe nodes; neighbours that look into one field as one: `"tail" and "latency" anywhere`."""
    parts: list[str] = []
    for place, group in groupby(
        nodes, key=lambda one: _PLACES.get(one.prefix) if isinstance(one, Condition) else None
    ):
        if place:
            *others, last = (_quote(one) for one in group if isinstance(one, Condition))
            parts.append(place.format(f"{', '.join(others)} {word} {last}" if others else last))
        else:
            parts += map(_enclose, group)
    return f" {word} ".join(parts)


def _quote(condition: Condition) -> str:
    text = f"{condition.text}{'*' * (condition.shape is Shape.BEGINNING)}"
    return text if condition.prefix is Prefix.CATEGORY else f'"{text}"'


def _enclose(node: Node) -> str:
    return f"({describe_query(node)})" if isinstance(node, And | Or) else describe_query(node)


def name_query(node: Node) -> str:
    """Return a few words that a query is about, for a name: its words and people, else its categories."""
    wanted = [one for one in _list_wanted(node) if one.shape is not Shape.RANGE]
    categories = [one.text for one in wanted if one.prefix is Prefix.CATEGORY]
    words = [one.text for one in wanted if one.prefix is not Prefix.CATEGORY]
    if len(categories) == 1 and not words:
        return taxonomy.CATEGORIES.get(categories[0], categories[0])
    return " ".join(" ".join(dict.fromkeys(words or categories)).replace(",", " ").split()[:_WORDS_OF_A_NAME])


def _list_wanted(node: Node) -> Iterator[Condition]:
    match node:
        case Condition():
            yield node
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _list_wanted(operand)
        case Not():
            return
