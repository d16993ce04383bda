"""The witness: what arXiv's own daily listing says of a mailing, read when requests are to spare, and kept.

It proves nothing by itself and is no way for papers to come in; `digest verify` holds it against the store.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import latest_mailing
from digest.counting import count
from digest.errors import ArxivError, ArxivRejected, StoreError
from digest.pipeline.covering import load_whole_coverage
from digest.planning.polls import Source, spare_requests
from digest.planning.slices import SLICES
from digest.planning.verifying import (
    ListedPaper,
    SliceListing,
    is_listing_day,
    latest_listed,
    name_mailing,
)
from digest.store import listings as listing_store
from digest.store import overview
from digest.store import pages as page_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    from digest.arxiv.client import Fetched
    from digest.arxiv.rss import Listing
    from digest.pipeline.poll_report import PollReport
    from digest.pipeline.site import Site
    from digest.planning.slices import Slice

_log = logging.getLogger("digest.witness")

SLICES_A_RUN = 3
"""More of them would keep others waiting: a mailing is listed for a whole day."""

_DAY = timedelta(hours=24)


def witness(site: Site, report: PollReport) -> None:
    """Read some slices of the last mailing's listing, where that is wanted and arXiv has been looked at.

    Nothing is asked before the mailing is complete, nor on a day without a listing, nor twice. A failure is
    kept in the ledger and told by `digest verify`; the pass goes on whatever happens.

    Args:
        site: the installation.
        report: what this pass asked of arXiv so far; its requests are added to.
    """
    arxiv = site.config.arxiv
    if not (arxiv.witness and arxiv.source == "harvest" and report.was_due) or report.is_cut_short:
        return
    try:
        now = site.clock.now()
        mailing, wanted = _choose_slices(site, report, now)
        asked = site.client.requests
        for one in wanted:
            failure = read_slice(site, one, mailing)
            if failure is not None and not isinstance(failure, ArxivRejected):
                break
        report.requests += site.client.requests - asked
    except StoreError as error:
        _log.warning("the listing was not kept: %s", error.message)


def _choose_slices(site: Site, report: PollReport, now: datetime) -> tuple[date, Sequence[Slice]]:
    mailing = latest_listed(now)
    if mailing != latest_mailing(now) or not is_listing_day(now):
        return mailing, ()
    with site.store.read() as conn:
        if not load_whole_coverage(conn, Source.HARVEST, now).is_complete:
            return mailing, ()
        kept = {one.listing.slice for one in listing_store.load_listings(conn, mailing) if one.mailing == mailing}
        spare = spare_requests(report.requests, overview.count_requests(conn, now - _DAY))
    return mailing, [one for one in SLICES if one not in kept][: min(SLICES_A_RUN, spare)]


def read_slice(site: Site, slice_: Slice, expected: date) -> ArxivError | None:
    """Read one slice of today's listing and keep it, with its page, as a run of its own.

    Args:
        site: the installation.
        slice_: what to read.
        expected: Eastern date of the mailing it should show; its ids decide which one it is kept for.

    Returns:
        How arXiv failed, None where it did not.
    """
    site.progress.begin("poll", f"arXiv's own listing of {slice_.name}")
    asked = site.client.requests
    with site.store.begin() as conn:
        started = site.clock.now()
        run_id = run_store.start_run(
            conn, source=Source.LISTING, query_key=slice_.key, at=started, mailing=expected, owner=site.owner
        )
    try:
        fetched = site.client.read_listing(slice_.subjects)
    except (ArxivError, StoreError) as error:
        _fail(site, run_id, error.message, site.client.requests - asked)
        site.progress.end("poll", error.message)
        if isinstance(error, StoreError):
            raise
        return error
    listing = _read_names(slice_, fetched.page)
    mailing = _keep(site, run_id, expected, listing, fetched, requests=site.client.requests - asked)
    site.progress.end("poll", _describe(listing, mailing, expected))
    return None


def _fail(site: Site, run_id: int, failure: str, requests: int) -> None:
    with site.store.begin() as conn:
        run_store.finish_run(
            conn,
            run_id,
            outcome="failed",
            at=site.clock.now(),
            pages=0,
            papers=0,
            new=0,
            changed=0,
            failure=failure,
            requests=requests,
        )


def _read_names(slice_: Slice, page: Listing) -> SliceListing:
    named = (
        ListedPaper(entry.id, entry.version, entry.announce_type, next(iter(entry.categories), ""))
        for entry in page.entries
    )
    return SliceListing(slice_, tuple(named), len(page.quarantined))


def _keep(
    site: Site, run_id: int, expected: date, listing: SliceListing, fetched: Fetched[Listing], *, requests: int
) -> date:
    """Keep a listing with its page; return the Eastern date of the mailing it shows."""
    at = fetched.fetched_at
    with site.store.begin() as conn:
        stored = listing_store.load_stored(conn, (paper.id for paper in listing.new))
        mailing = name_mailing(listing, stored, expected)
        page_store.save_page(conn, run_id, number=0, url=fetched.url, at=at, body=fetched.body)
        page_store.quarantine_entries(conn, run_id, 0, fetched.page.quarantined, at)
        listing_store.save_listing(conn, run_id, mailing, listing, at)
        newest = max((paper.id for paper in listing.new if not paper.id.archive), default=None)
        run_store.finish_run(
            conn,
            run_id,
            outcome="complete" if listing.papers else "empty",
            at=site.clock.now(),
            pages=1,
            papers=len(listing.papers),
            new=0,
            changed=0,
            highest_id=str(newest or ""),
            requests=requests,
        )
    return mailing


def _describe(listing: SliceListing, mailing: date, expected: date) -> str:
    lines = count(listing.lines, "line") if listing.lines else "empty"
    if mailing != expected:
        return f"{lines}, of the mailing of {mailing:%a} {mailing.day} {mailing:%b}"
    return f"{lines}, perhaps cut" if listing.is_cut else lines
