"""Says when a workflow must start, and whether the one beside digest.toml does."""

from __future__ import annotations

import re

from digest.config import Config
from digest.model.cadences import Cadence, CadenceKind
from digest.plan.slots import Starts, plan_starts, plan_starts_in_utc

WORKFLOW = ".github/workflows/digest.yml"

_STARTS = re.compile(
    r"""
    ^[ ]*-[ ]cron:[ ]*["']?     ([^"'#\n]*?)  ["']?[ ]*(?:[#].*)?$  # - cron: "35 6 * * 1-5"
    (?:
        \n[ ]+timezone:[ ]*["']?([\w/+-]+)    ["']?[ ]*(?:[#].*)?$  #   timezone: "Europe/Berlin"
    )?
    """,
    re.MULTILINE | re.VERBOSE,
)
"""A start, as a workflow's `schedule:` writes it; without a zone it is in UTC."""


def plan_schedule(config: Config, year: int) -> tuple[Starts, Starts]:
    """Return when a workflow must start: by the zones of the cadences, and in UTC.

    The second is () if both are the same.
    """
    cadences = [one.cadence for one in config.subscriptions if one.has_digests]
    if not cadences:
        cadences = [Cadence(CadenceKind.ANNOUNCEMENT)]
    schedule = plan_starts(cadences)
    in_utc = plan_starts_in_utc(cadences, year)
    if in_utc == schedule:
        return schedule, ()
    return schedule, in_utc


def find_schedule_mistake(config: Config, year: int) -> str:
    """Say what is wrong with the schedule of the workflow beside digest.toml, and what to write.

    It is "" if nothing is wrong, or if there is no workflow.
    """
    file = config.folder / WORKFLOW
    if not file.exists():
        return ""
    text = file.read_text(encoding="utf-8", errors="replace")
    found = {(cron, zone or "UTC") for cron, zone in _STARTS.findall(text)}
    schedule, in_utc = plan_schedule(config, year)
    is_by_zone = found.issuperset(schedule)
    is_by_utc = in_utc != () and found.issuperset(in_utc)
    if is_by_zone or is_by_utc:
        return ""
    why = "has no schedule that can be read"
    if found:
        why = "starts at other times than `when` in digest.toml needs"
    lines = [f"{WORKFLOW} {why}. Below `schedule:` write:"]
    for cron, zone in sorted(set(schedule)):
        lines.append(f'    - cron: "{cron}"')
        lines.append(f'      timezone: "{zone}"')
    return "\n".join(lines)
