"""Walks through a harvest: everything arXiv touched since a day, page by page, to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.arxiv.oai import OaiPage, TokenExpired
from digest.errors import ArxivFaulted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from digest.arxiv.client import ArxivClient, Fetched


def walk_records(client: ArxivClient, from_date: date, *, token: str = "") -> Iterator[Fetched[OaiPage]]:
    """Fetch the pages of a harvest one after the other; only after the last one was it complete.

    A single page with `is_no_records_match` is a complete look, too, at an empty list.

    Args:
        client: asks.
        from_date: everything touched since the start of this UTC day.
        token: goes on with a harvest from that day that was broken off.

    Raises:
        TokenExpired: the list can't be gone on with; start again from `from_date`.
        ArxivFaulted: arXiv leads round in a circle.
        ArxivError: as described in `digest.errors`.
    """
    used = {token}
    fetched = client.list_records(token=token) if token else client.list_records(from_date=from_date)
    if token and fetched.page.is_no_records_match:
        raise _expired(from_date, token)
    yield fetched
    while fetched.page.token is not None:
        token = fetched.page.token
        if token in used:
            raise ArxivFaulted(
                f"the harvest from {from_date.isoformat()} leads back to its page {token}",
                hint="The next poll starts it again.",
            )
        used.add(token)
        fetched = client.list_records(token=token)
        if fetched.page.is_no_records_match:
            raise _expired(from_date, token)
        yield fetched


def _expired(from_date: date, token: str) -> TokenExpired:
    return TokenExpired(
        f"the harvest from {from_date.isoformat()} changed while it was read: its page {token} is gone",
        hint="The harvest starts again from its first page.",
    )
