"""Trees as text: as they are, and in the one form all equal queries share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate

from digest.model.taxonomy import ARCHIVES, CATEGORIES, archive_of
from digest.query.tokens import CURLY_QUOTES
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

_NEEDS_NO_QUOTES = re.compile(
    rf"(?:[^\s\x00-\x1f\x7f()\"*?+&%,;\[\]{{}}^~=:{CURLY_QUOTES}]|[,;](?=\d))+"
)
"""The signs of addresses, of lists and of other tools are quoted, too: see `pasted` and `dialects`."""


def needs_quotes(text: str) -> bool:
    """Tell whether a text is read as one value between quotes only."""
    return _NEEDS_NO_QUOTES.fullmatch(text) is None


def print_condition(condition: Condition) -> str:
    """Return a condition as a clause to read and to parse again: `abs:"tail latency"`."""
    text = condition.text
    match condition.shape:
        case Shape.RANGE:
            return f"{condition.prefix}:[{text}]"
        case Shape.BEGINNING:
            return f"{condition.prefix}:{text}*"
        case shape:
            quote = '"' * (shape is Shape.PHRASE or needs_quotes(text))
            return f"{condition.prefix}:{'=' * (shape is Shape.EXACT)}{quote}{text}{quote}"


def print_tree(node: Node) -> str:
    """Return a tree as text, a pair of parentheses around each group, none around the whole."""
    match node:
        case Condition():
            return print_condition(node)
        case Not(operand):
            return f"NOT {_print_operand(operand)}"
        case Or(operands):
            return " OR ".join(map(_print_operand, operands))
        case And(operands):
            others = operands[1:]
            joined = (
                (" ANDNOT ", one.operand) if isinstance(one, Not) else (" AND ", one)
                for one in others
            )
            return _print_operand(operands[0]) + "".join(
                word + _print_operand(one) for word, one in joined
            )


def _print_operand(node: Node) -> str:
    return f"({print_tree(node)})" if isinstance(node, And | Or | Not) else print_tree(node)


def print_outline(node: Node, before: str = "") -> list[str]:
    """Return a tree as lines for people, a group's operands below it and further in, `before` the first line."""
    match node:
        case Condition():
            return [f"{before}{print_condition(node)}"]
        case Not(operand):
            return print_outline(operand, f"{before}not ")
        case And(operands) | Or(operands):
            inner = (f"  {line}" for operand in operands for line in print_outline(operand))
            return [f"{before}{'all' if isinstance(node, And) else 'any'} of", *inner]


def measure_nesting(printed: str) -> int:
    """Return how many parentheses are open at once, at most, in a printed tree."""
    outside_quotes = "".join(printed.split('"')[::2])
    return max(accumulate((sign == "(") - (sign == ")") for sign in outside_quotes), default=0)


def canonicalise(node: Node) -> Node:
    """Return the tree all equal spellings share: flattened, without repetitions, in one order.

    Double negations cancel. Operands are in the order of their text, negated ones last.
    """
    match node:
        case Condition():
            return node
        case Not(Not(inner)):
            return canonicalise(inner)
        case Not(operand):
            inner = canonicalise(operand)
            return inner.operand if isinstance(inner, Not) else Not(inner)
        case And(operands):
            return _join(And, (canonicalise(operand) for operand in operands))
        case Or(operands):
            return _join(Or, (canonicalise(operand) for operand in operands))


def _join(kind: type[And | Or], operands: Iterable[Node]) -> Node:
    distinct: dict[str, Node] = {}
    for operand in operands:
        for part in operand.operands if isinstance(operand, kind) else (operand,):
            distinct[print_tree(part)] = part
    ordered = sorted(distinct.items(), key=lambda entry: (isinstance(entry[1], Not), entry[0]))
    return kind(tuple(part for _, part in ordered)) if len(ordered) > 1 else ordered[0][1]


def can_be_met(node: Node, denied: frozenset[Node] = frozenset()) -> bool:
    """Whether any paper can meet a canonical tree: none can if no category has that name, or if it denies itself.

    What is `denied` must not be met beside it.
    """
    match node:
        case Condition(Prefix.CATEGORY, shape, name):
            all_of_it = Condition(node.prefix, Shape.WORD, archive_of(name))
            is_meant = str.startswith if shape is Shape.BEGINNING else str.__eq__
            is_known = any(is_meant(known, name) for known in (*CATEGORIES, *ARCHIVES))
            return is_known and denied.isdisjoint((node, all_of_it))
        case And(operands):
            nots = [part.operand for part in operands if isinstance(part, Not)]
            denied |= {
                one for part in nots for one in (part.operands if isinstance(part, Or) else (part,))
            }
            return all(can_be_met(part, denied) for part in operands)
        case Or(operands):
            return any(can_be_met(part, denied) for part in operands)
        case _:
            return node not in denied


def print_canonical(node: Node) -> str:
    """Return the text all equal spellings share; equal texts mean equal queries."""
    return print_tree(canonicalise(node))
