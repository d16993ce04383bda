"""Malformed entries of a page: put aside with their bytes and the reason, to be looked at."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_OPENING = re.compile(rb"<([^\s/>]+)")
_CLOSING = re.compile(rb"</([^\s>]+)\s*>")

SNIPPET_LIMIT = 8_192
"""Bytes kept of a malformed entry: enough to see what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A malformed entry among good ones.

    Attributes:
        position: which entry of its page it was, from 0.
        snippet: its XML as it came, at most `SNIPPET_LIMIT` bytes of it.
        error: what is wrong with it.
    """

    position: int
    snippet: bytes
    error: str


class MalformedEntry(ValueError):
    """One entry of a page cannot be read; its page may be fine."""


def quote_entries(body: bytes, names: Collection[str], faults: Mapping[int, str]) -> tuple[Quarantined, ...]:
    """Return the entries of a well-formed page that have faults, in order.

    Args:
        body: the page.
        names: the entries' qualified names.
        faults: what is wrong with an entry, under its position in the page.
    """
    wanted = {name.removeprefix("{") for name in names}
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator="}")
    begins: list[int] = []
    ends: list[int] = []

    def note_begin(name: str, _: object) -> None:
        if name in wanted:
            begins.append(parser.CurrentByteIndex)

    def note_end(name: str) -> None:
        if name in wanted:
            at = parser.CurrentByteIndex  # before the closing tag, but behind an element that has none
            opening, closing = _OPENING.match(body, begins[-1]), _CLOSING.match(body, at)
            ends.append(closing.end() if opening and closing and opening[1] == closing[1] else at)

    parser.StartElementHandler = note_begin
    parser.EndElementHandler = note_end
    parser.Parse(body, True)  # noqa: FBT003 - the parser's own way to say that this is all
    return tuple(
        Quarantined(position, body[begins[position] : ends[position]][:SNIPPET_LIMIT], error)
        for position, error in sorted(faults.items())
    )
