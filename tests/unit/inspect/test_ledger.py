"""The ledger tells for each announcement what became of it, and never a better story than the looks do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from digest.inspect.coverage import AnnouncementLine, AnnouncementState, assess_announcements
from digest.model.announcements import announcement_moment
from digest.model.polls import PollSummary
from digest.model.said import Said

NOW = datetime(2026, 11, 20, 15, 0, tzinfo=UTC)
"""Fri 20 Nov, 10:00 Eastern time."""
LAG = timedelta(minutes=90)
"""By so much later than a harvest a search can meet an announcement."""
THU, WED, TUE, MON = (date(2026, 11, day) for day in (19, 18, 17, 16))


def look(announcement: date, hours: float, highest: int, *, failure: str = "") -> PollSummary:
    started = announcement_moment(announcement) + timedelta(hours=hours)
    ended = started + timedelta(minutes=1)
    return PollSummary(
        "harvest", started, ended, not failure, 400, Said.plain(failure), (202611, highest)
    )


def night(announcement: date, highest: int) -> list[PollSummary]:
    return [look(announcement, 2.8, highest), look(announcement, 3.5, highest)]


def search(poll: PollSummary) -> PollSummary:
    started = poll.started_at + LAG
    ended = poll.finished_at + LAG
    return replace(poll, source="query", started_at=started, finished_at=ended)


def assess(
    *looks: PollSummary, counts: dict[date, int] | None = None, days: int = 3
) -> list[AnnouncementLine]:
    first_at = min(look.started_at for look in looks)
    return assess_announcements(looks, [], counts or {}, first_at=first_at, days=days, now=NOW)


def states(*looks: PollSummary, counts: dict[date, int] | None = None) -> list[AnnouncementState]:
    return [line.state for line in assess(*looks, counts=counts)]


def test_each_announcement_that_was_looked_at_to_its_end_is_complete() -> None:
    looks = [*night(MON, 10), *night(TUE, 20), *night(WED, 30), *night(THU, 40)]
    lines = assess(*looks, counts={THU: 10, WED: 10})
    assert [(line.announcement, line.state, line.new, line.checks) for line in lines] == [
        (THU, "complete", 10, 2),
        (WED, "complete", 10, 2),
        (TUE, "complete", 0, 2),
    ]


def test_evenings_without_an_announcement_have_no_line() -> None:
    announcements = [
        line.announcement
        for line in assess_announcements([], [], {}, first_at=None, days=8, now=NOW)
    ]
    assert announcements == [THU, WED, TUE, MON, date(2026, 11, 15), date(2026, 11, 12)]


def test_announcements_nobody_looked_at_are_caught_up_with_by_a_later_complete_look() -> None:
    looks = [*night(MON, 10), *night(THU, 40)]
    assert states(*looks, counts={TUE: 9, WED: 9, THU: 9}) == ["complete", "caught up", "caught up"]


def test_newer_papers_do_not_show_an_announcement_where_all_of_them_may_be_of_those_missed() -> (
    None
):
    looks = [*night(MON, 10), *night(THU, 40)]
    assert states(*looks, counts={TUE: 9, WED: 9}) == ["late", "not checked", "not checked"]


def test_before_that_they_are_not_looked_at() -> None:
    assert states(*night(MON, 10)) == ["not checked", "not checked", "not checked"]


def test_an_announcement_that_did_not_come_was_deferred_once_the_next_one_is_there() -> None:
    looks = [*night(MON, 10), *night(TUE, 20), *night(WED, 20), *night(THU, 40)]
    assert states(*looks)[:2] == ["complete", "deferred"]


def test_an_announcement_that_is_not_there_by_the_morning_is_late() -> None:
    assert states(*night(TUE, 20), *night(WED, 30), *night(THU, 30))[0] is AnnouncementState.LATE


def test_failed_looks_are_counted_and_the_last_failure_is_named() -> None:
    (thursday, *_) = assess(
        *night(WED, 30), look(THU, 3, 0, failure="503"), look(THU, 4, 0, failure="reset")
    )
    assert (thursday.state, thursday.checks, thursday.failed, str(thursday.failure)) == (
        "incomplete",
        0,
        2,
        "reset",
    )


def test_before_the_first_digest_nothing_is_claimed() -> None:
    assert states(*night(THU, 40))[1:] == [AnnouncementState.BEFORE, AnnouncementState.BEFORE]
