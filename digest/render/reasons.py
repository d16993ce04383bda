"""Why a paper is there, in words: `"GPU" in title, author Caroline Trippel`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.papers import Field
from digest.query.words import fold, split_words, stem
from digest.render.cleaning import clean_text, shorten
from digest.render.marking import show_plain, show_segments

if TYPE_CHECKING:
    from digest.messages import DigestEntry
    from digest.papers import Paper, Reason

_PLACES = {
    Field.AUTHORS: "author {}",
    Field.TITLE: '"{}" in title',
    Field.ABSTRACT: '"{}" in abstract',
    Field.COMMENT: '"{}" in comment',
    Field.JOURNAL_REF: '"{}" in journal reference',
    Field.REPORT_NO: "report number {}",
    Field.DOIS: "DOI {}",
    Field.ID: "id {}",
    Field.CATEGORIES: "in {}",
}
"""Every field a reason can point into, the most telling first."""

_NEEDS_WHOLE = re.compile(r"[$\\]")
"""Where TeX may have begun before a part of a text."""

_QUOTED = (Field.TITLE, Field.ABSTRACT, Field.COMMENT, Field.JOURNAL_REF)
_LONGEST_PHRASE = 48
_MOST_WORDS = 3


def describe_reasons(entry: DigestEntry) -> tuple[str, ...]:
    """Say what was met and where, the most telling first, each phrase once, whatever its words end in.

    A category says little next to a word or a name, so it is named only where nothing else was met.
    """
    found = _find_phrases(entry)
    if any(field is not Field.CATEGORIES for field, _ in found):
        found = [(field, phrase) for field, phrase in found if field is not Field.CATEGORIES]
    words: dict[str, str] = {}
    for field, phrase in sorted(found, key=lambda one: list(_PLACES).index(one[0])):
        # A phrase met in the title is not told again for the abstract.
        key = _stem_words(phrase) if field in _QUOTED else f"{field} {phrase}"
        words.setdefault(key, _PLACES[field].format(shorten(phrase, _LONGEST_PHRASE)))
    return tuple(words.values())


def _stem_words(phrase: str) -> str:
    """Return a phrase as it is compared: `neural networks` and `Neural network` are one."""
    return " ".join(stem(fold(word.text)) for word in split_words(phrase)) or phrase


def summarise_reasons(entry: DigestEntry) -> str:
    """Say the first few reasons in one line, and how many more there are."""
    words = describe_reasons(entry)
    more = f", +{len(words) - _MOST_WORDS} more" if len(words) > _MOST_WORDS else ""
    return ", ".join(words[:_MOST_WORDS]) + more


def find_matched_authors(entry: DigestEntry) -> frozenset[int]:
    """Return which authors (0-based) were asked for."""
    return frozenset(
        span.index for reason in entry.reasons for span in reason.spans if span.field is Field.AUTHORS
    )


def _find_phrases(entry: DigestEntry) -> list[tuple[Field, str]]:
    return [
        (field, phrase)
        for reason in entry.reasons
        for field, index in dict.fromkeys((span.field, span.index) for span in reason.spans)
        for phrase in _read_phrases(entry.paper, reason, field, index)
    ]


def _read_phrases(paper: Paper, reason: Reason, field: Field, index: int) -> tuple[str, ...]:
    text = _read_field(paper, field, index)
    if field is Field.AUTHORS:
        return (show_plain(text),)
    spans = [span for span in reason.spans if span.field is field and span.index == index]
    return tuple(filter(None, (_show_part(text, span.start, span.end) for span in spans)))


def _show_part(text: str, start: int, end: int) -> str:
    """Return a part of a raw text as the whole shows it: `10⁻³` of `$10^{-3}$`, though the dollars are not met."""
    if not _NEEDS_WHOLE.search(text):
        return show_plain(text[start:end])
    return clean_text("".join(part.text for part in show_segments(text, ((start, end),)) if part.is_marked))


def _read_field(paper: Paper, field: Field, index: int) -> str:
    match field:
        case Field.AUTHORS:
            values = [author.name for author in paper.authors]
        case Field.CATEGORIES:
            values = list(paper.categories)
        case Field.DOIS:
            values = list(paper.dois)
        case Field.ID:
            values = [str(paper.id)]
        case _:
            values = [str(getattr(paper, field.value))]
    return values[index] if index < len(values) else ""
