"""Chooses what is shown of an abstract: one sentence, cut between words where it is long.

The sentence is the one that matched best. Where nothing matched in the abstract it is the first that says what the
authors did ("we show …"), else the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from digest.render.text import Spans, clean_markup, find_cut, show_segments
from digest.tex import Segment

LONGEST_SNIPPET = 200

OPENINGS = (
    *("we show", "we find", "we present", "we propose", "we introduce", "we demonstrate", "we prove"),
    *("we report", "we develop", "we describe", "we study", "we investigate", "we derive", "we obtain"),
    *("we measure", "we provide", "we give", "this paper presents", "this paper proposes", "results show"),
)
"""Where a sentence begins to say what the authors did."""

_OPENING = re.compile(rf"\b(?:{'|'.join(OPENINGS)})\b", re.IGNORECASE)
_DANGLING = re.compile(
    r"\(\w+\)|(?:also|conversely|finally|furthermore|hence|however|in addition|it|moreover|nevertheless|such|that"
    r"|then|therefore|these|they|thus)\b",
    re.IGNORECASE,
)
"""How a sentence begins that leans on the one before it."""

_ENDING = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“\u2018(\[]*[^\W_a-z])")
_NO_ENDING = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|resp|approx|al|figs?|eqs?|secs?|refs?|no|dr|prof|st|ca|w\.r\.t)"
    r"|(?<![\w$])[A-Z])\.\Z",
    re.IGNORECASE,
)
"""Text up to a full stop that ends no sentence: a short form, or a letter that stands for a name."""

_LONGEST_SHORT_FORM = 8
_BEFORE, _BEHIND = "…\u00a0", "\u00a0…"
"""A no-break space keeps the ellipsis from a line of its own."""
_LOOSE = " ,;:-–—"
"""What does not stand before an ellipsis."""

_LATE = 40
"""A sentence is shown from its start where an opening comes no later than this."""


class Range(NamedTuple):
    """A part of a plain text, from `start` to `end` (exclusive)."""

    start: int
    end: int

    def meets(self, other: Range) -> bool:
        """Whether both have a character in common."""
        return self.start < other.end and other.start < self.end


def choose_snippet(
    title: str,  # noqa: ARG001 - a sentence is to be weighed by the title's words
    abstract: str,
    spans_of_reasons: Iterable[Spans] = (),
    *,
    sentences: int = 1,
    limit: int = LONGEST_SNIPPET,
) -> tuple[Segment, ...]:
    """Return the sentences of an abstract that say most, as plain text in which what matched is marked.

    Args:
        title: the raw title.
        abstract: the raw abstract.
        spans_of_reasons: for each reason to match, its places in the raw abstract.
        sentences: how many may be shown, 1 or 2; they keep the abstract's order.
        limit: how many characters each of them may have, ellipses included.

    Returns:
        Segments of one run of text; () for an abstract of nothing.
    """
    reasons = [spans for spans in dict.fromkeys(spans_of_reasons) if spans]
    plain, marks = _join(show_segments(abstract, tuple(sorted({span for spans in reasons for span in spans}))))
    found = [_join(show_segments(abstract, spans))[1] for spans in reasons] if len(reasons) > 1 else [marks]
    left = list(split_sentences(plain))
    chosen: list[tuple[Range, Range]] = []
    while left and len(chosen) < sentences:
        met = [mark for mark in marks if any(mark.meets(one) for one in left)]
        if met:
            sentence = max(left, key=lambda one: _rank(plain, one, marks, found))
            focus = _find_focus([mark for mark in met if mark.meets(sentence)], limit)
            lead = (limit - (focus.end - focus.start)) // 2
        else:
            sentence, begin = _choose_unmatched(plain, left)
            focus, lead = Range(begin, min(begin + limit - _LATE, sentence.end)), 0
        shown = _choose_window(plain, sentence, Range(max(focus.start, sentence.start), focus.end), lead, limit)
        chosen.append((sentence, shown))
        left.remove(sentence)
    return _join_shown(plain, marks, sorted(chosen))


def split_sentences(plain: str) -> tuple[Range, ...]:
    """Return where each sentence of a plain text stands, without the blanks between them."""
    sentences: list[Range] = []
    start = 0
    for ending in _ENDING.finditer(plain):
        stop = ending.start() + 1
        if not _NO_ENDING.search(plain[max(start, stop - _LONGEST_SHORT_FORM) : stop]):
            sentences.append(Range(start, start + len(plain[start : ending.end()].rstrip())))
            start = ending.end()
    rest = Range(start, len(plain.rstrip()))
    return (*sentences, rest) if rest.start < rest.end else tuple(sentences)


def _join(segments: Iterable[Segment]) -> tuple[str, list[Range]]:
    """Return the text of segments, cleaned, and where it is marked."""
    plain, marks = "", []
    for segment in segments:
        start, plain = len(plain), plain + clean_markup(segment.text)
        if segment.is_marked and start < len(plain):
            marks.append(Range(start, len(plain)))
    return plain, marks


def _rank(
    plain: str, sentence: Range, marks: Sequence[Range], found: Sequence[Sequence[Range]]
) -> tuple[int, bool, bool, int]:
    """Rank a sentence by how many reasons it meets, whether it says what was done, stands alone, and by places."""
    reasons = sum(any(mark.meets(sentence) for mark in ranges) for ranges in found)
    places = sum(mark.meets(sentence) for mark in marks)
    says_what = bool(places and _OPENING.search(plain, *sentence))
    return reasons, says_what, not _DANGLING.match(plain, *sentence), places


def _choose_unmatched(plain: str, sentences: Sequence[Range]) -> tuple[Range, int]:
    """Return the first sentence that says what was done, and where it does; else the last one and its start."""
    for sentence in sentences:
        if opening := _OPENING.search(plain, *sentence):
            return sentence, opening.start()
    return sentences[-1], sentences[-1].start


def _find_focus(marks: Sequence[Range], limit: int) -> Range:
    """Return the first part of a sentence in which most of its marks stand close enough to be shown together."""
    room = limit - len(_BEFORE) - len(_BEHIND)
    groups = [
        [mark for mark in marks[first:] if mark is one or mark.end <= one.start + room]
        for first, one in enumerate(marks)
    ]
    group = max(groups, key=len)
    return Range(group[0].start, group[-1].end)


def _choose_window(plain: str, sentence: Range, focus: Range, lead: int, limit: int) -> Range:
    """Return what is shown of a sentence: all of it, its beginning, its end, or what stands around the focus."""
    start, end = sentence
    if end - start <= limit:
        return sentence
    room = limit - len(_BEHIND)
    if focus.end - start <= room:
        return Range(start, start + find_cut(plain[start:end], room))
    begin = max(start, min(focus.start - lead, end - room))
    if begin > start and not plain[begin - 1].isspace():
        blank = plain.find(" ", begin, focus.start)
        begin = blank + 1 if blank >= 0 else focus.start
    if end - begin <= room:
        return Range(begin, end)
    return Range(begin, begin + find_cut(plain[begin:end], room - len(_BEFORE)))


def _join_shown(plain: str, marks: Sequence[Range], chosen: Sequence[tuple[Range, Range]]) -> tuple[Segment, ...]:
    """Return what is shown of each sentence as one run, with an ellipsis wherever something is missing."""
    parts: list[Segment] = []
    for index, (sentence, shown) in enumerate(chosen):
        if index:
            before = chosen[index - 1]
            is_cut = before[1].end < before[0].end or shown.start > sentence.start
            skips = not is_cut and bool(plain[before[0].end : sentence.start].strip())
            parts.append(Segment(_BEHIND + " " if skips else " ", is_marked=False))
        parts += _mark(plain, marks, shown, sentence)
    runs = groupby((part for part in parts if part.text), key=lambda part: part.is_marked)
    return tuple(Segment("".join(part.text for part in run), is_marked) for is_marked, run in runs)


def _mark(plain: str, marks: Sequence[Range], shown: Range, sentence: Range) -> list[Segment]:
    """Return a part of a sentence as segments, with ellipses where it was cut."""
    parts = [Segment(_BEFORE if shown.start > sentence.start else "", is_marked=False)]
    at, last = shown.start, shown.start + len(plain[slice(*shown)].rstrip(_LOOSE))
    last = shown.end if shown.end == sentence.end else last
    for mark in marks:
        if mark.meets(Range(at, last)):
            parts.append(Segment(plain[at : max(at, mark.start)], is_marked=False))
            parts.append(Segment(plain[max(at, mark.start) : min(mark.end, last)], is_marked=True))
            at = min(mark.end, last)
    parts.append(Segment(plain[at:last] + (_BEHIND if shown.end < sentence.end else ""), is_marked=False))
    return parts
