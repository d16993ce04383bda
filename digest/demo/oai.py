"""Papers as arXiv's OAI-PMH interface lists them, in its format arXivRaw: raw TeX, days as datestamps."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.demo.archive import DemoPaper
    from digest.model.papers import Author

OAI = "http://www.openarchives.org/OAI/2.0/"
RAW = "http://arxiv.org/OAI/arXivRaw/"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
MEDIA_TYPE = "text/xml; charset=utf-8"
_PHYSICS = frozenset({"astro-ph", "cond-mat", "gr-qc", "math-ph", "nlin", "physics", "quant-ph"})
_PHYSICS_STEMS = ("hep-", "nucl-")


_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML 1.0 document may hold (https://www.w3.org/TR/xml/#charsets)."""


def open_element(
    name: str, default: str, prefixes: dict[str, str], parent: etree._Element | None = None
) -> etree._Element:
    """Return an element that declares a default namespace and prefixes, at the top or below a parent."""
    names: dict[str | None, str] = {None: default}
    names.update(prefixes.items())
    if parent is None:
        return etree.Element(name, nsmap=names)  # type: ignore[arg-type]  # the stubs know no default namespace
    return etree.SubElement(parent, name, nsmap=names)  # type: ignore[arg-type]  # the stubs know no default namespace


def add_element(
    parent: etree._Element, name: str, text: str | None = None, attributes: dict[str, str] | None = None
) -> etree._Element:
    """Append an element to its parent; `name` may be in Clark notation, `{namespace}local`."""
    child = etree.SubElement(parent, name, attributes or {})
    if text is not None:
        child.text = clean_text(text)
    return child


def clean_text(text: str) -> str:
    """Return the text without the characters no XML document may hold."""
    return _FORBIDDEN.sub("", text)


def write_xml(root: etree._Element) -> bytes:
    """Return the document, indented, with its declaration."""
    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return written


def format_moment(moment: datetime) -> str:
    """Return a moment as `2026-11-20T01:00:00Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def open_answer(moment: datetime) -> etree._Element:
    """Return an answer that holds nothing yet but its date."""
    root = open_element(f"{{{OAI}}}OAI-PMH", OAI, {"xsi": XSI})
    root.set(f"{{{XSI}}}schemaLocation", f"{OAI} {OAI}OAI-PMH.xsd")
    add_element(root, f"{{{OAI}}}responseDate", format_moment(moment))
    return root


def write_page(papers: Sequence[DemoPaper], token: str | None, address: str, moment: datetime) -> bytes:
    """Return one page of a list.

    Args:
        papers: those of this page.
        token: asks for the next page; "" on the last of several, None on the only one.
        address: the base URL.
        moment: now (UTC).
    """
    root = open_answer(moment)
    add_element(root, f"{{{OAI}}}request", address)
    if not papers:
        add_element(root, f"{{{OAI}}}error", "The list is empty.", {"code": "noRecordsMatch"})
        return write_xml(root)
    records = add_element(root, f"{{{OAI}}}ListRecords")
    for paper in papers:
        add_record(records, paper)
    if token is not None:
        add_element(records, f"{{{OAI}}}resumptionToken", token or None)
    return write_xml(root)


def date_record(paper: DemoPaper) -> str:
    """Return the day (UTC) on which a paper was announced."""
    return paper.announced.astimezone(UTC).date().isoformat()


def list_sets(paper: DemoPaper) -> list[str]:
    """Return the names of the sets a paper is in."""
    names = []
    for category in paper.categories:
        archive, _, subject = category.partition(".")
        group = "physics" if archive in _PHYSICS or archive.startswith(_PHYSICS_STEMS) else archive
        names.append(":".join(part for part in (group, archive, subject) if part))
    return names


def add_record(parent: etree._Element, paper: DemoPaper) -> None:
    """Append a paper to a list."""
    record = add_element(parent, f"{{{OAI}}}record")
    header = add_element(record, f"{{{OAI}}}header")
    add_element(header, f"{{{OAI}}}identifier", f"oai:arXiv.org:{paper.id}")
    add_element(header, f"{{{OAI}}}datestamp", date_record(paper))
    for name in list_sets(paper):
        add_element(header, f"{{{OAI}}}setSpec", name)
    metadata = add_element(record, f"{{{OAI}}}metadata")
    raw = open_element(f"{{{RAW}}}arXivRaw", RAW, {"xsi": XSI}, metadata)
    raw.set(f"{{{XSI}}}schemaLocation", f"{RAW} https://oaipmh.arxiv.org/OAI/arXivRaw.xsd")
    _fill_raw(raw, paper)


def _fill_raw(raw: etree._Element, paper: DemoPaper) -> None:
    def add(name: str, text: str) -> None:
        if text:
            add_element(raw, f"{{{RAW}}}{name}", text)

    add("id", paper.id)
    add("submitter", paper.submitter)
    for version in paper.list_versions():
        element = add_element(raw, f"{{{RAW}}}version", None, {"version": f"v{version.number}"})
        add_element(element, f"{{{RAW}}}date", format_datetime(version.submitted, usegmt=True))
        add_element(element, f"{{{RAW}}}size", version.size)
        if version.source_type:
            add_element(element, f"{{{RAW}}}source_type", version.source_type)
    add("title", paper.title)
    add("authors", ", ".join(_write_author(author) for author in paper.authors))
    add("categories", " ".join(paper.categories))
    add("comments", paper.comment)
    add("report-no", paper.report_no)
    add("journal-ref", paper.journal_ref)
    add("doi", paper.doi)
    add("license", paper.license)
    add("abstract", paper.abstract)


def _write_author(author: Author) -> str:
    if not author.affiliations:
        return author.name
    return f"{author.name} ({', '.join(author.affiliations)})"
