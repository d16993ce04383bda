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

from tests.acceptance.dying import Point
from tests.acceptance.expectations import Broken
from tests.acceptance.histories import History, count, make_template, sqlite_maker
from tests.acceptance.planted import FAULTS
from tests.conftest import IS_NIGHTLY

HISTORIES = 200 if os.environ.get("DIGEST_HYPOTHESIS") == "nightly" else 2
BETWEEN = Point("tests.acceptance.planted:between")
_BY_NIGHT = pytest.mark.skipif(not IS_NIGHTLY, reason="faults are planted by night")


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


def live_through(make_database: Callable[[Path], str], histories: int, *, is_shrunk: bool) -> None:
    class Here(History):
        def __init__(self) -> None:
            super().__init__(make_database)

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=histories,
            stateful_step_count=20,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, *([Phase.shrink] if is_shrunk else [])],
        ),
    )


@pytest.mark.timeout(7200)
def test_what_was_promised_stays_true(
    make_database: Callable[[Path], str], capsys: pytest.CaptureFixture[str]
) -> None:
    live_through(make_database, HISTORIES, is_shrunk=HISTORIES > 2)
    with capsys.disabled():
        print(f"\n{count()}")  # noqa: T201 - how much was lived


DRAWN = {
    "cursor-first": "the database's own rules",
    "mark-first": "what is marked as sent has come",
    "key-with-attempt": "every message is a delivery's",
    "resend-sent": "states change along their arrows",
}
"""Faults that histories drawn at random come upon soon, and the rule that tells."""


@_BY_NIGHT
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("fault", "rule"), DRAWN.items())
def test_a_planted_fault_is_found_in_histories_drawn_at_random(
    fault: str, rule: str, make_database: Callable[[Path], str]
) -> None:
    with FAULTS[fault](), pytest.raises(Broken) as broken:
        live_through(make_database, 200, is_shrunk=False)
    assert broken.value.rule == rule, str(broken.value)


def wait(history: History, hours: float) -> None:
    history.life.clock.advance(timedelta(hours=hours))


def run(history: History, point: Point | None = None) -> None:
    history.life.run(point)
    history.watch.look()


def die_after_matching(history: History) -> None:
    history.life.announce("cs.PF", "latency")
    wait(history, 30)
    run(history, BETWEEN)
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
    history.life.announce("cs.PF", "latency", held_since=history.life.held.pop())
    wait(history, 60)
    run(history)


DIRECTED = {
    "rematch": (die_after_matching, "the database's own rules"),
    "advance-first": (die_after_taking_a_turn, "what was matched before a turn is told with it"),
    "late items": (announce_a_paper_late, "what is met first at version 1 is new, however late"),
}
"""Faults that take a rare history, that history, and the rule that tells."""


@pytest.mark.parametrize("fault", DIRECTED)
def test_a_planted_fault_is_found_in_the_history_it_takes(
    fault: str, make_database: Callable[[Path], str]
) -> None:
    happen, rule = DIRECTED[fault]
    with begun(make_database) as history:
        happen(history)  # without the fault all is well
    with begun(make_database) as history, FAULTS[fault](), pytest.raises(Broken) as broken:
        happen(history)
    assert broken.value.rule == rule, str(broken.value)
