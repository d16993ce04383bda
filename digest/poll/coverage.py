"""Joins the checks that stand behind a digest: the facts that tell a quiet day from a failure."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from digest.model.announcements import alarm_moment, latest_mailing, mailing_moment, mailings_between
from digest.model.messages import Coverage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from digest.model.polls import PollSummary

HARVEST_VISIBLE_AFTER = timedelta(hours=2, minutes=30)
"""When an announcement can be expected in OAI-PMH: towards 22:30 Eastern time (https://info.arxiv.org/help/oa/index.html)."""

SEARCH_VISIBLE_AFTER = timedelta(hours=4)
"""When an announcement can be expected in arXiv's search: about midnight Eastern time
(https://info.arxiv.org/help/api/user-manual.html)."""

VISIBLE_AFTER = {"harvest": HARVEST_VISIBLE_AFTER, "query": SEARCH_VISIBLE_AFTER}
"""The same by source: a check so soon after an announcement went out has not seen it."""

SETTLED_AFTER = timedelta(minutes=30)
"""Two checks at least so far apart that end at the same newest paper: the announcement has come to its end."""


def assess_coverage(
    polls: Sequence[PollSummary],
    now: datetime,
    *,
    checks: Sequence[PollSummary] = (),
    matched: int = 0,
    new: int = 0,
) -> Coverage:
    """Say what has been checked of the last announcement before `now`.

    A harvest shows an announcement when its newest paper is newer than before the announcement. The announcement
    is complete when two complete harvests at least half an hour apart end at the same newest paper, or when
    after one of them no id below its newest is missing without arXiv having been asked for it; then it has come
    to its end, too, where that harvest was made late enough. A search shows too little of all of arXiv for
    all that: it counts when it is made late enough.

    Where the announcement before was not searched for either, newer papers may all be of that one, so the papers
    known to be of this one decide.

    Args:
        polls: finished polls since the announcement before that one, in any order; one source's.
        now: the moment of planning (UTC).
        checks: finished gap checks of the same time.
        matched: papers of the digest.
        new: papers that announcement is known to have brought.
    """
    mailing = latest_mailing(now)
    sent = mailing_moment(mailing)
    since = sorted((poll for poll in polls if poll.started_at >= sent), key=lambda poll: poll.finished_at)
    last = max(polls, key=lambda poll: poll.finished_at, default=None)
    source = last.source if last else "harvest"
    if source == "query":
        is_complete = any(poll.is_complete and poll.started_at >= sent + SEARCH_VISIBLE_AFTER for poll in since)
        is_settled, is_awaited = is_complete, False
    else:
        arrived = _find_arrived(polls, since, sent, is_known=new > 0)
        ends_alike = _ends_alike(arrived)
        is_complete = _is_complete(arrived, checks, ends_alike=ends_alike)
        is_settled = ends_alike or any(
            poll.started_at >= sent + SEARCH_VISIBLE_AFTER for poll in _list_newest(arrived)
        )
        is_awaited = not arrived and any(poll.is_complete for poll in since)
    return Coverage(
        mailing=mailing,
        is_complete=is_complete,
        looked_at=max((poll.papers for poll in since), default=0),
        matched=matched,
        checked_at=last.finished_at if last else None,
        source=source,
        failure="" if is_complete or last is None else last.failure,
        new=new,
        is_settled=is_complete and is_settled,
        is_awaited=is_awaited,
    )


def is_late(coverage: Coverage, now: datetime) -> bool:
    """Whether an announcement was expected, arXiv was checked, and by the next morning nothing of it was there."""
    return coverage.is_awaited and coverage.mailing is not None and now >= alarm_moment(coverage.mailing)


def _find_arrived(
    polls: Sequence[PollSummary], since: Sequence[PollSummary], sent: datetime, *, is_known: bool
) -> list[PollSummary]:
    """Return the complete harvests since an announcement that went further than any before it.

    Where no complete one before met any paper, nothing tells how far arXiv had come, and the hour counts as well.

    Args:
        polls: see `assess_coverage`.
        since: those of them made since the announcement.
        sent: when it went out (UTC).
        is_known: papers are known to be of that announcement.
    """
    before = [poll for poll in polls if poll.started_at < sent]
    complete = [poll for poll in since if poll.is_complete]
    looked = max((poll.started_at for poll in before if poll.is_complete), default=sent)
    # An announcement is not there yet when it goes out: a check that early has not seen it.
    may_have_seen = looked - HARVEST_VISIBLE_AFTER
    if not is_known and any(mailing_moment(missed) < sent for missed in mailings_between(may_have_seen, sent)):
        return []
    met = [poll for poll in before if poll.highest > (0, 0)]
    highest = max((poll.highest for poll in met), default=None)
    further = [poll for poll in complete if highest is None or poll.highest > highest]
    if any(poll.is_complete for poll in met):
        return further
    # A check that failed met nothing, or only some of what was there.
    seen_from = sent + HARVEST_VISIBLE_AFTER
    return [poll for poll in further if poll.started_at >= seen_from]


def _list_newest(arrived: Sequence[PollSummary]) -> list[PollSummary]:
    newest = max((poll.highest for poll in arrived), default=(0, 0))
    return [poll for poll in arrived if poll.highest == newest]


def _ends_alike(arrived: Sequence[PollSummary]) -> bool:
    """Whether two checks far enough apart end at the same newest paper."""
    ends = [poll.finished_at for poll in _list_newest(arrived)]
    return bool(ends) and max(ends) - min(ends) >= SETTLED_AFTER


def _is_complete(arrived: Sequence[PollSummary], checks: Sequence[PollSummary], *, ends_alike: bool) -> bool:
    """Whether nothing can be missing: see `assess_coverage`. A check that left ids unasked speaks against it."""
    if not arrived:
        return False
    first = min(poll.finished_at for poll in _list_newest(arrived))
    made = sorted((check for check in checks if check.started_at >= first), key=lambda check: check.finished_at)
    return made[-1].is_complete if made else ends_alike
