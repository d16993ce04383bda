"""The past of a new saved query, from arXiv's search API where the store does not reach far enough.

At most a few requests a pass: many new queries at once look back over what is stored, so that a
hundred of them cost no more of arXiv's time than one.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from digest.arxiv.search import walk_search
from digest.pipeline.horizons import horizon_of, write_judge
from digest.pipeline.recording import PollReport, RecordedRun
from digest.planning.firstlook import FIRST_LOOK_PAPERS
from digest.planning.polls import Source
from digest.query import analyse, matches, parse_query, to_arxiv
from digest.store import cursors as cursor_store
from digest.store import matches as match_store
from digest.store import papers as paper_store

if TYPE_CHECKING:
    from digest.pipeline.site import Site

REQUESTS_A_PASS = 5
BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)
"""arXiv's first month: a first look asks for the newest papers, however old."""

PAPERS = 50
"""Asked for: the newest 15 by submission lie within them, whatever was revised lately."""


def look_back(site: Site, report: PollReport) -> None:
    """Fetch the newest papers of saved queries whose first look the store cannot fill."""
    if site.config.arxiv.source != "harvest" or report.failures:
        return
    with site.store.read() as conn:
        pending = {look.revision.canonical: look for look in match_store.pending_first_looks(conn) if look.days}
        if not pending:
            return
        stored = [analyse(change.paper) for change in paper_store.latest_changes(conn)]
        cursor = cursor_store.load_cursor(conn, Source.HARVEST)
        asked = {
            text for text in pending if cursor_store.load_cursor(conn, Source.FIRST_LOOK, text).last_complete_at
        }
    judge = write_judge(horizon_of(cursor))
    queries = {text: parse_query(text) for text in pending if text not in asked}
    thin = [
        text
        for text, query in queries.items()
        if sum(1 for _ in islice((p for p in stored if matches(query, p)), FIRST_LOOK_PAPERS)) < FIRST_LOOK_PAPERS
    ]
    for text in thin[:REQUESTS_A_PASS]:
        site.progress.begin("poll", f"{pending[text].revision.name}: its newest papers, for a first look")
        run = RecordedRun(site, report, Source.FIRST_LOOK, text, judge=judge)
        with run.recording(window_from=(site.clock.now() - timedelta(days=pending[text].days)).date()):
            for page in islice(walk_search(site.client, to_arxiv(queries[text]), until=BEGINNING, size=PAPERS), 1):
                run.store_page(page)
        site.progress.end("poll", run.summary())
        if run.stops_all:
            return
