"""What arXiv's daily listings named, by mailing and slice, and what is stored of the papers they name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select

from digest.papers import ArxivId
from digest.planning.slices import slice_of
from digest.planning.verifying import ListedPaper, SliceListing, StoredPaper
from digest.store.dialect import in_chunks
from digest.store.schema import listings, papers, poll_runs, versions

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from sqlalchemy import Connection, Row


@dataclass(frozen=True, slots=True)
class KeptListing:
    """A listing, the mailing its ids belonged to by Eastern date, and when it was fetched (UTC)."""

    listing: SliceListing
    mailing: date
    fetched_at: datetime


def save_listing(conn: Connection, run_id: int, mailing: date, listing: SliceListing, at: datetime) -> None:
    """Keep what a listing named, in the transaction that keeps its page.

    Args:
        conn: a writing transaction.
        run_id: the run that read it.
        mailing: Eastern date of the mailing its ids belong to.
        listing: it.
        at: when it was fetched (UTC).
    """
    named = [[str(paper.id), paper.version, paper.announce_type, paper.primary] for paper in listing.papers]
    row = insert(listings).values(
        run_id=run_id,
        mailing=mailing,
        subjects=listing.slice.key,
        fetched_at=at,
        announced={"papers": named, "unreadable": listing.unreadable},
    )
    conn.execute(row)


def load_listings(conn: Connection, mailing: date) -> list[KeptListing]:
    """Return what is kept of a mailing's listing, one of each slice.

    That is the last listing of it that names any paper; else one read in its place that shows another mailing;
    else an empty one.
    """
    found = (
        select(listings)
        .join(poll_runs, poll_runs.c.id == listings.c.run_id)
        .where((listings.c.mailing == mailing) | (poll_runs.c.mailing == mailing))
        .order_by(listings.c.id)
    )
    kept: dict[str, KeptListing] = {}
    for row in conn.execute(found):
        one = _read_listing(row)
        if row.subjects not in kept or _worth(one, mailing) >= _worth(kept[row.subjects], mailing):
            kept[row.subjects] = one
    return list(kept.values())


def _worth(kept: KeptListing, mailing: date) -> tuple[bool, bool]:
    has_papers = bool(kept.listing.papers)
    return (has_papers and kept.mailing == mailing, has_papers)


def load_stored(conn: Connection, ids: Iterable[ArxivId]) -> dict[ArxivId, StoredPaper]:
    """Return what is stored of some papers; those never stored are missing."""
    stored = {}
    for chunk in in_chunks(str(id_) for id_ in ids):
        stored.update(_load(conn, papers.c.arxiv_id.in_(chunk)))
    return stored


def load_brought(conn: Connection, mailing: date) -> dict[ArxivId, StoredPaper]:
    """Return the papers that a mailing brought, as far as the store knows."""
    return _load(conn, papers.c.mailing == mailing)


def _load(conn: Connection, which: Any) -> dict[ArxivId, StoredPaper]:  # noqa: ANN401 - any condition on `papers`
    found = (
        select(
            papers.c.arxiv_id,
            papers.c.latest_version,
            papers.c.first_seen_at,
            papers.c.mailing,
            versions.c.categories,
        )
        .join(versions, versions.c.id == papers.c.latest_version_id)
        .where(which)
    )
    return {
        ArxivId.parse(row.arxiv_id): StoredPaper(
            row.latest_version, row.first_seen_at, row.mailing, tuple(row.categories.split())
        )
        for row in conn.execute(found)
    }


def _read_listing(row: Row[Any]) -> KeptListing:
    named = tuple(
        ListedPaper(ArxivId.parse(id_), version, announce_type, primary)
        for id_, version, announce_type, primary in row.announced["papers"]
    )
    listing = SliceListing(slice_of(row.subjects), named, row.announced["unreadable"])
    return KeptListing(listing, row.mailing, row.fetched_at)
