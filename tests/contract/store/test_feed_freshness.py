"""No feed is handed out as it was before a match run that was committed.

On either database, from any cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Connection

from digest.config import load_config
from digest.model.clock import ManualClock, SystemClock, monotonic
from digest.plan.links import LinkMaker, make_links
from digest.serve.installation import open_site
from digest.site import Site
from digest.store import Store, queries, subscriptions
from digest.store.queries import SubscriptionFeed
from digest.web import feeds
from digest.web.feeds import FeedCache, FeedCopy
from tests.contract.store.made import (
    FEED,
    NOW,
    make_paper,
    make_subscription,
    store_match,
    store_papers,
    subscribe,
)

COMMITS = 7


@pytest.fixture
def site(store: Store, tmp_path: Path) -> Iterator[Site]:
    """An installation on the store; what it has of its own is replaced by that."""
    file = tmp_path / "digest.toml"
    file.write_text(
        '[arxiv]\ncontact = "ops@example.org"\n[web]\nbase_url = "https://digest.example.org"\n'
        f'[store]\nurl = "sqlite:///{tmp_path}/other.db"\n'
    )
    site = open_site(load_config(file, {}), ManualClock(NOW), owner="test", jitter=lambda: 0.5)
    with closing(site), closing(site.store):
        site.store = store
        yield site


def tell(site: Site, key: int, number: int) -> str:
    """Store a paper and its match, as a pass does; return the paper's id."""
    (change,) = store_papers(site.store, [make_paper(number)])
    store_match(site.store, {key: (change.id,)}, at=NOW)
    return str(change.paper.id)


def read(copy: object) -> str:
    assert isinstance(copy, FeedCopy)
    return copy.body.decode()


def find_token(site: Site, generation: int = 0) -> str:
    with site.store.read() as conn:
        maker: LinkMaker = make_links(conn, site.config)
    return maker.feed_token("team", generation)


async def ask(cache: FeedCache, token: str) -> object:
    return await cache.find(token, "atom")


def test_what_is_committed_is_in_every_desks_answers_a_moment_later(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "FRESH", 0.1)
    key = subscribe(site.store, make_subscription(destinations=(FEED,)))["team"]
    caches = [FeedCache(site), FeedCache(site)]
    token = find_token(site)
    for number in range(1, COMMITS):
        paper = tell(site, key, number)
        SystemClock().sleep(feeds.FRESH)
        copies = [asyncio.run(ask(cache, token)) for cache in caches]
        assert all(paper in read(copy) for copy in copies)
        again = [asyncio.run(ask(cache, token)) for cache in caches]
        assert all(one is other for one, other in zip(copies, again, strict=True))  # from memory


def test_an_address_that_was_just_handed_out_works_at_once_at_every_desk(site: Site) -> None:
    key = subscribe(site.store, make_subscription(destinations=(FEED,)))["team"]
    tell(site, key, 1)
    caches = [FeedCache(site), FeedCache(site)]
    for cache in caches:
        assert isinstance(asyncio.run(ask(cache, find_token(site))), FeedCopy)
        assert asyncio.run(ask(cache, "unknown")) is HTTPStatus.NOT_FOUND
    with site.store.begin() as conn:
        generation = subscriptions.bump_feed_generation(conn, key)
    assert all(
        isinstance(asyncio.run(ask(cache, find_token(site, generation))), FeedCopy)
        for cache in caches
    )


def test_however_many_guess_the_table_is_read_a_few_times_a_second(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = subscribe(site.store, make_subscription(destinations=(FEED,)))["team"]
    cache = FeedCache(site)
    readings = list[float]()
    load = queries.load_subscription_feeds

    def count(conn: Connection) -> list[SubscriptionFeed]:
        readings.append(monotonic())
        return load(conn)

    monkeypatch.setattr("digest.store.queries.load_subscription_feeds", count)

    async def guess() -> None:
        for number in range(1, 4):
            tell(site, key, number)  # an unchanged database need not be read again
            found = await asyncio.gather(*(ask(cache, f"guess{one}") for one in range(100)))
            assert set(found) == {HTTPStatus.NOT_FOUND}

    asyncio.run(guess())
    assert len(readings) > 1
    assert all(later - earlier > 0.2 for earlier, later in pairwise(readings))
