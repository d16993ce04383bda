"""Queries tried on what is stored: by whoever comes, without a question to arXiv."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.config import load_config
from digest.inspect.trial import PaperSnapshot, QueryTrials, read_snapshot
from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.model.papers import ArxivId, Paper
from digest.render.contexts import TrialView
from digest.serve.installation import open_site
from digest.site import Site
from tests.fakes.config_file import write_config
from tests.harness.serving import wait_until
from tests.stored_month import store_month
from tests.unit.made_up import make_paper as build_paper

NOW = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)


def make_paper(number: int, days: int = 0, **fields: Any) -> Paper:  # noqa: ANN401 - any field
    """Return a paper of so many days before the announcement of Thursday, at ten in the morning."""
    moment = datetime(2026, 11, 19, 10, 0, tzinfo=UTC) - timedelta(days=days)
    return replace(
        build_paper(f"2611.{number:05d}"), **{"published": moment, "updated": moment, **fields}
    )


@pytest.fixture
def open_installation(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Return a function that opens an empty installation, whose arXiv nobody could reach."""
    sites: list[Site] = []

    def open_one(source: str = "harvest") -> Site:
        text = write_config(
            "http://127.0.0.1:9",
            {},
            arxiv={"source": source},
            store={"url": f"sqlite:///{tmp_path}/d.db"},
        )
        (tmp_path / "digest.toml").write_text(text, encoding="utf-8")
        site = open_site(
            load_config(tmp_path / "digest.toml", {}),
            ManualClock(NOW),
            owner="t",
            jitter=lambda: 0.5,
        )
        sites.append(site)
        return site

    yield open_one
    for site in sites:
        site.close()


@pytest.fixture
def site(open_installation: Callable[..., Site]) -> Site:
    return open_installation()


def try_when_ready(trials: QueryTrials, text: str) -> TrialView:
    """Return a trial as it is once the papers are read."""
    wait_until(lambda: trials.try_text(text).is_ready, 60)
    return trials.try_text(text)


def test_figures_papers_and_words_come_from_what_is_stored(site: Site) -> None:
    papers = [
        make_paper(number, days, title="Tail latency on GPUs")
        for number, days in ((1, 20), (2, 1), (3, 0), (4, 0))
    ]
    store_month(site.store, [*papers, make_paper(5, title="Queues", abstract="None.")], NOW)
    trial = try_when_ready(QueryTrials(site), 'ti:"tail latency" AND cat:cs.PF')
    assert trial.reading == 'the title has "tail latency", and the paper is in cs.PF'
    assert trial.rate == "About 4 papers a month, a mail only when there are any"
    assert (len(trial.bars), trial.bars[-1].day, trial.bars[0].day) == (
        30,
        "Thu 19 Nov",
        "Wed 21 Oct",
    )
    assert {bar.day: (bar.papers, bar.height) for bar in trial.bars if bar.papers} == {
        "Sun 1 Nov": (1, 35),
        "Wed 18 Nov": (1, 35),
        "Thu 19 Nov": (2, 70),
    }
    assert (trial.heading, [paper.id for paper in trial.papers]) == (
        "Your digest today",
        ["2611.00004", "2611.00003"],
    )
    assert "<mark>Tail latency</mark>" in trial.papers[0].title_html
    assert (trial.since, trial.message, trial.problem, trial.more) == ("", "", None, 0)


def test_other_words_that_bring_the_most_are_named(site: Site) -> None:
    store_month(
        site.store,
        [make_paper(number, abstract="A new transition.") for number in range(1, 4)],
        NOW,
    )
    (note,) = try_when_ready(QueryTrials(site), "abs:transit").notes
    assert note.startswith(
        'abs:transit also finds "transition"; 3 of 3 papers are without "transit"'
    )
    assert try_when_ready(QueryTrials(site), "abs:=transit").papers == ()


def test_where_today_brought_nothing_the_last_papers_are_shown_and_it_says_so(site: Site) -> None:
    old = [make_paper(number, 9, title="Clocks") for number in range(1, 14)]
    store_month(site.store, [*old, make_paper(20)], NOW)
    trial = try_when_ready(QueryTrials(site), "ti:clocks")
    assert trial.heading == "The last papers it would have brought"
    assert [paper.id for paper in trial.papers] == [
        f"2611.{number:05d}" for number in range(13, 3, -1)
    ]


def test_more_than_ten_papers_of_today_are_counted(site: Site) -> None:
    store_month(site.store, [make_paper(number) for number in range(1, 14)], NOW)
    trial = try_when_ready(QueryTrials(site), "gpus")
    assert (len(trial.papers), trial.more) == (10, 3)


def test_a_cross_list_counts_where_it_brought_the_paper_into_the_query(site: Site) -> None:
    old = [make_paper(number, 50, id=ArxivId(202609, number)) for number in (1, 2)]
    store_month(site.store, old, NOW - timedelta(days=49))
    crossed = [replace(paper, categories=("cs.PF", "cs.OS")) for paper in old]
    store_month(site.store, crossed, NOW - timedelta(days=1), kind=Kind.CROSS_LIST)
    trials = QueryTrials(site)
    trial = try_when_ready(trials, "cat:cs.OS")
    assert [(paper.entry.kind, paper.change) for paper in trial.papers] == [
        (Kind.CROSS_LIST, "cross-listed into cs.OS")
    ] * 2
    assert {bar.day for bar in trial.bars if bar.papers} == {"Wed 18 Nov"}
    assert trials.try_text("cat:cs.PF").rate == "No papers in the last 30 days"


def test_an_empty_store_says_what_will_be_here(site: Site) -> None:
    trial = QueryTrials(site).try_text("cat:cs.PF")
    assert trial.message == (
        "No papers are stored here yet."
        " Look again tomorrow, and see what a query would have brought."
    )
    assert (trial.reading, trial.is_ready, trial.rate) == ("the paper is in cs.PF", True, "")


def test_a_store_that_reaches_back_less_says_since_when(site: Site) -> None:
    store_month(site.store, [make_paper(1)], NOW, since=date(2026, 11, 17))
    trial = try_when_ready(QueryTrials(site), "gpus")
    assert [bar.day for bar in trial.bars] == ["Tue 17 Nov", "Wed 18 Nov", "Thu 19 Nov"]
    assert (trial.since, trial.rate) == ("Tue 17 Nov", "1 paper in the last 3 days")


def test_where_only_searches_are_stored_nothing_is_tried(
    open_installation: Callable[..., Site],
) -> None:
    trial = QueryTrials(open_installation("query")).try_text("gpu AND")
    assert (trial.is_offered, trial.problem, trial.bars) == (False, None, ())
    assert trial.message == (
        "This service stores only what its own saved queries find, so others cannot be tried here."
    )


def test_while_the_papers_are_read_it_says_so_and_later_the_old_ones_answer_meanwhile(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    read = read_snapshot

    def read_late(*arguments: Any) -> PaperSnapshot:  # noqa: ANN401 - as the real one
        assert gate.wait(30)
        return read(*arguments)

    monkeypatch.setattr("digest.inspect.trial.read_snapshot", read_late)
    store_month(site.store, [make_paper(1)], NOW)
    trials = QueryTrials(site)
    trial = trials.try_text("gpus")
    assert (
        trial.is_ready,
        trial.message.startswith("The papers of the last 30 days are being read"),
    ) == (
        False,
        True,
    )
    assert not trials.try_text("gpus").is_ready
    gate.set()
    assert len(try_when_ready(trials, "gpus").papers) == 1
    gate.clear()
    store_month(site.store, [make_paper(2)], NOW)
    for _ in range(5):
        assert len(trials.try_text("gpus").papers) == 1
    gate.set()
    wait_until(lambda: len(trials.try_text("gpus").papers) == 2)


def test_a_reading_that_failed_is_begun_again(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    store_month(site.store, [make_paper(1)], NOW)
    trials = QueryTrials(site)
    with site.store.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE changes RENAME TO lost")
    trials.try_text("gpus")
    wait_until(lambda: any(record.name == "digest.trial" for record in caplog.records))
    with site.store.begin() as conn:
        conn.exec_driver_sql("ALTER TABLE lost RENAME TO changes")
    assert len(try_when_ready(trials, "gpus").papers) == 1


def test_a_broad_query_comes_with_two_narrower_ones_and_their_figures(site: Site) -> None:
    many = [
        make_paper(n, n % 25, categories=("cs.LG" if n % 3 else "cs.CV",)) for n in range(1, 1_200)
    ]
    few = [make_paper(2_000 + n, n, title="Queues") for n in range(20)]
    store_month(site.store, many + few, NOW)
    trial = try_when_ready(QueryTrials(site), "tail latency")
    assert trial.notes[-1] == "it brings more than 40 papers a day, more than most people read"
    found = [(one.text, one.papers) for one in trial.variants]
    assert found == [("tail AND latency AND cat:cs.LG", 800), ("ti:tail AND ti:latency", 1_199)]
    assert trial.variants[0].rate == "about 36 papers a day"


def test_a_rare_query_comes_with_two_wider_ones_the_nearest_first(site: Site) -> None:
    papers = [
        make_paper(1, title="Latency of the tail"),
        *(make_paper(n, n % 20, title="Clocks") for n in range(2, 60)),
    ]
    store_month(site.store, papers, NOW)
    trial = try_when_ready(QueryTrials(site), 'ti:"tail latency" AND cat:cs.PF')
    assert trial.rate == "No papers in the last 30 days"
    assert [(one.text, one.papers) for one in trial.variants] == [
        ("(ti:tail AND ti:latency) AND cat:cs.PF", 1),
        ('"tail latency" AND cat:cs.PF', 59),
    ]


def test_words_that_may_be_a_name_are_offered_as_a_person(site: Site) -> None:
    store_month(site.store, [make_paper(1)], NOW)
    trials = QueryTrials(site)
    trial = try_when_ready(trials, "Ada Example")
    assert [(one.text, one.change, one.papers) for one in trial.variants] == [
        ('author:"Ada Example"', "papers by this person", 1)
    ]
    assert {one.change for one in trials.try_text("Bo Nobody").variants} == {"without nobody"}


def test_two_wordings_are_compared_over_the_same_days(site: Site) -> None:
    gained = [make_paper(number, title=f"Clocks {number}") for number in range(1, 8)]
    store_month(
        site.store, [*gained, make_paper(9, title="Tail"), make_paper(10, title="Tail clocks")], NOW
    )
    trials = QueryTrials(site)
    assert trials.compare("ti:tail", "ti:clocks") is None
    try_when_ready(trials, "gpu")
    difference = trials.compare("ti:tail", "ti:clocks")
    assert difference is not None
    assert (difference.gained, difference.lost, difference.kept) == (7, 1, 1)
    assert difference.gained_titles == tuple(f"Clocks {number}" for number in range(7, 2, -1))
    assert difference.lost_titles == ("Tail",)
    assert trials.compare("ti:tail AND", "ti:clocks") is None
