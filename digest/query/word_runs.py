"""Where the words of a long ASCII text are, and which of them are the same: by numpy, a few passes over all of it.

What may stand within a word is decided by the two characters beside it, as `words.split_words` has it, so all
words of all texts are found at once; and they are compared as numbers, eight characters at a time. Python looks
at each distinct word once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from digest.query.arrays import list_runs, number_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEPARATOR: Final = "\x01"
"""A run of its own: it stands before each text."""

FENCE: Final = "\x00"
"""Stands around the number of what is not ASCII; pieces between blanks that have any are runs as they are."""

_LETTER, _DIGIT, _JOINS_LETTERS, _JOINS_DIGITS, _IN_WORD = 1, 2, 4, 8, 16
_TO_NEIGHBOURS = 2
"""How far to the right the bit of a sign that joins letters, or digits, has to go to be that of the neighbours."""

_CHUNK_BITS: Final = 3
_CHUNK: Final = 1 << _CHUNK_BITS
_MOST_CHUNKS: Final = 4
"""Words longer than so many chunks are too rare to be worth a pass."""

_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_CHUNK + 1)], np.uint64)
"""Length -> what keeps so many characters of a chunk, the first of which is its lowest octet."""


def _classify(code: int) -> int:
    character = chr(code)
    if code < 128 and character.isalnum():  # noqa: PLR2004 - ASCII
        return _IN_WORD | (_DIGIT if character.isdigit() else _LETTER)
    if character in f"_{SEPARATOR}{FENCE}":
        return _IN_WORD
    return (character in ".'") * _JOINS_LETTERS | (character in ".,;'") * _JOINS_DIGITS


_CLASSES = bytes(map(_classify, range(256)))


class Runs(NamedTuple):
    """The words of a text.

    Attributes:
        distinct: each of them once, as written.
        numbers: of each word in order, its index in `distinct`.
    """

    distinct: list[str]
    numbers: NDArray[np.int64]


def find_runs(text: str) -> Runs:
    """Find the words of an ASCII text that begins and ends with a blank, and has no other white space."""
    octets = text.encode("ascii")
    changes = np.flatnonzero(np.diff(_find_word_characters(octets))) + 1
    starts, lengths = changes[::2], changes[1::2] - changes[::2]
    chunks = (lengths - 1) >> _CHUNK_BITS
    numbers = np.empty(len(starts), np.int64)
    distinct: list[str] = []
    for count in range(_MOST_CHUNKS):
        members = np.flatnonzero(chunks == count)
        firsts, found = number_distinct(_read_chunks(octets, starts[members], lengths[members], count + 1))
        numbers[members] = found + len(distinct)
        first = starts[members[firsts]]
        ends = first + lengths[members[firsts]]
        distinct += [text[start:end] for start, end in zip(first.tolist(), ends.tolist(), strict=True)]
    numbering: dict[str, int] = {}
    for place in np.flatnonzero(chunks >= _MOST_CHUNKS).tolist():
        word = text[starts[place] : starts[place] + lengths[place]]
        numbers[place] = numbering.setdefault(word, len(distinct) + len(numbering))
    return Runs([*distinct, *numbering], numbers)


def _find_word_characters(octets: bytes) -> NDArray[np.bool_]:
    """Return of each character whether it is part of a word."""
    classes = np.frombuffer(octets.translate(_CLASSES), np.uint8)
    is_part = classes >= _IN_WORD
    signs = np.flatnonzero((classes & (_JOINS_LETTERS | _JOINS_DIGITS)) != 0)
    joined = classes[signs - 1] & classes[signs + 1] & (classes[signs] >> _TO_NEIGHBOURS)
    is_part[signs[joined != 0]] = True
    codes = np.frombuffer(octets, np.uint8)
    fences = np.flatnonzero(codes == ord(FENCE))
    if len(fences):
        blanks = np.flatnonzero(codes == ord(" "))
        behind = np.searchsorted(blanks, fences)
        behind = behind[np.diff(behind, prepend=-1) != 0]
        starts = blanks[behind - 1] + 1
        is_part[list_runs(starts, blanks[behind] - starts)] = True
    return is_part


def _read_chunks(
    octets: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64], count: int
) -> list[NDArray[np.uint64]]:
    """Return words of so many chunks as numbers: the first characters of each, those that follow, and so on."""
    padded = octets + bytes(_CHUNK)
    everywhere = np.ndarray(len(octets), "<u8", padded, strides=(1,))
    chunks = [everywhere[starts + place] for place in range(0, _CHUNK * count, _CHUNK)]
    chunks[-1] &= _MASKS.take(lengths - _CHUNK * (count - 1))
    return chunks
