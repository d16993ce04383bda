"""The feed of a saved query: what it begins with, and what becomes of its entries."""

from __future__ import annotations

from pathlib import Path

from digest.cli.feed_addresses import open_query_feed
from digest.messages import Feed
from digest.pipeline import Site, run_pass
from digest.pipeline.feeds import load_feed, load_query_feed
from digest.store import subscriptions as subscription_store
from tests.integration.web.world import PAPERS, live_in


def read_feed(site: Site, name: str = "perf") -> Feed:
    """Return a saved query's feed, opened where it was not yet."""
    with site.store.begin() as conn:
        place = open_query_feed(conn, site.config, name, site.clock.now())
        return load_query_feed(conn, site, place)


def list_papers(feed: Feed) -> set[str]:
    return {str(entry.entry.paper.id) for entry in feed.entries}


def test_it_begins_with_what_the_first_pass_found_though_no_run_told_of_it(tmp_path: Path) -> None:
    with live_in(tmp_path) as world:
        site = world.open()
        run_pass(site)
        feed = read_feed(site)
        with site.store.read() as conn:
            (due,) = subscription_store.load_subscriptions(conn)
            assert list_papers(feed) == list_papers(load_feed(conn, site, due)) == {paper.id for paper in PAPERS}
        assert feed.notice == ""
        assert read_feed(site) == feed
        site.close()
