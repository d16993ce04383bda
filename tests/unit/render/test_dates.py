from datetime import UTC, date, datetime

import pytest

from digest.render.samples import make_coverage, make_digest
from digest.render.text import name_slot, write_days


def test_several_days_are_written_with_what_differs() -> None:
    assert write_days(date(2026, 11, 17), date(2026, 11, 19)) == "17–19 November"
    assert write_days(date(2026, 11, 30), date(2026, 12, 2)) == "30 November – 2 December"
    assert write_days(date(2026, 12, 30), date(2027, 1, 4)) == "30 December 2026 – 4 January 2027"


def test_a_slot_says_which_day_a_digest_is_about() -> None:
    assert name_slot(make_digest((), slot="2026-11-20")) == ("Fri 20 Nov", "Friday 20 November 2026")
    assert name_slot(make_digest((), slot="mailing:2026-11-19"))[0] == "Thu 19 Nov"


@pytest.mark.parametrize(
    ("slot", "since", "mailing", "names"),
    [
        (
            "2026-W48",
            date(2026, 11, 15),
            date(2026, 11, 19),
            ("15–19 Nov", "15–19 November 2026"),
        ),
        (
            "2027-W02",
            date(2026, 12, 30),
            date(2027, 1, 4),
            ("30 Dec 2026 – 4 Jan 2027", "30 December 2026 – 4 January 2027"),
        ),
        ("2026-W48", None, date(2026, 11, 19), ("Thu 19 Nov", "Thursday 19 November 2026")),
    ],
)
def test_a_week_is_called_after_the_mailings_it_covers_not_the_week_it_goes_out_in(
    slot: str, since: date | None, mailing: date, names: tuple[str, str]
) -> None:
    week = make_coverage(1, since=since, mailing=mailing)
    assert name_slot(make_digest((), slot=slot, coverage=week)) == names


@pytest.mark.parametrize(("zone", "day"), [("Europe/Berlin", "Fri 20 Nov"), ("America/New_York", "Thu 19 Nov")])
def test_without_a_day_in_the_slot_the_local_day_of_planning_counts(zone: str, day: str) -> None:
    planned = datetime(2026, 11, 19, 23, 30, tzinfo=UTC)
    assert name_slot(make_digest((), slot="run:17", planned_at=planned, zone=zone))[0] == day
