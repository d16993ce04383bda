"""Asks arXiv's search: by choice, in place of a harvest that fails, and for a query's past.

At most `rules.MOST_FIRST_SEARCHES` new saved queries a day are searched for their newest papers.
The others are answered from what is stored.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from sqlalchemy import Connection

from digest.arxiv.pages import walk_search
from digest.model.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivMoved,
    ArxivRefused,
    ArxivRejected,
    ArxivShort,
    ArxivThrottled,
)
from digest.model.messages import FIRST_DIGEST_PAPERS
from digest.model.numbers import count
from digest.model.polls import MOST_SEARCHED, LastChecks, Source
from digest.model.said import Said
from digest.poll import rules
from digest.poll.novelty import (
    NoveltyRule,
    NoveltyRules,
    load_novelty_rules,
    make_novelty_rule,
    read_known_before,
)
from digest.poll.record import PollReport, RecordedRun
from digest.query import PaperIndex, parse_query, to_arxiv
from digest.site import Site
from digest.store import changes, matches, queries, runs, words
from digest.store.matches import FirstDigest
from digest.store.runs import ABANDONED

BEGINNING = datetime(1991, 8, 1, tzinfo=UTC)
"""arXiv's first month: a first check asks for the newest papers, however old."""

FIRST_DIGEST_PAGE = 50
"""Papers asked for at once for a first digest.

Its 15 papers, the newest by submission, are among them, whatever was revised lately.
"""

_MOST_FAILURES = 2
"""After that many failed searches no other is made now."""

PAGE = 200
"""Papers asked for at once for a saved query: arXiv drops pages of thousands more often."""

WIDE_PAGE = 1000
"""Papers asked for at once if much is expected."""

FALLBACK_DAYS = 4
"""How many days before the last complete harvest a search in its place reaches.

What a Sunday evening's announcement brings was submitted from Thursday on. What was held for longer
is met by the next harvest.
"""

EVERYTHING = "submittedDate:[198001010000 TO 299912312359]"
"""A search for all of arXiv; a few papers carry dates from before its beginning."""

_RUNS_READ = 24
"""So many of the last harvests are read to find since when they fail."""


def fetch_first_digest_papers(site: Site, report: PollReport) -> None:
    """Fetch the newest papers of saved queries whose first digest the store cannot fill.

    First digests wait for all of them. What arXiv does not answer is noted in the report, and
    follows later. If arXiv is searched for each saved query, its own first search is its first
    digest.
    """
    now = site.clock.now()
    pending: dict[str, FirstDigest] = {}
    with site.store.read() as conn:
        for owed in matches.load_first_digests(conn):
            if owed.days:
                pending[owed.revision.canonical] = owed
        if not pending:
            return
        if site.config.arxiv.source == "query":
            searched = load_novelty_rules(conn).searched
            report.awaiting = frozenset(pending.keys() - searched - report.refused)
            return
        if report.is_cut_short:
            return
        harvest = runs.load_cursor(conn, Source.HARVEST)
        unfilled = _find_unfilled(conn, pending)
        day_before = now - timedelta(hours=24)
        made = runs.load_polls_since(conn, Source.FIRST_DIGEST, day_before)
    rule = make_novelty_rule(read_known_before(harvest))
    left = unfilled[: max(0, rules.MOST_FIRST_SEARCHES - len(made))]
    unanswered: list[str] = []
    while left and len(unanswered) < _MOST_FAILURES:
        text = left.pop(0)
        if not _fetch_newest(site, report, pending[text], rule, len(left)):
            unanswered.append(text)
    report.awaiting = frozenset((*unanswered, *left))
    report.is_cut_short = False  # all first digests are made now that wait for none of these


def _find_unfilled(conn: Connection, texts: Collection[str]) -> list[str]:
    """Return the queries with too few stored papers, and whose newest were not asked for yet."""
    asked = runs.load_cursors(conn, Source.FIRST_DIGEST)
    unasked = {text: parse_query(text) for text in texts if text not in asked}
    if not unasked:
        return []
    latest = words.load(conn, changes.list_latest(conn))
    stored = PaperIndex(latest.values())
    found = zip(unasked, stored.find(unasked.values()), strict=True)
    return [text for text, papers in found if len(papers) < FIRST_DIGEST_PAPERS]


def _fetch_newest(
    site: Site, report: PollReport, owed: FirstDigest, rule: NoveltyRule, left: int
) -> bool:
    """Ask for the newest papers of a query; `left` others come after it.

    Return False if arXiv did not answer, and may do so later.
    """
    text = owed.revision.canonical
    what = f"{owed.revision.name}: its newest papers, for a first digest"
    if left:
        what += f"; {left} more"
    site.progress.begin("poll", what)
    run = RecordedRun(site, report, Source.FIRST_DIGEST, text, rule=rule)
    query = to_arxiv(parse_query(text))
    pages = walk_search(
        site.client, query, until=BEGINNING, size=FIRST_DIGEST_PAGE, asks_twice=True
    )
    since = site.clock.now() - timedelta(days=owed.days)
    with run.recording(window_from=since.date()):
        run.store_page(next(pages))
    site.progress.end("poll", run.summary())
    return not run.stops_all


def poll_queries(site: Site, report: PollReport, *, even_if_not_due: bool) -> None:
    """Ask for each saved query by a search of its own; all of them are one check.

    The first search for a query reaches as far back as any does. What it does not meet is new when
    it comes.
    """
    now = site.clock.now()
    last_reaching = {}
    with site.store.read() as conn:
        novelty = load_novelty_rules(conn)
        texts = sorted({revision.canonical for revision in queries.active_revisions(conn)})
        last = runs.load_last_checks(conn, Source.QUERY)
        for days, _ in rules.SEARCH_LOOKBACKS:
            last_reaching[days] = runs.load_last_reaching(conn, Source.QUERY, days)
    if not texts:
        return
    has_new = not last.failures and any(text not in novelty.searched for text in texts)
    is_due = even_if_not_due or has_new or rules.is_poll_due(last, now)
    if not is_due:
        report.why_not = rules.describe_pause(last, now, site.config.zone)
        return
    days = rules.choose_reach(rules.SEARCH_LOOKBACKS, rules.SEARCH_LOOKBACK, last_reaching, now)
    reaches_to = {}
    for text in texts:
        reach = days if text in novelty.searched else rules.LONGEST_LOOKBACK
        reaches_to[text] = rules.search_until(novelty.checked.get(text), now, reach)
    earliest = min(reaches_to.values())
    report.was_due = True
    report.is_bootstrap = not novelty.checked
    what = count(len(texts), "saved query", "saved queries")
    site.progress.begin("poll", f"{what}, back to {earliest:%a} {earliest.day} {earliest:%b}")
    run = RecordedRun(
        site,
        report,
        Source.QUERY,
        rule=novelty.search_rule(),
        is_bootstrap=report.is_bootstrap,
        lookback=days,
    )
    with run.recording(window_from=earliest.date()):
        if len(texts) > MOST_SEARCHED:
            limit = f"arXiv's search is asked for {MOST_SEARCHED} at most"
            raise ArxivRejected(
                f"there are {len(texts):,} saved queries, and {limit}",
                hint='Write source = "harvest" under [arxiv].',
            )
        _search_each(site, report, run, reaches_to, novelty.searched)
    site.progress.end("poll", run.summary())


def _search_each(
    site: Site,
    report: PollReport,
    run: RecordedRun,
    reaches_to: Mapping[str, datetime],
    searched: Collection[str],
) -> None:
    """Make one search for each query, until arXiv fails at two in a row.

    A query that it refuses is no failure. `reaches_to`: how far back each search goes (UTC).
    """
    has_failed = False
    for text, until in reaches_to.items():
        size = PAGE if text in searched else WIDE_PAGE
        try:
            query = to_arxiv(parse_query(text))
            for page in walk_search(site.client, query, until=until, size=size, asks_twice=True):
                run.store_page(page, text)
        except (ArxivRejected, ArxivFaulted, ArxivShort) as error:
            if isinstance(error, ArxivRejected):
                report.refused.add(text)
                has_failed = False
            elif has_failed:
                raise
            else:
                has_failed = True
            report.failures.append(error.said)
            run.note_shortfall(error.said, error.reader_message)
        else:
            has_failed = False
            run.note_searched(text, begins=text not in searched)


def stand_in_for_harvest(
    site: Site, report: PollReport, failure: ArxivError, last: LastChecks, novelty: NoveltyRules
) -> None:
    """Search for what a harvest that keeps failing does not bring, once each time that it was due.

    Everything of the last days is searched for, and what matches is decided here. Not if arXiv
    asks for a pause: it means all of its interfaces. The harvest's cursor stays, so the next one
    meets everything again, and knows it.
    """
    now = site.clock.now()
    poll_time = rules.latest_poll_time(now)
    is_unwanted = isinstance(failure, ArxivThrottled | ArxivRefused | ArxivMoved)
    if is_unwanted or last.complete is None or last.complete >= poll_time:
        return
    with site.store.read() as conn:
        newest_first = runs.load_last(conn, Source.HARVEST, _RUNS_READ)
        before = runs.load_last(conn, Source.FALLBACK, 1)
    failing_since = now
    for harvest in takewhile(lambda run: not run.is_complete, newest_first):
        if harvest.failure != ABANDONED:
            failing_since = harvest.started_at
    is_first = not before or before[0].started_at < poll_time
    if not is_first or now - failing_since < rules.FALLBACK_AFTER:
        return
    until = last.complete - timedelta(days=FALLBACK_DAYS)
    since = f"{until:%a} {until.day} {until:%b}"
    site.progress.begin("poll", f"the search in place of the harvest, back to {since}")
    run = RecordedRun(
        site, report, Source.FALLBACK, rule=novelty.harvest_rule(), lookback=FALLBACK_DAYS
    )
    # Later, an answer that there is nothing is compared with the searches before.
    pages = walk_search(site.client, EVERYTHING, until=until, size=WIDE_PAGE, asks_twice=not before)
    with run.recording(window_from=until.date()):
        for page in pages:
            run.store_page(page)
    site.progress.end("poll", run.summary())
    if run.failure is None:
        said = f"arXiv's search stood in for the harvest: {run.summary()}"
        report.failures.append(Said.plain(said))
