"""A batch of papers read once: texts as numbered words, authors and categories as distinct values.

The words are those of `AnalysedPaper`, found by the batch: TeX is resolved only where there is some, texts
are cut at blanks and at signs that no word can hold, and each distinct piece is read once.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain, count
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from digest.query.arrays import take_runs
from digest.query.cutting import SIGNS, cut
from digest.query.names import split_name
from digest.query.words import STOP_WORDS, fold, split_words, stem_all
from digest.tex import parse_tex
from digest.tex.tokens import DROPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from digest.papers import Paper

STOP_WORD: Final = 0
"""The number of every stop word: they only hold a place."""

_TEXTS = ("title", "abstract", "comment", "journal_ref", "report_no")
_NEEDS_READING = re.compile(rf"[\\${DROPPED}]|--")
"""What in a name is read as TeX to find its parts; a dash typed as two hyphens holds them together."""


_BETWEEN_NAMES = "\x00"
"""No name has it: TeX's reader drops it, and it has no parts."""


class Values(NamedTuple):
    """Distinct values, and which papers have them.

    Attributes:
        distinct: each value once.
        numbers: of each occurrence, the value's index in `distinct`.
        papers: of each occurrence, the paper's index.
    """

    distinct: list[str]
    numbers: NDArray[np.int32]
    papers: NDArray[np.int32]


class Batch(NamedTuple):
    """Papers as queries look at them.

    Attributes:
        papers: themselves.
        surfaces: the distinct folded words of all texts; the first stands for all stop words.
        stems: of each of them, its stem.
        words: the words of all texts in order, column by column, as indexes in `surfaces`.
        texts: of each word, which text it is of: the column times the number of papers plus the paper's index.
        names: the authors' names, raw.
        parts: the distinct folded parts of names.
        name_parts: the parts of all distinct names in order, as indexes in `parts`.
        part_bounds: of each distinct name, where its parts begin in `name_parts`; one more at the end.
        categories: the categories as written.
    """

    papers: Sequence[Paper]
    surfaces: list[str]
    stems: list[str]
    words: NDArray[np.int32]
    texts: NDArray[np.int32]
    names: Values
    parts: list[str]
    name_parts: NDArray[np.int32]
    part_bounds: NDArray[np.int64]
    categories: Values

    def list_parts(self, name: int) -> tuple[str, ...]:
        """Return the folded parts of one of the distinct names."""
        start, end = self.part_bounds[name], self.part_bounds[name + 1]
        return tuple(self.parts[part] for part in self.name_parts[start:end].tolist())


def scan(papers: Sequence[Paper]) -> Batch:
    """Read a batch of papers."""
    surfaces, words, texts = _read_texts(papers)
    names = _collect([[author.name for author in paper.authors] for paper in papers])
    parts, name_parts, part_bounds = _split_names(names.distinct)
    return Batch(
        papers=papers,
        surfaces=surfaces,
        stems=stem_all(surfaces),
        words=words,
        texts=texts,
        names=names,
        parts=parts,
        name_parts=name_parts,
        part_bounds=part_bounds,
        categories=_collect([paper.categories for paper in papers]),
    )


def _read_texts(papers: Sequence[Paper]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct words of papers, and all words in order with their texts."""
    texts = cut([text for name in _TEXTS for text in map(attrgetter(name), papers)])
    distinct, numbers = _number(texts.pieces)
    surfaces, words, counts = _read_pieces(map(texts.fill, distinct))
    starts = np.cumsum(counts) - counts
    owners = np.cumsum(numbers == 0, dtype=np.int32) - np.int32(1)  # a separator comes first, and has no words
    return surfaces, take_runs(words, starts[numbers], counts[numbers]), np.repeat(owners, counts[numbers])


def _number(values: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct values in the order they come, and of each value its number among them."""
    numbering: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(numbering.__getitem__, values), np.int32, len(values))
    return list(numbering), numbers


def _read_pieces(pieces: Iterable[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct words of some pieces, the words of each in order, and how many each has."""
    numbering: defaultdict[str, int] = defaultdict(count(STOP_WORD + 1).__next__)
    words: list[int] = []
    counts: list[int] = []
    for piece in pieces:
        bare = piece.strip(SIGNS)
        if bare.isalnum() and bare.isascii():
            word = bare.lower()
            words.append(STOP_WORD if word in STOP_WORDS else numbering[word])
            counts.append(1)
        else:
            found = [word.text for word in split_words(piece)]
            words += [STOP_WORD if word in STOP_WORDS else numbering[fold(word)] for word in found]
            counts.append(len(found))
    return ["", *numbering], np.array(words, np.int32), np.array(counts, np.int64)


def _collect(values: Sequence[Sequence[str]]) -> Values:
    """Return the values of papers as distinct ones and their occurrences."""
    distinct, numbers = _number(list(chain.from_iterable(values)))
    papers = np.repeat(np.arange(len(values), dtype=np.int32), [len(some) for some in values])
    return Values(distinct, numbers, papers)


def _split_names(names: Sequence[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct parts of names, the parts of each in order, and where each name's parts begin.

    Parts go across no blank, and most of what stands between blanks comes again: so all names are cut at once.
    """
    plain = [_resolve_name(name) if _NEEDS_READING.search(name) else name for name in names]
    distinct, numbers = _number(f" {_BETWEEN_NAMES} ".join(["", *plain, ""]).split())
    numbering: defaultdict[str, int] = defaultdict(count().__next__)
    parts: list[int] = []
    counts: list[int] = []
    for piece in distinct:
        bare = piece.removesuffix(".")
        found = [bare.lower()] if bare.isalpha() and bare.isascii() else _list_parts(piece)
        parts += [numbering[part] for part in found]
        counts.append(len(found))
    sizes = np.array(counts, np.int64)
    starts, lengths = np.cumsum(sizes) - sizes, sizes[numbers]
    name_parts = take_runs(np.array(parts, np.int32), starts[numbers], lengths)
    return list(numbering), name_parts, np.cumsum(lengths)[numbers == 0]


def _resolve_name(name: str) -> str:
    return "".join(piece.text for piece in parse_tex(name))


def _list_parts(name: str) -> list[str]:
    return [part.text for part in split_name(name)]
