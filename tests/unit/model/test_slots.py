from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from digest.model.people import RequestKind
from digest.model.slots import TURNS, LetterSlot, SlotKind, SlotName


@pytest.mark.parametrize(
    ("text", "kind", "of", "day"),
    [
        ("2026-11-20", SlotKind.DAY, "2026-11-20", date(2026, 11, 20)),
        ("2026-W47", SlotKind.WEEK, "2026-W47", None),
        ("mailing:2026-11-19", SlotKind.ANNOUNCEMENT, "2026-11-19", date(2026, 11, 19)),
        ("run:17", SlotKind.RUN, "17", None),
        ("unchecked:2026-11-20", SlotKind.UNCHECKED, "2026-11-20", date(2026, 11, 20)),
        (
            "unchecked:mailing:2026-11-19",
            SlotKind.UNCHECKED,
            "mailing:2026-11-19",
            date(2026, 11, 19),
        ),
        ("unchecked:2026-W47", SlotKind.UNCHECKED, "2026-W47", None),
        ("new:2026-11-20T03:47:00+00:00", SlotKind.LATER_PLACES, "2026-11-20T03:47:00+00:00", None),
        ("restored:3", SlotKind.RESTORED, "3", None),
        ("early:3", SlotKind.EARLY, "3", None),
        ("link:3:20261120T034700.000000", SlotKind.LETTER, "link:3:20261120T034700.000000", None),
    ],
)
def test_the_name_of_a_slot_is_read_as_it_was_written(
    text: str, kind: SlotKind, of: str, day: date | None
) -> None:
    name = SlotName.parse(text)
    assert (name.kind, name.of, name.day) == (kind, of, day)
    assert str(name) == text


def test_a_week_is_named_by_its_own_year_and_knows_its_days() -> None:
    name = SlotName.of_week(date(2027, 1, 3))
    assert str(name) == "2026-W53"
    assert name.find_weekday(7) == date(2027, 1, 3)
    assert SlotName.parse("2026-11-20").find_weekday(7) is None


def test_what_sql_looks_for_is_what_the_names_of_turns_look_like() -> None:
    assert [kind.pattern for kind in TURNS] == ["____-__-__", "____-W__", "mailing:%"]
    assert SlotKind.LATER_PLACES.pattern == "new:%"


def test_the_slot_of_a_letter_says_who_asked_for_what_and_when() -> None:
    slot = LetterSlot(RequestKind.MOVE, 17, datetime(2026, 11, 20, 3, 47, 1, 25, tzinfo=UTC))
    assert str(slot) == "move:17:20261120T034701.000025"
    assert LetterSlot.parse(str(slot)) == slot
