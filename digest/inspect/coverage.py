"""Tells what became of each expected mailing: looks, missing ids, entries set aside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.model.announcements import mailing_moment, mailings_between, next_mailing
from digest.model.polls import Source
from digest.poll.coverage import assess_coverage, is_late, join_coverages, was_asked
from digest.poll.ledger import JOINT
from digest.poll.rules import REQUESTS_A_DAY, is_asked_together
from digest.store import papers as mailing_store
from digest.store import queries as query_store
from digest.store import runs as run_store
from digest.store import views
from digest.store.queries import load_askings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date, datetime

    from sqlalchemy import Connection

    from digest.model.polls import PollSummary
    from digest.store.runs import GapState


def polled_keys(conn: Connection, source: str) -> list[str]:
    """Return what is asked of arXiv, as keys of looks: everything at once, or each distinct saved query."""
    if source == "harvest":
        return [JOINT]
    texts = list(dict.fromkeys(revision.canonical for revision in query_store.active_revisions(conn)))
    return [JOINT] if is_asked_together(texts) else texts


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
        gaps=run_store.count_gaps(conn),
        requests=views.count_requests(conn, now - timedelta(hours=24)),
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
    polls: dict[str, list[PollSummary]] = {}
    for poll in run_store.polls_since(conn, source, since):
        polls.setdefault(poll.query_key, []).append(poll)
    if keys == [JOINT]:
        return [Looks(polls.get(JOINT, ()))]
    begun: dict[frozenset[str], datetime] = {}
    for asking in load_askings(conn, since):
        begun[asking.texts] = min(asking.since, begun.get(asking.texts, asking.since))
    return [
        Looks([poll for key in sorted({*texts, JOINT}) for poll in polls.get(key, ())], first)
        for texts, first in begun.items()
    ]


def _find_first(conn: Connection, source: str, keys: list[str]) -> datetime | None:
    """Return when the first complete look began."""
    began = (run_store.load_cursor(conn, source, key).bootstrapped_at for key in {*keys, JOINT})
    return min(filter(None, began), default=None)


class MailingState(StrEnum):
    """What became of a mailing.

    `DEFERRED`: arXiv was looked at again and again, and nothing came before the next mailing was due.
    `CAUGHT_UP`: it was complete only with looks made after the next mailing.
    """

    COMPLETE = "complete"
    CAUGHT_UP = "caught up"
    INCOMPLETE = "incomplete"
    AWAITED = "not out yet"
    LATE = "late"
    DEFERRED = "deferred"
    NOT_LOOKED_AT = "not looked at"
    BEFORE = "before the first look"


@dataclass(frozen=True, slots=True)
class MailingLine:
    """One mailing.

    Attributes:
        mailing: Eastern date of its evening.
        state: what became of it.
        new: papers announced for the first time in it; estimated from the order of ids where several came at once.
        looks: complete looks between it and the next one.
        failed: looks in that time that failed.
        checked_at: when the last of them ended (UTC); None where there was none.
        failure: how the last one failed, where the mailing is not complete; "" otherwise.
    """

    mailing: date
    state: MailingState
    new: int
    looks: int
    failed: int
    checked_at: datetime | None
    failure: str


@dataclass(frozen=True, slots=True)
class Looks:
    """Looks that are enough for one at everything that is asked for, or for one saved query's part of it.

    Attributes:
        polls: finished polls; one that stands for several saved queries is the same object with each.
        since: since when they are to be made (UTC); None for always.
    """

    polls: Sequence[PollSummary]
    since: datetime | None = None


def assess_mailings(
    sources: Sequence[Looks],
    checks: Sequence[PollSummary],
    counts: Mapping[date, int],
    *,
    first_at: datetime | None,
    days: int,
    now: datetime,
) -> list[MailingLine]:
    """Say what became of each mailing of the last days, the newest first.

    Args:
        sources: what was looked at; all of it counts, but for an earlier mailing what was not asked by then.
        checks: finished gap checks.
        counts: papers each mailing brought, by its Eastern date.
        first_at: when the first complete look began (UTC); None where there was none yet.
        days: how far back.
        now: the moment (UTC).
    """
    lines: list[MailingLine] = []
    is_covered = False
    for mailing in reversed(list(mailings_between(now - timedelta(days=days), now))):
        line = _assess_mailing(sources, checks, mailing, counts.get(mailing, 0), now, is_covered=is_covered)
        is_covered = is_covered or line.state is MailingState.COMPLETE
        following = mailing_moment(next_mailing(mailing_moment(mailing)))
        if first_at is None or first_at >= following:
            line = replace(line, state=MailingState.BEFORE)
        lines.append(line)
    return lines


def _assess_mailing(
    sources: Sequence[Looks],
    checks: Sequence[PollSummary],
    mailing: date,
    new: int,
    now: datetime,
    *,
    is_covered: bool,
) -> MailingLine:
    sent = mailing_moment(mailing)
    until = min(now, mailing_moment(next_mailing(sent)) - timedelta(seconds=1))
    asked = [looks for looks in sources if looks.since is None or was_asked(looks.since, sent, now)]
    # What came in after the last mailing is still to be looked for; of one before it has missed nothing.
    owed = asked if asked and until < now else sources
    coverage = join_coverages(
        [
            assess_coverage(
                [poll for poll in looks.polls if poll.finished_at <= until],
                until,
                checks=[c for c in checks if c.finished_at <= until],
                new=new,
            )
            for looks in owed
        ]
    )
    every = {id(poll): poll for looks in sources for poll in looks.polls}.values()
    made = [poll for poll in every if sent <= poll.started_at and poll.finished_at <= until]
    if coverage.is_complete:
        state = MailingState.COMPLETE
    elif is_covered and coverage.is_awaited and not new:
        state = MailingState.DEFERRED
    elif is_covered:
        state = MailingState.CAUGHT_UP
    elif is_late(coverage, until):
        state = MailingState.LATE
    elif coverage.is_awaited:
        state = MailingState.AWAITED
    else:
        state = MailingState.INCOMPLETE if made else MailingState.NOT_LOOKED_AT
    return MailingLine(
        mailing=mailing,
        state=state,
        new=new,
        looks=sum(poll.is_complete for poll in made),
        failed=sum(not poll.is_complete for poll in made),
        checked_at=max((poll.finished_at for poll in made), default=None),
        failure=coverage.failure if state in (MailingState.INCOMPLETE, MailingState.NOT_LOOKED_AT) else "",
    )
