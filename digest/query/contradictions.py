"""Clauses that no paper can meet, found from what conditions say of each other.

What is told here is certain of papers to come; what is not told may still be empty.
`ti:"tail latency" ANDNOT ti:tail` is found out, because whoever has the phrase has the word;
`ti:gpu AND ti:"no such words"` is not.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from digest.query.confining import list_members
from digest.query.dates import split_range
from digest.query.evaluation import STEMMED, TEXTS
from digest.query.names import NamePattern
from digest.query.patterns import WordPattern
from digest.query.printing import print_condition
from digest.query.spreading import spread_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_BEGINNING: Final = "199101010000"
"""arXiv opened in August 1991. What it took over from older archives bears earlier dates, and is never news."""


class DeadClause(NamedTuple):
    """A part of a query that no paper can meet.

    Attributes:
        conditions: what it is about, the first one first.
        why: in a sentence.
        is_whole: whether it is all of the query.
    """

    conditions: tuple[Condition, ...]
    why: str
    is_whole: bool = False


class _Known(NamedTuple):
    """What the clauses around ask for and exclude."""

    wanted: tuple[Condition, ...] = ()
    excluded: tuple[Condition, ...] = ()


def find_dead_clauses(tree: Node) -> list[DeadClause]:
    """Return the parts of a query that no paper can meet; where it is all of it, that one alone."""
    found: list[DeadClause] = []
    whole = _examine(_push(tree, is_wanted=True), _Known(), found)
    return [whole._replace(is_whole=True)] if whole else list(dict.fromkeys(found))


def is_always_met(tree: Node) -> bool:
    """Tell whether every paper meets a query, as nothing can meet its opposite."""
    return _examine(_push(tree, is_wanted=False), _Known(), []) is not None


def _push(node: Node, *, is_wanted: bool) -> Node:
    """Return a tree of the same meaning (or its opposite) that negates single conditions only."""
    match node:
        case Condition():
            return node if is_wanted else Not(node)
        case Not(operand):
            return _push(operand, is_wanted=not is_wanted)
        case And(operands) | Or(operands):
            kind = And if isinstance(node, And) is is_wanted else Or
            return kind(tuple(_flatten(kind, (_push(operand, is_wanted=is_wanted) for operand in operands))))


def _flatten(kind: type[And | Or], operands: Iterable[Node]) -> Iterator[Node]:
    for operand in operands:
        if isinstance(operand, kind):
            yield from operand.operands
        else:
            yield operand


def _examine(node: Node, known: _Known, found: list[DeadClause]) -> DeadClause | None:
    """Return why a clause can't be met beside what is known; add to `found` what of it can't."""
    match node:
        case Condition():
            return _examine_literals((node,), (), known)
        case Not(Condition() as condition):
            return _examine_literals((), (condition,), known)
        case And(operands):
            return _examine_all(operands, known, found)
        case Or(operands):
            dead = [_examine(operand, known, found) for operand in operands]
            if None not in dead:
                return dead[0]
            found += filter(None, dead)
            return None
        case Not():
            raise TypeError("Only single conditions are negated here")


def _examine_all(operands: tuple[Node, ...], known: _Known, found: list[DeadClause]) -> DeadClause | None:
    wanted = tuple(part for part in operands if isinstance(part, Condition))
    negated = [part.operand for part in operands if isinstance(part, Not)]
    excluded = tuple(part for part in negated if isinstance(part, Condition))
    if dead := _examine_literals(wanted, excluded, known):
        return dead
    around = _Known((*known.wanted, *wanted), (*known.excluded, *excluded))
    for part in operands:
        if isinstance(part, Or) and (dead := _examine(part, around, found)):
            return dead
    return None


def _examine_literals(
    wanted: tuple[Condition, ...], excluded: tuple[Condition, ...], known: _Known
) -> DeadClause | None:
    """Return why new conditions can't be met, by themselves, with each other or with known ones."""
    doubtful = ((condition, why) for condition in wanted if (why := _doubt(condition)))
    for condition, why in doubtful:
        return DeadClause((condition,), why)
    pairs = itertools.chain(
        itertools.product(wanted, (*known.excluded, *excluded)), itertools.product(known.wanted, excluded)
    )
    for condition, other in pairs:
        if implies(condition, other):
            return DeadClause((condition, other), _tell_excluded(condition, other))
    return _examine_singular(wanted, known.wanted)


def _examine_singular(wanted: Iterable[Condition], before: Iterable[Condition]) -> DeadClause | None:
    """Return why conditions can't be met together on what a paper has one of: its id, its date."""
    ours, theirs = ([one for one in side if one.prefix in _SINGULAR] for side in (wanted, before))
    for one, other in itertools.chain(itertools.combinations(ours, 2), itertools.product(ours, theirs)):
        if why := _oppose(one, other):
            return DeadClause((one, other), why)
    return None


def _tell_excluded(condition: Condition, other: Condition) -> str:
    asked, excluded = print_condition(condition), print_condition(other)
    if asked == excluded:
        return f"{asked} is asked for and excluded at once"
    return f"whatever meets {asked} meets {excluded}, which is excluded"


def _doubt(condition: Condition) -> str:
    """Return why no paper at all meets a condition, "" where some may."""
    clause = print_condition(condition)
    if condition.prefix is Prefix.SUBMITTED and split_range(condition.text)[1] < _BEGINNING:
        return f"{clause} ends before arXiv began, in 1991"
    is_unknown = condition.prefix is Prefix.CATEGORY and not list_members(condition)
    if is_unknown and not any(char.isdigit() for char in condition.text):  # figures: an ACM or MSC class
        return f"{clause} names no category of arXiv"
    return ""


def _oppose(one: Condition, other: Condition) -> str:
    """Return why no paper meets both of two conditions on what a paper has one of, "" where some may."""
    clauses = f"{print_condition(one)} and {print_condition(other)}"
    if one.prefix is not other.prefix:
        return ""
    if one.prefix is Prefix.ID:
        is_one = implies(one, other) or implies(other, one)
        return "" if is_one else f"{clauses} are two papers, or two versions of one, and a paper is one"
    (start, end), (from_, until) = split_range(one.text), split_range(other.text)
    return "" if max(start, from_) <= min(end, until) else f"no day lies in both {clauses}"


def implies(one: Condition, other: Condition) -> bool:
    """Tell whether whatever meets one condition meets the other, as far as that is certain."""
    if one == other:
        return True
    if one.prefix is Prefix.ALL:
        return all(implies(part, other) for part in _spread(one))
    if other.prefix is Prefix.ALL:
        return any(implies(one, part) for part in _spread(other))
    return one.prefix is other.prefix and _COMPARERS.get(one.prefix, _are_equal)(one, other)


def _are_equal(one: Condition, other: Condition) -> bool:
    return one.text.casefold() == other.text.casefold() and one.shape is other.shape


def _lies_within(one: Condition, other: Condition) -> bool:
    (start, end), (from_, until) = split_range(one.text), split_range(other.text)
    return from_ <= start and end <= until


def _is_among(one: Condition, other: Condition) -> bool:
    return bool(list_members(one)) and list_members(one) <= list_members(other)


def _is_version_of(one: Condition, other: Condition) -> bool:
    return one.text.casefold().startswith(f"{other.text}v".casefold())


@lru_cache(maxsize=2**12)
def _spread(condition: Condition) -> tuple[Condition, ...]:
    return spread_condition(condition)


@lru_cache(maxsize=2**12)
def _compile(condition: Condition) -> WordPattern:
    return WordPattern.compile(condition, is_stemmed=condition.prefix in STEMMED)


def _words_imply(one_condition: Condition, other_condition: Condition) -> bool:
    one, other = _compile(one_condition), _compile(other_condition)
    if other.places:
        placed = set(zip(other.terms, other.places, strict=True))
        return any(
            {(term, place + shift) for term, place in placed} <= set(zip(one.terms, one.places, strict=True))
            for shift in one.places
        )
    if not set(other.terms) <= set(one.terms):
        return False
    endless = (*one.terms, one.beginning) if one.beginning else one.terms
    return not other.beginning or any(term.startswith(other.beginning) for term in endless)


def _names_imply(one: Condition, other: Condition) -> bool:
    if Shape.BEGINNING in (one.shape, other.shape):
        open_ended = other.shape is Shape.BEGINNING and " " not in one.text and "," not in one.text
        return open_ended and NamePattern.parse(one.text).anywhere[0].startswith(
            NamePattern.parse(other.text).anywhere[0]
        )
    ours, theirs = NamePattern.parse(one.text), NamePattern.parse(other.text)
    parts = (*ours.anywhere, *ours.last)
    if any(part.endswith("*") for part in (*parts, *theirs.anywhere)):
        return False
    return bool(theirs.anywhere) and set(theirs.anywhere) <= set(parts)


_SINGULAR = frozenset((Prefix.SUBMITTED, Prefix.ID))

_COMPARERS: Mapping[Prefix, Callable[[Condition, Condition], bool]] = {
    **dict.fromkeys(TEXTS, _words_imply),
    Prefix.AUTHOR: _names_imply,
    Prefix.CATEGORY: _is_among,
    Prefix.SUBMITTED: _lies_within,
    Prefix.ID: _is_version_of,
}
