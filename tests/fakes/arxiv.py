"""A small arXiv on 127.0.0.1: search and OAI-PMH, judged by a clock, with faults on order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from digest.model.clock import Clock
from tests.fakes.archive import Archive, DemoPaper, plan_announcement
from tests.fakes.faults import Fault, Faults
from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json
from tests.fakes.oai import answer_oai
from tests.fakes.pages import ATOM_TYPE, OAI_TYPE, error_feed, format_moment
from tests.fakes.search import SearchRefusal, answer_search
from tests.fakes.spoiling import KINDS, spoil_answer
from tests.fakes.visits import Visit, Visits

RUNNING: dict[str, DemoArxiv] = {}
"""Those of this process, by the addresses of their clocks."""


class DemoArxiv:
    """An arXiv of made-up papers on a free port, while its context lasts.

    Between two requests there must be `pace` seconds; what comes too soon is refused with 429 where
    `is_strict`, else only kept in `violations`.
    """

    def __init__(
        self,
        papers: Sequence[DemoPaper],
        clock: Clock,
        *,
        pace: float = 0.0,
        is_strict: bool = True,
        page_size: int = 2_500,
        port: int = 0,
    ) -> None:
        self.faults = Faults(KINDS)
        self._archive = Archive(papers)
        self._clock = clock
        self._is_strict = is_strict
        self._visits = Visits(clock, pace)
        self._server = LoopbackServer(self._answer, name="demo-arxiv", port=port)
        self._page_size = page_size

    def __enter__(self) -> Self:
        self._server.__enter__()
        if self._clock.is_simulated:
            RUNNING[self.clock_url] = self
        return self

    def __exit__(self, *_: object) -> None:
        RUNNING.pop(self.clock_url, None)
        self._server.__exit__()

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._server.url

    @property
    def api_url(self) -> str:
        """The search interface."""
        return f"{self.url}/api/query"

    @property
    def oai_url(self) -> str:
        """The OAI-PMH base URL."""
        return f"{self.url}/oai"

    @property
    def clock(self) -> Clock:
        """What tells this arXiv the time."""
        return self._clock

    @property
    def clock_url(self) -> str:
        """The clock, for `digest.model.clock.RemoteClock`.

        GET tells it, `POST ?advance=SECONDS` moves it.
        """
        return f"{self.url}/_control/now"

    @property
    def requests(self) -> tuple[Visit, ...]:
        """Every request so far but those for the clock."""
        return self._visits.list_visits()

    @property
    def violations(self) -> tuple[Visit, ...]:
        """Requests that came too soon."""
        return tuple(request for request in self.requests if request.violation)

    def ask_clock(self, advance: str = "") -> dict[str, str]:
        """Move the clock on by some seconds, if any are given, and tell it."""
        if advance:
            self._clock.sleep(float(advance))
        return {"now": self._clock.now().isoformat()}

    def add(self, *papers: DemoPaper) -> None:
        """Take in papers, or states of known ones."""
        self._archive.add(*papers)

    def replace(
        self,
        paper_id: str,
        *,
        submitted: datetime | None = None,
        announced: datetime | None = None,
        **changes: Any,  # noqa: ANN401 - fields of DemoPaper, each of its own type
    ) -> DemoPaper:
        """Give a paper a new version.

        By default it is handed in now, and announced when arXiv would.
        """
        last = self._archive.last(paper_id)
        handed_in = submitted or self._clock.now()
        history = (*last.submitted, handed_in)
        state = replace(
            last, submitted=history, announced=announced or plan_announcement(handed_in), **changes
        )
        self.add(state)
        return state

    def withdraw(
        self, paper_id: str, *, announced: datetime | None = None, comment: str = ""
    ) -> DemoPaper:
        """Give a paper a last version that withdraws it."""
        words = comment or "This paper has been withdrawn by the authors"
        return self.replace(paper_id, announced=announced, comment=words, is_withdrawn=True)

    def cross_list(
        self, paper_id: str, category: str, *, announced: datetime | None = None
    ) -> DemoPaper:
        """List a paper in one more category, without a new version."""
        last = self._archive.last(paper_id)
        moment = announced or plan_announcement(self._clock.now())
        state = replace(last, categories=(*last.categories, category), announced=moment)
        self.add(state)
        return state

    def _answer(self, request: Request) -> Answer:
        if request.path == "/_control/now":
            return self._answer_clock(request)

        def decide(violation: str) -> tuple[Answer, str]:
            fault = self.faults.take(request.path)
            if violation and self._is_strict:
                fault = Fault("429")
            return self._decide(request, fault), fault.kind if fault else ""

        return self._visits.receive(request, decide)

    def _decide(self, request: Request, fault: Fault | None) -> Answer:
        if fault is None:
            return self._serve(request)
        return spoil_answer(
            fault, lambda keep: self._serve(request, keep), self._clock.now(), self.url
        )

    def _serve(self, request: Request, keep: float | None = None) -> Answer:
        return self._show(request, self._clock.now(), keep)

    def _show(
        self,
        request: Request,
        seen: datetime,
        keep: float | None,
        hidden: Collection[str] = frozenset(),
    ) -> Answer:
        """Answer from what was public at a moment, except for hidden ids."""
        now = self._clock.now()

        def find(paper_id: str) -> Sequence[DemoPaper]:
            found = (
                self._archive.states(paper_id, seen)
                if paper_id
                else self._archive.list_public(seen)
            )
            return [paper for paper in found if paper.id not in hidden]

        if request.path == "/oai":
            kept = 1.0 if keep is None else max(keep, 0.0)
            return Answer(
                answer_oai(request.params, find(""), now, self._page_size, kept),
                media_type=OAI_TYPE,
            )
        if request.path != "/api/query":
            return Answer(b"Not Found", 404)
        try:
            return Answer(
                answer_search(dict(request.params), find, now, keep), media_type=ATOM_TYPE
            )
        except SearchRefusal as refusal:
            return Answer(
                error_feed(str(refusal), refusal.page, format_moment(now)),
                refusal.status,
                ATOM_TYPE,
            )

    def _answer_clock(self, request: Request) -> Answer:
        if request.method == "POST" and not self._clock.is_simulated:
            return answer_json({"error": "real time can't be moved"}, 409)
        try:
            return answer_json(self.ask_clock(request.param("advance")))
        except ValueError:
            return answer_json({"error": "advance takes seconds"}, 400)
