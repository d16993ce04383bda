"""Verifying real papers' mailings against the stand-in's listings, with the faults arXiv's have shown.

Only where `DIGEST_REAL_DATA` names a folder of real papers.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from digest.clock import RemoteClock
from digest.config import load_config
from digest.errors import ArxivThrottled
from digest.pipeline import Site, open_site, poll
from digest.pipeline.verifying import Verification, verify
from digest.planning.slices import SLICES
from digest.planning.verifying import Comparison, SliceState
from tests.acceptance.worlds import StandIn

SEED = ["standin/seed_papers.jsonl"]
SUMMER = "data/papers_2016-08_09.jsonl.gz"
LAST_OF_SUMMER = "1608.03900"
"""Announced days after the mailings looked at: what comes behind it need not be loaded."""


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class World:
    """The stand-in, and an installation that looks at it."""

    def __init__(self, arxiv: StandIn, site: Site) -> None:
        self.arxiv, self.site = arxiv, site

    def look(self, *moments: str) -> None:
        for moment in moments:
            self.arxiv.set_now(utc(moment))
            assert poll(self.site, even_if_not_due=True).failures == []

    def verify_at(self, moment: str, day: date | None = None) -> tuple[Verification, Comparison]:
        self.arxiv.set_now(utc(moment))
        done = verify(self.site, day)
        assert done.comparison is not None
        return done, done.comparison

    def spoil(self, *faults: dict[str, object]) -> None:
        self.arxiv.control("faults", json.dumps(faults).encode(), method="POST")

    def asked_listings(self) -> int:
        log = self.arxiv.control("requests")
        assert isinstance(log, list)
        return sum("/rss/" in str(request) for request in log)


def find_real_data() -> Path:
    data = os.environ.get("DIGEST_REAL_DATA")
    if not data:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    return Path(data)


@contextmanager
def installed(folder: Path, papers: list[str], now: str) -> Iterator[World]:
    arxiv = StandIn(find_real_data(), papers, now)
    path = folder / "digest.toml"
    path.write_text(
        f'[arxiv]\ncontact = "ops@example.org"\napi_url = "{arxiv.url}/api/query"\n'
        f'oai_url = "{arxiv.url}/oai"\nrss_url = "{arxiv.url}/rss"\n'
    )
    clock = RemoteClock(arxiv.clock_url)
    site = open_site(load_config(path, {}), clock, owner="test", jitter=lambda: 0.5)
    try:
        yield World(arxiv, site)
        assert arxiv.violations == 0
    finally:
        site.close()
        arxiv.close()


@pytest.fixture
def seed(tmp_path: Path) -> Iterator[Callable[[str], World]]:
    """Fifteen papers of 2026, looked at from a moment on."""
    worlds = []

    def begin(now: str) -> World:
        manager = installed(tmp_path, SEED, now)
        worlds.append(manager)
        world = manager.__enter__()
        world.look(now)
        return world

    yield begin
    for manager in worlds:
        manager.__exit__(None, None, None)


@pytest.fixture(scope="module")
def summer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A fortnight of 2016, looked at on the evenings of Tue 9 and Wed 10 August."""
    folder = tmp_path_factory.mktemp("summer")
    papers = folder / "papers.jsonl"
    with gzip.open(find_real_data() / SUMMER, "rt", encoding="utf-8") as lines:
        papers.write_text("".join(line for line in lines if json.loads(line)["id"] <= LAST_OF_SUMMER))
    with installed(folder, [str(papers)], "2016-08-09T12:00:00Z") as world:
        world.look("2016-08-09T12:00:00", "2016-08-10T02:45:00", "2016-08-11T02:45:00")
        yield world


def states(found: Comparison) -> dict[str, SliceState]:
    return {one.slice.name: one.state for one in found.slices}


def test_the_five_papers_of_one_real_day_are_listed_and_stored(seed: Callable[[str], World]) -> None:
    world = seed("2026-03-01T12:40:00Z")
    world.look("2026-03-02T03:50:00")
    done, found = world.verify_at("2026-03-02T12:40:00")
    assert (done.mailing, done.asked, world.asked_listings()) == (date(2026, 3, 1), 7, 7)
    assert (found.new, found.missing, found.unlisted, found.behind) == (5, (), (), ())
    assert (done.is_verified, states(found)["cs 3 of 3"]) == (True, SliceState.READ)


def test_nothing_is_listed_on_a_saturday_and_one_request_tells(seed: Callable[[str], World]) -> None:
    world = seed("2026-03-05T12:40:00Z")
    world.look("2026-03-06T03:50:00")
    done, _ = world.verify_at("2026-03-07T12:40:00")
    assert (done.mailing, done.asked, done.is_verified) == (date(2026, 3, 5), 1, False)
    assert done.why_not.startswith("arXiv listed it on Fri 6 Mar only")


def test_a_listing_longer_than_arxiv_gives_out_proves_nothing(seed: Callable[[str], World]) -> None:
    world = seed("2026-03-02T20:00:00Z")
    many = [
        {
            "id": f"2603.{number:05d}",
            "title": f"Made-up paper {number}",
            "abstract": "We count.",
            "authors": ["Ada Sample"],
            "categories": ["math.PR"],
            "published": "2026-03-02T17:00:00Z",
            "announced": "2026-03-03T01:00:00Z",
        }
        for number in range(2, 2102)
    ]
    world.arxiv.control("papers", json.dumps(many).encode(), method="POST")
    world.look("2026-03-03T03:50:00")
    done, found = world.verify_at("2026-03-03T12:40:00")
    (cut,) = (one for one in found.slices if one.slice.name == "math")
    assert (cut.state, cut.lines) == (SliceState.CUT, 2_000)
    assert (found.new, found.missing, found.unlisted) == (2_000, (), ())
    assert not done.is_verified


def test_a_full_day_of_real_papers_is_all_there(summer: World) -> None:
    done, found = summer.verify_at("2016-08-11T13:00:00")
    assert [one.lines for one in found.slices] == [11, 43, 40, 77, 118, 114, 28]
    assert found.is_whole
    assert (found.missing, found.unlisted, found.behind, found.stale) == ((), (), (), ())
    assert found.new == 335
    assert done.is_verified


def test_a_lost_paper_is_the_one_that_is_named(summer: World) -> None:
    with summer.site.store.begin() as conn:
        query = "SELECT arxiv_id FROM papers WHERE mailing = '2016-08-10' ORDER BY arxiv_id LIMIT 1 OFFSET 100"
        lost = conn.exec_driver_sql(query).scalar_one()
        conn.exec_driver_sql("UPDATE papers SET arxiv_id = ? WHERE arxiv_id = ?", ("1609.99999", lost))
    done, found = summer.verify_at("2016-08-11T14:00:00", date(2016, 8, 10))
    assert [str(one.id) for one in found.missing] == [lost]
    assert ([str(id_) for id_ in found.unlisted], done.handed_over) == (["1609.99999"], 1)
    with summer.site.store.begin() as conn:
        conn.exec_driver_sql("UPDATE papers SET arxiv_id = ? WHERE arxiv_id = ?", (lost, "1609.99999"))


@pytest.fixture
def unread(summer: World) -> World:
    """The same as if nobody had read the listing yet."""
    with summer.site.store.begin() as conn:
        conn.exec_driver_sql("DELETE FROM listings")
        conn.exec_driver_sql("UPDATE gate SET breaker_until = 0, breaker_failures = 0")
    return summer


def test_a_category_that_shows_the_mailing_before_is_named(unread: World) -> None:
    unread.spoil({"kind": "stale_rss", "category": "math.AG", "times": len(SLICES)})
    done, found = unread.verify_at("2016-08-11T15:00:00")
    assert found.stale == ("math.AG",)
    assert (found.missing, found.unlisted) == ((), ())
    assert 250 < found.new < 335
    assert (done.is_verified, found.is_whole) == (True, False)


def test_a_pause_arxiv_asks_for_ends_it_and_what_was_read_counts(unread: World) -> None:
    unread.spoil({"kind": "503", "skip": 3, "path": "/rss/"})
    done, found = unread.verify_at("2016-08-11T16:00:00")
    assert [type(error) for error in done.errors] == [ArxivThrottled]
    assert [states(found)[one.name] for one in SLICES] == [SliceState.READ] * 3 + [SliceState.UNREAD] * 4
    assert [one.slice for one in done.failed] == [SLICES[3]]
    assert (found.missing, found.unlisted) == ((), ())


@pytest.mark.parametrize("kind", ["empty_page", "short_page"])
def test_a_listing_that_lacks_lines_loses_no_paper(unread: World, kind: str) -> None:
    unread.spoil({"kind": kind, "path": "/rss/math", "keep": 20})
    _, found = unread.verify_at("2016-08-11T17:00:00")
    assert found.missing == ()
    if kind == "empty_page":
        assert (states(found)["math"], found.unlisted) == (SliceState.EMPTY, ())
    else:
        assert len(found.unlisted) > 30
