"""What runs brought, as it came: pages, entries nobody could read, and a log of every request."""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import func, insert, select, update

from digest.store.schema import poll_runs, quarantine, raw_pages, requests

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection


class SetAside(Protocol):
    """An entry that could not be read, as a parser hands it out."""

    @property
    def position(self) -> int:
        """Its place on the page, from 0."""
        ...

    @property
    def snippet(self) -> bytes:
        """Its beginning."""
        ...

    @property
    def error(self) -> str:
        """What is wrong with it."""
        ...


class Requested(Protocol):
    """One request to arXiv as the client reports it; see `digest.arxiv.RequestLog`."""

    @property
    def at(self) -> datetime: ...  # noqa: D102 - described by the class that has them
    @property
    def method(self) -> str: ...  # noqa: D102 - as above
    @property
    def url(self) -> str: ...  # noqa: D102 - as above
    @property
    def status(self) -> int | None: ...  # noqa: D102 - as above
    @property
    def milliseconds(self) -> int: ...  # noqa: D102 - as above
    @property
    def size(self) -> int: ...  # noqa: D102 - as above
    @property
    def sha256(self) -> str: ...  # noqa: D102 - as above
    @property
    def outcome(self) -> str: ...  # noqa: D102 - as above
    @property
    def detail(self) -> str: ...  # noqa: D102 - as above


def save_page(conn: Connection, run_id: int, *, number: int, url: str, at: datetime, body: bytes) -> None:
    """Keep a page as it came, and count it for its run.

    Args:
        conn: the transaction that stores what the page holds.
        run_id: its run.
        number: its place in the run, from 0.
        url: where it came from.
        at: when it was fetched (UTC).
        body: the bytes as they came.
    """
    page = insert(raw_pages).values(
        run_id=run_id,
        number=number,
        url=url,
        fetched_at=at,
        sha256=hashlib.sha256(body).hexdigest(),
        size=len(body),
        body=zlib.compress(body),
    )
    conn.execute(page)
    conn.execute(update(poll_runs).where(poll_runs.c.id == run_id).values(pages=poll_runs.c.pages + 1))


def load_pages(conn: Connection, run_id: int) -> list[bytes]:
    """Return the pages of a run as they came, in order, as far as they are still kept."""
    found = select(raw_pages.c.body).where(raw_pages.c.run_id == run_id).order_by(raw_pages.c.number)
    return [zlib.decompress(body) for body in conn.execute(found).scalars()]


def quarantine_entries(
    conn: Connection, run_id: int, page: int, entries: Iterable[SetAside], at: datetime
) -> None:
    """Set aside the entries of a page that could not be read."""
    rows = [
        {
            "run_id": run_id,
            "page": page,
            "position": entry.position,
            "error": entry.error,
            "snippet": entry.snippet,
            "seen_at": at,
        }
        for entry in entries
    ]
    if rows:
        conn.execute(insert(quarantine), rows)


def log_request(conn: Connection, request: Requested) -> None:
    """Keep one request to arXiv: when, what, and how it was answered."""
    conn.execute(
        insert(requests).values(
            at=request.at,
            method=request.method,
            url=request.url,
            status=request.status,
            milliseconds=request.milliseconds,
            size=request.size,
            sha256=request.sha256,
            outcome=str(request.outcome),
            detail=request.detail,
        )
    )


def count_quarantined(conn: Connection) -> int:
    """Return how many entries of arXiv's pages could not be read and are kept aside."""
    return conn.execute(select(func.count()).select_from(quarantine)).scalar_one()
