"""The readers on real answers of arXiv, old and new, if `DIGEST_REAL_DATA` names their folder.

What should come out is told by other readers: feedparser, and lxml asked in the plainest way.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import feedparser
import pytest
from lxml import etree

from digest.arxiv.atom import check_counts, parse_atom
from digest.arxiv.authors import parse_authors
from digest.arxiv.oai import TokenExpired, UnknownPaper, parse_oai
from digest.model.errors import ArxivError, ArxivFaulted, ArxivRejected, ArxivUnreadable
from digest.model.papers import ArxivId, Paper

RAW: Final = "{http://arxiv.org/OAI/arXivRaw/}"
FOLDER: Final = os.environ.get("DIGEST_REAL_DATA", "")

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="DIGEST_REAL_DATA names no folder of real answers"
)


def files(pattern: str) -> list[str]:
    root = Path(FOLDER, "data", "fixtures")
    return (
        sorted(str(path.relative_to(root)) for path in root.glob(pattern)) if FOLDER else [pattern]
    )


def load(name: str) -> bytes:
    return Path(FOLDER, "data", "fixtures", name).read_bytes()


def fold(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", [name for name in files("atom_*/*.xml") if "http400" not in name])
def test_each_search_page_is_read_as_feedparser_reads_it(name: str) -> None:
    body = load(name)
    page = parse_atom(body)
    other = feedparser.parse(body)
    assert page.quarantined == ()
    assert len(page.papers) == len(other.entries)
    assert page.total == int(other.feed.opensearch_totalresults)
    assert page.start == int(other.feed.opensearch_startindex)
    check_counts(page, page.start, len(page.papers))
    for paper, entry in zip(page.papers, other.entries, strict=True):
        assert entry.id == f"http://arxiv.org/abs/{paper.id}v{paper.version}"
        assert fold(paper.title) == paper.title != ""
        assert fold(paper.abstract) == fold(
            re.sub(r"[\x7f-\x9f]", "", _text(body, entry.id, "summary"))
        )
        names = []
        for author in entry.authors:
            name = fold(author.name).replace(". -", ".-")
            names.append(name.removeprefix("and "))
        assert [author.name for author in paper.authors] == names
        assert paper.primary_category == entry.arxiv_primary_category["term"]
        assert set(paper.categories) <= {tag.term for tag in entry.tags}
        assert paper.published.strftime("%Y-%m-%dT%H:%M:%SZ") == entry.published
        assert paper.updated.strftime("%Y-%m-%dT%H:%M:%SZ") == entry.updated
        assert paper.comment == fold(entry.get("arxiv_comment", ""))
        assert paper.journal_ref == fold(entry.get("arxiv_journal_ref", ""))


def _text(body: bytes, id_: str, name: str) -> str:
    # feedparser takes literal "<" in a summary for HTML; the text is asked for plainly.
    atom = "{http://www.w3.org/2005/Atom}"
    found = _index(body)[id_].findtext(atom + name)
    assert found is not None
    return found


_INDICES: dict[int, dict[str, etree._Element]] = {}


def _index(body: bytes) -> dict[str, etree._Element]:
    atom = "{http://www.w3.org/2005/Atom}"
    if hash(body) not in _INDICES:
        entries = etree.fromstring(body).iter(atom + "entry")
        _INDICES[hash(body)] = {entry.findtext(atom + "id") or "": entry for entry in entries}
    return _INDICES[hash(body)]


def test_known_papers_come_with_what_makes_them_odd() -> None:
    papers: dict[str, Paper] = {}
    for name in files("atom_current/*.xml"):
        if "http400" not in name:
            page = parse_atom(load(name))
            papers.update((str(paper.id), paper) for paper in page.papers)
    assert papers["2104.12255"].title == "0"
    assert papers["1006.4407"].dois == ("10.1002/andp.201000099", "10.1002/andp.201200739")
    assert len(papers["1102.0348"].authors) == 589
    assert papers["astro-ph/0601001"].version >= 1
    assert papers["0901.3666"].is_withdrawn
    assert sum(paper.is_withdrawn for paper in papers.values()) == 7
    (old,) = parse_atom(load("atom_legacy/legacy_cond-mat_0102536_affiliations_feed.xml")).papers
    assert old.authors[1].affiliations == ("NMRC, University College, Cork, Ireland",)
    assert old.comment.endswith("submitted to The Journal of Chemical Physics")
    assert "\n" not in old.abstract


@pytest.mark.parametrize("name", [*files("errors/*.xml"), *files("atom_current/*http400.xml")])
def test_each_error_feed_is_an_error_of_the_kind_its_status_says(name: str) -> None:
    expected = ArxivRejected if "http400" in name else ArxivFaulted
    with pytest.raises(ArxivError) as caught:
        parse_atom(load(name))
    assert type(caught.value) is expected


@pytest.mark.parametrize(
    ("name", "token"),
    [
        ("oai_current/listrecords_all_arXivRaw.xml", None),
        ("oai_legacy/scirate_ListRecords_arXivRaw_2014-01-16_1000rec.xml", "496549|96001"),
    ],
)
def test_each_harvest_page_is_read_to_the_last_version(name: str, token: str | None) -> None:
    body = load(name)
    page = parse_oai(body)
    entries = list(etree.fromstring(body).iter(RAW + "arXivRaw"))
    assert page.quarantined == ()
    assert page.token == token
    assert page.records == len(page.papers) == len(entries) >= 500
    for paper, entry in zip(page.papers, entries, strict=True):
        assert paper.id == ArxivId.parse(entry.findtext(RAW + "id") or "")
        assert paper.version == len(entry.findall(RAW + "version"))
        assert paper.published <= paper.updated
        assert paper.title == fold(entry.findtext(RAW + "title") or "")
        assert paper.authors
        assert paper.report_no == fold(entry.findtext(RAW + "report-no") or "")
        assert paper.license == (entry.findtext(RAW + "license") or "")


OAI_ERRORS: Final = {
    "badResumptionToken": TokenExpired,
    "idDoesNotExist": UnknownPaper,
    "badArgument_from": ArxivRejected,
    "badSet": ArxivRejected,
    "badVerb": ArxivRejected,
    "cannotDisseminateFormat": ArxivRejected,
}


@pytest.mark.parametrize("name", [name for name in files("oai_*/*.xml") if "arXivRaw" not in name])
def test_every_other_oai_answer_is_an_error_of_its_own_or_an_empty_list(name: str) -> None:
    code = Path(name).stem.removeprefix("error_")
    if code == "noRecordsMatch":
        page = parse_oai(load(name))
        assert page.is_no_records_match
        assert page.records == 0
        return
    with pytest.raises(ArxivError) as caught:
        parse_oai(load(name))
    assert type(caught.value) is OAI_ERRORS.get(code, ArxivUnreadable)


def test_author_lines_give_the_authors_arxiv_itself_reads_from_them() -> None:
    # The page of the search and the page of the harvest were written from the same 503 papers; in
    # both, the data has each backslash twice.
    found = {
        paper.id: paper
        for paper in parse_atom(load(files("atom_current/*500entries*.xml")[0])).papers
    }
    lines = {}
    records = etree.fromstring(load("oai_current/listrecords_all_arXivRaw.xml"))
    for record in records.iter(RAW + "arXivRaw"):
        id_ = ArxivId.parse(record.findtext(RAW + "id") or "")
        lines[id_] = record.findtext(RAW + "authors") or ""
    differing = {}
    for id_, line in lines.items():
        names = [re.sub(r"[\\{}]", "", author.name) for author in found[id_].authors]
        read = [author.name for author in parse_authors(re.sub(r"\\(.)", r"\1", line))]
        if read != names:
            differing[str(id_)] = (read, names)
    # Where we differ we mean it: collaborations in parentheses are authors.
    assert set(differing) == {"1102.0436", "1102.0205", "1102.0551"}
    assert len(lines) == 503
