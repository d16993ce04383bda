"""Weeks of one subscription.

Whatever is changed and whatever breaks off, each match is told once and in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from digest.model.announcements import latest_announcement
from digest.model.cadences import Cadence, CadenceKind, QuietHours
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Coverage
from digest.model.subscriptions import Subscription, TurnState, UncheckedTurn, WhenEmpty
from digest.plan.slots import (
    SlotFacts,
    SlotOutcome,
    decide_slot,
    first_due,
    is_taken,
    next_due,
    realign_due,
)

BEGIN = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "America/Nuuk",
    "Pacific/Honolulu",
    "UTC",
]
PERIODS = {7: 24, 5: 72, 2: 96, 1: 168}
"""Hours between two turns at most, by how many days of the week have one."""

CADENCES = st.one_of(
    st.builds(
        lambda days, hour, zone, wait: Cadence.parse(
            f"{days} at {hour:02d}:30 {zone}, at the latest {(hour + wait) % 24:02d}:30"
        ),
        st.sampled_from(["daily", "weekdays", "mondays", "tuesdays and fridays"]),
        st.integers(0, 23),
        st.sampled_from(ZONES),
        st.integers(0, 9),
    ),
    st.sampled_from([Cadence.parse("on announcement"), Cadence.parse("at once")]),
)
NIGHTS = st.one_of(
    st.none(),
    st.builds(
        lambda begin, length, zone: QuietHours.parse(
            f"{begin:02d}:00-{(begin + length) % 24:02d}:00 {zone}"
        ),
        st.integers(0, 23),
        st.integers(1, 12),
        st.sampled_from(ZONES),
    ),
)


@dataclass
class Reader:
    """One subscription as stored, its matches, and the clock; each step is what a day may bring."""

    subscription: Subscription
    now: datetime = BEGIN
    due_at: datetime | None = None
    taken: str = ""
    state: TurnState = field(default_factory=lambda: TurnState(None))
    lapses: list[UncheckedTurn] = field(default_factory=list)
    waiting: list[datetime] = field(default_factory=list)
    told: list[tuple[str, list[datetime]]] = field(default_factory=list)
    matched: int = 0
    shaken_at: datetime = BEGIN
    is_complete: bool = True
    paused_until: datetime | None = None

    def pause(self, until: datetime | None) -> None:
        """Rest until a moment, or go on."""
        self.paused_until = until
        self.state = replace(self.state, awaits_check=False)
        self.edit()

    def edit(self, **changes: object) -> None:
        """Take over an edited file, as the store does."""
        changed = replace(self.subscription, **changes)  # type: ignore[arg-type]  # its fields
        self.subscription = changed
        if changes.keys() == {"quiet_hours"} and self.due_at is not None:
            self.due_at = realign_due(self.subscription, self.due_at, self.now, self.taken)
        else:
            self.due_at = next_due(self.subscription, self.now, self.taken, self.paused_until)
        begin = max(self.now, self.paused_until or self.now)
        self.shaken_at = max(begin, self.due_at or begin)
        assert self.shaken_at - begin <= self.limit + self.period, (
            "the first turn may be taken already"
        )

    def match(self) -> None:
        """A paper has come."""
        self.waiting.append(self.now)
        self.matched += 1

    def sleep(self, hours: int) -> None:
        """Nobody works for a while."""
        self.now += hours * HOUR
        self.shaken_at = max(self.shaken_at, self.now)

    def live(self, hours: int) -> None:
        """Somebody looks every half hour, and whenever a turn comes."""
        end = self.now + hours * HOUR
        while self.now < end:
            self.look()
            stops = [end, self.now + HOUR / 2]
            if self.due_at is not None and self.due_at > self.now:
                stops.append(self.due_at)
            self.now = min(stops)
        self.look()

    def look(self) -> None:
        """Plan what is due, as the step that plans does."""
        subscription = self.subscription
        if self.paused_until is not None and self.paused_until > self.now:
            return
        if self.due_at is None and self.waiting:
            self.due_at = first_due(subscription, self.now, self.taken)
        if self.state.awaits_check:  # each of these looks is a check
            self.due_at = self.now
        if self.due_at is None or self.due_at > self.now:
            return
        run = self.matched if self.waiting else 0
        coverage = self._cover()
        state = replace(self.state, next_due_at=self.due_at, taken=self.taken)
        facts = SlotFacts(
            due_at=self.due_at,
            state=state,
            now=self.now,
            coverage=coverage,
            is_checked=coverage.is_complete,
            newest_run=run,
            waiting_since=min(self.waiting, default=None),
        )
        turn = decide_slot(subscription, facts)
        if turn.outcome is SlotOutcome.MAKE:
            self._judge(turn.slot)
            self.told.append((turn.slot, self.waiting))
            self.waiting = []
            self.lapses += turn.unchecked
        self.state = turn.state
        self.due_at = turn.state.next_due_at
        self.taken = turn.state.taken

    def _cover(self) -> Coverage:
        return Coverage(
            announcement=latest_announcement(self.now),
            is_complete=self.is_complete,
            compared=100,
            matched=None,
            checked_at=self.now,
            source="harvest",
            is_settled=self.is_complete,
        )

    def _judge(self, slot: str) -> None:
        """Nothing is sent under a name that was used, or in quiet hours by any clock."""
        assert slot not in [told for told, _ in self.told]
        assert slot.startswith("run:") or not is_taken(self.taken, slot), (slot, self.taken)
        if (quiet := self.subscription.quiet_hours) is not None:
            shown = self.now.astimezone(ZoneInfo(quiet.zone)).time()
            is_over_night = quiet.begin > quiet.end
            is_quiet = (
                shown >= quiet.begin or shown < quiet.end
                if is_over_night
                else quiet.begin <= shown < quiet.end
            )
            assert not is_quiet, (slot, shown, quiet)

    @property
    def period(self) -> timedelta:
        """The longest time between two turns; an incomplete announcement is sent by the morning."""
        cadence = self.subscription.cadence
        match cadence.kind:
            case CadenceKind.AT_ONCE:
                return timedelta(0)
            case CadenceKind.ANNOUNCEMENT:
                return 72 * HOUR
            case CadenceKind.CLOCK:
                return PERIODS[len(cadence.days)] * HOUR

    @property
    def limit(self) -> timedelta:
        """How long a match may wait when nothing shakes the subscription.

        Nights and waits come on top.
        """
        return self.period + (11 + 13 * bool(self.subscription.quiet_hours)) * HOUR


STEPS = st.one_of(
    st.tuples(st.just("live"), st.integers(1, 72)),
    st.tuples(st.just("live"), st.integers(1, 200)),
    st.tuples(st.just("match"), st.none()),
    st.tuples(st.just("sleep"), st.integers(1, 150)),
    st.tuples(st.just("cadence"), CADENCES),
    st.tuples(st.just("quiet"), NIGHTS),
    st.tuples(st.just("pause"), st.one_of(st.none(), st.integers(1, 200))),
    st.tuples(st.just("mailing"), st.booleans()),
)


def take_step(reader: Reader, what: str, value: object) -> None:
    match what, value:
        case "live", int(hours):
            reader.live(hours)
        case "match", _:
            reader.match()
        case "sleep", int(hours):
            reader.sleep(hours)
        case "cadence", Cadence() as cadence:
            reader.edit(cadence=cadence)
        case "quiet", QuietHours() | None as quiet:
            reader.edit(quiet_hours=quiet)
        case "pause", hours:
            if hours is None:
                reader.pause(None)
            else:
                reader.pause(reader.now + hours * HOUR)  # type: ignore[operator]  # an int
        case "mailing", bool(is_complete):
            reader.is_complete = is_complete
        case _:
            raise AssertionError(f"there is no step {what} {value}")


@given(CADENCES, NIGHTS, st.sampled_from(WhenEmpty), st.lists(STEPS, max_size=25))
def test_each_match_is_told_once_and_in_time_under_slots_that_grow(
    cadence: Cadence,
    quiet: QuietHours | None,
    when_empty: WhenEmpty,
    steps: list[tuple[str, object]],
) -> None:
    mail = Destination(DestinationKind.MAIL, "reader@example.org")
    reader = Reader(
        Subscription("team", ("q",), (mail,), cadence, when_empty=when_empty, quiet_hours=quiet)
    )
    reader.due_at = next_due(reader.subscription, reader.now)
    for what, value in steps:
        take_step(reader, what, value)
        since = max([reader.shaken_at, *reader.waiting[:1]])
        assert not reader.waiting or reader.now - since <= reader.limit
    reader.pause(None)
    reader.live(15 * 24)
    assert reader.waiting == []
    assert sum(len(matches) for _, matches in reader.told) == reader.matched
    slots = [slot for slot, _ in reader.told]
    assert len(slots) == len(set(slots))
    told = [one.due_at for one in reader.lapses]
    assert len(told) == len(set(told)), "a turn that closed unchecked is told once"
    for kind in ("mailing:", "week", "day"):
        named = [slot for slot in slots if _kind_of(slot) == kind]
        assert all(earlier < later for earlier, later in pairwise(named))


def _kind_of(slot: str) -> str:
    if ":" in slot:
        return slot.partition(":")[0] + ":"
    return "week" if "-W" in slot else "day"


def test_a_turn_of_the_day_is_not_given_out_again_by_a_way_round_through_other_cadences() -> None:
    mail = Destination(DestinationKind.MAIL, "reader@example.org")
    reader = Reader(Subscription("team", ("q",), (mail,), Cadence.parse("daily at 13:30 UTC")))
    reader.due_at = next_due(reader.subscription, reader.now)
    reader.match()
    reader.live(3)
    reader.edit(cadence=Cadence.parse("at once"))
    reader.match()
    reader.live(1)
    reader.edit(cadence=Cadence.parse("daily at 17:30 UTC"))
    reader.match()
    reader.live(30)
    assert [slot for slot, _ in reader.told] == ["2026-03-02", "run:2", "2026-03-03"]
