"""`digest verify`: a mailing held against arXiv's own daily listing. It keeps that, and notes what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import has_mailing, latest_mailing, mailing_moment
from digest.errors import ArxivRejected, ConfigurationError, UsageError
from digest.pipeline.witnessing import read_slice
from digest.planning.polls import Source
from digest.planning.slices import SLICES, slice_of
from digest.planning.verifying import compare_listings, is_listing_day, latest_listed
from digest.store import cursors as cursor_store
from digest.store import gaps as gap_store
from digest.store import listings as listing_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.errors import ArxivError
    from digest.pipeline.site import Site
    from digest.planning.slices import Slice
    from digest.planning.verifying import Comparison
    from digest.store.listings import KeptListing
    from digest.store.runs import PollRun

_RUNS_SEARCHED = 100


@dataclass(frozen=True, slots=True)
class FailedSlice:
    """A slice that could not be read: when that was tried last (UTC), and what happened."""

    slice: Slice
    at: datetime
    failure: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying a mailing.

    Attributes:
        mailing: Eastern date of its evening.
        comparison: None where arXiv has not been looked at since.
        listings: what was compared with.
        why_not: why nothing could be compared, and what to do; "" where something was.
        errors: how arXiv failed now.
        failed: the slices that could not be read, now or by an earlier look, and have no listing.
        asked: how many slices were asked for now.
        handed_over: how many missing ids the next run will ask arXiv for.
    """

    mailing: date
    comparison: Comparison | None = None
    listings: tuple[KeptListing, ...] = ()
    why_not: str = ""
    errors: tuple[ArxivError, ...] = ()
    failed: tuple[FailedSlice, ...] = ()
    asked: int = 0
    handed_over: int = 0

    @property
    def is_verified(self) -> bool:
        """Whether something was proved, and nothing is missing."""
        return self.comparison is not None and self.comparison.is_proof and not self.comparison.missing


def verify(site: Site, day: date | None = None) -> Verification:
    """Hold a mailing against what arXiv lists of it, reading the listing where it still shows that mailing.

    Args:
        site: the installation; nothing of it need be held.
        day: Eastern date of the mailing's evening; the last one arXiv has listed by now where None.

    Raises:
        ConfigurationError: the store holds what saved queries bring only.
        UsageError: there was no mailing on that evening, or it is not listed yet.
    """
    if site.config.arxiv.source != "harvest":
        raise ConfigurationError(
            'with source = "query" the store holds only what the saved queries bring; a listing names everything',
            hint='Verifying needs source = "harvest" under [arxiv].',
        )
    now = site.clock.now()
    last = latest_listed(now)
    mailing = day or last
    with site.store.read() as conn:
        kept = listing_store.load_listings(conn, mailing)
        looked_at = cursor_store.load_cursor(conn, Source.HARVEST).last_complete_at
        is_known = bool(kept or listing_store.load_brought(conn, mailing))
    if not is_known:
        _refuse_other_days(mailing, last)
    if looked_at is None or looked_at < mailing_moment(mailing):
        return Verification(mailing, why_not=_LOOK_FIRST)
    errors: list[ArxivError] = []
    asked = 0
    if mailing == last:
        asked = _read_missing(site, mailing, kept, errors)
    return _conclude(site, mailing, last, errors, asked)


_LOOK_FIRST = "arXiv has not been looked at since that mailing: `digest run` does, then verify again"


def _refuse_other_days(mailing: date, last: date) -> None:
    if not has_mailing(mailing):
        before = latest_mailing(mailing_moment(mailing))
        raise UsageError(
            f"arXiv sent no mailing on the evening of {_write(mailing)}; the one before is of {_write(before)}",
            hint="A mailing goes by the Eastern date of its evening; there is none on Fridays and Saturdays.",
        )
    if mailing > last:
        raise UsageError(
            f"arXiv has not listed the mailing of {_write(mailing)} yet; the last one is that of {_write(last)}",
            hint="A mailing goes by the Eastern date of its evening, and is listed from midnight on.",
        )


def _read_missing(site: Site, mailing: date, kept: Sequence[KeptListing], errors: list[ArxivError]) -> int:
    """Read the slices that named nothing so far; return how many were asked for.

    On a day without a listing the first empty one is enough to know that the others are empty too.
    """
    done = {one.listing.slice for one in kept if one.mailing == mailing and one.listing.papers}
    asked = 0
    for one in SLICES:
        if one in done:
            continue
        asked += 1
        failure = read_slice(site, one, mailing)
        if failure is not None:
            errors.append(failure)
            if not isinstance(failure, ArxivRejected):
                break
        elif not is_listing_day(site.clock.now()) and not _lists_anything(site, mailing, one):
            break
    return asked


def _lists_anything(site: Site, mailing: date, slice_: Slice) -> bool:
    with site.store.read() as conn:
        kept = listing_store.load_listings(conn, mailing)
    return any(one.listing.papers for one in kept if one.listing.slice == slice_)


def _conclude(site: Site, mailing: date, last: date, errors: Sequence[ArxivError], asked: int) -> Verification:
    handed_over = 0
    with site.store.begin() as conn:
        kept = listing_store.load_listings(conn, mailing)
        failed = _find_failed(conn, mailing, kept)
        comparison = compare_listings(
            mailing,
            [one.listing for one in kept],
            listing_store.load_stored(conn, (paper.id for one in kept for paper in one.listing.papers)),
            listing_store.load_brought(conn, mailing),
        )
        if comparison.has_arrived:
            missing = [paper.id for paper in comparison.missing if not paper.id.archive]
            gap_store.note_missing(conn, missing, site.clock.now(), exist=True)
            handed_over = len(missing)
    return Verification(
        mailing=mailing,
        comparison=comparison,
        listings=tuple(kept),
        why_not=_explain(site, comparison, mailing, last),
        errors=tuple(errors),
        failed=failed,
        asked=asked,
        handed_over=handed_over,
    )


def _explain(site: Site, comparison: Comparison, mailing: date, last: date) -> str:
    """Say why nothing was proved and what to do; "" where something was."""
    if comparison.is_proof:
        return ""
    keep = "" if site.config.arxiv.witness else "; `witness = true` under [arxiv] keeps one each day"
    if mailing != last:
        return f"no listing of that mailing is kept, and arXiv lists only its latest{keep}"
    if not is_listing_day(site.clock.now()):
        day = mailing + timedelta(days=1)
        return f"arXiv listed it on {_write(day)} only, and lists nothing today{keep}"
    return "no listing shows it; arXiv's may be late, so verify again in an hour or two"


def _find_failed(conn: Connection, mailing: date, kept: Sequence[KeptListing]) -> tuple[FailedSlice, ...]:
    """Return the slices without a listing whose last reading failed."""
    have = {one.listing.slice.key for one in kept}
    latest: dict[str, PollRun] = {}
    for run in run_store.last_runs(conn, Source.LISTING, _RUNS_SEARCHED):
        if run.mailing == mailing:
            latest.setdefault(run.query_key, run)
    return tuple(
        FailedSlice(slice_of(run.query_key), run.finished_at or run.started_at, run.failure)
        for run in latest.values()
        if run.failure and run.query_key not in have
    )


def _write(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b}"
