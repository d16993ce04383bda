"""The feed of a saved query: what it begins with, and what becomes of its entries."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from digest.cli.feed import open_query_feed
from digest.deliver.feeds import load_feed, load_query_feed
from digest.model.announcements import Kind
from digest.model.messages import Feed
from digest.poll.installation import Site
from digest.serve.steps import run_pass
from digest.store import subscriptions as subscription_store
from tests.integration.web.world import LATER, PAPERS, SUNDAY, live_in, make_paper


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


def test_no_setting_dates_its_entries_anew_nor_puts_any_there(tmp_path: Path) -> None:
    with live_in(tmp_path) as world:
        site = world.open()
        run_pass(site)
        read_feed(site)
        for paper in (PAPERS[0], PAPERS[2]):
            at = LATER.submitted[0] + timedelta(minutes=PAPERS.index(paper) - 1)
            world.arxiv.replace(paper.id, submitted=at, title="Another title")
        world.arxiv.add(LATER, make_paper(15_901, "One more", LATER.submitted[0] + timedelta(minutes=1)))
        world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())
        run_pass(site)
        before = read_feed(site)
        assert list_papers(before) == {LATER.id, "2611.15901", *(paper.id for paper in PAPERS)}
        told = {str(entry.entry.paper.id): entry.updated for entry in before.entries}
        assert sorted(told.values())[-2] == max(told.values()) - timedelta(seconds=1)
        for kinds in ((Kind.NEW, Kind.REPLACEMENT), (Kind.CROSS_LIST, Kind.WITHDRAWAL)):
            defaults = replace(site.config.defaults, kinds=kinds)
            site.config = replace(site.config, defaults=defaults)
            assert read_feed(site) == before
        site.close()
