from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from digest.arxiv.client import ArxivClient, ShortPage
from digest.arxiv.pages import OVERLAP, fetch_papers, walk_search
from digest.model.errors import ArxivShort
from digest.model.papers import ArxivId
from tests.fakes.pages import atom_entry, atom_feed
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv, Seen

NEWEST = datetime(2026, 11, 20, tzinfo=UTC)
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Shelf:
    """Papers of a search, the newest first and an hour between two.

    Each request can be tampered with.
    """

    def __init__(self, arxiv: ScriptedArxiv, count: int, total: int | None = None) -> None:
        self.papers = [(number, NEWEST - timedelta(hours=number)) for number in range(1, count + 1)]
        self.total = total
        self.shift = 0
        self.keep = 10_000
        self.keep_times = 10_000
        self.is_shuffled = False
        self.arrivals = 0
        arxiv.answer = self.answer

    def answer(self, seen: Seen) -> Reply:
        start = int(seen.params["start"])
        size = int(seen.params["max_results"])
        begin = max(0, start + self.shift) if start else 0
        page = self.papers[begin : begin + size]
        if self.keep_times > 0 and size > self.keep:
            page = page[: self.keep]
            self.keep_times -= 1
        if self.is_shuffled:
            page = random.Random(start).sample(page, len(page))  # noqa: S311 - a made-up disorder
        for _ in range(self.arrivals):
            number = 20_000 + len(self.papers)
            self.papers.insert(0, (number, NEWEST + timedelta(hours=number)))
        total = len(self.papers) - self.arrivals if self.total is None else self.total
        entries = []
        for number, at in page:
            updated = at.strftime("%Y-%m-%dT%H:%M:%SZ")
            entries.append(atom_entry(f"2611.{number:05d}v1", updated=updated))
        return Reply(atom_feed(*entries, total=total, start=start, per_page=size))


def walk(client: ArxivClient, *, until: datetime = LONG_AGO, size: int = 20) -> list[int]:
    pages = walk_search(client, "cat:cs.PF", until=until, size=size)
    numbers = []
    for fetched in pages:
        numbers += [paper.id.number for paper in fetched.page.papers]
    return numbers


def starts(arxiv: ScriptedArxiv) -> list[int]:
    return [int(seen.params["start"]) for seen in arxiv.seen]


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 37, 100])
def test_a_walk_brings_every_paper_once_and_in_order(
    arxiv: ScriptedArxiv, client: ArxivClient, count: int
) -> None:
    Shelf(arxiv, count)
    assert walk(client) == list(range(1, count + 1))


def test_pages_overlap_and_what_was_seen_is_given_out_once(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 50)
    walk(client)
    assert starts(arxiv) == [0, 20 - OVERLAP, 37 - OVERLAP]


def test_a_walk_ends_with_the_page_that_reaches_the_wanted_date(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 500)
    numbers = walk(client, until=NEWEST - timedelta(hours=30))
    assert numbers == list(range(1, 38))


def test_a_short_page_is_gone_on_from_where_it_ended(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 60)
    shelf.keep = 12
    assert walk(client) == list(range(1, 61))


def test_empty_pages_are_asked_for_in_smaller_ones(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 60)
    shelf.keep = 0
    shelf.keep_times = 3
    assert walk(client, size=40) == list(range(1, 61))
    sizes = [int(seen.params["max_results"]) for seen in arxiv.seen]
    assert sizes[:4] == [40, 40, 40, 20]


def test_pages_that_stay_empty_are_no_end_of_the_search(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 60).keep = 0
    with pytest.raises(ShortPage):
        walk(client, size=40)


def test_out_of_order_a_walk_goes_on_to_the_end_instead_of_stopping_at_a_date(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 100)
    shelf.is_shuffled = True
    numbers = walk(client, until=NEWEST - timedelta(hours=1))
    assert sorted(numbers) == list(range(1, 101))


def test_papers_that_come_in_meanwhile_push_nothing_out(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 100).arrivals = 2
    numbers = walk(client)
    assert [number for number in numbers if number < 20_000] == list(range(1, 101))


@pytest.mark.parametrize("shift", [1, 5, -1, 2])
def test_pages_that_overlap_more_or_less_than_asked_lose_nothing(
    arxiv: ScriptedArxiv, client: ArxivClient, shift: int
) -> None:
    Shelf(arxiv, 100, total=100).shift = -shift
    assert set(walk(client)) >= set(range(1, 101 - max(0, shift)))


def test_a_gap_between_two_pages_takes_the_walk_back(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 200).shift = OVERLAP + 2
    numbers = walk(client, until=NEWEST - timedelta(hours=100), size=40)
    assert numbers[:100] == list(range(1, 101))


def test_results_that_keep_moving_are_an_error_and_no_end(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    Shelf(arxiv, 300, total=300).shift = 100
    with pytest.raises(ArxivShort, match="changed while"):
        walk(client, size=20)


def test_a_search_that_never_gives_all_it_promises_is_an_error(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 40)
    shelf.papers[30] = shelf.papers[29]
    with pytest.raises(ArxivShort, match="1 of them never came"):
        walk(client)


@pytest.mark.parametrize("fault", [2, 3])
def test_an_answer_that_suddenly_knows_of_nothing_is_no_end_of_the_search(
    arxiv: ScriptedArxiv, client: ArxivClient, fault: int
) -> None:
    shelf = Shelf(arxiv, 60)

    def answer(seen: Seen) -> Reply:
        return Reply(atom_feed(total=0)) if len(arxiv.seen) == fault else shelf.answer(seen)

    arxiv.answer = answer
    assert walk(client) == list(range(1, 61))


def test_answers_that_go_on_knowing_of_nothing_are_an_error(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 60)

    def answer(seen: Seen) -> Reply:
        if len(arxiv.seen) > 1:
            return Reply(atom_feed(total=0, start=seen.params["start"]))
        return shelf.answer(seen)

    arxiv.answer = answer
    with pytest.raises(ArxivShort, match="changed while"):
        walk(client)


def test_that_there_is_nothing_is_asked_once_more_where_it_would_be_news(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    shelf = Shelf(arxiv, 5)

    def answer(seen: Seen) -> Reply:
        if len(arxiv.seen) == 1:
            return Reply(atom_feed(total=0))
        return shelf.answer(seen)

    arxiv.answer = answer
    pages = walk_search(client, "cat:cs.PF", until=LONG_AGO, asks_twice=True)
    assert [len(fetched.page.papers) for fetched in pages] == [5]
    Shelf(arxiv, 0)
    assert [
        fetched.page.total for fetched in walk_search(client, "x", until=LONG_AGO, asks_twice=True)
    ] == [0]
    assert starts(arxiv) == [0] * 4


def test_papers_are_fetched_by_id_a_hundred_at_a_time(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    def answer(seen: Seen) -> Reply:
        known = [id_ for id_ in seen.params["id_list"].split(",") if not id_.endswith("7")]
        return Reply(atom_feed(*(atom_entry(f"{id_}v1") for id_ in known)))

    arxiv.answer = answer
    ids = [ArxivId.parse(f"2611.{number:05d}") for number in range(1, 251)]
    pages = list(fetch_papers(client, [*ids, ids[0]]))
    assert [seen.params["max_results"] for seen in arxiv.seen] == ["100", "100", "50"]
    assert sum(len(fetched.page.papers) for fetched in pages) == 225
