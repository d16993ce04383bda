"""What arXiv's daily listing says of a mailing, held against what is stored. By ids: its dates prove nothing.

A listing may show an older mailing under today's date, for one category or for all of them; it leaves out
versions above the fifth; and it is empty on the days without a mailing (https://info.arxiv.org/help/rss.html).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.announcements import EASTERN, has_mailing, latest_mailing, mailing_moment
from digest.planning.slices import SLICES, Slice
from digest.taxonomy import canonical_category

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from digest.papers import ArxivId

CUT_FROM = 1_900
"""A listing of so many lines may have lost papers: arXiv cuts at 2,000, and drops the new ones first."""

_NEW, _CROSS = "new", "cross"


class SliceState(StrEnum):
    """What a slice's listing is good for."""

    READ = "read"
    """It shows this mailing."""
    CUT = "cut"
    """It is so long that its new papers may be missing: what it does not list means nothing."""
    EMPTY = "empty"
    """It lists nothing that can be read, as on days without a mailing."""
    OTHER = "other"
    """Its ids are those of another mailing."""
    UNREAD = "unread"
    """There is no listing of it."""


@dataclass(frozen=True, slots=True)
class ListedPaper:
    """A line of a listing.

    Attributes:
        id: the paper.
        version: the version announced.
        announce_type: arXiv's word: `new`, `cross`, `replace` or `replace-cross`, as seen from the slice.
        primary: its primary category, "" where the listing names none.
    """

    id: ArxivId
    version: int
    announce_type: str
    primary: str


@dataclass(frozen=True, slots=True)
class SliceListing:
    """What arXiv listed of a slice; `unreadable` counts the lines nobody could read."""

    slice: Slice
    papers: tuple[ListedPaper, ...]
    unreadable: int = 0

    @property
    def lines(self) -> int:
        """How long it was."""
        return len(self.papers) + self.unreadable

    @property
    def is_cut(self) -> bool:
        """Whether arXiv may have cut it."""
        return self.lines >= CUT_FROM

    @property
    def new(self) -> tuple[ListedPaper, ...]:
        """What it lists as announced for the first time."""
        return tuple(paper for paper in self.papers if paper.announce_type == _NEW)


@dataclass(frozen=True, slots=True)
class StoredPaper:
    """What the store knows of a paper.

    Attributes:
        version: the latest one.
        first_seen_at: when it was met (UTC).
        mailing: Eastern date of the mailing that brought it; None where nobody was looking.
        categories: primary first.
    """

    version: int
    first_seen_at: datetime
    mailing: date | None
    categories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Behind:
    """A paper listed in a newer version than is stored; `stored` is 0 where none is."""

    id: ArxivId
    listed: int
    stored: int


@dataclass(frozen=True, slots=True)
class SliceVerdict:
    """What a slice's listing was good for.

    Attributes:
        slice: it.
        state: what for.
        mailing: Eastern date of the mailing its ids belong to; None without a listing.
        lines: how long it was.
        unreadable: how many of the lines nobody could read.
    """

    slice: Slice
    state: SliceState
    mailing: date | None = None
    lines: int = 0
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """A mailing as arXiv listed it and as it is stored.

    Attributes:
        mailing: Eastern date of its evening.
        slices: what each slice was good for, unread ones too.
        new: papers listed as announced for the first time, of this mailing.
        crosses: papers listed in further categories, and nowhere as new.
        missing: listed as new or cross-listed, and not stored: these were lost.
        missing_new: how many of those are listed as new.
        known: listed as new, and stored as known from before: their ids are no newer than what the first look
            met, so that they are no news and `digest coverage` does not count them.
        elsewhere: listed as new, and counted with another mailing, as the order of ids has it.
        unlisted: brought by this mailing as the store has it, and in no listing, though one of those covers
            their primary category.
        behind: listed in a newer version than is stored.
        stale: categories of which only papers of older mailings are listed as new.
    """

    mailing: date
    slices: tuple[SliceVerdict, ...]
    new: int = 0
    crosses: int = 0
    missing: tuple[ListedPaper, ...] = ()
    missing_new: int = 0
    known: tuple[ArxivId, ...] = ()
    elsewhere: tuple[ArxivId, ...] = ()
    unlisted: tuple[ArxivId, ...] = ()
    behind: tuple[Behind, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def is_proof(self) -> bool:
        """Whether anything could be compared at all: a listing that is not cut shows this mailing."""
        return any(verdict.state is SliceState.READ for verdict in self.slices)

    @property
    def is_whole(self) -> bool:
        """Whether every slice could be compared, and nothing in it was stale."""
        return all(verdict.state is SliceState.READ for verdict in self.slices) and not self.stale

    @property
    def has_arrived(self) -> bool:
        """Whether the store has the mailing: of one that is mostly missing, the next look brings the rest."""
        return 2 * self.missing_new <= self.new


def latest_listed(now: datetime) -> date:
    """Return the Eastern date of the last mailing arXiv has listed by a moment: it does so from midnight on."""
    midnight = datetime.combine(now.astimezone(EASTERN).date(), time(), tzinfo=EASTERN)
    return latest_mailing(midnight.astimezone(UTC))


def is_listing_day(now: datetime) -> bool:
    """Whether arXiv lists a mailing today, Eastern time: the one of the evening before, where there was one."""
    return has_mailing(now.astimezone(EASTERN).date() - timedelta(days=1))


def name_mailing(listing: SliceListing, stored: Mapping[ArxivId, StoredPaper], expected: date) -> date:
    """Return the Eastern date of the mailing a listing shows: that which brought most of its new papers.

    Args:
        listing: it.
        stored: what is stored of its papers.
        expected: the mailing it should show, and does unless most of its new papers say otherwise.
    """
    votes = Counter(
        day
        for paper in listing.new
        if paper.id in stored and (day := _date_of(stored[paper.id], expected)) != expected
    )
    if not votes or 2 * votes.total() <= len(listing.new):
        return expected
    return max(votes, key=lambda day: (votes[day], day))


def compare_listings(
    mailing: date,
    listings: Sequence[SliceListing],
    stored: Mapping[ArxivId, StoredPaper],
    brought: Mapping[ArxivId, StoredPaper],
) -> Comparison:
    """Compare a mailing's listings with what is stored.

    Whatever a listing names is announced, and missing where it is not stored. That a listing does not name a
    paper says something only if it shows this mailing and is not cut.

    Args:
        mailing: Eastern date of its evening.
        listings: at most one of each slice.
        stored: what is stored of the papers listed.
        brought: what is stored as brought by this mailing.
    """
    judged = [_judge(listing, stored, mailing) for listing in listings]
    shown = [one for one in judged if one.state in (SliceState.READ, SliceState.CUT)]
    stale = {name: ids for one in shown for name, ids in _find_stale(one.listing, stored, mailing)}
    outdated = {id_ for ids in stale.values() for id_ in ids}
    new = {paper.id for one in shown for paper in one.listing.new} - outdated
    crosses = {paper.id for one in shown for paper in one.listing.papers if paper.announce_type == _CROSS} - new
    missing = _find_missing(judged, stored)
    brought_by = {id_: stored[id_].mailing for id_ in sorted(new & stored.keys())}
    read = {one.listing.slice for one in judged}
    return Comparison(
        mailing=mailing,
        slices=(
            *map(_sum_up, judged),
            *(SliceVerdict(one, SliceState.UNREAD) for one in SLICES if one not in read),
        ),
        new=len(new),
        crosses=len(crosses),
        missing=missing,
        missing_new=sum(paper.announce_type == _NEW for paper in missing),
        known=tuple(id_ for id_, day in brought_by.items() if day is None),
        elsewhere=tuple(id_ for id_, day in brought_by.items() if day not in (None, mailing)),
        unlisted=tuple(sorted(_find_unlisted(judged, brought, stale.keys()))),
        behind=tuple(sorted(_find_behind(judged, stored), key=lambda one: one.id)),
        stale=tuple(sorted(stale)),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """A listing, the mailing its ids belong to, and what it is good for."""

    listing: SliceListing
    mailing: date
    state: SliceState


def _judge(listing: SliceListing, stored: Mapping[ArxivId, StoredPaper], wanted: date) -> _Judged:
    mailing = name_mailing(listing, stored, wanted)
    if mailing != wanted:
        return _Judged(listing, mailing, SliceState.OTHER)
    if not listing.papers:
        return _Judged(listing, mailing, SliceState.EMPTY)
    return _Judged(listing, mailing, SliceState.CUT if listing.is_cut else SliceState.READ)


def _sum_up(one: _Judged) -> SliceVerdict:
    shown = one.listing
    return SliceVerdict(shown.slice, one.state, one.mailing, shown.lines, shown.unreadable)


def _date_of(paper: StoredPaper, expected: date) -> date:
    """Return which mailing a stored paper came with; one met at the first look came with one before that."""
    if paper.mailing is not None:
        return paper.mailing
    return expected if paper.first_seen_at >= mailing_moment(expected) else latest_mailing(paper.first_seen_at)


def _find_stale(
    listing: SliceListing, stored: Mapping[ArxivId, StoredPaper], mailing: date
) -> Iterator[tuple[str, list[ArxivId]]]:
    """Yield the primary categories whose new papers all came with older mailings, with those papers."""
    groups: dict[str, list[ArxivId]] = {}
    for paper in listing.new:
        groups.setdefault(canonical_category(paper.primary), []).append(paper.id)
    for category, ids in groups.items():
        if all(id_ in stored and _date_of(stored[id_], mailing) < mailing for id_ in ids):
            yield category, ids


def _find_missing(judged: Sequence[_Judged], stored: Mapping[ArxivId, StoredPaper]) -> tuple[ListedPaper, ...]:
    """Return the papers not stored, each once: as new if any slice lists it so."""
    missing: dict[ArxivId, ListedPaper] = {}
    for paper in (paper for one in judged for paper in one.listing.papers):
        if paper.id not in stored and paper.announce_type in (_NEW, _CROSS):
            known = missing.get(paper.id)
            if known is None or paper.announce_type == _NEW:
                missing[paper.id] = paper
    return tuple(sorted(missing.values(), key=lambda paper: paper.id))


def _find_unlisted(
    judged: Sequence[_Judged], brought: Mapping[ArxivId, StoredPaper], stale: Iterable[str]
) -> Iterator[ArxivId]:
    """Yield the papers that ought to be listed somewhere; of a stale category's papers nothing is known."""
    listed = {paper.id for one in judged for paper in one.listing.papers}
    good = [one.listing.slice for one in judged if one.state is SliceState.READ]
    unknown = frozenset(stale)
    for id_, paper in brought.items():
        if id_ in listed or not paper.categories or unknown & set(map(canonical_category, paper.categories)):
            continue
        if any(one.covers(paper.categories[0]) for one in good):
            yield id_


def _find_behind(judged: Sequence[_Judged], stored: Mapping[ArxivId, StoredPaper]) -> Iterator[Behind]:
    """Yield the papers listed in a newer version than is stored, but for those that are missing as a whole."""
    latest: dict[ArxivId, int] = {}
    announced: set[ArxivId] = set()
    for paper in (paper for one in judged for paper in one.listing.papers):
        latest[paper.id] = max(paper.version, latest.get(paper.id, 0))
        if paper.announce_type in (_NEW, _CROSS):
            announced.add(paper.id)
    for id_, version in latest.items():
        known = stored[id_].version if id_ in stored else 0
        if known < version and (known or id_ not in announced):
            yield Behind(id_, version, known)
