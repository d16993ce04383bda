"""What a batch of papers meets of all that is looked for."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from digest import taxonomy
from digest.query.analysis import analyse
from digest.query.arrays import Spreader, take_runs
from digest.query.bitsets import WORD, Detection
from digest.query.dates import spell_minute
from digest.query.detecting_names import NameTables
from digest.query.detecting_words import WordTables, detect_in_texts
from digest.query.lexicon import NOWHERE, Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from digest.papers import Paper
    from digest.query.lexicon import Lexicon
    from digest.query.scanning import Batch, Values

Pairs: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32]]"


class Detector:
    """Finds what papers meet of all that a lexicon looks for; it may not see what is added to it later."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._words = WordTables(lexicon)
        self._names = NameTables(lexicon)

    def detect(self, batch: Batch) -> Detection:
        """Return which leaves which papers meet."""
        in_texts, unions = detect_in_texts(self._words, batch)
        found = (*in_texts, self._names.detect(batch), *_detect_others(self._lexicon, batch))
        leaves, papers = zip(*found, strict=True)
        return Detection(np.concatenate(leaves), np.concatenate(papers), unions, _share_out(batch.papers))


def _share_out(papers: Sequence[Paper]) -> NDArray[np.uint64]:
    """Return which 64th of a batch each paper is in, by category: most queries ask for some only."""
    order = sorted(range(len(papers)), key=lambda paper: papers[paper].primary_category)
    shares = np.empty(len(papers), np.uint64)
    shares[order] = np.arange(len(papers)) * WORD // len(papers)
    return shares


def _detect_others(lexicon: Lexicon, batch: Batch) -> Iterator[Pairs]:
    yield _find_categories(lexicon, batch.categories)
    ready = [analyse(paper) for paper in batch.papers]
    yield _look_up(lexicon, Column.ID, (paper.ids for paper in ready))
    yield _look_up(lexicon, Column.DOI, (paper.dois for paper in ready))
    yield from _find_ranges(lexicon, batch)
    for test, leaf in lexicon.tests.values():
        papers = np.array([index for index, paper in enumerate(ready) if test(paper)], np.int32)
        yield np.full(len(papers), leaf, np.int32), papers


def _find_categories(lexicon: Lexicon, categories: Values) -> Pairs:
    listed = [_list_category_leaves(lexicon, category) for category in categories.distinct]
    owners = np.repeat(np.arange(len(listed)), [len(leaves) for leaves in listed])
    leaves = np.fromiter(chain.from_iterable(listed), np.int32)
    return Spreader(owners, leaves, len(listed)).spread(categories.numbers, categories.papers)


def _list_category_leaves(lexicon: Lexicon, category: str) -> list[int]:
    names = taxonomy.names_of(category)
    folded = {name.casefold() for name in names}
    found = [_find_term(lexicon, Column.CATEGORY, name) for name in folded]
    found += [_find_term(lexicon, Column.ARCHIVE, name) for name in set(map(taxonomy.archive_of, names))]
    beginnings = lexicon.beginnings[Column.CATEGORY]
    begun = {name[:end] for name in folded for end in range(len(name) + 1)} if beginnings else ()
    found += [beginnings.get(beginning, NOWHERE) for beginning in begun]
    return [leaf for leaf in found if leaf != NOWHERE]


def _find_term(lexicon: Lexicon, column: Column, term: str) -> int:
    leaves = lexicon.leaves[column]
    number = lexicon.terms.get(term, len(leaves))
    return leaves[number] if number < len(leaves) else NOWHERE


def _look_up(lexicon: Lexicon, column: Column, values: Iterable[Iterable[str]]) -> Pairs:
    """Return which papers meet leaves of a column, from what each says there."""
    found: list[tuple[int, int]] = []
    if lexicon.leaves[column]:
        for paper, terms in enumerate(values):
            found += [(leaf, paper) for term in terms if (leaf := _find_term(lexicon, column, term)) != NOWHERE]
    both = np.array(found, np.int32).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _find_ranges(lexicon: Lexicon, batch: Batch) -> Iterator[Pairs]:
    if not lexicon.ranges:
        return
    minutes = [spell_minute(paper.published) for paper in batch.papers]
    order = sorted(range(len(minutes)), key=minutes.__getitem__)
    ordered = np.array([minutes[paper] for paper in order])
    starts = np.searchsorted(ordered, np.array([start for start, _ in lexicon.ranges]), side="left")
    ends = np.searchsorted(ordered, np.array([end for _, end in lexicon.ranges]), side="right")
    counts = np.maximum(ends - starts, 0)
    leaves = np.fromiter(lexicon.ranges.values(), np.int32)
    yield np.repeat(leaves, counts), take_runs(np.array(order, np.int32), starts, counts)
