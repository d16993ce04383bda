"""The witness and verifying over HTTP: a made-up arXiv held against listings that lie as arXiv's have lied."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from digest.announcements import EASTERN, mailing_moment
from digest.clock import ManualClock
from digest.config import load_config
from digest.demo import rss
from digest.demo.archive import DemoPaper
from digest.demo.arxiv import DemoArxiv
from digest.demo.loopback import Answer, LoopbackServer, Request
from digest.errors import ArxivRejected
from digest.papers import Author
from digest.pipeline import PollReport, Site, open_site, poll
from digest.pipeline.verifying import Verification, verify
from digest.pipeline.witnessing import witness
from digest.planning.polls import REQUESTS_A_DAY, Source
from digest.planning.slices import SLICES
from digest.planning.verifying import CUT_FROM, SliceState
from digest.store import listings, overview, pages, runs

TUE, WED, THU = (date(2026, 11, day) for day in (17, 18, 19))
CATEGORIES = ("cs.LG", "cs.AI", "cs.PF", "hep-th", "quant-ph", "math.PR", "stat.ML")
"""One of each slice."""


def eastern(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=EASTERN).astimezone(UTC)


def made_up(number: int, of: date, *, category: str = "") -> DemoPaper:
    """Make up a paper of a mailing, of each category in turn."""
    return DemoPaper(
        id=f"2611.{number:05d}",
        announced=mailing_moment(of),
        submitted=(mailing_moment(of) - timedelta(hours=8),),
        title=f"Made-up paper {number}",
        abstract="We measure tail latency.",
        authors=(Author("Ada Sample"),),
        categories=(category or CATEGORIES[number % len(CATEGORIES)],),
    )


BEFORE = [made_up(number, TUE) for number in range(100, 121)]
OLDER = [made_up(number, WED) for number in range(121, 149)]
NEWEST = [made_up(number, THU) for number in range(149, 184)]


@dataclass
class Listings:
    """Answers for rss.arxiv.org: what `news` says, whatever the date."""

    clock: ManualClock
    news: Callable[[str], list[DemoPaper]] = lambda _: list(NEWEST)
    asked: list[str] = field(default_factory=list)
    refuse: set[str] = field(default_factory=set)
    status: int = 503

    def answer(self, request: Request) -> Answer:
        subjects = request.path.removeprefix("/")
        self.asked.append(subjects)
        if subjects in self.refuse:
            return Answer(b"Not now", self.status)
        body = rss.write_rss(subjects, [(paper, None) for paper in self.news(subjects)], self.clock.now())
        return Answer(body, media_type=rss.MEDIA_TYPE)


@dataclass
class World:
    """An installation that harvested Tuesday's mailing first, and a listing that can be told what to show."""

    site: Site
    clock: ManualClock
    arxiv: DemoArxiv
    rss: Listings

    def look(self, *moments: datetime) -> PollReport:
        """Look at arXiv at each of these moments, as a pass does, with the witness behind it."""
        report = PollReport()
        for moment in moments:
            self.clock.set(moment)
            report = poll(self.site, even_if_not_due=True)
            assert report.failures == []
            witness(self.site, report)
            assert report.failures == []
        return report

    def verify_at(self, moment: datetime, day: date | None = None) -> Verification:
        self.clock.set(moment)
        return verify(self.site, day)

    def ledger(self) -> list[tuple[str, str, str]]:
        with self.site.store.read() as conn:
            return [
                (run.query_key, str(run.outcome), run.failure)
                for run in reversed(runs.last_runs(conn, Source.LISTING, 100))
            ]


EVENING = (eastern(19, 22, 45), eastern(19, 23, 20))
"""Looks that see Thursday's mailing, and that it has come to its end."""


@pytest.fixture
def open_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    clock = ManualClock(eastern(17, 23))
    listed = Listings(clock)
    sites: list[Site] = []
    with DemoArxiv([*BEFORE, *OLDER, *NEWEST], clock) as arxiv, LoopbackServer(listed.answer) as server:

        def make(*, is_witness: bool = True) -> World:
            path = tmp_path / "digest.toml"
            path.write_text(
                f'[arxiv]\ncontact = "ops@example.org"\nwitness = {str(is_witness).lower()}\n'
                f'api_url = "{arxiv.api_url}"\noai_url = "{arxiv.oai_url}"\nrss_url = "{server.url}"\n'
            )
            sites.append(open_site(load_config(path, {}), clock, owner="test", jitter=lambda: 0.5))
            world = World(sites[-1], clock, arxiv, listed)
            world.look(eastern(17, 23), eastern(18, 22, 45), *EVENING)
            assert listed.asked == []
            return world

        yield make
        for site in sites:
            site.close()


@pytest.fixture
def world(open_world: Callable[..., World]) -> World:
    return open_world()


def states(done: Verification) -> dict[str, SliceState]:
    assert done.comparison is not None
    return {one.slice.name: one.state for one in done.comparison.slices}


def test_a_witness_reads_three_slices_a_run_each_once_and_keeps_them(world: World) -> None:
    counts = []
    for moment in (eastern(20, 0, 30), eastern(20, 3, 30), eastern(20, 9), eastern(20, 15)):
        before = len(world.rss.asked)
        report = world.look(moment)
        assert report.requests == 1 + len(world.rss.asked) - before
        counts.append(len(world.rss.asked))
    assert counts == [3, 6, 7, 7]
    assert world.rss.asked == [one.key for one in SLICES]
    assert world.ledger() == [(one.key, "complete", "") for one in SLICES]
    with world.site.store.read() as conn:
        kept = listings.load_listings(conn, THU)
        assert [one.listing.slice for one in kept] == list(SLICES)
        run = runs.last_runs(conn, Source.LISTING, 1)[0]
        assert b"<rss" in pages.load_pages(conn, run.id)[0]
        assert (run.papers, run.pages, run.new, run.requests, run.mailing) == (5, 1, 0, 1, THU)
        assert overview.count_requests(conn, eastern(20, 0)) == 7 + 4
    done = world.verify_at(eastern(20, 16))
    assert (done.asked, len(world.rss.asked)) == (0, 7)
    assert done.comparison is not None
    assert (done.comparison.new, done.comparison.missing, done.comparison.unlisted) == (35, (), ())
    assert done.comparison.is_whole


def test_nothing_is_read_where_nobody_asked_for_a_witness(open_world: Callable[..., World]) -> None:
    world = open_world(is_witness=False)
    world.look(eastern(20, 0, 30), eastern(20, 3, 30))
    assert world.rss.asked == []


def test_nothing_is_read_before_midnight_nor_on_a_day_without_a_listing(world: World) -> None:
    world.look(eastern(19, 23, 59), eastern(21, 0, 30), eastern(21, 9), eastern(22, 9), eastern(22, 23))
    assert world.rss.asked == []


def test_nothing_is_read_before_the_mailing_is_complete(world: World) -> None:
    world.arxiv.add(*(made_up(number, date(2026, 11, 22)) for number in range(184, 219)))
    world.look(eastern(23, 0, 30))
    assert world.rss.asked == []
    world.look(eastern(23, 3, 30))
    assert len(world.rss.asked) == 3


def test_nothing_is_read_where_the_days_requests_are_used_up(world: World) -> None:
    world.clock.set(eastern(20, 0, 30))
    with world.site.store.begin() as conn:
        used = overview.count_requests(conn, world.clock.now() - timedelta(hours=24))
        for _ in range(REQUESTS_A_DAY - used - 2):
            conn.exec_driver_sql(
                "INSERT INTO requests (at, method, url, milliseconds, size, sha256, outcome, detail)"
                " VALUES ('2026-11-20 05:00:00.000000', 'GET', '', 0, 0, '', 'ok', '')"
            )
    world.look(eastern(20, 0, 30))
    assert len(world.rss.asked) == 1


def test_a_look_that_failed_or_was_not_due_is_followed_by_no_listing(world: World) -> None:
    world.clock.set(eastern(20, 0, 30))
    witness(world.site, PollReport())
    witness(world.site, PollReport(was_due=True, is_cut_short=True))
    assert world.rss.asked == []


def test_a_witness_that_fails_makes_no_pass_fail_and_is_told_by_verify(world: World) -> None:
    world.rss.refuse = {SLICES[1].key}
    world.look(eastern(20, 0, 30))
    assert [(key, outcome) for key, outcome, _ in world.ledger()] == [
        (SLICES[0].key, "complete"),
        (SLICES[1].key, "failed"),
    ]
    done = world.verify_at(eastern(23, 12), THU)
    assert [one.slice for one in done.failed] == [SLICES[1]]
    assert (done.failed[0].at.astimezone(EASTERN).hour, "503" in done.failed[0].failure) == (0, True)
    assert (states(done)["cs 1 of 3"], states(done)["cs 2 of 3"]) == (SliceState.READ, SliceState.UNREAD)
    assert (done.is_verified, done.errors, done.asked) == (True, (), 0)


def test_a_listing_of_the_mailing_before_under_todays_date_is_known_by_its_ids(world: World) -> None:
    world.rss.news = lambda _: OLDER
    done = world.verify_at(eastern(20, 9))
    assert done.comparison is not None
    assert set(states(done).values()) == {SliceState.OTHER}
    assert {one.mailing for one in done.comparison.slices} == {WED}
    assert (done.comparison.unlisted, done.comparison.is_proof, done.is_verified) == ((), False, False)
    yesterday = world.verify_at(eastern(20, 10), WED)
    assert (states(yesterday)["math"], yesterday.is_verified) == (SliceState.READ, True)
    world.rss.news = lambda _: NEWEST
    assert world.verify_at(eastern(20, 11)).is_verified
    assert len(world.rss.asked) == 2 * len(SLICES)


def test_a_stale_slice_is_read_again_by_the_witness_until_it_shows_the_mailing(world: World) -> None:
    world.rss.news = lambda subjects: OLDER if subjects == SLICES[0].key else NEWEST
    world.look(eastern(20, 0, 30), eastern(20, 3, 30), eastern(20, 9))
    assert world.rss.asked.count(SLICES[0].key) == 3
    world.rss.news = lambda _: NEWEST
    world.look(eastern(20, 15))
    assert world.verify_at(eastern(20, 16)).comparison == world.verify_at(eastern(21, 9), THU).comparison
    assert set(states(world.verify_at(eastern(21, 9), THU)).values()) == {SliceState.READ}


def test_a_category_left_behind_is_named_and_its_papers_are_not_counted_as_unlisted(world: World) -> None:
    late = [made_up(number, WED, category="cs.OS") for number in (301, 302)]
    fresh = [made_up(number, THU, category="cs.OS") for number in (311, 312)]
    store = world.site.store
    for mailing, papers in ((WED, late), (THU, fresh)):
        world.arxiv.add(*papers)
        world.look(eastern(20, 1, 5) if mailing == WED else eastern(20, 1, 50))
        with store.begin() as conn:
            names = ", ".join(f"'{paper.id}'" for paper in papers)
            conn.exec_driver_sql(f"UPDATE papers SET mailing = '{mailing}' WHERE arxiv_id IN ({names})")
    world.rss.news = lambda _: [*NEWEST, *late]
    done = world.verify_at(eastern(20, 9))
    assert done.comparison is not None
    assert (done.comparison.stale, done.comparison.unlisted) == (("cs.OS",), ())
    assert (done.comparison.is_proof, done.comparison.is_whole) == (True, False)


def test_a_listing_near_the_limit_is_no_proof(world: World) -> None:
    many = [made_up(number, THU, category="math.PR") for number in range(1000, 1000 + CUT_FROM)]
    cut = [paper for paper in NEWEST if paper.categories != ("math.PR",)]
    world.rss.news = lambda subjects: many if subjects == "math" else cut
    done = world.verify_at(eastern(20, 9))
    assert done.comparison is not None
    assert states(done)["math"] is SliceState.CUT
    assert done.comparison.unlisted == ()
    assert not done.comparison.has_arrived
    assert done.handed_over == 0


def test_on_a_day_without_a_listing_one_request_is_enough_to_know(world: World) -> None:
    world.rss.news = lambda _: []
    done = world.verify_at(eastern(21, 9))
    assert (done.asked, world.rss.asked, done.is_verified) == (1, [SLICES[0].key], False)
    assert done.why_not == "arXiv listed it on Fri 20 Nov only, and lists nothing today"


def test_what_was_kept_on_the_day_is_used_on_a_day_without_a_listing(world: World) -> None:
    world.look(eastern(20, 15))
    world.rss.news = lambda _: []
    done = world.verify_at(eastern(21, 9))
    assert (done.asked, done.is_verified, len(world.rss.asked)) == (1, True, 4)
    assert done.comparison is not None
    assert not done.comparison.is_whole


def test_an_empty_listing_on_a_day_that_should_have_one_is_asked_for_again(world: World) -> None:
    world.rss.news = lambda _: []
    done = world.verify_at(eastern(20, 9))
    assert (done.asked, set(states(done).values()), done.is_verified) == (7, {SliceState.EMPTY}, False)
    assert "verify again in an hour" in done.why_not
    world.rss.news = lambda _: NEWEST
    assert world.verify_at(eastern(20, 10)).is_verified


def test_a_slice_arxiv_does_not_know_leaves_the_others_to_be_read(world: World) -> None:
    world.rss.refuse, world.rss.status = {"math"}, 400
    done = world.verify_at(eastern(20, 9))
    assert ([type(error) for error in done.errors], done.asked) == ([ArxivRejected], 7)
    assert [name for name, state in states(done).items() if state != SliceState.READ] == ["math"]
    assert done.is_verified


def test_lines_nobody_can_read_are_set_aside_and_counted(world: World) -> None:
    odd = replace(NEWEST[0], id="nonsense")
    world.rss.news = lambda _: [odd, *NEWEST]
    done = world.verify_at(eastern(20, 9))
    assert done.is_verified
    assert done.comparison is not None
    assert [one.unreadable for one in done.comparison.slices if one.unreadable] == [1]
    with world.site.store.read() as conn:
        assert overview.count_quarantined(conn) == 1


def test_without_a_witness_verify_is_told_that_one_can_be_had(open_world: Callable[..., World]) -> None:
    done = open_world(is_witness=False).verify_at(eastern(20, 9), WED)
    assert "`witness = true` under [arxiv] keeps one each day" in done.why_not
