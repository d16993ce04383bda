"""A small arXiv of made-up papers with the same temper, in this process: a month that needs no data."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

from digest.model.clock import ManualClock
from digest.model.papers import Author
from tests.battery.month_arxiv import Asked
from tests.battery.month_faults import choose_mishap, fill_options
from tests.battery.month_oracle import AGENT, last_mailing, mailing_at
from tests.fakes.archive import DemoPaper, open_window, plan_mailing
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.faults import Fault, Faults
from tests.fakes.loopback import Answer, Request
from tests.fakes.spoiling import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = 25
_CATEGORIES = ("cs.LG", "stat.ML", "math.CO", "hep-th", "astro-ph.GA", "quant-ph", "cond-mat.soft", "q-bio.NC")
_RARE = "nlin.CG"
_OPTIONS = {"retry_after", "seconds", "keep"}


class BehindClock:
    """A clock that can be read some hours late, as a replica of arXiv would."""

    is_simulated = True

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.behind = timedelta(0)

    def now(self) -> datetime:
        return self._clock.now() - self.behind

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)


class Temper(Faults):
    """Faults that come by themselves, drawn from a seed, while it is armed."""

    def __init__(self) -> None:
        super().__init__((*KINDS, "stale"))
        self._draw: random.Random | None = None

    def arm(self, seed: int | None) -> None:
        """Begin anew with a seed; None for no faults."""
        self._draw = random.Random(seed) if seed is not None else None  # noqa: S311 - the same faults for the same seed

    def take(self, path: str) -> Fault | None:  # noqa: ARG002 - as of `Faults`; every path is treated alike
        mishap = choose_mishap(self._draw) if self._draw else None
        if mishap is None or self._draw is None or (mishap.kind not in KINDS and mishap.kind != "stale"):
            return None
        options = fill_options(mishap, self._draw)
        fault = Fault(mishap.kind, **{name: value for name, value in options.items() if name in _OPTIONS})
        fault.retry_after = str(fault.retry_after)
        if mishap.kind == "stale":
            fault.seconds = options["hours"] * 3600.0
        return fault


class MoodyArxiv(DemoArxiv):
    """The fake arXiv, with stale replicas among its faults."""

    def __init__(self, papers: list[DemoPaper], clock: BehindClock) -> None:
        super().__init__(papers, clock, pace=3.0, page_size=PAGE)
        self._replica = clock

    def _decide(self, request: Request, fault: Fault | None) -> Answer:
        if fault is None or fault.kind != "stale":
            return super()._decide(request, fault)
        self._replica.behind = timedelta(seconds=fault.seconds)
        try:
            return self._serve(request)
        finally:
            self._replica.behind = timedelta(0)


class MadeUpArxiv:
    """A few mailings of made-up papers; for the rest see `MonthArxiv`.

    Args:
        now: when it begins (UTC).
        mailings: how many mailings it has papers for.
        seed: of their making up.
    """

    lag = timedelta(0)

    def __init__(self, now: datetime, mailings: int, seed: int) -> None:
        self._clock = ManualClock(now)
        draw = random.Random(seed)  # noqa: S311 - the same papers for the same seed
        states = list(_make_papers(last_mailing(now) - timedelta(days=6), mailings + 6, draw))
        self._settled = {paper.id for paper in states} - {paper.id for paper in states if paper.version > 1}
        self._arxiv = MoodyArxiv(states, BehindClock(self._clock))
        self._temper = Temper()
        self._arxiv.faults = self._temper

    def __enter__(self) -> Self:
        self._arxiv.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._arxiv.__exit__(None, None, None)

    @property
    def url(self) -> str:
        return self._arxiv.url

    def now(self) -> datetime:
        return self._clock.now()

    def set_now(self, moment: datetime) -> None:
        self._clock.set(moment)

    def advance(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def arm(self, seed: int) -> None:
        self._temper.arm(seed)

    def disarm(self) -> None:
        self._temper.arm(None)

    def count_requests(self) -> int:
        return len(self._arxiv.requests)

    def list_asked(self) -> list[Asked]:
        return [
            Asked(visit.at.date().isoformat(), visit.fault, visit.violation, visit.path)
            for visit in self._arxiv.requests
            if visit.user_agent != AGENT
        ]

    def wait_idle(self) -> None:
        """Nothing to wait for: its answers are made and counted before they are sent."""

    def is_settled(self, paper_id: str) -> bool:
        return paper_id in self._settled

    def cross_list(self, paper_id: str, category: str) -> None:
        self._arxiv.cross_list(paper_id, category, announced=self.now())

    def edit(self, paper_id: str, journal_ref: str) -> None:
        self._change_at_once(paper_id, journal_ref=journal_ref)

    def withdraw(self, paper_id: str, *, by_version: bool) -> None:
        self._settled.discard(paper_id)
        if by_version:
            self._arxiv.withdraw(paper_id)
        else:
            self._change_at_once(paper_id, is_withdrawn=True)

    def _change_at_once(self, paper_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of DemoPaper
        last = self._arxiv._archive.last(paper_id)
        self._arxiv.add(replace(last, announced=self.now(), **changes))


def _make_papers(day: date, mailings: int, draw: random.Random) -> Iterator[DemoPaper]:
    """Yield what each mailing from a day on brings; one paper in twelve has a second version some days later."""
    number = 100
    while mailings:
        if last_mailing(mailing_at(day)) == day:
            mailings -= 1
            opens, closes = open_window(day)
            for _ in range(draw.randint(20, 40)):
                number += 1
                held = timedelta(days=9) if draw.random() < 1 / 25 else timedelta(0)
                submitted = (opens + (closes - opens) * draw.random() - held).astimezone(UTC)
                yield from _make_paper(number, day, submitted.replace(microsecond=0), draw)
        day += timedelta(days=1)


def _make_paper(number: int, day: date, submitted: datetime, draw: random.Random) -> Iterator[DemoPaper]:
    categories = draw.sample(_CATEGORIES, draw.choice((1, 1, 2)))
    if draw.random() < 1 / 60:
        categories.append(_RARE)
    paper = DemoPaper(
        id=f"{day:%y%m}.{number:05d}",
        announced=mailing_at(day),
        submitted=(submitted,),
        title=f"Made-up paper {number}",
        abstract="We made this up.",
        authors=(Author("Bo Sample"),),
        categories=tuple(categories),
    )
    yield paper
    if draw.random() < 1 / 12:
        again = paper.announced + timedelta(days=draw.choice((1, 2, 3)), hours=12)
        yield replace(paper, submitted=(submitted, again), announced=plan_mailing(again))
