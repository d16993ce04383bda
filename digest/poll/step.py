"""Harvests what is due, then asks for missing ids.

What a harvest lost between two pages, and what arXiv's own index filled in late, is found here. An id
that arXiv does not know is asked for again for a week and then given up. A check is a line of the ledger
even if nothing is missing: it is what shows that an announcement is all there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import Connection

from digest.arxiv.client import IDS_LIMIT, Fetched
from digest.arxiv.oai import OaiPage, TokenExpired, UnknownPaper
from digest.arxiv.pages import fetch_papers, find_day, walk_records
from digest.model.clock import write_day
from digest.model.numbers import count
from digest.model.polls import Gap, Source
from digest.model.said import Said
from digest.poll import rules
from digest.poll.record import (
    PollReport,
    RecordedRun,
    load_novelty_rules,
    make_novelty_rule,
    read_known_before,
)
from digest.poll.search import poll_queries, stand_in_for_harvest
from digest.site import Site
from digest.store.gaps import (
    close_found_gaps,
    give_up_gaps,
    load_announced_numbers,
    load_open_gaps,
    mark_gaps_asked,
    save_gaps,
)
from digest.store.papers import load_newest_paper
from digest.store.runs import (
    PollRun,
    abandon_running,
    count_requests,
    load_cursor,
    load_last_checks,
    load_last_reaching,
    load_last_runs,
)

RESERVED = 2
"""Requests of a run for ids never asked for yet, whatever else was asked that day: an announcement is not complete
before they were."""

_RESUMED_WITHIN = timedelta(hours=6)
"""A harvest that was broken off longer ago is begun anew."""

WIDER = timedelta(days=rules.WIDER_BOOTSTRAP_DAYS - rules.BOOTSTRAP_DAYS)


def check_gaps(site: Site, report: PollReport) -> None:
    """Ask for the ids that are missing, as far as the budget of requests goes; only after a complete harvest."""
    if site.config.arxiv.source != "harvest" or report.failures or not report.runs:
        return
    now = site.clock.now()
    with site.store.begin() as conn:
        cursor = load_cursor(conn, Source.HARVEST)
        stored, mark = load_announced_numbers(conn), (cursor.mark_month, cursor.mark_number)
        missing = list(rules.find_missing(stored, mark))
        if rules.is_sparse(stored, missing, mark):
            give_up_gaps(conn, [(gap, rules.SPARSE) for gap in load_open_gaps(conn)], now)
        else:
            save_gaps(conn, missing, now)
        found = close_found_gaps(conn, now)
        due = rules.choose_due(load_open_gaps(conn), now)
        made_today = count_requests(conn, now - timedelta(hours=24))
    is_untold = any(gap.asked_at is None for gap in due)
    in_run = max(0, rules.REQUESTS_A_RUN - report.requests)
    in_budget, reserved = (
        min(in_run, max(0, rules.REQUESTS_A_DAY - made_today)),
        min(in_run, RESERVED),
    )
    spare = max(in_budget, reserved if is_untold else 0)
    one_by_one = len(due) <= min(rules.ALONE, in_budget)
    asked = due if one_by_one else due[: spare * IDS_LIMIT]
    known = found + len(asked)
    if known:
        site.progress.begin("poll", f"{count(known, 'id')} missing between stored ones")
    run = RecordedRun(site, report, Source.GAPS, rule=make_novelty_rule(read_known_before(cursor)))
    with run.recording(window_from=min((gap.missed_at for gap in due), default=now).date()):
        found += _ask(site, run, asked, one_by_one=one_by_one)
        unasked = [gap for gap in due if gap.asked_at is None and gap not in asked]
        if unasked:
            said = f"{count(len(unasked), 'id')} could not be asked for yet"
            run.note_shortfall(Said.plain(said))
    if known:
        said = f"{found:,} found, {known - found:,} unknown to arXiv"
        site.progress.end("poll", run.summary() if run.failure else said)


def _ask(site: Site, run: RecordedRun, gaps: Sequence[Gap], *, one_by_one: bool) -> int:
    """Ask for missing ids and return how many were found.

    A single one is asked of the harvest's own interface, which knows a paper before the search does.
    """
    found = 0
    size = 1 if one_by_one else IDS_LIMIT
    for first in range(0, len(gaps), size):
        some = gaps[first : first + size]
        ids = [gap.id for gap in some]
        with suppress(UnknownPaper):  # what is not found is noted below
            for page in (
                map(site.client.get_record, ids) if one_by_one else fetch_papers(site.client, ids)
            ):
                run.store_page(page)
        found += _settle(site, some)
    return found


def _settle(site: Site, asked: Sequence[Gap]) -> int:
    """Note that ids were asked for, and which of them are given up; return how many were found."""
    now = site.clock.now()
    with site.store.begin() as conn:
        found = close_found_gaps(conn, now)
        mark_gaps_asked(conn, asked, now)
        still = {gap.id for gap in asked}
        given_up = [
            gap
            for gap in load_open_gaps(conn)
            if gap.id in still and gap.asks >= len(rules.ASKED_AT)
        ]
        give_up_gaps(conn, [(gap, rules.explain_giving_up(gap)) for gap in given_up], now)
    return found


def poll_days(site: Site, days: int) -> PollReport:
    """Store what arXiv announced in the last days, or since it was last asked, without saved queries."""
    report = PollReport()
    with site.store.begin() as conn:
        abandon_running(conn, site.clock.now())
        last = load_last_checks(conn, Source.HARVEST)
    _poll_harvest(site, report, even_if_not_due=last.failure is not None, first_days=days)
    return report


def poll(site: Site, *, even_if_not_due: bool = False) -> PollReport:
    """Ask arXiv for whatever is due, by harvest or by saved query, and store what it announced.

    An error of arXiv ends the check, is kept with the run, and is returned in the report: what remains of
    the pass (digests due, deliveries waiting) goes on without it.
    """
    report = PollReport()
    if site.config.arxiv.source == "harvest":
        _poll_harvest(site, report, even_if_not_due=even_if_not_due)
    else:
        poll_queries(site, report, even_if_not_due=even_if_not_due)
    return report


def _poll_harvest(
    site: Site, report: PollReport, *, even_if_not_due: bool, first_days: int = rules.BOOTSTRAP_DAYS
) -> None:
    now = site.clock.now()
    with site.store.read() as conn:
        novelty = load_novelty_rules(conn)
        cursor = load_cursor(conn, Source.HARVEST)
        last = load_last_checks(conn, Source.HARVEST)
        reaching = {
            days: load_last_reaching(conn, Source.HARVEST, days)
            for days, _ in rules.HARVEST_OVERLAPS
        }
        newest = load_newest_paper(conn, is_harvested=True)
        broken_off = _find_broken_off(conn, now)
    if not (even_if_not_due or rules.is_poll_due(last, now)):
        report.why_not = rules.describe_pause(last, now, site.config.zone)
        return
    is_bootstrap = not cursor.is_bootstrapped
    reach = rules.choose_reach(rules.HARVEST_OVERLAPS, rules.LEAST_OVERLAP, reaching, now)
    overlap = first_days if is_bootstrap else reach
    from_date = rules.harvest_from(
        cursor.complete_from, now, overlap, newest[1] if newest else None
    )
    what = "everything arXiv announced since"
    if broken_off is not None:
        from_date, overlap = broken_off.window_from or from_date, broken_off.lookback
        what = "where the last check stopped, of what was changed since"
    report.was_due, report.is_bootstrap = True, is_bootstrap
    run = RecordedRun(
        site,
        report,
        Source.HARVEST,
        rule=novelty.harvest_rule(),
        is_bootstrap=is_bootstrap,
        lookback=overlap,
    )
    site.progress.begin("poll", f"{what} {write_day(from_date, now)}")
    with run.recording(window_from=from_date, resumed=broken_off):
        for page in _walk(site, from_date, broken_off, is_bootstrap=is_bootstrap):
            run.store_page(page)
        if is_bootstrap and not run.papers and broken_off is None:
            site.progress.update("nothing there; checking further back")
            for page in walk_records(site.client, run.widen(from_date - WIDER)):
                run.store_page(page)
    site.progress.end("poll", run.summary())
    if run.failure is not None and not is_bootstrap:
        stand_in_for_harvest(site, report, run.failure, last, novelty)


def _walk(
    site: Site, from_date: date, broken_off: PollRun | None, *, is_bootstrap: bool
) -> Iterator[Fetched[OaiPage]]:
    """Go through the harvest; if one was broken off, from there on.

    A first check continues with the next page. Any other reads that page's day anew: what was touched meanwhile
    has left the list of that day, and others have moved up into what was read already.
    """
    if broken_off is not None and not is_bootstrap:
        from_date = find_day(broken_off.next_token) or from_date
    elif broken_off is not None:
        try:
            yield from walk_records(site.client, from_date, token=broken_off.next_token)
        except TokenExpired:
            site.progress.update("the list has changed since; reading it from its beginning")
        else:
            return
    yield from walk_records(site.client, from_date)


def _find_broken_off(conn: Connection, now: datetime) -> PollRun | None:
    """Return the last harvest if it was broken off after a page, while its token is good: until midnight UTC."""
    runs = load_last_runs(conn, Source.HARVEST, 1)
    if not runs or not runs[0].has_failed or not runs[0].next_token:
        return None  # one that runs now belongs to another replica
    same_day = runs[0].started_at.astimezone(UTC).date() == now.astimezone(UTC).date()
    return runs[0] if same_day and now - runs[0].started_at < _RESUMED_WITHIN else None
