"""A small arXiv on 127.0.0.1: its OAI-PMH list of papers, as far as a clock says that they are public."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote

from digest.demo.archive import plan_mailing
from digest.demo.oai import MEDIA_TYPE, date_record, write_page
from digest.demo.server import Answer, DemoServer, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.demo.archive import DemoPaper
    from digest.model.clock import Clock


class DemoArxiv(DemoServer):
    """An arXiv of made-up papers.

    Args:
        papers: states of papers; each is public from its `announced` on.
        clock: judges what is public.
        page_size: papers per page of a list.
    """

    def __init__(self, papers: Sequence[DemoPaper], clock: Clock, page_size: int) -> None:
        super().__init__(self._answer)
        self._papers = list(papers)
        self._clock = clock
        self._page_size = page_size

    @property
    def oai_url(self) -> str:
        """The OAI-PMH base URL."""
        return f"{self.url}/oai"

    def add(self, *papers: DemoPaper) -> None:
        """Take in papers, or states of known ones."""
        self._papers += papers

    def revise(self, paper_id: str, comment: str) -> None:
        """Hand in a new version of a paper now; the next mailing announces it."""
        last = next(paper for paper in reversed(self._papers) if paper.id == paper_id)
        now = self._clock.now()
        self.add(replace(last, submitted=(*last.submitted, now), announced=plan_mailing(now), comment=comment))

    def _answer(self, request: Request) -> Answer:
        if request.path != "/oai":
            return Answer(b"Not Found", "text/plain", 404)
        token = request.params.get("resumptionToken", "")
        asked = dict(parse_qsl(unquote(token))) if token else request.params
        listed = [paper for paper in self._list_public() if date_record(paper) >= asked.get("from", "")]
        start = int(asked.get("skip", 0))
        page = listed[start : start + self._page_size]
        following = "" if token else None
        if len(listed) > start + len(page):
            following = quote(f"from={asked.get('from', '')}&skip={start + len(page)}")
        return Answer(write_page(page, following, self.oai_url, self._clock.now()), MEDIA_TYPE)

    def _list_public(self) -> list[DemoPaper]:
        """Return the current state of each public paper, in order of announcement."""
        now = self._clock.now()
        states = sorted(self._papers, key=lambda paper: paper.announced)
        current = {paper.id: paper for paper in states if paper.announced <= now}
        return sorted(current.values(), key=lambda paper: (paper.announced, paper.order))
