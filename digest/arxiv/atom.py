"""Reads the Atom pages of arXiv's query API, in the format since November 2025 and the one before.

Source: https://info.arxiv.org/help/api/user-manual.html. The two formats differ in the order of
elements, in hard line breaks, and in what `category` may hold, so elements are found by name only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from xml.etree.ElementTree import Element

from digest.arxiv.authors import parse_authors
from digest.arxiv.documents import (
    SAME_FAULT,
    TRY_AGAIN,
    Document,
    MalformedEntry,
    Quarantined,
    fold_line,
    fold_paragraphs,
    is_withdrawal_comment,
    quarantine,
    read_iso_date,
    read_text,
    read_value,
    require,
    split_dois,
)
from digest.model.errors import ArxivError, ArxivFaulted, ArxivRejected, ArxivShort, ArxivUnreadable
from digest.model.papers import ArxivId, Author, Paper

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_ARXIV: Final = "{http://arxiv.org/schemas/atom}"
_SEARCH: Final = "{http://a9.com/-/spec/opensearch/1.1/}"

_ID: Final = _ATOM + "id"
_TITLE: Final = _ATOM + "title"
_SUMMARY: Final = _ATOM + "summary"
_COMMENT: Final = _ARXIV + "comment"
_JOURNAL_REF: Final = _ARXIV + "journal_ref"
_PUBLISHED: Final = _ATOM + "published"
_UPDATED: Final = _ATOM + "updated"
_TEXTS: Final = frozenset((_ID, _TITLE, _SUMMARY, _COMMENT, _JOURNAL_REF, _PUBLISHED, _UPDATED))

_ERROR_ID = re.compile(r"https?://[^/\s]+/api/errors\b")
_PAPER_ID = re.compile(r"https?://(?:www\.|export\.)?arxiv\.org/abs/")
_NO_NAME = re.compile(r"&\s|(?:and|for|on behalf of|representing|others|et al)\b", re.ASCII)
"""How no name begins: what is between names, in lower case."""
_COUNT = re.compile(r"\d{1,9}", re.ASCII)
_CATEGORY = re.compile(r"[a-z]+(?:-[a-z]+)?(?:\.[A-Za-z]+(?:-[A-Za-z]+)?)?", re.ASCII)
"""An arXiv category or archive. Before November 2025 ACM and MSC classes were among them."""


@dataclass(frozen=True, slots=True)
class AtomPage:
    """One page of answers to a search.

    Attributes:
        total: how many papers the whole search has.
        start: the position of the first paper of this page, from 0.
        response_date: when arXiv answered (UTC), or, until November 2025, the midnight before; None
            if the feed does not say.
    """

    papers: tuple[Paper, ...]
    total: int
    start: int
    quarantined: tuple[Quarantined, ...] = ()
    response_date: datetime | None = None

    @property
    def ids(self) -> list[ArxivId]:
        """The papers that could be read, as often as they came."""
        return [paper.id for paper in self.papers]

    @property
    def entries(self) -> int:
        """How many entries the page had, readable or not."""
        return len(self.papers) + len(self.quarantined)

    @property
    def different(self) -> int:
        """How many of them are not there twice."""
        papers = {(paper.id, paper.version) for paper in self.papers}
        snippets = {entry.snippet for entry in self.quarantined}
        return len(papers) + len(snippets)


def parse_atom(body: bytes) -> AtomPage:
    """Read one page of the query API."""
    document = Document(body, root=_ATOM + "feed", entry=_ATOM + "entry", depth=1)
    papers: list[Paper] = []
    quarantined: list[Quarantined] = []
    refusal: ArxivError | None = None
    for position, entry in enumerate(document):
        try:
            papers.append(_read_paper(entry))
        except MalformedEntry as error:
            refusal = refusal or _read_refusal(entry)
            quarantined.append(quarantine(position, entry, error))
    if refusal is not None:
        raise refusal
    if not papers and len(quarantined) >= SAME_FAULT:
        raise ArxivUnreadable(
            f"no entry can be read; the first: {quarantined[0].error}", hint=TRY_AGAIN
        )
    feed = document.root
    return AtomPage(
        papers=tuple(papers),
        total=_read_count(feed, "totalResults"),
        start=_read_count(feed, "startIndex"),
        quarantined=tuple(quarantined),
        response_date=_read_response_date(feed),
    )


def check_counts(page: AtomPage, start: int, size: int) -> None:
    """Hold a page against what was asked for: papers `start` to `start + size` of the search."""
    if page.start != start:
        raise ArxivUnreadable(
            f"the page begins with paper {page.start}, not with {start}", hint=TRY_AGAIN
        )
    left = page.total - start
    expected = max(0, min(size, left))
    if page.different < expected:
        came = "none" if page.entries == 0 else f"only {page.different}"
        raise ArxivShort(
            f"{expected} papers were expected, of {page.total} in all, but {came} came",
            hint=TRY_AGAIN,
        )


def _read_refusal(entry: Element) -> ArxivError | None:
    """Return what an entry that is no paper complains of, None if it just cannot be read."""
    id_ = (entry.findtext(_ID) or "").strip()
    title = (entry.findtext(_TITLE) or "").strip()
    # Some error entries point into the manual; they are known by their title and by having no date.
    has_errors_title = title == "Error" and entry.find(_PUBLISHED) is None
    if not _ERROR_ID.match(id_) and not has_errors_title:
        return None
    message = fold_line(read_text(entry.find(_SUMMARY))) or "no reason given"
    if "internal error" in message:
        return ArxivFaulted(
            f"arXiv had an error of its own: {message}", hint=TRY_AGAIN, complaint=message
        )
    return ArxivRejected(
        f"arXiv rejects the request: {message}",
        hint="Correct the query, then ask again.",
        complaint=message,
    )


def _read_count(feed: Element, name: str) -> int:
    texts = {read_text(count).strip() for count in feed.findall(_SEARCH + name)}
    text = texts.pop() if len(texts) == 1 else ""
    if not _COUNT.fullmatch(text):
        raise ArxivUnreadable(f"the feed does not say its {name}, or not clearly", hint=TRY_AGAIN)
    return int(text)


def _read_response_date(feed: Element) -> datetime | None:
    try:
        return read_iso_date(feed.findtext(_UPDATED) or "")
    except ValueError:
        return None


def _read_paper(entry: Element) -> Paper:
    fields: dict[str, str] = {}
    authors: list[Author] = []
    terms: list[str] = []
    dois: list[str] = []
    for child in entry:
        tag = child.tag
        if tag == _ATOM + "author":
            _add_author(authors, child)
        elif tag == _ATOM + "category":
            terms.append(child.get("term", ""))
        elif tag in _TEXTS:
            fields.setdefault(tag, read_text(child))
        elif tag == _ARXIV + "primary_category":
            terms.insert(0, child.get("term", ""))
        elif tag == _ARXIV + "doi":
            dois.append(read_text(child))
    id_, version = _read_id(fields)
    title = require(fold_line(fields.get(_TITLE, "")), "title")
    categories = _read_categories(terms)
    published = read_value(read_iso_date, fields.get(_PUBLISHED, ""), "date 'published'")
    updated = read_value(read_iso_date, fields.get(_UPDATED, ""), "date 'updated'")
    comment = fold_line(fields.get(_COMMENT, ""))
    return Paper(
        id=id_,
        version=version,
        title=title,
        abstract=fold_paragraphs(fields.get(_SUMMARY, "")),
        authors=_read_again(authors),
        categories=categories,
        published=published,
        updated=updated,
        comment=comment,
        journal_ref=fold_line(fields.get(_JOURNAL_REF, "")),
        dois=split_dois(*dois),
        is_withdrawn=is_withdrawal_comment(comment),
    )


def _add_author(authors: list[Author], element: Element) -> None:
    name = ""
    affiliations: tuple[str, ...] = ()
    for child in element:
        if child.tag == _ATOM + "name":
            name = fold_line(read_text(child)).replace(". -", ".-")
        elif child.tag == _ARXIV + "affiliation":
            affiliation = fold_line(read_text(child))
            if affiliation:
                affiliations += (affiliation,)
    if name:
        authors.append(Author(name, affiliations))


def _read_again(authors: list[Author]) -> tuple[Author, ...]:
    """Return the authors; ours reads the line if arXiv's own reader took a word for a name."""
    is_misread = any(_NO_NAME.match(author.name) for author in authors)
    if is_misread and not any(author.affiliations for author in authors):
        line = ", ".join(author.name for author in authors)
        return parse_authors(line)
    return tuple(authors)


def _read_id(fields: dict[str, str]) -> tuple[ArxivId, int]:
    text = fold_line(fields.get(_ID, ""))
    if not _PAPER_ID.match(text):
        raise MalformedEntry(f"its id is no address of a paper: {text[:80]!r}")
    id_, version = read_value(ArxivId.parse_versioned, text, "id")
    if version is None:
        raise MalformedEntry(f"its id has no version: {text[:80]!r}")
    return id_, version


def _read_categories(terms: Iterable[str]) -> tuple[str, ...]:
    stripped = (term.strip() for term in terms)
    names = dict.fromkeys(term for term in stripped if _CATEGORY.fullmatch(term))
    if not names:
        raise MalformedEntry("it has no category")
    return tuple(names)
