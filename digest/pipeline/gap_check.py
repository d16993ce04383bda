"""The gap check: after a complete harvest, arXiv is asked for the ids that are missing between stored ones.

What a harvest lost between two pages, and what arXiv's own index filled in late, is found here. An id
that arXiv does not know is asked for again for a week and then void. A check is a line of the ledger
even where nothing is missing: it is what shows that a mailing is all there.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.arxiv.client import IDS_LIMIT
from digest.arxiv.oai import UnknownPaper
from digest.arxiv.search import fetch_papers
from digest.pipeline.horizons import horizon_of, make_judge
from digest.pipeline.recording import RecordedRun
from digest.planning.gaps import (
    SPARSE,
    asked_one_by_one,
    choose_due,
    explain_void,
    find_missing,
    is_sparse,
    is_void,
)
from digest.planning.polls import REQUESTS_A_RUN, Source, spare_requests
from digest.store import cursors as cursor_store
from digest.store import gaps as gap_store
from digest.store import overview

if TYPE_CHECKING:
    from collections.abc import Sequence

    from digest.pipeline.poll_report import PollReport
    from digest.pipeline.site import Site
    from digest.planning.gaps import Gap

RESERVED = 2
"""Requests of a run for ids never asked for yet, whatever else was asked that day: a mailing is not complete
before they were."""


def check_gaps(site: Site, report: PollReport) -> None:
    """Ask for the ids that are missing, as far as the budget of requests goes; only after a complete harvest."""
    if site.config.arxiv.source != "harvest" or report.failures or not report.runs:
        return
    now = site.clock.now()
    with site.store.begin() as conn:
        cursor = cursor_store.load_cursor(conn, Source.HARVEST)
        stored, mark = gap_store.load_numbers(conn), (cursor.mark_month, cursor.mark_number)
        missing = list(find_missing(stored, mark))
        if is_sparse(stored, missing, mark):
            gap_store.void_gaps(conn, [(gap, SPARSE) for gap in gap_store.load_open(conn)], now)
        else:
            gap_store.note_missing(conn, missing, now)
        gap_store.close_found(conn, now)
        due = choose_due(gap_store.load_open(conn), now)
        made_today = overview.count_requests(conn, now - timedelta(hours=24))
    is_untold = any(gap.asked_at is None for gap in due)
    in_budget = spare_requests(report.requests, made_today)
    reserved = min(RESERVED, max(0, REQUESTS_A_RUN - report.requests))
    spare = max(in_budget, reserved if is_untold else 0)
    one_by_one = asked_one_by_one([gap.id for gap in due], in_budget)
    asked = due if one_by_one else due[: spare * IDS_LIMIT]
    if asked:
        site.progress.begin("poll", f"{_count(asked)} missing between stored ones")
    run = RecordedRun(site, report, Source.GAPS, judge=make_judge(horizon_of(cursor)))
    with run.recording(window_from=min((gap.missed_at for gap in due), default=now).date()):
        if one_by_one:
            _ask_one_by_one(site, run, asked)
        else:
            _ask_together(site, run, asked)
        unasked = [gap for gap in due if gap.asked_at is None and gap not in asked]
        if unasked:
            run.note_shortfall(f"{_count(unasked)} could not be asked for yet")
    if asked:
        found = f"{run.papers:,} found, {len(asked) - run.papers:,} unknown to arXiv"
        site.progress.end("poll", run.summary() if run.failure else found)


def _ask_one_by_one(site: Site, run: RecordedRun, gaps: Sequence[Gap]) -> None:
    """Ask the harvest's own interface, which knows a paper before the search does."""
    for gap in gaps:
        with suppress(UnknownPaper):  # what is not found is noted below
            run.store_page(site.client.get_record(gap.id))
        _settle(site, [gap])


def _ask_together(site: Site, run: RecordedRun, gaps: Sequence[Gap]) -> None:
    for first in range(0, len(gaps), IDS_LIMIT):
        some = gaps[first : first + IDS_LIMIT]
        for page in fetch_papers(site.client, [gap.id for gap in some]):
            run.store_page(page)
        _settle(site, some)


def _settle(site: Site, asked: Sequence[Gap]) -> None:
    """Note that ids were asked for, which of them were found, and which are given up."""
    now = site.clock.now()
    with site.store.begin() as conn:
        gap_store.close_found(conn, now)
        gap_store.note_asked(conn, asked, now)
        still = {gap.id for gap in asked}
        given_up = [gap for gap in gap_store.load_open(conn) if gap.id in still and is_void(gap)]
        gap_store.void_gaps(conn, [(gap, explain_void(gap)) for gap in given_up], now)


def _count(gaps: Sequence[Gap]) -> str:
    return f"{len(gaps):,} id{'s' * (len(gaps) != 1)}"
