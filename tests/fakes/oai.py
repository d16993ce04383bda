"""OAI-PMH as https://oaipmh.arxiv.org/oai speaks it in the format arXivRaw.

Days, tokens, 200 for errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape, quoteattr

from tests.fakes.archive import DemoPaper
from tests.fakes.pages import (
    format_moment,
    oai_answer,
    oai_entry,
    oai_error,
    oai_page,
    raw_paper,
    raw_version,
)


def answer_oai(
    params: Sequence[tuple[str, str]],
    papers: Sequence[DemoPaper],
    moment: datetime,
    page_size: int,
    keep: float = 1.0,
) -> bytes:
    """Return the whole document; `keep` is the part of a page's papers that is really sent.

    A token is good until the end of its day.
    """
    arguments = dict(params)
    at = format_moment(moment)
    asked = " ".join(f"{name}={quoteattr(value)}" for name, value in params)
    verb = arguments.get("verb")
    token = arguments.get("resumptionToken", "")
    if verb == "Identify":
        return oai_answer("<Identify><repositoryName>arXiv</repositoryName></Identify>", at, asked)
    if token:
        arguments = dict(parse_qsl(unquote(token)))
        if arguments.get("issued") != f"{moment:%Y-%m-%d}":
            return oai_error(
                "badResumptionToken", "Token is expired, or its format is invalid.", at
            )
    elif arguments.get("metadataPrefix") != "arXivRaw" or verb not in ("ListRecords", "GetRecord"):
        return oai_error("badArgument", f"This arXiv does not answer {asked}.", at)
    if verb == "GetRecord":
        named = [
            paper for paper in papers if arguments["identifier"] == f"oai:arXiv.org:{paper.id}"
        ]
        if not named:
            return oai_error("idDoesNotExist", "Nothing found for this ID", at)
        return oai_page(_write_record(named[0]), verb=verb, moment=at, asked=asked)
    return _list_records(arguments, papers, moment, page_size, keep, asked)


def _list_records(  # noqa: PLR0917 - what was asked, and what the answer is made of
    arguments: Mapping[str, str],
    papers: Sequence[DemoPaper],
    moment: datetime,
    page_size: int,
    keep: float,
    asked: str,
) -> bytes:
    at = format_moment(moment)
    listed = [paper for paper in papers if date_record(paper) >= arguments.get("from", "")]
    skip = int(arguments.get("skip", 0))
    page = listed[skip : skip + page_size]
    rest = listed[skip + page_size :]
    if not page:
        return oai_error("noRecordsMatch", "The request results in an empty list.", at)
    following = (
        _write_token(rest[0], listed, moment) if rest else "" if "skip" in arguments else None
    )
    records = map(_write_record, page[: round(len(page) * keep)])
    return oai_page(*records, token=following, moment=at, asked=asked)


def date_record(paper: DemoPaper) -> str:
    """Return the day (UTC) on which a paper was announced."""
    return paper.announced.astimezone(UTC).date().isoformat()


def _write_token(following: DemoPaper, listed: Sequence[DemoPaper], moment: datetime) -> str:
    """Return a token that starts anew from the day of the paper that follows, as arXiv's do."""
    day = date_record(following)
    skip = [paper for paper in listed if date_record(paper) == day].index(following)
    return quote(f"verb=ListRecords&from={day}&skip={skip}&issued={moment:%Y-%m-%d}", safe="")


def _write_record(paper: DemoPaper) -> str:
    versions = "".join(
        raw_version(
            number,
            format_datetime(submitted, usegmt=True),
            "<source_type>I</source_type>" * (paper.is_withdrawn and number == paper.version),
        )
        for number, submitted in enumerate(paper.submitted, 1)
    )
    texts = {
        "comments": paper.comment,
        "report-no": paper.report_no,
        "journal-ref": paper.journal_ref,
        "doi": paper.doi,
        "license": paper.license,
    }
    metadata = raw_paper(
        paper.id,
        versions=versions,
        title=paper.title,
        authors=", ".join(
            f"{author.name} ({', '.join(author.affiliations)})"
            if author.affiliations
            else author.name
            for author in paper.authors
        ),
        categories=" ".join(paper.categories),
        abstract=paper.abstract,
        extra="".join(f"<{name}>{escape(text)}</{name}>" for name, text in texts.items() if text),
    )
    return oai_entry(metadata, id_=paper.id, datestamp=date_record(paper))
