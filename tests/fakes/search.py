"""The search interface's decisions: which papers, in which order, which page, and which refusals.

Refusals and their statuses are those of https://github.com/arXiv/arxiv-search, where some mistakes of
the client are answered with 500.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from digest.model.errors import QueryError, UsageError
from digest.model.papers import ArxivId
from digest.query import matches, parse_query
from tests.fakes.archive import show
from tests.fakes.atom import INTERNAL_ERROR, write_feed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from digest.model.papers import Paper
    from tests.fakes.archive import DemoPaper

PAGING_WALL = 10_000
"""No result beyond this one can be asked for."""

_ERRORS = "https://arxiv.org/api/errors"
_NOTHING_ASKED = "Either a search_query or id_list must be specified for the classic API."
_SORT_PAGE = "https://arxiv.org/help/api/user-manual#sort"
_SORT_KEYS: dict[str, Callable[[Paper], datetime]] = {
    "relevance": lambda paper: paper.published,
    "submittedDate": lambda paper: paper.published,
    "lastUpdatedDate": lambda paper: paper.updated,
}


class SearchRefusal(Exception):
    """The search interface answers with an error feed: status, sentence, and the page its id names."""

    def __init__(self, message: str, *, status: int = 400, page: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.page = page or f"{_ERRORS}#{message.replace(' ', '_')}"


def answer_search(
    params: dict[str, str],
    archive: Callable[[str], Sequence[DemoPaper]],
    moment: datetime,
    keep: float | None = None,
) -> bytes:
    """Return the page that was asked for.

    Args:
        params: as asked.
        archive: the public states of one id, oldest first; for `""`, the current state of every paper.
        moment: now (UTC).
        keep: the part of the page's entries that is really sent; None sends all and 0 none, and a
            negative number denies that there are any.

    Raises:
        SearchRefusal: the answer is an error feed.
    """
    query, ids = params.get("search_query", "").strip(), params.get("id_list", "").strip()
    start, size = _read_number(params, "start", 0), _read_number(params, "max_results", 10)
    key = _read_order(params)
    if not query and not ids:
        raise SearchRefusal(_NOTHING_ASKED, page=_ERRORS)
    if size == 0 or size > PAGING_WALL or start >= PAGING_WALL:
        raise SearchRefusal(INTERNAL_ERROR, status=500, page=_ERRORS)
    papers = _find_by_id(ids, archive) if ids else [show(state) for state in archive("")]
    found = sorted(_match(query, papers), key=lambda paper: paper.id)
    found.sort(key=key, reverse=params.get("sortOrder", "descending") == "descending")
    page, total = found[start : start + size], len(found)
    if keep is not None:
        page, total = page[: round(len(page) * max(keep, 0))], total if keep >= 0 else 0
    return write_feed(page, query=query, ids=ids, start=start, size=size, total=total, moment=moment)


def _read_number(params: Mapping[str, str], name: str, default: int) -> int:
    text = params.get(name) or str(default)
    if not re.fullmatch(r"[+-]?\d{1,12}", text, re.ASCII):
        raise SearchRefusal(f"{name} must be an integer")
    if int(text) < 0:
        raise SearchRefusal(f"{name} must be non-negative")
    return int(text)


def _read_order(params: Mapping[str, str]) -> Callable[[Paper], datetime]:
    key = _SORT_KEYS.get(params.get("sortBy") or "relevance")
    if key is None:
        raise SearchRefusal("sortBy must be in: relevance, lastUpdatedDate, submittedDate", page=_SORT_PAGE)
    if (params.get("sortOrder") or "descending") not in ("ascending", "descending"):
        raise SearchRefusal("sortOrder must be in: ascending, descending", page=_SORT_PAGE)
    return key


def _find_by_id(ids: str, archive: Callable[[str], Sequence[DemoPaper]]) -> list[Paper]:
    found: dict[tuple[ArxivId, int], Paper] = {}
    for text in ids.split(","):
        try:
            wanted, version = ArxivId.parse_versioned(text)
        except UsageError:
            raise SearchRefusal(f"incorrect id format for {text}") from None
        states = [state for state in archive(str(wanted)) if version in (None, state.version)]
        if states:
            paper = show(states[-1])
            found[paper.id, paper.version] = paper
    return list(found.values())


def _match(query: str, papers: Iterable[Paper]) -> list[Paper]:
    if not query:
        return list(papers)
    try:
        tree = parse_query(query)
    except QueryError:
        raise SearchRefusal(f"Invalid query string: '{query}'", page=_ERRORS) from None
    return [paper for paper in papers if matches(tree, paper)]
