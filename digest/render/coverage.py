"""Says in words what was checked.

The sentence is the same in every medium. A digest without papers says which of three things
happened: the check was complete and nothing matched, it is not complete yet, or it failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.model.announcements import EASTERN, latest_mailing, mailing_moment
from digest.render.text import clean_text, name_zone, shorten, write_day, write_days

if TYPE_CHECKING:
    from datetime import date

    from digest.model.messages import Coverage

_INSTANT = timedelta(microseconds=1)
_LONGEST_FAILURE = 200


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
        sentence: what was checked, without capital and full stop: `announcement of Thu 19 Nov: complete, …`.
    """

    state: CoverageState
    sentence: str


def describe_coverage(coverage: Coverage, zone: str = EASTERN.key) -> CoverageView:
    """Say what was checked, how far that got, and when.

    Args:
        zone: IANA zone its reader goes by; announcements keep arXiv's dates all the same.
    """
    when = _say_when(coverage, ZoneInfo(zone))
    if coverage.failure:
        sentence = f"{_name_failure(coverage.failure)}; the rest follows"
        return CoverageView(CoverageState.FAILED, sentence)
    if coverage.mailing is None and coverage.is_complete and coverage.source == "query":  # a search on its own
        sentence = f"arXiv's search{when}"
        return CoverageView(CoverageState.COMPLETE, sentence)
    if coverage.mailing is None:
        sentence = "no announcement has been checked yet"
        return CoverageView(CoverageState.NONE, sentence)
    by_search = ", by search" if coverage.source == "query" else ""
    mailing = f"{_name_mailings(coverage.since, coverage.mailing)}{by_search}"
    if coverage.is_awaited:
        return _describe_awaited(coverage, coverage.mailing, when)
    looked_at = coverage.new or coverage.looked_at
    # Figures that do not belong together stay out.
    is_known = looked_at > 0 if coverage.matched is None else looked_at >= coverage.matched
    found = f"{coverage.new:,} new" if is_known and coverage.new else ""
    matched = f"{coverage.matched:,} matched" if is_known and coverage.matched is not None else ""
    if coverage.told_at:
        matched = "nothing more matched"
    total = f", {found}" if found else ""
    if coverage.is_complete:
        end = f"; {matched}" if matched else ""
        sentence = f"{mailing}: complete{total}{when}{end}"
        return CoverageView(CoverageState.COMPLETE, sentence)
    end = f"; {matched}, the rest follows" if matched else "; the rest follows"
    sentence = f"{mailing}: still incomplete{total}{when}{end}"
    return CoverageView(CoverageState.INCOMPLETE, sentence)


def _describe_awaited(coverage: Coverage, mailing: date, when: str) -> CoverageView:
    """Say that an announcement is not out yet, and what the others that a digest covers brought."""
    it_follows = f"not out yet{when}; it follows when arXiv shows it"
    if coverage.since is None or not coverage.new:
        sentence = f"{_name_mailings(coverage.since, mailing)}: {it_follows}"
        return CoverageView(CoverageState.INCOMPLETE, sentence)
    before = latest_mailing(mailing_moment(mailing) - _INSTANT)
    earlier = _name_mailings(coverage.since if coverage.since < before else None, before)
    figures = [f"{coverage.new:,} new"]
    if coverage.told_at:
        figures.append("nothing more matched")
    elif coverage.matched is not None and coverage.matched <= coverage.new:
        figures.append(f"{coverage.matched:,} matched")
    sentence = f"{earlier}: {', '.join(figures)}; that of {write_day(mailing)}: {it_follows}"
    return CoverageView(CoverageState.INCOMPLETE, sentence)


def _name_mailings(since: date | None, last: date) -> str:
    return (
        f"announcements of {write_day(since)} to {write_day(last)}"
        if since
        else f"announcement of {write_day(last)}"
    )


def write_span(coverage: Coverage) -> str:
    """Say which announcements a digest covers: `covers 3 announcements, 17–19 November`; "" for one alone."""
    if coverage.since is None or coverage.mailing is None or coverage.mailings < 2:  # noqa: PLR2004 - one is no span
        return ""
    return f"covers {coverage.mailings} announcements, {write_days(coverage.since, coverage.mailing)}"


def _name_failure(failure: str) -> str:
    told = shorten(clean_text(failure), _LONGEST_FAILURE).rstrip(".")
    if told.lower().startswith("arxiv"):
        return f"arXiv{told[len('arxiv') :]}"
    return f"arXiv could not be reached: {told}"


def _say_when(coverage: Coverage, zone: ZoneInfo) -> str:
    if coverage.checked_at is None:
        return ""
    local = coverage.checked_at.astimezone(zone)
    day = "" if local.date() == coverage.mailing else f"{write_day(local.date())} "
    return f", checked {day}{local:%H:%M} {name_zone(local)}"
