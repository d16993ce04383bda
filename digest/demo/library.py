"""A fortnight of a made-up arXiv: some thirty papers, always the same.

The demo is about the announcement of Thu 19 Nov 2026. Every paper it changes was announced in the days before.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from digest.demo.archive import DemoPaper, open_window
from digest.demo.manuscripts import (
    ARCHIPELAGOS,
    EARLIER_BENCHMARKS,
    EARLIER_CLOCKS,
    FOLLOWED,
    HELD,
    INEQUALITIES,
    MU_PATH,
    NOTHING,
    SCHEDULING,
    SCHEDULING_ACCEPTED,
    SHORT_QUEUES,
    SHORT_QUEUES_WITHDRAWN,
    SPARSE_ATTENTION,
    STOPWATCH,
    TAIL_LATENCY,
    Manuscript,
    write_plain,
)
from digest.model.announcements import EASTERN, mailing_moment

if TYPE_CHECKING:
    from collections.abc import Iterator

MAILING = date(2026, 11, 19)
FOLLOWING = date(2026, 11, 22)
PAGE_SIZE = 10
QUERIES = {
    "perf": "cat:cs.PF",
    "gpu": "ti:GPU OR abs:GPU",
    "follow": f'au:"{FOLLOWED}"',
}
"""The demo's saved queries. In the announcement they match 6, 4 and 1 papers, 9 different ones together."""

REVISED = "2611.15012"
"""The paper that gets a second version when the demo checks a third time: `TAIL_LATENCY`."""

_FIRST_NUMBER = 14_987
_HELD_SINCE = datetime(2026, 11, 6, 15, 42, tzinfo=EASTERN)
_CROSS_LISTED = write_plain(
    "Seed banks with few samples: how long dormant plants remember a dry decade", "q-bio.PE"
)
_REPLACED = write_plain("A note on sums of digits of consecutive squares in two independent bases", "math.NT")
_ANNOUNCED: dict[date, tuple[Manuscript, ...]] = {
    date(2026, 11, 5): (
        write_plain("Bar instabilities revisited: slow rotators among 212 nearby disc galaxies", "astro-ph.GA"),
    ),
    date(2026, 11, 8): (
        write_plain("Tokenisers under drift: what a vocabulary of 2019 costs the text of today", "cs.CL"),
        write_plain("The shape of large percolation clusters on random trees with heavy branches", "math.PR"),
    ),
    date(2026, 11, 9): (
        write_plain("Surface codes near criticality: decoding by local moves with correlated noise", "quant-ph"),
    ),
    date(2026, 11, 10): (
        SCHEDULING,
        write_plain(
            "Microcombs in the dark: a soliton that lives forty milliseconds without a pump", "physics.optics"
        ),
    ),
    date(2026, 11, 11): (
        SHORT_QUEUES,
        write_plain("Stellar streams at large scale: gaps that no known satellite has torn", "astro-ph.GA"),
    ),
    date(2026, 11, 12): (EARLIER_CLOCKS,),
    date(2026, 11, 15): (_CROSS_LISTED, _REPLACED),
    date(2026, 11, 16): (
        write_plain("Event cameras in the dark: depth from single photons and a shaking hand", "cs.CV"),
    ),
    date(2026, 11, 17): (
        EARLIER_BENCHMARKS,
        write_plain(
            "Spin glasses revisited: slow modes of one sample after nine years of waiting",
            "cond-mat.stat-mech",
        ),
    ),
    date(2026, 11, 18): (
        write_plain("Ferry subsidies and where people live: evidence from 41 remote islands", "econ.GN"),
        write_plain("Echo searches under drift: limits on late signals of 90 black-hole mergers", "gr-qc"),
    ),
    MAILING: (
        MU_PATH,
        NOTHING,
        write_plain("Jet shapes near a critical point: energy correlators in small collision systems", "hep-ph"),
        INEQUALITIES,
        STOPWATCH,
        SPARSE_ATTENTION,
        ARCHIPELAGOS,
        HELD,
        write_plain("Partial rankings of many items: a consistent estimator from incomplete ballots", "stat.ME"),
        TAIL_LATENCY,
        write_plain("Flaky tests revisited: how to tell a hidden defect within three runs", "cs.SE"),
    ),
    FOLLOWING: (
        write_plain("Conformal blocks at negative central charge from a recursion without poles", "hep-th"),
        write_plain("Code review bots under drift: eighteen months of suggestions in 300 projects", "cs.SE"),
        write_plain("Lensing maps revisited: how the choice of a mask changes the growth rate", "astro-ph.CO"),
    ),
}
"""What each announcement brings, by its Eastern date, in the order of ids. No saved query matches the last."""


def make_papers(until: date = MAILING) -> tuple[DemoPaper, ...]:
    """Return every state of every paper up to an announcement, in order. Every call returns the same."""
    papers = [paper for paper in _announce() if paper.announced <= mailing_moment(until)]
    states = [*papers, *_change({paper.title: paper for paper in papers})]
    return tuple(sorted(states, key=lambda paper: (paper.announced, paper.order)))


def _announce() -> Iterator[DemoPaper]:
    """Give each manuscript an id and a date of submission in its announcement's window, or earlier if held."""
    number = _FIRST_NUMBER
    for day, manuscripts in _ANNOUNCED.items():
        opens, closes = open_window(day)
        for place, manuscript in enumerate(manuscripts, start=1):
            moment = opens + (closes - opens) * place / (len(manuscripts) + 1)
            submitted = _HELD_SINCE if manuscript is HELD else moment.replace(microsecond=0)
            yield DemoPaper(
                id=f"2611.{number:05d}",
                announced=mailing_moment(day),
                submitted=(submitted.astimezone(UTC),),
                submitter=manuscript.authors[-1].name,
                **manuscript._asdict(),
            )
            number += 1


def _change(known: dict[str, DemoPaper]) -> Iterator[DemoPaper]:
    """Cross-list, replace and withdraw papers with the announcement."""
    crossed = known[_CROSS_LISTED.title]
    yield replace(crossed, categories=(*crossed.categories, "stat.ML"), announced=mailing_moment(MAILING))
    yield _revise(known[_REPLACED.title], "Typos corrected")
    yield _revise(known[SCHEDULING.title], SCHEDULING_ACCEPTED)
    yield replace(_revise(known[SHORT_QUEUES.title], SHORT_QUEUES_WITHDRAWN), is_withdrawn=True)


def _revise(paper: DemoPaper, comment: str) -> DemoPaper:
    """Give a paper a second version, handed in half a day before the announcement's deadline."""
    handed_in = (open_window(MAILING)[1] - timedelta(hours=12)).astimezone(UTC)
    submitted = (*paper.submitted, handed_in)
    return replace(paper, submitted=submitted, comment=comment, announced=mailing_moment(MAILING))
