"""poll | parse | compare: ask arXiv for what is due, and commit page by page what it announced.

Each page is one transaction: papers, versions and changes together with the raw bytes and the counts
they prove. The cursor moves only when a run is complete, so a run that dies is simply made again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from digest.arxiv.harvest import walk_records
from digest.arxiv.search import walk_search
from digest.comparing import Horizon
from digest.pipeline.recording import PollReport, RecordedRun
from digest.planning.polls import (
    EDIT_MARGIN,
    QUERY_LOOKBACK,
    Source,
    describe_pause,
    harvest_from,
    is_poll_due,
)
from digest.query import matches, parse_query, to_arxiv
from digest.store import cursors as cursor_store
from digest.store import queries as query_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.papers import Paper
    from digest.pipeline.site import Site
    from digest.query import Query
    from digest.store.cursors import Cursor


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
        cursor = cursor_store.load_cursor(conn, Source.HARVEST)
        last_failure = run_store.last_failure(conn, Source.HARVEST)
    if not (even_if_not_due or is_poll_due(cursor.last_complete_at, last_failure, now)):
        report.why_not = describe_pause(cursor.last_complete_at, last_failure, now)
        return
    from_date = harvest_from(cursor.complete_from, now)
    report.was_due, report.is_bootstrap = True, not cursor.is_bootstrapped
    site.progress.begin("poll", f"everything arXiv announced since {from_date:%a %-d %b}")
    run = RecordedRun(site, report, Source.HARVEST, "", is_bootstrap=not cursor.is_bootstrapped)
    horizon = horizon_of(cursor)
    with run.recording(window_from=from_date):
        for page in walk_records(site.client, from_date):
            run.store_page(page, lambda _: horizon)
    site.progress.end("poll", run.summary())


def _poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask once per distinct saved query, those asked before first.

    A query asked for the first time shows old papers, and among them ones that are news to the queries
    before it; so the others look first, and what their look failed to bring stays news (see
    `_horizon_for_newcomer`).
    """
    now = site.clock.now()
    with site.store.read() as conn:
        revisions = {revision.canonical: revision for revision in query_store.active_revisions(conn)}
        cursors = {text: cursor_store.load_cursor(conn, Source.QUERY, text) for text in revisions}
        failures = {text: run_store.last_failure(conn, Source.QUERY, text) for text in revisions}
    watched = [(parse_query(text), cursors[text]) for text in revisions if cursors[text].is_bootstrapped]
    order = sorted(revisions, key=lambda text: (not cursors[text].is_bootstrapped, text))
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
        query, cursor = parse_query(text), cursors[text]
        site.progress.begin("poll", f"{revisions[text].name}: {revisions[text].text}")
        run = RecordedRun(site, report, Source.QUERY, text, is_bootstrap=not cursor.is_bootstrapped)
        own = horizon_of(cursor)
        with run.recording(window_from=(now - QUERY_LOOKBACK).date()):
            for page in walk_search(site.client, to_arxiv(query), until=now - QUERY_LOOKBACK, size=PAGE):
                run.store_page(page, partial(_horizon_for_newcomer, own=own, watched=watched))
        site.progress.end("poll", run.summary())
        if run.stops_all:
            return


def horizon_of(cursor: Cursor) -> Horizon:
    """Return what a source had announced before Digest first looked, from its cursor."""
    since = cursor.bootstrapped_at - EDIT_MARGIN if cursor.bootstrapped_at else None
    return Horizon(
        is_bootstrap=not cursor.is_bootstrapped,
        mark=(cursor.mark_month, cursor.mark_number),
        since=since,
    )


def _horizon_for_newcomer(paper: Paper, own: Horizon, watched: Sequence[tuple[Query, Cursor]]) -> Horizon:
    """Return the horizon a paper is judged by: that of a query asked before, where one watches it already."""
    if not own.is_bootstrap:
        return own
    for query, cursor in watched:
        horizon = horizon_of(cursor)
        if horizon.since and paper.updated >= horizon.since and matches(query, paper):
            return horizon
    return own
