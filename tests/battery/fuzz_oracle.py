"""What a damaged page may be taken for, judged by a second reader: lxml, asked in the plainest way.

"Falsely accepted as complete" means that a reader gives a page, and with it leave to go on,
although

- the body breaks off, or is not well-formed without the characters that XML forbids, or has a
  document type;
- entries are there, anywhere, that are neither among its papers nor put aside nor named as deleted;
- a search's own total says that more different entries should have come;
- a harvest's list has a token that is not given, or goes on from one and does not say that it ends,
  or holds what is neither entry nor token, or is said to be empty though there is a list;
- what came out of it is no sound paper.

Some damage nobody can see in a page alone. It is counted, and held by other means: days that
overlap, gaps between ids, the size of the pages before, and what the next request with a wrong
token is answered with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date
from functools import partial
from typing import Final

from lxml import etree

from digest.arxiv.atom import AtomPage, check_counts, parse_atom
from digest.arxiv.documents import drop_forbidden
from digest.arxiv.oai import OaiPage, parse_oai
from digest.interest.files import read_library
from digest.model.errors import ArxivError, ConfigurationError
from digest.model.libraries import LibraryReading
from digest.model.papers import ArxivId, Paper
from tests.battery.fuzz_libraries import judge_library
from tests.battery.fuzz_pages import Seed

READERS: Final[dict[str, Callable[[bytes], object]]] = {
    "atom": parse_atom,
    "oai": parse_oai,
    "library": partial(read_library, "a library"),
}

_ATOM = "{http://www.w3.org/2005/Atom}"
_SEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_OAI = "{http://www.openarchives.org/OAI/2.0/}"
_UNWANTED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a damaged page.

    Attributes:
        verdict: the name of the error, or "accepted".
        unseen: what is missing in an accepted page without a trace in it; "" for nothing.
        finding: why it should not have been accepted; "" where that is fine.
    """

    verdict: str
    unseen: str = ""
    finding: str = ""


def assess(seed: Seed, body: bytes) -> Outcome:
    """Read a damaged page and judge what comes of it.

    Raises:
        Exception: anything but an `ArxivError`, or a `ConfigurationError` for a library, is a
            crash.
    """
    try:
        page = READERS[seed.interface](body)
        if isinstance(page, AtomPage):
            check_counts(page, seed.start, seed.size)
    except (ArxivError, ConfigurationError) as error:
        return Outcome(type(error).__name__)
    try:
        unseen = _judge(seed, body, page)
    except AssertionError as error:
        return Outcome("accepted", finding=str(error) or "an assertion failed")
    return Outcome("accepted", unseen)


def _judge(seed: Seed, body: bytes, page: object) -> str:
    if isinstance(page, LibraryReading):
        judge_library(body, page)
        return ""
    whole = seed.body.rstrip()
    assert len(body) >= len(whole) or not whole.startswith(body), (
        "a part of a page was taken for a page"
    )
    root = _read_plainly(body)
    if isinstance(page, AtomPage):
        return _judge_search(seed, root, page)
    if isinstance(page, OaiPage):
        return _judge_harvest(seed, root, page)
    raise TypeError(type(page))


_DECLARATION = re.compile(rb"\A(?:\xef\xbb\xbf)?<\?xml\s[^>]*\?>")


def _read_plainly(body: bytes) -> etree._Element:
    parser = etree.XMLParser(
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=True,
        recover=True,
        encoding="utf-8",
    )
    # Of the declaration only the encoding counts: a version such as 2.0 changes nothing for a
    # reader.
    root = etree.fromstring(_DECLARATION.sub(b"", drop_forbidden(body), count=1), parser)
    # libxml2 also minds namespaces that are no addresses, which is no question of being
    # well-formed.
    faults = [
        fault
        for fault in parser.error_log
        if fault.level > etree.ErrorLevels.WARNING and fault.domain != etree.ErrorDomains.NAMESPACE
    ]
    assert root is not None, "there is no XML at all"
    assert not faults, f"it is not well-formed: {faults[0].message}"
    assert root.getroottree().docinfo.internalDTD is None, "it has a document type"
    return root


def _judge_search(seed: Seed, root: etree._Element, page: AtomPage) -> str:
    assert root.tag == f"{_ATOM}feed", "it is no feed"
    entries = list(root.iter(f"{_ATOM}entry"))
    assert page.entries == len(entries), f"of {len(entries)} entries there are {page.entries}"
    totals = {_read_text(total) for total in root.findall(f"{_SEARCH}totalResults")}
    assert totals == {str(page.total)} or len(totals) == 1, "its total is not clear"
    expected = max(0, min(seed.size, int(totals.pop()) - seed.start))
    aside = {_write(entries[put_aside.position]) for put_aside in page.quarantined}
    different = {f"{paper.id}v{paper.version}" for paper in page.papers}
    assert len(aside) + len(different) >= expected, "entries are missing by its own total"
    for paper in page.papers:
        _check_paper(paper)
    return "entries gone, and the total changed with them" if page.entries < seed.entries else ""


def _judge_harvest(seed: Seed, root: etree._Element, page: OaiPage) -> str:
    assert root.tag == f"{_OAI}OAI-PMH", "it is no answer of a harvest"
    entries = list(root.iter(f"{_OAI}record"))
    lists = [child for name in ("ListRecords", "GetRecord") for child in root.iter(_OAI + name)]
    if page.is_no_records_match:
        assert not lists, "a list is said to be empty that is there"
        assert not entries, "a list is said to be empty that has entries"
        codes = {error.get("code") for error in root.findall(f"{_OAI}error")}
        assert codes == {"noRecordsMatch"}, f"a list is said to be empty, for {codes}"
        return "" if seed.entries == 0 else "the whole list gone for an error"
    assert len(lists) == 1, f"there are {len(lists)} lists"
    assert page.records == len(entries), f"of {len(entries)} entries there are {page.records}"
    headers = (entry.find(f"{_OAI}header") for entry in entries)
    deleted = sum(header is not None and header.get("status") == "deleted" for header in headers)
    assert page.records == len(page.papers) + len(page.quarantined) + deleted, "it cannot count"
    unseen = _judge_token(seed, root, lists[0], page)
    for paper in page.papers:
        _check_paper(paper)
        assert type(paper.datestamp) is date, "a paper has no datestamp"
    return unseen or (
        "entries gone, which no harvest counts" if page.records < seed.entries else ""
    )


def _judge_token(seed: Seed, root: etree._Element, listed: etree._Element, page: OaiPage) -> str:
    beside = [child for child in listed.iterchildren("{*}*") if child.tag != f"{_OAI}record"]
    tokens = [_read_text(token) for token in root.iter(f"{_OAI}resumptionToken")]
    assert all(child.tag == f"{_OAI}resumptionToken" for child in beside), (
        "a list holds what is no part of it"
    )
    assert len(beside) <= 1, "a list has two tokens"
    if page.token is not None:
        assert page.token in tokens, "a token came from elsewhere"
        return "the token changed" if seed.token and page.token != seed.token else ""
    assert not any(tokens), "a token is not given"
    request = root.find(f"{_OAI}request")
    is_continued = request is not None and bool(request.get("resumptionToken"))
    assert tokens or not is_continued, "a list goes on from a token and does not say that it ends"
    if not seed.token:
        return ""
    return (
        "the token gone from a first page" if not tokens else "the token gone and its element empty"
    )


def _read_text(element: etree._Element) -> str:
    return "".join(map(str, element.itertext())).strip()


def _write(entry: etree._Element) -> bytes:
    return etree.tostring(entry, with_tail=False)


def _check_id(id_: ArxivId, version: int) -> None:
    assert ArxivId.parse_versioned(f"{id_}v{version}") == (id_, version), (
        "an id is not what it says"
    )


def _check_paper(paper: Paper) -> None:
    _check_id(paper.id, paper.version)
    assert paper.title, "a paper has no title"
    assert paper.categories, "a paper has no category"
    assert all(author.name for author in paper.authors), "an author has no name"
    for moment in (paper.published, paper.updated):
        assert moment.tzinfo is UTC, "a date has no zone"
    for text in _list_texts(paper):
        assert not _UNWANTED.search(text), "a text holds control characters"
        text.encode()


def _list_texts(paper: Paper) -> Iterator[str]:
    yield from (
        paper.title,
        paper.abstract,
        paper.comment,
        paper.journal_ref,
        paper.report_no,
        paper.license,
    )
    yield from (*paper.dois, *paper.categories)
    for author in paper.authors:
        yield from (author.name, *author.affiliations)
