"""Harvests what is due, then asks for missing ids.

What a harvest lost between two pages, and what arXiv's own index filled in late, is found here.
An id that arXiv does not know is asked for again for a week and then given up. A check is a line of
the ledger even if nothing is missing: it is what shows that an announcement is all there.
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
from digest.poll.novelty import load_novelty_rules, make_novelty_rule, read_known_before
from digest.poll.record import PollReport, RecordedRun
from digest.poll.search import poll_queries, stand_in_for_harvest
from digest.site import Site
from digest.store import gaps, papers, runs, words
from digest.store.runs import Cursor, PollRun

RESERVED = 2
"""Requests of a run for ids never asked for yet, whatever else was asked that day.

An announcement is not complete before they were asked for.
"""

_RESUMED_WITHIN = timedelta(hours=6)
"""A harvest that was broken off longer ago is begun anew."""

WIDER = timedelta(days=rules.WIDER_BOOTSTRAP_DAYS - rules.BOOTSTRAP_DAYS)


def check_gaps(site: Site, report: PollReport) -> None:
    """Ask for the ids that are missing, as far as the budget of requests goes.

    It is done only after a complete harvest.
    """
    is_harvested = site.config.arxiv.source == "harvest" and report.runs > 0
    if not is_harvested or report.failures:
        return
    now = site.clock.now()
    with site.store.begin() as conn:
        cursor = runs.load_cursor(conn, Source.HARVEST)
        _keep_missing(conn, cursor, now)
        found = gaps.close_found(conn, now)
        due = rules.choose_due(gaps.load_open(conn), now)
        made_today = runs.count_requests(conn, now - timedelta(hours=24))
    left_today = max(0, rules.REQUESTS_A_DAY - made_today)
    left_in_run = max(0, rules.REQUESTS_A_RUN - report.requests)
    budget = min(left_in_run, left_today)
    is_one_by_one = len(due) <= min(rules.ALONE, budget)
    asked = due
    if not is_one_by_one:
        has_new = any(gap.asked_at is None for gap in due)
        reserved = min(left_in_run, RESERVED) if has_new else 0
        asked = due[: max(budget, reserved) * IDS_LIMIT]
    known = found + len(asked)
    if known:
        site.progress.begin("poll", f"{count(known, 'id')} missing between stored ones")
    rule = make_novelty_rule(read_known_before(cursor))
    run = RecordedRun(site, report, Source.GAPS, rule=rule)
    missed_first = min((gap.missed_at for gap in due), default=now)
    with run.recording(window_from=missed_first.date()):
        found += _ask(site, run, asked, one_by_one=is_one_by_one)
        unasked = [gap for gap in due if gap.asked_at is None and gap not in asked]
        if unasked:
            said = f"{count(len(unasked), 'id')} could not be asked for yet"
            run.note_shortfall(Said.plain(said))
    if known:
        said = f"{found:,} found, {known - found:,} unknown to arXiv"
        site.progress.end("poll", run.summary() if run.failure else said)


def _keep_missing(conn: Connection, cursor: Cursor, now: datetime) -> None:
    """Store which ids are missing; where most are, none is: that server numbers otherwise."""
    stored = gaps.load_announced_numbers(conn)
    mark = (cursor.mark_month, cursor.mark_number)
    missing = list(rules.find_missing(stored, mark))
    if not rules.is_sparse(stored, missing, mark):
        gaps.save(conn, missing, now)
        return
    given_up = [(gap, rules.SPARSE) for gap in gaps.load_open(conn)]
    gaps.give_up(conn, given_up, now)


def _ask(site: Site, run: RecordedRun, gaps: Sequence[Gap], *, one_by_one: bool) -> int:
    """Ask for missing ids and return how many were found.

    A single one is asked of the harvest's own interface: it knows a paper before the search does.
    """
    found = 0
    size = 1 if one_by_one else IDS_LIMIT
    for first in range(0, len(gaps), size):
        some = gaps[first : first + size]
        ids = [gap.id for gap in some]
        with suppress(UnknownPaper):  # what is not found is noted below
            if one_by_one:
                run.store_page(site.client.get_record(ids[0]))
            else:
                for page in fetch_papers(site.client, ids):
                    run.store_page(page)
        found += _settle(site, some)
    return found


def _settle(site: Site, asked: Sequence[Gap]) -> int:
    """Note that ids were asked for, and which are given up; return how many were found."""
    now = site.clock.now()
    ids = {gap.id for gap in asked}
    with site.store.begin() as conn:
        found = gaps.close_found(conn, now)
        gaps.mark_asked(conn, asked, now)
        given_up = []
        for gap in gaps.load_open(conn):
            if gap.id in ids and gap.asks >= len(rules.ASKED_AT):
                given_up.append((gap, rules.explain_giving_up(gap)))
        gaps.give_up(conn, given_up, now)
    return found


def poll_days(site: Site, days: int) -> PollReport:
    """Store what arXiv announced in the last days, or since it was last asked.

    Read words anew that another release read otherwise.
    """
    report = PollReport()
    with site.store.begin() as conn:
        runs.abandon_running(conn, site.clock.now())
        words.renew(conn)
        last = runs.load_last_checks(conn, Source.HARVEST)
    _poll_harvest(site, report, even_if_not_due=last.failure is not None, first_days=days)
    return report


def poll(site: Site, *, even_if_not_due: bool = False) -> PollReport:
    """Ask arXiv for whatever is due, by harvest or by saved query, and store what it announced.

    An error of arXiv ends the check, is kept with the run, and is returned in the report: what
    remains of the pass (digests due, deliveries waiting) goes on without it.
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
    last_reaching = {}
    with site.store.read() as conn:
        novelty = load_novelty_rules(conn)
        cursor = runs.load_cursor(conn, Source.HARVEST)
        last = runs.load_last_checks(conn, Source.HARVEST)
        for days, _ in rules.HARVEST_OVERLAPS:
            last_reaching[days] = runs.load_last_reaching(conn, Source.HARVEST, days)
        newest = papers.load_newest_paper(conn, is_harvested=True)
        broken_off = _find_broken_off(conn, now)
    if not even_if_not_due and not rules.is_poll_due(last, now):
        report.why_not = rules.describe_pause(last, now, site.config.zone)
        return
    is_bootstrap = not cursor.is_bootstrapped
    if is_bootstrap:
        overlap = first_days
    else:
        overlap = rules.choose_reach(
            rules.HARVEST_OVERLAPS, rules.LEAST_OVERLAP, last_reaching, now
        )
    newest_on = newest[1] if newest else None
    from_date = rules.harvest_from(cursor.complete_from, now, overlap, newest_on)
    what = "everything arXiv announced since"
    if broken_off is not None:
        from_date = broken_off.window_from or from_date
        overlap = broken_off.lookback
        what = "where the last check stopped, of what was changed since"
    report.was_due = True
    report.is_bootstrap = is_bootstrap
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
        if is_bootstrap and broken_off is None and not run.papers:
            site.progress.update("nothing there; checking further back")
            wider_from = run.widen(from_date - WIDER)
            for page in _walk_from(site, wider_from):
                run.store_page(page)
    site.progress.end("poll", run.summary())
    if run.failure is not None and not is_bootstrap:
        stand_in_for_harvest(site, report, run.failure, last, novelty)


def _walk(
    site: Site, from_date: date, broken_off: PollRun | None, *, is_bootstrap: bool
) -> Iterator[Fetched[OaiPage]]:
    """Go through the harvest; if one was broken off, from there on.

    A first check continues with the next page. Any other reads that page's day anew: what was
    touched meanwhile has left the list of that day, and others have moved up into what was read.
    """
    if broken_off is not None and not is_bootstrap:
        from_date = find_day(broken_off.next_token) or from_date
    elif broken_off is not None:
        try:
            yield from _walk_from(site, from_date, broken_off.next_token)
        except TokenExpired:
            site.progress.update("the list has changed since; reading it from its beginning")
        else:
            return
    yield from _walk_from(site, from_date)


def _walk_from(site: Site, from_date: date, token: str = "") -> Iterator[Fetched[OaiPage]]:
    """Go through the harvest; what was stored from the same records before is not read again."""

    def load_hashes(ids: Sequence[str]) -> dict[str, bytes]:
        with site.store.read() as conn:
            return papers.load_record_hashes(conn, ids)

    return walk_records(site.client, from_date, token=token, load_hashes=load_hashes)


def _find_broken_off(conn: Connection, now: datetime) -> PollRun | None:
    """Return the last harvest if it was broken off after a page, while its token is good.

    A token is good until midnight UTC. A harvest that runs now belongs to another replica.
    """
    harvests = runs.load_last(conn, Source.HARVEST, 1)
    if not harvests or not harvests[0].has_failed or not harvests[0].next_token:
        return None
    last = harvests[0]
    is_same_day = last.started_at.astimezone(UTC).date() == now.astimezone(UTC).date()
    is_recent = now - last.started_at < _RESUMED_WITHIN
    return last if is_same_day and is_recent else None
