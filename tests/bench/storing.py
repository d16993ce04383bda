"""How much longer a batch of papers takes to store where ten times as many are stored already."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from time import perf_counter
from typing import TYPE_CHECKING, Final

from sqlalchemy import Text, cast, func, select, update

from digest.compare import content_hash
from digest.model.announcements import Change, Kind
from digest.model.papers import ArxivId
from digest.store import papers as paper_store
from digest.store.papers import STORED
from digest.store.schema import changes, marks, papers, versions
from tests.bench.bulk import fill, numbers, settle
from tests.bench.installations import EVENING
from tests.bench.papers import load_day

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from digest.store import Store

A_MONTH: Final = 60_000
"""Papers made up for each month from April 2007 on."""

_ABSTRACT = "Nothing in particular is said here, at the length at which abstracts say something. " * 14
_ROUNDS = 7


def measure_growth(store: Store, rows: int) -> tuple[float, float]:
    """Return seconds that a day's papers take to store among so many, and among ten times as many.

    Half of them are new, half are new versions of papers from all over what is stored. The best of several
    rounds counts, each with papers of its own and in a transaction of its own.
    """
    taken = []
    for stage, more in enumerate((rows, 9 * rows)):
        _fill(store, more)
        settle(store)
        taken.append(min(_store_day(store, rows * 10**stage, stage, round_) for round_ in range(_ROUNDS)))
    return taken[0], taken[1]


def _store_day(store: Store, stored: int, stage: int, round_: int) -> float:
    day = load_day()[1]
    half = len(day) // 2
    first = round_ * half + 1
    news = [replace(paper, id=ArxivId(204_001 + stage, first + n)) for n, paper in enumerate(day[:half])]
    step = stored // half
    places = [n * step + stage * _ROUNDS + round_ for n in range(half)]
    again = [replace(paper, id=_name(place), version=2) for place, paper in zip(places, day[half:], strict=False)]
    begun = perf_counter()
    with store.begin() as conn:
        known = paper_store.load_known(conn, [paper.id for paper in (*news, *again)])
        found = [Change(Kind.NEW, paper) for paper in news]
        # A few places are those of papers that were stored to be measured before.
        revised = [paper for paper in again if paper.id in known]
        found += [Change(Kind.REPLACEMENT, paper, known[paper.id], ("title",)) for paper in revised]
        paper_store.save_changes(conn, found, content_hash, run_id=1, at=EVENING)
    return perf_counter() - begun


def _name(place: int) -> ArxivId:
    months, number = divmod(place, A_MONTH)
    years, month = divmod(months + 3, 12)
    return ArxivId((2007 + years) * 100 + month + 1, number + 1)


def _fill(store: Store, more: int) -> None:
    """Write papers with one version and one change each, as if harvests long ago had brought them."""
    with store.read() as conn:
        newest = [
            conn.execute(select(func.max(table.c.id))).scalar() or 0 for table in (papers, versions, changes)
        ]
    stored = max(newest)
    n = numbers(more, stored + 1)
    place = n - 1
    months = place // A_MONTH + 3
    year, month, number = 7 + months // 12, months % 12 + 1, place % A_MONTH + 1
    name = _pad(year, 2) + _pad(month, 2) + "." + _pad(number, 5)
    row = {"month": (2000 + year) * 100 + month, "number": number, "archive": ""}
    latest = {"latest_version_id": n}
    when = {"datestamp": EVENING.date(), "mailing": EVENING.date() - timedelta(days=400)}
    fill(store, papers, n, {"id": n, "arxiv_id": name, **row, **latest, **when})
    kept = {"id": n, "paper_id": n, "version": 1, "content_hash": "made-up-" + cast(n, Text)}
    texts = {"title": "A title of the usual length, number " + cast(n, Text), "abstract": _ABSTRACT}
    lists = {"authors": [["Ada Example"]], "dois": [], "history": []}
    dates = {"published": EVENING, "updated": EVENING, "is_withdrawn": False}
    fill(store, versions, n, {**kept, **texts, "categories": "cs.PF cs.DC", **lists, **dates})
    change = {"id": n, "paper_id": n, "version_id": n, "kind": str(Kind.NEW), "run_id": 1}
    fill(store, changes, n, {**change, "found_at": EVENING})
    with store.begin() as conn:
        conn.execute(update(marks).where(marks.c.name == STORED).values(value=stored + more))
        if store.dialect == "postgresql":
            for table in (papers, versions):
                conn.execute(select(func.setval(f"{table.name}_id_seq", stored + more)))


def _pad(number: ColumnElement[int], digits: int) -> ColumnElement[str]:
    return func.substr(cast(number + 10**digits, Text), 2, digits, type_=Text)
