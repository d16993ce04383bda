"""What has been looked at, from the ledger of looks: on behalf of some saved queries or of all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import latest_mailing, mailing_moment, mailings_between
from digest.planning import assess_coverage, join_coverages, was_asked, was_complete
from digest.planning.polls import Source
from digest.store import mailings as mailing_store
from digest.store import runs as run_store
from digest.store.queries import active_revisions
from digest.store.watches import list_askings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.messages import Coverage

JOINT = ""
"""The key of a look that stands for all saved queries at once: a harvest, or one search for all."""

_BEFORE = timedelta(days=4)
"""How long before a mailing the last look may lie whose failure is told where none was made since."""


def load_coverage(conn: Connection, source: str, queries: Iterable[str], now: datetime) -> Coverage:
    """Say what has been looked at of the last mailing.

    One harvest looks for all saved queries. A search looks for one, or for all together; each query must
    have been looked for either way.

    Args:
        conn: a reading transaction.
        source: `harvest` or `query`.
        queries: canonical ones.
        now: the moment (UTC).
    """
    mailing = latest_mailing(now)
    new = mailing_store.count_announced(conn, mailing, mailing).get(mailing, 0)
    if source == Source.HARVEST:
        polls = run_store.recent_polls(conn, source, [JOINT], now)
        checks = run_store.recent_polls(conn, Source.GAPS, [JOINT], now)
        return assess_coverage(polls, now, checks=checks, new=new)
    alone = run_store.list_keys(conn, source) - {JOINT}
    keys = sorted({query if query in alone else JOINT for query in queries}) or [JOINT]
    looks = dict.fromkeys(tuple(run_store.recent_polls(conn, source, {key, JOINT}, now)) for key in keys)
    return join_coverages([assess_coverage(polls, now, new=new) for polls in looks])


def load_coverage_since(conn: Connection, source: str, mailing: date, now: datetime) -> Coverage | None:
    """Say what has been looked at of a mailing for the saved queries in force: complete if any since is.

    A search is made for each of them, and one that nobody asked when the mailing went out has missed none
    of it. What it has asked since counts, however it read: the first look after an edit goes on where the last
    one before it ended.

    Args:
        conn: a reading transaction.
        source: `harvest` or `query`.
        mailing: Eastern date of the last mailing, or of one before it.
        now: the moment (UTC).

    Returns:
        None where no saved query is in force, or none was asked by then.
    """
    if source != Source.HARVEST:
        return _load_searched(conn, source, mailing, now)
    if not active_revisions(conn):
        return None
    coverage = load_coverage(conn, source, (), now)
    last = latest_mailing(now)
    day_before = mailing_moment(mailing) - timedelta(seconds=1)
    for earlier in reversed([*mailings_between(day_before, mailing_moment(last))]):
        if coverage.is_complete:
            break
        if earlier < last:
            coverage = _load_earlier(conn, source, earlier)
    return replace(coverage, mailing=mailing)


def _load_searched(conn: Connection, source: str, mailing: date, now: datetime) -> Coverage | None:
    """Say it of searches, of which one that was late enough stays so: those made since tell all.

    Ten thousand queries, looked for together, take one statement, and a second where that look is not complete.
    """
    sent = mailing_moment(mailing)
    polls = run_store.polls_since_each(conn, source, sent - _BEFORE)
    together = assess_coverage(polls.get(JOINT, ()), sent)
    if together.is_complete:
        return together
    askings = [one for one in list_askings(conn, sent) if was_asked(one.since, sent, now)]
    keys = {one.texts.intersection(polls) for one in askings}
    looks = [[poll for key in sorted({*some, JOINT}) for poll in polls.get(key, ())] for some in keys]
    return join_coverages([assess_coverage(made, sent) for made in looks]) if looks else None


def _load_earlier(conn: Connection, source: str, mailing: date) -> Coverage:
    sent = mailing_moment(mailing)
    coverage = load_coverage(conn, source, (), sent)
    if coverage.is_complete:
        return coverage
    polls = run_store.recent_polls(conn, source, [JOINT], sent)
    checks = run_store.recent_polls(conn, Source.GAPS, [JOINT], sent)
    return replace(coverage, is_complete=was_complete(polls, mailing, checks=checks, new=coverage.new))


def reach_back(
    conn: Connection, coverage: Coverage, first: date | None, covered_until: datetime | None = None
) -> Coverage:
    """Say of a digest that stands for several mailings which these are, and how many papers they all brought.

    Args:
        conn: a reading transaction.
        coverage: what was looked at of the last mailing.
        first: the earliest mailing that brought a paper it holds, None where none is known: it tells where no
            turn came before.
        covered_until: the moment up to which earlier turns stand for what was announced (UTC).
    """
    if coverage.mailing is None:
        return coverage
    if covered_until is not None:
        first = next(mailings_between(covered_until, mailing_moment(coverage.mailing)), None)
    if first is None or first >= coverage.mailing:
        return coverage
    counts = mailing_store.count_announced(conn, first, coverage.mailing)
    day_before = mailing_moment(first) - timedelta(seconds=1)
    expected = sum(1 for _ in mailings_between(day_before, mailing_moment(coverage.mailing)))
    return replace(coverage, since=first, new=sum(counts.values()), mailings=expected)


def load_whole_coverage(conn: Connection, source: str, now: datetime) -> Coverage:
    """Say what has been looked at on behalf of all saved queries in force."""
    return load_coverage(conn, source, [revision.canonical for revision in active_revisions(conn)], now)
