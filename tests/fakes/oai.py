"""OAI-PMH as https://oaipmh.arxiv.org/oai speaks it in the format arXivRaw.

Days, tokens, 200 for errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import parse_qsl, quote, unquote
from xml.sax.saxutils import escape, quoteattr

from digest.model.papers import Author
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
        identifier = arguments["identifier"]
        for paper in papers:
            if identifier == f"oai:arXiv.org:{paper.id}":
                return oai_page(_write_record(paper), verb=verb, moment=at, asked=asked)
        return oai_error("idDoesNotExist", "Nothing found for this ID", at)
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
    since = arguments.get("from", "")
    listed = [paper for paper in papers if date_record(paper) >= since]
    skip = int(arguments.get("skip", 0))
    end = skip + page_size
    page = listed[skip:end]
    if not page:
        return oai_error("noRecordsMatch", "The request results in an empty list.", at)
    # The last page of several ends with an empty token, a page alone with none.
    following = "" if "skip" in arguments else None
    if end < len(listed):
        following = _write_token(listed[end], listed, moment)
    sent = round(len(page) * keep)
    records = map(_write_record, page[:sent])
    return oai_page(*records, token=following, moment=at, asked=asked)


def date_record(paper: DemoPaper) -> str:
    """Return the day (UTC) on which a paper was announced."""
    return paper.announced.astimezone(UTC).date().isoformat()


def _write_token(following: DemoPaper, listed: Sequence[DemoPaper], moment: datetime) -> str:
    """Return a token that starts anew from the day of the paper that follows, as arXiv's do."""
    day = date_record(following)
    of_day = [paper for paper in listed if date_record(paper) == day]
    skip = of_day.index(following)
    return quote(f"verb=ListRecords&from={day}&skip={skip}&issued={moment:%Y-%m-%d}", safe="")


def _write_record(paper: DemoPaper) -> str:
    texts = {
        "comments": paper.comment,
        "report-no": paper.report_no,
        "journal-ref": paper.journal_ref,
        "doi": paper.doi,
        "license": paper.license,
    }
    extra = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in texts.items() if text)
    authors = ", ".join(map(_write_author, paper.authors))
    metadata = raw_paper(
        paper.id,
        versions=_write_versions(paper),
        title=paper.title,
        authors=authors,
        categories=" ".join(paper.categories),
        abstract=paper.abstract,
        extra=extra,
    )
    return oai_entry(metadata, id_=paper.id, datestamp=date_record(paper))


def _write_versions(paper: DemoPaper) -> str:
    """Write the history; a withdrawn paper's last version has a source that may be ignored (I)."""
    versions = []
    for number, submitted in enumerate(paper.submitted, 1):
        date = format_datetime(submitted, usegmt=True)
        is_withdrawal = paper.is_withdrawn and number == paper.version
        source = "<source_type>I</source_type>" if is_withdrawal else ""
        versions.append(raw_version(number, date, source))
    return "".join(versions)


def _write_author(author: Author) -> str:
    if not author.affiliations:
        return author.name
    places = ", ".join(author.affiliations)
    return f"{author.name} ({places})"
