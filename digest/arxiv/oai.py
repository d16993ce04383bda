"""Reads pages of arXiv's OAI-PMH interface in the format `arXivRaw`: no other has all versions.

Sources: https://www.openarchives.org/OAI/openarchivesprotocol.html and
https://info.arxiv.org/help/oa/index.html. Every protocol error comes under HTTP 200.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple
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
from digest.model.clock import read_rfc_date
from digest.model.errors import ArxivFaulted, ArxivRejected, ArxivShort, ArxivUnreadable, UsageError
from digest.model.papers import ArxivId, Paper

_OAI: Final = "{http://www.openarchives.org/OAI/2.0/}"
_RAW: Final = "{http://arxiv.org/OAI/arXivRaw/}"

_NAMES: Final = {
    _RAW + name: name
    for name in (
        "id",
        "submitter",
        "title",
        "authors",
        "categories",
        "comments",
        "journal-ref",
        "doi",
        "report-no",
        "license",
        "abstract",
    )
}
_RECORD = _OAI + "record"
_LISTS = (_OAI + "ListRecords", _OAI + "GetRecord")
_VERSION = re.compile(r"v([1-9]\d{0,4})", re.ASCII)
_PERMANENT = frozenset(
    {"badArgument", "badVerb", "cannotDisseminateFormat", "noMetadataFormats", "noSetHierarchy"}
)


class TokenExpired(ArxivRejected):
    """A resumption token is no longer good: the list has to be asked for from its beginning."""


class UnknownPaper(ArxivRejected):
    """arXiv knows no paper of that id."""


@dataclass(frozen=True, slots=True)
class OaiPage:
    """One page of a harvest.

    Attributes:
        token: asks for the next page; None on the last one.
        records: how many entries the page had, readable or not, deleted ones among them.
        is_no_records_match: the list is empty, and arXiv says so: no fault, but the answer may have
            been kept by a cache since before the day's papers came.
    """

    papers: tuple[Paper, ...]
    token: str | None
    response_date: datetime
    quarantined: tuple[Quarantined, ...] = ()
    records: int = 0
    is_no_records_match: bool = False


def parse_oai(body: bytes) -> OaiPage:
    """Read an answer to `ListRecords` or `GetRecord` with `metadataPrefix=arXivRaw`."""
    document = Document(body, root=_OAI + "OAI-PMH", entry=_RECORD, depth=2)
    papers: list[Paper] = []
    quarantined: list[Quarantined] = []
    deleted = 0
    for position, entry in enumerate(document):
        header = entry.find(_OAI + "header")
        if header is not None and header.get("status") == "deleted":
            deleted += 1
            continue
        try:
            papers.append(_read_record(entry))
        except MalformedEntry as error:
            quarantined.append(quarantine(position, entry, error))
    root = document.root
    lists = [child for child in root if child.tag in _LISTS]
    records = len(papers) + len(quarantined) + deleted
    if _refuse_errors(root):
        if lists or records:
            raise ArxivUnreadable("the answer holds both a list and an error", hint=TRY_AGAIN)
        return OaiPage((), None, _read_response_date(root), is_no_records_match=True)
    if len(lists) != 1:
        raise ArxivUnreadable(
            "the answer holds neither a list of papers nor an error", hint=TRY_AGAIN
        )
    if records == 0:
        raise ArxivShort("the list came without a single entry", hint=TRY_AGAIN)
    if not papers and len(quarantined) >= SAME_FAULT:
        raise ArxivUnreadable(
            f"no entry can be read; the first: {quarantined[0].error}", hint=TRY_AGAIN
        )
    return OaiPage(
        papers=tuple(papers),
        token=_read_token(root, lists[0], records),
        response_date=_read_response_date(root),
        quarantined=tuple(quarantined),
        records=records,
    )


def _refuse_errors(root: Element) -> bool:
    """Raise what arXiv complains of; return whether it only says that nothing matches."""
    errors = {}
    for error in root.iterfind(_OAI + "error"):
        code = error.get("code", "")
        errors[code] = fold_line(read_text(error))
    expired = errors.get("badResumptionToken")
    if expired is not None:
        raise TokenExpired(
            f"the list can't be continued: {expired}",
            hint="Tokens end at midnight UTC. The harvest starts again from its first page.",
            complaint=errors["badResumptionToken"],
        )
    if "idDoesNotExist" in errors:
        raise UnknownPaper(
            "arXiv knows no such paper", hint="The id may be wrong, or not announced yet."
        )
    for code, message in errors.items():
        if code in _PERMANENT:
            raise ArxivRejected(
                f"arXiv rejects the request, {code}: {message}",
                hint="Asking again cannot help.",
                complaint=message,
            )
        if code != "noRecordsMatch":
            raise ArxivFaulted(
                f"arXiv answers with the error {code!r}: {message}",
                hint=TRY_AGAIN,
                complaint=message,
            )
    return bool(errors)


def _read_token(root: Element, listed: Element, records: int) -> str | None:
    """Return the token of the next page, None if the list ends here and nothing hints at damage."""
    is_list = listed.tag == _LISTS[0]
    tokens = list(root.iter(_OAI + "resumptionToken"))
    others = [child for child in listed if child.tag != _RECORD]
    has_too_many = len(tokens) > 1 if is_list else bool(tokens) or records > 1
    if others != tokens or has_too_many:
        raise ArxivUnreadable(
            "the list contains something that does not belong there", hint=TRY_AGAIN
        )
    token = read_text(tokens[0]).strip() if tokens else ""
    request = root.find(_OAI + "request")
    is_later_page = request is not None and request.get("resumptionToken")
    if is_later_page and not tokens:
        # If a list came in pages, its last one says so, by an empty token; a single page need not.
        raise ArxivShort(
            "the list continues from a token and does not say where it ends", hint=TRY_AGAIN
        )
    return token or None


def _read_response_date(root: Element) -> datetime:
    try:
        return read_iso_date(root.findtext(_OAI + "responseDate") or "")
    except ValueError as error:
        raise ArxivUnreadable(
            f"the answer does not say when it was made: {error}", hint=TRY_AGAIN
        ) from error


def _read_header(entry: Element, name: str) -> str:
    return fold_line(read_text(entry.find(f"{_OAI}header/{_OAI}{name}")))


def _check_identity(id_: ArxivId, identifier: str) -> None:
    """Refuse an entry whose header names another paper: a damaged id could pass for the newest."""
    named = identifier.removeprefix("oai:arXiv.org:")
    try:
        is_same = not named or named == str(id_) or ArxivId.parse(named) == id_
    except UsageError:
        is_same = False
    if not is_same:
        raise MalformedEntry(f"its header names {named[:40]!r}, its text {id_}")


def _find_metadata(entry: Element) -> Element:
    children = entry.findall(f"{_OAI}metadata/*")
    for child in children:
        if child.tag == _RAW + "arXivRaw":
            return child
    if children:
        form = children[-1].tag[:60]
        raise ArxivUnreadable(f"the papers come as {form}, not as arXivRaw", hint=TRY_AGAIN)
    name = _read_header(entry, "identifier")[:80] or "it"
    raise MalformedEntry(f"{name} comes without metadata")


def _read_record(entry: Element) -> Paper:
    datestamp = read_value(date.fromisoformat, _read_header(entry, "datestamp")[:10], "datestamp")
    paper = _read_paper(_find_metadata(entry), datestamp)
    _check_identity(paper.id, _read_header(entry, "identifier"))
    return paper


class _Version(NamedTuple):
    """A version of a paper; the one with the highest number is the latest."""

    number: int
    submitted: datetime
    is_withdrawal: bool


def _read_paper(raw: Element, datestamp: date) -> Paper:
    fields: dict[str, str] = {}
    versions: list[_Version] = []
    for child in raw:
        name = _NAMES.get(child.tag)
        if name is not None:
            fields.setdefault(name, read_text(child))
        elif child.tag == _RAW + "version":
            versions.append(_read_version(child))
    if not versions:
        raise MalformedEntry("it has no version")
    latest = max(versions)
    id_ = read_value(ArxivId.parse, fields.get("id", ""), "id")
    title = require(fold_line(fields.get("title", "")), "title")
    categories = require(fold_line(fields.get("categories", "")), "categories")
    comment = fold_line(fields.get("comments", ""))
    return Paper(
        id=id_,
        version=latest.number,
        title=title,
        abstract=fold_paragraphs(fields.get("abstract", "")),
        authors=parse_authors(fields.get("authors", "")),
        categories=tuple(dict.fromkeys(categories.split())),
        published=min(versions).submitted,
        updated=latest.submitted,
        comment=comment,
        journal_ref=fold_line(fields.get("journal-ref", "")),
        dois=split_dois(fields.get("doi", "")),
        report_no=fold_line(fields.get("report-no", "")),
        license=fold_line(fields.get("license", "")),
        is_withdrawn=latest.is_withdrawal or is_withdrawal_comment(comment),
        datestamp=datestamp,
    )


def _read_version(element: Element) -> _Version:
    name = element.get("version", "")
    number = _VERSION.fullmatch(name.strip())
    if number is None:
        raise MalformedEntry(f"it has a version called {name[:20]!r}")
    date_text = element.findtext(_RAW + "date") or ""
    submitted = read_value(read_rfc_date, date_text, f"date of version {number[1]}")
    source_type = element.findtext(_RAW + "source_type") or ""  # "I": it withdraws the paper
    return _Version(int(number[1]), submitted, "I" in source_type)
