"""Records of a harvest that came before, in the same bytes: they are known and not read again."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.arxiv import oai
from digest.arxiv.oai import RULES, LoadHashes, OaiPage, parse_oai
from digest.model.errors import ArxivError
from digest.model.papers import ArxivId, Paper
from tests.battery.fuzz_mutators import mutate
from tests.battery.fuzz_pages import SEEDS
from tests.conftest import IS_NIGHTLY
from tests.fakes.archive import DemoPaper
from tests.fakes.oai import answer_oai
from tests.fakes.odd_manuscripts import ODD
from tests.fakes.pages import oai_entry, oai_page, raw_paper

ONE = oai_entry(id_="2611.00001")
TWO = oai_entry(id_="2611.00002")
OLD = oai_entry(id_="hep-th/9901001")
EDITED = oai_entry(raw_paper("2611.00001", title="Slower papers"))
NOW = datetime(2026, 11, 19, 8, tzinfo=UTC)
DAY = timedelta(days=1)
ASKED = (("verb", "ListRecords"), ("metadataPrefix", "arXivRaw"), ("from", "2026-11-01"))
PAGES = [seed.body for seed in SEEDS if seed.interface == "oai"]

READ_BY: tuple[bytes, str] = (b"1", "60b9caf4")
"""The version of the rules, and how the checksum begins of what they read of odd papers.

If the checksum differs, records read otherwise than before: raise `RULES`, then write both here.
"""


def remember(*pages: bytes) -> LoadHashes:
    """Return what a store answers that took in some pages."""
    hashes: dict[str, bytes] = {}
    for page in pages:
        read = parse_oai(page)
        ids = [str(paper.id) for paper in read.papers]
        hashes.update({id_: read.hashes[id_] for id_ in ids if id_ in read.hashes})

    def load_hashes(ids: Sequence[str]) -> Mapping[str, bytes]:
        return {id_: hashes[id_] for id_ in ids if id_ in hashes}

    return load_hashes


def list_ids(page: OaiPage) -> tuple[list[str], list[str]]:
    """Return the ids of the papers that were read, and of those that were known."""
    read = [str(paper.id) for paper in page.papers]
    return read, [*map(str, page.unchanged)]


def test_a_record_that_came_before_is_named_and_not_read() -> None:
    came_before = remember(oai_page(ONE, OLD))
    page = parse_oai(oai_page(OLD, TWO, ONE, token="next"), came_before)
    assert list_ids(page) == (["2611.00002"], ["hep-th/9901001", "2611.00001"])
    assert (page.records, page.token) == (3, "next")
    assert sorted(map(str, page.ids)) == ["2611.00001", "2611.00002", "hep-th/9901001"]


@pytest.mark.parametrize(
    "changed",
    [
        EDITED,
        oai_entry(id_="2611.00001", datestamp="2026-11-21"),
        ONE.replace("<record>", "<record> "),
    ],
    ids=["title", "datestamp", "blank"],
)
def test_a_record_of_which_one_byte_differs_is_read(changed: str) -> None:
    page = parse_oai(oai_page(changed, TWO), remember(oai_page(ONE, TWO)))
    assert list_ids(page) == (["2611.00001"], ["2611.00002"])


def test_a_paper_that_was_deleted_since_is_no_known_one() -> None:
    deleted = oai_entry(id_="2611.00001", status="deleted")
    page = parse_oai(oai_page(deleted, TWO), remember(oai_page(ONE, TWO)))
    assert list_ids(page) == ([], ["2611.00002"])
    assert page.records == 2


@pytest.mark.parametrize(
    "page",
    [
        oai_page(TWO, ONE, EDITED),
        oai_page(EDITED, TWO, ONE),
        oai_page(f"<!--{ONE}-->", EDITED.replace("<record>", "<record >"), TWO),
        oai_page(f"<?hide {ONE}?>", EDITED.replace("<record>", "<record >"), TWO),
        oai_page(EDITED.replace("<record>", "<record\n>"), TWO),
        oai_page(ONE.replace("oai:arXiv.org:", ""), TWO),
        oai_page(ONE, oai_entry(raw_paper("math.GT/0309136"), id_="math.GT/0309136")),
        oai_page(ONE, oai_entry(raw_paper("2611.00002", abstract="ONE")).replace("ONE", ONE)),
    ],
    ids=["twice", "twice again", "comment", "instruction", "tag", "header", "class", "nested"],
)
def test_a_page_whose_bytes_do_not_show_plainly_whose_records_they_are_is_read_whole(
    page: bytes,
) -> None:
    came_before = remember(oai_page(ONE, TWO))
    try:
        expected = parse_oai(page)
    except ArxivError as error:
        with pytest.raises(type(error)):
            parse_oai(page, came_before)
    else:
        assert parse_oai(page, came_before) == expected
        assert not expected.hashes


def test_known_records_beside_unreadable_ones_are_no_sign_of_another_format() -> None:
    damaged = [oai_entry("", id_=f"2611.{number:05d}") for number in range(10, 19)]
    page = parse_oai(oai_page(ONE, *damaged), remember(oai_page(ONE)))
    assert [entry.position for entry in page.quarantined] == list(range(1, 10))
    assert list_ids(page) == ([], ["2611.00001"])


def test_with_other_rules_each_record_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    came_before = remember(oai_page(ONE))
    monkeypatch.setattr(oai, "RULES", b"another")
    assert list_ids(parse_oai(oai_page(ONE), came_before)) == (["2611.00001"], [])


@settings(max_examples=4_000 if IS_NIGHTLY else 400)
@given(page=st.sampled_from(PAGES), other=st.sampled_from(PAGES), seed=st.integers(0, 10**9))
def test_a_damaged_page_comes_to_the_same_whether_its_records_came_before_or_not(
    page: bytes, other: bytes, seed: int
) -> None:
    draw = random.Random(seed)  # noqa: S311 - the same damage for the same seed
    body = mutate(draw, page, other)
    before: dict[ArxivId, Paper] = {}
    for whole in PAGES:
        before |= _read_papers(whole)

    def read_with_memory() -> OaiPage:
        found = parse_oai(body, remember(*_list_readable()))
        known = tuple(before[id_] for id_ in found.unchanged)
        return replace(found, papers=found.papers + known, unchanged=())

    assert _come_to(read_with_memory) == _come_to(lambda: parse_oai(body))


def _list_readable() -> list[bytes]:
    return [page for page in PAGES if _read_papers(page)]


def _read_papers(page: bytes) -> dict[ArxivId, Paper]:
    try:
        return {paper.id: paper for paper in parse_oai(page).papers}
    except ArxivError:
        return {}


def _come_to(read: Callable[[], OaiPage]) -> OaiPage | tuple[type[ArxivError], str]:
    try:
        page = read()
    except ArxivError as error:
        return type(error), error.message
    ordered = sorted(page.papers, key=lambda paper: paper.id)
    return replace(page, papers=tuple(ordered))


def test_what_records_read_as_changes_only_with_the_version_of_the_rules() -> None:
    papers = []
    for number, odd in enumerate(ODD, start=1):
        texts = odd._asdict()
        paper = DemoPaper(
            id=f"2611.{number:05d}", announced=NOW, submitted=(NOW - DAY, NOW), **texts
        )
        papers.append(paper)
    page = parse_oai(answer_oai(ASKED, papers, NOW + DAY, len(papers)))
    checksum = hashlib.sha256(repr(page.papers).encode()).hexdigest()
    assert (RULES, checksum[:8]) == READ_BY
