from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.announcements import Kind, StoredChange, announcement_moment, find_announcement
from digest.model.cadences import Cadence
from digest.model.destinations import Destination, DestinationKind
from digest.model.subscriptions import DueSubscription, Subscription
from digest.plan.restored import find_announced, was_due_by
from tests.contract.store.made import make_paper

FOUND = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
TUESDAY = date(2026, 11, 17)
EVENING = announcement_moment(TUESDAY)  # 01:00 UTC of Wednesday
CADENCES = (
    "on announcement",
    "at once",
    "daily at 09:00 Europe/Berlin",
    "mondays at 07:00 America/New_York",
)


def change(kind: Kind = Kind.NEW, announced_on: date | None = None) -> StoredChange:
    return StoredChange(1, kind, make_paper(), None, (), 1, FOUND, 1, announced_on=announced_on)


def due(when: str, paused_until: datetime | None = None) -> DueSubscription:
    mail = Destination(DestinationKind.MAIL, "reader@example.org")
    team = Subscription(
        name="team", queries=("perf",), destinations=(mail,), cadence=Cadence.parse(when)
    )
    return DueSubscription(1, team, "active", None, 0, "", FOUND, paused_until=paused_until)


def test_a_record_was_edited_by_the_end_of_its_day_and_no_turn_within_it_has_it() -> None:
    edited = change(Kind.METADATA, TUESDAY)
    announced = find_announced(edited)
    assert announced == announcement_moment(date(2026, 11, 18))
    assert not was_due_by(
        due("daily at 09:00 UTC"), announced, datetime(2026, 11, 18, 9, tzinfo=UTC)
    )
    assert find_announced(change(Kind.METADATA, date(2026, 11, 19))) == FOUND


@given(
    kind=st.sampled_from(Kind),
    datestamp=st.none() | st.dates(date(2026, 10, 1), date(2026, 12, 30)),
)
def test_nothing_was_announced_after_it_was_found(kind: Kind, datestamp: date | None) -> None:
    assert find_announced(change(kind, find_announcement(FOUND, datestamp))) <= FOUND


@pytest.mark.parametrize(
    ("when", "turn"),
    [
        ("on announcement", EVENING),
        ("at once", EVENING),
        ("daily at 09:00 Europe/Berlin", datetime(2026, 11, 18, 8, 0, tzinfo=UTC)),
        ("daily at 02:00 Europe/Berlin", EVENING),
        ("mondays at 07:00 America/New_York", datetime(2026, 11, 23, 12, 0, tzinfo=UTC)),
    ],
)
def test_a_paper_was_told_by_the_first_turn_after_its_announcement_and_not_before(
    when: str, turn: datetime
) -> None:
    assert was_due_by(due(when), EVENING, turn)
    assert not was_due_by(due(when), EVENING, turn - timedelta(seconds=1))


def test_what_a_pause_kept_back_was_sent_at_the_first_turn_from_its_end_on() -> None:
    back = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
    for when in ("daily at 08:00 UTC", "at once"):
        assert was_due_by(due(when, paused_until=back), EVENING, back)
        assert not was_due_by(due(when, paused_until=back), EVENING, back - timedelta(seconds=1))


FIRST = datetime(2026, 1, 1)  # noqa: DTZ001 - hypothesis adds the zone
LAST = datetime(2026, 12, 1)  # noqa: DTZ001 - the same
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))


@given(
    when=st.sampled_from(CADENCES),
    announced=MOMENTS,
    hours=st.integers(-200, 400),
    more=st.integers(0, 400),
)
def test_what_was_told_by_a_moment_was_told_by_any_later_one_and_nothing_before_it_was_announced(
    when: str, announced: datetime, hours: int, more: int
) -> None:
    moment = announced + timedelta(hours=hours)
    was_told = was_due_by(due(when), announced, moment)
    assert not was_told or was_due_by(due(when), announced, moment + timedelta(hours=more))
    assert not was_told or announced <= moment
