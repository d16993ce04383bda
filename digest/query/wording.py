"""A query in words for people, and a short name for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.model import taxonomy
from digest.query.canonical import print_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACES = {
    Prefix.ALL: '"{}" anywhere',
    Prefix.TITLE: '"{}" in the title',
    Prefix.ABSTRACT: '"{}" in the abstract',
    Prefix.AUTHOR: 'author "{}"',
    Prefix.PERSON: 'author "{}"',
    Prefix.CATEGORY: "category {}",
}
_WORDS_OF_A_NAME = 4


def describe_query(node: Node) -> str:
    """Say what a query finds: `category cs.PF and "gpu" in the abstract`."""
    match node:
        case Condition(prefix=prefix) if prefix in _PLACES:
            return _PLACES[prefix].format(f"{node.text}{'*' * (node.shape is Shape.BEGINNING)}")
        case Condition():
            return print_condition(node)
        case Not(operand):
            return f"not {_enclose(operand)}"
        case And(operands):
            return " and ".join(map(_enclose, operands))
        case Or(operands):
            return " or ".join(map(_enclose, operands))


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
