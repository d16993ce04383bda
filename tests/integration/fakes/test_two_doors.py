from collections.abc import Iterator
from datetime import date

import httpx
import pytest

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai
from digest.model.announcements import mailing_moment
from digest.model.clock import ManualClock
from digest.model.papers import Paper
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv

PAPERS = read_demo_papers()


@pytest.fixture(scope="module")
def arxiv() -> Iterator[DemoArxiv]:
    clock = ManualClock(mailing_moment(date(2026, 11, 19)))
    with DemoArxiv(PAPERS, clock, page_size=10) as server:
        yield server


@pytest.fixture(scope="module")
def harvested(arxiv: DemoArxiv) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    params = {"verb": "ListRecords", "metadataPrefix": "arXivRaw"}
    while params:
        page = parse_oai(httpx.get(arxiv.oai_url, params=params, trust_env=False, timeout=30).content)
        assert page.quarantined == ()
        papers |= {str(paper.id): paper for paper in page.papers}
        params = {"verb": "ListRecords", "resumptionToken": page.token} if page.token else {}
    return papers


@pytest.fixture(scope="module")
def found(arxiv: DemoArxiv) -> dict[str, Paper]:
    form = {"id_list": ",".join(paper.id for paper in PAPERS), "max_results": "1000"}
    page = parse_atom(httpx.post(arxiv.api_url, data=form, trust_env=False, timeout=30).content)
    assert page.quarantined == ()
    assert page.total == len(page.papers)
    return {str(paper.id): paper for paper in page.papers}


def test_both_doors_show_every_paper_of_the_library(harvested: dict[str, Paper], found: dict[str, Paper]) -> None:
    assert harvested.keys() == found.keys() == {paper.id for paper in PAPERS}


@pytest.mark.parametrize(
    "name", ["version", "authors", "categories", "published", "updated", "is_withdrawn", "comment", "dois"]
)
def test_both_doors_tell_the_same_of_every_paper(
    harvested: dict[str, Paper], found: dict[str, Paper], name: str
) -> None:
    for paper_id, paper in harvested.items():
        assert getattr(paper, name) == getattr(found[paper_id], name), paper_id
