"""Walks through a harvest: everything arXiv touched since a day, page by page, to the end.

Source: https://info.arxiv.org/help/oa/index.html; the list has no total, so only the pages' own sizes and
the token on each tell whether something is missing.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from digest.arxiv.client import ShortPage
from digest.arxiv.oai import OaiPage, TokenExpired
from digest.errors import ArxivFaulted

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    sizes: list[int] = []
    yield from _walk_once(client, from_date, token, sizes)
    if sizes.index(max(sizes)) > 0:
        # The pages before the first full one came short, and nothing told so then.
        yield from _walk_once(client, from_date, "", sizes)


def find_day(token: str) -> date | None:
    """Return the UTC day that a page's papers were touched on, by its token; None where that does not tell.

    arXiv's tokens are queries, quoted, and name the day of the page's first paper (https://github.com/arXiv/oaipmh).
    """
    try:
        return date.fromisoformat(parse_qs(unquote(token)).get("from", [""])[0])
    except ValueError:
        return None


def _walk_once(client: ArxivClient, from_date: date, token: str, sizes: list[int]) -> Iterator[Fetched[OaiPage]]:
    """Fetch a list once; `sizes` gets the entries of each page, and those known already say what to expect."""
    used = {token}
    fetched = _fetch(client, from_date, token, max(sizes, default=0))
    if token and fetched.page.is_no_records_match:
        raise _expired(from_date, token)
    sizes.append(fetched.page.records)
    yield fetched
    while fetched.page.token is not None:
        token = fetched.page.token
        if token in used:
            raise ArxivFaulted(
                f"the harvest from {from_date.isoformat()} leads back to its page {token}",
                hint="The next poll starts it again.",
            )
        used.add(token)
        fetched = _fetch(client, from_date, token, max(sizes))
        if fetched.page.is_no_records_match:
            raise _expired(from_date, token)
        sizes.append(fetched.page.records)
        yield fetched


def _fetch(client: ArxivClient, from_date: date, token: str, expected: int) -> Fetched[OaiPage]:
    """Fetch a page; where it stays short however often it is asked for, arXiv itself leaves something out.

    All pages of a list but the last have the same number of entries.
    """
    try:
        return client.list_records(token=token or None, from_date=None if token else from_date, expected=expected)
    except ShortPage as short:
        fetched: Fetched[OaiPage] = short.fetched
        return fetched


def _expired(from_date: date, token: str) -> TokenExpired:
    return TokenExpired(
        f"the harvest from {from_date.isoformat()} changed while it was read: its page {token} is gone",
        hint="The harvest starts again from its first page.",
    )
