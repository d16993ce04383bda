"""poll by arXiv's search: for `source = "query"`, and in place of a harvest that keeps failing.

A few distinct saved queries are asked for one by one. More of them are asked for together, as all that
is touched in the categories they are confined to, so that ten thousand cost no more of arXiv's time than
ten; what matches is decided here either way.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from digest.arxiv.search import walk_search
from digest.comparing import Horizon
from digest.errors import ArxivMoved, ArxivRefused, ArxivThrottled
from digest.papers import ArxivId
from digest.pipeline.covering import JOINT
from digest.pipeline.horizons import load_horizons
from digest.pipeline.recording import RecordedRun
from digest.planning.polls import (
    EDIT_MARGIN,
    FALLBACK_AFTER,
    Source,
    describe_pause,
    is_poll_due,
    latest_poll_time,
)
from digest.planning.searches import (
    JOINT_LOOKBACKS,
    SearchPast,
    is_asked_together,
    plan_joint_search,
    plan_search,
)
from digest.query import confine_queries, parse_query, to_arxiv
from digest.store import cursors as cursor_store
from digest.store import queries as query_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.errors import ArxivError
    from digest.matching import ActiveRevision
    from digest.pipeline.horizons import Horizons
    from digest.pipeline.poll_report import PollReport
    from digest.pipeline.site import Site
    from digest.planning.polls import LastLooks

PAGE = 200
"""Papers asked for at once for one saved query; arXiv drops pages of thousands more often than small ones."""

JOINT_PAGE = 1000
"""Papers asked for at once where much is expected."""

FALLBACK_DAYS = 4
"""How far behind the last complete harvest a search in its place looks: what a Sunday evening's mailing brings
was submitted from Thursday on. What was held for longer is met by the next harvest."""

EVERYTHING = "submittedDate:[198001010000 TO 299912312359]"
"""A search for all of arXiv; a few papers carry dates from before its beginning."""

_FRESH = timedelta(days=2)
"""So long after a look for all queries its newest paper tells what is news to a query that comes in."""

_RUNS_SEARCHED = 24


def poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask for every distinct saved query, each by itself or all together."""
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        revisions = {revision.canonical: revision for revision in query_store.active_revisions(conn)}
        pasts = _load_pasts(conn, horizons, revisions)
        keys = [JOINT] if is_asked_together(revisions) else list(revisions)
        last = {key: run_store.last_looks(conn, Source.QUERY, key) for key in keys}
    due = [key for key in keys if even_if_not_due or is_poll_due(last[key], now)]
    report.is_bootstrap = bool(due) and all(map(horizons.is_newcomer, revisions))
    if not due and keys:
        report.why_not = describe_pause(min(last.values(), key=lambda looks: looks.next_at or now), now)
    elif due == [JOINT]:
        _search_together(site, report, horizons, pasts, last[JOINT])
    else:
        due.sort(key=lambda text: (horizons.is_newcomer(text), last[text].failures, text))
        _search_one_by_one(site, report, horizons, pasts, {text: revisions[text] for text in due})


def _load_pasts(conn: Connection, horizons: Horizons, texts: Collection[str]) -> dict[str, SearchPast]:
    """Return what has been looked for on behalf of each query: by itself, with others, or by a harvest.

    A query with a mark has news above it only, so a look so far back as to meet what was held for long is
    due a while after its beginning, not at once.
    """
    steps = [days for days, _ in JOINT_LOOKBACKS]
    reached = {days: run_store.last_reaching_each(conn, Source.QUERY, days) for days in steps}
    pasts: dict[str, SearchPast] = {}
    for text in texts:
        own, looked = horizons.own[text], horizons.looked.get(text)
        if horizons.is_newcomer(text) or own.since is None:
            pasts[text] = SearchPast(looked)
            continue
        begun = own.since + EDIT_MARGIN
        certain = [horizons.harvested.get(text), begun if own.mark > (0, 0) else None]
        reaching = {}
        for days, by_query in reached.items():
            joint = by_query.get(JOINT)
            moments = [*certain, by_query.get(text), joint if joint and joint >= begun else None]
            reaching[days] = max((moment for moment in moments if moment is not None), default=None)
        pasts[text] = SearchPast(looked, reaching)
    return pasts


def _search_one_by_one(
    site: Site,
    report: PollReport,
    horizons: Horizons,
    pasts: dict[str, SearchPast],
    revisions: dict[str, ActiveRevision],
) -> None:
    """Ask once per distinct saved query, those asked before first, and of them those that failed last.

    A query asked for the first time shows old papers, and among them ones that are news to the queries
    before it; so the others look first, and what their look failed to bring stays news. And where arXiv
    fails inside at some for good, they keep none of the others waiting.
    """
    for text, revision in revisions.items():
        report.was_due = True
        site.progress.begin("poll", f"{revision.name}: {revision.text}")
        days, until = plan_search(pasts[text], site.clock.now())
        with site.store.read() as conn:
            before = run_store.last_runs(conn, Source.QUERY, 1, query_key=text)
        is_long = horizons.is_newcomer(text) or (before and before[0].papers >= PAGE)
        run = RecordedRun(
            site,
            report,
            Source.QUERY,
            text,
            judge=horizons.judge_search(text),
            is_bootstrap=horizons.is_newcomer(text),
            lookback=days,
        )
        with run.recording(window_from=until.date()):
            for page in walk_search(
                site.client,
                to_arxiv(parse_query(text)),
                until=until,
                size=JOINT_PAGE if is_long else PAGE,
                asks_twice=horizons.is_newcomer(text),
            ):
                run.store_page(page)
        site.progress.end("poll", run.summary())
        if run.stops_all:
            return


def _search_together(
    site: Site, report: PollReport, horizons: Horizons, pasts: dict[str, SearchPast], last: LastLooks
) -> None:
    """Ask once for all saved queries, whoever is new among them.

    Ids are given out in order, so by the newest one met it is known what was out before a query came in:
    its first look can be one that is made for all.
    """
    newcomers = tuple(text for text in pasts if horizons.is_newcomer(text))
    known = tuple(text for text in pasts if not horizons.is_newcomer(text))
    edited = [
        SearchPast(past.complete, dict.fromkeys((days for days, _ in JOINT_LOOKBACKS), past.complete))
        for text, past in pasts.items()
        if past.complete and horizons.is_newcomer(text)
    ]
    now = site.clock.now()
    days, until = plan_joint_search([*(pasts[text] for text in known), *edited], now)
    with site.store.read() as conn:
        rest = find_rest(conn, now)
    report.was_due = True
    site.progress.begin(
        "poll", f"{len(pasts):,} saved queries together, back to {until:%a} {until.day} {until:%b}"
    )
    run = RecordedRun(
        site,
        report,
        Source.QUERY,
        JOINT,
        judge=horizons.judge_joint(pasts, rest),
        is_bootstrap=not known,
        lookback=days,
        together=cursor_store.Together(known, newcomers, rest.mark),
    )
    with run.recording(window_from=until.date()):
        for page in walk_search(
            site.client, _confine(pasts), until=until, size=JOINT_PAGE, asks_twice=last.complete is None
        ):
            run.store_page(page)
    site.progress.end("poll", run.summary())


def find_rest(conn: Connection, now: datetime) -> Horizon:
    """Return what is news to queries that have not been looked for: what came out after the last look for all."""
    runs = run_store.last_runs(conn, Source.QUERY, _RUNS_SEARCHED, query_key=JOINT)
    last = next((run for run in runs if run.is_complete), None)
    if last is None or not last.highest_id or now - last.started_at > _FRESH:
        return Horizon(is_bootstrap=True)
    return Horizon(mark=ArxivId.parse(last.highest_id).announcement_order, since=last.started_at)


def _confine(texts: Collection[str]) -> str:
    return confine_queries(map(parse_query, texts)) or EVERYTHING


def stand_in_for_harvest(
    site: Site, report: PollReport, failure: ArxivError, last: LastLooks, horizons: Horizons
) -> None:
    """Search for what a harvest that keeps failing does not bring, once for each time that it was due.

    Not where arXiv wants to be left alone: it means all of its interfaces. The harvest's cursor stays, so
    the next one meets everything again, and knows it.

    Args:
        site: the installation.
        report: is added to.
        failure: how the harvest has just failed.
        last: when it was looked at before.
        horizons: what is news to it.
    """
    now = site.clock.now()
    poll_time = latest_poll_time(now)
    is_unwanted = isinstance(failure, ArxivThrottled | ArxivRefused | ArxivMoved)
    if is_unwanted or last.complete is None or last.complete >= poll_time:
        return
    with site.store.read() as conn:
        texts = {revision.canonical for revision in query_store.active_revisions(conn)}
        harvests = run_store.last_runs(conn, Source.HARVEST, _RUNS_SEARCHED)
        before = run_store.last_runs(conn, Source.FALLBACK, 1)
    failed = [
        run for run in takewhile(lambda run: not run.is_complete, harvests) if run.failure != run_store.ABANDONED
    ]
    is_first = not before or before[0].started_at < poll_time
    if not (texts and failed and is_first and now - failed[-1].started_at >= FALLBACK_AFTER):
        return
    until = last.complete - timedelta(days=FALLBACK_DAYS)
    site.progress.begin("poll", f"the search in place of the harvest, back to {until:%a} {until.day} {until:%b}")
    run = RecordedRun(site, report, Source.FALLBACK, judge=horizons.judge_harvest(), lookback=FALLBACK_DAYS)
    with run.recording(window_from=until.date()):
        for page in walk_search(site.client, _confine(texts), until=until, size=JOINT_PAGE, asks_twice=not before):
            run.store_page(page)
    site.progress.end("poll", run.summary())
    if run.failure is None:
        report.failures.append(f"arXiv's search stood in for the harvest: {run.summary()}")
