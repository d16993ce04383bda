"""The archive of a subscription: page by page, and searched."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from digest.config import load_config
from digest.inspect import archive
from digest.inspect.archive import PAGE, list_past, search_past
from digest.model.messages import Occasion
from digest.model.papers import Author, Paper
from digest.plan.links import LinkMaker
from digest.query import matches, parse_query
from digest.render.contexts import PastView
from digest.store import Store
from tests.contract.store.made import (
    DAY,
    MORNING,
    make_digest,
    make_paper,
    make_subscription,
    save_digest,
    store_match,
    store_papers,
    subscribe,
)

_FIRST = date(2026, 9, 1)
MAKER = LinkMaker(load_config(None, {}), "secret")


def keep(
    store: Store,
    day: int,
    *papers: Paper,
    name: str = "team",
    occasion: Any = Occasion.SCHEDULED,  # noqa: ANN401 - an Occasion
) -> int:
    """Store the digest of a day, with papers or without; return its number."""
    ids = subscribe(store, make_subscription("team"), make_subscription("other"))
    changes = store_papers(store, papers)
    key = ids[name]
    runs = []
    if changes:
        change_ids = tuple(change.id for change in changes)
        runs.append(store_match(store, {key: change_ids}))
    announcement = _FIRST + timedelta(days=day)
    planned_at = MORNING + (day - 80) * DAY
    digest = make_digest(changes, slot=announcement.isoformat(), subscription=name)
    coverage = replace(digest.coverage, announcement=announcement)
    digest = replace(digest, occasion=occasion, coverage=coverage, planned_at=planned_at)
    with store.begin() as conn:
        digest_id = save_digest(conn, key, digest, (), consumed=runs, at=planned_at)
    assert digest_id
    return digest_id


def search(store: Store, text: str, before: int = 0) -> tuple[list[PastView], int]:
    query = parse_query(text)
    with store.read() as conn:
        return search_past(conn, MAKER, "team", query, before)


def test_digests_are_listed_newest_first_in_pages_quiet_days_among_them_and_no_letters(
    store: Store,
) -> None:
    keep(store, 0, make_paper(1), make_paper(2), make_paper(3), make_paper(4))
    for day in range(1, PAGE):
        keep(store, day)
    with store.read() as conn:
        _, go_on = list_past(conn, MAKER, "team")
    assert go_on == 0, "all are on one page"
    keep(store, PAGE)
    keep(store, 5, make_paper(9), name="other")
    keep(store, 70, occasion=Occasion.LETTER)
    with store.read() as conn:
        newest, go_on = list_past(conn, MAKER, "team")
        oldest, end = list_past(conn, MAKER, "team", go_on)
    assert len(newest) == PAGE
    assert end == 0
    (first,) = oldest
    last = newest[0]
    token = MAKER.web_token("team", "2026-10-21")
    assert last.digest.day == "Wed 21 Oct"
    assert last.papers == ()
    assert last.digest.headline == "No new papers"
    assert last.url == f"../d/{token}"
    assert newest[-1].digest.day == "Wed 2 Sep"
    assert first.digest.day == "Tue 1 Sep"
    assert [paper.number for paper in first.papers] == [1, 2, 3]
    assert first.left_out == 1
    assert first.month == "September 2026"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("caches", 3),
        ("ti:queue", 1),
        ("au:Müller", 2),
        ("au:mueller", 2),
        ("erdos", 1),
        ("cat:math.NA ANDNOT ti:tail", 1),
        ("id:2611.00002", 1),
        ("submittedDate:[20261116 TO 20261117]", 3),
        ("ti:nothing", 0),
    ],
)
def test_a_search_finds_what_the_query_means_and_where_it_stood(
    store: Store, text: str, count: int
) -> None:
    first = make_paper(1, title="Tail latency")
    second = make_paper(2, title="Queues", categories=("cs.NA",))
    erdos = Author(r"Paul Erd\H{o}s")
    later = make_paper(1, version=2, title="Tail latency", authors=(erdos,), dois=())
    keep(store, 1, first, second)
    keep(store, 2)
    keep(store, 3, make_paper(4), name="other")
    keep(store, 4, later)
    past, go_on = search(store, text)
    stood = {("Sat 5 Sep", 1): later, ("Wed 2 Sep", 1): first, ("Wed 2 Sep", 2): second}
    query = parse_query(text)
    meant = [place for place, paper in stood.items() if matches(query, paper)]
    found = []
    for one in past:
        found += [(one.digest.day, paper.number) for paper in one.papers]
    assert found == meant
    assert len(found) == count
    assert go_on == 0


def test_a_search_says_why_it_found_a_paper_and_not_why_it_was_sent(store: Store) -> None:
    keep(store, 1, make_paper(1))
    ((one,), _) = search(store, "caches")
    assert [paper.write_mentions() for paper in one.papers] == ["mentions caches"]


def test_a_search_ends_behind_a_digest_and_goes_on_from_there(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(5):
        papers = [make_paper(10 * day + number) for number in (1, 2, 3)]
        keep(store, day, *papers)
    monkeypatch.setattr(archive, "MOST_FOUND", 7)
    past, go_on = search(store, "caches")
    assert [len(one.papers) for one in past] == [3, 3]
    past, go_on = search(store, "caches", go_on)
    assert [one.digest.day for one in past] == ["Thu 3 Sep", "Wed 2 Sep"]
    assert [len(one.papers) for one in past] == [3, 3]
    past, go_on = search(store, "caches", go_on)
    assert len(past) == 1
    assert go_on == 0
    monkeypatch.setattr(archive, "MOST_FOUND", 2)
    ((one,), _) = search(store, "caches")
    assert len(one.papers) == 2
    assert one.left_out == 1
    monkeypatch.setattr(archive, "MOST_READ", 2)
    past, go_on = search(store, "submittedDate:[2030 TO 2031]")
    assert past == []
    assert go_on
