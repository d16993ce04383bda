"""Asks arXiv's search: by choice, as fallback, and for the past of a new saved query.

Only as many requests are made as the budget of a run and of a day has to spare; a first digest without one
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
from digest.poll.coverage import JOINT
from digest.poll.record import RecordedRun, horizon_of, load_horizons, make_judge
from digest.poll.rules import (
    EDIT_MARGIN,
    FALLBACK_AFTER,
    FIRST_DIGEST_PAPERS,
    JOINT_LOOKBACKS,
    REQUESTS_A_DAY,
    SearchPast,
    describe_pause,
    is_asked_together,
    is_poll_due,
    join_pasts,
    latest_poll_time,
    plan_joint_search,
    plan_search,
    spare_requests,
)
from digest.query import Or, analyse, confine_queries, matches, parse_query, to_arxiv
from digest.store import matches as match_store
from digest.store import papers as paper_store
from digest.store import queries as query_store
from digest.store import runs as run_store
from digest.store import views

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from digest.model.errors import ArxivError
    from digest.model.polls import LastLooks
    from digest.poll.installation import Site
    from digest.poll.record import Horizons, Judge, PollReport
    from digest.store.matches import FirstDigest


BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)
"""arXiv's first month: a first check asks for the newest papers, however old."""

PAPERS = 50
"""Asked for: the newest 15 by submission lie within them, whatever was revised lately."""


def look_back(site: Site, report: PollReport) -> None:
    """Fetch the newest papers of saved queries whose first digest the store cannot fill.

    What finds no request to spare is noted in the report, and goes on waiting.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        pending = {look.revision.canonical: look for look in match_store.load_first_digests(conn) if look.days}
        if not pending:
            return
        texts = {revision.canonical for revision in query_store.active_revisions(conn)}
        if site.config.arxiv.source == "query" and not is_asked_together(texts) and not report.failures:
            looked = run_store.load_cursors(conn, Source.QUERY)
            report.awaiting = frozenset(text for text in pending if text not in looked)
            return  # its own search is its first digest
        if report.is_cut_short:
            return
        if site.config.arxiv.source == "harvest":
            judge = make_judge(horizon_of(run_store.load_cursor(conn, Source.HARVEST)))
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
    asked = run_store.load_cursors(conn, Source.FIRST_DIGEST)
    queries = {text: parse_query(text) for text in texts if text not in asked}
    stored = [analyse(change.paper) for change in paper_store.load_latest_changes(conn)] if queries else []
    return [
        text
        for text, query in queries.items()
        if len(list(islice((paper for paper in stored if matches(query, paper)), FIRST_DIGEST_PAPERS)))
        < FIRST_DIGEST_PAPERS
    ]


def _fetch_newest(site: Site, report: PollReport, look: FirstDigest, judge: Judge) -> bool:
    """Ask for the newest papers of a query; return False where asking for anything else is pointless."""
    text, name = look.revision.canonical, look.revision.name
    site.progress.begin("poll", f"{name}: its newest papers, for a first digest")
    run = RecordedRun(site, report, Source.FIRST_DIGEST, text, judge=judge)
    pages = walk_search(site.client, to_arxiv(parse_query(text)), until=BEGINNING, size=PAPERS, asks_twice=True)
    with run.recording(window_from=(site.clock.now() - timedelta(days=look.days)).date()):
        for page in islice(pages, 1):
            run.store_page(page)
    site.progress.end("poll", run.summary())
    return not run.stops_all


PAGE = 200
"""Papers asked for at once for a few saved queries; arXiv drops pages of thousands more often than small ones."""

JOINT_PAGE = 1000
"""Papers asked for at once where much is expected."""

FALLBACK_DAYS = 4
"""How far behind the last complete harvest a search in its place reaches: what a Sunday evening's announcement
brings was submitted from Thursday on. What was held for longer is met by the next harvest."""

EVERYTHING = "submittedDate:[198001010000 TO 299912312359]"
"""A search for all of arXiv; a few papers carry dates from before its beginning."""

_FRESH = timedelta(days=2)
"""So long after a check for all queries its newest paper decides what is new to an added query."""

_RUNS_SEARCHED = 24


def poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask for all saved queries by one search, new ones among them.

    A few are asked for as they are, and where one is new as far back as any check reaches: what that does not meet
    is new when it comes. Many are asked for by their categories: ids are given out in order, so by the
    newest one met it is known what was out before a query came in. So is what arXiv fails at inside.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        texts = {revision.canonical for revision in query_store.active_revisions(conn)}
        pasts = _load_pasts(conn, horizons, texts)
        last = run_store.load_last_looks(conn, Source.QUERY, JOINT)
        is_few = not is_asked_together(texts) and not last.failures
        rest = Horizon(is_bootstrap=True) if is_few else find_rest(conn, now)
    newcomers = tuple(text for text in pasts if horizons.is_newcomer(text))
    known = tuple(text for text in pasts if not horizons.is_newcomer(text))
    is_due = even_if_not_due or is_poll_due(last, now) or (is_few and newcomers)
    if not texts or not is_due:
        report.why_not = describe_pause(last, now) if texts else ""
        return
    edited = [
        SearchPast(past.complete, dict.fromkeys((days for days, _ in JOINT_LOOKBACKS), past.complete))
        for text, past in pasts.items()
        if past.complete and text in newcomers
    ]
    if is_few:
        days, until = plan_search(SearchPast() if newcomers else join_pasts([*pasts.values()]), now)
    else:
        days, until = plan_joint_search([*(pasts[text] for text in known), *edited], now)
    report.was_due, report.is_bootstrap = True, not known
    site.progress.begin("poll", f"{count_queries(texts)}, back to {until:%a} {until.day} {until:%b}")
    run = RecordedRun(
        site,
        report,
        Source.QUERY,
        JOINT,
        judge=horizons.judge_joint(pasts, rest),
        is_bootstrap=not known,
        lookback=days,
        together=run_store.Together(known, newcomers, (0, 0) if is_few else rest.mark, takes_newest=not is_few),
    )
    with run.recording(window_from=until.date()):
        for page in walk_search(
            site.client,
            _join(texts) if is_few else _confine(texts),
            until=until,
            size=PAGE if is_few and not newcomers else JOINT_PAGE,
            asks_twice=last.complete is None or (is_few and bool(newcomers)),
        ):
            run.store_page(page)
    site.progress.end("poll", run.summary())
    if is_few and run.failure is not None and not run.stops_all:  # one query is refused: by categories all come
        poll_queries(site, report, even_if_not_due=True)


def count_queries(texts: Collection[str]) -> str:
    """Say how many saved queries are asked for."""
    return f"{len(texts):,} saved quer{'y' if len(texts) == 1 else 'ies'}"


def _join(texts: Collection[str]) -> str:
    trees = tuple(parse_query(text).tree for text in sorted(texts))
    return to_arxiv(trees[0] if len(trees) == 1 else Or(trees))


def _load_pasts(conn: Connection, horizons: Horizons, texts: Collection[str]) -> dict[str, SearchPast]:
    """Return what has been searched for on behalf of each query: by a search or by a harvest.

    For a query with a mark only papers above it are new, so a check that reaches far back is due
    a while after its beginning, not at once: it finds what was held for long.
    """
    reached = {days: run_store.load_last_reaching(conn, Source.QUERY, days) for days, _ in JOINT_LOOKBACKS}
    pasts: dict[str, SearchPast] = {}
    for text in sorted(texts):
        own, looked = horizons.own[text], horizons.looked.get(text)
        if horizons.is_newcomer(text) or own.since is None:
            pasts[text] = SearchPast(looked)
            continue
        begun = own.since + EDIT_MARGIN
        certain = [horizons.harvested.get(text), begun if own.mark > (0, 0) else None]
        reaching = {}
        for days, joint in reached.items():
            moments = [*certain, joint if joint and joint >= begun else None]
            reaching[days] = max((moment for moment in moments if moment is not None), default=None)
        pasts[text] = SearchPast(looked, reaching)
    return pasts


def find_rest(conn: Connection, now: datetime) -> Horizon:
    """Return what is new to queries that have not been searched for: what the last check for all did not see."""
    runs = run_store.load_last_runs(conn, Source.QUERY, _RUNS_SEARCHED, query_key=JOINT)
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

    Not where arXiv asks for a pause: it means all of its interfaces. The harvest's cursor stays, so
    the next one meets everything again, and knows it.

    Args:
        site: the installation.
        report: is added to.
        failure: how the harvest has just failed.
        last: when it was checked before.
        horizons: what is new to it.
    """
    now = site.clock.now()
    poll_time = latest_poll_time(now)
    is_unwanted = isinstance(failure, ArxivThrottled | ArxivRefused | ArxivMoved)
    if is_unwanted or last.complete is None or last.complete >= poll_time:
        return
    with site.store.read() as conn:
        texts = {revision.canonical for revision in query_store.active_revisions(conn)}
        harvests = run_store.load_last_runs(conn, Source.HARVEST, _RUNS_SEARCHED)
        before = run_store.load_last_runs(conn, Source.FALLBACK, 1)
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
