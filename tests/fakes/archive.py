"""What the fake arXiv knows, and from when on.

The states of papers, each public with its announcement.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from importlib.resources import files

from digest.arxiv.oai import parse_oai
from digest.model.announcements import EASTERN, announcement_moment, has_announcement
from digest.model.errors import UnknownName
from digest.model.papers import ArxivId, Author, Paper
from tests.fakes.accents import to_utf8

DEADLINE = time(14, 0)
"""Until when, Eastern time, a submission makes it into an announcement.

See https://info.arxiv.org/help/availability.html.
"""

LICENSE = "http://creativecommons.org/licenses/by/4.0/"
_SUNDAY = 6


@dataclass(frozen=True, slots=True)
class DemoPaper:
    """What arXiv says of one paper, in raw TeX, from `announced` until a later state of its id.

    `submitted` is when each version was; paragraphs of the abstract are separated by a line break
    and two blanks.
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


def plan_announcement(submitted: datetime) -> datetime:
    """Return when a paper submitted then is announced, if no moderator holds it."""
    day = submitted.astimezone(EASTERN).date()
    while not has_announcement(day) or _deadline(day) < submitted:
        day += timedelta(days=1)
    return announcement_moment(day)


def open_window(day: date) -> tuple[datetime, datetime]:
    """Return from when until when (Eastern time) papers make it into this date's announcement."""
    before = day - timedelta(days=1)
    while not has_announcement(before):
        before -= timedelta(days=1)
    return _deadline(before), _deadline(day)


def _deadline(day: date) -> datetime:
    closing = day - timedelta(days=2) if day.weekday() == _SUNDAY else day
    return datetime.combine(closing, DEADLINE, tzinfo=EASTERN)


@cache
def read_demo_papers(until: date = date(2026, 11, 19)) -> tuple[DemoPaper, ...]:
    """Return every state of the papers that `digest demo` shows, up to an announcement."""
    file = files("digest.demo") / "papers.xml"
    page = parse_oai(file.read_bytes())
    states: list[DemoPaper] = []
    for paper in dict.fromkeys(page.papers):
        if paper.datestamp is None:
            continue
        day = paper.datestamp - timedelta(days=1)
        if day <= until:
            states.append(_read_state(paper, day))
    return tuple(states)


def _read_state(paper: Paper, announced: date) -> DemoPaper:
    replaced = [paper.updated] * (paper.version - 1)
    return DemoPaper(
        id=str(paper.id),
        announced=announcement_moment(announced),
        submitted=(paper.published, *replaced),
        title=paper.title,
        abstract=paper.abstract,
        authors=paper.authors,
        categories=paper.categories,
        comment=paper.comment,
        license=paper.license,
        is_withdrawn=paper.is_withdrawn,
    )


def show(paper: DemoPaper) -> Paper:
    """Return a paper as arXiv's search sees it: accents as letters."""
    authors = []
    for author in paper.authors:
        name = to_utf8(author.name)
        affiliations = tuple(map(to_utf8, author.affiliations))
        authors.append(Author(name, affiliations))
    return Paper(
        id=paper.order,
        version=paper.version,
        title=to_utf8(paper.title),
        abstract=to_utf8(paper.abstract),
        authors=tuple(authors),
        categories=paper.categories,
        published=paper.submitted[0],
        updated=paper.submitted[-1],
        comment=to_utf8(paper.comment),
        journal_ref=paper.journal_ref,
        dois=tuple(paper.doi.split()),
        report_no=paper.report_no,
        license=paper.license,
        is_withdrawn=paper.is_withdrawn,
    )


class Archive:
    """States of papers in order of announcement. Safe between threads."""

    def __init__(self, papers: Iterable[DemoPaper] = ()) -> None:
        self._states: dict[str, list[DemoPaper]] = {}
        self._lock = threading.Lock()
        self.add(*papers)

    def add(self, *papers: DemoPaper) -> None:
        """Take in papers, or later states of known ones.

        Each becomes public when `announced` says.
        """
        with self._lock:
            for paper in papers:
                states = self._states.setdefault(paper.id, [])
                states.append(paper)
                states.sort(key=lambda state: state.announced)

    def last(self, paper_id: str) -> DemoPaper:
        """Return the newest state of a paper, public or not yet."""
        with self._lock:
            states = self._states.get(paper_id)
        if states is None:
            raise UnknownName(f"this arXiv knows no paper {paper_id}")
        return states[-1]

    def states(self, paper_id: str, moment: datetime) -> tuple[DemoPaper, ...]:
        """Return what has been public of a paper, oldest first."""
        with self._lock:
            states = self._states.get(paper_id, ())
            return tuple(state for state in states if state.announced <= moment)

    def list_public(self, moment: datetime) -> tuple[DemoPaper, ...]:
        """Return every public paper's current state, in order of announcement."""
        with self._lock:
            names = list(self._states)
        current = []
        for name in names:
            states = self.states(name, moment)
            if states:
                current.append(states[-1])
        current.sort(key=lambda paper: (paper.announced, paper.order))
        return tuple(current)
