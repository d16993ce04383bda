"""The line of authors: names exact, affiliations behind them, long lists counted.

Everyone a query asked for is named, wherever they stand in the list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.papers import Field
from digest.render.cleaning import clean_text, shorten
from digest.render.marking import find_spans, show_html, show_plain
from digest.render.reasons import find_matched_authors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.messages import DigestEntry

_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")
"""Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and the other scripts written from right to left."""

_LONGEST_NAME = 80
_LONGEST_AFFILIATION = 70
_MOST_MATCHED = 3


def choose_authors(entry: DigestEntry, most: int) -> tuple[int, ...]:
    """Return which authors (0-based) a line names: the first `most`, then those asked for.

    One author more than `most` is named too: "+1 more" would take as much room.
    """
    total = len(entry.paper.authors)
    if total <= most + 1:
        return tuple(range(total))
    beyond = sorted(index for index in find_matched_authors(entry) if most <= index < total)
    return (*range(most), *beyond[:_MOST_MATCHED])


def write_authors(entry: DigestEntry, most: int) -> str:
    """Write the authors on one line: `Nick Lindsay (Yale University), Caroline Trippel, +2 more`."""
    chosen = choose_authors(entry, most)
    words = [_write_author(entry, index) for index in chosen]
    return ", ".join(words + _count_more(entry, chosen))


def write_authors_html(entry: DigestEntry, most: int) -> Markup:
    """Write the authors as HTML, names isolated from the direction of the text around them."""
    chosen = choose_authors(entry, most)
    words = [_write_author_html(entry, index) for index in chosen]
    return Markup(", ").join([*words, *map(Markup.escape, _count_more(entry, chosen))])


def list_authors(entry: DigestEntry) -> tuple[str, ...]:
    """Write every author, none left out, each with their affiliations in full."""
    return tuple(
        f"{show_plain(author.name)} ({'; '.join(map(show_plain, author.affiliations))})"
        if author.affiliations
        else show_plain(author.name)
        for author in entry.paper.authors
    )


def _write_author(entry: DigestEntry, index: int) -> str:
    author = entry.paper.authors[index]
    name = shorten(show_plain(author.name), _LONGEST_NAME)
    if not author.affiliations:
        return name
    return f"{name} ({_write_affiliations(author.affiliations)})"


def _write_author_html(entry: DigestEntry, index: int) -> Markup:
    author = entry.paper.authors[index]
    spans = find_spans(entry, Field.AUTHORS, index)
    name = show_html(author.name, spans) if len(author.name) <= _LONGEST_NAME else _shorten_name(author.name)
    if not author.affiliations:
        return _isolate(name)
    return Markup("{} ({})").format(
        _isolate(name), _isolate(Markup.escape(_write_affiliations(author.affiliations)))
    )


def _isolate(text: Markup) -> Markup:
    """Keep text that runs from right to left from turning what stands beside it."""
    return Markup("<bdi>{}</bdi>").format(text) if _RIGHT_TO_LEFT.search(text) else text


def _shorten_name(name: str) -> Markup:
    return Markup.escape(shorten(show_plain(name), _LONGEST_NAME))


def _write_affiliations(affiliations: Sequence[str]) -> str:
    return clean_text(shorten("; ".join(map(show_plain, affiliations)), _LONGEST_AFFILIATION))


def _count_more(entry: DigestEntry, chosen: Sequence[int]) -> list[str]:
    more = len(entry.paper.authors) - len(chosen)
    return [f"+{more:,} more"] if more else []
