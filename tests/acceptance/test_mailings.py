"""Announcements as they really come: late, in parts, twice a night, or not at all.

And what is said of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import chain, product

import pytest
from sqlalchemy import insert

from digest.match.step import match
from digest.model.announcements import Kind
from digest.model.clock import ManualClock
from digest.model.messages import Coverage, Digest, Occasion
from digest.plan.step import plan
from digest.poll.rules import REQUESTS_A_DAY
from digest.poll.step import check_gaps, poll
from digest.serve.steps import PassReport
from digest.store import gaps, open_store
from digest.store.schema import requests
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import ALL_KINDS, START, TUESDAY, announce, made_up, told, told_ids

NOTES = 'look_back = "0 days"\nwhen_empty = "note"'
LOOKS = (timedelta(hours=2, minutes=46), timedelta(hours=3, minutes=30))
"""22:46 and 23:30 Eastern time: the evening's look, and the one that confirms it."""


def look(here: Installation, clock: ManualClock, at: datetime) -> PassReport:
    clock.set(max(at, clock.now()))
    return here.run()


def coverages(report: PassReport) -> list[Coverage]:
    return [digest.coverage for digest in report.plan.digests]


@pytest.fixture(name="here")
def _installed(arxiv: DemoArxiv, install: Callable[..., Installation]) -> Installation:
    installation = install(arxiv, extra=NOTES, when="on announcement")
    installation.run()
    return installation


def test_an_announcement_is_told_with_how_many_papers_it_brought(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(21, 31))
    report = look(here, clock, TUESDAY + LOOKS[0])
    (coverage,) = coverages(report)
    assert (coverage.is_complete, coverage.new, coverage.matched) == (True, 10, 10)
    assert "Tue 3 Mar  complete    10 " in here.command("coverage", "--days", "2")


def test_what_a_page_lost_is_asked_for_by_id_and_told_the_same_night(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(24, 31))
    announce(
        arxiv, TUESDAY + timedelta(hours=1), *range(21, 24)
    )  # touched last, so last in the list
    arxiv.faults.add("short_page", path="/oai", keep=0.9)
    report = look(here, clock, TUESDAY + LOOKS[0])
    assert report.poll.requests == 2
    assert sorted(told_ids(report)) == [f"2603.{number:05d}" for number in range(21, 31)]


def test_a_part_of_an_announcement_that_comes_later_follows_and_nothing_is_told_twice(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 22)
    announce(arxiv, TUESDAY + timedelta(hours=5), 23, 24)
    evening = look(here, clock, TUESDAY + LOOKS[0])
    assert told_ids(evening) == ["2603.00022", "2603.00021"]
    later_on: list[str] = []
    for hours in (3.6, 8, 9, 14):
        later_on += told_ids(look(here, clock, TUESDAY + timedelta(hours=hours)))
    assert later_on == [], "the second part waits for the next turn of this subscription"
    next_evening = look(here, clock, TUESDAY + timedelta(days=1) + LOOKS[1])
    announce(arxiv, TUESDAY + timedelta(days=1, hours=4), 25)
    following = look(here, clock, TUESDAY + timedelta(days=1, hours=8))
    told_later = [*told_ids(next_evening), *told_ids(following)]
    assert sorted(told_later) == ["2603.00023", "2603.00024", "2603.00025"]


def test_a_quiet_day_is_told_only_after_a_second_look_saw_the_announcement_to_its_end(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 22, categories=("math.CO",))
    first = look(here, clock, TUESDAY + LOOKS[0])
    assert (first.plan.digests, first.plan.waiting) == ([], ["perf-team"])
    second = look(here, clock, TUESDAY + LOOKS[1])
    (coverage,) = coverages(second)
    assert (coverage.is_settled, coverage.new, coverage.matched) == (True, 2, 0)


def test_a_quiet_day_is_told_by_the_only_look_of_a_morning(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 22, categories=("math.CO",))
    (coverage,) = coverages(look(here, clock, TUESDAY + timedelta(hours=7)))
    assert (coverage.is_settled, coverage.new, coverage.matched) == (True, 2, 0)


def test_an_announcement_that_does_not_come_is_no_quiet_day_and_the_operator_is_told_in_the_morning(
    clock: ManualClock, here: Installation
) -> None:
    reports = [look(here, clock, TUESDAY + timedelta(hours=hours)) for hours in (2.8, 4.6, 7.6)]
    assert [report.plan.digests for report in reports] == [[], [], []]
    for report in reports:
        assert not any("Tue 3 Mar" in str(alarm.what) for alarm in report.watch.alarms)
    morning = look(here, clock, TUESDAY + timedelta(hours=13.1))
    (alarm,) = morning.watch.alarms
    assert str(alarm.what) == "the announcement of Tue 3 Mar is not out yet"
    (note,) = morning.plan.digests
    assert (note.slot, note.coverage.is_awaited) == ("unchecked:mailing:2026-03-03", True)
    assert "✗ the announcement of Tue 3 Mar is not out yet" in here.command("status")
    assert "late" in here.command("coverage")


def test_a_deferred_announcement_comes_with_the_next_one_and_is_told_once_and_as_deferred(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    for hours in (2.8, 13.1):
        look(here, clock, TUESDAY + timedelta(hours=hours))
    wednesday = TUESDAY + timedelta(days=1)
    announce(arxiv, wednesday, *range(21, 25))
    report = look(here, clock, wednesday + LOOKS[0])
    assert len(told_ids(report)) == 4
    assert report.watch.alarms == ()
    lines = here.command("coverage", "--days", "3").splitlines()
    assert [line.split()[3] for line in lines[1:3]] == ["complete", "deferred"]


def test_two_batches_in_one_night_are_one_announcement(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 22)
    announce(arxiv, TUESDAY + timedelta(minutes=90), 23, 24)
    report = look(here, clock, TUESDAY + LOOKS[0])
    assert len(told_ids(report)) == 4
    assert report.poll.announcements == {TUESDAY.date() - timedelta(days=1): 4}


def test_an_id_nobody_knows_is_asked_for_during_a_week_and_then_void_with_the_reason(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 23)
    lines = []
    for days in range(10):
        at = TUESDAY + timedelta(days=days, hours=3)
        announce(arxiv, at - timedelta(hours=1), 30 + days, id=f"2603.{24 + days:05d}")
        look(here, clock, at)
        with open_store(f"sqlite:///{here.folder / 'digest.db'}").read() as conn:
            lines = gaps.load(conn)
    (line,) = lines
    assert (str(line.gap.id), str(line.state), line.gap.asks) == ("2603.00022", "given up", 5)
    assert str(line.reason).startswith("arXiv knew no such paper, asked 5 times from 4 Mar")
    assert "1 never used" in here.command("coverage")


def test_a_paper_that_arxiv_fills_in_days_later_is_new_then(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 23)
    look(here, clock, TUESDAY + LOOKS[0])
    held = TUESDAY + timedelta(days=2)
    arxiv.add(made_up(22, TUESDAY - timedelta(days=20), announced=held))
    announce(arxiv, held, 24)
    report = look(here, clock, held + LOOKS[0])
    assert ("2603.00022", Kind.NEW) in [(id_, kind) for _, id_, kind in told(report)]


def test_papers_that_came_are_not_kept_back_for_ever_for_ids_that_cannot_be_asked_for(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(21, 24), *range(30, 40))
    arxiv.faults.add("500", path="/api/query", times=1000)
    for hours in (2.8, 4.6, 7.6):
        assert look(here, clock, TUESDAY + timedelta(hours=hours)).plan.digests == []
    morning = look(here, clock, TUESDAY + timedelta(hours=13.1))
    (coverage,) = coverages(morning)
    assert (coverage.is_complete, len(told_ids(morning))) == (False, 13)


def test_ids_never_asked_for_are_asked_for_even_when_the_days_budget_is_spent(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(21, 24), *range(30, 40))
    clock.set(TUESDAY + timedelta(hours=2))
    with open_store(f"sqlite:///{here.folder / 'digest.db'}").begin() as conn:
        for _ in range(REQUESTS_A_DAY):
            conn.execute(insert(requests).values(_spent(clock.now())))
    report = look(here, clock, TUESDAY + LOOKS[0])
    assert report.poll.requests == 2
    assert coverages(report)[0].is_complete


def _spent(at: datetime) -> dict[str, object]:
    texts = dict.fromkeys(("url", "detail"), "")
    return {
        "at": at,
        "method": "GET",
        "status": 503,
        "milliseconds": 1,
        "size": 0,
        "outcome": "throttled",
        **texts,
    }


def test_a_paper_that_came_out_and_was_replaced_while_nobody_looked_reaches_who_asks_for_new_ones(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(21, 25))
    arxiv.replace(
        "2603.00022", submitted=TUESDAY + timedelta(hours=10), announced=TUESDAY + timedelta(days=1)
    )
    old = "2603.00003"
    arxiv.replace(
        old, submitted=TUESDAY + timedelta(hours=10), announced=TUESDAY + timedelta(days=1)
    )
    report = look(here, clock, TUESDAY + timedelta(days=2) + LOOKS[0] - timedelta(hours=12))
    assert ("2603.00022", Kind.REPLACEMENT) in [(id_, kind) for _, id_, kind in told(report)]
    assert old not in told_ids(report), "who asks for new papers is not told of replacements"


def test_a_digest_after_a_pause_names_the_announcements_it_covers_and_how_many_papers_they_brought(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    arxiv.replace("2603.00003", submitted=TUESDAY, announced=TUESDAY + timedelta(days=1))
    for days, numbers in ((0, range(21, 31)), (1, range(31, 41))):
        announce(arxiv, TUESDAY + timedelta(days=days), *numbers)
    report = look(here, clock, TUESDAY + timedelta(days=1) + LOOKS[0])
    (coverage,) = coverages(report)
    assert (str(coverage.since), str(coverage.announcement), coverage.new) == (
        "2026-03-03",
        "2026-03-04",
        20,
    )
    assert report.poll.caught_up == [coverage.since, coverage.announcement]
    entries = report.plan.digests[0].entries
    pairs = zip(range(40, 30, -1), range(30, 20, -1), strict=True)
    turns = list(chain.from_iterable(pairs))
    assert [entry.paper.id.number for entry in entries] == turns
    assert "20 new · 3–4 March 2026" in here.read_mails()[-1]


def test_a_weekly_digest_covers_the_announcements_since_the_one_before(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, when="mondays at 12:00 UTC")
    here.run()
    for days in range(14):
        announce(arxiv, TUESDAY + timedelta(days=days), 40 + days)
        look(here, clock, TUESDAY + timedelta(days=days, hours=12))
    weeks = [(digest.slot, digest.coverage) for digest in here.digests[-2:]]
    assert [slot for slot, _ in weeks] == ["2026-W11", "2026-W12"]
    assert (str(weeks[1][1].since), str(weeks[1][1].announcement), weeks[1][1].announcements) == (
        "2026-03-09",
        "2026-03-15",
        5,
    )


def test_a_digest_names_an_announcement_whose_own_turn_passed_while_arxiv_could_not_be_reached(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, when="daily at 12:00 UTC")
    here.run()
    announce(arxiv, TUESDAY, *range(21, 24))
    arxiv.faults.add("500", times=1000)
    assert look(here, clock, TUESDAY + timedelta(hours=12)).plan.digests == []
    arxiv.faults.clear()
    announce(arxiv, TUESDAY + timedelta(days=1), *range(24, 26))
    (coverage,) = coverages(look(here, clock, TUESDAY + timedelta(days=1, hours=12)))
    assert (str(coverage.since), str(coverage.announcement), coverage.new) == (
        "2026-03-03",
        "2026-03-04",
        5,
    )


def test_a_digest_names_what_it_covers_from_the_last_one_on_where_its_weekday_was_moved_meanwhile(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, when="mondays at 12:00 UTC")
    here.run()
    for days in range(15):
        announce(arxiv, TUESDAY + timedelta(days=days), 40 + days)
        if days in (5, 6, 14):
            look(here, clock, TUESDAY + timedelta(days=days, hours=12))
        if days == 6:  # the day after the first turn
            here.edit("mondays", "wednesdays")
    before, after = here.digests[-2:]
    coverage = after.coverage
    assert (after.slot, str(before.coverage.announcement), str(coverage.since)) == (
        "2026-W12",
        "2026-03-08",
        "2026-03-09",
    )


def test_what_another_process_has_stored_and_not_yet_matched_is_waited_for(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, *range(21, 31))
    site = here.site
    for at in LOOKS:
        clock.set(TUESDAY + at)
        check_gaps(site, poll(site))
    early = plan(site, patience=None)
    assert (early.digests, early.waiting) == ([], ["perf-team"])
    match(site)
    (digest,) = plan(site, patience=None).digests
    assert (len(digest.entries), digest.coverage.is_complete) == (10, True)


def test_a_first_digest_waits_for_the_end_of_the_quiet_hours(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation]
) -> None:
    here = install(arxiv, extra='quiet_hours = "12:00-14:00 UTC"', when="on announcement")
    assert here.run().plan.digests == []  # it is twenty to one
    clock.set(START.replace(hour=14, minute=0))
    (digest,) = here.run().plan.digests
    assert digest.occasion is Occasion.FIRST_DIGEST


def test_a_mail_that_makes_up_for_a_missed_turn_bears_the_day_of_its_last_papers(
    arxiv: DemoArxiv, clock: ManualClock, here: Installation
) -> None:
    announce(arxiv, TUESDAY, 21, 22)
    announce(arxiv, TUESDAY + timedelta(days=1), 23, *range(30, 35))
    arxiv.faults.add("500", path="/api/query", times=1000)
    (digest,) = look(here, clock, TUESDAY + timedelta(days=1, hours=2)).plan.digests
    assert (digest.slot, {str(entry.announced) for entry in digest.entries}) == (
        "mailing:2026-03-03",
        {"2026-03-03", "2026-03-04"},
    )
    plain = here.mail.mails[-1].message.get_body(("plain",))
    assert plain is not None
    assert "8 new · 3–4 March 2026" in plain.get_content()


@pytest.mark.parametrize("is_run", [False, True])
def test_after_three_days_without_the_harvest_every_medium_says_the_right_day_of_a_paper(
    arxiv: DemoArxiv, clock: ManualClock, install: Callable[..., Installation], *, is_run: bool
) -> None:
    here = install(arxiv, extra=f"look_back = '0 days'\n{ALL_KINDS}", when="on announcement")
    here.environ["COLUMNS"] = "200"
    here.run()
    arxiv.faults.add("500", path="/oai", times=1000)
    days = [TUESDAY + timedelta(days=number) for number in range(3)]
    came = dict[int, str]()
    for number, day in enumerate(days):
        ids = range(30 + 10 * number, 40 + 10 * number)
        announce(arxiv, day, *(id_ for id_ in ids if id_ % 10 != 5))
        arxiv.add(made_up(ids[5], day - timedelta(days=20), announced=day))  # it was held back
        came[ids[5]] = f"2026-03-0{3 + number}"
        for hours in (3, 7, 11) if is_run else ():
            look(here, clock, day + timedelta(hours=hours))
    arxiv.replace("2603.00036", submitted=days[1] - timedelta(hours=9), announced=days[1])
    arxiv.cross_list("2603.00004", "cs.DC", announced=days[2])
    arxiv.faults.clear()
    for at in LOOKS:
        look(here, clock, days[2] + at + timedelta(hours=12))
    shown: dict[int, Digest] = {}
    for digest in here.digests:
        shown |= {entry.paper.id.number: digest for entry in digest.entries}
    assert shown.keys() >= came.keys()
    listed = json.loads(here.command("subscription", "show", "perf-team", "--json"))["digests"]
    texts: list[str] = []
    for mail in here.mail.mails:
        texts += [part.get_content() for part in mail.message.iter_parts()]
    texts += [(here.folder / "feeds/perf.atom").read_text()]
    for one, shape in product(listed, ("page", "terminal")):
        here.command(
            "preview", "perf-team", "--digest", str(one["id"]), "--as", shape, "--output", "shown"
        )
        texts.append((here.folder / "shown").read_text())
    for number, came_on in came.items():
        (told,) = json.loads(here.command("explain", f"2603.{number:05d}", "perf-team", "--json"))[
            "subscriptions"
        ]
        assert [told["announcement"], told["changes"][0]["announced"]] == [came_on, came_on]
        places = [text.partition(f"Made-up paper {number}")[2] for text in texts]
        said = [re.search(r"announced\s+(\d+)\s+Mar", place) for place in places if place]
        assert {match[1] for match in said if match} == {came_on[-1]}, number
        assert len(said) >= 5, number
        slot = shown[number].slot.partition(":")[2]
        assert slot >= told["announcement"], (
            "a digest of an announcement holds no paper of a later one"
        )
