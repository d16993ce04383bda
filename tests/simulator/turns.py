"""What becomes of each turn.

An open one sends what comes, one that closed unchecked is told once, at the top.

Like the oracle, this asks the product nothing: turns and their names are said once more, by their
phrases.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from digest.model.announcements import announcement_moment, latest_announcement, next_announcement

_DAY = timedelta(days=1)
_VISIBLE_AFTER = timedelta(hours=2, minutes=30)
_PERIODS = {
    "daily": timedelta(days=1),
    "weekdays": timedelta(days=3),
    "mondays": timedelta(days=7),
}
_ANNOUNCED_WITHIN = timedelta(days=5)
"""From a Friday's late paper to Sunday's mailing and the next morning, with a day to spare."""

_DAYS = {"daily": range(7), "weekdays": range(5), "mondays": range(1)}


@dataclass(frozen=True, order=True)
class Turn:
    """A turn: when it came, its name, and until when it stays open for papers that come late.

    Both moments are in UTC.
    """

    due_at: datetime
    name: str
    closes_at: datetime


def find_turn(when: str, now: datetime, disturbed: datetime | None) -> datetime | None:
    """Return the last turn that has come by now; None where the wish is too young for one."""
    if when == "at once":
        return now if disturbed != now else None
    if when == "on announcement":
        turn = now - _ANNOUNCED_WITHIN
        period = _ANNOUNCED_WITHIN
    else:
        turn = find_clock_turn(when, now)
        period = _PERIODS[when.split(maxsplit=1)[0]]
    return turn if disturbed is None or turn - disturbed > period else None


def find_clock_turn(when: str, now: datetime) -> datetime:
    """Return the last moment (UTC) of a cadence by the clock that has come by now."""
    days, _, at, zone = when.split()
    hour, minute = map(int, at.split(":"))
    day = now.astimezone(ZoneInfo(zone)).date()
    while True:
        due_at = datetime.combine(day, time(hour, minute), ZoneInfo(zone)).astimezone(UTC)
        if day.weekday() in _DAYS[days] and due_at <= now:
            return due_at
        day -= _DAY


def find_last_turn(when: str, now: datetime) -> Turn | None:
    """Return the last turn that has come; None for `at once`, which has none."""
    if when == "at once":
        return None
    if when == "on announcement":
        day = latest_announcement(now)
        due_at = announcement_moment(day)
        return Turn(due_at, f"mailing:{day}", announcement_moment(next_announcement(due_at)))
    days, _, _, zone = when.split()
    due_at = find_clock_turn(when, now)
    day = due_at.astimezone(ZoneInfo(zone)).date()
    year, week, _ = day.isocalendar()
    name = f"{year}-W{week:02d}" if days == "mondays" else day.isoformat()
    return Turn(due_at, name, announcement_moment(next_announcement(due_at)))


def find_seen_from(when: str, turn: Turn) -> datetime:
    """Return from when on a check sees all that was visible when a turn came (UTC)."""
    if when == "on announcement":
        return turn.due_at + _VISIBLE_AFTER
    return announcement_moment(latest_announcement(turn.due_at - _VISIBLE_AFTER)) + _VISIBLE_AFTER


@dataclass
class TurnBook:
    """What is known of the turns of each subscription, noted after each pass that came to its end.

    `left_open` holds the turns that a pass saw and nobody took; `owed` those of them that the next
    turn overtook.
    """

    left_open: dict[str, Turn] = field(default_factory=dict)
    owed: dict[str, set[Turn]] = field(default_factory=lambda: defaultdict(set))
    told: dict[str, Counter[datetime]] = field(default_factory=lambda: defaultdict(Counter))
    _digest: int = 0

    def forget(self, name: str) -> None:
        """Expect nothing of a subscription whose turns go otherwise from now on."""
        self.left_open.pop(name, None)
        self.owed.pop(name, None)

    def note_overtaken(self, name: str, when: str, now: datetime) -> None:
        """Note that the next turn has come, if the one before was left open."""
        turn = find_last_turn(when, now)
        before = self.left_open.get(name)
        if before is not None and (turn is None or turn.name != before.name):
            self.owed[name].add(before)
            del self.left_open[name]

    def note_turn(
        self, name: str, when: str, taken: str, now: datetime, *, since: datetime
    ) -> Turn | None:
        """Note where a subscription stands after a whole pass; return its turn if that is open.

        A turn that came before `since` is none of it as it is now.
        """
        turn = find_last_turn(when, now)
        if turn is None or turn.due_at <= since or turn.name in taken.split():
            self.left_open.pop(name, None)
            return None
        self.left_open[name] = turn
        return turn if now < turn.closes_at else None

    def read_digest(self, name: str, row: Any) -> str:  # noqa: ANN401 - a row of digests
        """Note which turns a digest tells, and return what is wrong with that; "" for nothing."""
        content: Mapping[str, Any] = json.loads(row.content)
        told = [datetime.fromisoformat(line.split()[0]) for line in content["unchecked"]]
        is_turn = row.occasion == "scheduled" and not row.slot.startswith(("run:", "unchecked:"))
        if not is_turn:
            return ""
        self.told[name].update(told)
        twice = [at for at, times in self.told[name].items() if times > 1]
        if twice:
            return f"told twice: {twice}"
        made = self.owed.get(name, set())
        self.owed[name] = {turn for turn in made if turn.name != row.slot}
        untold = [turn for turn in self.owed.pop(name) if turn.due_at not in told]
        return f"not told: {untold}" if untold else ""
