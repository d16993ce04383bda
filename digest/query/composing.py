"""A query made of something pasted, each of its characters knowing the place it came from."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Pasted(NamedTuple):
    """What was made of a pasted text.

    Attributes:
        text: the query.
        places: for each character of it, and for its end, which one of the pasted text it comes from.
        message: what was understood, in a sentence.
    """

    text: str
    places: tuple[int, ...]
    message: str


class Letter(NamedTuple):
    """One character, and where it stands in what was pasted."""

    char: str
    place: int


_ESCAPED = re.compile(r"%([0-9A-Fa-f]{2})")
_BLANKS = re.compile(r"\s+")


def decode_value(text: str, start: int, end: int, plus: str = " ") -> list[Letter]:
    """Return the characters a part of an address stands for: `%22` is a quotation mark, `+` a blank."""
    return list(_decode(text, start, end, plus))


def _decode(text: str, start: int, end: int, plus: str) -> Iterator[Letter]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    place, begun = start, start
    while place < end:
        escaped = _ESCAPED.match(text, place, end)
        if escaped:
            begun = begun if decoder.getstate()[0] else place
            yield from (Letter(char, begun) for char in decoder.decode(bytes.fromhex(escaped[1])))
            place = escaped.end()
        else:
            yield from (Letter(char, begun) for char in decoder.decode(b"", final=True))
            decoder.reset()
            yield Letter(plus if text[place] == "+" else text[place], place)
            place += 1
    yield from (Letter(char, begun) for char in decoder.decode(b"", final=True))


def spell(letters: Iterable[Letter]) -> str:
    """Return characters as one text."""
    return "".join(letter.char for letter in letters)


class Composer:
    """Puts a query together from copied characters and from words of our own.

    Attributes:
        letters: what it has so far.
    """

    def __init__(self) -> None:
        self.letters: list[Letter] = []

    def __bool__(self) -> bool:
        return bool(self.letters)

    def write(self, text: str, place: int) -> None:
        """Add a text of our own, for what stands at a place."""
        self.letters += (Letter(char, place) for char in text)

    def copy(self, letters: Iterable[Letter]) -> None:
        """Add characters as they were pasted."""
        self.letters += letters

    def join(self, operator: str, place: int) -> None:
        """Add an operator, unless nothing stands before it."""
        if self.letters:
            self.write(f" {operator} ", place)

    def finish(self, described: str, end: int) -> Pasted:
        """Return the query; its text follows the words that say what it was made of."""
        text = spell(self.letters)
        return Pasted(
            text,
            (*(letter.place for letter in self.letters), end),
            f"{described}, read as {_shorten(_BLANKS.sub(' ', text).strip())}",
        )


_LONGEST_SHOWN = 200


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
