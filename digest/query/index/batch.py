"""Reads a batch of papers once: texts as numbered words, authors and categories as distinct values.

The words are those of `AnalysedPaper`, found by the batch: TeX is resolved only where there is some, and each
distinct piece between blanks is cut into words once. Texts with words that have parts are there twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import chain, compress, count
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from digest.query.index.bitsets import mark, take_runs
from digest.query.index.texts import resolve_text
from digest.query.names import list_parts, list_readings, write_out
from digest.query.words import STOP_WORDS, cut_words, part_word, read_word, stem_all
from digest.tex import parse_tex
from digest.tex.tokens import DROPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from digest.model.papers import Paper

STOP_WORD: Final = 0
"""The number of every stop word: they only hold a place."""

_TEXTS = ("title", "abstract", "comment", "journal_ref", "report_no")
_NEEDS_READING = re.compile(rf"[\\${DROPPED}]|--")
"""What in a name is read as TeX to find its parts; a dash typed as two hyphens holds them together."""


_PARTED: Final = bytes(
    ord(chr(code).lower() if code < 128 and (chr(code).isalnum() or chr(code) in "_.,;'") else " ")  # noqa: PLR2004 - ASCII
    for code in range(256)
)
"""Signs that part words wherever they stand go; words are checked in lower case anyhow."""

_COMMON = (". ", ", ", "-", "(", ")")
"""The commonest of them, which go from other texts."""

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")

_BLOCK: Final = 1 << 15
"""Words handled together: what comes between stays in the processor's own memory."""

_NO_TEX = str.maketrans("\\$", "  ")
"""What is left of TeX's signs once a name is resolved parts it, as blanks do."""

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
    """Papers as queries see them.

    Attributes:
        papers: themselves.
        surfaces: the distinct folded words of all texts; the first stands for all stop words.
        stems: of each of them, its stem.
        words: the words of all texts in order, column by column, as indexes in `surfaces`: first read whole, and
            then, of texts that have words with parts, once more and parted.
        texts: of each word, which text it is of: twice the column, and one more where it is read parted, times
            the number of papers, plus the paper's index.
        names: the authors' names, raw; those with umlauts once more, written out.
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
    names = _collect([_list_names(paper) for paper in papers])
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
    pieces = [_split(resolve_text(text)) for name in _TEXTS for text in map(attrgetter(name), papers)]
    distinct, numbers = _number(chain.from_iterable(pieces))
    surfaces, words, whole, parted = _read_pieces(distinct)
    owners = np.repeat(np.arange(len(pieces), dtype=np.int32), list(map(len, pieces)))
    has_parts = mark(owners[(parted.starts != whole.starts).take(numbers)], len(pieces))
    again = np.flatnonzero(has_parts.take(owners))
    readings = (
        _spread(words, whole, numbers, owners),
        _spread(words, parted, numbers.take(again), owners.take(again)),
    )
    return surfaces, *_order_by_column(readings, len(papers))


def _split(text: str) -> list[str]:
    """Cut a text where words can't go on; of the pieces of an ASCII text only signs that may join are left."""
    if text.isascii():
        plain = (
            text.encode("ascii").translate(_PARTED).decode("ascii")
        )  # faster than `str.translate`, for a short text
        return f"{plain} ".replace(". ", " ").replace(", ", " ").split()
    parted = f"{text} "
    for signs in _COMMON:
        parted = parted.replace(signs, " ")
    return [piece.lower() if piece.isascii() else piece for piece in parted.split()]


def _spread(
    words: NDArray[np.int32], reading: _Reading, pieces: NDArray[np.int32], owners: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the words that pieces are read as, and of each word what its piece belongs to."""
    found: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
    texts: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
    for first in range(0, len(pieces), _BLOCK):
        numbers = pieces[first : first + _BLOCK]
        lengths = reading.counts.take(numbers)
        found.append(take_runs(words, reading.starts.take(numbers), lengths))
        texts.append(np.repeat(owners[first : first + _BLOCK], lengths))
    return np.concatenate(found), np.concatenate(texts)


def _order_by_column(
    readings: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]], papers: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the words and texts of both readings column by column, each text numbered by how it is read, too."""
    found: list[NDArray[np.int32]] = []
    texts: list[NDArray[np.int32]] = []
    for column in range(len(_TEXTS)):
        for reading, (words, owners) in enumerate(readings):
            part = slice(*np.searchsorted(owners, (column * papers, (column + 1) * papers)))
            found.append(words[part])
            texts.append(owners[part] + np.int32((column + reading) * papers))
    return np.concatenate(found), np.concatenate(texts)


def _number(values: Iterable[str]) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct values in the order they come, and of each value its number among them."""
    numbering: defaultdict[str, int] = defaultdict(count().__next__)
    numbers = np.fromiter(map(numbering.__getitem__, values), np.int32)
    return list(numbering), numbers


class _Reading(NamedTuple):
    """How pieces are read.

    Attributes:
        starts: of each piece, where its words begin among those of all.
        counts: how many it has.
    """

    starts: NDArray[np.int64]
    counts: NDArray[np.int64]


def _read_pieces(pieces: Sequence[str]) -> tuple[list[str], NDArray[np.int32], _Reading, _Reading]:
    """Return the distinct words of pieces, their words piece by piece, and how they are read: whole, and parted.

    Most pieces are plain words, which need no second check. Those come first among the words returned.
    """
    is_plain = np.fromiter(map(_PLAIN.issuperset, pieces), np.bool_, len(pieces))
    plain = list(compress(pieces, is_plain))
    is_stop = np.fromiter(map(STOP_WORDS.__contains__, plain), np.bool_, len(plain))
    surfaces = dict(zip(compress(plain, ~is_stop), count(STOP_WORD + 1)))
    plain_words = np.where(is_stop, np.int32(STOP_WORD), np.cumsum(~is_stop, dtype=np.int32) + np.int32(STOP_WORD))
    words: list[int] = []
    places = _read_others(compress(pieces, ~is_plain), surfaces, words)
    whole, parted = (_place(is_plain, places[first : first + 2]) for first in (0, 2))
    return ["", *surfaces], np.concatenate((plain_words, np.array(words, np.int32))), whole, parted


def _place(is_plain: NDArray[np.bool_], places: NDArray[np.int64]) -> _Reading:
    """Return how all pieces are read, the plain ones as one word each, and the others as given."""
    reading = _Reading(np.cumsum(is_plain) - 1, np.ones(len(is_plain), np.int64))
    reading.starts[~is_plain] = places[0] + np.count_nonzero(is_plain)
    reading.counts[~is_plain] = places[1]
    return reading


def _read_others(pieces: Iterable[str], surfaces: dict[str, int], words: list[int]) -> NDArray[np.int64]:
    """Return where the words of pieces that may have several or none begin, and how many: whole, and parted.

    Args:
        pieces: them.
        surfaces: folded words -> their numbers; takes those that it lacks.
        words: takes the numbers of the words.
    """
    numbers = _Numbers(surfaces)
    places: list[tuple[int, int, int, int]] = []
    for piece in pieces:
        found = cut_words(piece)
        start = parted = len(words)
        words += map(numbers.__getitem__, found)
        end = len(words)
        if any(map(numbers.parts.__contains__, found)):
            parted = end
            words += chain.from_iterable(numbers.parts.get(word) or (numbers[word],) for word in found)
        places.append((start, end - start, parted, len(words) - parted))
    return np.array(places, np.int64).reshape(-1, 4).T


class _Numbers(dict[str, int]):
    """Words as written -> their numbers, each read once.

    Args:
        surfaces: folded words -> their numbers; takes those that it lacks.

    Attributes:
        parts: those of the words met that have parts -> the numbers of these.
    """

    def __init__(self, surfaces: dict[str, int]) -> None:
        super().__init__()
        self.parts: dict[str, list[int]] = {}
        self._surfaces = surfaces

    def __missing__(self, written: str) -> int:
        word = read_word(written)
        self[written] = number = STOP_WORD if word is None else self._find(word)
        if parts := part_word(written):
            self.parts[written] = list(map(self._find, parts))
        return number

    def _find(self, word: str) -> int:
        return self._surfaces.setdefault(word, STOP_WORD + 1 + len(self._surfaces))


def _collect(values: Sequence[Sequence[str]]) -> Values:
    """Return the values of papers as distinct ones and their occurrences."""
    distinct, numbers = _number(list(chain.from_iterable(values)))
    papers = np.repeat(np.arange(len(values), dtype=np.int32), [len(some) for some in values])
    return Values(distinct, numbers, papers)


def _list_names(paper: Paper) -> list[str]:
    """Return the names of a paper's authors, those with umlauts once more, written out."""
    names = [author.name for author in paper.authors]
    for name in [name for name in names if not name.isascii() or "\\" in name]:
        plain = _resolve_name(name)
        if len(list_readings(plain)) > 1:
            names.append(write_out(plain).translate(_NO_TEX))
    return names


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
        if bare.isalpha() and bare.isascii():
            parts.append(numbering[bare.lower()])
            counts.append(1)
        else:
            found = list_parts(piece)
            parts += map(numbering.__getitem__, found)
            counts.append(len(found))
    sizes = np.array(counts, np.int64)
    starts, lengths = np.cumsum(sizes) - sizes, sizes[numbers]
    name_parts = take_runs(np.array(parts, np.int32), starts[numbers], lengths)
    return list(numbering), name_parts, np.cumsum(lengths)[numbers == 0]


def _resolve_name(name: str) -> str:
    return "".join(piece.text for piece in parse_tex(name))
