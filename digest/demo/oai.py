"""OAI-PMH 2.0 as https://oaipmh.arxiv.org/oai speaks it, in the format arXivRaw.

Protocol: https://www.openarchives.org/OAI/openarchivesprotocol.html. Peculiarities (days as
granularity, stateless resumption tokens, HTTP 200 for every error, raw TeX) are arXiv's own.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote

from digest.demo.markup import add_element, clean_text, format_moment, open_element, write_xml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml import etree

    from digest.demo.archive import DemoPaper
    from digest.papers import Author

OAI = "http://www.openarchives.org/OAI/2.0/"
RAW = "http://arxiv.org/OAI/arXivRaw/"
XSI = "http://www.w3.org/2001/XMLSchema-instance"
FORMAT = "arXivRaw"
MEDIA_TYPE = "text/xml; charset=utf-8"
EARLIEST = "2005-09-16"
_PHYSICS = frozenset({"astro-ph", "cond-mat", "gr-qc", "math-ph", "nlin", "physics", "quant-ph"})
_PHYSICS_STEMS = ("hep-", "nucl-")
_ILLEGAL = (
    "The request includes illegal arguments, is missing required arguments, includes a repeated argument, "
    "or values for arguments have an illegal syntax. Reason: "
)
_EMPTY = (
    "The combination of the values of the from, until, set and metadataPrefix arguments results in an empty list."
)
_VERB = (
    "Value of the verb argument is not a legal OAI-PMH verb, the verb argument is missing, "
    "or the verb argument is repeated. Reason: Invalid verb provided"
)
_FORMAT = (
    "The metadata format identified by the value given for the metadataPrefix argument is not supported "
    "by the item or by the repository. Reason: Did not recognize requested format"
)
_TOKEN = "The value of the resumptionToken argument is invalid or expired. Reason: "  # noqa: S105 - an error's text


class OaiError(Exception):
    """An error condition of the protocol: a code and a sentence."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class OaiDesk:
    """Answers OAI-PMH requests from the papers it is shown. Tokens die at UTC midnight.

    Args:
        address: the base URL to print.
        page_size: how many papers one page lists.
    """

    def __init__(self, address: str, page_size: int) -> None:
        self._address = address
        self._page_size = page_size
        self._issued: dict[str, date] = {}

    def answer(
        self, params: Sequence[tuple[str, str]], papers: Sequence[DemoPaper], moment: datetime, keep: float = 1.0
    ) -> bytes:
        """Return the whole document.

        Args:
            params: as asked, in order.
            papers: every public paper in order of announcement.
            moment: now (UTC).
            keep: the part of a page's papers that is really sent.
        """
        root = open_element(f"{{{OAI}}}OAI-PMH", OAI, {"xsi": XSI})
        root.set(f"{{{XSI}}}schemaLocation", f"{OAI} {OAI}OAI-PMH.xsd")
        add_element(root, f"{{{OAI}}}responseDate", format_moment(moment))
        asked = add_element(root, f"{{{OAI}}}request", self._address)
        try:
            arguments = _check_arguments(params)
            self._answer_verb(root, arguments, papers, moment, keep)
        except OaiError as error:
            add_element(root, f"{{{OAI}}}error", str(error), {"code": error.code})
            if error.code in ("badVerb", "badArgument"):
                return write_xml(root)
        for name, value in params:
            asked.set(name, clean_text(value))
        return write_xml(root)

    def _answer_verb(
        self,
        root: etree._Element,
        arguments: Mapping[str, str],
        papers: Sequence[DemoPaper],
        moment: datetime,
        keep: float,
    ) -> None:
        verb = arguments["verb"]
        if verb == "Identify":
            self._identify(root)
        elif verb == "GetRecord":
            _get_record(root, arguments, papers)
        else:
            self._list_records(root, arguments, papers, moment, keep)

    def _identify(self, root: etree._Element) -> None:
        identity = add_element(root, f"{{{OAI}}}Identify")
        facts = {
            "repositoryName": "arXiv",
            "baseURL": self._address,
            "protocolVersion": "2.0",
            "adminEmail": "help@arxiv.example",
            "earliestDatestamp": EARLIEST,
            "deletedRecord": "persistent",
            "granularity": "YYYY-MM-DD",
        }
        for name, value in facts.items():
            add_element(identity, f"{{{OAI}}}{name}", value)

    def _list_records(
        self,
        root: etree._Element,
        arguments: Mapping[str, str],
        papers: Sequence[DemoPaper],
        moment: datetime,
        keep: float,
    ) -> None:
        token = arguments.get("resumptionToken", "")
        if token:
            arguments = self._read_token(token, moment)
        _check_format(arguments)
        listed = _select(papers, arguments)
        skip = int(arguments.get("skip", "0"))
        page, rest = listed[skip : skip + self._page_size], listed[skip + self._page_size :]
        if not page:
            message = (
                "The combination of the values of the from, until, set and metadataPrefix arguments results in"
            )
            raise OaiError("noRecordsMatch", f"{message} an empty list.")
        records = add_element(root, f"{{{OAI}}}ListRecords")
        for paper in page[: round(len(page) * keep)]:
            _add_record(records, paper)
        if rest:
            expires = (moment + timedelta(days=1)).replace(hour=0, minute=0, second=0)
            text = self._issue_token(arguments, rest[0], listed, moment)
            add_element(records, f"{{{OAI}}}resumptionToken", text, {"expirationDate": format_moment(expires)})
        elif token:
            add_element(records, f"{{{OAI}}}resumptionToken")

    def _issue_token(
        self, arguments: Mapping[str, str], following: DemoPaper, listed: Sequence[DemoPaper], moment: datetime
    ) -> str:
        day = _datestamp(following)
        skip = next(n for n, paper in enumerate(p for p in listed if _datestamp(p) == day) if paper is following)
        fields = {"verb": "ListRecords", "metadataPrefix": arguments["metadataPrefix"], "from": day}
        fields |= {name: arguments[name] for name in ("until", "set") if name in arguments}
        token = quote("&".join(f"{name}={value}" for name, value in {**fields, "skip": skip}.items()), safe="")
        self._issued[unquote(token)] = moment.date()
        return token

    def _read_token(self, token: str, moment: datetime) -> dict[str, str]:
        plain = token
        while "=" not in plain and "%" in plain:
            plain = unquote(plain)
        fields = dict(parse_qsl(plain))
        if not {"metadataPrefix", "from", "skip"} <= fields.keys() or not fields["skip"].isdecimal():
            raise OaiError("badResumptionToken", f"{_TOKEN}Token decoding failed or format is invalid.")
        if self._issued.get(plain, moment.date()) != moment.date():
            raise OaiError("badResumptionToken", f"{_TOKEN}Token is expired.")
        return fields


def _check_arguments(params: Sequence[tuple[str, str]]) -> dict[str, str]:
    arguments = dict(params)
    if arguments.get("verb") not in ("Identify", "ListRecords", "GetRecord"):
        message = (
            "Value of the verb argument is not a legal OAI-PMH verb, the verb argument is missing, or the verb"
        )
        raise OaiError("badVerb", f"{message} argument is repeated. Reason: Invalid verb provided")
    if len(arguments) != len(params):
        raise OaiError("badArgument", f"{_ILLEGAL}Duplicate parameter(s)")
    known = {"verb", "metadataPrefix", "from", "until", "set", "resumptionToken", "identifier"}
    if not arguments.keys() <= known:
        raise OaiError("badArgument", f"{_ILLEGAL}Unknown argument")
    if "resumptionToken" in arguments and len(arguments) > 2:  # noqa: PLR2004 - the verb and the token
        raise OaiError("badArgument", f"{_ILLEGAL}No other parameters allowed with a resumption token")
    for name in ("from", "until"):
        if name in arguments:
            _read_day(name, arguments[name])
    return arguments


def _read_day(name: str, text: str) -> None:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise OaiError("badArgument", f"{_ILLEGAL}{name} date format must be YYYY-MM-DD") from None


def _check_format(arguments: Mapping[str, str]) -> None:
    if "metadataPrefix" not in arguments:
        raise OaiError("badArgument", f"{_ILLEGAL}metadataPrefix is required")
    if arguments["metadataPrefix"] != FORMAT:
        message = (
            "The metadata format identified by the value given for the metadataPrefix argument is not supported"
        )
        raise OaiError(
            "cannotDisseminateFormat",
            f"{message} by the item or by the repository. Reason: Did not recognize requested format",
        )


def _select(papers: Sequence[DemoPaper], arguments: Mapping[str, str]) -> list[DemoPaper]:
    first, last = arguments.get("from", ""), arguments.get("until", "9999-12-31")
    if first > last:
        raise OaiError("badArgument", f"{_ILLEGAL}from date must not be after until date")
    wanted = arguments.get("set", "")
    return [
        paper
        for paper in papers
        if first <= _datestamp(paper) <= last
        and (not wanted or any(f"{name}:".startswith(f"{wanted}:") for name in _sets(paper)))
    ]


def _datestamp(paper: DemoPaper) -> str:
    return paper.announced.astimezone(UTC).date().isoformat()


def _sets(paper: DemoPaper) -> list[str]:
    names = []
    for category in paper.categories:
        archive, _, subject = category.partition(".")
        group = "physics" if archive in _PHYSICS or archive.startswith(_PHYSICS_STEMS) else archive
        names.append(":".join(part for part in (group, archive, subject) if part))
    return names


def _get_record(root: etree._Element, arguments: Mapping[str, str], papers: Sequence[DemoPaper]) -> None:
    _check_format(arguments)
    wanted = arguments.get("identifier", "").removeprefix("oai:arXiv.org:")
    for paper in papers:
        if paper.id == wanted:
            _add_record(add_element(root, f"{{{OAI}}}GetRecord"), paper)
            return
    message = "The value of the identifier argument is unknown or illegal in this repository."
    raise OaiError("idDoesNotExist", f"{message} Reason: Nothing found for this ID")


def _add_record(parent: etree._Element, paper: DemoPaper) -> None:
    record = add_element(parent, f"{{{OAI}}}record")
    header = add_element(record, f"{{{OAI}}}header")
    add_element(header, f"{{{OAI}}}identifier", f"oai:arXiv.org:{paper.id}")
    add_element(header, f"{{{OAI}}}datestamp", _datestamp(paper))
    for name in _sets(paper):
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
