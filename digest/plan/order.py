"""Decides what shape a digest takes: which papers come first and why, the headings and the form."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

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

MOST_WITH_TWO = 8
"""Up to that many papers are shown with two sentences each."""

MOST_WITH_ONE = 25
"""Up to that many papers are shown with one sentence each; of more the title is shown."""

READ_FIRST = 5
"""Papers that come before all headings of a long digest."""

_READ_FIRST = "Read first"
_READ_LAST = "Read last"
_OTHERS = "Others"
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

_CHANGED = ("New versions", Form.CHANGE)
_MINOR = ("New versions", Form.MINOR)
_WITHDRAWN = ("Withdrawn", Form.CHANGE)
_CHANGES = (_CHANGED, _MINOR, _WITHDRAWN)
"""Headings of the others, in order."""

_FEW_WORDS = 5
"""No more words of the abstract are changed by a minor change."""

_MINOR_PARTS = {"comment", "journal reference", "DOI", "categories", "abstract"}
_WEIGHTY = re.compile(
    r"(?i)\b(?:error|errat|corrigend|incorrect|wrong|mistake|flaw|gap|retract|major|substantial"
    r"|significant|exten[ds]|expan|rewrit|additional|appendi|experiment|result|proof|theorem)"
)
"""What makes more than a minor change of a comment."""

_FEW_REASONS = 2
_FEW_AUTHORS = 3
"""Authors who are named: of a collaboration a query may ask for hundreds."""

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

    Papers that are new to the reader come before new versions, the minor ones last, and
    withdrawals. What the reader wants last has a heading of its own after the other papers. What
    `show` leaves out comes last.
    """
    ranked = rank_entries(entries, precedence)
    news = [entry for entry in ranked if not entry.shows_change]
    shown = news[:show]
    left_out = news[show:] if show else []
    form = _choose_form(len(shown))
    sections: list[_Section] = []
    if form is Form.TITLE:
        first = _choose_first(shown, precedence)
        if first.entries:
            sections.append(first)
        shown = [entry for entry in shown if entry not in first.entries]
    sections += _divide(shown, group_by, queries, form, precedence)
    sections += _divide(left_out, group_by, queries, Form.TITLE, precedence)
    sections += _divide_changes([entry for entry in ranked if entry.shows_change])
    ordered: list[DigestEntry] = []
    for section in sections:
        ordered += section.entries
    return tuple(ordered), tuple(section.group for section in sections)


class _Section(NamedTuple):
    """A heading of a digest, and the papers under it."""

    group: Group
    entries: Sequence[DigestEntry]


def _choose_form(papers: int) -> Form:
    if papers <= MOST_WITH_TWO:
        return Form.TWO_SENTENCES
    return Form.SENTENCE if papers <= MOST_WITH_ONE else Form.TITLE


def _choose_first(shown: Sequence[DigestEntry], precedence: Precedence) -> _Section:
    """Choose what comes before all headings: for a reason, and not what the reader wants last."""
    listed = [entry for entry in shown if entry.paper.id not in precedence.last]
    first = [entry for entry in listed if find_why_first(entry, precedence)][:READ_FIRST]
    reasons = tuple([find_why_first(entry, precedence) for entry in first])
    return _Section(Group(_READ_FIRST, len(first), Form.SENTENCE, reasons=reasons), first)


def _divide_changes(entries: Iterable[DigestEntry]) -> list[_Section]:
    """Put papers that their reader knows, or that were withdrawn, under the headings of changes."""
    by_heading: dict[tuple[str, Form], list[DigestEntry]] = {heading: [] for heading in _CHANGES}
    for entry in entries:
        by_heading[_find_change(entry)].append(entry)
    sections = []
    for (title, form), listed in by_heading.items():
        if listed:
            sections.append(_Section(Group(title, len(listed), form), listed))
    return sections


def _find_change(entry: DigestEntry) -> tuple[str, Form]:
    if entry.is_withdrawn:
        return _WITHDRAWN
    return _MINOR if is_minor(entry) else _CHANGED


def _divide(
    entries: Sequence[DigestEntry],
    group_by: Grouping,
    queries: Sequence[str],
    form: Form,
    precedence: Precedence,
) -> list[_Section]:
    """Put papers that are new to the reader under saved queries, kinds or, if many, categories."""
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

    is_by_category = group_by is not Grouping.QUERY and form is Form.TITLE
    if not is_by_category:
        places = _number([*queries, *_HEADINGS.values()])
    elif precedence.nearness:  # what holds the nearest paper comes first
        places = {**_number(by_heading), _OTHERS: len(by_heading)}
    else:
        places = {title: -total for title, total in totals.items()}

    def rank_title(title: str) -> tuple[bool, int, str]:
        return title == _READ_LAST, places.get(title, len(places)), title

    are_names = group_by is Grouping.QUERY or form is Form.TITLE
    sections = []
    for title in sorted(by_heading, key=rank_title):
        listed = by_heading[title]
        is_name = are_names and title not in (_OTHERS, _READ_LAST)
        sections.append(_Section(Group(title, len(listed), form, is_name), listed))
    return sections


def _number(titles: Iterable[str]) -> dict[str, int]:
    return {title: place for place, title in enumerate(titles)}


def is_minor(entry: DigestEntry) -> bool:
    """Whether little changed in a paper that its reader knows: where it appears, or a few words.

    A comment that does not fit what is shown of minor changes is none.
    """
    if entry.before is None:
        return True
    parts = {part.name: part for part in view_revisions(entry.before.paper, entry.paper)}
    changed = count_changed(parts["abstract"].pieces) if "abstract" in parts else 0
    comment = parts["comment"].summary if "comment" in parts else ""
    is_small = parts.keys() <= _MINOR_PARTS and changed <= _FEW_WORDS
    return is_small and len(comment) <= LONGEST_MINOR and not _WEIGHTY.search(comment)


def rank_entries(
    entries: Iterable[DigestEntry], precedence: Precedence = _NO_PRECEDENCE
) -> list[DigestEntry]:
    """Return entries, the most telling first.

    Equal ones of several announcements take turns, the newest first.
    """
    turns: Counter[object] = Counter()
    ranked = []
    for entry in sorted(entries, key=_find_number):
        rank = _rank(entry, precedence)
        turns[rank, entry.announced] += 1
        place = (rank, turns[rank, entry.announced], _find_number(entry))
        ranked.append((place, entry))
    ranked.sort(key=itemgetter(0))
    return [entry for _, entry in ranked]


def _find_number(entry: DigestEntry) -> tuple[int, int, ArxivId]:
    """Return by what the newest paper comes first."""
    month, number = entry.paper.id.announcement_order
    return -month, -number, entry.paper.id


def _rank(entry: DigestEntry, precedence: Precedence) -> _Rank:
    """Return what tells which of two entries comes first: the one with the smaller numbers."""
    id_ = entry.paper.id
    met: Counter[Field] = Counter()
    for reason in entry.reasons:
        met.update([span.field for span in reason.spans])
    return (
        int(id_ in precedence.last),
        -int(met[Field.AUTHORS] > 0),
        -int(id_ in precedence.first),
        -precedence.nearness.get(id_, 0),
        -len(entry.queries),
        -int(met[Field.TITLE] > 0),
        -min(met[Field.ABSTRACT], _OFTEN),
        -int(bool(find_place(entry.paper))),
        -entry.clauses,
    )


def find_near(near: Near, *, is_owner: bool) -> NearLibrary:
    """Return to what a paper is near; titles of a library are for its owner alone."""
    if not is_owner:
        return HIDDEN_LIBRARY
    title = show_plain(near.title).rstrip(".")
    return NearLibrary(_QUOTED.sub("\N{LEFT SINGLE QUOTATION MARK}\\1’", title))


def find_why_first(entry: DigestEntry, precedence: Precedence) -> tuple[FirstReason, ...]:
    """Return why a paper should be read before others, the two strongest reasons; () for none."""
    paper = entry.paper
    authors: set[int] = set()
    is_in_title = False
    for reason in entry.reasons:
        authors |= {span.index for span in reason.spans if span.field is Field.AUTHORS}
        is_in_title |= any(span.field is Field.TITLE for span in reason.spans)
    named = sorted(authors)[:_FEW_AUTHORS]
    names = tuple([show_plain(paper.authors[index].name) for index in named])
    place = show_plain(find_place(paper))
    found: list[FirstReason] = []
    if any(names):
        found.append(FirstReason(WhyFirst.AUTHORS, names))
    if paper.id in precedence.first:
        found.append(FirstReason(WhyFirst.PUT_FIRST, (precedence.first[paper.id],)))
    if entry.near:
        found.append(FirstReason(WhyFirst.NEAR))
    if len(entry.queries) > 1:
        found.append(FirstReason(WhyFirst.QUERIES))
    if is_in_title:
        found.append(FirstReason(WhyFirst.TITLE))
    if place:
        found.append(FirstReason(WhyFirst.PLACE, (place,)))
    return tuple(found[:_FEW_REASONS])
