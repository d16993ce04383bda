"""A paper as the demo's arXiv knows it, and the announcement that makes it public."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from digest.model.announcements import EASTERN, has_mailing, mailing_moment
from digest.model.papers import ArxivId, Author, Version

DEADLINE = time(14, 0)
"""Until when, Eastern time, a submission makes it into an announcement (https://info.arxiv.org/help/availability.html)."""

LICENSE = "http://creativecommons.org/licenses/by/4.0/"
_SUNDAY = 6


@dataclass(frozen=True, slots=True)
class DemoPaper:
    r"""What arXiv says of one paper from one announcement on, until a later state of the same id.

    Attributes:
        id: the identifier without version.
        announced: from when on this is public (UTC).
        submitted: when each version was submitted (UTC); as many as there are versions.
        title: raw TeX, as are all texts.
        abstract: raw; paragraphs are separated by "\n  ".
        authors: names and affiliations, raw.
        categories: primary first.
        doi: as typed: several are separated by blanks.
        is_withdrawn: the current version withdraws the paper.
    """

    id: str
    announced: datetime
    submitted: tuple[datetime, ...]
    title: str
    abstract: str
    authors: tuple[Author, ...]
    categories: tuple[str, ...]
    comment: str = ""
    journal_ref: str = ""
    doi: str = ""
    report_no: str = ""
    license: str = LICENSE
    submitter: str = ""
    is_withdrawn: bool = False

    @property
    def version(self) -> int:
        """The current version's number."""
        return len(self.submitted)

    @property
    def order(self) -> ArxivId:
        """The id as a value that sorts by announcement."""
        return ArxivId.parse(self.id)

    def list_versions(self) -> tuple[Version, ...]:
        """Return the history; sizes are made up, but stay the same."""
        size = f"{len(self.abstract) % 900 + 40}kb"
        versions = [Version(number, moment, size) for number, moment in enumerate(self.submitted, start=1)]
        if self.is_withdrawn:
            versions[-1] = replace(versions[-1], size="0kb", source_type="I")
        return tuple(versions)


def plan_mailing(submitted: datetime) -> datetime:
    """Return when a paper submitted then is announced, if no moderator holds it."""
    day = submitted.astimezone(EASTERN).date()
    while not (has_mailing(day) and _deadline(day) >= submitted):
        day += timedelta(days=1)
    return mailing_moment(day)


def open_window(day: date) -> tuple[datetime, datetime]:
    """Return from when until when (Eastern time) papers are submitted for the announcement of this date."""
    before = day - timedelta(days=1)
    while not has_mailing(before):
        before -= timedelta(days=1)
    return _deadline(before), _deadline(day)


def _deadline(day: date) -> datetime:
    closing = day - timedelta(days=2) if day.weekday() == _SUNDAY else day
    return datetime.combine(closing, DEADLINE, tzinfo=EASTERN)
