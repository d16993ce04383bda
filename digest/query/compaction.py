"""A lexicon without what no query asks for any more."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from digest.query.graph import ALWAYS, Graph, Kind
from digest.query.lexicon import NOWHERE, WORD_COLUMNS, Column, Lexicon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from digest.query.lexicon import Links, NameLeaf

    _Found: TypeAlias = tuple[int, Callable[[Lexicon], int]]


def compact(lexicon: Lexicon, roots: Iterable[int]) -> tuple[Lexicon, list[int]]:
    """Return a lexicon with nothing but what some roots need, and the references to them in its graph."""
    kept, references = Lexicon(), list(roots)
    old, new = lexicon.graph, kept.graph
    needed = _mark(old, references)
    moved = {ALWAYS: ALWAYS}
    for leaf, find in _list_leaves(lexicon):
        if needed[leaf]:
            moved[leaf] = find(kept)
    for node in range(len(old)):
        if needed[node] and old.kinds[node] != Kind.LEAF:
            operands = (moved[reference >> 1] << 1 | reference & 1 for reference in old.list_operands(node))
            moved[node] = new.join(Kind(old.kinds[node]), operands) >> 1
    return kept, [moved[reference >> 1] << 1 | reference & 1 for reference in references]


def _mark(graph: Graph, roots: Iterable[int]) -> bytearray:
    needed = bytearray(len(graph))
    for reference in roots:
        needed[reference >> 1] = 1
    for node in reversed(range(len(graph))):  # operands come before what joins them
        if needed[node]:
            for reference in graph.list_operands(node):
                needed[reference >> 1] = 1
    return needed


def _list_leaves(lexicon: Lexicon) -> Iterator[_Found]:
    """Yield each leaf with what finds the same in another lexicon."""
    spelled = list(lexicon.terms)
    for column in Column:
        for number, leaf in enumerate(lexicon.leaves[column]):
            if leaf != NOWHERE:
                yield leaf, partial(Lexicon.find_term, column=column, term=spelled[number])
        for beginning, leaf in lexicon.beginnings[column].items():
            yield leaf, partial(Lexicon.find_beginning, column=column, beginning=beginning)
    yield from _list_chains(lexicon, spelled)
    yield from _list_names(lexicon)
    for packed, leaf in lexicon.signatures.items():
        last, first = spelled[packed >> 32], spelled[packed & 0xFFFF_FFFF]
        yield leaf, partial(Lexicon.find_signature, last=last, first=first)
    for (start, end), leaf in lexicon.ranges.items():
        yield leaf, partial(Lexicon.find_range, start=start, end=end)
    for condition, (_, leaf) in lexicon.tests.items():
        yield leaf, partial(Lexicon.find_test, condition=condition)


def _list_chains(lexicon: Lexicon, spelled: Sequence[str]) -> Iterator[_Found]:
    for depth, links in enumerate(lexicon.phrases):
        for column in WORD_COLUMNS:
            for step, leaf in enumerate(links.leaves[column]):
                if leaf != NOWHERE:
                    terms, places = _spell(lexicon.phrases[: depth + 1], step, spelled)
                    yield leaf, partial(_find_phrase, column=column, terms=terms, places=places)
    for depth, links in enumerate(lexicon.parts):
        for step, leaf in enumerate(links.leaves[0]):
            if leaf != NOWHERE:
                parts, _ = _spell(lexicon.parts[: depth + 1], step, spelled)
                yield leaf, partial(Lexicon.find_parts, parts=parts)


def _find_phrase(lexicon: Lexicon, column: Column, terms: Sequence[str], places: Sequence[int]) -> int:
    return lexicon.find_phrase((column,), terms, places)[0]


def _spell(chains: Sequence[Links], step: int, spelled: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the terms that lead to a step of the last depth, and their places."""
    terms: list[str] = []
    places: list[int] = []
    for links in reversed(chains):
        terms.append(spelled[links.terms[step]])
        places.append(links.places[step])
        step = links.before[step]
    return [spelled[step], *reversed(terms)], [0, *reversed(places)]


def _list_names(lexicon: Lexicon) -> Iterator[_Found]:
    parts, beginnings = _list_by_leaf(lexicon.names), _list_by_leaf(lexicon.begun_names)
    for entry in (*parts, *beginnings):
        known, begun = parts.get(entry, []), beginnings.get(entry, [])
        yield entry.leaf, partial(Lexicon.find_name, condition=entry.condition, parts=known, beginnings=begun)


def _list_by_leaf(table: Mapping[str, Sequence[NameLeaf]]) -> dict[NameLeaf, list[str]]:
    keys: dict[NameLeaf, list[str]] = {}
    for key, entries in table.items():
        for entry in entries:
            keys.setdefault(entry, []).append(key)
    return keys
