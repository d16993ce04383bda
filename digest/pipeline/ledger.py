"""What `digest coverage` shows: mailings, looks, missing ids, requests, and entries that were set aside."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.pipeline.attention import polled_keys
from digest.pipeline.covering import JOINT
from digest.planning.coverage import was_asked
from digest.planning.ledger import Looks, MailingLine, assess_mailings
from digest.planning.polls import REQUESTS_A_DAY, Source
from digest.store import cursors as cursor_store
from digest.store import gaps as gap_store
from digest.store import mailings as mailing_store
from digest.store import overview
from digest.store import runs as run_store
from digest.store.watches import list_askings

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.store.gaps import GapState

_MARGIN = timedelta(days=5)
"""Looks from so long before the first mailing shown tell how far arXiv had come by then."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What has been checked of the last days.

    Attributes:
        source: `harvest` or `query`.
        mailings: a line for each the calendar expected, the newest first.
        gaps: missing ids by what became of them.
        requests: made to arXiv within 24 hours.
        allowed: how many of them what can wait may use up.
    """

    source: str
    mailings: tuple[MailingLine, ...]
    gaps: dict[GapState, int]
    requests: int
    allowed: int = REQUESTS_A_DAY


def load_ledger(conn: Connection, source: str, now: datetime, *, days: int) -> Ledger:
    """Say what was checked of the mailings of the last days."""
    keys = polled_keys(conn, source) or [JOINT]
    return Ledger(
        source=source,
        mailings=tuple(load_mailings(conn, source, now, first_at=_find_first(conn, source, keys), days=days)),
        gaps=gap_store.count_gaps(conn),
        requests=overview.count_requests(conn, now - timedelta(hours=24)),
    )


def load_mailings(
    conn: Connection,
    source: str,
    now: datetime,
    *,
    first_at: datetime | None,
    days: int,
    asked_by: datetime | None = None,
) -> list[MailingLine]:
    """Say what became of each mailing of the last days, the newest first (see `assess_mailings`).

    Saved queries that nobody asked by a moment (UTC) do not count, where one is given.
    """
    since = now - timedelta(days=days) - _MARGIN
    sources = [
        looks
        for looks in _list_looks(conn, source, since, polled_keys(conn, source) or [JOINT])
        if asked_by is None or looks.since is None or was_asked(looks.since, asked_by, now)
    ]
    checks = run_store.polls_since(conn, Source.GAPS, since)
    counts = mailing_store.count_announced(conn, since.date(), now.date())
    return assess_mailings(sources, checks, counts, first_at=first_at, days=days, now=now) if sources else []


def _list_looks(conn: Connection, source: str, since: datetime, keys: list[str]) -> list[Looks]:
    """Return what was looked at since a moment (UTC): at everything at once, or for each saved query."""
    polls = run_store.polls_since_each(conn, source, since)
    if keys == [JOINT]:
        return [Looks(polls.get(JOINT, ()))]
    begun: dict[frozenset[str], datetime] = {}
    for asking in list_askings(conn, since):
        begun[asking.texts] = min(asking.since, begun.get(asking.texts, asking.since))
    return [
        Looks([poll for key in sorted({*texts, JOINT}) for poll in polls.get(key, ())], first)
        for texts, first in begun.items()
    ]


def _find_first(conn: Connection, source: str, keys: list[str]) -> datetime | None:
    """Return when the first complete look began."""
    began = (cursor_store.load_cursor(conn, source, key).bootstrapped_at for key in {*keys, JOINT})
    return min(filter(None, began), default=None)
