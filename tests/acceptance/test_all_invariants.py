"""Whatever happens in whatever order, wherever processes die: what was promised stays true."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.simulator.dying import Point, find
from tests.simulator.expectations import Broken
from tests.simulator.histories import POINTS, History, count, make_template, sqlite_maker
from tests.simulator.planted import FAULTS, move_mark_in_its_own_turn

HISTORIES = 200 if os.environ.get("DIGEST_HYPOTHESIS") == "nightly" else 2
BETWEEN = Point("tests.simulator.planted:between")


@pytest.fixture(scope="module")
def make_database(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    template = tmp_path_factory.mktemp("template") / "digest.db"
    make_template(template)
    return sqlite_maker(template)


@contextmanager
def begun(make_database: Callable[[Path], str]) -> Iterator[History]:
    history = History(make_database)
    try:
        yield history
    finally:
        history._stack.close()


@pytest.mark.timeout(7200)
def test_what_was_promised_stays_true(
    make_database: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    class Here(History):
        def __init__(self) -> None:
            super().__init__(make_database)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=20,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if HISTORIES > 2 else [])],
        ),
    )
    with capsys.disabled():
        print(f"\n{count()}")  # noqa: T201 - how much was lived


@pytest.mark.parametrize("path", sorted({point.at for point in POINTS}))
def test_a_point_of_death_names_a_function_that_exists(path: str) -> None:
    assert callable(getattr(*find(path)))


def wait(history: History, hours: float) -> None:
    history.life.clock.advance(timedelta(hours=hours))


def run(history: History, point: Point | None = None) -> None:
    history.life.run(point)
    history.watch.look()


def die_after_matching(history: History) -> None:
    history.life.announce("cs.PF", "latency")
    wait(history, 30)
    run(history, BETWEEN)
    history.life.announce("cs.PF", "latency")
    wait(history, 30)
    run(history)


def die_after_taking_a_turn(history: History) -> None:
    history.life.announce("cs.PF", "latency")
    wait(history, 16)
    run(history)  # matched at 04:41 on Tuesday
    wait(history, 2)
    run(history, BETWEEN)  # the turn at 06:00
    run(history)


def announce_a_paper_late(history: History) -> None:
    history.life.hold()
    wait(history, 24 * 7)
    run(history)
    history.life.announce("cs.PF", "latency")
    wait(history, 60)
    run(history)
    history.life.announce("cs.PF", "latency", held_since=history.life.held.pop())
    wait(history, 60)
    run(history)


def lose_an_answer(history: History) -> None:
    history.life.announce("cs.PF", "latency")
    history.life.mail.script.drop("END", is_stored=False)
    for hours in (30, 1, 5):
        wait(history, hours)
        run(history)


def start_twice(history: History) -> None:
    history.life.announce("cs.PF", "latency")
    wait(history, 30)
    run(history)
    run(history)


DIRECTED = {
    "cursor-first": (die_after_matching, "the database's own rules"),
    "rematch": (die_after_matching, "the database's own rules"),
    "late-items": (announce_a_paper_late, "what is met first at version 1 is new, however late"),
    "mark-first": (die_after_matching, "what is marked as sent has come"),
    "key-with-attempt": (lose_an_answer, "every message is a delivery's"),
    "resend-sent": (start_twice, "states change along their arrows"),
    "advance-first": (die_after_taking_a_turn, "what was matched before a turn is told with it"),
}
"""Faults, a history that shows each, and the rule that tells."""


@pytest.mark.parametrize("fault", DIRECTED)
def test_a_planted_fault_is_found_in_the_history_it_takes(
    fault: str, make_database: Callable[[Path], str]
) -> None:
    happen, rule = DIRECTED[fault]
    with begun(make_database) as history:
        happen(history)  # without the fault all is well
    plant = move_mark_in_its_own_turn if fault == "rematch" else FAULTS[fault].plant
    with begun(make_database) as history, plant(), pytest.raises(Broken) as broken:
        happen(history)
    assert broken.value.rule == rule, str(broken.value)
