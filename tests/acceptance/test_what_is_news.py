"""What counts as news, whoever looks.

Nothing announced is lost, nothing old told, nothing unseen claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from digest.model.clock import ManualClock
from tests.fakes.archive import DemoPaper
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import START, later, made_up, told_ids

SILENT = "look_back = '0 days'"
SUBSCRIPTION = """[[subscriptions]]
name = "perf-team"
follow = ["perf"]
to = ["mailto:reader@example.org", "slack:#papers", "feed", "file:feeds/perf.atom"]
"""


@pytest.fixture
def old_papers() -> list[DemoPaper]:
    before = START - timedelta(days=4)
    return [
        made_up(number, before - timedelta(minutes=number), id=f"2602.{number:05d}")
        for number in range(1, 6)
    ]


def come_out(
    arxiv: DemoArxiv,
    clock: ManualClock,
    number: int,
    *,
    announced: datetime | None = None,
    **fields: object,
) -> str:
    """Have a paper announced, in the next announcement unless told otherwise; return its id."""
    paper = made_up(number, clock.now() + timedelta(hours=1), announced=announced, **fields)
    arxiv.add(paper)
    return paper.id


def test_ids_of_the_month_before_that_come_out_in_the_new_month_are_news(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    clock.set(datetime(2026, 3, 1, 12, 40, tzinfo=UTC))
    here = install(arxiv, extra=SILENT)
    here.run()
    id_ = come_out(arxiv, clock, 0, id="2602.23556", announced=datetime(2026, 3, 2, 1, tzinfo=UTC))
    later(clock, 2)
    assert told_ids(here.run()) == [id_]


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_what_comes_out_on_the_day_a_saved_query_is_edited_is_told(
    source: str, arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, source=source, extra=SILENT)
    here.run()
    id_ = come_out(arxiv, clock, 101)
    here.edit("'cat:cs.PF'", "'cat:cs.PF OR cat:cs.DC'")
    later(clock, 3)
    assert told_ids(here.run()) == [id_]


@pytest.mark.parametrize("source", ["harvest", "query"])
def test_a_saved_query_that_comes_back_after_a_week_is_no_flood_of_what_it_missed(
    source: str, arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, source=source, extra=SILENT)
    here.run()
    wanted = "perf = 'cat:cs.PF'"
    other = "other = 'cat:cs.NI'"
    here.edit(wanted, other)
    here.edit(SUBSCRIPTION, "")
    here.run()
    for day in (3, 4):
        come_out(arxiv, clock, 100 + day)
        later(clock, day)
        here.run()
    here.edit("[queries]\n", f"{SUBSCRIPTION}\n[queries]\n")
    here.edit(other, wanted)
    later(clock, 10)
    assert told_ids(here.run()) == []
    id_ = come_out(arxiv, clock, 110)
    later(clock, 11)
    assert told_ids(here.run()) == [id_]


@pytest.mark.parametrize(("before", "after"), [("harvest", "query"), ("query", "harvest")])
def test_what_comes_out_on_the_day_the_source_is_changed_is_told(
    before: str,
    after: str,
    arxiv: DemoArxiv,
    clock: ManualClock,
    install: Callable[..., Installation],
) -> None:
    here = install(arxiv, source=before, extra=SILENT)
    here.run()
    for day, (old, new) in enumerate([(before, after), (after, before), (before, after)], start=3):
        id_ = come_out(arxiv, clock, 100 + day)
        here.edit(f'source = "{old}"', f'source = "{new}"')
        later(clock, day)
        assert told_ids(here.run()) == [id_]


def test_a_first_digest_that_is_asked_for_repeats_no_paper_told_before(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, query="ti:special")
    here.run()
    id_ = come_out(arxiv, clock, 101, title="A special one")
    later(clock, 3)
    assert told_ids(here.run()) == [id_]
    edited = replace(arxiv._archive.last(id_), journal_ref="J. Made-Up 1", announced=clock.now())
    arxiv.add(edited)
    later(clock, 4)
    assert told_ids(here.run()) == []
    here.edit("[queries]\n", "[queries]\nall = 'cat:cs.PF'\n")
    here.edit('["perf"]', '["perf", "all"]')
    later(clock, 5)
    assert told_ids(here.run()) == [], "another saved query brings none by itself"
    here.command("subscription", "first", "perf-team")
    first_digest = told_ids(here.run())
    assert len(first_digest) == 5
    assert id_ not in first_digest


def test_an_early_look_that_met_an_edited_old_paper_is_not_told_as_a_quiet_day(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=f'{SILENT}\nwhen_empty = "note"', when="on announcement")
    here.run()
    announcement = datetime(2026, 3, 3, 1, tzinfo=UTC)
    arxiv.add(made_up(0, START - timedelta(days=60), id="2601.00050", announced=announcement))
    id_ = come_out(arxiv, clock, 101, announced=announcement + timedelta(hours=2))
    clock.set(announcement + timedelta(minutes=10))
    early = here.run()
    assert (early.poll.papers, early.plan.digests, early.plan.waiting) == (6, [], ["perf-team"])
    later(clock, 3)
    assert told_ids(here.run()) == [id_]


def test_what_waited_for_a_turn_is_told_at_once_when_the_subscription_says_so(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=SILENT, when="fridays at 12:00 UTC")
    here.run()
    id_ = come_out(arxiv, clock, 101)
    later(clock, 3)
    assert told_ids(here.run()) == []
    here.edit("fridays at 12:00 UTC", "at once")
    assert told_ids(here.run()) == [id_]


def test_what_came_during_a_pause_is_told_when_the_pause_is_over_also_at_once(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=SILENT, when="at once")
    here.run()
    here.command("subscription", "pause", "perf-team", "--until", "2026-03-05")
    first = come_out(arxiv, clock, 101)
    later(clock, 3)
    assert told_ids(here.run()) == []
    later(clock, 6)
    assert told_ids(here.run()) == [first]
    second = come_out(arxiv, clock, 102)
    later(clock, 10)
    assert told_ids(here.run()) == [second]
    here.command("subscription", "pause", "perf-team")
    third = come_out(arxiv, clock, 103)
    later(clock, 11)
    assert told_ids(here.run()) == []
    here.command("subscription", "resume", "perf-team")
    assert told_ids(here.run()) == [third]


def test_a_subscription_without_turns_has_no_quiet_days_to_speak_of(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra=SILENT)
    here.run()
    id_ = come_out(arxiv, clock, 101)
    words = ("perf-team", '"daily at 06:00 UTC"', "look_back = '0 days'")
    others = ("swift", '"at once"\nwhen_empty = "always"', "look_back = '7 days'")
    for before, after in zip(words, others, strict=True):
        here.edit(before, after)
    later(clock, 3)
    report = here.run()
    assert [len(digest.entries) for digest in report.plan.digests] == [5, 1], (
        "a look back, and the news by itself"
    )
    assert id_ in told_ids(report)
