"""Our answer to a query held against arXiv's own, over papers submitted in the last days. Nothing is stored."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from digest.arxiv.atom import parse_atom
from digest.arxiv.search import fetch_papers, walk_search
from digest.arxiv.windows import EARLIEST, Window
from digest.planning.auditing import Covered, Dispute, Question, classify_difference
from digest.planning.holding import hold_papers
from digest.query import to_arxiv
from digest.store import archive
from digest.store import papers as paper_store

if TYPE_CHECKING:
    from digest.arxiv.atom import AtomPage
    from digest.arxiv.client import ArxivClient, Fetched
    from digest.papers import ArxivId, Paper
    from digest.pipeline.site import Progress
    from digest.planning.auditing import Difference, DifferenceClass
    from digest.query import Query
    from digest.store import Store

_Papers: TypeAlias = "dict[ArxivId, Paper]"

_CONTROLS = re.compile(rb"\x7f|\xc2[\x80-\x9f]")
"""Control characters that XML allows, in UTF-8: DEL and the second set."""

PAGE: Final = 500
"""Papers asked for at once."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What came of it.

    Attributes:
        query: what was asked.
        asked: how arXiv was asked, the window of days among it.
        first: papers submitted since then (UTC) count …
        last: … and until then.
        theirs: papers in arXiv's answer.
        ours: papers in ours: those stored that match; without any of these days, those of arXiv's answer that do.
        both: papers in both.
        looked_at: stored papers of these days.
        is_stored: whether anything is stored that arXiv's answer could lack.
        differences: in the order of announcement, newest first.
    """

    query: Query
    asked: str
    first: datetime
    last: datetime
    theirs: int
    ours: int
    both: int
    looked_at: int
    is_stored: bool
    differences: tuple[Difference, ...]

    @property
    def counts(self) -> dict[DifferenceClass, int]:
        """How many differences there are of each class, most first."""
        return dict(Counter(difference.kind for difference in self.differences).most_common())

    @property
    def is_clean(self) -> bool:
        """Whether every difference is of a known kind, and nothing was lost."""
        return not any(difference.kind.is_alarming for difference in self.differences)


def audit(
    client: ArxivClient, store: Store | None, query: Query, *, days: int, now: datetime, progress: Progress
) -> Audit:
    """Ask arXiv's search for a query over the last days, and hold its answer against ours.

    Ours is what the evaluator says of every stored paper of these days; where none is stored, of every paper that
    arXiv's answer has, and then no paper can be found that its answer lacks. Such papers are asked for by id,
    which tells whether the search knows them.

    Raises:
        ArxivError: arXiv did not answer well.
    """
    last = now.replace(second=0, microsecond=0)
    window = Window(last - timedelta(days=days), last)
    question = Question(query, window.first, window.last + timedelta(seconds=59))
    asked = window.confine(to_arxiv(query))
    theirs, parted = _search(client, asked, progress)
    stored, looked_at, question = _load_stored(store, question, theirs, progress)
    ours_only = [id_ for id_, paper in stored.items() if id_ not in theirs and question.is_answered_by(paper)]
    copies, parted_copies = _fetch(client, ours_only, progress)
    parted |= parted_copies
    disputes = [
        Dispute(id_, stored.get(id_), theirs.get(id_) or copies.get(id_), id_ in theirs, parted.get(id_))
        for id_ in sorted(theirs.keys() | ours_only, reverse=True)
    ]
    differences = tuple(filter(None, (classify_difference(question, dispute) for dispute in disputes)))
    here = stored if question.is_stored else theirs
    both = sum(id_ in here and question.is_answered_by(here[id_]) for id_ in theirs)
    return Audit(
        query,
        asked,
        window.first,
        window.last,
        theirs=len(theirs),
        ours=both + len(ours_only),
        both=both,
        looked_at=looked_at,
        is_stored=question.is_stored,
        differences=differences,
    )


def _search(client: ArxivClient, asked: str, progress: Progress) -> tuple[_Papers, _Papers]:
    """Return arXiv's answer, and again those of its papers that have control characters, with blanks for them."""
    progress.begin("search", "what arXiv answers")
    found: _Papers = {}
    parted: _Papers = {}
    for fetched in walk_search(client, asked, until=EARLIEST, size=PAGE, asks_twice=True):
        found.update((paper.id, paper) for paper in fetched.page.papers)
        parted |= _part_at_controls(fetched)
        progress.update(f"{len(found):,} of {fetched.page.total:,} papers")
    progress.end("search", f"{len(found):,} found")
    return found, parted


def _load_stored(
    store: Store | None, question: Question, theirs: _Papers, progress: Progress
) -> tuple[dict[ArxivId, Paper], int, Question]:
    """Return the stored papers that either answer may have, how many were looked at, and what is covered."""
    if store is None:
        return {}, 0, question
    progress.begin("read", "what is stored")
    looked_at, stored = 0, {}
    with store.read() as conn:
        submitted = archive.load_submitted(conn, question.first, question.last)
        for paper, met in hold_papers([question.query], submitted):
            looked_at += 1
            if met or paper.id in theirs:
                stored[paper.id] = paper
            if looked_at % PAGE == 0:
                progress.update(f"{looked_at:,} papers")
        known = paper_store.load_known(conn, [id_ for id_ in theirs if id_ not in stored])
        reach = archive.find_reach(conn)
    stored.update({id_: known_paper.paper for id_, known_paper in known.items()})
    progress.end("read", f"{looked_at:,} papers")
    covered = Covered(reach.mark, reach.newest) if reach else None
    return stored, looked_at, replace(question, covered=covered, is_stored=looked_at > 0)


def _fetch(client: ArxivClient, ids: list[ArxivId], progress: Progress) -> tuple[_Papers, _Papers]:
    """Return what arXiv's search knows of some papers, in the same way."""
    found: _Papers = {}
    parted: _Papers = {}
    if ids:
        progress.begin("search", "what it knows of papers it did not bring")
        for fetched in fetch_papers(client, ids):
            found.update((paper.id, paper) for paper in fetched.page.papers)
            parted |= _part_at_controls(fetched)
        progress.end("search", f"{len(found):,} of {len(ids):,}")
    return found, parted


def _part_at_controls(fetched: Fetched[AtomPage]) -> _Papers:
    """Read a page again with blanks for its control characters, which reading drops; return what differs."""
    if not _CONTROLS.search(fetched.body):
        return {}
    as_read = {paper.id: paper for paper in fetched.page.papers}
    again = parse_atom(_CONTROLS.sub(b" ", fetched.body)).papers
    return {paper.id: paper for paper in again if paper.id in as_read and paper != as_read[paper.id]}
