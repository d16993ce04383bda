"""What the fake arXiv knows, and from when on: the states of papers, each public with its mailing."""

from __future__ import annotations

import threading
from datetime import datetime
from typing import TYPE_CHECKING

from digest.demo.archive import DemoPaper, open_window, plan_mailing
from digest.model.errors import UnknownName
from digest.model.papers import Author, Paper
from tests.fakes.accents import to_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Archive", "DemoPaper", "open_window", "plan_mailing", "show"]


def show(paper: DemoPaper) -> Paper:
    """Return a paper as arXiv's search sees it: accents as letters."""
    return Paper(
        id=paper.order,
        version=paper.version,
        title=to_utf8(paper.title),
        abstract=to_utf8(paper.abstract),
        authors=tuple(
            Author(to_utf8(author.name), tuple(map(to_utf8, author.affiliations))) for author in paper.authors
        ),
        categories=paper.categories,
        published=paper.submitted[0],
        updated=paper.submitted[-1],
        comment=to_utf8(paper.comment),
        journal_ref=paper.journal_ref,
        dois=tuple(paper.doi.split()),
        report_no=paper.report_no,
        license=paper.license,
        is_withdrawn=paper.is_withdrawn,
        versions=paper.list_versions(),
    )


class Archive:
    """States of papers in order of announcement. Safe between threads."""

    def __init__(self, papers: Iterable[DemoPaper] = ()) -> None:
        self._states: dict[str, list[DemoPaper]] = {}
        self._lock = threading.Lock()
        self.add(*papers)

    def add(self, *papers: DemoPaper) -> None:
        """Take in papers, or later states of known ones; each becomes public when `announced` says."""
        with self._lock:
            for paper in papers:
                states = self._states.setdefault(paper.id, [])
                states.append(paper)
                states.sort(key=lambda state: state.announced)

    def last(self, paper_id: str) -> DemoPaper:
        """Return the newest state of a paper, public or not yet.

        Raises:
            UnknownName: there is no such paper.
        """
        with self._lock:
            states = self._states.get(paper_id)
        if states is None:
            raise UnknownName(f"this arXiv knows no paper {paper_id}")
        return states[-1]

    def states(self, paper_id: str, moment: datetime) -> tuple[DemoPaper, ...]:
        """Return what has been public of a paper, oldest first."""
        with self._lock:
            return tuple(state for state in self._states.get(paper_id, ()) if state.announced <= moment)

    def list_public(self, moment: datetime) -> tuple[DemoPaper, ...]:
        """Return every public paper's current state, in order of announcement."""
        with self._lock:
            names = list(self._states)
        current = [states[-1] for name in names if (states := self.states(name, moment))]
        return tuple(sorted(current, key=lambda paper: (paper.announced, paper.order)))
