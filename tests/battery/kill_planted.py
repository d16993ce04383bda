"""Small batteries with a fault planted in each: the judge must find every one, and nothing where there is none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.battery.kill import Outcome, run_battery
from tests.battery.kill_plan import KillPlan
from tests.battery.planted import FAULTS

_DELIVERIES, _KILLS = 60, 2


def run_planted(seed: int, tell: Callable[[str], object]) -> bool:
    """Run one small battery without and one with each fault; return whether all came out as they should."""
    control = run_fault("", seed)
    are_right = [not control.verdict.findings]
    tell(f"{'no fault':>17}: {_describe(control) or 'nothing found, as it should be'}")
    for name, fault in FAULTS.items():
        outcome = run_fault(name, seed)
        is_found = bool(outcome.verdict.findings.keys() & {*fault.found_by})
        are_right.append(is_found)
        tell(f"{name:>17}: {'found' if is_found else 'NOT FOUND'} · {fault.what} · {_describe(outcome)}")
    tell(f"{sum(are_right)} of {len(are_right)} as they should be, seed {seed}")
    return all(are_right)


def run_fault(name: str, seed: int) -> Outcome:
    """Run one small battery; `name` is "" for none."""
    fault = FAULTS.get(name)
    plan = KillPlan(
        seed=seed,
        mode="sqlite",
        deliveries=_DELIVERIES,
        kills=_KILLS,
        pauses=0,
        long_pauses=0,
        restarts=0,
        lossy=0.2,
        at_marks=fault is not None and fault.needs_death,
    )
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        return run_battery(plan, Path(folder), fault=name)


def _describe(outcome: Outcome) -> str:
    return ", ".join(f"{check} × {len(found)}" for check, found in sorted(outcome.verdict.findings.items()))
