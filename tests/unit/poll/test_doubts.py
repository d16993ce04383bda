"""What contradicts what was seen before is asked again before it is believed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from digest.model.papers import ArxivId
from digest.poll.rules import Walked, find_harvest_doubt, find_search_doubt

ENDED = datetime(2026, 11, 20, 4, 0, tzinfo=UTC)
FROM = date(2026, 11, 17)
NEWEST = ArxivId.parse("2611.15000")

KNOWN = (NEWEST, FROM)
"""The newest paper known, and when it was touched."""


def walked(
    papers: int = 400, highest: int = 15_000, quarantined: int = 0, *, was_widened: bool = False
) -> Walked:
    met = (202611, highest) if papers else (0, 0)
    return Walked(FROM, papers, quarantined, met, ENDED, was_widened)


def test_a_harvest_that_meets_the_newest_paper_known_or_a_newer_one_is_believed() -> None:
    meets_it = walked()
    assert find_harvest_doubt(meets_it, KNOWN, None) == ""
    meets_newer = walked(highest=15_001)
    assert find_harvest_doubt(meets_newer, KNOWN, None) == ""


def test_one_that_does_not_meet_it_came_from_a_replica_behind() -> None:
    doubt = find_harvest_doubt(walked(highest=14_000), KNOWN, None)
    assert "an older state" in doubt
    assert "2611.15000" in doubt
    an_hour_before = ENDED - timedelta(hours=1)
    doubt = find_harvest_doubt(walked(0), KNOWN, an_hour_before)
    assert "older state" in doubt


def test_what_was_touched_before_the_window_need_not_be_met() -> None:
    day_before = FROM - timedelta(days=1)
    doubt = find_harvest_doubt(walked(highest=14_000), (NEWEST, day_before), None)
    assert doubt == ""


def test_the_newest_paper_may_be_the_one_that_could_not_be_read() -> None:
    with_one_unread = walked(highest=14_000, quarantined=1)
    assert find_harvest_doubt(with_one_unread, KNOWN, None) == ""


def test_an_empty_list_is_believed_when_a_poll_half_an_hour_later_says_it_again() -> None:
    empty = walked(0)
    doubt = find_harvest_doubt(empty, None, None)
    assert "nothing was changed since Tue 17 Nov" in doubt
    too_soon = ENDED - timedelta(minutes=29)
    assert find_harvest_doubt(empty, None, too_soon)
    half_an_hour = ENDED - timedelta(minutes=30)
    assert find_harvest_doubt(empty, None, half_an_hour) == ""


def test_an_empty_first_digest_is_believed_when_a_wider_one_was_empty_too() -> None:
    empty = walked(0, was_widened=True)
    assert find_harvest_doubt(empty, None, None) == ""


def test_a_search_that_found_nothing_is_doubted_only_where_it_had_found_something() -> None:
    empty = walked(0)
    assert find_search_doubt(empty, None, None) == ""
    assert find_search_doubt(empty, 0, None) == ""
    assert find_search_doubt(walked(3), 12, None) == ""
    doubt = find_search_doubt(empty, 1_200, None)
    assert "had 1,200 papers" in doubt
    half_an_hour = ENDED - timedelta(minutes=30)
    assert find_search_doubt(empty, 1_200, half_an_hour) == ""
