from __future__ import annotations

from datetime import date

import pytest

from digest.arxiv.client import ArxivClient, Fetched
from digest.arxiv.oai import OaiPage, TokenExpired
from digest.arxiv.pages import walk_records
from digest.model.errors import ArxivFaulted
from tests.fakes.pages import oai_entry, oai_error, oai_page
from tests.integration.arxiv.conftest import WatchedGate
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv

DAY = date(2026, 11, 17)
FIRST = Reply(oai_page(oai_entry(), oai_entry(id_="2611.00002"), token="a%26b"))
LAST = Reply(oai_page(oai_entry(id_="2611.00003"), token=""))


def list_numbers(fetched: Fetched[OaiPage]) -> list[int]:
    return [paper.id.number for paper in fetched.page.papers]


def test_tokens_are_followed_to_the_end(
    arxiv: ScriptedArxiv, client: ArxivClient, gate: WatchedGate
) -> None:
    middle = Reply(oai_page(oai_entry(id_="2611.00004"), oai_entry(id_="2611.00005"), token="c"))
    arxiv.script(FIRST, middle, LAST)
    pages = list(walk_records(client, DAY))
    assert [list_numbers(page) for page in pages] == [[1, 2], [4, 5], [3]]
    asked = {"verb": "ListRecords", "metadataPrefix": "arXivRaw", "from": "2026-11-17"}
    tokens = ({"verb": "ListRecords", "resumptionToken": token} for token in ("a%26b", "c"))
    assert [seen.params for seen in arxiv.seen] == [asked, *tokens]
    assert gate.granted == 3


def test_a_page_that_is_shorter_than_others_before_it_is_asked_for_again(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    short = Reply(oai_page(oai_entry(id_="2611.00004"), token="c"))
    whole = Reply(oai_page(oai_entry(id_="2611.00004"), oai_entry(id_="2611.00005"), token="c"))
    arxiv.script(FIRST, short, whole, LAST)
    pages = list(walk_records(client, DAY))
    assert [len(fetched.page.papers) for fetched in pages] == [2, 2, 1]


def test_a_page_that_stays_short_is_taken_as_it_is(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    short = Reply(oai_page(oai_entry(id_="2611.00004"), token="c"))
    arxiv.script(FIRST, short, short, short, LAST)
    assert [len(fetched.page.papers) for fetched in walk_records(client, DAY)] == [2, 1, 1]


def test_a_list_whose_first_pages_were_short_is_read_once_more(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    short = Reply(oai_page(oai_entry(), token="a%26b"))
    arxiv.script(
        short,
        Reply(oai_page(oai_entry(id_="2611.00004"), oai_entry(id_="2611.00005"))),
        FIRST,
        LAST,
    )
    pages = list(walk_records(client, DAY))
    assert [list_numbers(page) for page in pages] == [[1], [4, 5], [1, 2], [3]]


def test_each_page_is_given_out_before_the_next_is_asked_for(
    arxiv: ScriptedArxiv, client: ArxivClient
) -> None:
    arxiv.script(FIRST, LAST)
    walk = walk_records(client, DAY)
    assert len(next(walk).page.papers) == 2
    assert len(arxiv.seen) == 1


def test_an_empty_list_is_one_page_that_says_so(arxiv: ScriptedArxiv, client: ArxivClient) -> None:
    arxiv.script(Reply(oai_error("noRecordsMatch")))
    (fetched,) = walk_records(client, DAY)
    assert fetched.page.is_no_records_match


@pytest.mark.parametrize("end", [oai_error("badResumptionToken"), oai_error("noRecordsMatch")])
def test_a_list_that_cannot_be_gone_on_with_asks_for_a_new_start(
    arxiv: ScriptedArxiv, client: ArxivClient, end: bytes
) -> None:
    arxiv.script(FIRST, Reply(end))
    walk = walk_records(client, DAY)
    next(walk)
    with pytest.raises(TokenExpired) as caught:
        next(walk)
    assert "first page" in caught.value.hint


def test_a_walk_in_a_circle_is_left(arxiv: ScriptedArxiv, client: ArxivClient) -> None:
    arxiv.answer = lambda _: FIRST
    with pytest.raises(ArxivFaulted, match="leads back"):
        list(walk_records(client, DAY))
    assert len(arxiv.seen) == 2
