"""What templates see of a digest as a whole: its words, its groups, and what it leaves out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from digest.announcements import Kind
from digest.render.cleaning import clean_text, shorten
from digest.render.coverage import (
    CoverageView,
    describe_coverage,
    write_headline,
    write_introduction,
    write_span,
)
from digest.render.dates import name_slot, write_day, write_long_day
from digest.render.presentation import KIND_TITLES, PaperView
from digest.subscriptions import Grouping, Replacements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from digest.messages import Digest, DigestEntry

_LONGEST_NAME = 120
_LONGEST_QUERY = 300
MOST_NAMED = 400
"""How many of the papers left out are named by their ids where there is no page to link to: nobody would ever see
those that are counted only. So many take four tenths of the room that a mail has."""


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
        is_round_up: it rounds up a week.
        is_whole: it tells whole what changed in its papers.
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
    is_round_up: bool = False
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class GroupView:
    """Papers of one kind or saved query, and of one mailing where a digest stands for several.

    Attributes:
        kind: what was announced; None where its papers are those of a saved query.
        title: its heading, `New`, or the saved query's name.
        count: how many of these papers the digest holds, shown or not; of this mailing.
        papers: those shown.
        day: the mailing's day, `Thursday 19 November 2026`, on the first group of each; "" on others, and where
            a digest stands for one mailing alone.
        day_count: how many papers of that mailing the digest holds, shown or not.
    """

    kind: Kind | None
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
        parts: what they are, where that is more than one thing: `12 new · 4 replaced`, or by day or saved query.
    """

    count: int
    url: str
    papers: tuple[PaperView, ...]
    unnamed: int
    parts: str = ""


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
        coverage=describe_coverage(digest.coverage, digest.zone),
        queries=tuple(
            QueryView(clean_text(name), shorten(clean_text(text), _LONGEST_QUERY)) for name, text in digest.queries
        ),
        is_round_up=digest.is_round_up,
        is_whole=digest.replacements is Replacements.WHOLE,
    )


def _count_kinds(digest: Digest) -> str:
    totals = Counter(entry.kind for entry in digest.entries)
    if len(totals) == 1:
        return ""
    return " · ".join(f"{total:,} {KIND_TITLES[kind].lower()}" for kind, total in totals.items())


def view_papers(digest: Digest, *, unfolds: bool = False) -> tuple[PaperView, ...]:
    """Return the papers of a digest, numbered from 1; where changes unfold, abstracts stay as they are."""
    is_first_look, by_query = digest.occasion.is_look_back, digest.group_by is Grouping.QUERY
    is_whole = digest.replacements is Replacements.WHOLE and not unfolds
    return tuple(
        PaperView(entry, number, is_first_look, _find_query(entry) if by_query else "", is_whole)
        for number, entry in enumerate(digest.entries, 1)
    )


def _find_query(entry: DigestEntry) -> str:
    """Return the saved query a paper stands under: the first it matches, in the subscription's order."""
    return entry.queries[0] if entry.queries else ""


def group_papers(digest: Digest, papers: Sequence[PaperView]) -> tuple[GroupView, ...]:
    """Put neighbours of one mailing and kind, or saved query, under one heading; the order stays as it is."""
    find_group = partial(_find_group, digest.group_by)
    totals = Counter(map(find_group, digest.entries))
    days = Counter(entry.mailing for entry in digest.entries)
    groups: list[GroupView] = []
    before: date | None = None
    for (day, group), members in groupby(papers, key=lambda paper: find_group(paper.entry)):
        title = "" if day is None or day == before else write_long_day(day)
        papers_of_day = days[day] if title else 0
        kind = group if isinstance(group, Kind) else None
        groups.append(
            GroupView(kind, _name_group(group), totals[day, group], tuple(members), title, papers_of_day)
        )
        before = day
    return tuple(groups)


def _find_group(group_by: Grouping, entry: DigestEntry) -> tuple[date | None, Kind | str]:
    return entry.mailing, _find_query(entry) if group_by is Grouping.QUERY else entry.kind


def _name_group(group: Kind | str) -> str:
    if isinstance(group, Kind):
        return KIND_TITLES[group]
    return clean_text(group) or "Other"


def view_rest(papers: Sequence[PaperView], url: str) -> RestView:
    """Return what is left out of a message, to be counted and linked."""
    named = () if url else tuple(papers[:MOST_NAMED])
    return RestView(len(papers), url, named, 0 if url else len(papers) - len(named), _count_parts(papers))


def _count_parts(papers: Sequence[PaperView]) -> str:
    """Say what is left out: of which days, of which saved queries or kinds; "" where all is of one."""
    names = [
        write_day(paper.entry.mailing)
        if paper.entry.mailing
        else clean_text(paper.under) or KIND_TITLES[paper.kind].lower()
        for paper in papers
    ]
    totals = Counter(names)
    return " · ".join(f"{total:,} {name}" for name, total in totals.items()) if len(totals) > 1 else ""
