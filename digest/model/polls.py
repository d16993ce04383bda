"""Polls: where papers come from, how checks ended, and which ids are missing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from digest.model.clock import RequestOutcome
from digest.model.papers import ArxivId
from digest.model.said import NOTHING, Said

MOST_SEARCHED = 30
"""Saved queries that arXiv's search is asked for, one search each; more need a harvest."""


class Source(StrEnum):
    """Where papers come from."""

    HARVEST = "harvest"
    QUERY = "query"
    FIRST_DIGEST = "first-digest"
    GAPS = "gaps"
    FALLBACK = "fallback"


class RunOutcome(StrEnum):
    """How a run ended; `EMPTY` is complete too: arXiv was asked and had nothing."""

    RUNNING = "running"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class PollSummary:
    """A finished poll, as far as coverage cares.

    Attributes:
        source: "harvest", "query" or "gaps".
        started_at: when its first request was made (UTC).
        finished_at: when its last page was stored (UTC).
        is_complete: every page came and was stored; for a gap check, every missing id was asked
            for.
        failure: why it is not complete, nothing if it is.
        reader_message: the same in a reader's words.
        highest: `ArxivId.announcement_order` of the newest paper it met, (0, 0) if it met none.
    """

    source: str
    started_at: datetime
    finished_at: datetime
    is_complete: bool
    papers: int
    failure: Said = NOTHING
    highest: tuple[int, int] = (0, 0)
    reader_message: str = ""


@dataclass(frozen=True, slots=True)
class LastChecks:
    """When a source was last checked; moments are in UTC, None if there is none.

    Attributes:
        complete: when the last complete check started.
        failure: when the last check ended, if it failed.
        failures: how many checks in a row have failed.
        news: when the last complete check ended, if it brought papers announced for the first time.
    """

    complete: datetime | None = None
    failure: datetime | None = None
    failures: int = 0
    news: datetime | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A missing id: since when, and when it was last asked for (UTC), None if it was not yet."""

    id: ArxivId
    missed_at: datetime
    asks: int = 0
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RequestLog:
    """One request to arXiv as it went, for the operator.

    Attributes:
        url: the whole of it, a form's fields included.
        status: HTTP status, None if no whole answer came.
        size: bytes of the body, unpacked.
        detail: what was wrong; "" for a good page.
    """

    at: datetime
    method: str
    url: str
    status: int | None
    milliseconds: int
    size: int
    outcome: RequestOutcome
    detail: str
