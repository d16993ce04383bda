"""The search interface's decisions: which papers, in which order, which page, and which refusals.

Refusals and their statuses are those of https://github.com/arXiv/arxiv-search, where some mistakes
of the client are answered with 500.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from xml.sax.saxutils import escape

from digest.model.errors import QueryError, UsageError
from digest.model.papers import ArxivId, Paper
from digest.query import matches, parse_query
from tests.fakes.archive import DemoPaper, show
from tests.fakes.pages import INTERNAL_ERROR, atom_author, atom_entry, atom_feed, format_moment

PAGING_WALL = 10_000
"""No result beyond this one can be asked for."""

_ERRORS = "https://arxiv.org/api/errors"
_SORT_KEYS: dict[str, Callable[[Paper], datetime]] = {
    "relevance": lambda paper: paper.published,
    "submittedDate": lambda paper: paper.published,
    "lastUpdatedDate": lambda paper: paper.updated,
}


class SearchRefusal(Exception):
    """The search interface answers with an error feed.

    Status, sentence, and the page its id names.
    """

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
    """Return the page that was asked for, or raise `SearchRefusal`: the answer is an error feed.

    `archive` gives the public states of one id, oldest first; for "", the current state of every
    paper. Of the entries the part `keep` is really sent; a negative number denies that there are
    any.
    """
    query = params.get("search_query", "").strip()
    ids = params.get("id_list", "").strip()
    start = int(params.get("start", 0))
    size = int(params.get("max_results", 10))
    key = _SORT_KEYS[params.get("sortBy", "relevance")]
    is_newest_first = params.get("sortOrder", "descending") == "descending"
    if size == 0 or size > PAGING_WALL or start >= PAGING_WALL:
        raise SearchRefusal(INTERNAL_ERROR, status=500, page=_ERRORS)
    papers = _find_by_id(ids, archive) if ids else [show(state) for state in archive("")]
    found = _match(query, papers)
    found.sort(key=lambda paper: paper.id)
    found.sort(key=key, reverse=is_newest_first)
    end = start + size
    page = found[start:end]
    total = len(found)
    if keep is not None:
        sent = round(len(page) * max(keep, 0))
        page = page[:sent]
        total = total if keep >= 0 else 0
    return write_page(page, start=start, size=size, total=total, moment=moment)


def write_page(
    papers: Sequence[Paper], *, start: int, size: int, total: int, moment: datetime
) -> bytes:
    """Return one page of results; `size` is what was asked for, whatever came."""
    entries = map(_write_entry, papers)
    updated = format_moment(moment)
    return atom_feed(*entries, total=total, start=start, per_page=size, updated=updated)


def _find_by_id(ids: str, archive: Callable[[str], Sequence[DemoPaper]]) -> list[Paper]:
    found: dict[tuple[ArxivId, int], Paper] = {}
    for text in ids.split(","):
        try:
            wanted, version = ArxivId.parse_versioned(text)
        except UsageError:
            raise SearchRefusal(f"incorrect id format for {text}") from None
        states = archive(str(wanted))
        if version is not None:
            states = [state for state in states if state.version == version]
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


def _write_entry(paper: Paper) -> str:
    texts = [("comment", paper.comment), ("journal_ref", paper.journal_ref)]
    texts += [("doi", doi) for doi in paper.dois]
    extra = ""
    for name, text in texts:
        if text:
            extra += f"<arxiv:{name}>{escape(text)}</arxiv:{name}>"
    authors = ""
    for author in paper.authors:
        authors += atom_author(author.name, *author.affiliations)
    return atom_entry(
        f"{paper.id}v{paper.version}",
        title=paper.title,
        summary=paper.abstract,
        updated=format_moment(paper.updated),
        published=format_moment(paper.published),
        authors=authors,
        categories=paper.categories,
        extra=extra,
    )
