"""Decides what shape a digest takes: which papers come first and why, under which headings, and in which form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from digest.model.announcements import Kind
from digest.model.messages import HIDDEN_LIBRARY, FirstReason, Form, Group, NearLibrary, WhyFirst
from digest.model.papers import Field
from digest.model.subscriptions import Grouping
from digest.render.revisions import LONGEST_MINOR, count_changed, view_revisions
from digest.tex import show_plain
from digest.tex.places import find_place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from digest.model.libraries import Near
    from digest.model.messages import DigestEntry
    from digest.model.papers import ArxivId

    _Rank: TypeAlias = tuple[int, ...]

MOST_WITH_TWO, MOST_WITH_ONE = 8, 25
"""Up to that many papers are shown with two sentences each, and with one; of more than that the title is shown."""

READ_FIRST = 5
"""Papers that come before all headings of a long digest."""

_OTHERS, _READ_LAST = "Others", "Read last"
_SMALL = 3
"""A category with fewer papers has no heading of its own: such papers are listed under "Others"."""

KIND_ORDER = (
    Kind.NEW,
    Kind.KNOWN,
    Kind.CROSS_LIST,
    Kind.REPLACEMENT,
    Kind.METADATA,
    Kind.WITHDRAWAL,
)
"""Of a paper with several changes the first of these counts."""

_HEADINGS = {
    Kind.NEW: "New",
    Kind.KNOWN: "Recent papers",
    Kind.CROSS_LIST: "Cross-listed",
    Kind.REPLACEMENT: "Older papers, new to you",
    Kind.METADATA: "Older papers, new to you",
}
"""Headings of papers that are new to the reader, in order."""

_CHANGES = ("New versions", Form.CHANGE), ("New versions", Form.MINOR), ("Withdrawn", Form.CHANGE)
"""Headings of the others, in order."""

_FEW_WORDS = 5
"""No more words of the abstract are changed by a minor change."""

_MINOR_PARTS = {"comment", "journal reference", "DOI", "categories", "abstract"}
_WEIGHTY = re.compile(
    r"(?i)\b(?:error|errat|corrigend|incorrect|wrong|mistake|flaw|gap|retract|major|substantial|significant|exten[ds]"
    r"|expan|rewrit|additional|appendi|experiment|result|proof|theorem)"
)
"""What makes more than a minor change of a comment."""

_FEW_REASONS, _FEW_AUTHORS = 2, 3  # of a collaboration a query may ask for hundreds
_QUOTED = re.compile('[“„"]([^“”„"]*)[”“"]')
_OFTEN = 3
"""An abstract that has the words of a query so often is about them; more often says no more."""


@dataclass(frozen=True, slots=True)
class Precedence:
    """What a subscription puts first and last, by the ids of papers.

    Attributes:
        first: the query of `read_first` that each paper matches.
        last: those that `read_last` matches.
        nearness: how near each paper is to the subscription's library.
    """

    first: Mapping[ArxivId, str] = field(default_factory=dict)
    last: Collection[ArxivId] = ()
    nearness: Mapping[ArxivId, int] = field(default_factory=dict)


_NO_PRECEDENCE = Precedence()


def arrange(
    entries: Iterable[DigestEntry],
    group_by: Grouping,
    queries: Sequence[str],
    show: int | None = None,
    precedence: Precedence = _NO_PRECEDENCE,
) -> tuple[tuple[DigestEntry, ...], tuple[Group, ...]]:
    """Return the entries of a digest in the order it shows them, and the headings they have.

    Papers that are new to the reader come before new versions, the minor ones last, and withdrawals. What is to be
    read last has a heading of its own after the other papers. What `show` leaves out comes last.
    """
    ranked = rank_entries(entries, precedence)
    news = [entry for entry in ranked if not entry.shows_change]
    changes: dict[tuple[str, Form], list[DigestEntry]] = {heading: [] for heading in _CHANGES}
    for entry in ranked:
        if entry.shows_change:
            changes[_CHANGES[2 if entry.is_withdrawn else is_minor(entry)]].append(entry)
    shown = news[:show]
    form = Form.TITLE
    if len(shown) <= MOST_WITH_ONE:
        form = Form.TWO_SENTENCES if len(shown) <= MOST_WITH_TWO else Form.SENTENCE
    groups: list[tuple[Group, list[DigestEntry]]] = []
    if form is Form.TITLE:
        listed = [entry for entry in shown if entry.paper.id not in precedence.last]
        first = [entry for entry in listed if find_why_first(entry, precedence)][:READ_FIRST]
        if first:
            reasons = tuple(find_why_first(entry, precedence) for entry in first)
            groups.append((Group("Read first", len(first), Form.SENTENCE, reasons=reasons), first))
        shown = [entry for entry in shown if entry not in first]
    groups += _divide(shown, group_by, queries, form, precedence)
    groups += _divide(news[show:] if show else [], group_by, queries, Form.TITLE, precedence)
    groups += [
        (Group(title, len(listed), form), listed)
        for (title, form), listed in changes.items()
        if listed
    ]
    return tuple(entry for _, members in groups for entry in members), tuple(
        group for group, _ in groups
    )


def _divide(
    entries: Sequence[DigestEntry],
    group_by: Grouping,
    queries: Sequence[str],
    form: Form,
    precedence: Precedence,
) -> list[tuple[Group, list[DigestEntry]]]:
    """Put papers that are new to the reader under saved queries, kinds, or, if they are many, categories."""
    last = precedence.last
    totals = Counter(
        entry.paper.primary_category for entry in entries if entry.paper.id not in last
    )

    def find_heading(entry: DigestEntry) -> str:
        if entry.paper.id in last:
            return _READ_LAST
        if group_by is Grouping.QUERY:
            return entry.queries[0] if entry.queries else _OTHERS  # the first that it matches
        category = entry.paper.primary_category
        if form is Form.TITLE:
            return category if totals[category] >= _SMALL else _OTHERS
        return _HEADINGS[entry.kind]

    by_heading: dict[str, list[DigestEntry]] = defaultdict(list)
    for entry in entries:
        by_heading[find_heading(entry)].append(entry)
    places = {title: place for place, title in enumerate((*queries, *_HEADINGS.values()))}
    if group_by is not Grouping.QUERY and form is Form.TITLE:
        places = {title: -total for title, total in totals.items()}
        if precedence.nearness:  # what holds the nearest paper comes first
            places = {title: place for place, title in enumerate(by_heading)} | {
                _OTHERS: len(by_heading)
            }
    titles = sorted(
        by_heading, key=lambda title: (title == _READ_LAST, places.get(title, len(places)), title)
    )
    is_name = group_by is Grouping.QUERY or form is Form.TITLE
    return [
        (
            Group(
                title, len(by_heading[title]), form, is_name and title not in (_OTHERS, _READ_LAST)
            ),
            by_heading[title],
        )
        for title in titles
    ]


def is_minor(entry: DigestEntry) -> bool:
    """Whether little changed in a paper that its reader knows: where it appears, or a few words.

    A comment that does not fit what is shown of minor changes is none.
    """
    parts = (
        {part.name: part for part in view_revisions(entry.before.paper, entry.paper)}
        if entry.before
        else {}
    )
    changed = count_changed(parts["abstract"].pieces) if "abstract" in parts else 0
    comment = parts["comment"].summary if "comment" in parts else ""
    is_small = parts.keys() <= _MINOR_PARTS and changed <= _FEW_WORDS
    return is_small and len(comment) <= LONGEST_MINOR and not _WEIGHTY.search(comment)


def rank_entries(
    entries: Iterable[DigestEntry], precedence: Precedence = _NO_PRECEDENCE
) -> list[DigestEntry]:
    """Return entries, the most telling first; equal ones of several announcements take turns, newest first."""

    def find_number(entry: DigestEntry) -> tuple[int, int, ArxivId]:
        month, number = entry.paper.id.announcement_order
        return -month, -number, entry.paper.id

    turns: Counter[object] = Counter()
    ranked = []
    for entry in sorted(entries, key=find_number):
        rank = _rank(entry, precedence)
        turns[rank, entry.announced] += 1
        ranked.append((rank, turns[rank, entry.announced], find_number(entry), entry))
    return [entry for *_, entry in sorted(ranked, key=lambda one: one[:3])]


def _rank(entry: DigestEntry, precedence: Precedence) -> _Rank:
    """Return by what an entry comes before others, the smallest first."""
    id_ = entry.paper.id
    met = Counter(span.field for reason in entry.reasons for span in reason.spans)
    wanted = bool(met[Field.AUTHORS]), id_ in precedence.first, precedence.nearness.get(id_, 0)
    listed = len(entry.queries), bool(met[Field.TITLE]), min(met[Field.ABSTRACT], _OFTEN)
    return (
        int(id_ in precedence.last),
        *(-one for one in (*wanted, *listed)),
        -bool(find_place(entry.paper)),
        -entry.clauses,
    )


def find_near(near: Near, *, is_owner: bool) -> NearLibrary:
    """Return to what a paper is near; titles of a library are for its owner alone."""
    if not is_owner:
        return HIDDEN_LIBRARY
    title = show_plain(near.title).rstrip(".")
    return NearLibrary(_QUOTED.sub("\N{LEFT SINGLE QUOTATION MARK}\\1’", title))


def find_why_first(entry: DigestEntry, precedence: Precedence) -> tuple[FirstReason, ...]:
    """Return why a reader should read a paper before others, the two strongest reasons; () for none."""
    paper = entry.paper
    spans = [span for reason in entry.reasons for span in reason.spans]
    found: list[FirstReason] = []
    authors = sorted({span.index for span in spans if span.field is Field.AUTHORS})[:_FEW_AUTHORS]
    names = tuple(show_plain(paper.authors[index].name) for index in authors)
    if any(names):
        found.append(FirstReason(WhyFirst.AUTHORS, names))
    if paper.id in precedence.first:
        found.append(FirstReason(WhyFirst.PUT_FIRST, (precedence.first[paper.id],)))
    if entry.near:
        found.append(FirstReason(WhyFirst.NEAR))
    if len(entry.queries) > 1:
        found.append(FirstReason(WhyFirst.QUERIES))
    if any(span.field is Field.TITLE for span in spans):
        found.append(FirstReason(WhyFirst.TITLE))
    if place := show_plain(find_place(paper)):
        found.append(FirstReason(WhyFirst.PLACE, (place,)))
    return tuple(found[:_FEW_REASONS])
