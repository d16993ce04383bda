"""arXiv fails at a digest's hour.

Its papers come with the first complete check, and a day that failed is told.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from digest.model.clock import ManualClock
from digest.model.messages import Digest
from digest.model.subscriptions import TurnFailure
from digest.render.digests import view_digest
from digest.serve.steps import PassReport, Steps, run_pass
from tests.fakes.arxiv import DemoArxiv
from tests.harness.installation import Installation
from tests.harness.papers import TUESDAY, announce

BERLIN = "weekdays at 09:00 Europe/Berlin"
NINE = timedelta(hours=7)
"""From an announcement's hour in New York to 09:00 in Berlin."""

QUARTER = timedelta(minutes=15)
FOR_EVER = 10_000
FAULTS = ("500", "503", "429", "html", "truncate", "cut", "drop", "reset", "empty_page")
"""A server that fails, asks for a pause, sends a cut page or an old one, or is not there."""

Install = Callable[..., Installation]
NO_SAMPLE = 'look_back = "0 days"'


def begin(arxiv: DemoArxiv, here: Installation, clock: ManualClock) -> None:
    """Let the first check pass, and Tuesday's turn, for which nothing matched."""
    here.run()
    announce(arxiv, TUESDAY - timedelta(days=1), 21, categories=("hep-th",))
    assert digests_at(here, clock, TUESDAY - timedelta(days=1) + NINE) == []


def digests_at(here: Installation, clock: ManualClock, at: datetime) -> list[Digest]:
    clock.set(max(at, clock.now()))
    return here.run().plan.digests


def numbers(digest: Digest) -> list[int]:
    return sorted(entry.paper.id.number for entry in digest.entries)


def failures(digest: Digest) -> list[tuple[int, TurnFailure]]:
    return [(turn.due_at.day, turn.failure) for turn in digest.unchecked]


def fail(arxiv: DemoArxiv, kind: str = "503", **how: object) -> None:
    arxiv.faults.add(kind, times=FOR_EVER, **how)


@pytest.mark.parametrize(
    ("kind", "source"),
    [*((kind, "harvest") for kind in FAULTS), ("503", "query"), ("drop", "query")],
)
def test_the_days_papers_come_with_the_first_complete_check(
    kind: str, source: str, arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE, source=source)
    begin(arxiv, here, clock)
    fail(arxiv, kind, seconds=0.1)
    announce(arxiv, TUESDAY, 22, 23)
    nine = TUESDAY + NINE
    assert digests_at(here, clock, nine) == []
    arxiv.faults.clear()
    late: list[Digest] = []
    for number in range(1, 14):
        late += digests_at(here, clock, nine + number * QUARTER)
    (digest,) = late
    assert (digest.slot, numbers(digest), digest.unchecked) == ("2026-03-04", [22, 23], ())
    assert digests_at(here, clock, nine + timedelta(days=1)) == []


def test_a_pause_of_hours_that_arxiv_asks_for_moves_the_day_by_so_much(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    arxiv.faults.add("429", retry_after=3 * 3600)
    announce(arxiv, TUESDAY, 22)
    nine = TUESDAY + NINE
    assert digests_at(here, clock, nine) == []
    for number in range(1, 12):
        assert digests_at(here, clock, nine + number * QUARTER) == []
    (digest,) = digests_at(here, clock, nine + timedelta(hours=3, minutes=1))
    assert (digest.slot, numbers(digest)) == ("2026-03-04", [22])


def test_what_fails_on_a_friday_still_comes_on_saturday(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    thursday = TUESDAY + timedelta(days=2)
    for day in (0, 1):
        digests_at(here, clock, TUESDAY + timedelta(days=day) + NINE)
    fail(arxiv)
    announce(arxiv, thursday, 22)
    assert digests_at(here, clock, thursday + NINE) == []
    arxiv.faults.clear()
    (digest,) = digests_at(here, clock, thursday + timedelta(hours=26))
    assert (f"{digest.planned_at:%A}", digest.slot, numbers(digest)) == (
        "Saturday",
        "2026-03-06",
        [22],
    )


def test_a_day_that_failed_to_its_end_is_told_in_the_next_digest_and_in_no_other(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    fail(arxiv)
    for day in (0, 1):
        announce(arxiv, TUESDAY + timedelta(days=day), 22 + day)
    for hours in range(0, 30, 3):
        assert digests_at(here, clock, TUESDAY + NINE + timedelta(hours=hours)) == []
    arxiv.faults.clear()
    announce(arxiv, TUESDAY + timedelta(days=2), 24)
    morning = TUESDAY + timedelta(days=2) + NINE
    assert digests_at(here, clock, morning - timedelta(hours=4)) == []
    (digest,) = digests_at(here, clock, morning)
    assert numbers(digest) == [22, 23, 24]
    assert failures(digest) == [(4, TurnFailure.ARXIV_FAILED), (5, TurnFailure.ARXIV_FAILED)]
    announce(arxiv, TUESDAY + timedelta(days=5), 25)
    (following,) = digests_at(here, clock, TUESDAY + timedelta(days=5) + NINE)
    assert (numbers(following), following.unchecked) == ([25], ())


def test_days_on_which_digest_did_not_run_and_an_announcement_that_did_not_come_are_told_as_such(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    for hours in (0, 3, 6, 12):  # arXiv announces nothing on Tuesday evening
        assert digests_at(here, clock, TUESDAY + NINE + timedelta(hours=hours)) == []
    announce(arxiv, TUESDAY + timedelta(days=2), 24)
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=2) + NINE)
    assert failures(digest) == [(4, TurnFailure.NOT_ANNOUNCED), (5, TurnFailure.DID_NOT_RUN)]


@pytest.mark.parametrize("when_empty", ["note", "always"])
def test_a_failed_check_is_noted_once_and_then_what_came_of_it(
    when_empty: str, arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    here.edit(NO_SAMPLE, f'{NO_SAMPLE}\nwhen_empty = "{when_empty}"')
    fail(arxiv)
    announce(arxiv, TUESDAY, 22, categories=("math.CO",))
    nine = TUESDAY + NINE
    (note,) = digests_at(here, clock, nine)
    assert (note.slot, note.coverage.is_complete) == ("unchecked:2026-03-04", False)
    assert digests_at(here, clock, nine + QUARTER) == []
    arxiv.faults.clear()
    (checked,) = digests_at(here, clock, nine + timedelta(hours=4))
    assert (checked.slot, checked.coverage.is_complete, checked.entries) == ("2026-03-04", True, ())
    assert digests_at(here, clock, nine + timedelta(hours=5)) == []


def test_a_note_of_a_failed_check_tells_no_day_before_it_but_the_next_digest_tells_all(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    here.edit(NO_SAMPLE, f'{NO_SAMPLE}\nwhen_empty = "note"')
    fail(arxiv)
    for day in (0, 1):
        announce(arxiv, TUESDAY + timedelta(days=day), 22 + day)
        (note,) = digests_at(here, clock, TUESDAY + timedelta(days=day) + NINE)
        assert note.unchecked == ()
    arxiv.faults.clear()
    announce(arxiv, TUESDAY + timedelta(days=2), 24)
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=2) + NINE)
    assert numbers(digest) == [22, 23, 24]
    assert failures(digest) == [(4, TurnFailure.ARXIV_FAILED), (5, TurnFailure.ARXIV_FAILED)]


def test_a_digest_that_comes_hours_after_its_turn_says_when_it_was_due_and_why_it_is_late(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    fail(arxiv)
    announce(arxiv, TUESDAY, 22)
    assert digests_at(here, clock, TUESDAY + NINE) == []
    arxiv.faults.clear()
    (digest,) = digests_at(here, clock, TUESDAY + NINE + timedelta(hours=8))
    assert (failures(digest), digest.unchecked[0].is_late) == (
        [(4, TurnFailure.ARXIV_FAILED)],
        True,
    )
    said = "This digest was due on Wednesday 4 March: arXiv did not answer."
    assert view_digest(digest).introduction == said


def test_a_weekly_digest_that_comes_days_after_its_turn_says_that_digest_did_not_run(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when="wednesdays at 09:00 Europe/Berlin", extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    announce(arxiv, TUESDAY, 22)
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=2) + NINE)
    assert (failures(digest), digest.unchecked[0].is_late) == ([(4, TurnFailure.DID_NOT_RUN)], True)
    assert numbers(digest) == [22]


@pytest.mark.parametrize("hour", ["08:30", "09:10", "10:00"])
def test_an_open_turn_stays_the_same_turn_when_its_hour_is_edited(
    hour: str, arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    fail(arxiv)
    announce(arxiv, TUESDAY, 22)
    assert digests_at(here, clock, TUESDAY + NINE) == []
    here.edit("at 09:00", f"at {hour}")
    arxiv.faults.clear()
    (digest,) = digests_at(here, clock, TUESDAY + NINE + timedelta(hours=8))
    assert numbers(digest) == [22]
    assert [turn.is_late for turn in digest.unchecked] == [True], (
        "no word of another digest that did not come"
    )


def test_a_paused_list_is_not_told_of_the_days_of_its_pause(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    here.command("subscription", "pause", "perf-team", "--until", "2026-03-06T08:00")
    fail(arxiv)
    for day in (0, 1):
        announce(arxiv, TUESDAY + timedelta(days=day), 22 + day)
        assert digests_at(here, clock, TUESDAY + timedelta(days=day) + NINE) == []
    arxiv.faults.clear()
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=2) + NINE)
    assert (numbers(digest), digest.unchecked) == ([22, 23], ())


def test_a_workflows_second_start_sends_what_the_first_could_not(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    announce(arxiv, TUESDAY, 22)
    fail(arxiv)
    nine = TUESDAY + NINE

    def start(at: datetime) -> PassReport:
        clock.set(max(at, clock.now()))
        return run_pass(here.site, longest_wait=timedelta(minutes=30))

    assert start(nine - timedelta(minutes=25)).plan.digests == []
    assert clock.now() >= nine, "it has waited for the turn"
    arxiv.faults.clear()
    (digest,) = start(nine + timedelta(minutes=65)).plan.digests
    assert (digest.slot, numbers(digest)) == ("2026-03-04", [22])


def test_a_service_sends_it_with_the_check_that_succeeds_and_asks_for_nothing_between(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when=BERLIN, extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    fail(arxiv)
    announce(arxiv, TUESDAY, 22)
    nine = TUESDAY + NINE
    steps = Steps(here.site, PassReport())
    planned: list[Digest] = []
    for minutes in range(0, 240, 5):
        clock.set(max(nine + timedelta(minutes=minutes), clock.now()))
        if minutes == 120:
            arxiv.faults.clear()
        was_checked = steps.poll().was_due
        steps.match()
        report = steps.plan()
        planned += report.digests
        assert was_checked or minutes == 90 or report.waiting == [], minutes
    (digest,) = planned
    assert (digest.slot, numbers(digest)) == ("2026-03-04", [22])


def test_a_weekly_digest_that_failed_comes_on_the_next_day_at_its_hour(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when="wednesdays at 09:00 Europe/Berlin", extra=NO_SAMPLE)
    begin(arxiv, here, clock)
    announce(arxiv, TUESDAY, 22)
    fail(arxiv)
    assert digests_at(here, clock, TUESDAY + NINE) == []
    announce(arxiv, TUESDAY + timedelta(days=1), 23)
    arxiv.faults.clear()
    assert digests_at(here, clock, TUESDAY + timedelta(days=1, hours=4)) == []
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=1) + NINE)
    assert (digest.slot, numbers(digest)) == ("2026-W10", [22, 23])
    assert [turn.is_late for turn in digest.unchecked] == [True]


def test_at_once_a_feed_and_a_site_say_it_with_what_was_checked(
    arxiv: DemoArxiv, clock: ManualClock, install: Install
) -> None:
    here = install(arxiv, when="at once", extra=NO_SAMPLE)
    here.edit('"file:feeds/perf.atom"]', '"file:feeds/perf.atom", "file:site/"]')
    begin(arxiv, here, clock)
    fail(arxiv)
    announce(arxiv, TUESDAY, 22)
    for hours in (0, 6, 16):
        assert digests_at(here, clock, TUESDAY + NINE + timedelta(hours=hours)) == []
    arxiv.faults.clear()
    announce(arxiv, TUESDAY + timedelta(days=1), 23)
    (digest,) = digests_at(here, clock, TUESDAY + timedelta(days=1) + NINE)
    assert (numbers(digest), failures(digest)) == ([22, 23], [(4, TurnFailure.ARXIV_FAILED)])
    said = "What arXiv announced on Tuesday 3 March was checked late: arXiv did not answer."
    view = view_digest(digest)
    assert said.removesuffix(".") in view.coverage.sentence
    assert view.introduction == ""
    assert f">{said}</subtitle>" in (here.folder / "feeds/perf.atom").read_text()
    assert (
        f'<p class="coverage complete">{said}</p>' in (here.folder / "site/index.html").read_text()
    )
    announce(arxiv, TUESDAY + timedelta(days=2), 24)
    (following,) = digests_at(here, clock, TUESDAY + timedelta(days=2) + NINE)
    assert following.unchecked == (), "it is said once"
