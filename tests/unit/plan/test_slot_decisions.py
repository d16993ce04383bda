"""What becomes of a turn that has come."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

import pytest

from digest.model.cadences import Cadence, QuietHours, read_pause_end
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Coverage
from digest.model.subscriptions import (
    Subscription,
    TurnFailure,
    TurnState,
    UncheckedTurn,
    WhenEmpty,
)
from digest.plan.slots import (
    SlotDecision,
    SlotFacts,
    SlotOutcome,
    decide_slot,
    find_covered_until,
    first_due,
    next_due,
    realign_due,
)

MORNING = "weekdays at 09:00 Europe/Berlin"
NIGHT = QuietHours.parse("22:00-07:00 Europe/Berlin")
SETTLED = Coverage(
    announcement=date(2026, 11, 19),
    is_complete=True,
    compared=1000,
    matched=None,
    checked_at=datetime(2026, 11, 20, 4, tzinfo=UTC),
    source="harvest",
    is_settled=True,
)
COMPLETE = replace(SETTLED, is_settled=False)
INCOMPLETE = replace(SETTLED, is_complete=False, is_settled=False)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def subscribe(phrase: str = MORNING, **fields: object) -> Subscription:
    mail = Destination(DestinationKind.MAIL, "reader@example.org")
    subscription = Subscription("team", ("perf",), (mail,), Cadence.parse(phrase))
    return replace(subscription, **fields)  # type: ignore[arg-type]  # fields of Subscription


def decide(
    subscription: Subscription,
    *,
    due: str = "2026-11-20T08:00",
    now: str = "2026-11-20T08:00",
    taken: str = "2026-11-19",
    coverage: Coverage = SETTLED,
    run: int = 7,
    patience: timedelta | None = None,
    matched: str = "",
    checked: bool = False,
    unchecked: tuple[UncheckedTurn, ...] = (),
) -> SlotDecision:
    """Decide over a turn.

    Unless `checked`, what was visible when it came is as complete as the coverage says.
    """
    due_at = utc(due)
    facts = SlotFacts(
        due_at=due_at,
        state=TurnState(due_at, taken, unchecked=unchecked),
        now=utc(now),
        coverage=coverage,
        is_checked=checked or coverage.is_complete,
        newest_run=run,
        patience=patience,
        waiting_since=utc(matched) if matched else None,
    )
    return decide_slot(subscription, facts)


def _late(turns: tuple[UncheckedTurn, ...]) -> tuple[UncheckedTurn, ...]:
    return tuple(replace(turn, is_late=True) for turn in turns)


def failed(due: str) -> UncheckedTurn:
    return UncheckedTurn(utc(due), TurnFailure.ARXIV_FAILED)


def take(
    outcome: SlotOutcome, slot: str, due: str, taken: str, *, is_missed: bool = False
) -> SlotDecision:
    """Return the decision that takes a turn, after which the next one is due."""
    return SlotDecision(outcome, slot, TurnState(utc(due), taken), is_missed=is_missed)


def test_papers_of_a_complete_announcement_go_out_under_the_days_name() -> None:
    turn = decide(subscribe())
    assert turn == take(SlotOutcome.MAKE, "2026-11-20", "2026-11-23T08:00", "2026-11-20")


def test_an_incomplete_announcement_is_waited_for_until_the_latest_moment() -> None:
    late = subscribe(f"{MORNING}, at the latest 12:00")
    before_noon = decide(late, now="2026-11-20T10:59", coverage=INCOMPLETE)
    assert before_noon.outcome is SlotOutcome.WAIT
    at_noon = decide(late, now="2026-11-20T11:00", coverage=INCOMPLETE)
    assert at_noon.outcome is SlotOutcome.MAKE
    usual = subscribe()
    before = decide(usual, now="2026-11-20T09:29", coverage=INCOMPLETE)
    assert before.outcome is SlotOutcome.WAIT
    after = decide(usual, now="2026-11-20T09:30", coverage=INCOMPLETE)
    assert after.outcome is SlotOutcome.MAKE


def test_a_single_pass_has_less_patience_than_the_cadence() -> None:
    turn = decide(subscribe(), coverage=INCOMPLETE, patience=timedelta(0))
    assert turn.outcome is SlotOutcome.MAKE


def test_a_quiet_day_waits_until_it_is_seen_to_its_end() -> None:
    quiet = decide(subscribe(), coverage=COMPLETE, run=0)
    assert quiet.outcome is SlotOutcome.WAIT
    with_papers = decide(subscribe(), coverage=COMPLETE, run=7)
    assert with_papers.outcome is SlotOutcome.MAKE
    seen_to_its_end = decide(subscribe(), coverage=SETTLED, run=0)
    assert seen_to_its_end.outcome is SlotOutcome.PASS


@pytest.mark.parametrize(
    ("when_empty", "coverage", "outcome"),
    [
        (WhenEmpty.SKIP, SETTLED, SlotOutcome.PASS),
        (WhenEmpty.NOTE, SETTLED, SlotOutcome.MAKE),
        (WhenEmpty.ALWAYS, SETTLED, SlotOutcome.MAKE),
    ],
)
def test_a_turn_without_papers_speaks_as_it_was_asked_to(
    when_empty: WhenEmpty, coverage: Coverage, outcome: SlotOutcome
) -> None:
    turn = decide(
        subscribe(when_empty=when_empty), run=0, coverage=coverage, now="2026-11-20T09:30"
    )
    assert turn.outcome is outcome
    assert turn.state.taken == "2026-11-20"


def test_all_turns_that_were_missed_become_one_digest_under_the_last_name_which_tells_them() -> (
    None
):
    turn = decide(subscribe(), due="2026-11-17T08:00", now="2026-11-20T13:00", taken="2026-11-16")
    assert turn.outcome is SlotOutcome.MAKE
    assert turn.slot == "2026-11-20"
    assert turn.state == TurnState(utc("2026-11-23T08:00"), "2026-11-20")
    assert [(one.due_at.day, one.failure) for one in turn.unchecked] == [
        (17, TurnFailure.DID_NOT_RUN),
        (18, TurnFailure.DID_NOT_RUN),
        (19, TurnFailure.DID_NOT_RUN),
    ]


def test_days_without_an_announcement_on_which_nobody_worked_are_no_missed_turns() -> None:
    daily = subscribe("daily at 09:00 Europe/Berlin")
    monday = decide(daily, due="2026-11-21T08:00", now="2026-11-23T13:00", taken="2026-11-20")
    assert monday.unchecked == (), (
        "Saturday's and Sunday's turns were for Thursday's announcement, as Friday's"
    )
    weekend = decide(daily, due="2026-11-20T08:00", now="2026-11-22T13:00", taken="2026-11-19")
    assert [one.due_at.day for one in weekend.unchecked] == [20]


def test_a_turn_with_nothing_to_send_stays_open_until_the_next_turn_if_the_check_failed() -> None:
    turn = decide(subscribe(), now="2026-11-20T09:30", coverage=INCOMPLETE, run=0)
    state = TurnState(utc("2026-11-23T08:00"), "2026-11-19", awaits_check=True)
    state = replace(state, unchecked=(failed("2026-11-20T08:00"),))
    assert turn == SlotDecision(SlotOutcome.STAY_OPEN, "", state)


@pytest.mark.parametrize(
    ("coverage", "run", "outcome"),
    [
        (SETTLED, 7, SlotOutcome.MAKE),
        (INCOMPLETE, 7, SlotOutcome.MAKE),
        (SETTLED, 0, SlotOutcome.PASS),
        (INCOMPLETE, 0, SlotOutcome.STAY_OPEN),
    ],
)
def test_an_open_turn_is_taken_by_papers_or_by_a_complete_check(
    coverage: Coverage, run: int, outcome: SlotOutcome
) -> None:
    opened = (failed("2026-11-20T08:00"),)
    saturday = "2026-11-21T03:00"
    turn = decide(
        subscribe(), due=saturday, now=saturday, unchecked=opened, coverage=coverage, run=run
    )
    assert turn.outcome is outcome
    assert (turn.state.taken == "2026-11-20") == (outcome is not SlotOutcome.STAY_OPEN)
    assert turn.state.unchecked == (opened if outcome is SlotOutcome.STAY_OPEN else ())
    assert turn.unchecked == (_late(opened) if outcome is SlotOutcome.MAKE else ())


def test_an_announcement_that_was_visible_when_the_turn_came_decides_alone() -> None:
    # At 02:00 UTC it is 21:00 in New York: the evening's is not visible before 22:30.
    decide_at_night = partial(
        decide,
        subscribe("daily at 02:00 UTC"),
        due="2026-11-20T02:00",
        now="2026-11-20T03:30",
        coverage=INCOMPLETE,
        run=0,
    )
    assert decide_at_night(checked=True).outcome is SlotOutcome.PASS
    assert decide_at_night().outcome is SlotOutcome.STAY_OPEN


def test_an_open_turn_closes_with_the_next_announcement_and_the_next_digest_says_so() -> None:
    tuesday = failed("2026-11-17T08:00")
    decide_open = partial(decide, subscribe(), taken="2026-11-16", unchecked=(tuesday,))
    evening = decide_open(due="2026-11-18T03:00", now="2026-11-18T00:59")
    assert evening.outcome is SlotOutcome.MAKE
    assert evening.slot == "2026-11-17"
    night = decide_open(due="2026-11-18T03:00", now="2026-11-18T03:00")
    kept = TurnState(utc("2026-11-18T08:00"), "2026-11-16", unchecked=(tuesday,))
    assert night == SlotDecision(SlotOutcome.STAY_OPEN, "", kept)
    morning = decide_open(due="2026-11-18T08:00", now="2026-11-18T08:00")
    assert morning.slot == "2026-11-18"
    assert morning.unchecked == (tuesday,)
    assert morning.state.unchecked == ()
    quiet = decide_open(due="2026-11-18T08:00", now="2026-11-18T08:00", run=0)
    assert quiet.outcome is SlotOutcome.PASS
    assert quiet.state.unchecked == (tuesday,), "the next digest says so when one comes"


def test_a_weekly_turn_stays_open_until_its_next_and_goes_at_its_hour_once_more_was_announced() -> (
    None
):
    opened = (failed("2026-11-16T08:00"),)
    weekly = subscribe("mondays at 09:00 Europe/Berlin")
    decide_open = partial(decide, weekly, taken="2026-W46", unchecked=opened)
    first = decide_open(due="2026-11-16T08:00", now="2026-11-16T09:30", coverage=INCOMPLETE, run=0)
    tuesday_at = utc("2026-11-17T08:00")
    assert first.state == TurnState(tuesday_at, "2026-W46", awaits_check=True, unchecked=opened)
    before = decide_open(due="2026-11-16T15:00", now="2026-11-16T15:00")
    assert before.outcome is SlotOutcome.MAKE
    assert before.slot == "2026-W47"
    between = decide_open(due="2026-11-17T03:00", now="2026-11-17T03:00")
    assert between.outcome is SlotOutcome.STAY_OPEN
    assert between.state.next_due_at == tuesday_at
    failing = decide_open(
        due="2026-11-17T08:00", now="2026-11-17T08:00", coverage=INCOMPLETE, run=0
    )
    wednesday_at = utc("2026-11-18T08:00")
    assert failing.state == TurnState(wednesday_at, "2026-W46", unchecked=opened)
    late = decide_open(due="2026-11-18T08:00", now="2026-11-18T08:00")
    assert late.outcome is SlotOutcome.MAKE
    assert late.slot == "2026-W47"
    assert late.unchecked == _late(opened)


@pytest.mark.parametrize("when_empty", [WhenEmpty.NOTE, WhenEmpty.ALWAYS])
def test_a_failed_check_is_noted_once_and_takes_no_turn(when_empty: WhenEmpty) -> None:
    reader = subscribe(when_empty=when_empty)
    opened = (failed("2026-11-20T08:00"),)
    waiting = decide(reader, now="2026-11-20T09:29", coverage=INCOMPLETE, run=0)
    assert waiting.outcome is SlotOutcome.WAIT
    assert waiting.state.next_due_at == utc("2026-11-20T09:30")
    note = decide(reader, now="2026-11-20T09:30", coverage=INCOMPLETE, run=0)
    assert note.outcome is SlotOutcome.MAKE
    assert note.slot == "unchecked:2026-11-20"
    taken = "2026-11-19 unchecked:2026-11-20"
    assert note.state.taken == taken
    assert note.state.unchecked == opened
    decide_noted = partial(decide, reader, taken=taken, unchecked=opened, run=0)
    again = decide_noted(now="2026-11-20T11:00", coverage=INCOMPLETE)
    assert again.outcome is SlotOutcome.STAY_OPEN
    assert again.state.unchecked == opened
    checked = decide_noted(now="2026-11-20T13:05")
    assert checked.outcome is SlotOutcome.MAKE
    assert checked.slot == "2026-11-20"
    assert checked.state.unchecked == ()


def test_a_single_pass_leaves_a_turn_open_at_once_if_the_check_failed() -> None:
    without_patience = timedelta(0)
    turn = decide(subscribe(), coverage=INCOMPLETE, run=0, patience=without_patience)
    assert turn.outcome is SlotOutcome.STAY_OPEN
    assert turn.state.awaits_check is True
    reader = subscribe(when_empty=WhenEmpty.NOTE)
    noted = decide(reader, coverage=INCOMPLETE, run=0, patience=without_patience)
    assert noted.slot == "unchecked:2026-11-20"


def test_an_announcement_that_does_not_come_is_no_failure_of_arxiv() -> None:
    awaited = replace(INCOMPLETE, is_awaited=True)
    turn = decide(subscribe(), now="2026-11-20T09:30", coverage=awaited, run=0)
    (missing,) = turn.state.unchecked
    assert missing.failure is TurnFailure.NOT_ANNOUNCED
    failing = replace(awaited, failing_since=utc("2026-11-20T07:00"))
    turn = decide(subscribe(), now="2026-11-20T09:30", coverage=failing, run=0)
    (broken,) = turn.state.unchecked
    assert broken.failure is TurnFailure.ARXIV_FAILED


def test_an_open_turn_keeps_the_quiet_hours() -> None:
    reader = subscribe(quiet_hours=QuietHours.parse("18:00-07:00"))
    opened = (failed("2026-11-20T08:00"),)
    resting = decide(reader, due="2026-11-20T20:00", now="2026-11-20T20:00", unchecked=opened)
    kept = TurnState(utc("2026-11-21T06:00"), "2026-11-19", unchecked=opened)
    assert resting == SlotDecision(SlotOutcome.POSTPONE, "", kept)
    saturday = decide(reader, due="2026-11-21T06:00", now="2026-11-21T06:00", unchecked=opened)
    assert saturday.outcome is SlotOutcome.MAKE
    assert saturday.slot == "2026-11-20"


def test_missed_turns_with_nothing_to_send_wait_together_for_the_last_ones_announcement() -> None:
    decide_missed = partial(
        decide,
        subscribe(),
        due="2026-11-17T08:00",
        taken="2026-11-16",
        now="2026-11-20T08:20",
        coverage=INCOMPLETE,
    )
    turn = decide_missed(run=0)
    assert turn.outcome is SlotOutcome.WAIT
    assert turn.state.next_due_at == utc("2026-11-20T09:30")
    assert [one.due_at.day for one in turn.state.unchecked] == [17, 18, 19, 20]
    papers = decide_missed(matched="2026-11-20T08:10")
    assert papers.outcome is SlotOutcome.WAIT, "what has come waits for the rest, as on any day"


def test_nothing_goes_out_in_quiet_hours_whatever_waits() -> None:
    quiet = subscribe("daily at 18:00 Europe/Berlin", quiet_hours=QuietHours.parse("22:00-07:00"))
    resting = decide(quiet, due="2026-11-19T17:00", now="2026-11-19T23:00", taken="2026-11-18")
    assert resting == take(SlotOutcome.POSTPONE, "", "2026-11-20T06:00", "2026-11-18")
    told = decide(
        quiet,
        due="2026-11-20T06:00",
        now="2026-11-20T06:00",
        taken="2026-11-18",
        coverage=INCOMPLETE,
    )
    assert told.outcome is SlotOutcome.MAKE
    assert told.slot == "2026-11-19"


def test_papers_kept_by_quiet_hours_past_the_latest_moment_wait_for_no_other_announcement() -> None:
    quiet = QuietHours.parse("18:00-09:00")
    reader = subscribe("daily at 07:30 Europe/Berlin, at the latest 19:30", quiet_hours=quiet)
    morning = "2026-11-20T08:00"
    evening = "2026-11-20T17:00"
    following = "2026-11-21T08:00"
    decide_matched = partial(
        decide, reader, taken="2026-11-19", coverage=INCOMPLETE, matched=morning
    )
    waiting = decide_matched(due=morning, now=morning)
    assert waiting.outcome is SlotOutcome.WAIT
    resting = decide_matched(due=morning, now=evening)
    assert resting.outcome is SlotOutcome.POSTPONE
    assert resting.state.next_due_at == utc(following)
    sent = decide_matched(due=following, now=following)
    assert sent.outcome is SlotOutcome.MAKE
    fresh = decide_matched(due=following, now=following, taken="2026-11-20", matched=following)
    assert fresh.outcome is SlotOutcome.WAIT


def test_runs_of_one_night_become_one_digest_at_its_end() -> None:
    at_once = subscribe("at once", quiet_hours=NIGHT)
    morning = "2026-11-20T06:00"
    night = decide(at_once, now="2026-11-20T02:00", taken="")
    assert night.state.next_due_at == utc(morning)
    sent = decide(at_once, due=morning, now=morning, taken="run:3 2026-11-01", run=12)
    assert sent == SlotDecision(SlotOutcome.MAKE, "run:12", TurnState(None, "2026-11-01 run:12"))
    without_papers = decide(at_once, run=0, now="2026-11-20T12:00")
    assert without_papers.outcome is SlotOutcome.PASS


def test_papers_on_announcement_go_out_in_the_morning_even_when_more_may_come() -> None:
    decide_waiting = partial(
        decide,
        subscribe("on announcement"),
        due="2026-11-20T01:00",
        taken="mailing:2026-11-18",
        coverage=INCOMPLETE,
    )
    early = decide_waiting(now="2026-11-20T10:59")
    assert early.outcome is SlotOutcome.WAIT
    morning = decide_waiting(now="2026-11-20T11:00")
    assert morning.slot == "mailing:2026-11-19"
    afternoon = decide_waiting(now="2026-11-20T20:00", run=0)
    assert afternoon.outcome is SlotOutcome.STAY_OPEN
    assert afternoon.state.awaits_check is True


def decide_early(
    *,
    matched: str,
    due: str = "2026-11-19T01:00",
    now: str = "2026-11-20T06:00",
    taken: str = "mailing:2026-11-17",
    awaited: bool = False,
    quiet: str = "",
) -> SlotDecision:
    """Decide over a turn on announcement.

    Wednesday's was not taken, and Thursday's announcement is on its way.
    """
    hours = QuietHours.parse(quiet) if quiet else None
    coverage = replace(INCOMPLETE, is_awaited=awaited)
    waiting = subscribe("on announcement", quiet_hours=hours)
    return decide(waiting, due=due, now=now, taken=taken, matched=matched, coverage=coverage)


def test_papers_on_announcement_that_came_by_an_earlier_announcement_wait_for_no_other() -> None:
    told = decide_early(matched="2026-11-19T06:00")
    name = "mailing:2026-11-18"
    assert told == take(SlotOutcome.MAKE, name, "2026-11-20T01:00", name, is_missed=True)


def test_papers_on_announcement_that_came_with_the_last_announcement_wait_for_the_rest_of_it() -> (
    None
):
    assert decide_early(matched="2026-11-20T05:00").outcome is SlotOutcome.WAIT
    after_a_pause = decide_early(matched="2026-11-16T06:00", due="2026-11-20T01:00")
    assert after_a_pause.outcome is SlotOutcome.WAIT
    late = decide_early(
        matched="2026-11-19T09:00", due="2026-11-20T01:00", taken="mailing:2026-11-18"
    )
    assert late.outcome is SlotOutcome.WAIT


def test_papers_that_the_night_put_off_to_the_next_announcement_do_not_wait_for_it() -> None:
    matched = "2026-11-19T14:15"
    night = "20:00-09:00 Asia/Singapore"
    resting = decide_early(matched=matched, now=matched, quiet=night)
    assert resting.state.next_due_at == utc("2026-11-20T01:00")
    told = decide_early(
        matched=matched, due="2026-11-20T01:00", now="2026-11-20T01:15", quiet=night
    )
    name = "mailing:2026-11-18"
    assert told == take(SlotOutcome.MAKE, name, "2026-11-20T01:00", name, is_missed=True)


def test_a_heartbeat_on_announcement_waits_for_its_announcement_until_the_morning() -> None:
    decide_heartbeat = partial(
        decide,
        subscribe("on announcement", when_empty=WhenEmpty.ALWAYS),
        due="2026-11-20T01:00",
        taken="mailing:2026-11-18",
        coverage=INCOMPLETE,
        run=0,
    )
    early = decide_heartbeat(now="2026-11-20T10:59")
    assert early.outcome is SlotOutcome.WAIT
    note = decide_heartbeat(now="2026-11-20T11:00")
    assert note.slot == "unchecked:mailing:2026-11-19"


def test_a_new_turn_begins_where_the_pause_ends() -> None:
    now = utc("2026-11-20T12:00")
    after_a_pause = next_due(subscribe(), now, "", utc("2026-11-24T23:00"))
    assert after_a_pause == utc("2026-11-25T08:00")
    pause_is_over = next_due(subscribe(), now, "", utc("2026-11-19T23:00"))
    assert pause_is_over == utc("2026-11-23T08:00")


@pytest.mark.parametrize("phrase", [MORNING, "mondays at 23:00 UTC", "on announcement", "at once"])
def test_there_is_a_turn_behind_the_longest_pause_there_may_be(phrase: str) -> None:
    until = read_pause_end("2999-12-31T23:59:59", "America/New_York")
    due_at = next_due(subscribe(phrase, quiet_hours=NIGHT), utc("2026-11-20T12:00"), "", until)
    assert due_at is not None
    assert due_at >= until


def test_at_once_sends_at_the_end_of_a_pause_and_of_the_night_what_waited() -> None:
    pause_ends_at = utc("2026-11-25T23:00")
    at_once = subscribe("at once")
    assert first_due(at_once, pause_ends_at) == pause_ends_at
    but_at_night = subscribe("at once", quiet_hours=NIGHT)
    assert first_due(but_at_night, pause_ends_at) == utc("2026-11-26T06:00")
    assert next_due(at_once, pause_ends_at) is None


def test_new_quiet_hours_move_a_turn_and_never_leave_it_out() -> None:
    now = utc("2026-11-20T07:30")
    for stored in ("2026-11-20T07:45", "2026-11-20T08:00", "2026-11-20T09:00"):
        due_at = realign_due(subscribe(), utc(stored), now, "2026-11-19")
        assert due_at == utc("2026-11-20T08:00")
    due_at = realign_due(subscribe(), utc("2026-11-20T09:00"), now, "2026-11-20")
    assert due_at == utc("2026-11-23T08:00")


def test_a_turn_that_was_to_come_and_is_past_by_new_hours_is_due() -> None:
    now = utc("2026-11-20T08:30")
    due_at = realign_due(subscribe(), utc("2026-11-20T09:00"), now, "2026-11-19")
    assert due_at == utc("2026-11-20T08:00")


def test_what_is_sent_at_once_goes_out_when_the_quiet_hours_as_they_are_now_end() -> None:
    now = utc("2026-11-21T00:00")
    by_old_hours = utc("2026-11-21T06:00")
    shorter = QuietHours.parse("22:00-05:00 Europe/Berlin")
    longer = QuietHours.parse("22:00-09:00 Europe/Berlin")
    for hours, due_at in (
        (None, now),
        (shorter, utc("2026-11-21T04:00")),
        (longer, utc("2026-11-21T08:00")),
    ):
        at_once = subscribe("at once", quiet_hours=hours)
        assert realign_due(at_once, by_old_hours, now, "run:3") == due_at


def test_earlier_turns_stand_for_what_was_announced_until_they_waited_no_longer() -> None:
    assert find_covered_until(subscribe(), "2026-11-19") == utc("2026-11-19T09:30")
    assert find_covered_until(subscribe(), "2026-W47") is None
    on_announcement = subscribe("on announcement")
    since = find_covered_until(on_announcement, "2026-11-19 mailing:2026-11-18")
    assert since == utc("2026-11-19T01:00")
