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

from digest.query.names import split_name
from digest.query.runs import take_runs
from digest.query.words import fold, is_stop_word, split_words, stem
from digest.tex import parse_tex
from digest.tex.tokens import DROPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from digest.papers import Paper

STOP_WORD: Final = 0
"""The number of every stop word: they only hold a place."""

_TEXTS = ("title", "abstract", "comment", "journal_ref", "report_no")
_MARK = "\x00"
_NEEDS_READING = re.compile(rf"[\\${DROPPED}]")
_NAME_NEEDS_READING = re.compile(rf"{_NEEDS_READING.pattern}|--")
"""A dash typed as two hyphens parts no words, but holds names together."""

_PARTED = {code: chr(code) if chr(code).isalnum() or chr(code) in "_.,;'" else " " for code in range(128)}
"""What parts words wherever it stands becomes a blank; a few signs may hold a word together."""
_MARKED = _PARTED | {code: _MARK for code in range(128) if _NEEDS_READING.match(chr(code))}


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
        parts: of each distinct name, its folded parts.
        categories: the categories as written.
    """

    papers: Sequence[Paper]
    surfaces: list[str]
    stems: list[str]
    words: NDArray[np.int32]
    texts: NDArray[np.int32]
    names: Values
    parts: list[tuple[str, ...]]
    categories: Values


def scan(papers: Sequence[Paper]) -> Batch:
    """Read a batch of papers."""
    surfaces, words, texts = _read_texts(papers)
    names = _collect([[author.name for author in paper.authors] for paper in papers])
    return Batch(
        papers=papers,
        surfaces=surfaces,
        stems=list(map(stem, surfaces)),
        words=words,
        texts=texts,
        names=names,
        parts=_split_names(names.distinct),
        categories=_collect([paper.categories for paper in papers]),
    )


def _read_texts(papers: Sequence[Paper]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """Return the distinct words of papers, and all words in order with their texts."""
    pieces: list[str] = []
    lengths: list[int] = []
    for get_text in map(attrgetter, _TEXTS):
        for text in map(get_text, papers):
            cut = _cut(text) if text else []
            pieces += cut
            lengths.append(len(cut))
    distinct, numbers = _number(pieces)
    surfaces, words, counts = _read_pieces(distinct)
    starts = np.cumsum(counts) - counts
    texts = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return surfaces, take_runs(words, starts[numbers], counts[numbers]), np.repeat(texts, counts[numbers])


def _cut(text: str) -> list[str]:
    """Return a text with its TeX resolved, in pieces no word goes across."""
    if text.isascii():
        parted = text.translate(_MARKED)
        if _MARK not in parted:
            return parted.split()
    elif not _NEEDS_READING.search(text):
        return text.split()
    plain = _resolve(text)
    return plain.translate(_PARTED).split() if plain.isascii() else plain.split()


def _resolve(text: str) -> str:
    return "".join(piece.text for piece in parse_tex(text))


def _number(values: Sequence[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct values in the order they come, and of each value its number among them."""
    numbering: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(numbering.__getitem__, values), np.int32, len(values))
    return list(numbering), numbers


def _read_pieces(pieces: Iterable[str]) -> tuple[list[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the distinct words of some pieces, the words of each in order, and how many each has."""
    numbering: defaultdict[str, int] = defaultdict(count(1).__next__)
    words: list[int] = []
    counts: list[int] = []
    for piece in pieces:
        bare = piece.strip(".,;'")
        if bare.isalnum() and bare.isascii():
            word = bare.lower()
            words.append(STOP_WORD if is_stop_word(word) else numbering[word])
            counts.append(1)
        else:
            found = [word.text for word in split_words(piece)]
            words += [STOP_WORD if is_stop_word(word) else numbering[fold(word)] for word in found]
            counts.append(len(found))
    return ["", *numbering], np.array(words, np.int32), np.array(counts, np.int64)


def _collect(values: Sequence[Sequence[str]]) -> Values:
    """Return the values of papers as distinct ones and their occurrences."""
    distinct, numbers = _number(list(chain.from_iterable(values)))
    papers = np.repeat(np.arange(len(values), dtype=np.int32), [len(some) for some in values])
    return Values(distinct, numbers, papers)


def _split_names(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the folded parts of each name; parts go across no blank, and most pieces come again."""
    known: dict[str, tuple[str, ...]] = {}
    found: list[tuple[str, ...]] = []
    for name in names:
        parts: tuple[str, ...] = ()
        for piece in (_resolve(name) if _NAME_NEEDS_READING.search(name) else name).split():
            if piece not in known:
                known[piece] = tuple(part.text for part in split_name(piece))
            parts += known[piece]
        found.append(parts)
    return found
