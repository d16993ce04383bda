"""Which of the names looked for a name is."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import chain, combinations, takewhile
from typing import TYPE_CHECKING

from digest.query.evaluation import read_name
from digest.query.lexicon import NOWHERE, Column
from digest.query.names import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from digest.query.lexicon import Lexicon, NameLeaf
    from digest.query.names import NamePattern
    from digest.query.people import PersonPattern
    from digest.query.tree import Condition


@lru_cache(maxsize=2**14)
def _read_name(condition: Condition) -> NamePattern | PersonPattern:
    return read_name(condition)


def list_name_leaves(lexicon: Lexicon, names: Sequence[tuple[str, ...]]) -> Iterator[list[int]]:
    """Yield the leaves each name meets, from its folded parts; some perhaps twice."""
    leaves = lexicon.leaves[Column.NAME_PART]
    begun, begun_names = _find_begun(lexicon, names)
    known = lexicon.terms.get
    for parts in names:
        terms = sorted({term for part in parts if (term := known(part)) is not None})
        found = [leaf for term in terms if term < len(leaves) and (leaf := leaves[term]) != NOWHERE]
        if len(terms) > 1 and lexicon.pairs:
            pairs = (lexicon.pairs.get(one << 32 | other) for one, other in combinations(terms, 2))
            found += [leaf for leaf in pairs if leaf is not None]
        if lexicon.signatures:
            found += _list_signature_leaves(lexicon, parts)
        for part in parts:
            found += begun.get(part, ())
            for entry in chain(lexicon.names.get(part, ()), begun_names.get(part, ())):
                if _read_name(entry.condition).find_parts(parts):
                    found.append(entry.leaf)
        yield found


def _list_signature_leaves(lexicon: Lexicon, parts: Sequence[str]) -> list[int]:
    end = len(parts)
    while end > 1 and parts[end - 1] in GENERATIONS:
        end -= 1
    if end < 2:  # noqa: PLR2004  # a last name and a first one
        return []
    last, first = parts[end - 1], parts[0]
    signatures = (f"{last}\n{first}", f"{last}\n{first[:1]}")
    return [leaf for signature in signatures if (leaf := lexicon.signatures.get(signature)) is not None]


def _find_begun(
    lexicon: Lexicon, names: Sequence[tuple[str, ...]]
) -> tuple[dict[str, list[int]], dict[str, list[NameLeaf]]]:
    """Return for parts of names that begin as is looked for: which leaves that meets, or may meet."""
    begun: dict[str, list[int]] = {}
    begun_names: dict[str, list[NameLeaf]] = {}
    beginnings = lexicon.beginnings[Column.NAME_PART]
    if beginnings or lexicon.begun_names:
        ordered = sorted(set(chain.from_iterable(names)))
        for beginning, leaf in beginnings.items():
            for part in _list_begun(ordered, beginning):
                begun.setdefault(part, []).append(leaf)
        for beginning, entries in lexicon.begun_names.items():
            for part in _list_begun(ordered, beginning):
                begun_names.setdefault(part, []).extend(entries)
    return begun, begun_names


def _list_begun(ordered: Sequence[str], beginning: str) -> Iterator[str]:
    first = bisect_left(ordered, beginning)
    behind = (ordered[index] for index in range(first, len(ordered)))
    return takewhile(lambda part: part.startswith(beginning), behind)
