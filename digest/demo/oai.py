"""Papers as arXiv's OAI-PMH interface lists them, in its format arXivRaw: raw TeX, days as datestamps."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

from digest.demo.markup import add_element, format_moment, open_element, write_xml

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml import etree

    from digest.demo.archive import DemoPaper
    from digest.model.papers import Author

OAI = "http://www.openarchives.org/OAI/2.0/"
RAW = "http://arxiv.org/OAI/arXivRaw/"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
MEDIA_TYPE = "text/xml; charset=utf-8"
_PHYSICS = frozenset({"astro-ph", "cond-mat", "gr-qc", "math-ph", "nlin", "physics", "quant-ph"})
_PHYSICS_STEMS = ("hep-", "nucl-")


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
