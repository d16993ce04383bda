"""A year of made-up papers: which saved query takes which is known from how they were made."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from digest.model.announcements import has_mailing, mailing_moment
from digest.model.papers import Author
from tests.fakes.archive import DemoPaper

_WORDS = ("tail", "latency", "join", "cache", "proof", "graph", "sampling", "queue", "index", "stream")
_CATEGORIES = ("cs.PF", "cs.DB", "cs.DC", "math.CO", "stat.ML")
_GIVEN, _FAMILY = ("Nomi", "Ravel", "Tove", "Ezra"), ("Quill", "Okonjo", "Lindquell", "Sarto")
_SHARE_REPLACED = 0.12
_DEFERRED = 4
"""Evenings of the year on which nothing comes out though the calendar says so."""


@dataclass(frozen=True)
class MadeUp:
    """A paper as the oracle knows it: its id, and the saved queries that take it."""

    id: str
    queries: frozenset[str]


QUERIES: dict[str, tuple[str, Callable[[DemoPaper], bool]]] = {
    "pf": ("cat:cs.PF", lambda paper: "cs.PF" in paper.categories),
    "db": ("cat:cs.DB", lambda paper: "cs.DB" in paper.categories),
    "combinatorics": ("cat:math.CO", lambda paper: "math.CO" in paper.categories),
    "cache": ("abs:cache", lambda paper: "cache" in paper.abstract),
    "pf-cache": (
        "cat:cs.PF AND abs:cache",
        lambda paper: "cs.PF" in paper.categories and "cache" in paper.abstract,
    ),
    "db-no-join": (
        "cat:cs.DB ANDNOT abs:join",
        lambda paper: "cs.DB" in paper.categories and "join" not in paper.abstract,
    ),
    "lindquell": ("au:Lindquell", lambda paper: any("Lindquell" in author.name for author in paper.authors)),
    "either": (
        "cat:stat.ML OR abs:queue",
        lambda paper: "stat.ML" in paper.categories or "queue" in paper.abstract,
    ),
}
"""The saved queries: as written for the product, and as the oracle understands them."""


def make_year(first: date, last: date, *, a_mailing: int, rng: random.Random) -> Iterator[DemoPaper]:
    """Yield every state of every paper that comes out in the mailings between two Eastern dates.

    Args:
        first: the first mailing.
        last: the last one.
        a_mailing: how many papers each brings on average.
        rng: where chance comes from.
    """
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    evenings = [day for day in days if has_mailing(day)]
    deferred = set(rng.sample(evenings[5:-10], min(_DEFERRED, max(len(evenings) - 15, 0))))
    numbers: dict[int, int] = {}
    for evening in evenings:
        out = next(day for day in evenings if day >= evening and day not in deferred)
        for _ in range(rng.randint(max(a_mailing - 5, 1), a_mailing + 5)):
            submitted = mailing_moment(evening) - timedelta(hours=rng.uniform(7, 20))
            month = submitted.year % 100 * 100 + submitted.month
            numbers[month] = numbers.get(month, 0) + 1
            paper = _make_paper(f"{month:04d}.{numbers[month]:05d}", submitted, mailing_moment(out), rng)
            yield paper
            if rng.random() < _SHARE_REPLACED:
                yield from _replace(paper, [day for day in evenings if day > out and day not in deferred], rng)


def judge(paper: DemoPaper) -> MadeUp:
    """Return which saved queries take a paper."""
    return MadeUp(paper.id, frozenset(name for name, (_, takes) in QUERIES.items() if takes(paper)))


def _make_paper(id_: str, submitted: datetime, announced: datetime, rng: random.Random) -> DemoPaper:
    words = rng.sample(_WORDS, 4)
    categories = tuple(rng.sample(_CATEGORIES, rng.randint(1, 2)))
    return DemoPaper(
        id=id_,
        announced=announced,
        submitted=(submitted,),
        title=f"On {words[0]} and {words[1]}, {id_}",
        abstract=f"We look at {' and '.join(words)} once more.",
        authors=(Author(f"{rng.choice(_GIVEN)} {rng.choice(_FAMILY)}"), Author("Bo Sample")),
        categories=categories,
    )


def _replace(paper: DemoPaper, evenings: list[date], rng: random.Random) -> Iterator[DemoPaper]:
    """Yield a second version that comes out some days later, with the same words."""
    if not evenings:
        return
    out = evenings[min(rng.randint(0, 12), len(evenings) - 1)]
    again = mailing_moment(out) - timedelta(hours=8)
    yield DemoPaper(
        id=paper.id,
        announced=mailing_moment(out),
        submitted=(*paper.submitted, again),
        title=paper.title,
        abstract=paper.abstract,
        authors=paper.authors,
        categories=paper.categories,
        comment="v2: a typing mistake less",
    )
