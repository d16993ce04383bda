"""Text of a paper with what the queries met in it: segments, and HTML with `<mark>`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from digest.render.cleaning import clean_markup, clean_text, find_cut
from digest.tex import to_html, to_plain, to_segments

if TYPE_CHECKING:
    from digest.messages import DigestEntry
    from digest.papers import Field
    from digest.tex import Segment

    Spans = tuple[tuple[int, int], ...]

_KEPT_TEXTS = 4_096
"""Reading TeX costs most of rendering, and one paper is shown in several media and to many readers."""


def find_spans(entry: DigestEntry, field: Field, index: int = 0) -> tuple[tuple[int, int], ...]:
    """Return the places of one field that met any clause, as raw offsets in order."""
    return tuple(
        sorted(
            {
                (span.start, span.end)
                for reason in entry.reasons
                for span in reason.spans
                if span.field is field and span.index == index
            }
        )
    )


@lru_cache(_KEPT_TEXTS)
def show_plain(text: str) -> str:
    """Return raw text as readable Unicode on one line."""
    return clean_text(to_plain(text))


@lru_cache(_KEPT_TEXTS)
def show_html(text: str, spans: Spans = ()) -> Markup:
    """Return raw text as HTML, with what was met in `<mark>`."""
    return Markup(clean_markup(to_html(text, spans)))  # noqa: S704 - to_html escapes every leaf


def show_paragraphs(text: str, spans: Spans = ()) -> tuple[Markup, ...]:
    """Return an abstract as HTML, paragraph by paragraph."""
    shown: list[Markup] = []
    start = 0
    for line in text.split("\n"):
        shown.append(show_html(line, _shift(spans, start, len(line))))
        start += len(line) + 1
    return tuple(paragraph.strip() for paragraph in shown if paragraph.strip())


@lru_cache(_KEPT_TEXTS)
def show_segments(text: str, spans: Spans) -> tuple[Segment, ...]:
    """Return raw text as readable Unicode, cut where what was met begins and ends."""
    return to_segments(text, spans)


def show_beginning(text: str, spans: Spans, limit: int) -> Markup:
    """Return the first `limit` characters of an abstract as HTML on one line, cut between words."""
    segments = show_segments(text, spans)
    plain = "".join(segment.text for segment in segments)
    if len(plain) <= limit:
        return show_html(" ".join(text.split("\n")), spans)
    left = find_cut(plain, limit)
    parts: list[Markup] = []
    for segment in segments:
        kept = segment.text[:left]
        left -= len(kept)
        parts.append(Markup("<mark>{}</mark>").format(kept) if segment.is_marked and kept else escape(kept))
    return Markup(clean_markup(Markup("").join(parts).rstrip(" ,;:"))) + " …"  # noqa: S704 - escaped above


def _shift(spans: Spans, start: int, length: int) -> tuple[tuple[int, int], ...]:
    inside = ((max(0, first - start), min(length, last - start)) for first, last in spans)
    return tuple((first, last) for first, last in inside if first < last)
