"""Says in words what was checked.

The sentence is the same in every medium. A digest without papers says which of three things
happened: the check was complete and nothing matched, it is not complete yet, or it failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from digest.model.announcements import EASTERN
from digest.model.clock import write_day
from digest.model.messages import Coverage
from digest.render.text import name_zone

_IT_FOLLOWS = "What is missing comes in your next digest"


class CoverageState(StrEnum):
    """How far the check got: everything, part of it, nothing because it failed, or none was made yet."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class CoverageView:
    """What a template sees of the coverage.

    Attributes:
        state: see `CoverageState`.
        sentence: what was checked, without capital and last full stop: `all 615 papers of Mon 8 Aug were checked`.
    """

    state: CoverageState
    sentence: str


def describe_coverage(coverage: Coverage, zone: str = EASTERN.key, *, is_sample: bool = False) -> CoverageView:
    """Say to a reader how far the check got. What failed in it, word for word, is for operators.

    Args:
        zone: IANA zone its reader goes by; announcements keep arXiv's dates all the same.
        is_sample: of recent papers, which none of an announcement can be missing from.
    """
    local, is_search = ZoneInfo(zone), coverage.source == "query"
    checked = f" {_write_moment(coverage, coverage.checked_at, local)}" if coverage.checked_at else ""
    if is_sample or (coverage.announcement is None and coverage.is_complete and is_search):
        asked = "arXiv's search was asked" if is_search else "arXiv was checked"
        return CoverageView(CoverageState.COMPLETE, f"{asked}{checked}")
    if coverage.failure:
        since = coverage.failing_since
        begun = f" since {_write_moment(coverage, since, local)}" if since else ""
        sentence = f"papers may be missing. {coverage.failure}{begun}. {_IT_FOLLOWS}"
        return CoverageView(CoverageState.FAILED, sentence)
    if coverage.announcement is None:
        return CoverageView(CoverageState.NONE, "no announcement has been checked yet")
    if coverage.is_awaited:
        return CoverageView(CoverageState.INCOMPLETE, "arXiv is late today. Your papers come when it is out")
    days = write_day(coverage.announcement, coverage.announcement)
    days = f"{write_day(coverage.since, coverage.announcement)} to {days}" if coverage.since else days
    if coverage.is_complete:
        is_known = not is_search and coverage.new > 1 and coverage.new >= (coverage.matched or 0)
        number = f"{coverage.new:,} " if is_known else ""  # figures that do not belong together stay out
        sentence = f"all {number}papers of {days} were {'searched' if is_search else 'checked'}"
        return CoverageView(CoverageState.COMPLETE, sentence)
    sentence = f"papers of {days} may be missing: arXiv was last checked{checked}. {_IT_FOLLOWS}"
    return CoverageView(CoverageState.INCOMPLETE, sentence)


def _write_moment(coverage: Coverage, moment: datetime, zone: ZoneInfo) -> str:
    local = moment.astimezone(zone)
    day = "" if local.date() == coverage.announcement else f"{write_day(local, coverage.announcement or local)} "
    return f"{day}{local:%H:%M} {name_zone(local)}"
