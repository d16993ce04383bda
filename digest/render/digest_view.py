"""What templates see of a digest as a whole: its words, its groups, and what it leaves out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from digest.render.cleaning import clean_text, shorten
from digest.render.coverage import (
    CoverageView,
    describe_coverage,
    write_headline,
    write_introduction,
    write_span,
)
from digest.render.dates import name_slot, write_long_day
from digest.render.presentation import KIND_TITLES, PaperView

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from digest.announcements import Kind
    from digest.messages import Digest

_LONGEST_NAME = 120
_LONGEST_QUERY = 300
MOST_NAMED = 40
"""How many of the papers left out are named by their ids where there is no page to link to."""


@dataclass(frozen=True, slots=True)
class QueryView:
    """A saved query behind a digest: its name and its text as written, at most 300 characters."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class DigestView:
    """A digest as templates see it.

    Attributes:
        subscription: the subscription's name.
        title: what the digest is called.
        day: its date, `Thu 19 Nov`.
        long_day: its date, `Thursday 19 November 2026`.
        count: how many papers it holds, shown or not.
        headline: `9 papers`, or in few words why there is none.
        kinds: `8 new · 1 replaced`; "" where all are of one kind, or there is none.
        span: `covers 3 mailings, 17–19 November`; "" where it stands for one alone.
        introduction: what a reader should know first (a first look, a quiet day, a failure); "" mostly.
        is_first_look: it looks back with a saved query that is new.
        coverage: what was looked at: `coverage.state` and `coverage.sentence`.
        queries: the saved queries behind it.
    """

    subscription: str
    title: str
    day: str
    long_day: str
    count: int
    headline: str
    kinds: str
    span: str
    introduction: str
    is_first_look: bool
    coverage: CoverageView
    queries: tuple[QueryView, ...]


@dataclass(frozen=True, slots=True)
class GroupView:
    """Papers of one kind, and of one mailing where a digest stands for several.

    Attributes:
        kind: what was announced.
        title: its heading, `New`.
        count: how many of this kind the digest holds, shown or not; of this mailing.
        papers: those shown.
        day: the mailing's day, `Thursday 19 November 2026`, on the first group of each; "" on others, and where
            a digest stands for one mailing alone.
        day_count: how many papers of that mailing the digest holds, shown or not.
    """

    kind: Kind
    title: str
    count: int
    papers: tuple[PaperView, ...]
    day: str = ""
    day_count: int = 0


@dataclass(frozen=True, slots=True)
class RestView:
    """What a message leaves out: counted always, and linked.

    Attributes:
        count: how many papers.
        url: where all of them are shown, "" where there is no such page.
        papers: the first of them, to be named by id where there is no page.
        unnamed: how many are counted only.
    """

    count: int
    url: str
    papers: tuple[PaperView, ...]
    unnamed: int


def view_digest(digest: Digest) -> DigestView:
    """Return what templates see of a digest."""
    day, long_day = name_slot(digest)
    return DigestView(
        subscription=clean_text(digest.subscription),
        title=shorten(clean_text(digest.title or digest.subscription), _LONGEST_NAME),
        day=day,
        long_day=long_day,
        count=len(digest.entries),
        headline=write_headline(digest),
        kinds=_count_kinds(digest),
        span=write_span(digest.coverage),
        introduction=shorten(clean_text(write_introduction(digest)), _LONGEST_QUERY),
        is_first_look=digest.occasion.is_look_back,
        coverage=describe_coverage(digest.coverage),
        queries=tuple(
            QueryView(clean_text(name), shorten(clean_text(text), _LONGEST_QUERY)) for name, text in digest.queries
        ),
    )


def _count_kinds(digest: Digest) -> str:
    totals = Counter(entry.kind for entry in digest.entries)
    if len(totals) == 1:
        return ""
    return " · ".join(f"{total:,} {KIND_TITLES[kind].lower()}" for kind, total in totals.items())


def view_papers(digest: Digest) -> tuple[PaperView, ...]:
    """Return every paper of a digest, in its order, numbered from 1."""
    is_first_look = digest.occasion.is_look_back
    return tuple(PaperView(entry, number, is_first_look) for number, entry in enumerate(digest.entries, 1))


def group_papers(digest: Digest, papers: Sequence[PaperView]) -> tuple[GroupView, ...]:
    """Put neighbours of one mailing and kind under one heading; the order stays as it is."""
    totals = Counter((entry.mailing, entry.kind) for entry in digest.entries)
    days = Counter(entry.mailing for entry in digest.entries)
    groups: list[GroupView] = []
    before: date | None = None
    for (day, kind), members in groupby(papers, key=lambda paper: (paper.entry.mailing, paper.kind)):
        title = "" if day is None or day == before else write_long_day(day)
        papers_of_day = days[day] if title else 0
        groups.append(GroupView(kind, KIND_TITLES[kind], totals[day, kind], tuple(members), title, papers_of_day))
        before = day
    return tuple(groups)


def view_rest(papers: Sequence[PaperView], url: str) -> RestView:
    """Return what is left out of a message, to be counted and linked."""
    named = () if url else tuple(papers[:MOST_NAMED])
    return RestView(len(papers), url, named, 0 if url else len(papers) - len(named))
