"""What Slack's templates say of a paper in its own marks: the title as a link, the authors; what was met is bold.

Slack's mrkdwn has no mark within a link's words, and knows bold only between blanks. So a title becomes
several links to one page, and the words that a query met are bold as wholes.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from digest.papers import Field
from digest.render.authors import choose_authors
from digest.render.cleaning import clean_text, shorten
from digest.render.marking import find_spans, show_plain, show_segments
from digest.render.mrkdwn import Mrkdwn, escape_text, link
from digest.render.presentation import LONGEST_TITLE
from digest.render.reasons import find_matched_authors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from digest.render.presentation import PaperView
    from digest.tex import Segment

_FEW = 3
"""Authors named, besides those asked for: four are named as well, since "+1 more" would take as much room."""

_LONGEST_NAME = 60


def link_title(paper: PaperView) -> Mrkdwn:
    """Return a paper's title as a link to its page, with what was met in bold; at most 300 characters."""
    title = paper.entry.paper.title
    words = list(_split_words(show_segments(title, find_spans(paper.entry, Field.TITLE))))
    if len(" ".join(word for word, _ in words)) > LONGEST_TITLE:
        words = list(_keep_words(words, len(shorten(paper.full_title, LONGEST_TITLE)) - 2))
        words.append(("…", False))
    words = words or [(paper.id, False)]  # a title of nothing that can be shown
    runs = groupby(words, key=lambda word: word[1])
    linked = ((link(paper.url, " ".join(word for word, _ in run)), is_met) for is_met, run in runs)
    return Mrkdwn(" ".join(f"*{text}*" if is_met else text for text, is_met in linked))


def name_authors(paper: PaperView, few: int = _FEW) -> Mrkdwn:
    """Return the first authors by name alone, and whom a query asked for in bold; the others are counted."""
    chosen, asked_for = choose_authors(paper.entry, few), find_matched_authors(paper.entry)
    authors = paper.entry.paper.authors
    names = [escape_text(shorten(show_plain(authors[index].name), _LONGEST_NAME)) for index in chosen]
    words = [f"*{name}*" if index in asked_for else name for index, name in zip(chosen, names, strict=True)]
    more = len(authors) - len(chosen)
    return Mrkdwn(", ".join([*filter(None, words), *([f"+{more:,} more"] if more else [])]))


def _split_words(segments: Iterable[Segment]) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text, and whether any of their letters was met."""
    word, is_met = "", False
    for segment in segments:
        for char in segment.text:
            if not char.isspace():
                word, is_met = word + char, is_met or segment.is_marked
                continue
            if cleaned := clean_text(word):
                yield cleaned, is_met
            word, is_met = "", False
    if cleaned := clean_text(word):
        yield cleaned, is_met


def _keep_words(words: Iterable[tuple[str, bool]], room: int) -> Iterator[tuple[str, bool]]:
    """Yield the first words that have room; the last one may be cut."""
    for word, is_met in words:
        if room <= 0:
            return
        yield word[:room], is_met
        room -= len(word) + 1
