"""Whatever happens in whatever order, wherever processes die.

What was promised stays true, and is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from tests.conftest import IS_NIGHTLY
from tests.simulator.days import Days, beginning
from tests.simulator.deaths import ForkedProcesses, Point
from tests.simulator.received import Broken

BETWEEN = Point("tests.simulator.planted:between")
BY_NIGHT = pytest.mark.skipif(not IS_NIGHTLY, reason="weeks are lived by night, two days always")
Begin = Callable[..., AbstractContextManager[Days]]


@pytest.fixture
def days(
    forked_processes: ForkedProcesses,
    quick_folder: Path,
    make_database: Callable[[str], tuple[str, str]],
) -> Callable[..., object]:
    @contextmanager
    def begin(database: str = "sqlite", seed: int = 1) -> Iterator[Days]:
        with beginning(quick_folder, forked_processes, *make_database(database), seed) as lived:
            yield lived

    return begin


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("database", "seed", "length"),
    [
        ("sqlite", 12, 2),
        pytest.param("sqlite", 2, 20, marks=BY_NIGHT),
        pytest.param("postgresql", 3, 20, marks=BY_NIGHT),
    ],
)
def test_what_was_promised_stays_true_on_any_day(
    database: str, seed: int, length: int, days: Begin
) -> None:
    with days(database, seed) as lived:
        lived.live(length)


def go_on(lived: Days, hours: float, point: Point | None = None) -> None:
    lived.life.advance(timedelta(hours=hours))
    lived.make_pass(point)


def die_after_matching(lived: Days) -> None:
    lived.life.announce()
    go_on(lived, 30, BETWEEN)
    lived.life.announce()
    go_on(lived, 30)


def die_after_taking_a_turn(lived: Days) -> None:
    lived.life.announce()
    go_on(lived, 16)  # matched at 04:41 on Tuesday
    go_on(lived, 2, BETWEEN)  # the turn at 06:00
    lived.make_pass()


def announce_a_paper_late(lived: Days) -> None:
    lived.life.hold()
    go_on(lived, 24 * 7)
    lived.life.announce()
    go_on(lived, 60)
    lived.life.announce(held_since=lived.life.held.pop())
    go_on(lived, 60)


def lose_an_answer(lived: Days) -> None:
    lived.life.announce()
    lived.life.mail.script.drop("END", is_stored=False)
    for hours in (30, 1, 5):
        go_on(lived, hours)


def start_twice(lived: Days) -> None:
    lived.life.announce()
    go_on(lived, 30)
    lived.make_pass()


def fail_at_the_turn(lived: Days) -> None:
    lived.life.announce()
    lived.life.arxiv.faults.add("503", times=1_000)
    go_on(lived, 18)  # the turn at 06:00 on Tuesday: nothing of its papers was seen
    lived.life.arxiv.faults.clear()
    go_on(lived, 1)
    go_on(lived, 24)


def fail_for_a_day(lived: Days) -> None:
    lived.life.announce()
    lived.life.arxiv.faults.add("503", times=1_000)
    go_on(lived, 18)
    go_on(lived, 20)
    lived.life.arxiv.faults.clear()
    for _ in range(3):
        lived.life.announce()
        go_on(lived, 24)


def be_refused_for_a_day(lived: Days) -> None:
    lived.life.refuse("C000PAPERS", "is_archived", timedelta(hours=60))
    for hours in (30, 24, 24, 12):
        lived.life.announce()
        go_on(lived, hours)


DIRECTED = {
    "cursor-first": (die_after_matching, "the database's own rules"),
    "rematch": (die_after_matching, "the database's own rules"),
    "late-items": (announce_a_paper_late, "what is met first at version 1 is new, however late"),
    "mark-first": (die_after_matching, "lost"),
    "key-with-attempt": (lose_an_answer, "stranger"),
    "resend-sent": (start_twice, "states change along their arrows"),
    "advance-first": (die_after_taking_a_turn, "what was matched before a turn is told with it"),
    "failed-turn": (fail_at_the_turn, "a turn passes only after a complete check"),
    "untold": (fail_for_a_day, "a turn that closed unchecked is told in one digest"),
    "never-again": (be_refused_for_a_day, "what is held is sent once its place is mended"),
    "newer-first": (be_refused_for_a_day, "a place that refused goes on in order"),
    "no-week": (be_refused_for_a_day, "nothing is given up before a week has passed"),
}
"""Faults, the days that show each, and the rule that tells."""


@pytest.mark.parametrize("fault", DIRECTED)
def test_a_planted_fault_is_found_on_the_days_it_takes(fault: str, days: Begin) -> None:
    happen, rule = DIRECTED[fault]
    with days() as lived:
        lived.life.fault = fault
        with pytest.raises(Broken) as broken:
            happen(lived)
    assert broken.value.rule == rule, str(broken.value)


@pytest.mark.parametrize("happen", dict.fromkeys(happen for happen, _ in DIRECTED.values()))
def test_without_a_fault_all_is_well_on_the_same_days(
    happen: Callable[[Days], None], days: Begin
) -> None:
    with days() as lived:
        happen(lived)
