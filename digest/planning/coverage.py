"""What was looked at: the facts that tell a quiet day from a failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.announcements import latest_mailing, mailing_moment
from digest.messages import Coverage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

_VISIBLE_AFTER = {"harvest": timedelta(hours=2, minutes=30), "query": timedelta(hours=4)}
"""When a mailing can be expected in each interface: OAI-PMH towards 22:30 Eastern, the search API about
midnight (https://info.arxiv.org/help/oa/index.html, https://info.arxiv.org/help/api/user-manual.html)."""


@dataclass(frozen=True, slots=True)
class PollSummary:
    """A finished poll, as far as coverage cares.

    Attributes:
        source: "harvest" or "query".
        started_at: when its first request was made (UTC).
        finished_at: when its last page was stored (UTC).
        is_complete: every page came and was stored.
        papers: how many papers it compared.
        new: how many of them were announced for the first time.
        failure: why it is not complete, "" where it is.
    """

    source: str
    started_at: datetime
    finished_at: datetime
    is_complete: bool
    papers: int
    new: int
    failure: str = ""


def assess_coverage(polls: Sequence[PollSummary], now: datetime, *, matched: int = 0) -> Coverage:
    """Say what has been looked at of the last mailing before `now`.

    A mailing counts as complete when a complete poll started after it and either met papers announced
    for the first time or started late enough for the interface to show the mailing; an early look that
    found nothing new proves nothing, even if it met old papers that were never stored.

    Args:
        polls: finished polls since that mailing and the last one before it, in any order; those of
            one query for `source = "query"`.
        now: the moment of planning (UTC).
        matched: papers of the digest.
    """
    mailing = latest_mailing(now)
    sent = mailing_moment(mailing)
    since = sorted((poll for poll in polls if poll.started_at >= sent), key=lambda poll: poll.finished_at)
    proofs = [poll for poll in since if poll.is_complete and _shows_mailing(poll, mailing)]
    last = max(polls, key=lambda poll: poll.finished_at, default=None)
    return Coverage(
        mailing=mailing,
        is_complete=bool(proofs),
        looked_at=max((poll.papers for poll in since), default=0),
        matched=matched,
        checked_at=last.finished_at if last else None,
        source=last.source if last else "harvest",
        failure="" if proofs or last is None else last.failure,
    )


def join_coverages(coverages: Sequence[Coverage]) -> Coverage:
    """Say what has been looked at by several polls that only together are one look: complete if all were.

    Args:
        coverages: at least one, all of the same mailing.
    """
    failed = [coverage.failure for coverage in coverages if coverage.failure]
    checked = [coverage.checked_at for coverage in coverages if coverage.checked_at is not None]
    return replace(
        coverages[0],
        is_complete=all(coverage.is_complete for coverage in coverages),
        looked_at=sum(coverage.looked_at for coverage in coverages),
        checked_at=max(checked, default=None),
        failure=failed[0] if failed else "",
    )


def _shows_mailing(poll: PollSummary, mailing: date) -> bool:
    found_news = poll.source == "harvest" and poll.new > 0
    return found_news or poll.started_at >= mailing_moment(mailing) + _VISIBLE_AFTER.get(poll.source, timedelta())
