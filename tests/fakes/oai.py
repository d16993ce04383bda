"""OAI-PMH 2.0 as https://oaipmh.arxiv.org/oai speaks it, in the format arXivRaw.

Protocol: https://www.openarchives.org/OAI/openarchivesprotocol.html. Peculiarities (days as
granularity, stateless resumption tokens, HTTP 200 for every error, raw TeX) are arXiv's own.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote

from digest.demo.oai import (
    MEDIA_TYPE,
    OAI,
    RAW,
    add_element,
    add_record,
    clean_text,
    date_record,
    format_moment,
    list_sets,
    open_answer,
    write_xml,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lxml import etree

    from tests.fakes.archive import DemoPaper

__all__ = ["MEDIA_TYPE", "OAI", "RAW", "OaiDesk", "OaiError"]

FORMAT = "arXivRaw"
EARLIEST = "2005-09-16"
_ILLEGAL = (
    "The request includes illegal arguments, is missing required arguments, includes a repeated argument, "
    "or values for arguments have an illegal syntax. Reason: "
)
_TOKEN = "The value of the resumptionToken argument is invalid or expired. Reason: "


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
        root = open_answer(moment)
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
            add_record(records, paper)
        if rest:
            expires = (moment + timedelta(days=1)).replace(hour=0, minute=0, second=0)
            text = self._issue_token(arguments, rest[0], listed, moment)
            add_element(records, f"{{{OAI}}}resumptionToken", text, {"expirationDate": format_moment(expires)})
        elif token:
            add_element(records, f"{{{OAI}}}resumptionToken")

    def _issue_token(
        self, arguments: Mapping[str, str], following: DemoPaper, listed: Sequence[DemoPaper], moment: datetime
    ) -> str:
        day = date_record(following)
        skip = next(n for n, paper in enumerate(p for p in listed if date_record(p) == day) if paper is following)
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
    if "resumptionToken" in arguments and len(arguments) > 2:
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
        if first <= date_record(paper) <= last
        and (not wanted or any(f"{name}:".startswith(f"{wanted}:") for name in list_sets(paper)))
    ]


def _get_record(root: etree._Element, arguments: Mapping[str, str], papers: Sequence[DemoPaper]) -> None:
    _check_format(arguments)
    wanted = arguments.get("identifier", "").removeprefix("oai:arXiv.org:")
    for paper in papers:
        if paper.id == wanted:
            add_record(add_element(root, f"{{{OAI}}}GetRecord"), paper)
            return
    message = "The value of the identifier argument is unknown or illegal in this repository."
    raise OaiError("idDoesNotExist", f"{message} Reason: Nothing found for this ID")
