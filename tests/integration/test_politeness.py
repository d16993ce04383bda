"""How much is asked of arXiv, and that it is left alone for as long as it wants.

All of it goes over real processes.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

from digest.inspect.coverage import find_next_check
from digest.model.announcements import announcement_moment, has_announcement
from digest.model.clock import ManualClock
from digest.poll.rules import BOOTSTRAP_DAYS, REQUESTS_A_DAY, REQUESTS_A_RUN
from tests.fakes.archive import DemoPaper, open_window
from tests.harness.papers import START, made_up
from tests.integration.faulty import FaultyArxiv, surrounded

ROWS = 30
LISTED = 25
"""Rows of an announcement, and of an OAI-PMH page.

As at arXiv, the former takes a little more than the latter.
"""


def fill_weeks(first: date, last: date) -> Iterator[DemoPaper]:
    """Make up announcements.

    Three rows of five are new papers, the others new versions of earlier ones.
    """
    draw = random.Random(1)  # noqa: S311 - the same papers every time
    known: list[DemoPaper] = []
    for day in (first + timedelta(days=number) for number in range((last - first).days)):
        if not has_announcement(day):
            continue
        opens, closes = open_window(day)
        for row in range(ROWS):
            submitted = (
                (opens + (closes - opens) * draw.random()).astimezone(UTC).replace(microsecond=0)
            )
            if row % 5 < 3 or len(known) <= ROWS:
                id_ = f"{day:%y%m}.{len(known) + 1:05d}"
                known.append(made_up(0, submitted, id=id_, announced=announcement_moment(day)))
                yield known[-1]
            else:
                earlier = draw.choice(known[:-ROWS] or known[:1])
                yield made_up(
                    0,
                    submitted,
                    id=earlier.id,
                    announced=announcement_moment(day),
                    comment=f"row {row}",
                )


def live_on(folder: Path, queries: int, days: float) -> list[tuple[datetime, int, int]]:
    """Look whenever a look is worth it, for some days.

    Return when, with how many requests, and how far back.
    """
    clock = ManualClock(START)
    papers = list(fill_weeks(START.date() - timedelta(days=21), START.date() + timedelta(days=12)))
    arxiv = FaultyArxiv(papers, clock, page_size=LISTED)
    with surrounded(folder, arxiv) as world:
        world.configure({f"q{n}": f'abs:"word{n}" AND cat:cs.PF' for n in range(queries)})
        looks = []
        while clock.now() < START + timedelta(days=days):
            report = world.run()
            assert report.poll.failures == []
            looks.append((clock.now(), report.poll.requests, world.last_run().lookback))
            with world.reading() as conn:
                clock.set(find_next_check(conn, "harvest", clock, clock.now()))
        assert len(arxiv.requests) == sum(made for _, made, _ in looks)
    return looks


def test_a_week_costs_few_requests_a_run_and_a_day_and_no_more_for_many_saved_queries(
    tmp_path: Path,
) -> None:
    lives = []
    for queries, days in ((10, 7.5), (300, 2.5)):
        folder = tmp_path / str(queries)
        folder.mkdir()
        lives.append(live_on(folder, queries, days))
    week, start_with_many = lives
    assert start_with_many == week[: len(start_with_many)], "to the request, at the same moments"
    assert len(week) > 35
    by_day = Counter[date]()
    for at, made, lookback in week:
        by_day[at.date()] += made
        if lookback < BOOTSTRAP_DAYS:
            assert 1 <= made <= REQUESTS_A_RUN, f"{at} with {lookback} days back"
    assert max(by_day.values()) <= REQUESTS_A_DAY
    wide = [at for at, _, lookback in week if lookback > BOOTSTRAP_DAYS]
    assert all(later - earlier >= timedelta(days=7) for earlier, later in pairwise(wide)), (
        "two weeks, once a week"
    )
