"""Trees as text: as they are, and in the one form all equal queries share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from digest.model.taxonomy import ARCHIVES, CATEGORIES, archive_of
from digest.query.tokens import CURLY_QUOTES
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

_NEEDS_NO_QUOTES = re.compile(
    rf"(?:[^\s\x00-\x1f\x7f()\"*?+&%,;\[\]{{}}^~=:{CURLY_QUOTES}]|[,;](?=\d))+"
)
"""The signs of addresses, lists and other tools are quoted, too: see `pasted` and `dialects`."""


def needs_quotes(text: str) -> bool:
    """Tell whether a text is read as one value between quotes only."""
    return _NEEDS_NO_QUOTES.fullmatch(text) is None


def print_condition(condition: Condition) -> str:
    """Return a condition as a clause to read and to parse again: `abs:"tail latency"`."""
    prefix = condition.prefix
    shape = condition.shape
    text = condition.text
    if shape is Shape.RANGE:
        return f"{prefix}:[{text}]"
    if shape is Shape.BEGINNING:
        return f"{prefix}:{text}*"
    if shape is Shape.PHRASE or needs_quotes(text):
        text = f'"{text}"'
    return f"{prefix}:={text}" if shape is Shape.EXACT else f"{prefix}:{text}"


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
            first, *others = operands
            printed = _print_operand(first)
            for one in others:
                if isinstance(one, Not):
                    printed += f" ANDNOT {_print_operand(one.operand)}"
                else:
                    printed += f" AND {_print_operand(one)}"
            return printed


def _print_operand(node: Node) -> str:
    printed = print_tree(node)
    return printed if isinstance(node, Condition) else f"({printed})"


def print_outline(node: Node, before: str = "") -> list[str]:
    """Return a tree as lines for people: a group's operands stand below it, further in.

    `before` begins the first line.
    """
    match node:
        case Condition():
            return [f"{before}{print_condition(node)}"]
        case Not(operand):
            return print_outline(operand, f"{before}not ")
        case And(operands):
            return [f"{before}all of", *_indent_outlines(operands)]
        case Or(operands):
            return [f"{before}any of", *_indent_outlines(operands)]


def _indent_outlines(operands: Iterable[Node]) -> Iterator[str]:
    for operand in operands:
        for line in print_outline(operand):
            yield f"  {line}"


def measure_nesting(printed: str) -> int:
    """Return how many parentheses are open at once, at most, in a printed tree."""
    outside_quotes = "".join(printed.split('"')[::2])
    deepest = 0
    depth = 0
    for sign in outside_quotes:
        if sign == "(":
            depth += 1
            deepest = max(deepest, depth)
        elif sign == ")":
            depth -= 1
    return deepest


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
            return _join(And, map(canonicalise, operands))
        case Or(operands):
            return _join(Or, map(canonicalise, operands))


def _join(kind: type[And | Or], operands: Iterable[Node]) -> Node:
    distinct: dict[str, Node] = {}
    for operand in operands:
        parts = operand.operands if isinstance(operand, kind) else (operand,)
        for part in parts:
            distinct[print_tree(part)] = part
    wanted = [text for text, part in distinct.items() if not isinstance(part, Not)]
    negated = [text for text, part in distinct.items() if isinstance(part, Not)]
    in_order = [distinct[text] for text in (*sorted(wanted), *sorted(negated))]
    return kind(tuple(in_order)) if len(in_order) > 1 else in_order[0]


def can_be_met(node: Node, denied: frozenset[Node] = frozenset()) -> bool:
    """Whether any paper can meet a canonical tree.

    None can if no category has that name, or if it denies itself. What is `denied` must not be met
    beside it.
    """
    match node:
        case Condition(Prefix.CATEGORY, _, name):
            whole_archive = Condition(Prefix.CATEGORY, Shape.WORD, archive_of(name))
            return _is_known(node) and denied.isdisjoint((node, whole_archive))
        case And(operands):
            denied = denied.union(*map(_list_denied, operands))
            return all(can_be_met(part, denied) for part in operands)
        case Or(operands):
            return any(can_be_met(part, denied) for part in operands)
        case _:
            return node not in denied


def _is_known(category: Condition) -> bool:
    """Tell whether any category or archive has this name, or begins so if that is asked for."""
    name = category.text
    if category.shape is not Shape.BEGINNING:
        return name in CATEGORIES or name in ARCHIVES
    return any(known.startswith(name) for known in (*CATEGORIES, *ARCHIVES))


def _list_denied(node: Node) -> tuple[Node, ...]:
    """Return what an operand of an AND denies: with an OR each of its operands."""
    if not isinstance(node, Not):
        return ()
    denied = node.operand
    return denied.operands if isinstance(denied, Or) else (denied,)


def print_canonical(node: Node) -> str:
    """Return the text all equal spellings share; equal texts mean equal queries."""
    return print_tree(canonicalise(node))
