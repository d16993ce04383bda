"""The whole way of a mailing: harvested over HTTP from a stand-in for arXiv, matched, planned, into the outbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import func, select

from digest.match.step import match
from digest.model.clock import RemoteClock
from digest.plan.step import plan
from digest.poll.step import poll
from digest.store.schema import deliveries
from tests.acceptance.worlds import StandIn
from tests.bench.crowds import choose_narrow, draw_queries, subscribe_crowd
from tests.bench.installations import opened
from tests.bench.pages import REAL
from tests.bench.papers import load_day

if TYPE_CHECKING:
    from digest.poll.installation import Site

_PAPERS: Final = "data/papers_2016-08_09.jsonl.gz"
_FIRST_DIGEST: Final = datetime(2016, 8, 9, 12, tzinfo=UTC)
_MAILING: Final = datetime(2016, 8, 10, 3, tzinfo=UTC)
"""The evening of 9 August in New York, with the mailing out for three hours."""

_DUE: Final = datetime(2016, 8, 10, 8, tzinfo=UTC)


class Way(NamedTuple):
    """What each part of the way took, in seconds.

    Attributes:
        warming: matching once before, when every saved query is read; a process does it once.
        harvest: asking arXiv and storing what it answered, simulated waiting apart.
        matching, planning: what they are called.
        records: harvested, those that were known among them.
        papers: announced that evening.
        digests, waiting: what came of it, and the deliveries in the outbox.
    """

    warming: float
    harvest: float
    matching: float
    planning: float
    records: int
    papers: int
    digests: int
    waiting: int


def measure_way(url: str, crowd: int) -> Way:
    """Let a crowd's saved queries, one subscription each, be told of one mailing.

    Args:
        url: an empty database.
        crowd: how many saved queries.

    Raises:
        SystemExit: there are no real papers to serve.
    """
    if not REAL:
        raise SystemExit("the whole way wants DIGEST_REAL_DATA to name a folder of real papers and a stand-in")
    _, day, others = load_day()
    queries = choose_narrow(draw_queries(others, crowd * 13 // 10), day)[:crowd]
    arxiv = StandIn(Path(REAL), [_PAPERS], f"{_FIRST_DIGEST:%Y-%m-%dT%H:%M:%SZ}")
    try:
        with opened(url, RemoteClock(arxiv.clock_url), arxiv.url) as site:
            poll(site)
            subscribe_crowd(site.store, queries, due_at=_DUE, before=_FIRST_DIGEST - timedelta(days=30))
            begun = perf_counter()
            match(site)
            warmed = perf_counter()
            arxiv.set_now(_MAILING)
            return _follow(site, arxiv, warmed - begun)
    finally:
        arxiv.close()


def _follow(site: Site, arxiv: StandIn, warming: float) -> Way:
    begun = perf_counter()
    found = poll(site)
    harvested = perf_counter()
    match(site)
    matched = perf_counter()
    arxiv.set_now(_DUE + timedelta(minutes=1))
    due = perf_counter()
    report = plan(site)
    planned = perf_counter()
    with site.store.read() as conn:
        waiting = conn.execute(select(func.count()).select_from(deliveries)).scalar_one()
    if found.failures or not waiting:
        raise SystemExit(f"nothing was measured: {found.failures or 'no delivery came of it'}")
    return Way(
        warming,
        harvested - begun,
        matched - harvested,
        planned - due,
        found.papers,
        sum(found.mailings.values()),
        len(report.digests),
        waiting,
    )
