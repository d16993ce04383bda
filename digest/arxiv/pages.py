"""Walks through a harvest or a search, page by page, to its end.

Source: https://info.arxiv.org/help/oa/index.html; the list has no total, so only the pages' own
sizes and the token on each show whether something is missing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qs, unquote

from digest.arxiv.atom import AtomPage
from digest.arxiv.client import IDS_LIMIT, WALL, ArxivClient, Fetched, ShortPage
from digest.arxiv.oai import LoadHashes, OaiPage, TokenExpired, know_none
from digest.model.errors import ArxivFaulted, ArxivRejected, ArxivShort
from digest.model.papers import ArxivId
from digest.model.said import Said, Saying

OVERLAP: Final = 3
"""Papers of a page that are asked for again with the next one."""

ASKED_AGAIN: Final = Said.of(Saying.NEXT_CHECK_COUNTS)
"""What becomes of a search that broke off while arXiv was polled."""

SMALLEST_PAGE: Final = 10
_STEPS_BACK: Final = 3
_PART: Final = 0.8
"""How full of what arXiv gives out a part is meant to be, so that a busy week does not spoil it."""

EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC)
"""Before every paper: some carry dates older than arXiv itself, which began in August 1991."""

_MINUTE = timedelta(minutes=1)
_FORMAT = "%Y%m%d%H%M"


def walk_records(
    client: ArxivClient,
    from_date: date,
    *,
    token: str = "",
    load_hashes: LoadHashes = know_none,
) -> Iterator[Fetched[OaiPage]]:
    """Fetch the pages of all touched since the start of a UTC day; the last one completes it.

    A single page with `is_no_records_match` is a complete check, too, at an empty list. With a
    `token` it goes on with a harvest from that day that was broken off. For `load_hashes` see
    `parse_oai`.

    Raise `TokenExpired`: the list can't be gone on with; start again from `from_date`.
    Raise `ArxivFaulted`: arXiv leads round in a circle.
    """
    sizes: list[int] = []
    yield from _walk_once(client, from_date, token, sizes, load_hashes)
    if sizes.index(max(sizes)) > 0:
        # The pages before the first full one came short, and nothing showed it then.
        yield from _walk_once(client, from_date, "", sizes, load_hashes)


def find_day(token: str) -> date | None:
    """Return the UTC day on which a page's papers were touched, by its token; None if unknown.

    arXiv's tokens are queries, quoted, and name the day of the page's first paper
    (https://github.com/arXiv/oaipmh).
    """
    named = parse_qs(unquote(token)).get("from", [""])
    try:
        return date.fromisoformat(named[0])
    except ValueError:
        return None


def _walk_once(
    client: ArxivClient,
    from_date: date,
    token: str,
    sizes: list[int],
    load_hashes: LoadHashes,
) -> Iterator[Fetched[OaiPage]]:
    """Fetch a list once; `sizes` gets how many entries each page has, and says what to expect."""
    used: set[str] = set()
    asked: str | None = token
    while asked is not None:
        if asked in used:
            raise ArxivFaulted(
                f"the harvest from {from_date.isoformat()} leads back to its own page {asked}",
                hint="The next check starts it again.",
            )
        used.add(asked)
        most = max(sizes, default=0)
        fetched = client.list_records(from_date, asked, expected=most, load_hashes=load_hashes)
        if asked and fetched.page.is_no_records_match:
            raise TokenExpired(
                f"the harvest from {from_date.isoformat()} changed while it was read: its page "
                f"{asked} is gone",
                hint="The harvest starts again from its first page.",
            )
        sizes.append(fetched.page.records)
        yield fetched
        asked = fetched.page.token


@dataclass(slots=True)
class _Walk:
    """How far the walk through a part has come: what it met, and if dates are in order so far."""

    query: str
    size: int
    window: Window | None = None
    position: int = 0
    total: int = 0
    is_sorted: bool = True
    newest: datetime | None = None
    oldest: datetime | None = None
    first_total: int | None = None
    seen: set[ArxivId] = field(default_factory=set)
    unreadable: set[bytes] = field(default_factory=set)
    steps_back: int = 0

    @property
    def found(self) -> int:
        """How many different entries came, readable or not."""
        return len(self.seen) + len(self.unreadable)

    def has_reached(self, until: datetime) -> bool:
        """Whether all that is still to come is older."""
        return self.is_sorted and self.oldest is not None and self.oldest < until

    def is_too_wide(self, until: datetime) -> bool:
        """Whether arXiv's limit comes before the date that is wanted, as far as is known by now."""
        if self.total <= WALL:
            return False
        if self.position >= WALL or not self.is_sorted or self.is_wanted_whole(until):
            return True
        if self.newest is None or self.oldest is None:
            return False
        # At the pace so far, twice as many papers as arXiv gives out would come before `until`.
        walked = self.newest - self.oldest
        wanted = self.newest - until
        return self.found * wanted > 2 * WALL * walked > timedelta(0)

    def is_wanted_whole(self, until: datetime) -> bool:
        """Whether no version of any paper of the part is older than what is wanted."""
        return self.window is not None and self.window.first + _MINUTE > until


def walk_search(
    client: ArxivClient,
    query: str,
    *,
    until: datetime,
    size: int = 100,
    asks_twice: bool = False,
) -> Iterator[Fetched[AtomPage]]:
    """Fetch the pages of a search by date of the last version, newest first, each paper once.

    If arXiv gives out too few results to get as far as `until`, the search is read in parts, each
    newest first: what was submitted since then, and what was submitted before and replaced since.

    Args:
        query: in arXiv's own query language.
        until: older papers are not wanted; the last page may hold some.
        size: papers to a page, at least `SMALLEST_PAGE`.
        asks_twice: an answer that there is nothing is asked for once more before it is believed.

    Raise `ArxivRejected`: it can't be cut into parts that arXiv gives out.
    Raise `ArxivShort`: papers are missing, or the results move too fast to be read.
    """
    reader = _Reader(client, query, until, max(size, SMALLEST_PAGE))
    whole = _Walk(query, reader.size)
    is_read = yield from reader.read(whole, asks_twice=asks_twice)
    if is_read:
        return
    waiting = cut_at(until, reader.end)
    while waiting:
        window = waiting.pop(0)
        part = _Walk(window.confine(query), reader.size, window)
        is_read = yield from reader.read(part, asks_twice=True)
        if not is_read:
            waiting = _divide(query, part, window, until) + waiting


def fetch_papers(client: ArxivClient, ids: Sequence[ArxivId]) -> Iterator[Fetched[AtomPage]]:
    """Fetch papers by id in their latest versions; those arXiv does not know are absent."""
    distinct = [str(id_) for id_ in dict.fromkeys(ids)]
    for first in range(0, len(distinct), IDS_LIMIT):
        some = distinct[first : first + IDS_LIMIT]
        yield client.search("", ids=some, size=len(some))


class _Reader:
    """Reads the parts of one search, gives out each paper once; `end` is after all submitted."""

    end: datetime

    def __init__(self, client: ArxivClient, query: str, until: datetime, size: int) -> None:
        self.size = size
        self._client = client
        self._query = query
        self._until = until
        self._total = 0
        self._given: set[ArxivId] = set()

    def read(self, walk: _Walk, *, asks_twice: bool) -> Generator[Fetched[AtomPage], None, bool]:
        """Walk through one part; return False if it is too wide to be walked to its end."""
        while True:
            start = max(0, walk.position - OVERLAP)
            fetched = self._fetch_page(walk, start)
            if asks_twice and walk.found == fetched.page.total == 0:
                asks_twice = False
                continue
            if not _has_joined(walk, fetched.page, start):
                continue
            _advance(walk, fetched.page, start)
            yield self._give_out(walk, fetched)
            if walk.position >= walk.total or walk.found >= walk.total:
                self._require_all(walk)
                return True
            if walk.has_reached(self._until):
                return True
            if walk.position >= WALL or walk.is_too_wide(self._until):
                return False

    def _require_all(self, walk: _Walk) -> None:
        """Refuse a walk that came to the end with fewer papers than were there at its start."""
        expected = walk.first_total or 0
        missing = expected - walk.found
        if missing > 0:
            raise ArxivShort(
                f"{self._query[:80]!r} has {expected:,} papers, but {missing:,} of them never came",
                hint=ASKED_AGAIN,
            )

    def _fetch_page(self, walk: _Walk, start: int) -> Fetched[AtomPage]:
        """Fetch a page, in ever smaller ones if none comes: arXiv fails for some sizes alone."""
        is_resized = False
        while True:
            size = _fit_page(start, walk.size)
            try:
                return self._client.search(walk.query, start=start, size=size)
            except ShortPage as short:
                papers = short.fetched.page.papers
                if any(paper.id not in walk.seen for paper in papers):
                    return short.fetched
                if walk.size // 2 < SMALLEST_PAGE:
                    raise
                walk.size //= 2
            except ArxivFaulted:
                if is_resized or walk.size // 2 < SMALLEST_PAGE:
                    raise
                is_resized = True
                walk.size //= 2

    def _give_out(self, walk: _Walk, fetched: Fetched[AtomPage]) -> Fetched[AtomPage]:
        """Return a page with what was not given out before, and the total of the whole search."""
        if walk.window is None:
            self._total = walk.total
            self.end = fetched.fetched_at + timedelta(days=1)
        papers = tuple(paper for paper in fetched.page.papers if paper.id not in self._given)
        self._given.update(paper.id for paper in papers)
        total = max(self._total, walk.total)
        page = replace(fetched.page, papers=papers, total=total)
        return replace(fetched, page=page)


def _divide(query: str, part: _Walk, window: Window, until: datetime) -> list[Window]:
    """Cut a part that is too wide: evenly if all of it is wanted, else in halves."""
    is_wanted_whole = part.is_wanted_whole(until)
    if not part.is_sorted and not is_wanted_whole:
        raise ArxivRejected(
            f"{query[:80]!r} has {part.total:,} papers from before {window.last:%Y-%m-%d}, in no "
            "order",
            hint=ASKED_AGAIN,
        )
    parts = 2
    if is_wanted_whole:
        parts = max(2, round(part.total / (WALL * _PART)))
    windows = window.divide(parts)
    if len(windows) == 1:
        raise ArxivRejected(
            f"{query[:80]!r} has {part.total:,} papers of {window.first:%Y-%m-%d %H:%M}, "
            f"of which arXiv gives out {WALL:,}",
            hint="Narrow the search, for instance to fewer categories.",
        )
    return windows


def _fit_page(start: int, size: int) -> int:
    """Return how many papers can be asked for: arXiv fails if a next page is beyond its limit."""
    size = min(size, WALL - start)
    while size > 1 and 1 + round(start / size) > WALL // size:
        size -= 1
    return size


def _has_joined(walk: _Walk, page: AtomPage, start: int) -> bool:
    """Whether a page follows on those before; if not, the walk steps back half a page."""
    is_top = start == 0 and (page.entries > 0 or walk.found == 0)
    if is_top or any(paper.id in walk.seen for paper in page.papers):
        return True
    if any(entry.snippet in walk.unreadable for entry in page.quarantined):
        return True
    walk.steps_back += 1
    if walk.steps_back > _STEPS_BACK:
        raise ArxivShort(
            "the results changed while Digest read them, so papers between two pages may be "
            "missing",
            hint=ASKED_AGAIN,
        )
    walk.position = max(0, start - walk.size // 2)
    return False


def _advance(walk: _Walk, page: AtomPage, start: int) -> None:
    """Note what a page brought, and go on to its end."""
    for paper in page.papers:
        if paper.id in walk.seen:
            continue
        walk.seen.add(paper.id)
        if walk.newest is None:
            walk.newest = paper.updated
        if walk.oldest is not None and paper.updated > walk.oldest:
            walk.is_sorted = False
        walk.oldest = paper.updated
    walk.unreadable.update(entry.snippet for entry in page.quarantined)
    walk.total = page.total
    if walk.first_total is None:
        walk.first_total = page.total
    walk.position = start + page.entries


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time in which first versions were submitted, in whole minutes (UTC).

    Neighbours share the minute between them: whether arXiv reads a last minute to its end or only
    to its beginning, no paper falls between two, and one that two of them have is known by its id.
    """

    first: datetime
    last: datetime

    def confine(self, query: str) -> str:
        """Return a search in arXiv's query language, for no more than what was submitted within."""
        first = self.first.strftime(_FORMAT)
        last = self.last.strftime(_FORMAT)
        return f"({query}) AND submittedDate:[{first} TO {last}]"

    def divide(self, parts: int) -> list[Window]:
        """Cut it into so many equal parts, the latest first; fewer if it has fewer minutes."""
        minutes = (self.last - self.first) // _MINUTE
        parts = max(1, min(parts, minutes))
        edges = [self.first + _MINUTE * (minutes * number // parts) for number in range(parts + 1)]
        windows = [Window(first, last) for first, last in pairwise(edges)]
        windows.reverse()
        return windows


def cut_at(moment: datetime, end: datetime) -> list[Window]:
    """Return what was submitted since a moment, up to an end, and before it, the latter last."""
    end = max(_floor(end), EARLIEST + _MINUTE)
    edge = min(_floor(moment), end - _MINUTE)
    if edge <= EARLIEST:
        return [Window(EARLIEST, end)]
    return [Window(edge, end), Window(EARLIEST, edge)]


def _floor(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(second=0, microsecond=0)
