"""The batteries of real processes in small.

Those of `digest serve`, and runs without a server; all judged.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.battery.kill import run_battery, run_fault
from tests.battery.kill_plan import KillPlan
from tests.battery.runners import BEGIN, Fate
from tests.battery.runners import run_battery as run_runners
from tests.battery.runners_verdict import Evidence, judge_held
from tests.conftest import IS_NIGHTLY
from tests.harness.oracle import Planned

pytestmark = pytest.mark.timeout(900)
by_night = pytest.mark.skipif(not IS_NIGHTLY, reason="takes minutes: set DIGEST_NIGHTLY")


def small_plan(mode: str, **figures: float) -> KillPlan:
    """Return a plan of a minute or two, whose claims lapse after ten seconds."""
    few = {
        "deliveries": 16,
        "kills": 2,
        "pauses": 0,
        "long_pauses": 0,
        "restarts": 0,
        "lease": 10.0,
        "lossy": 0.1,
    }
    return KillPlan(
        seed=3,
        mode=mode,
        daily=mode == "postgresql",
        **{**few, **figures},  # type: ignore[arg-type]  # counts stay whole
    )


@by_night
def test_a_process_killed_at_work_loses_nothing_and_tells_nothing_twice(tmp_path: Path) -> None:
    outcome = run_battery(small_plan("sqlite"), tmp_path)
    assert dict(outcome.verdict.findings) == {}
    assert outcome.tally.kills == 2
    assert outcome.verdict.figures["states at the end"] == {
        "sent": outcome.verdict.figures["deliveries"]
    }


@by_night
def test_replicas_killed_paused_and_restarted_lose_nothing_and_tell_nothing_twice(
    tmp_path: Path,
) -> None:
    plan = small_plan("postgresql", deliveries=200, kills=15, pauses=4, long_pauses=2, restarts=9)
    outcome = run_battery(plan, tmp_path)
    assert dict(outcome.verdict.findings) == {}
    assert (outcome.tally.kills, outcome.tally.pauses, outcome.tally.restarts) == (15, 4, 9)


@by_night
@pytest.mark.parametrize(
    ("fault", "check"),
    [("cursor-first", "never told"), ("mark-first", "lost"), ("resend-sent", "doubled: slack")],
)
def test_the_judge_finds_a_fault_that_was_planted(fault: str, check: str) -> None:
    assert check in run_fault(fault, seed=1).verdict.findings


def test_runs_without_a_server_lose_nothing_and_post_nothing_twice_whatever_befalls_them(
    tmp_path: Path,
) -> None:
    fates = (
        Fate(BEGIN + timedelta(days=1), "KILL", "message", 4, "after", arxiv_part=0.0),
        Fate(
            BEGIN + timedelta(days=2), "STOP", "message", 3, away=timedelta(hours=2), arxiv_part=0.0
        ),
        Fate(BEGIN + timedelta(days=3), pushes=("lost", "late 0.3", "fail"), arxiv_part=0.0),
        Fate(BEGIN + timedelta(days=4), is_double=True, lost_mail=5, lost_part=0.5),
        Fate(BEGIN + timedelta(days=8), "KILL", "silence", arxiv_part=0.0),
        Fate(BEGIN + timedelta(days=8, hours=2), "KILL", "silence", arxiv_part=0.0),
    )
    verdict = run_runners(tmp_path, 1, fates, rest=1)
    assert dict(verdict.findings) == {}
    assert verdict.counts["killed at a silence"] == 2
    events = (
        "killed",
        "paused for more than a lease",
        "started twice at once",
        "push lost",
        "push late",
        "push fail",
    )
    assert [event for event in events if not verdict.counts[event]] == []


def test_the_judge_of_runs_names_a_mail_that_is_held_and_that_nobody_tried() -> None:
    rows = {
        f"key{number}": Planned(
            number,
            f"key{number}",
            "hidden",
            "2026-01-06",
            f"mailto:{number}@x.example",
            "held",
            2,
            "",
        )
        for number in range(5)
    }
    seen = Evidence(
        [], b"", rows=rows, tried={"key0"}, one_in_hand=[date(2026, 1, 6), date(2026, 1, 8)]
    )
    judge_held(seen)
    assert [len(found) for found in seen.verdict.findings.values()] == [2]
    assert (
        "key4 of 2026-01-06 to mailto:4@x.example"
        in seen.verdict.findings["held, and nobody tried"]
    )
