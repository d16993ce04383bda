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
    from collections.abc import Iterator

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

_BLOCK: Final = 1 << 18
"""Characters looked at together: what comes between stays in the processor's own memory, and the system need not
hand out more again and again."""

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
    """Find the words of an ASCII text that begins and ends with a blank, and has no other white space.

    The words of each block are told apart by themselves, then those that are different in some block.
    """
    octets = text.encode("ascii") + bytes(_CHUNK)
    starts, lengths, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    size = 0
    for start, end in _cut_into_blocks(octets):
        changes = np.flatnonzero(np.diff(_find_word_characters(octets[start:end]))) + (start + 1)
        words = changes[::2], changes[1::2] - changes[::2]
        firsts, found = _tell_apart(octets, *words)
        starts.append(words[0].take(firsts))
        lengths.append(words[1].take(firsts))
        numbers.append(found + size)
        size += len(firsts)
    words = np.concatenate(starts), np.concatenate(lengths)
    firsts, found = _tell_apart(octets, *words)
    begun, ends = words[0].take(firsts), (words[0] + words[1]).take(firsts)
    distinct = [text[start:end] for start, end in zip(begun.tolist(), ends.tolist(), strict=True)]
    return Runs(distinct, found.take(np.concatenate(numbers)))


def _cut_into_blocks(octets: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of a text begin and end: each with a blank, which two of them share."""
    start, last = 0, octets.rindex(b" ")
    while start < last:
        end = octets.rfind(b" ", start + 1, start + _BLOCK)
        if end < 0:
            end = octets.index(b" ", start + 1)
        yield start, end + 1
        start = end


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


def _tell_apart(
    octets: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number words of a text so that equal ones, and only these, have the same number.

    Returns:
        Of each number a word that has it; and of each word its number.
    """
    chunks = (lengths - 1) >> _CHUNK_BITS
    numbers = np.empty(len(starts), np.int64)
    firsts: list[NDArray[np.int64]] = []
    size = 0
    for count in range(_MOST_CHUNKS):
        members = np.flatnonzero(chunks == count)
        columns = _read_chunks(octets, starts.take(members), lengths.take(members), count + 1)
        first, found = number_distinct(columns)
        numbers[members] = found + size
        firsts.append(members.take(first))
        size += len(first)
    longer: dict[bytes, int] = {}
    for place in np.flatnonzero(chunks >= _MOST_CHUNKS).tolist():
        first_place = longer.setdefault(octets[starts[place] : starts[place] + lengths[place]], place)
        numbers[place] = size + len(longer) - 1 if first_place == place else numbers[first_place]
    return np.concatenate((*firsts, np.fromiter(longer.values(), np.int64, len(longer)))), numbers


def _read_chunks(
    octets: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64], count: int
) -> list[NDArray[np.uint64]]:
    """Return words of so many chunks as numbers: the first characters of each, those that follow, and so on."""
    everywhere = np.ndarray(len(octets) - _CHUNK, "<u8", octets, strides=(1,))
    chunks = [everywhere[starts + place] for place in range(0, _CHUNK * count, _CHUNK)]
    chunks[-1] &= _MASKS.take(lengths - _CHUNK * (count - 1))
    return chunks
