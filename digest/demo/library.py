"""A fortnight of a made-up arXiv: some papers written by hand, hundreds drawn from word lists, always the same.

The mailing the demo is about is that of Thu 19 Nov 2026: 298 new papers, 61 cross-lists, 52 replacements
and one withdrawal. Every paper it changes was announced in a mailing of the days before.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
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
    SCHEDULING,
    SCHEDULING_ACCEPTED,
    SHORT_QUEUES,
    SHORT_QUEUES_WITHDRAWN,
    SPARSE_ATTENTION,
    STOPWATCH,
    TAIL_LATENCY,
    ZERO,
    Manuscript,
)
from digest.demo.writing import Writer
from digest.model.announcements import EASTERN, mailing_moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAILING = date(2026, 11, 19)
NEW, CROSS_LISTED, REPLACED, WITHDRAWN = 298, 61, 52, 1
PAGE_SIZE = 150
QUERIES = {
    "perf": "cat:cs.PF",
    "gpu": "ti:GPU OR abs:GPU",
    "follow": f'au:"{FOLLOWED}"',
}
"""The demo's saved queries. In the mailing they match 6, 4 and 1 papers, 9 different ones together."""

_MONTH = "2611"
_FIRST_NUMBER = 14_591
_SEED = 20_261_119
_EARLIER = {5: 10, 8: 14, 9: 20, 10: 20, 11: 18, 12: 20, 15: 24, 16: 30, 17: 28, 18: 26}
"""Days of November with a mailing before the demo's, and how many new papers each brings."""

_FOLLOWING = (date(2026, 11, 22), 24)
"""The next mailing, and how many papers it brings."""

_LATE = 15
"""From this day on most papers are changed on the 19th, as happens to young papers."""

_CHANGED_LATE = 78
_HELD_SINCE = datetime(2026, 11, 6, 15, 42, tzinfo=EASTERN)
_TAIL_PLACE, _HELD_PLACE = 211, 97
_PLACED_BY_HAND = {
    (10, 4): SCHEDULING,
    (11, 7): SHORT_QUEUES,
    (12, 3): EARLIER_CLOCKS,
    (17, 11): EARLIER_BENCHMARKS,
}


@dataclass(frozen=True, slots=True)
class Library:
    """What the demo's arXiv holds.

    Attributes:
        papers: every state of every paper, in order of announcement.
        queries: saved queries by name.
        mailing: the Eastern date of the mailing the demo is about.
        page_size: papers per OAI-PMH page that makes three pages of the look after it.
        revised: the paper that gets a second version when the demo looks a third time.
        following: what the next mailing brings besides; no saved query matches any of it.
    """

    papers: tuple[DemoPaper, ...]
    queries: dict[str, str]
    mailing: date
    page_size: int
    revised: str
    following: tuple[DemoPaper, ...]


def make_library() -> Library:
    """Return the made-up fortnight; every call returns the same."""
    draw = random.Random(_SEED)  # noqa: S311 - the same papers every time, and nothing secret
    writer = Writer(draw)
    numbers = iter(range(_FIRST_NUMBER, 100_000))
    earlier = [
        paper
        for day, count in _EARLIER.items()
        for paper in _announce(date(2026, 11, day), _fill_earlier(writer, day, count), numbers, draw)
    ]
    new = list(_announce(MAILING, _fill_mailing(writer), numbers, draw))
    changed = list(_change(earlier, writer, draw))
    states = sorted((*earlier, *new, *changed), key=lambda paper: (paper.announced, paper.order))
    revised = next(paper.id for paper in new if paper.title == TAIL_LATENCY.title)
    quiet = [writer.write() for _ in range(_FOLLOWING[1])]
    following = tuple(_announce(_FOLLOWING[0], quiet, numbers, draw))
    return Library(tuple(states), dict(QUERIES), MAILING, PAGE_SIZE, revised, following)


def _fill_earlier(writer: Writer, day: int, count: int) -> list[Manuscript]:
    return [_PLACED_BY_HAND.get((day, place)) or writer.write() for place in range(count)]


def _fill_mailing(writer: Writer) -> list[Manuscript]:
    """Spread what was written by hand over the mailing."""
    by_hand = (MU_PATH, ZERO, INEQUALITIES, STOPWATCH, SPARSE_ATTENTION, ARCHIPELAGOS)
    placed = {place * 16 + 5: manuscript for place, manuscript in enumerate(by_hand)}
    placed |= {_TAIL_PLACE: TAIL_LATENCY, _HELD_PLACE: HELD}
    return [placed.get(place) or writer.write() for place in range(NEW)]


def _announce(
    day: date, manuscripts: Sequence[Manuscript], numbers: Iterator[int], draw: random.Random
) -> Iterator[DemoPaper]:
    """Give each manuscript an id and a date of submission within the mailing's window, or before it where held."""
    opens, closes = open_window(day)
    span = (closes - opens).total_seconds()
    moments = sorted(opens + timedelta(seconds=round(span * draw.random())) for _ in manuscripts)
    for manuscript, moment in zip(manuscripts, moments, strict=True):
        submitted = _HELD_SINCE if manuscript is HELD else moment
        yield DemoPaper(
            id=f"{_MONTH}.{next(numbers):05d}",
            announced=mailing_moment(day),
            submitted=(submitted.astimezone(UTC),),
            submitter=manuscript.authors[-1].name,
            **manuscript._asdict(),
        )


def _change(earlier: Sequence[DemoPaper], writer: Writer, draw: random.Random) -> Iterator[DemoPaper]:
    """Replace, withdraw and cross-list known papers with the mailing; hand-written ones as their story says."""
    by_hand = {manuscript.title for manuscript in _PLACED_BY_HAND.values()}
    plain = [
        paper for paper in earlier if paper.title not in by_hand and paper.announced >= mailing_moment(_day(8))
    ]
    young = [paper for paper in plain if paper.announced >= mailing_moment(_day(_LATE))]
    old = [paper for paper in plain if paper.announced < mailing_moment(_day(_LATE))]
    count = CROSS_LISTED + REPLACED - 1
    chosen = [*draw.sample(young, _CHANGED_LATE), *draw.sample(old, count - _CHANGED_LATE)]
    for paper in chosen[:CROSS_LISTED]:
        yield replace(
            paper,
            categories=(*paper.categories, writer.pick_category(paper.categories)),
            announced=mailing_moment(MAILING),
        )
    for paper in chosen[CROSS_LISTED:]:
        yield _revise(paper, draw, comment=writer.write_revision())
    for paper in earlier:
        if paper.title == SCHEDULING.title:
            yield _revise(paper, draw, comment=SCHEDULING_ACCEPTED)
        if paper.title == SHORT_QUEUES.title:
            yield replace(_revise(paper, draw, comment=SHORT_QUEUES_WITHDRAWN), is_withdrawn=True)


def _revise(paper: DemoPaper, draw: random.Random, comment: str) -> DemoPaper:
    """Give a paper a second version, handed in after the first one was announced."""
    opens, closes = open_window(MAILING)
    opens = max(opens, paper.announced)
    handed_in = (opens + (closes - opens) * draw.random()).astimezone(UTC).replace(microsecond=0)
    submitted = (*paper.submitted, handed_in)
    return replace(paper, submitted=submitted, comment=comment, announced=mailing_moment(MAILING))


def _day(day: int) -> date:
    return date(2026, 11, day)
