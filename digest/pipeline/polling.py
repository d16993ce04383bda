"""poll | parse | compare: ask arXiv for what is due, and commit page by page what it announced.

Each page is one transaction: papers, versions and changes together with the raw bytes and the counts
they prove. The cursor moves only when a run is complete, so a run that dies is simply made again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from digest.arxiv.harvest import walk_records
from digest.arxiv.search import walk_search
from digest.pipeline.horizons import load_horizons
from digest.pipeline.recording import PollReport, RecordedRun
from digest.planning.polls import (
    Source,
    describe_pause,
    harvest_from,
    is_poll_due,
    search_until,
)
from digest.query import parse_query, to_arxiv
from digest.store import cursors as cursor_store
from digest.store import queries as query_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from digest.pipeline.site import Site


PAGE = 200
"""Papers asked for at once; arXiv drops pages of thousands more often than small ones."""


def poll(site: Site, *, even_if_not_due: bool = False) -> PollReport:
    """Ask arXiv for whatever is due, by harvest or by saved query, and store what it announced.

    An error of arXiv ends the look, is kept with the run, and is returned in the report: the rest of
    the pass (digests due, deliveries waiting) goes on without it.
    """
    report = PollReport()
    if site.config.arxiv.source == "harvest":
        _poll_harvest(site, report, even_if_not_due=even_if_not_due)
    else:
        _poll_queries(site, report, even_if_not_due=even_if_not_due)
    return report


def _poll_harvest(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        cursor = cursor_store.load_cursor(conn, Source.HARVEST)
        last_failure = run_store.last_failure(conn, Source.HARVEST)
    if not (even_if_not_due or is_poll_due(cursor.last_complete_at, last_failure, now)):
        report.why_not = describe_pause(cursor.last_complete_at, last_failure, now)
        return
    from_date = harvest_from(cursor.complete_from, now)
    report.was_due, report.is_bootstrap = True, not cursor.is_bootstrapped
    site.progress.begin("poll", f"everything arXiv announced since {from_date:%a %-d %b}")
    run = RecordedRun(site, report, Source.HARVEST, "", is_bootstrap=not cursor.is_bootstrapped)
    with run.recording(window_from=from_date):
        for page in walk_records(site.client, from_date):
            run.store_page(page, horizons.judge_harvested)
    site.progress.end("poll", run.summary())


def _poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask once per distinct saved query, those asked before first.

    A query asked for the first time shows old papers, and among them ones that are news to the queries
    before it; so the others look first, and what their look failed to bring stays news.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        revisions = {revision.canonical: revision for revision in query_store.active_revisions(conn)}
        cursors = {text: cursor_store.load_cursor(conn, Source.QUERY, text) for text in revisions}
        failures = {text: run_store.last_failure(conn, Source.QUERY, text) for text in revisions}
    order = sorted(revisions, key=lambda text: (horizons.is_newcomer(text), text))
    due = [
        text
        for text in order
        if even_if_not_due or is_poll_due(cursors[text].last_complete_at, failures[text], now)
    ]
    if not due and order:
        oldest = min((cursors[text].last_complete_at for text in order), key=lambda at: at or now)
        report.why_not = describe_pause(oldest, max(filter(None, failures.values()), default=None), now)
    for text in due:
        report.was_due = True
        site.progress.begin("poll", f"{revisions[text].name}: {revisions[text].text}")
        run = RecordedRun(site, report, Source.QUERY, text, is_bootstrap=horizons.is_newcomer(text))
        until = search_until(cursors[text].last_complete_at, now)
        with run.recording(window_from=until.date()):
            for page in walk_search(site.client, to_arxiv(parse_query(text)), until=until, size=PAGE):
                run.store_page(page, partial(horizons.judge_found, text))
        site.progress.end("poll", run.summary())
        if run.stops_all:
            return
