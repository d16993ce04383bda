"""Decides what shape a digest takes: which papers come first and why, under which headings, and in which form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from digest.model.announcements import Kind
from digest.model.messages import Form, Group
from digest.model.papers import Field
from digest.model.places import find_place
from digest.model.subscriptions import Grouping

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from digest.model.messages import DigestEntry
    from digest.model.papers import ArxivId

    _Rank: TypeAlias = tuple[int, int, int, int, int]

MOST_WITH_TWO, MOST_WITH_ONE = 8, 25
"""Up to so many papers are shown with two sentences each, and with one; of more than that the title is shown."""

READ_FIRST = 5
"""Papers that come before all headings of a long digest."""

_SMALL = 3
"""A category with fewer papers has no heading of its own, but its archive may have one."""

KIND_ORDER = (Kind.NEW, Kind.KNOWN, Kind.CROSS_LIST, Kind.REPLACEMENT, Kind.METADATA, Kind.WITHDRAWAL)
"""Kinds as a digest tells them; of a paper with several changes the first one counts."""

_HEADINGS = {
    Kind.NEW: "New",
    Kind.KNOWN: "Recent papers",
    Kind.CROSS_LIST: "Cross-listed",
    Kind.REPLACEMENT: "New versions",
    Kind.METADATA: "New versions",
    Kind.WITHDRAWAL: "Withdrawn",
}
_NEWS = (Kind.NEW, Kind.KNOWN, Kind.CROSS_LIST)
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}
_SEVERAL_WORDS = re.compile(r'\w+:=?"[^"]*\s[^"]*"')
"""A clause on a phrase, or on a name of several parts, as canonical text."""

_NAMES = ("au:", "author:")
_AUTHORS, _TITLE = Field.AUTHORS, Field.TITLE  # each mention of an enumeration's member is a call
_PLACES = {kind: place for place, kind in enumerate(KIND_ORDER)}


def arrange(
    entries: Iterable[DigestEntry], group_by: Grouping, queries: Sequence[str], show: int | None = None
) -> tuple[tuple[DigestEntry, ...], tuple[Group, ...]]:
    """Return the entries of a digest in the order it tells them, and the headings they have.

    Papers that are new to the reader come before new versions and withdrawals.

    Args:
        entries: one of each paper, in any order.
        group_by: what the headings of papers that are new to the reader are.
        queries: names of the saved queries in the subscription's order.
        show: how many are shown at most; None for all. The others come last, under headings of their own.
    """
    ranked = rank_entries(entries)
    news = [entry for entry in ranked if entry.kind in _NEWS]
    changes = sorted((entry for entry in ranked if entry.kind not in _NEWS), key=lambda one: _PLACES[one.kind])
    shown = news[:show]
    form = Form.TITLE
    if len(shown) <= MOST_WITH_ONE:
        form = Form.TWO_SENTENCES if len(shown) <= MOST_WITH_TWO else Form.SENTENCE
    groups: list[tuple[Group, list[DigestEntry]]] = []
    if form is Form.TITLE:
        first = [entry for entry in shown if say_why_first(entry)][:READ_FIRST]
        if first:
            reasons = tuple(map(say_why_first, first))
            groups.append((Group("Read first", len(first), Form.SENTENCE, reasons=reasons), first))
        shown = [entry for entry in shown if entry not in first]
    for part in (shown, news[show:] if show is not None else []):
        groups += _divide(part, group_by, queries, form)
    for title, members in groupby(changes, key=lambda entry: _HEADINGS[entry.kind]):
        listed = list(members)
        groups.append((Group(title, len(listed), form), listed))
    return tuple(entry for _, members in groups for entry in members), tuple(group for group, _ in groups)


def _divide(
    entries: Sequence[DigestEntry], group_by: Grouping, queries: Sequence[str], form: Form
) -> list[tuple[Group, list[DigestEntry]]]:
    """Put papers that are new to the reader under saved queries, kinds, or, if they are many, categories."""
    find_heading: Callable[[DigestEntry], str]
    if group_by is Grouping.QUERY:
        places = {name: place for place, name in enumerate(queries)}
        find_heading = _find_query
    elif form is Form.TITLE:
        find_heading = _name_categories(entries)
        totals = Counter(map(find_heading, entries))
        places = {name: -total for name, total in totals.items() if name != _OTHERS}
    else:
        places = {_HEADINGS[kind]: place for kind, place in _PLACES.items() if kind in _NEWS}
        find_heading = lambda entry: _HEADINGS[entry.kind]  # noqa: E731 - as the others
    by_heading: dict[str, list[DigestEntry]] = defaultdict(list)
    for entry in entries:
        by_heading[find_heading(entry)].append(entry)
    titles = sorted(by_heading, key=lambda title: (places.get(title, len(entries)), title))
    is_name = group_by is Grouping.QUERY or form is Form.TITLE
    return [
        (Group(title, len(by_heading[title]), form, is_name and title != _OTHERS), by_heading[title])
        for title in titles
    ]


_OTHERS = "Others"


def _find_query(entry: DigestEntry) -> str:
    """Return the saved query a paper is shown under: the first it matches, in the subscription's order."""
    return entry.queries[0] if entry.queries else _OTHERS


def _name_categories(entries: Iterable[DigestEntry]) -> Callable[[DigestEntry], str]:
    """Return what names the heading of a paper: its primary category, or, if few have that, its archive."""
    primary = Counter(entry.paper.primary_category for entry in entries)
    archives: Counter[str] = Counter()
    for category, total in primary.items():
        archives[category.partition(".")[0]] += total * (total < _SMALL)

    def name(entry: DigestEntry) -> str:
        category = entry.paper.primary_category
        if primary[category] >= _SMALL:
            return category
        archive = category.partition(".")[0]
        return archive if archives[archive] >= _SMALL else _OTHERS

    return name


def rank_entries(entries: Iterable[DigestEntry]) -> list[DigestEntry]:
    """Return entries, the most telling first; equal ones of several announcements take turns, newest first."""

    def find_number(entry: DigestEntry) -> tuple[int, int, ArxivId]:
        month, number = entry.paper.id.announcement_order
        return -month, -number, entry.paper.id

    turns: Counter[object] = Counter()
    ranked = []
    for entry in sorted(entries, key=find_number):
        rank = _rank(entry)
        turns[rank, entry.announced] += 1
        ranked.append((rank, turns[rank, entry.announced], find_number(entry), entry))
    return [entry for *_, entry in sorted(ranked, key=lambda one: one[:3])]


def _rank(entry: DigestEntry) -> _Rank:
    """Rank an entry, the smallest first, by followed authors, saved queries, title, where it appears, clauses."""
    names = words = 0
    for reason in entry.reasons:
        fields = [span.field for span in reason.spans]
        if _AUTHORS in fields:
            names = max(names, 1 + _names_somebody_whole(reason.clause))
        if _TITLE in fields:
            words = max(words, 1 + _has_several_words(reason.clause))
    return -names, -len(entry.queries), -words, -bool(find_place(entry.paper)), -entry.clauses


def say_why_first(entry: DigestEntry) -> str:
    """Say why a paper is to be read before others; "" for no reason."""
    spans = [span for reason in entry.reasons for span in reason.spans]
    authors = dict.fromkeys(span.index for span in spans if span.field is _AUTHORS)
    said = ["by " + ", ".join(entry.paper.authors[index].name for index in authors)] if authors else []
    if len(entry.queries) > 1:
        number = len(entry.queries)
        said.append(f"in {_NUMBERS.get(number, number)} of your queries")
    if any(span.field is _TITLE for span in spans):
        said.append("your words in its title")
    if place := find_place(entry.paper):
        said.append(place)
    return ", ".join(said)


@lru_cache(maxsize=2**14)
def _has_several_words(clause: str) -> bool:
    return _SEVERAL_WORDS.fullmatch(clause) is not None


@lru_cache(maxsize=2**14)
def _names_somebody_whole(clause: str) -> bool:
    return clause.startswith(_NAMES) and _has_several_words(clause)
