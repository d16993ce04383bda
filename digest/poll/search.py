"""Asks arXiv's search: by choice, as fallback, and for the past of a new saved query.

Only as many requests are made as the budget of a run and of a day has to spare; a first look without one
waits for a later pass. Where very many are new at once, most look back over what is stored, so that a
thousand of them cost no more of arXiv's time than thirty.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from digest.arxiv.pages import walk_search
from digest.compare import Horizon
from digest.model.errors import ArxivMoved, ArxivRefused, ArxivThrottled
from digest.model.papers import ArxivId
from digest.model.polls import Source
from digest.poll.ledger import JOINT
from digest.poll.record import RecordedRun, horizon_of, load_horizons, make_judge
from digest.poll.rules import (
    EDIT_MARGIN,
    FALLBACK_AFTER,
    FIRST_LOOK_PAPERS,
    JOINT_LOOKBACKS,
    REQUESTS_A_DAY,
    SearchPast,
    describe_pause,
    is_asked_together,
    is_poll_due,
    latest_poll_time,
    next_look_at,
    plan_joint_search,
    plan_search,
    spare_requests,
)
from digest.query import analyse, confine_queries, matches, parse_query, to_arxiv
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import queries as query_store
from digest.store import runs as cursor_store
from digest.store import runs as run_store
from digest.store import views

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import Connection

    from digest.model.errors import ArxivError
    from digest.model.polls import LastLooks
    from digest.model.subscriptions import ActiveRevision
    from digest.poll.installation import Site
    from digest.poll.record import Horizons, Judge, PollReport
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
        made_today = views.count_requests(conn, now - timedelta(hours=24)) - (report.requests - made)
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
        report.why_not = describe_pause(min(last.values(), key=lambda looks: next_look_at(looks) or now), now)
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
    reached = {days: run_store.last_reaching(conn, Source.QUERY, days) for days in steps}
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
