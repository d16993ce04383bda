"""A query in words for people, and a short name for it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from digest.query.canonical import print_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_PLACES = {
    Prefix.ALL: "{} anywhere",
    Prefix.TITLE: "{} in the title",
    Prefix.ABSTRACT: "{} in the abstract",
    Prefix.AUTHOR: "author {}",
    Prefix.PERSON: "author {}",
    Prefix.COMMENT: "{} in the comment",
    Prefix.JOURNAL_REF: "{} in the journal reference",
    Prefix.CATEGORY: "category {}",
    Prefix.ID: "paper {}",
}
_WORDS_OF_A_NAME = 4


def describe_query(node: Node) -> str:
    """Say what a query finds: `category cs.PF and "gpu" in the abstract`."""
    match node:
        case Condition():
            return _describe_alike(node.prefix, [node], "and")
        case Not(operand):
            return f"not {_enclose(operand)}"
        case And(operands):
            wanted = _join(list(_describe_wanted(operands, "and")), "and")
            excluded = _join([_enclose(one.operand) for one in operands if isinstance(one, Not)], "or")
            return f"{wanted}{', but ' * bool(wanted)}not {excluded}" if excluded else wanted
        case Or(operands):
            excluded_too = (describe_query(one) for one in operands if isinstance(one, Not))
            return _join([*_describe_wanted(operands, "or"), *excluded_too], "or")


def _describe_wanted(operands: Iterable[Node], word: str) -> Iterator[str]:
    """Describe what is not excluded; neighbours of one field are one group."""
    wanted = (one for one in operands if not isinstance(one, Not))
    for prefix, group in groupby(wanted, key=lambda one: one.prefix if isinstance(one, Condition) else None):
        alike = list(group)
        if prefix is None:
            yield from map(_enclose, alike)
        else:
            yield _describe_alike(prefix, [one for one in alike if isinstance(one, Condition)], word)


def _describe_alike(prefix: Prefix, conditions: Sequence[Condition], word: str) -> str:
    if prefix not in _PLACES:
        return _join([print_condition(one) for one in conditions], word)
    return _PLACES[prefix].format(_join(list(map(_quote, conditions)), word))


def _quote(condition: Condition) -> str:
    text = f"{condition.text}*" if condition.shape is Shape.BEGINNING else condition.text
    return text if condition.prefix in (Prefix.CATEGORY, Prefix.ID) else f'"{text}"'


def _enclose(node: Node) -> str:
    return describe_query(node) if isinstance(node, Condition) else f"({describe_query(node)})"


def _join(parts: Sequence[str], word: str) -> str:
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}" if len(parts) > 1 else "".join(parts)


def name_query(node: Node) -> str:
    """Return a few words that a query is about, for a name: its words and people, else its categories."""
    wanted = [one for one in _list_wanted(node) if one.shape is not Shape.RANGE]
    words = [one.text for one in wanted if one.prefix is not Prefix.CATEGORY]
    texts = words or [one.text for one in wanted]
    return " ".join(" ".join(dict.fromkeys(texts)).replace(",", " ").split()[:_WORDS_OF_A_NAME])


def _list_wanted(node: Node) -> Iterator[Condition]:
    match node:
        case Condition():
            yield node
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _list_wanted(operand)
        case Not():
            return
