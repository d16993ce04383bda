"""What many queries have in common: the categories that all they can bring lies in.

One search of these brings every paper that any of the queries means, and some more: what matches is
decided here anyway.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from digest import taxonomy
from digest.query.arxiv_syntax import to_arxiv
from digest.query.printing import print_condition
from digest.query.queries import Query
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

CATEGORIES_LIMIT: Final = 60
"""More categories than so many in one search are most of arXiv, and a long request."""


def confine_queries(queries: Iterable[Query | Node]) -> str | None:
    """Return a search in arXiv's own syntax for the categories that hold whatever any of these queries means.

    None where a query may mean papers of any category, where too many are named, or without any query.
    """
    wanted: set[Condition] = set()
    for query in queries:
        found = _confine(query.tree if isinstance(query, Query) else query)
        if found is None:
            return None
        wanted |= found
    kept = sorted(_drop_covered(wanted), key=print_condition)
    if not 0 < len(kept) <= CATEGORIES_LIMIT:
        return None
    return to_arxiv(kept[0] if len(kept) == 1 else Or(tuple(kept)))


def _confine(node: Node) -> frozenset[Condition] | None:
    """Return categories of which any paper meant has one at least; None where it may be of any other."""
    match node:
        case Condition(prefix=Prefix.CATEGORY):
            return frozenset((node,))
        case And(operands):
            sides = [found for found in map(_confine, operands) if found is not None]
            return min(sides, key=_measure, default=None)
        case Or(operands):
            parts = [_confine(operand) for operand in operands]
            confined = [part for part in parts if part is not None]
            return frozenset().union(*confined) if len(confined) == len(parts) else None
        case Condition() | Not():
            return None


def _measure(conditions: Iterable[Condition]) -> int:
    """Count the categories some conditions allow; one that nobody knows counts for itself."""
    known = frozenset[str]().union(*map(list_members, conditions))
    return len(known) + sum(not list_members(condition) for condition in conditions)


def _drop_covered(conditions: Iterable[Condition]) -> list[Condition]:
    """Leave out conditions that others among them cover."""
    kept: list[Condition] = []
    covered: frozenset[str] = frozenset()
    for condition in sorted(conditions, key=lambda one: (-len(list_members(one)), print_condition(one))):
        members = list_members(condition)
        if not members or not members <= covered:
            kept.append(condition)
            covered |= members
    return kept


@lru_cache(maxsize=2**10)
def list_members(condition: Condition) -> frozenset[str]:
    """Return the known categories that a category condition allows, under whichever of their names."""
    return frozenset(id_ for id_ in taxonomy.CATEGORIES if _allows(condition, id_))


def _allows(condition: Condition, category: str) -> bool:
    names, text = taxonomy.names_of(category), condition.text
    if condition.shape is Shape.BEGINNING:
        return any(name.casefold().startswith(text.casefold()) for name in names)
    if taxonomy.is_archive(text):
        return text in {taxonomy.archive_of(name) for name in names}
    return text.casefold() in {name.casefold() for name in names}
