"""Which of the names looked for the names of a batch are."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np

from digest.query.arrays import Beginnings, PairTable, Spreader, fill_up, mark, sort_distinct
from digest.query.evaluation import read_name
from digest.query.lexicon import NOWHERE, Column
from digest.query.names import GENERATIONS, fold_umlauts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from digest.query.arrays import Begun
    from digest.query.lexicon import Lexicon, Links
    from digest.query.names import NamePattern
    from digest.query.people import PersonPattern
    from digest.query.scanning import Batch
    from digest.query.tree import Condition

    Pairs: TypeAlias = tuple[NDArray[np.int32], NDArray[np.intp]]
    """Leaves, each with the name that meets it: its index among the distinct ones."""


_OF_LEAVES, _TO_LOOK_AT = 0, 1
"""Beginnings of parts: those that are leaves, and those of names to look at more closely."""


@lru_cache(maxsize=2**14)
def _read_name(condition: Condition) -> NamePattern | PersonPattern:
    return read_name(condition)


class NameTables:
    """What a lexicon looks for in names, as arrays; they do not see what is added to it later."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._unknown = len(lexicon.terms)
        size = self._unknown + 1
        self._leaves = fill_up(lexicon.leaves[Column.NAME_PART], size)
        sizes = (size, *(len(links.before) for links in lexicon.parts))
        self._steps = [
            (_make_table(links, (befores, size)), fill_up(links.leaves[0], len(links.before)))
            for links, befores in zip(lexicon.parts, sizes, strict=False)
        ]
        begun = lexicon.begun_names
        self._closer = list(begun.values())
        numbers = dict(zip(begun, range(len(begun)), strict=True))
        self._beginnings = Beginnings([lexicon.beginnings[Column.NAME_PART], numbers])
        packed = np.fromiter(lexicon.signatures, np.int64, len(lexicon.signatures))
        self._signatures = PairTable(packed >> 32, packed & 0xFFFF_FFFF, (size, size))
        self._signature_leaves = np.fromiter(lexicon.signatures.values(), np.int32, len(lexicon.signatures))

    def detect(self, batch: Batch) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return leaves and the papers by someone whose name meets them, perhaps several times."""
        leaves, names = zip(*self._find_leaves(batch), strict=True)
        spreader = Spreader(np.concatenate(names), np.concatenate(leaves), len(batch.names.distinct))
        return spreader.spread(batch.names.numbers, batch.names.papers)

    def _find_leaves(self, batch: Batch) -> Iterator[Pairs]:
        names = np.repeat(np.arange(len(batch.names.distinct)), np.diff(batch.part_bounds))
        known = self._lexicon.terms
        keys = list(map(fold_umlauts, batch.parts))
        terms = np.fromiter(map(known.get, keys, repeat(self._unknown)), np.int32, len(keys))
        leaves = self._leaves[terms].take(batch.name_parts)
        found = np.flatnonzero(leaves != NOWHERE)
        yield leaves[found], names[found]
        yield from self._find_parts(terms[batch.name_parts], names)
        yield from self._find_signatures(batch, terms)
        begun = self._find_beginnings(batch.parts, keys)
        yield self._find_begun(batch, begun, names)
        yield self._look_closer(batch, begun, names, keys)

    def _find_parts(self, terms: NDArray[np.int32], names: NDArray[np.intp]) -> Iterator[Pairs]:
        """Yield names that have several parts, in whatever order."""
        size = self._unknown + 1
        packed = sort_distinct((names * size + terms)[terms != self._unknown])
        names, terms = packed // size, (packed % size).astype(np.int32)
        before, places = terms, np.arange(len(terms))
        for table, leaves in self._steps:
            before, places = _follow(table, before, places, terms, names)
            found = np.flatnonzero(leaves[before] != NOWHERE)
            yield leaves[before[found]], names[places[found]]

    def _find_signatures(self, batch: Batch, terms: NDArray[np.int32]) -> Iterator[Pairs]:
        """Yield names of a last name, and a first one or its initial."""
        if not len(self._signature_leaves):
            return
        starts, last = batch.part_bounds[:-1], batch.part_bounds[1:] - 1
        is_name = np.flatnonzero(last > starts)
        starts, last = starts[is_name], last[is_name]
        is_generation = np.fromiter(map(GENERATIONS.__contains__, batch.parts), np.bool_, len(batch.parts))
        while len(behind := np.flatnonzero(is_generation[batch.name_parts[last]] & (last > starts))):
            last[behind] -= 1
        firsts = [part[:1] for part in batch.parts]
        initials = np.fromiter(map(self._lexicon.terms.get, firsts, repeat(self._unknown)), np.int32, len(firsts))
        named = np.flatnonzero(last > starts)
        last_terms = terms[batch.name_parts[last[named]]]
        for given in (terms, initials):
            found, signatures = self._signatures.find(last_terms, given[batch.name_parts[starts[named]]])
            yield self._signature_leaves[signatures], is_name[named[found]]

    def _find_beginnings(self, parts: Sequence[str], keys: Sequence[str]) -> Begun:
        """Look for beginnings in parts under both of their spellings."""
        twice = [number for number, (part, key) in enumerate(zip(parts, keys, strict=True)) if part != key]
        spellings = [*parts, *(keys[number] for number in twice)]
        begun = self._beginnings.look_in(spellings, np.arange(len(spellings)))
        return begun._replace(words=np.array([*range(len(parts)), *twice], np.int64).take(begun.words))

    def _find_begun(self, batch: Batch, begun: Begun, names: NDArray[np.intp]) -> Pairs:
        parts, leaves = begun.find(_OF_LEAVES)
        return Spreader(parts, leaves, len(batch.parts)).spread(batch.name_parts, names)

    def _look_closer(self, batch: Batch, begun: Begun, names: NDArray[np.intp], keys: Sequence[str]) -> Pairs:
        """Show names to the patterns of conditions that ask for a part they have."""
        asked = enumerate(map(self._lexicon.names.get, keys))
        entries = {part: list(some) for part, some in asked if some}
        for part, number in zip(*(found.tolist() for found in begun.find(_TO_LOOK_AT)), strict=True):
            entries.setdefault(part, []).extend(self._closer[number])
        found: list[tuple[int, int]] = []
        is_asked = mark(np.fromiter(entries, np.int64, len(entries)), len(batch.parts))
        for place in np.flatnonzero(is_asked[batch.name_parts]).tolist():
            name = int(names[place])
            own = batch.list_parts(name)
            for condition, leaf in entries[int(batch.name_parts[place])]:
                if _read_name(condition).find_parts(own):
                    found.append((leaf, name))
        both = np.array(found, np.int32).reshape(-1, 2)
        return both[:, 0], both[:, 1].astype(np.intp)


def _make_table(links: Links, sizes: tuple[int, int]) -> PairTable:
    return PairTable(np.array(links.before, np.int64), np.array(links.terms, np.int64), sizes)


def _follow(
    table: PairTable,
    before: NDArray[np.int32],
    places: NDArray[np.intp],
    terms: NDArray[np.int32],
    names: NDArray[np.intp],
) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Go from parts of names to all later parts of the same names.

    Args:
        table: the steps there are.
        before: the steps gone so far, or terms.
        places: where among all parts each of them led.
        terms: all parts of names, those of each name in growing order.
        names: whose they are.

    Returns:
        The steps gone now, and where each led.
    """
    begun = np.flatnonzero(table.is_upper(before))
    found_steps, found_places = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    distance = 0
    while len(begun):
        distance += 1
        begun = begun[places[begun] < len(terms) - distance]
        behind = places[begun] + distance
        is_same = names[behind] == names[places[begun]]
        begun, behind = begun[is_same], behind[is_same]
        found, steps = table.find(before[begun], terms[behind])
        found_steps.append(steps)
        found_places.append(behind[found])
    return np.concatenate(found_steps).astype(np.int32), np.concatenate(found_places)
