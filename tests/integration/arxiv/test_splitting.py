"""Searches with more results than arXiv gives out are read in parts, and none is lost between."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from digest.arxiv import pages
from digest.arxiv.atom import AtomPage
from digest.arxiv.client import ArxivClient, Fetched
from digest.arxiv.pages import walk_search
from digest.model.errors import ArxivRejected, ArxivShort
from tests.conftest import IS_NIGHTLY
from tests.fakes.pages import atom_entry, atom_feed
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv, Seen

NOW = datetime(2026, 11, 20, 11, 30, tzinfo=UTC)
WALL = 100
RANGE = re.compile(r"\(cat:cs\.PF\) AND submittedDate:\[(\d{12}) TO (\d{12})\]")


class Library:
    """An arXiv with papers submitted once and replaced another time.

    Of one search it gives out so many.
    """

    def __init__(self, arxiv: ScriptedArxiv) -> None:
        self.papers: list[tuple[int, datetime, datetime]] = []
        self.is_exclusive = False
        self.is_shuffled = False
        self.denied = 0
        self._arxiv = arxiv
        arxiv.answer = self.answer

    def add(self, submitted: datetime, updated: datetime | None = None) -> None:
        number = len(self.papers) + 1
        self.papers.append((number, submitted, updated or submitted))

    def answer(self, seen: Seen) -> Reply:
        """Answer a search as arXiv does, with its limit and its way to read the last minute."""
        start = int(seen.params["start"])
        size = int(seen.params["max_results"])
        assert 1 + round(start / size) <= WALL // size, "arXiv answers with an inner error"
        selected = self._select(seen.params["search_query"])
        found = sorted(selected, key=lambda paper: paper[2], reverse=True)
        if self.is_shuffled:
            random.Random(1).shuffle(found)  # noqa: S311 - a made-up disorder
        is_part = "submittedDate" in seen.params["search_query"]
        if is_part and self.denied:
            self.denied -= 1
            return Reply(atom_feed(total=0))
        page = found[start : start + size]
        entries = []
        for number, submitted, updated in page:
            id_ = f"2611.{number:05d}v1"
            entries.append(atom_entry(id_, published=write(submitted), updated=write(updated)))
        return Reply(atom_feed(*entries, total=len(found), start=start, per_page=size))

    def _select(self, query: str) -> Iterator[tuple[int, datetime, datetime]]:
        window = RANGE.fullmatch(query)
        if window is None:
            yield from self.papers
            return
        first = read(window[1])
        last = read(window[2]) + timedelta(seconds=0 if self.is_exclusive else 59)
        yield from (paper for paper in self.papers if first <= paper[1] <= last)


def write(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read(minute: str) -> datetime:
    return datetime.strptime(minute, "%Y%m%d%H%M").replace(tzinfo=UTC)


@pytest.fixture
def library(arxiv: ScriptedArxiv, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setattr(pages, "WALL", WALL)
    return Library(arxiv)


def walk(client: ArxivClient, until: datetime, *, size: int = 20) -> list[Fetched[AtomPage]]:
    return list(walk_search(client, "cat:cs.PF", until=until, size=size))


def list_numbers(pages: list[Fetched[AtomPage]]) -> list[int]:
    numbers = []
    for fetched in pages:
        numbers += [paper.id.number for paper in fetched.page.papers]
    return numbers


def scatter(library: Library, count: int, days: int, seed: int) -> None:
    """Submit papers over so many days, many in one go, every third of them replaced later."""
    dice = random.Random(seed)  # noqa: S311 - made-up papers
    for number in range(count):
        submitted = NOW - timedelta(seconds=dice.randrange(60, days * 86_400))
        if number % 5 == 0:
            second = dice.randrange(60)
            submitted = submitted.replace(hour=13, minute=59, second=second) - timedelta(days=1)
        updated = submitted
        if number % 3 == 0:
            updated += dice.random() * (NOW - submitted)
        library.add(submitted, updated.replace(microsecond=0))


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("seed", range(8 if IS_NIGHTLY else 3))
def test_a_search_beyond_the_limit_brings_all_that_is_wanted_once(
    library: Library, client: ArxivClient, seed: int, *, is_exclusive: bool
) -> None:
    library.is_exclusive = is_exclusive
    dice = random.Random(seed)  # noqa: S311 - made-up papers
    scatter(library, dice.randrange(150, 900), dice.choice([5, 60, 2000]), seed)
    until = NOW - timedelta(days=dice.choice([1, 8, 100, 3000]))
    size = dice.choice([10, 20, 50])
    numbers = list_numbers(walk(client, until, size=size))
    assert len(numbers) == len(set(numbers))
    expected = {number for number, _, updated in library.papers if updated >= until}
    assert set(numbers) >= expected


def test_pages_of_a_part_tell_the_total_of_the_whole(library: Library, client: ArxivClient) -> None:
    scatter(library, 300, 30, 1)
    pages = walk(client, NOW - timedelta(days=40))
    assert {fetched.page.total for fetched in pages} == {300}


def test_a_walk_that_reaches_its_date_before_the_limit_asks_for_no_parts(
    arxiv: ScriptedArxiv, library: Library, client: ArxivClient
) -> None:
    for hours in range(1, 1000):
        library.add(NOW - timedelta(hours=hours))
    walk(client, NOW - timedelta(hours=60))
    assert not any("submittedDate" in seen.params["search_query"] for seen in arxiv.seen)


def test_where_the_limit_is_sure_to_come_first_the_search_is_cut_at_once(
    arxiv: ScriptedArxiv, library: Library, client: ArxivClient
) -> None:
    for hours in range(1, 1000):
        library.add(NOW - timedelta(hours=hours))
    walk(client, NOW - timedelta(hours=600))
    whole = [seen for seen in arxiv.seen if "submittedDate" not in seen.params["search_query"]]
    assert len(whole) == 1
    assert len(arxiv.seen) < 1 + 600 / (20 - pages.OVERLAP) + 12


def test_a_part_that_is_said_to_be_empty_is_asked_for_once_more(
    library: Library, client: ArxivClient
) -> None:
    scatter(library, 300, 30, 1)
    library.denied = 1
    fetched = walk(client, NOW - timedelta(days=40))
    assert len(list_numbers(fetched)) == 300


def test_a_part_whose_papers_do_not_all_come_is_an_error(
    library: Library, client: ArxivClient
) -> None:
    scatter(library, 300, 30, 1)
    library.papers[17] = library.papers[18]
    with pytest.raises(ArxivShort, match="1 of them never came"):
        walk(client, NOW - timedelta(days=40))


def test_more_papers_of_one_minute_than_arxiv_gives_out_are_an_error(
    library: Library, client: ArxivClient
) -> None:
    for second in range(WALL + 1):
        library.add(NOW - timedelta(days=1, seconds=second % 30))
    with pytest.raises(
        ArxivRejected, match=r"101 papers of 2026-11-19 11:29, of which arXiv gives out 100"
    ):
        walk(client, NOW - timedelta(days=2))


def test_without_any_order_what_is_recent_comes_and_the_rest_is_an_error(
    library: Library, client: ArxivClient
) -> None:
    scatter(library, 500, 400, 1)
    library.is_shuffled = True
    until = NOW - timedelta(days=30)
    came: set[int] = set()

    def keep_walking() -> None:
        for fetched in walk_search(client, "cat:cs.PF", until=until, size=20):
            came.update(paper.id.number for paper in fetched.page.papers)

    with pytest.raises(ArxivRejected, match="in no order"):
        keep_walking()
    assert came >= {number for number, submitted, _ in library.papers if submitted >= until}


def test_papers_older_than_arxiv_belong_to_a_part_too(
    library: Library, client: ArxivClient
) -> None:
    scatter(library, 300, 30, 1)
    library.add(datetime(1989, 10, 31, tzinfo=UTC), NOW - timedelta(days=1))
    fetched = walk(client, NOW - timedelta(days=40))
    assert 301 in list_numbers(fetched)
