"""Feeds as readers see them over days: what is shown once, what again, and what never."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from digest.serve.steps import run_pass
from digest.store import subscriptions as subscription_store
from digest.web import feeds
from tests.conftest import IS_NIGHTLY
from tests.integration.web.feed_readers import FeedReader, FreshRss, Miniflux, NetNewsWire
from tests.integration.web.world import EVENING, PAPERS, World, live_in, make_paper, served

for_the_night = pytest.mark.skipif(
    not IS_NIGHTLY, reason="days are lived through by night; planning is tested by day"
)

READERS = (Miniflux, FreshRss, NetNewsWire)
MONDAY = make_paper(16_001, "GPUs on Monday", datetime(2026, 11, 20, 15, 0, tzinfo=UTC))
TUESDAY = make_paper(16_002, "GPUs on Tuesday", datetime(2026, 11, 23, 15, 0, tzinfo=UTC))
DAY = timedelta(days=1)


class Life:
    """An installation over days, with a reader of each kind for its Atom and for its JSON feed."""

    def __init__(self, world: World, http: httpx.Client, path: str) -> None:
        self.world = world
        self.readers: list[FeedReader] = [
            reader(http, f"{path}.{suffix}") for reader in READERS for suffix in ("atom", "json")
        ]

    def pass_by(self, moment: datetime) -> None:
        self.world.clock.sleep((moment - self.world.clock.now()).total_seconds())
        site = self.world.open()
        run_pass(site, poll_anyway=True)
        site.close()

    def look(self) -> set[str]:
        """Let every reader look twice; return what is new to them, which must be the same for all, at once."""
        fresh = [tuple(sorted(reader.look())) for reader in self.readers]
        assert [reader.look() for reader in self.readers] == [[]] * len(self.readers)
        assert len(set(fresh)) == 1
        return set(fresh[0])


@pytest.fixture
def life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Life]:
    monkeypatch.setattr(feeds, "LOOK_AGAIN", 0.0)
    with live_in(tmp_path) as world:
        write(world, "cat:cs.PF")
        site = world.open()
        run_pass(site)
        path = f"/f/{world.links(site).feed_token('perf-team', 0)}"
        with served(site) as url, httpx.Client(base_url=url) as http:
            yield Life(world, http, path)
        site.close()


def write(world: World, query: str, kinds: str = '["new", "cross-list"]') -> None:
    world.write_config(to=("feed",))
    file = world.folder / "digest.toml"
    text = file.read_text().replace('perf = "cat:cs.PF"', f"perf = '{query}'")
    file.write_text(text.replace("[defaults]\n", f"[defaults]\nkinds = {kinds}\n"))


def test_three_days_show_each_paper_once_and_ask_for_nothing_twice(life: Life) -> None:
    assert life.look() == {paper.title for paper in PAPERS}
    for paper, day in ((MONDAY, 3), (TUESDAY, 4)):
        life.world.arxiv.add(paper)
        life.pass_by(EVENING + day * DAY)
        assert life.look() == {paper.title}
    assert all(reader.statuses == [200, 304] * 3 for reader in life.readers)
    for reader in life.readers:
        dates = [one.date for one in reader.shelf.values()]
        assert len(set(dates)) == len(dates)
        assert all(one.link.startswith("https://arxiv.org/abs/2611.") for one in reader.shelf.values())
        assert all("Ada Example" in one.authors and one.content for one in reader.shelf.values())


@for_the_night
@pytest.mark.parametrize("query", ['cat:cs.PF AND abs:"and report"', "ti:GPUs OR ti:queues", "cat:cs.DC"])
def test_an_edited_query_shows_nothing_again(life: Life, query: str) -> None:
    life.look()
    before = {reader.path: dict(reader.shelf) for reader in life.readers}
    write(life.world, query)
    life.pass_by(EVENING + timedelta(hours=3))
    assert life.look() == set()
    assert before == {reader.path: reader.shelf for reader in life.readers}
    life.world.arxiv.add(MONDAY)
    life.pass_by(EVENING + 3 * DAY)
    assert life.look() == {MONDAY.title}


@for_the_night
def test_a_replacement_nobody_asked_for_leaves_the_feed_as_it_is(life: Life) -> None:
    life.look()
    life.world.arxiv.replace(PAPERS[0].id, submitted=EVENING + timedelta(hours=12), title="Another title")
    life.pass_by(EVENING + 3 * DAY)
    assert life.look() == set()
    assert all(reader.statuses[-2:] == [304, 304] for reader in life.readers)


@for_the_night
def test_a_replacement_that_was_asked_for_is_the_same_entry_with_another_text(life: Life) -> None:
    write(life.world, "cat:cs.PF", '["new", "replacement"]')
    life.pass_by(EVENING + timedelta(hours=2))
    life.look()
    keys = {reader.path: set(reader.shelf) for reader in life.readers}
    life.world.arxiv.replace(PAPERS[0].id, submitted=EVENING + timedelta(hours=12), title="Another title")
    life.pass_by(EVENING + 3 * DAY)
    # FreshRSS was told to show again what changed; the others keep it read, with its new text.
    fresh = {type(reader): reader.look() for reader in life.readers}
    assert fresh == {Miniflux: [], FreshRss: ["Another title"], NetNewsWire: []}
    assert keys == {reader.path: set(reader.shelf) for reader in life.readers}
    assert all("Another title" in {one.title for one in reader.shelf.values()} for reader in life.readers)


def test_a_revoked_feed_is_gone_and_readers_keep_what_they_have(life: Life) -> None:
    life.look()
    site = life.world.open()
    with site.store.begin() as conn:
        (due,) = subscription_store.load_subscriptions(conn, names=["perf-team"])
        subscription_store.revoke_feed(conn, due.id, life.world.clock.now())
    life.look()
    assert all(reader.trouble == "410" for reader in life.readers)
    assert all(len(reader.shelf) == len(PAPERS) for reader in life.readers)
    site.close()


@for_the_night
def test_the_first_look_at_a_feed_of_nothing_shows_what_it_waits_for(life: Life) -> None:
    write(life.world, "ti:nothing")
    (life.world.folder / "digest.db").unlink()
    site = life.world.open()
    run_pass(site)
    path = f"/f/{life.world.links(site).feed_token('perf-team', 0)}.json"
    with served(site) as url, httpx.Client(base_url=url) as http:
        reader = Miniflux(http, path)
        assert reader.look() == ["About this feed"]
        assert (
            "Nothing has matched perf-team yet" in json.loads(http.get(path).content)["items"][0]["content_html"]
        )
    site.close()


@for_the_night
def test_netnewswire_asks_without_conditions_after_eight_days_and_shows_nothing_again(life: Life) -> None:
    reader = NetNewsWire(life.readers[0].http, life.readers[0].path)
    now = EVENING
    shown = [len(reader.look_at(now + number * DAY)) for number in range(11)]
    assert shown == [len(PAPERS), *[0] * 10]
    assert reader.statuses == [200, *[304] * 8, 200, 304]
