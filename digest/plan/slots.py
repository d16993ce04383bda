"""Decides when a subscription is due, in its zone and outside its quiet hours.

A turn is one time at which a cadence wants a digest. Its name is the slot of that digest.
The step that plans loads the facts, asks here, and writes down the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo

from digest.model.announcements import (
    alarm_moment,
    announcement_moment,
    has_announcement,
    latest_announcement,
    next_announcement,
)
from digest.model.cadences import (
    EVERY_DAY,
    Cadence,
    CadenceKind,
    QuietHours,
    leave_quiet,
    resolve_local,
)
from digest.model.messages import Coverage
from digest.model.slots import SlotKind, SlotName
from digest.model.subscriptions import (
    Subscription,
    Timing,
    TurnFailure,
    TurnState,
    UncheckedTurn,
    WhenEmpty,
)
from digest.poll.rules import VISIBLE_AFTER

_KEPT = 4096
"""Answers kept: a hundred thousand subscriptions that are due at one moment share a few."""

_ONE_DAY = timedelta(days=1)

_INSTANT = timedelta(microseconds=1)

_LATE_AFTER = timedelta(hours=6)
"""A digest that is made so long after its turn says why it is late."""

_MINUTES_BEFORE = 25
"""A run is started so many minutes before a turn, since it may start late."""

_MINUTES_BETWEEN = 90
"""It is started once more so many minutes later."""

_QUARTER_HOUR = 15
"""No run is started at a full quarter of an hour: too many others are."""

_DAY_MINUTES = 24 * 60

Starts = tuple[tuple[str, str], ...]
"""Times at which runs start: the five fields of cron, and their zone."""

_AFTER_ANNOUNCEMENT = Cadence.parse(
    "sundays, mondays, tuesdays, wednesdays and thursdays at 23:15 America/New_York"
)
"""The cadence by the clock that stands for `on announcement`.

OAI-PMH shows an announcement towards 22:30. `POLL_TIMES` allows a check from 22:45. A run may take
half an hour.
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """One turn of a cadence.

    Attributes:
        name: unique within the subscription.
        due_at: when it is due (UTC), after its quiet hours.
        latest_at: until when a turn by the clock waits at most for an incomplete announcement
            (UTC), not before `due_at`; for an announcement's own turn it is `due_at`.
        announcement: the date of the announcement whose turn it is; None for a turn by the clock.
    """

    name: str
    due_at: datetime
    latest_at: datetime
    announcement: date | None = None


@lru_cache(maxsize=_KEPT)
def next_slot(
    cadence: Cadence, quiet: QuietHours | None, after: datetime, taken: str = ""
) -> Slot | None:
    """Return the first turn due after a moment whose name was not taken.

    None if only an event makes it due. `taken` has the names that `take_slot` returns.
    """
    if cadence.kind is CadenceKind.AT_ONCE:
        return None
    # Quiet hours may have put off the turn of an earlier date.
    first = _day_of(cadence, after) - 2 * _ONE_DAY
    turns = _walk_slots(cadence, quiet, first, _ONE_DAY)
    return next(slot for slot in turns if slot.due_at > after and not is_taken(taken, slot.name))


@lru_cache(maxsize=_KEPT)
def latest_slot(cadence: Cadence, quiet: QuietHours | None, now: datetime) -> Slot:
    """Return the last turn that has come due by a moment; not for `at once`.

    After downtime one digest is for all that were missed, under this name.
    """
    last = _day_of(cadence, now) + _ONE_DAY
    turns = _walk_slots(cadence, quiet, last, -_ONE_DAY)
    return next(slot for slot in turns if slot.due_at <= now)


def nearest_slot(
    cadence: Cadence, quiet: QuietHours | None, due_at: datetime, taken: str = ""
) -> Slot | None:
    """Return the turn due nearest to a moment; the next one if that was taken.

    None if only an event makes it due.
    """
    if cadence.kind is CadenceKind.AT_ONCE:
        return None
    before = latest_slot(cadence, quiet, due_at)
    following = next_slot(cadence, quiet, due_at, taken)
    if following is None or is_taken(taken, before.name):
        return following
    return min(before, following, key=lambda slot: abs(slot.due_at - due_at))


def take_slot(taken: str, name: str) -> str:
    """Return the names taken last with one more: one of each kind, with blanks between."""
    kind = SlotName.parse(name).kind
    others = [one for one in taken.split() if SlotName.parse(one).kind is not kind]
    return " ".join([*others, name])


def is_taken(taken: str, name: str) -> bool:
    """Tell whether a turn was taken already, or passed over for a later one of its kind.

    The names of turns of one kind sort by time.
    """
    kind = SlotName.parse(name).kind
    return any(name <= one for one in taken.split() if SlotName.parse(one).kind is kind)


def _day_of(cadence: Cadence, moment: datetime) -> date:
    """Return the date a moment falls on, as the cadence counts dates."""
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        return latest_announcement(moment)
    return moment.astimezone(ZoneInfo(cadence.zone)).date()


def _walk_slots(
    cadence: Cadence, quiet: QuietHours | None, day: date, step: timedelta
) -> Iterator[Slot]:
    while True:
        if (slot := _make_slot(cadence, quiet, day)) is not None:
            yield slot
        day += step


def _make_slot(cadence: Cadence, quiet: QuietHours | None, day: date) -> Slot | None:
    """Return the turn of a date; None if the cadence has none then, or there is no such date."""
    if cadence.kind is CadenceKind.ANNOUNCEMENT:
        if not has_announcement(day):
            return None
        due_at = leave_quiet(cadence, quiet, announcement_moment(day))
        name = SlotName(SlotKind.ANNOUNCEMENT, day.isoformat())
        return Slot(str(name), due_at, latest_at=due_at, announcement=day)
    moment = resolve_local(day, cadence.at, cadence.zone) if cadence.has_day(day) else None
    if moment is None:
        return None
    due_at = leave_quiet(cadence, quiet, moment)
    latest_at = max(due_at, _find_latest(cadence, day, moment))
    return Slot(_name_day(cadence, day), due_at, latest_at)


def _find_latest(cadence: Cadence, day: date, moment: datetime) -> datetime:
    """Return the latest moment of a date's turn: by the wall clock, where that date exists."""
    last = day if cadence.latest >= cadence.at else day + _ONE_DAY
    return resolve_local(last, cadence.latest, cadence.zone) or moment + cadence.wait


def _name_day(cadence: Cadence, day: date) -> str:
    if len(cadence.days) > 1:
        return str(SlotName(SlotKind.DAY, day.isoformat()))
    return str(SlotName.of_week(day))


def _read_day(cadence: Cadence, name: str) -> date | None:
    """Return the date of a turn by its name; None for a name that this cadence gives to none."""
    slot = SlotName.parse(name)
    if slot.kind is not _find_kind(cadence):
        return None
    if slot.kind is SlotKind.WEEK:
        monday_is_0 = min(cadence.days)
        return slot.find_weekday(monday_is_0 + 1)
    return slot.day


def _find_kind(cadence: Cadence) -> SlotKind | None:
    """Return what the turns of a cadence are named by; None if it has none."""
    match cadence.kind:
        case CadenceKind.ANNOUNCEMENT:
            return SlotKind.ANNOUNCEMENT
        case CadenceKind.CLOCK:
            return SlotKind.DAY if len(cadence.days) > 1 else SlotKind.WEEK
        case CadenceKind.AT_ONCE:
            return None


class SlotOutcome(StrEnum):
    """What becomes of a turn.

    `MAKE` makes a digest, `PASS` lets the turn go by without one, `WAIT` leaves it due until its
    announcement is complete, `STAY_OPEN` leaves it to the next checks, with nothing to send,
    `POSTPONE` moves it to the end of the quiet hours.
    """

    MAKE = "make"
    PASS = "pass"  # noqa: S105 - a turn that passes, no password
    WAIT = "wait"
    STAY_OPEN = "stay open"
    POSTPONE = "postpone"


@dataclass(frozen=True, slots=True)
class SlotDecision:
    """What becomes of a turn, and where its subscription stands then.

    Attributes:
        unchecked: turns that closed unchecked; the digest names them.
        is_missed: the digest is of the turn before the last one, which gets its own later.
    """

    outcome: SlotOutcome
    slot: str
    state: TurnState
    unchecked: tuple[UncheckedTurn, ...] = ()
    is_missed: bool = False


@dataclass(frozen=True, slots=True)
class SlotFacts:
    """What is known of a turn that has come.

    Attributes:
        due_at: when the subscription was due (UTC): at the first turn that nobody took, or again
            for the open one.
        coverage: what was checked of the last announcement.
        is_checked: the announcements that were visible when the last turn came were checked to
            their end.
        newest_run: the last match run with papers that wait for it; 0 if none wait.
        patience: how long after it is due a turn by the clock may wait for an announcement that is
            not complete; None if its cadence alone says how long.
        waiting_since: when the first of the papers that wait was matched (UTC); None for just now.
    """

    due_at: datetime
    state: TurnState
    now: datetime
    coverage: Coverage
    is_checked: bool
    newest_run: int
    patience: timedelta | None = None
    waiting_since: datetime | None = None


def decide_slot(subscription: Subscription | Timing, facts: SlotFacts) -> SlotDecision:
    """Decide what becomes of the turn of a subscription that has come."""
    cadence = subscription.cadence
    quiet = subscription.quiet_hours
    may_go_at = leave_quiet(cadence, quiet, facts.now)
    if may_go_at > facts.now:
        state = replace(facts.state, next_due_at=may_go_at, awaits_check=False)
        return SlotDecision(SlotOutcome.POSTPONE, "", state)
    if cadence.kind is CadenceKind.AT_ONCE:
        return _decide_at_once(facts)
    last = latest_slot(cadence, quiet, facts.now)
    if is_taken(facts.state.taken, last.name):
        following = _find_next(subscription, facts.now, facts.state.taken)
        state = replace(facts.state, next_due_at=following, awaits_check=False)
        return SlotDecision(SlotOutcome.PASS, "", state)
    return _decide_turn(subscription, last, facts)


def _decide_turn(subscription: Subscription | Timing, last: Slot, facts: SlotFacts) -> SlotDecision:
    """Decide what becomes of the last turn that has come; nobody took it."""
    rests_until = _find_rest_end(subscription, last, facts)
    if rests_until is not None:
        state = replace(facts.state, next_due_at=rests_until, awaits_check=False)
        return SlotDecision(SlotOutcome.STAY_OPEN, "", state)
    closed = _list_closed(subscription, last, facts)
    waits_until = _find_wait_end(subscription, last, facts)
    if waits_until is None:
        if facts.newest_run or facts.is_checked:
            return _take_turn(subscription, last, facts, closed)
        return _keep_open(subscription, last, facts, closed)
    before = _find_missed_turn(subscription, last, facts)
    if before is not None:
        state = TurnState(last.due_at, take_slot(facts.state.taken, before.name))
        others = tuple(one for one in closed if one.due_at != before.due_at)
        return SlotDecision(SlotOutcome.MAKE, before.name, state, others, is_missed=True)
    unchecked = (*closed, *_record_open(last, facts))
    state = TurnState(waits_until, facts.state.taken, awaits_check=True, unchecked=unchecked)
    return SlotDecision(SlotOutcome.WAIT, "", state)


def _decide_at_once(facts: SlotFacts) -> SlotDecision:
    """Send all that waits. If nothing does, say nothing: a first digest may have shown it all."""
    if not facts.newest_run:
        return SlotDecision(SlotOutcome.PASS, "", TurnState(None, facts.state.taken))
    slot = str(SlotName.of_run(facts.newest_run))
    return SlotDecision(SlotOutcome.MAKE, slot, TurnState(None, take_slot(facts.state.taken, slot)))


def _take_turn(
    subscription: Subscription | Timing,
    last: Slot,
    facts: SlotFacts,
    closed: tuple[UncheckedTurn, ...],
) -> SlotDecision:
    """Make the digest of a turn, or let the turn pass if there is nothing to say.

    The turn was checked, or brings papers all the same.
    """
    taken = take_slot(facts.state.taken, last.name)
    following = _find_next(subscription, facts.now, taken)
    is_quiet_day = facts.coverage.is_settled and subscription.when_empty is WhenEmpty.NOTE
    if facts.newest_run or is_quiet_day or subscription.when_empty is WhenEmpty.ALWAYS:
        named = (*closed, *_record_late(subscription, last, facts))
        return SlotDecision(SlotOutcome.MAKE, last.name, TurnState(following, taken), named)
    return SlotDecision(SlotOutcome.PASS, "", TurnState(following, taken, unchecked=closed))


def _keep_open(
    subscription: Subscription | Timing,
    last: Slot,
    facts: SlotFacts,
    closed: tuple[UncheckedTurn, ...],
) -> SlotDecision:
    """Leave a turn open that was not checked and has nothing to send.

    A note says so once, unless `when_empty` is `skip`.
    """
    state = TurnState(
        next_due_at=_find_due_while_open(subscription, last, facts),
        taken=facts.state.taken,
        awaits_check=facts.now < _find_closing(last, facts),
        unchecked=(*closed, *_record_open(last, facts)),
    )
    note = str(SlotName(SlotKind.UNCHECKED, last.name))  # sent beside the turn, which stays open
    if subscription.when_empty is WhenEmpty.SKIP or is_taken(facts.state.taken, note):
        return SlotDecision(SlotOutcome.STAY_OPEN, "", state)
    return SlotDecision(SlotOutcome.MAKE, note, replace(state, taken=take_slot(state.taken, note)))


def next_due(
    subscription: Subscription, now: datetime, taken: str = "", paused_until: datetime | None = None
) -> datetime | None:
    """Return when a subscription is due next, once its pause is over.

    None if only an event makes it due.
    """
    if paused_until is not None and paused_until > now:
        return first_due(subscription, paused_until, taken)
    return _find_next(subscription, now, taken)


def first_due(subscription: Subscription, begin: datetime, taken: str = "") -> datetime:
    """Return when a subscription is due first, from a moment on.

    What is sent at once is due at that moment, or when its quiet hours end.
    """
    turn = _find_next(subscription, begin - _INSTANT, taken)
    return turn or leave_quiet(subscription.cadence, subscription.quiet_hours, begin)


def realign_due(
    subscription: Subscription, due_at: datetime, now: datetime, taken: str
) -> datetime:
    """Return when a stored turn is due by the quiet hours and the zone's data as they are now.

    A turn stays the same turn: it moves, and is never left out. One that is overdue stays due. What
    is sent at once has no turn: it goes out when the quiet hours let it.
    """
    if due_at <= now:
        return due_at
    slot = nearest_slot(subscription.cadence, subscription.quiet_hours, due_at, taken)
    return slot.due_at if slot else leave_quiet(subscription.cadence, subscription.quiet_hours, now)


def find_covered_until(subscription: Subscription, taken: str) -> datetime | None:
    """Return up to when the turns that were taken cover what was announced (UTC).

    That is the `latest_at` of the last one, by the quiet hours and the zone's data as they are now.
    None if no name is one of this cadence.
    """
    cadence = subscription.cadence
    for name in taken.split():
        day = _read_day(cadence, name)
        if day is not None:
            last = _make_slot(cadence, subscription.quiet_hours, day)
            return last.latest_at if last else None
    return None


def _find_next(subscription: Subscription | Timing, after: datetime, taken: str) -> datetime | None:
    slot = next_slot(subscription.cadence, subscription.quiet_hours, after, taken)
    return None if slot is None else slot.due_at


def find_visible_moment(
    cadence: Cadence, quiet: QuietHours | None, now: datetime, source: str
) -> datetime:
    """Return the moment (UTC) up to which announcements were visible when the last turn came."""
    return _find_visible_until(latest_slot(cadence, quiet, now), source)


def _find_visible_until(slot: Slot, source: str) -> datetime:
    """Return the moment (UTC) up to which announcements are visible when a turn comes."""
    if slot.announcement is not None:
        return announcement_moment(slot.announcement)
    return slot.due_at - VISIBLE_AFTER[source]


def _list_closed(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> tuple[UncheckedTurn, ...]:
    """Return the turns before the last one that closed unchecked and that no digest has named yet.

    Those that came while Digest did not run are among them, if something was announced since the
    turn before.
    """
    opened = _find_left_open(subscription, last, facts)
    closed = [one for one in facts.state.unchecked if one != opened]
    known = {one.due_at for one in closed}
    missed = []
    for slot in _list_downtime_turns(subscription, last, facts):
        if slot.due_at not in known:
            missed.append(UncheckedTurn(slot.due_at, TurnFailure.DID_NOT_RUN))
    return (*closed, *missed)


def _list_downtime_turns(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> Iterator[Slot]:
    """Yield the turns before the last one that came while Digest did not run.

    A turn is left out if nothing was announced since the one before it.
    """
    cadence = subscription.cadence
    quiet = subscription.quiet_hours
    first = latest_slot(cadence, quiet, facts.due_at)
    if first == last:
        return
    was_left_open = facts.state.awaits_check and first.due_at < facts.due_at
    announced_before = None
    # Begin a week earlier: what was announced by the turn before the first is no news for that.
    begin = _day_of(cadence, first.due_at) - 8 * _ONE_DAY
    for slot in _walk_slots(cadence, quiet, begin, _ONE_DAY):
        if slot.due_at >= last.due_at:
            return
        announced = latest_announcement(_find_visible_until(slot, facts.coverage.source))
        has_news = announced != announced_before
        announced_before = announced
        is_missed = slot.due_at > first.due_at or (slot == first and not was_left_open)
        if is_missed and has_news and not is_taken(facts.state.taken, slot.name):
            yield slot


def _find_left_open(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> UncheckedTurn | None:
    """Return the last turn as it was left open; None if it was not.

    It may have been due at another hour then.
    """
    for one in facts.state.unchecked:
        nearest = nearest_slot(subscription.cadence, subscription.quiet_hours, one.due_at)
        if nearest == last:
            return one
    return None


def _record_late(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> tuple[UncheckedTurn, ...]:
    """Return the turn of a digest that is made hours after it, and why; nothing if it is not late.

    If no run has met it before, it is late after a day alone: runs may start once a day.
    """
    if facts.now - last.due_at < _LATE_AFTER:
        return ()
    opened = _find_left_open(subscription, last, facts)
    if opened is None and facts.due_at <= last.due_at <= facts.now - _ONE_DAY:
        opened = UncheckedTurn(last.due_at, TurnFailure.DID_NOT_RUN)
    return (replace(opened, is_late=True),) if opened else ()


def _record_open(last: Slot, facts: SlotFacts) -> tuple[UncheckedTurn, ...]:
    """Return what is kept of the last turn while it is open; nothing if it was checked."""
    if facts.is_checked:
        return ()
    is_unannounced = facts.coverage.is_awaited and facts.coverage.failing_since is None
    failure = TurnFailure.NOT_ANNOUNCED if is_unannounced else TurnFailure.ARXIV_FAILED
    return (UncheckedTurn(last.due_at, failure),)


def _find_closing(slot: Slot, facts: SlotFacts) -> datetime:
    """Return when an open turn closes (UTC): at the next announcement, once its wait is over."""
    following = announcement_moment(next_announcement(slot.due_at))
    return max(following, _find_wait_limit(slot, facts))


def _make_daily(cadence: Cadence) -> Cadence | None:
    """Return a weekly cadence with the same hour of every day; None for other cadences.

    At that hour a weekly turn that was left open may come later.
    """
    if cadence.kind is not CadenceKind.CLOCK or len(cadence.days) > 1:
        return None
    return replace(cadence, days=EVERY_DAY, fortnight=None)


def _find_due_while_open(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> datetime | None:
    """Return when a subscription with an open turn is due by the clock (UTC).

    A weekly one is due at its hour of a day after the turn has closed, if no turn comes before.
    """
    following = _find_next(subscription, facts.now, facts.state.taken)
    daily = _make_daily(subscription.cadence)
    closing = _find_closing(last, facts)
    if daily is None or following is None:
        return following
    again = next_slot(daily, subscription.quiet_hours, max(facts.now, closing))
    return min(following, again.due_at) if again else following


def _find_rest_end(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> datetime | None:
    """Return until when a turn that was left open and has closed rests (UTC); None if it does not.

    Nothing is decided of it until the next turn. A weekly one is decided once more before: at its
    hour of a day after it has closed.
    """
    closing = _find_closing(last, facts)
    if _find_left_open(subscription, last, facts) is None or facts.now < closing:
        return None
    daily = _make_daily(subscription.cadence)
    if daily is not None:
        last_hour = latest_slot(daily, subscription.quiet_hours, facts.now)
        if last_hour.due_at >= closing:
            return None
    return _find_due_while_open(subscription, last, facts)


def _find_wait_end(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> datetime | None:
    """Return until when the last turn waits for the rest of its announcement (UTC), or None.

    Papers that have waited with the turn before don't wait again: quiet hours held them back.
    """
    cadence = subscription.cadence
    coverage = facts.coverage
    has_all = coverage.is_complete if facts.newest_run else coverage.is_settled
    if has_all:
        return None
    if cadence.kind is CadenceKind.CLOCK and facts.newest_run and facts.waiting_since is not None:
        before = latest_slot(cadence, subscription.quiet_hours, last.due_at - _INSTANT)
        if facts.waiting_since <= before.latest_at:
            return None
    waits_until = _find_wait_limit(last, facts)
    return waits_until if facts.now < waits_until else None


def _find_wait_limit(slot: Slot, facts: SlotFacts) -> datetime:
    """Return until when a turn waits at most for an announcement that is not complete (UTC)."""
    if slot.announcement is not None:
        return alarm_moment(slot.announcement)
    if facts.patience is None:
        return slot.latest_at
    return min(slot.latest_at, slot.due_at + facts.patience)


def _find_missed_turn(
    subscription: Subscription | Timing, last: Slot, facts: SlotFacts
) -> Slot | None:
    """Return the turn before the last if papers should have gone out then.

    None if they wait for the last.
    """
    cadence = subscription.cadence
    coverage = facts.coverage
    has_papers = coverage.announcement is not None and facts.newest_run > 0
    if cadence.kind is not CadenceKind.ANNOUNCEMENT or not has_papers:
        return None
    quiet = subscription.quiet_hours
    first = latest_slot(cadence, quiet, facts.due_at)
    # None came between. But with quiet hours one that was put off to their end looks like the last.
    if first == last and quiet is None:
        return None
    before = latest_slot(cadence, quiet, last.due_at - _INSTANT)
    if is_taken(facts.state.taken, before.name):
        return None
    matched_at = facts.waiting_since or facts.now
    announced = latest_announcement(matched_at - VISIBLE_AFTER[coverage.source])
    is_of_before = coverage.announcement is not None and announced < coverage.announcement
    return before if is_of_before or coverage.is_awaited else None


def plan_starts(cadences: Iterable[Cadence]) -> Starts:
    """Return when runs that wait half an hour for a turn must start.

    Each turn has a start before it, and another 90 minutes later.
    """
    days_of_starts: dict[tuple[str, int], set[int]] = defaultdict(set)
    for cadence in cadences:
        turn = cadence if cadence.kind is CadenceKind.CLOCK else _AFTER_ANNOUNCEMENT
        first = turn.at.hour * 60 + turn.at.minute - _MINUTES_BEFORE
        if first % _QUARTER_HOUR == 0:
            first -= 1
        for start in (first, first + _MINUTES_BETWEEN):
            later_days, day_minute = divmod(start, _DAY_MINUTES)
            cron_days = {(day + 1 + later_days) % 7 for day in turn.days}  # from Sunday, which is 0
            days_of_starts[turn.zone, day_minute] |= cron_days
    hours_of_lines: dict[tuple[str, int, tuple[int, ...]], list[int]] = defaultdict(list)
    for (zone, day_minute), cron_days in sorted(days_of_starts.items()):
        hour, minute = divmod(day_minute, 60)
        hours_of_lines[zone, minute, tuple(sorted(cron_days))].append(hour)
    starts = []
    for (zone, minute, weekdays), hours in hours_of_lines.items():
        at = ",".join(map(str, hours))
        starts.append((f"{minute} {at} * * {_write_weekdays(weekdays)}", zone))
    return tuple(starts)


def plan_starts_in_utc(cadences: Iterable[Cadence], year: int) -> Starts:
    """Return when runs must start, by a clock that knows only UTC: in summer and in winter."""
    new_year = date(year, 1, 1)
    monday = new_year - timedelta(days=new_year.weekday())
    turns = []
    for cadence in cadences:
        turn = cadence if cadence.kind is CadenceKind.CLOCK else _AFTER_ANNOUNCEMENT
        for offset in _list_offsets(turn.zone, year):
            moment = datetime.combine(monday, turn.at) - offset
            later_days = (moment.date() - monday).days
            weekdays = frozenset([(day + later_days) % 7 for day in turn.days])
            turns.append(replace(turn, days=weekdays, at=moment.time(), zone="UTC"))
    return plan_starts(turns)


def _list_offsets(zone: str, year: int) -> set[timedelta]:
    """Return how far a zone is from UTC in a year: in summer and in winter."""
    firsts = [datetime(year, month, 1, tzinfo=ZoneInfo(zone)) for month in range(1, 13)]
    return {first.utcoffset() or timedelta() for first in firsts}


def _write_weekdays(days: tuple[int, ...]) -> str:
    """Write weekdays as cron reads them, Sunday being 0."""
    if len(days) == 7:  # noqa: PLR2004 - a week
        return "*"
    is_row = days[-1] - days[0] == len(days) - 1
    if is_row and len(days) > 2:  # noqa: PLR2004 - two are shorter as a list
        return f"{days[0]}-{days[-1]}"
    return ",".join(map(str, days))
