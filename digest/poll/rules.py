"""Decides when to check, how far back, which checks to believe, and what is missing or covered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import takewhile

from digest.model.announcements import (
    EASTERN,
    alarm_moment,
    announcement_moment,
    announcements_between,
    latest_announcement,
    next_announcement,
)
from digest.model.clock import write_moment, write_with_zone
from digest.model.messages import Coverage
from digest.model.papers import FIVE_DIGITS_SINCE, ArxivId
from digest.model.polls import Gap, LastChecks, PollSummary
from digest.model.said import Said, Saying
from digest.model.subscriptions import TurnFailure, UncheckedTurn

CONFIRMED_AFTER = timedelta(minutes=30)
"""That nothing is there is believed when a second check at least so much later says it again."""

ASKED_AT = (timedelta(), timedelta(days=1), timedelta(days=2), timedelta(days=4), timedelta(days=7))
"""How long after it was missed an id is asked for; after the last time it is given up."""

SPARSE_FROM = 1_000
"""That many missing ids at once, if also most of their span, are no gaps.

Such a server numbers otherwise.
"""

ALONE = 2
"""That many ids are asked for one by one, of the interface that knows a paper first."""

SPARSE = Said.of(Saying.NUMBERED_OTHERWISE)

POLL_TIMES = (time(0, 30), time(3, 30), time(9, 0), time(15, 0), time(22, 45))
"""Eastern times from which a new check is worth a request.

OAI-PMH shows an announcement towards 22:30. The other times catch late batches and deferred
announcements.
"""

BOOTSTRAP_DAYS = 10
"""How far the very first harvest reaches back."""

WIDER_BOOTSTRAP_DAYS = 35
"""How far it reaches back if that brings nothing, before Digest believes that there is nothing."""

HARVEST_OVERLAPS = ((14, timedelta(days=7)), (3, timedelta(hours=20)))
"""A harvest starts so many days before the last complete one if none so wide was made for long.

Else it starts one day before. Papers that move while pages are read are lost to one run. The next
ones find them.
"""

SEARCH_LOOKBACKS = ((100, timedelta(days=30)), (35, timedelta(days=7)))
"""The same for searches, in days since a paper's present version; else `SEARCH_LOOKBACK`.

Over a week after submission come 3.9 % of papers, over a month 0.64 %, over a hundred days 0.06 %.
"""

LEAST_OVERLAP = 1
SEARCH_LOOKBACK = 8
LONGEST_LOOKBACK = 100
"""The first search for a saved query reaches as far as any."""

CONFIRM_AFTER = timedelta(minutes=35)
"""So long after a check that brought new papers another is made, to see whether that was all."""

REQUESTS_A_RUN = 6
REQUESTS_A_DAY = 30
"""The most requests of checks that can wait; a check that is due makes all it needs."""

MOST_FIRST_SEARCHES = 60
"""Searches of a day for the newest papers of new saved queries.

More at once are answered from what is stored.
"""

FALLBACK_AFTER = timedelta(hours=3)
"""A harvest that has failed for so long is stood in for by the search."""

EDIT_MARGIN = timedelta(days=7)
"""How old a never-stored higher version may be, at the first check, to count as new."""

RETRY_AFTER_FAILURE = timedelta(minutes=10)
LONGEST_RETRY = timedelta(hours=2)
"""A check that failed is made again after ten minutes, then after twice as long, up to this."""

HARVEST_VISIBLE_AFTER = timedelta(hours=2, minutes=30)
"""When an announcement can be expected in OAI-PMH: towards 22:30 Eastern time.

See https://info.arxiv.org/help/oa/index.html.
"""

SEARCH_VISIBLE_AFTER = timedelta(hours=4)
"""When an announcement can be expected in arXiv's search: about midnight Eastern time.

See https://info.arxiv.org/help/api/user-manual.html.
"""

VISIBLE_AFTER = {"harvest": HARVEST_VISIBLE_AFTER, "query": SEARCH_VISIBLE_AFTER}
"""The same by source: a check so soon after an announcement went out has not seen it."""

SETTLED_AFTER = timedelta(minutes=30)
"""An announcement has come to its end when two checks so far apart end at the same newest paper."""

_UNFINISHED = "arXiv has not been read to the end"


@dataclass(frozen=True, slots=True)
class Walked:
    """A check that came to its end.

    Attributes:
        highest: `ArxivId.announcement_order` of the newest paper, (0, 0) if none came.
        was_widened: nothing was found, and then nothing in a much longer span either.
    """

    window_from: date
    papers: int
    quarantined: int
    highest: tuple[int, int]
    ended_at: datetime
    was_widened: bool = False


def find_harvest_doubt(
    walked: Walked, newest: tuple[ArxivId, date | None] | None, last_empty: datetime | None
) -> str:
    """Say why a harvest can't have shown everything; "" if nothing speaks against it.

    Args:
        newest: the newest paper that was stored before it, with its datestamp.
        last_empty: when the harvest before it ended (UTC), if that one found nothing either.
    """
    window_from = walked.window_from
    since = f"{window_from:%a} {window_from.day} {window_from:%b}"
    if newest is not None:
        id_, datestamp = newest
        was_in_window = datestamp is not None and datestamp >= window_from
        was_met = walked.highest >= id_.announcement_order
        if was_in_window and not was_met and not walked.quarantined:
            lacks = f"{id_} is not among the papers changed since {since}"
            return f"arXiv showed an older state than before: {lacks}"
    if walked.papers or walked.quarantined or walked.was_widened:
        return ""
    if _is_confirmed(walked, last_empty):
        return ""
    return (
        f"arXiv says that nothing was changed since {since}; "
        "Digest waits until a later check confirms it"
    )


def find_search_doubt(walked: Walked, last_total: int | None, last_empty: datetime | None) -> str:
    """Say why a search that found nothing is not believed; "" if it is."""
    if walked.papers or walked.quarantined or not last_total:
        return ""
    if _is_confirmed(walked, last_empty):
        return ""
    return (
        f"arXiv found nothing where it had {last_total:,} papers; "
        "Digest waits until a later check confirms it"
    )


def _is_confirmed(walked: Walked, last_empty: datetime | None) -> bool:
    """Whether an empty check says what another empty one said long enough before it."""
    return last_empty is not None and walked.ended_at - last_empty >= CONFIRMED_AFTER


def find_missing(stored: Mapping[int, Collection[int]], mark: tuple[int, int]) -> Iterator[ArxivId]:
    """Yield the ids of the last two months that are not stored, though a newer one of theirs is.

    Args:
        stored: numbers of the papers stored, by month (`YYYYMM`).
        mark: `ArxivId.announcement_order` of the newest paper when Digest first checked arXiv:
            what lies below is no business of ours.
    """
    for month in sorted(stored)[-2:]:
        numbers = frozenset(stored[month])
        if month < mark[0] or not numbers:
            continue
        first = mark[1] + 1 if month == mark[0] else 1
        digits = 5 if month >= FIVE_DIGITS_SINCE else 4
        for number in range(first, max(numbers)):
            if number not in numbers:
                yield ArxivId(month, number, digits=digits)


def is_sparse(
    stored: Mapping[int, Collection[int]], missing: Sequence[ArxivId], mark: tuple[int, int]
) -> bool:
    """Whether ids are so thinly strewn that a missing one says nothing.

    So it is where an archive is shown in part, or made up.
    """
    known = 0
    for month in sorted(stored)[-2:]:
        known += sum((month, number) > mark for number in stored[month])
    return len(missing) >= SPARSE_FROM and len(missing) > 4 * known


def choose_due(gaps: Sequence[Gap], now: datetime) -> list[Gap]:
    """Return the gaps to ask arXiv for now: those never asked for first, then the newest."""
    due = []
    for gap in gaps:
        is_given_up = gap.asks >= len(ASKED_AT)
        if not is_given_up and now - gap.missed_at >= ASKED_AT[gap.asks]:
            due.append(gap)
    due.sort(key=lambda gap: gap.id.announcement_order, reverse=True)
    due.sort(key=lambda gap: gap.asks > 0)
    return due


def explain_giving_up(gap: Gap) -> Said:
    """Say why an id is given up."""
    asked = f"{gap.asks} times" if gap.asks > 1 else "once"
    began = f"{gap.missed_at:%-d %b}"
    if gap.asked_at is None:
        return Said.of(Saying.NOT_KNOWN, asked, f"{began} {gap.missed_at.year}")
    return Said.of(Saying.NOT_KNOWN_UNTIL, asked, began, f"{gap.asked_at:%-d %b %Y}")


def latest_poll_time(now: datetime) -> datetime:
    """Return the last moment (UTC) from which a new check was worth a request."""
    return max(moment for moment in _poll_times_around(now) if moment <= now)


def next_poll_time(now: datetime) -> datetime:
    """Return the next moment (UTC) from which a new check is worth a request."""
    return min(moment for moment in _poll_times_around(now) if moment > now)


def _poll_times_around(now: datetime) -> Iterator[datetime]:
    today = now.astimezone(EASTERN).date()
    for days in (-1, 0, 1):
        for at in POLL_TIMES:
            day = today + timedelta(days=days)
            moment = datetime.combine(day, at, tzinfo=EASTERN)
            yield moment.astimezone(UTC)


def next_check_at(last: LastChecks) -> datetime | None:
    """Return from when on the next check is worth a request (UTC); None for at once."""
    if last.failure is not None:
        doublings = min(max(last.failures - 1, 0), 9)
        pause = RETRY_AFTER_FAILURE * (1 << doublings)
        return last.failure + min(pause, LONGEST_RETRY)
    if last.complete is None:
        return None
    regular = next_poll_time(last.complete)
    if last.news is None:
        return regular
    return min(regular, last.news + CONFIRM_AFTER)


def is_poll_due(last: LastChecks, now: datetime) -> bool:
    """Whether to ask now. A failed check is repeated after a while, whatever came before it."""
    next_at = next_check_at(last)
    return next_at is None or next_at <= now


def describe_pause(last: LastChecks, now: datetime, zone: tzinfo | None) -> str:
    """Say why nothing is asked now, and from when on it is."""
    again = write_with_zone(next_check_at(last) or now, zone, now)
    if last.failure is not None:
        return f"the last check failed; next check from {again}"
    if last.complete is None:
        return f"never checked; next check from {again}"
    checked = write_moment(last.complete, zone, now)
    return f"last checked {checked}; next check from {again}"


def choose_reach(
    steps: Sequence[tuple[int, timedelta]],
    least: int,
    last_reaching: Mapping[int, datetime | None],
    now: datetime,
) -> int:
    """Return how many days the next check reaches back: as many as are due, the most first.

    Args:
        steps: `HARVEST_OVERLAPS` or `SEARCH_LOOKBACKS`.
        least: the days if none of them is due.
        last_reaching: when the last complete check that reached so many days started (UTC).
    """
    for days, every in steps:
        last = last_reaching.get(days)
        if last is None or now - last >= every:
            return days
    return least


def search_until(last_complete: datetime | None, now: datetime, days: int) -> datetime:
    """Return how old a paper's present version may be (UTC) for the next search to want it.

    Counted from the last complete check, so that what came out while nobody checked is met, too.
    """
    return min(last_complete or now, now) - timedelta(days=days)


def harvest_from(
    complete_from: date | None, now: datetime, overlap: int, newest: date | None = None
) -> date:
    """Return the OAI-PMH `from` date of the next harvest.

    Never today: an answer for a day that has only begun may stay cached until midnight UTC. Never
    later than the newest paper known and the last announcement: so there is always something to
    meet, and not meeting it tells.

    Args:
        complete_from: UTC date on which the last complete harvest started; None before the first.
        overlap: days to go back before it, or before today.
        newest: datestamp of the newest paper stored; None if none is.
    """
    today = now.astimezone(UTC).date()
    if complete_from is None:
        return today - timedelta(days=overlap)
    return min(
        complete_from - timedelta(days=overlap),
        today - timedelta(days=1),
        latest_announcement(now),
        newest or today,
    )


def assess_coverage(
    polls: Sequence[PollSummary],
    now: datetime,
    *,
    checks: Sequence[PollSummary] = (),
    new: int = 0,
) -> Coverage:
    """Say what has been checked of the last announcement before `now`.

    A harvest shows an announcement when its newest paper is newer than before the announcement.
    The announcement is complete when two complete harvests at least half an hour apart end at the
    same newest paper, or when after one of them no id below its newest is missing without arXiv
    having been asked for it. Then it has come to its end, too, if that harvest was made late
    enough. A search shows too little of all of arXiv for all that: it counts when it is made late
    enough.

    If the announcement before was not searched for either, newer papers may all be of that one, so
    the papers known to be of this one decide.

    Args:
        polls: finished polls since the announcement before that one, in any order; one source's.
        checks: finished gap checks of the same time.
        new: papers that announcement is known to have brought.
    """
    announcement = latest_announcement(now)
    sent = announcement_moment(announcement)
    since = [poll for poll in polls if poll.started_at >= sent]
    latest_first = sorted(polls, key=lambda poll: poll.finished_at, reverse=True)
    last = latest_first[0] if latest_first else None
    source = last.source if last is not None else "harvest"
    if source == "query":
        reach = _reach_by_search(since, sent)
    else:
        reach = _reach_by_harvest(polls, checks, sent, is_known=new > 0)
    ended = _find_last_complete(latest_first) if reach.is_complete else last
    failed = list(takewhile(lambda poll: not poll.is_complete, latest_first))
    failure = ""
    if last is not None and last.failure and not reach.is_complete:
        failure = last.reader_message or _UNFINISHED
    return Coverage(
        announcement=announcement,
        is_complete=reach.is_complete,
        compared=max((poll.papers for poll in since), default=0),
        matched=0,
        checked_at=ended.finished_at if ended is not None else None,
        source=source,
        failure=failure,
        failing_since=failed[-1].finished_at if failed else None,
        new=new,
        is_settled=reach.is_complete and reach.is_settled,
        is_awaited=reach.is_awaited,
    )


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far checks have come with an announcement.

    Attributes:
        is_settled: it has come to its end: no more papers of it will follow.
        is_awaited: checks came to their end and met nothing of it.
    """

    is_complete: bool
    is_settled: bool
    is_awaited: bool


def _reach_by_search(since: Sequence[PollSummary], sent: datetime) -> _Reach:
    """Judge the searches made since an announcement went out: one that was late enough shows it."""
    visible_from = sent + SEARCH_VISIBLE_AFTER
    late = [poll for poll in since if poll.started_at >= visible_from]
    is_complete = any(poll.is_complete for poll in late)
    return _Reach(is_complete, is_settled=is_complete, is_awaited=False)


def _reach_by_harvest(
    polls: Sequence[PollSummary], checks: Sequence[PollSummary], sent: datetime, *, is_known: bool
) -> _Reach:
    """Judge the harvests made around an announcement: see `assess_coverage`."""
    since = [poll for poll in polls if poll.started_at >= sent]
    since.sort(key=lambda poll: poll.finished_at)
    arrived = _find_arrived(polls, since, sent, is_known=is_known)
    newest = _list_newest(arrived)
    ends = [poll.finished_at for poll in newest]
    # Two checks far enough apart end at the same newest paper.
    ends_alike = bool(ends) and max(ends) - min(ends) >= SETTLED_AFTER
    visible_from = sent + SEARCH_VISIBLE_AFTER
    is_late_enough = any(poll.started_at >= visible_from for poll in newest)
    has_met_nothing = not arrived and any(poll.is_complete for poll in since)
    return _Reach(
        is_complete=_is_complete(newest, checks, ends_alike=ends_alike),
        is_settled=ends_alike or is_late_enough,
        is_awaited=has_met_nothing,
    )


def _find_last_complete(latest_first: Sequence[PollSummary]) -> PollSummary | None:
    return next((poll for poll in latest_first if poll.is_complete), None)


def find_unchecked(polls: Sequence[PollSummary]) -> Iterator[UncheckedTurn]:
    """Yield the announcements of the last days that were checked only after the next one came.

    `polls` are the finished ones of some days, of one source, the oldest first; each turn is due
    when its announcement went out.
    """
    if not polls:
        return
    visible_after = VISIBLE_AFTER[polls[0].source]
    for day in announcements_between(polls[0].started_at, polls[-1].finished_at):
        sent = announcement_moment(day)
        seen_from = sent + visible_after
        closing = announcement_moment(next_announcement(sent))
        made = [poll for poll in polls if seen_from <= poll.started_at < closing]
        later = [poll for poll in polls if poll.started_at >= closing]
        was_checked_in_time = any(poll.is_complete for poll in made)
        was_checked_later = any(poll.is_complete for poll in later)
        if was_checked_later and not was_checked_in_time:
            failure = TurnFailure.ARXIV_FAILED if made else TurnFailure.DID_NOT_RUN
            yield UncheckedTurn(sent, failure)


def is_late(coverage: Coverage, now: datetime) -> bool:
    """Whether an announcement that was expected was not there by the next morning."""
    return (
        coverage.is_awaited
        and coverage.announcement is not None
        and now >= alarm_moment(coverage.announcement)
    )


def _find_arrived(
    polls: Sequence[PollSummary], since: Sequence[PollSummary], sent: datetime, *, is_known: bool
) -> list[PollSummary]:
    """Return the complete harvests since an announcement that went further than any before it."""
    before = [poll for poll in polls if poll.started_at < sent]
    if not is_known and _has_skipped(before, sent):
        return []
    met = [poll for poll in before if poll.highest > (0, 0)]
    further = [poll for poll in since if poll.is_complete]
    if met:
        highest = max(poll.highest for poll in met)
        further = [poll for poll in further if poll.highest > highest]
    if any(poll.is_complete for poll in met):
        return further
    # A check that failed met nothing, or only some of what was there.
    seen_from = sent + HARVEST_VISIBLE_AFTER
    return [poll for poll in further if poll.started_at >= seen_from]


def _has_skipped(before: Sequence[PollSummary], sent: datetime) -> bool:
    """Whether the announcement before one that was sent may not have been seen by any check."""
    complete = [poll.started_at for poll in before if poll.is_complete]
    looked = max(complete, default=sent)
    # An announcement is not there yet when it goes out: a check that early has not seen it.
    may_have_seen = looked - HARVEST_VISIBLE_AFTER
    days = announcements_between(may_have_seen, sent)
    return any(announcement_moment(day) < sent for day in days)


def _list_newest(arrived: Sequence[PollSummary]) -> list[PollSummary]:
    newest = max((poll.highest for poll in arrived), default=(0, 0))
    return [poll for poll in arrived if poll.highest == newest]


def _is_complete(
    newest: Sequence[PollSummary], checks: Sequence[PollSummary], *, ends_alike: bool
) -> bool:
    """Whether nothing can be missing: see `assess_coverage`.

    The last check for missing ids decides: one that left ids unasked speaks against it.
    """
    if not newest:
        return False
    first = min(poll.finished_at for poll in newest)
    made = [check for check in checks if check.started_at >= first]
    if not made:
        return ends_alike
    made.sort(key=lambda check: check.finished_at)
    return made[-1].is_complete
