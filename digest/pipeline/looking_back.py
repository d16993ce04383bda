"""The past of a new saved query, from arXiv's search API where the store does not reach far enough.

Only as many requests are made as the budget of a run and of a day has to spare; a first look without one
waits for a later pass. Where very many are new at once, most look back over what is stored, so that a
thousand of them cost no more of arXiv's time than thirty.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from digest.arxiv.search import walk_search
from digest.pipeline.horizons import horizon_of, load_horizons, make_judge
from digest.pipeline.recording import RecordedRun
from digest.pipeline.searching import find_rest
from digest.planning.firstlook import FIRST_LOOK_PAPERS
from digest.planning.polls import REQUESTS_A_DAY, Source, spare_requests
from digest.planning.searches import is_asked_together
from digest.query import analyse, matches, parse_query, to_arxiv
from digest.store import cursors as cursor_store
from digest.store import matches as match_store
from digest.store import overview
from digest.store import papers as paper_store
from digest.store import queries as query_store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from digest.pipeline.horizons import Judge
    from digest.pipeline.poll_report import PollReport
    from digest.pipeline.site import Site
    from digest.store.matches import FirstLook

BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)
"""arXiv's first month: a first look asks for the newest papers, however old."""

PAPERS = 50
"""Asked for: the newest 15 by submission lie within them, whatever was revised lately."""


def look_back(site: Site, report: PollReport) -> None:
    """Fetch the newest papers of saved queries whose first look the store cannot fill.

    What finds no request to spare is noted in the report, and goes on waiting.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        pending = {look.revision.canonical: look for look in match_store.pending_first_looks(conn) if look.days}
        if not pending:
            return
        texts = {revision.canonical for revision in query_store.active_revisions(conn)}
        if site.config.arxiv.source == "query" and not is_asked_together(texts):
            looked = cursor_store.load_cursors(conn, Source.QUERY)
            report.awaiting = frozenset(text for text in pending if text not in looked)
            return  # its own search is its first look
        if report.failures:
            return
        if site.config.arxiv.source == "harvest":
            judge = make_judge(horizon_of(cursor_store.load_cursor(conn, Source.HARVEST)))
        else:
            judge = load_horizons(conn).judge_joint(texts, find_rest(conn, now))
        thin = _find_thin(conn, pending)
        made = 0 if report.is_bootstrap else report.requests
        made_today = overview.count_requests(conn, now - timedelta(hours=24)) - (report.requests - made)
    spare = spare_requests(made, made_today)
    report.awaiting = frozenset(thin[spare:REQUESTS_A_DAY])
    for text in thin[:spare]:
        if not _fetch_newest(site, report, pending[text], judge):
            return


def _find_thin(conn: Connection, texts: Collection[str]) -> list[str]:
    """Return the queries that match too little of what is stored, and were not asked for their newest papers."""
    asked = cursor_store.load_cursors(conn, Source.FIRST_LOOK)
    queries = {text: parse_query(text) for text in texts if text not in asked}
    stored = [analyse(change.paper) for change in paper_store.latest_changes(conn)] if queries else []
    return [
        text
        for text, query in queries.items()
        if _count_up_to(FIRST_LOOK_PAPERS, (paper for paper in stored if matches(query, paper)))
        < FIRST_LOOK_PAPERS
    ]


def _count_up_to(enough: int, found: Iterable[object]) -> int:
    return sum(1 for _ in islice(found, enough))


def _fetch_newest(site: Site, report: PollReport, look: FirstLook, judge: Judge) -> bool:
    """Ask for the newest papers of a query; return False where asking for anything else is pointless."""
    text, name = look.revision.canonical, look.revision.name
    site.progress.begin("poll", f"{name}: its newest papers, for a first look")
    run = RecordedRun(site, report, Source.FIRST_LOOK, text, judge=judge)
    pages = walk_search(site.client, to_arxiv(parse_query(text)), until=BEGINNING, size=PAPERS, asks_twice=True)
    with run.recording(window_from=(site.clock.now() - timedelta(days=look.days)).date()):
        for page in islice(pages, 1):
            run.store_page(page)
    site.progress.end("poll", run.summary())
    return not run.stops_all
