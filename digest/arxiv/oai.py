"""Reads pages of arXiv's OAI-PMH interface in the format `arXivRaw`: no other has all versions.

Sources: https://www.openarchives.org/OAI/openarchivesprotocol.html and
https://info.arxiv.org/help/oa/index.html. Every protocol error comes under HTTP 200.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias
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

RULES: Final = b"1"
"""The version of how a record is read. With another one, each record is read anew."""

LoadHashes: TypeAlias = "Callable[[Sequence[str]], Mapping[str, bytes]]"
"""Returns the hashes of the records that some papers were last read from, by the papers' ids."""

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
_DELETED = _OAI + "header[@status='deleted']"
_LISTS = (_OAI + "ListRecords", _OAI + "GetRecord")
_PREFIX = "oai:arXiv.org:"
_IDENTIFIER = re.compile(rb"<identifier>oai:arXiv\.org:(\d{4}\.\d{4,5}|[a-z-]+/\d{7})</identifier>")
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
        papers: what was read of it.
        token: asks for the next page; None on the last one.
        records: how many entries the page had, readable or not, deleted ones among them.
        is_no_records_match: the list is empty, and arXiv says so: no fault, but the answer may have
            been kept by a cache since before the day's papers came.
        unchanged: papers that were read from the same records before, and so not again.
        hashes: those of the page's records by their papers' ids; none if they were not asked for.
    """

    papers: tuple[Paper, ...]
    token: str | None
    response_date: datetime
    quarantined: tuple[Quarantined, ...] = ()
    records: int = 0
    is_no_records_match: bool = False
    unchanged: tuple[ArxivId, ...] = ()
    hashes: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def ids(self) -> list[ArxivId]:
        """The papers that were read, now or before, as often as they came."""
        return [*(paper.id for paper in self.papers), *self.unchanged]


def know_none(_: Sequence[str]) -> Mapping[str, bytes]:
    """Know no record: each is read."""
    return {}


def parse_oai(body: bytes, load_hashes: LoadHashes = know_none) -> OaiPage:
    """Read an answer to `ListRecords` or `GetRecord` with `metadataPrefix=arXivRaw`.

    A record that its paper was read from before, by `load_hashes`, is not read again. All are read
    if the bytes don't show plainly where each begins and whose it is.
    """
    document = Document(body, root=_OAI + "OAI-PMH", entry=_RECORD, depth=2)
    hashes = _hash_records(document.body)
    stored = load_hashes(list(hashes))
    unchanged = {id_: one for id_, one in hashes.items() if stored.get(id_) == one}
    named: list[str] = []
    papers: list[Paper] = []
    quarantined: list[Quarantined] = []
    for position, entry in enumerate(document):
        name = _read_header(entry, "identifier").removeprefix(_PREFIX)
        named.append(name)
        if name in unchanged or entry.find(_DELETED) is not None:
            continue
        try:
            papers.append(_read_record(entry))
        except MalformedEntry as error:
            quarantined.append(quarantine(position, entry, error))
    if named != list(hashes):
        if unchanged:
            return parse_oai(body)
        hashes = {}
    root = document.root
    listed = _find_list(root, len(named))
    if listed is None:
        return OaiPage((), None, _read_response_date(root), is_no_records_match=True)
    if not (papers or unchanged) and len(quarantined) >= SAME_FAULT:
        raise ArxivUnreadable(
            f"no entry can be read; the first: {quarantined[0].error}", hint=TRY_AGAIN
        )
    return OaiPage(
        papers=tuple(papers),
        token=_read_token(root, listed, len(named)),
        response_date=_read_response_date(root),
        quarantined=tuple(quarantined),
        records=len(named),
        unchanged=tuple(map(ArxivId.parse, unchanged)),
        hashes=hashes,
    )


def _find_list(root: Element, records: int) -> Element | None:
    """Return what holds the records; None if arXiv says that nothing matches."""
    lists = [child for child in root if child.tag in _LISTS]
    if _refuse_errors(root):
        if lists or records:
            raise ArxivUnreadable("the answer holds both a list and an error", hint=TRY_AGAIN)
        return None
    if len(lists) != 1:
        raise ArxivUnreadable(
            "the answer holds neither a list of papers nor an error", hint=TRY_AGAIN
        )
    if records == 0:
        raise ArxivShort("the list came without a single entry", hint=TRY_AGAIN)
    return lists[0]


def _hash_records(body: bytes) -> dict[str, bytes]:
    """Return the hashes of a page's records by their papers' ids, in order, as far as all is plain.

    Only in comments and their like could the tag of a record be no tag.
    """
    if b"<!" in body or body.find(b"<?", 1) > 0:
        return {}
    hashes = {}
    for piece in body.split(b"<record>")[1:]:
        record, _, _ = piece.partition(b"</record>")
        named = _IDENTIFIER.search(record)
        if named:
            hashed = blake2b(record, digest_size=16, key=RULES)
            hashes[named[1].decode()] = hashed.digest()
    return hashes


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
    named = identifier.removeprefix(_PREFIX)
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
