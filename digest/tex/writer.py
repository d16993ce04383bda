"""Writes pieces as plain Unicode, cut at highlights, and as HTML."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple

from digest.model.characters import clean_text
from digest.tex.reader import parse_tex
from digest.tex.tokens import DROPPED, PieceKind, Segment, Tags, TexPiece

_NEEDS_READING = re.compile(rf"[\\$~{DROPPED}\ud800-\udfff]|--|``")
_KEPT_TEXTS = 1_024
"""Texts kept as they are shown: one paper is shown in several media and to many readers."""

_WHITE = re.compile(r"[^\S\u00a0]+")
_ODD_WHITE = re.compile(r"[^\S\u00a0 ]|  ")
_ELEMENTS = {PieceKind.SUPERSCRIPT: "sup", PieceKind.SUBSCRIPT: "sub"}


class _Cut(NamedTuple):
    """A piece, or the part of one, that is highlighted as a whole or not at all."""

    piece: TexPiece
    text: str
    is_marked: bool


class _Marks:
    """Highlights as disjoint ranges of the raw text, in order."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(spans):
            if start >= end:
                continue
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def touch(self, start: int, end: int) -> bool:
        """Whether a highlight covers a part of `start` to `end`.

        If they are equal: whether it surrounds the place.
        """
        last = bisect_left(self.starts, end) - 1
        return last >= 0 and self.ends[last] > start

    def edges_within(self, start: int, end: int) -> list[int]:
        """Edges of highlights between `start` and `end`, and these two."""
        edges: set[int] = set()
        for places in (self.starts, self.ends):
            first = bisect_right(places, start)
            last = bisect_left(places, end)
            edges.update(places[first:last])
        return [start, *sorted(edges), end]


def to_plain(text: str) -> str:
    """Write TeX-flavoured text as readable Unicode in normal form C.

    White space is folded to single blanks.
    """
    if _NEEDS_READING.search(text):
        text = "".join([piece.text for piece in parse_tex(text)])
    return unicodedata.normalize("NFC", " ".join(text.split()))


@lru_cache(_KEPT_TEXTS)
def show_plain(text: str) -> str:
    """Return raw text as readable Unicode on one line, without characters that must not be shown."""
    return clean_text(to_plain(text))


def to_segments(text: str, spans: Sequence[tuple[int, int]] = ()) -> tuple[Segment, ...]:
    """Write as `to_plain` does, and cut at the edges of highlights.

    Args:
        spans: highlighted ranges of code points of `text`, in any order, overlapping or not. One
            that covers a part of what is converted as a whole marks all of it.

    Returns:
        Segments, marked and not in turn, each in normal form C; joined and in that form they are
        `to_plain(text)`.
    """
    marks = _Marks(spans)
    if not marks.starts:
        plain = to_plain(text)
        return (Segment(plain, is_marked=False),) if plain else ()
    folded = _fold(_cut(parse_tex(text), marks))
    segments: list[Segment] = []
    for is_marked, group in groupby(folded, key=attrgetter("is_marked")):
        joined = "".join([segment.text for segment in group])
        segments.append(Segment(unicodedata.normalize("NFC", joined), is_marked))
    return tuple(segments)


def to_html(text: str, spans: Sequence[tuple[int, int]] = ()) -> str:
    """Write TeX-flavoured text as an HTML fragment, in which all is escaped but our own elements.

    Elements: `<sup> <sub> <i> <b> <code>`, and `<mark>` around highlights. White space is folded to
    a blank, or to a line feed if it contains one (between the paragraphs of an abstract).
    """
    if not spans and not _NEEDS_READING.search(text):
        return _write_text(text).strip()
    cuts = _cut(parse_tex(text), _Marks(spans))
    return _write_html(cuts).strip()


def _cut(pieces: Sequence[TexPiece], marks: _Marks) -> Iterator[_Cut]:
    for piece in pieces:
        if piece.kind is not PieceKind.TEXT:
            yield _Cut(piece, piece.text, marks.touch(piece.start, piece.end))
            continue
        first = piece.start
        for start, end in pairwise(marks.edges_within(first, piece.end)):
            text = piece.text[start - first : end - first]
            yield _Cut(piece, text, marks.touch(start, end))


def _fold(cuts: Iterator[_Cut]) -> Iterator[Segment]:
    """Fold white space; a blank is highlighted with the text it follows and precedes."""
    blank: Segment | None = None
    has_begun = False
    for cut in cuts:
        words = cut.text.split()
        if not cut.text:
            continue
        if not words or cut.text[0].isspace():
            blank = blank or Segment(" ", cut.is_marked)
        if not words:
            continue
        if blank and has_begun:
            yield blank
        yield Segment(" ".join(words), cut.is_marked)
        has_begun = True
        blank = Segment(" ", cut.is_marked) if cut.text[-1].isspace() else None


def _write_html(cuts: Iterator[_Cut]) -> str:
    written: list[str] = []
    for is_marked, group in groupby(cuts, key=_by_mark):
        runs = [_write_tagged(tags, run) for tags, run in groupby(group, key=_by_tags)]
        inner = "".join(runs)
        written.append(f"<mark>{inner}</mark>" if is_marked and inner else inner)
    return "".join(written)


def _by_mark(cut: _Cut) -> bool:
    return cut.is_marked


def _by_tags(cut: _Cut) -> Tags:
    return cut.piece.tags


def _by_element(cut: _Cut) -> str | None:
    return _ELEMENTS.get(cut.piece.kind)


def _write_tagged(tags: Tags, cuts: Iterator[_Cut]) -> str:
    written: list[str] = []
    for element, run in groupby(cuts, key=_by_element):
        if element is None:
            written.append(_write_text("".join([cut.text for cut in run])))
            continue
        for cut in run:
            parts = (_Cut(piece, piece.text, is_marked=False) for piece in cut.piece.inside)
            written.append(f"<{element}>{_write_html(parts)}</{element}>")
    inner = "".join(written)
    if not inner.strip():
        return inner
    for tag in reversed(tags):
        inner = f"<{tag}>{inner}</{tag}>"
    return inner


def _write_text(text: str) -> str:
    if _ODD_WHITE.search(text):
        text = _WHITE.sub(lambda found: "\n" if "\n" in found[0] else " ", text)
    # Normal form C before there is markup: it would fuse a `>` of ours with a stroke after it.
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return escape(text)
