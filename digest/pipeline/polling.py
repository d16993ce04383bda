"""poll | parse | compare: ask arXiv for what is due, and commit page by page what it announced.

Each page is one transaction: papers, versions and changes together with the raw bytes and the counts
they prove. The cursor moves only when a run is complete, so a run that dies is simply made again.
"""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from digest.arxiv.harvest import find_day, walk_records
from digest.arxiv.oai import TokenExpired
from digest.pipeline.horizons import load_horizons
from digest.pipeline.poll_report import PollReport
from digest.pipeline.recording import RecordedRun
from digest.pipeline.searching import poll_queries, stand_in_for_harvest
from digest.planning.polls import (
    BOOTSTRAP_DAYS,
    HARVEST_OVERLAPS,
    LEAST_OVERLAP,
    WIDER_BOOTSTRAP_DAYS,
    Source,
    choose_reach,
    describe_pause,
    harvest_from,
    is_poll_due,
)
from digest.store import cursors as cursor_store
from digest.store import mailings as mailing_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.arxiv.client import Fetched
    from digest.arxiv.oai import OaiPage
    from digest.pipeline.site import Site
    from digest.store.runs import PollRun


_RESUMED_WITHIN = timedelta(hours=6)
"""A harvest that was broken off longer ago is begun anew."""

WIDER = timedelta(days=WIDER_BOOTSTRAP_DAYS - BOOTSTRAP_DAYS)


def poll(site: Site, *, even_if_not_due: bool = False) -> PollReport:
    """Ask arXiv for whatever is due, by harvest or by saved query, and store what it announced.

    An error of arXiv ends the look, is kept with the run, and is returned in the report: the rest of
    the pass (digests due, deliveries waiting) goes on without it.
    """
    report = PollReport()
    if site.config.arxiv.source == "harvest":
        _poll_harvest(site, report, even_if_not_due=even_if_not_due)
    else:
        poll_queries(site, report, even_if_not_due=even_if_not_due)
    return report


def _poll_harvest(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        cursor = cursor_store.load_cursor(conn, Source.HARVEST)
        last = run_store.last_looks(conn, Source.HARVEST)
        reaching = {days: run_store.last_reaching(conn, Source.HARVEST, days) for days, _ in HARVEST_OVERLAPS}
        newest = mailing_store.find_newest(conn, is_harvested=True)
        broken_off = _find_broken_off(conn, now)
    if not (even_if_not_due or is_poll_due(last, now)):
        report.why_not = describe_pause(last, now)
        return
    is_bootstrap = not cursor.is_bootstrapped
    overlap = BOOTSTRAP_DAYS if is_bootstrap else choose_reach(HARVEST_OVERLAPS, LEAST_OVERLAP, reaching, now)
    from_date = harvest_from(cursor.complete_from, now, overlap, newest[1] if newest else None)
    what = "everything arXiv announced since"
    if broken_off is not None:
        from_date, overlap = broken_off.window_from or from_date, broken_off.lookback
        what = "where the last look broke off, of what was touched since"
    report.was_due, report.is_bootstrap = True, is_bootstrap
    run = RecordedRun(
        site,
        report,
        Source.HARVEST,
        judge=horizons.judge_harvest(),
        is_bootstrap=is_bootstrap,
        lookback=overlap,
    )
    site.progress.begin("poll", f"{what} {from_date:%a %-d %b}")
    with run.recording(window_from=from_date, resumed=broken_off):
        for page in _walk(site, from_date, broken_off, is_bootstrap=is_bootstrap):
            run.store_page(page)
        if is_bootstrap and not run.papers and broken_off is None:
            site.progress.update("nothing there; looking further back")
            for page in walk_records(site.client, run.widen(from_date - WIDER)):
                run.store_page(page)
    site.progress.end("poll", run.summary())
    if run.failure is not None and not is_bootstrap:
        stand_in_for_harvest(site, report, run.failure, last, horizons)


def _walk(
    site: Site, from_date: date, broken_off: PollRun | None, *, is_bootstrap: bool
) -> Iterator[Fetched[OaiPage]]:
    """Go through the harvest; where one was broken off, from there on.

    A first look goes on with the page after the last one stored. Any other reads that page's day from its
    beginning: what was touched meanwhile has left the day's list, others have moved up into what was read
    already, and a change among them would never be met again.
    """
    if broken_off is not None and not is_bootstrap:
        from_date = find_day(broken_off.next_token) or from_date
    elif broken_off is not None:
        try:
            yield from walk_records(site.client, from_date, token=broken_off.next_token)
        except TokenExpired:
            site.progress.update("the list has changed since; it is read from its beginning")
        else:
            return
    yield from walk_records(site.client, from_date)


def _find_broken_off(conn: Connection, now: datetime) -> PollRun | None:
    """Return the last harvest where it was broken off behind a page, while its token is good and it is fresh.

    Tokens end at midnight UTC. A list is in order of the days papers were touched, and what is touched
    meanwhile moves to its end, so nothing is missed behind the day where it is gone on with.
    """
    runs = run_store.last_runs(conn, Source.HARVEST, 1)
    if not runs or not runs[0].has_failed or not runs[0].next_token:
        return None  # one that runs now belongs to another replica
    same_day = runs[0].started_at.astimezone(UTC).date() == now.astimezone(UTC).date()
    return runs[0] if same_day and now - runs[0].started_at < _RESUMED_WITHIN else None
