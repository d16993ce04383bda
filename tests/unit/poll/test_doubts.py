"""What contradicts what was seen before is asked again before it is believed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from digest.model.papers import ArxivId
from digest.poll.rules import Walked, find_harvest_doubt, find_search_doubt

ENDED = datetime(2026, 11, 20, 4, 0, tzinfo=UTC)
FROM = date(2026, 11, 17)
NEWEST = ArxivId.parse("2611.15000")


def walked(
    papers: int = 400, highest: int = 15_000, quarantined: int = 0, *, was_widened: bool = False
) -> Walked:
    return Walked(
        FROM, papers, quarantined, (202611, highest) if papers else (0, 0), ENDED, was_widened
    )


def test_a_harvest_that_meets_the_newest_paper_known_or_a_newer_one_is_believed() -> None:
    assert find_harvest_doubt(walked(), (NEWEST, FROM), None) == ""
    assert find_harvest_doubt(walked(highest=15_001), (NEWEST, FROM), None) == ""


def test_one_that_does_not_meet_it_came_from_a_replica_behind() -> None:
    doubt = find_harvest_doubt(walked(highest=14_000), (NEWEST, FROM), None)
    assert "an older state" in doubt
    assert "2611.15000" in doubt
    assert "older state" in find_harvest_doubt(
        walked(0), (NEWEST, FROM), ENDED - timedelta(hours=1)
    )


def test_what_was_touched_before_the_window_need_not_be_met() -> None:
    assert (
        find_harvest_doubt(walked(highest=14_000), (NEWEST, FROM - timedelta(days=1)), None) == ""
    )


def test_the_newest_paper_may_be_the_one_that_could_not_be_read() -> None:
    assert find_harvest_doubt(walked(highest=14_000, quarantined=1), (NEWEST, FROM), None) == ""


def test_an_empty_list_is_believed_when_a_look_half_an_hour_later_says_it_again() -> None:
    assert "nothing was changed since Tue 17 Nov" in find_harvest_doubt(walked(0), None, None)
    assert find_harvest_doubt(walked(0), None, ENDED - timedelta(minutes=29))
    assert find_harvest_doubt(walked(0), None, ENDED - timedelta(minutes=30)) == ""


def test_an_empty_first_digest_is_believed_when_a_wider_one_was_empty_too() -> None:
    assert find_harvest_doubt(walked(0, was_widened=True), None, None) == ""


def test_a_search_that_found_nothing_is_doubted_only_where_it_had_found_something() -> None:
    assert find_search_doubt(walked(0), None, None) == ""
    assert find_search_doubt(walked(0), 0, None) == ""
    assert find_search_doubt(walked(3), 12, None) == ""
    assert "had 1,200 papers" in find_search_doubt(walked(0), 1_200, None)
    assert find_search_doubt(walked(0), 1_200, ENDED - timedelta(minutes=30)) == ""
