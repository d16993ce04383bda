"""Asks arXiv: the query API and OAI-PMH, at one pace and over one connection.

The terms (https://info.arxiv.org/help/api/tou.html) count all three interfaces together. Before
each request, each retry among them, the gate is asked; afterwards it hears of the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from typing import Final, Generic, TypeVar
from urllib.parse import quote, urlencode

from digest.arxiv.atom import AtomPage, check_counts, parse_atom
from digest.arxiv.documents import BODY_LIMIT, TRY_AGAIN, check_body
from digest.arxiv.exchange import (
    ArxivRequest,
    DeadlinePassed,
    check_status,
    gate_outcome,
    send_request,
)
from digest.arxiv.oai import LoadHashes, OaiPage, know_none, parse_oai
from digest.config.addresses import ChooseProxy
from digest.model.clock import Clock, Gate, GateOutcome, Grant, RequestOutcome, monotonic
from digest.model.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivHostile,
    ArxivShort,
    ArxivUnreachable,
    ArxivUnreadable,
    ConfigurationError,
)
from digest.model.pace import REQUEST_DEADLINE
from digest.model.papers import ArxivId
from digest.model.polls import RequestLog
from digest.wire import HttpAnswer, Wire

RETRIES: Final = 2
"""That many more times a request is made after a failure that may pass."""


WALL: Final = 10_000
"""Results of one search that arXiv gives out, by paging, at most."""

IDS_LIMIT: Final = 100
"""Ids one request may name."""

_API_SECONDS: Final = 60.0
_OAI_SECONDS: Final = 200.0
_GREETING_SECONDS: Final = 20.0
_LONG_URL: Final = 1_800
_MAY_PASS: Final = (ArxivUnreachable, ArxivFaulted, ArxivUnreadable)
_ENDS: Final = (b"</OAI-PMH>", b"</feed>")
"""How an answer ends that was not cut off."""

_NOTHING_CAME: Final = GateOutcome(RequestOutcome.FAILED)

PageT = TypeVar("PageT")


@dataclass(frozen=True, slots=True)
class ArxivAddresses:
    """Where arXiv's interfaces are."""

    api_url: str = "https://export.arxiv.org/api/query"
    oai_url: str = "https://oaipmh.arxiv.org/oai"

    def describe(self, url: str) -> str:
        """Say which setting names the address of a request: for one that found nothing there."""
        is_oai = url.startswith(self.oai_url)
        is_api = url.startswith(self.api_url)
        if is_api and not (is_oai and len(self.oai_url) > len(self.api_url)):
            return f"api_url under [arxiv], {self.api_url}"
        return f"oai_url under [arxiv], {self.oai_url}" if is_oai else url


@dataclass(frozen=True, slots=True)
class Fetched(Generic[PageT]):
    """A page and when it came; `grant` is the leave it was fetched under.

    `date` is the time by arXiv's own clock, as its header has it; "" for none.
    """

    page: PageT
    fetched_at: datetime
    grant: Grant | None = None
    date: str = ""


class ShortPage(ArxivShort, Generic[PageT]):
    """A page with fewer entries than its own total, or its list, promises, after all retries.

    `fetched` is that page: what it holds is good, and what it lacks is not known.
    """

    def __init__(self, error: ArxivShort, fetched: Fetched[PageT]) -> None:
        super().__init__(error.said, hint=error.advice, request=error.request)
        self.fetched = fetched


@dataclass(slots=True)
class _Course:
    """How a request goes: for the gate, and for who keeps a list of requests.

    Attributes:
        begun: by `monotonic`, as `ended`, which is 0 until the answer is there.
        was_made: a byte of it may have left this machine.
        holds_gate: the next request can't be made yet.
    """

    at: datetime
    begun: float
    ended: float = 0.0
    answer: HttpAnswer | None = None
    outcome: GateOutcome = _NOTHING_CAME
    detail: str = ""
    was_made: bool = True
    holds_gate: bool = True


class ArxivClient:
    """Asks arXiv one thing at a time. Each may end in an `ArxivError` that names what was asked.

    Args:
        user_agent: name, version and how to reach the operator.
        on_request: called for every request after it ended and the gate was released.
        deadline: seconds one request may take in all.
    """

    def __init__(
        self,
        addresses: ArxivAddresses,
        user_agent: str,
        gate: Gate,
        clock: Clock,
        *,
        on_request: Callable[[RequestLog], None] | None = None,
        deadline: float = REQUEST_DEADLINE,
        choose_proxy: ChooseProxy = lambda _: None,
    ) -> None:
        if not (user_agent.isascii() and user_agent.isprintable()):
            raise ConfigurationError(
                f"{user_agent!r} can't be sent as a User-Agent",
                hint="Write [arxiv] contact in plain ASCII.",
            )
        self._addresses = addresses
        self._gate = gate
        self._clock = clock
        self._on_request = on_request
        headers = {"User-Agent": user_agent, "Accept": "application/xml, */*;q=0.1"}
        self._wire = Wire(
            headers, deadline=deadline, limit=BODY_LIMIT, choose_proxy=choose_proxy, now=clock.now
        )
        self.requests = 0
        """How many requests were made so far, retries among them."""

    def close(self) -> None:
        """Break off the request under way, from another thread: its caller sees it break."""
        self._wire.hang_up()

    def search(
        self,
        query: str,
        *,
        start: int = 0,
        size: int = 100,
        ids: Sequence[str] = (),
    ) -> Fetched[AtomPage]:
        """Fetch one page of a search in arXiv's own query language, or of papers named by id.

        What changed last comes first. With `ids`, papers arXiv does not know are simply absent, and
        the order is arXiv's.

        Raise `ShortPage`: entries are missing, after all retries.
        """
        parameters = {"start": str(start), "max_results": str(size)}
        if ids:
            name = f"{len(ids)} papers by their ids"
            parameters |= {"id_list": ",".join(ids)}
        else:
            name = f"papers {start}-{start + size - 1} of {query.strip()[:80]!r}"
            parameters["search_query"] = " ".join(query.split())
            parameters |= {"sortBy": "lastUpdatedDate", "sortOrder": "descending"}
        asked = _write_request(self._addresses.api_url, parameters, name, _API_SECONDS)

        def check(fetched: Fetched[AtomPage]) -> None:
            try:
                check_counts(fetched.page, start, size)
            except ArxivShort as error:
                raise ShortPage(error, fetched) from error

        return self._fetch(asked, parse_atom, check)

    def list_records(
        self,
        from_date: date,
        token: str = "",
        *,
        expected: int = 0,
        load_hashes: LoadHashes = know_none,
    ) -> Fetched[OaiPage]:
        """Fetch a page of the harvest: a token's, or the first since the start of a UTC day.

        Args:
            expected: entries a page of this list has, unless it is the last one. If it stays short
                however often it is asked for, arXiv itself leaves something out.
            load_hashes: see `parse_oai`.

        Raise `TokenExpired`: the list has to be asked for from its beginning.
        """
        day = from_date.isoformat()
        name = f"the harvest from {day}"
        parameters = {"verb": "ListRecords"}
        if token:
            name += ", a later page"
            parameters["resumptionToken"] = token
        else:
            parameters |= {"metadataPrefix": "arXivRaw", "from": day}
        asked = _write_request(self._addresses.oai_url, parameters, name, _OAI_SECONDS)

        def check(fetched: Fetched[OaiPage]) -> None:
            page = fetched.page
            if page.token is not None and page.records < expected:
                error = ArxivShort(
                    f"a page with {page.records:,} entries comes before others with {expected:,}",
                    hint=TRY_AGAIN,
                )
                raise ShortPage(error, fetched)

        try:
            return self._fetch(asked, partial(parse_oai, load_hashes=load_hashes), check)
        except ShortPage as short:
            fetched: Fetched[OaiPage] = short.fetched
            return fetched

    def get_record(self, id_: ArxivId) -> Fetched[OaiPage]:
        """Fetch one paper in its latest version, with its history.

        Raise `UnknownPaper`: arXiv knows no such paper.
        """
        identifier = f"oai:arXiv.org:{id_}"
        parameters = {"verb": "GetRecord", "identifier": identifier, "metadataPrefix": "arXivRaw"}
        asked = _write_request(self._addresses.oai_url, parameters, f"paper {id_}", _OAI_SECONDS)
        return self._fetch(asked, parse_oai)

    def greet(self, source: str) -> Fetched[None]:
        """Make one small request, without a retry, to see whether arXiv answers; nothing is read.

        `source` says which interface is asked: `harvest` or `query`.
        """
        if source == "query":
            url = self._addresses.api_url
            parameters = {"search_query": "all:electron", "max_results": "1"}
        else:
            url = self._addresses.oai_url
            parameters = {"verb": "Identify"}
        asked = _write_request(url, parameters, "a check", _GREETING_SECONDS)
        return self._ask_once(asked, check_body, None)

    def _fetch(
        self,
        asked: ArxivRequest,
        read: Callable[[bytes], PageT],
        check: Callable[[Fetched[PageT]], None] | None = None,
    ) -> Fetched[PageT]:
        for _ in range(RETRIES):
            try:
                return self._ask_once(asked, read, check)
            except _MAY_PASS as error:
                if isinstance(error, ArxivHostile):
                    raise
        return self._ask_once(asked, read, check)

    def _ask_once(
        self,
        asked: ArxivRequest,
        read: Callable[[bytes], PageT],
        check: Callable[[Fetched[PageT]], None] | None,
    ) -> Fetched[PageT]:
        grant = self._gate.acquire()
        course = _Course(self._clock.now(), monotonic())
        try:
            answer = send_request(self._wire, asked, not_after=grant.good_until)
            course.ended = monotonic()
            course.answer = answer
            check_status(answer, read, place=self._addresses.describe(asked.url), url=asked.url)
            check_body(answer.body)
            if answer.body.rstrip().endswith(_ENDS):
                # It came whole: the next request waits from now on, while this answer is read.
                self._gate.release(grant, gate_outcome(None))
                course.holds_gate = False
            date = answer.headers.get("date", "")
            fetched = Fetched(read(answer.body), self._clock.now(), grant, date)
            if check is not None:
                check(fetched)
        except ArxivError as error:
            error.name_request(asked.name)
            course.was_made = not isinstance(error, DeadlinePassed)
            course.outcome = gate_outcome(error)
            course.detail = error.message
            raise
        except BaseException as error:
            course.detail = type(error).__name__
            raise
        else:
            course.outcome = gate_outcome(None)
            return fetched
        finally:
            self._end(asked, grant, course)

    def _end(self, asked: ArxivRequest, grant: Grant, course: _Course) -> None:
        """Let the next request pass, and tell how this one went."""
        if course.was_made:
            self.requests += 1
        if course.holds_gate:
            self._gate.release(grant, course.outcome)
        if not course.was_made or self._on_request is None:
            return
        seconds = (course.ended or monotonic()) - course.begun
        answer = course.answer
        log = RequestLog(
            at=course.at,
            method=asked.method,
            url=asked.url,
            status=answer.status if answer else None,
            milliseconds=round(seconds * 1000),
            size=len(answer.body) if answer else 0,
            outcome=course.outcome.outcome,
            detail=course.detail,
        )
        self._on_request(log)


def _write_request(
    url: str, parameters: dict[str, str], name: str, read_seconds: float
) -> ArxivRequest:
    query = urlencode(parameters, quote_via=quote, safe="")
    whole = f"{url}?{query}"
    form = query.encode() if len(whole) > _LONG_URL else None
    return ArxivRequest(whole, name, read_seconds, form=form)
