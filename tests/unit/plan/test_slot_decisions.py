"""What becomes of a turn that has come."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from digest.model.cadences import Cadence, QuietHours, read_pause_end
from digest.model.messages import Coverage
from digest.model.subscriptions import Destination, DestinationKind, Subscription, WhenEmpty
from digest.plan.slots import (
    SlotDecision,
    SlotFacts,
    SlotOutcome,
    covered_since,
    decide_slot,
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
    return replace(Subscription("team", ("perf",), (mail,), Cadence.parse(phrase)), **fields)  # type: ignore[arg-type]  # fields of Subscription


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
) -> SlotDecision:
    since = utc(matched) if matched else None
    return decide_slot(subscription, SlotFacts(utc(due), taken, utc(now), coverage, run, patience, since))


def test_papers_of_a_complete_announcement_are_told_under_the_days_name() -> None:
    turn = decide(subscribe())
    assert turn == SlotDecision(SlotOutcome.MAKE, "2026-11-20", utc("2026-11-23T08:00"), "2026-11-20")


def test_an_incomplete_announcement_is_waited_for_until_the_latest_moment() -> None:
    late = subscribe(f"{MORNING}, at the latest 12:00")
    assert decide(late, now="2026-11-20T10:59", coverage=INCOMPLETE).outcome is SlotOutcome.WAIT
    assert decide(late, now="2026-11-20T11:00", coverage=INCOMPLETE).outcome is SlotOutcome.MAKE
    assert decide(subscribe(), now="2026-11-20T09:29", coverage=INCOMPLETE).outcome is SlotOutcome.WAIT
    assert decide(subscribe(), now="2026-11-20T09:30", coverage=INCOMPLETE).outcome is SlotOutcome.MAKE


def test_a_single_pass_has_less_patience_than_the_cadence() -> None:
    assert decide(subscribe(), coverage=INCOMPLETE, patience=timedelta(0)).outcome is SlotOutcome.MAKE


def test_a_quiet_day_waits_until_it_is_seen_to_its_end() -> None:
    assert decide(subscribe(), coverage=COMPLETE, run=0).outcome is SlotOutcome.WAIT
    assert decide(subscribe(), coverage=COMPLETE, run=7).outcome is SlotOutcome.MAKE
    assert decide(subscribe(), coverage=SETTLED, run=0).outcome is SlotOutcome.PASS


@pytest.mark.parametrize(
    ("when_empty", "coverage", "outcome"),
    [
        (WhenEmpty.SKIP, SETTLED, SlotOutcome.PASS),
        (WhenEmpty.NOTE, SETTLED, SlotOutcome.MAKE),
        (WhenEmpty.NOTE, INCOMPLETE, SlotOutcome.PASS),
        (WhenEmpty.ALWAYS, INCOMPLETE, SlotOutcome.MAKE),
    ],
)
def test_a_turn_without_papers_speaks_as_it_was_asked_to(
    when_empty: WhenEmpty, coverage: Coverage, outcome: SlotOutcome
) -> None:
    turn = decide(subscribe(when_empty=when_empty), run=0, coverage=coverage, now="2026-11-20T09:30")
    assert turn.outcome is outcome
    assert turn.taken == "2026-11-20"


def test_all_turns_that_were_missed_become_one_digest_under_the_last_name() -> None:
    turn = decide(subscribe(), due="2026-11-17T08:00", now="2026-11-20T13:00", taken="2026-11-16")
    assert (turn.outcome, turn.slot, turn.next_due_at) == (SlotOutcome.MAKE, "2026-11-20", utc("2026-11-23T08:00"))


def test_missed_turns_with_nothing_to_tell_wait_together_for_the_last_ones_announcement() -> None:
    turn = decide(subscribe(), due="2026-11-17T08:00", now="2026-11-20T08:20", coverage=INCOMPLETE, run=0)
    assert turn == SlotDecision(SlotOutcome.WAIT, "", utc("2026-11-20T08:00"), "2026-11-19")
    told = decide(subscribe(), due="2026-11-17T08:00", now="2026-11-20T08:20", coverage=INCOMPLETE, run=7)
    assert told.outcome is SlotOutcome.MAKE
    heartbeat = subscribe(when_empty=WhenEmpty.ALWAYS)
    said = decide(heartbeat, due="2026-11-17T08:00", now="2026-11-20T08:20", coverage=INCOMPLETE, run=0)
    assert said.outcome is SlotOutcome.MAKE


def test_nothing_goes_out_in_quiet_hours_whatever_waits() -> None:
    quiet = subscribe("daily at 18:00 Europe/Berlin", quiet_hours=QuietHours.parse("22:00-07:00"))
    resting = decide(quiet, due="2026-11-19T17:00", now="2026-11-19T23:00", taken="2026-11-18")
    assert resting == SlotDecision(SlotOutcome.POSTPONE, "", utc("2026-11-20T06:00"), "2026-11-18")
    told = decide(quiet, due="2026-11-20T06:00", now="2026-11-20T06:00", taken="2026-11-18", coverage=INCOMPLETE)
    assert (told.outcome, told.slot) == (SlotOutcome.MAKE, "2026-11-19")


def test_papers_that_quiet_hours_kept_past_the_latest_moment_do_not_wait_for_the_next_days_announcement() -> None:
    quiet = QuietHours.parse("18:00-09:00")
    reader = subscribe("daily at 07:30 Europe/Berlin, at the latest 19:30", quiet_hours=quiet)
    morning, evening = "2026-11-20T08:00", "2026-11-20T17:00"
    waiting = decide(reader, due=morning, now=morning, taken="2026-11-19", coverage=INCOMPLETE, matched=morning)
    assert waiting.outcome is SlotOutcome.WAIT
    resting = decide(reader, due=morning, now=evening, taken="2026-11-19", coverage=INCOMPLETE, matched=morning)
    assert (resting.outcome, resting.next_due_at) == (SlotOutcome.POSTPONE, utc("2026-11-21T08:00"))
    following = "2026-11-21T08:00"
    told = decide(reader, due=following, now=following, taken="2026-11-19", coverage=INCOMPLETE, matched=morning)
    assert told == SlotDecision(SlotOutcome.MAKE, "2026-11-20", utc(following), "2026-11-20")
    fresh = decide(
        reader, due=following, now=following, taken="2026-11-20", coverage=INCOMPLETE, matched=following
    )
    assert fresh.outcome is SlotOutcome.WAIT


def test_runs_of_one_night_become_one_digest_at_its_end() -> None:
    at_once = subscribe("at once", quiet_hours=NIGHT)
    assert decide(at_once, now="2026-11-20T02:00", taken="").next_due_at == utc("2026-11-20T06:00")
    told = decide(at_once, due="2026-11-20T06:00", now="2026-11-20T06:00", taken="run:3 2026-11-01", run=12)
    assert told == SlotDecision(SlotOutcome.MAKE, "run:12", None, "2026-11-01 run:12")
    assert decide(at_once, run=0, now="2026-11-20T12:00").outcome is SlotOutcome.PASS


def test_papers_on_announcement_go_out_in_the_morning_even_when_more_may_come() -> None:
    waiting = subscribe("on announcement")
    facts = {"due": "2026-11-20T01:00", "taken": "mailing:2026-11-18", "coverage": INCOMPLETE}
    assert decide(waiting, now="2026-11-20T10:59", **facts).outcome is SlotOutcome.WAIT  # type: ignore[arg-type]  # as decide takes them
    assert decide(waiting, now="2026-11-20T11:00", **facts).slot == "mailing:2026-11-19"  # type: ignore[arg-type]  # the same
    assert decide(waiting, now="2026-11-20T20:00", run=0, **facts).outcome is SlotOutcome.WAIT  # type: ignore[arg-type]  # the same


def decide_early(
    *,
    matched: str,
    due: str = "2026-11-19T01:00",
    now: str = "2026-11-20T06:00",
    taken: str = "mailing:2026-11-17",
    awaited: bool = False,
    quiet: str = "",
) -> SlotDecision:
    """Decide over a turn on announcement: Wednesday's was not taken, and Thursday's announcement is on its way."""
    hours = QuietHours.parse(quiet) if quiet else None
    coverage = replace(INCOMPLETE, is_awaited=awaited)
    waiting = subscribe("on announcement", quiet_hours=hours)
    return decide(waiting, due=due, now=now, taken=taken, matched=matched, coverage=coverage)


def test_papers_on_announcement_that_came_by_an_earlier_announcement_wait_for_no_other() -> None:
    told = decide_early(matched="2026-11-19T06:00")
    thursday = utc("2026-11-20T01:00")
    assert told == SlotDecision(
        SlotOutcome.MAKE, "mailing:2026-11-18", thursday, "mailing:2026-11-18", is_missed=True
    )


def test_papers_on_announcement_that_came_with_the_last_announcement_wait_for_the_rest_of_it() -> None:
    assert decide_early(matched="2026-11-20T05:00").outcome is SlotOutcome.WAIT
    after_a_pause = decide_early(matched="2026-11-16T06:00", due="2026-11-20T01:00")
    assert after_a_pause.outcome is SlotOutcome.WAIT
    late = decide_early(matched="2026-11-19T09:00", due="2026-11-20T01:00", taken="mailing:2026-11-18")
    assert late.outcome is SlotOutcome.WAIT


def test_papers_that_the_night_put_off_to_the_next_announcements_moment_do_not_wait_for_that_one() -> None:
    matched, night = "2026-11-19T14:15", "20:00-09:00 Asia/Singapore"
    assert decide_early(matched=matched, now=matched, quiet=night).next_due_at == utc("2026-11-20T01:00")
    told = decide_early(matched=matched, due="2026-11-20T01:00", now="2026-11-20T01:15", quiet=night)
    thursday = utc("2026-11-20T01:00")
    assert told == SlotDecision(
        SlotOutcome.MAKE, "mailing:2026-11-18", thursday, "mailing:2026-11-18", is_missed=True
    )


def test_a_heartbeat_on_announcement_waits_for_its_announcement_until_the_morning() -> None:
    heartbeat = subscribe("on announcement", when_empty=WhenEmpty.ALWAYS)
    facts = {"due": "2026-11-20T01:00", "taken": "mailing:2026-11-18", "coverage": INCOMPLETE, "run": 0}
    assert decide(heartbeat, now="2026-11-20T10:59", **facts).outcome is SlotOutcome.WAIT  # type: ignore[arg-type]  # as decide takes them
    assert decide(heartbeat, now="2026-11-20T11:00", **facts).slot == "mailing:2026-11-19"  # type: ignore[arg-type]  # the same


def test_a_heartbeat_that_was_missed_leaves_the_next_announcements_turn_to_that_announcement() -> None:
    thursday = utc("2026-11-20T01:00")
    for hours, due in (("", "2026-11-19T01:00"), ("18:00-20:00 America/New_York", "2026-11-20T01:00")):
        heartbeat = subscribe(
            "on announcement", when_empty=WhenEmpty.ALWAYS, quiet_hours=QuietHours.parse(hours) if hours else None
        )
        late = {"due": due, "now": "2026-11-20T01:15", "coverage": INCOMPLETE, "run": 0}
        said = decide(heartbeat, taken="mailing:2026-11-17", **late)  # type: ignore[arg-type]  # as decide takes them
        assert said == SlotDecision(
            SlotOutcome.MAKE, "mailing:2026-11-18", thursday, "mailing:2026-11-18", is_missed=True
        )
        after = decide(heartbeat, taken=said.taken, **late | {"due": "2026-11-20T01:00"})  # type: ignore[arg-type]  # the same
        assert after.outcome is SlotOutcome.WAIT


def test_a_heartbeat_that_quiet_hours_kept_past_the_latest_moment_comes_when_they_end() -> None:
    quiet = QuietHours.parse("18:00-09:00")
    heartbeat = subscribe(
        "daily at 07:30 Europe/Berlin, at the latest 19:30", quiet_hours=quiet, when_empty=WhenEmpty.ALWAYS
    )
    following = "2026-11-21T08:00"
    facts = {"due": following, "now": following, "coverage": INCOMPLETE, "run": 0}
    said = decide(heartbeat, taken="2026-11-19", **facts)  # type: ignore[arg-type]  # as decide takes them
    assert said == SlotDecision(SlotOutcome.MAKE, "2026-11-20", utc(following), "2026-11-20")
    assert decide(heartbeat, taken=said.taken, **facts).outcome is SlotOutcome.WAIT  # type: ignore[arg-type]  # the same
    assert decide(heartbeat, taken="", **facts).outcome is SlotOutcome.WAIT, "a new one had no turn to be put off"  # type: ignore[arg-type]  # the same
    facts["coverage"] = replace(INCOMPLETE, failure="no answer")
    for taken in ("", "2026-11-18"):  # new, or with two days put off at once
        assert decide(heartbeat, taken=taken, **facts).outcome is SlotOutcome.MAKE  # type: ignore[arg-type]  # the same


def test_a_new_turn_begins_where_the_pause_ends() -> None:
    now = utc("2026-11-20T12:00")
    assert next_due(subscribe(), now, "", utc("2026-11-24T23:00")) == utc("2026-11-25T08:00")
    assert next_due(subscribe(), now, "", utc("2026-11-19T23:00")) == utc("2026-11-23T08:00")


@pytest.mark.parametrize("phrase", [MORNING, "mondays at 23:00 UTC", "on announcement", "at once"])
def test_there_is_a_turn_behind_the_longest_pause_there_may_be(phrase: str) -> None:
    until = read_pause_end("2999-12-31T23:59:59", "America/New_York")
    due_at = next_due(subscribe(phrase, quiet_hours=NIGHT), utc("2026-11-20T12:00"), "", until)
    assert due_at is not None
    assert due_at >= until


def test_at_once_tells_at_the_end_of_a_pause_and_of_the_night_what_waited() -> None:
    assert first_due(subscribe("at once"), utc("2026-11-25T23:00")) == utc("2026-11-25T23:00")
    assert first_due(subscribe("at once", quiet_hours=NIGHT), utc("2026-11-25T23:00")) == utc("2026-11-26T06:00")
    assert next_due(subscribe("at once"), utc("2026-11-25T23:00")) is None


def test_new_quiet_hours_move_a_turn_and_never_leave_it_out() -> None:
    now = utc("2026-11-20T07:30")
    for stored in ("2026-11-20T07:45", "2026-11-20T08:00", "2026-11-20T09:00"):
        assert realign_due(subscribe(), utc(stored), now, "2026-11-19") == utc("2026-11-20T08:00")
    assert realign_due(subscribe(), utc("2026-11-20T09:00"), now, "2026-11-20") == utc("2026-11-23T08:00")


def test_a_turn_that_was_to_come_and_is_past_by_new_hours_is_due() -> None:
    now = utc("2026-11-20T08:30")
    assert realign_due(subscribe(), utc("2026-11-20T09:00"), now, "2026-11-19") == utc("2026-11-20T08:00")


def test_what_is_told_at_once_goes_out_when_the_quiet_hours_as_they_are_now_end() -> None:
    now, by_old_hours = utc("2026-11-21T00:00"), utc("2026-11-21T06:00")
    for fields, due_at in (
        ({}, now),
        ({"quiet_hours": QuietHours.parse("22:00-05:00 Europe/Berlin")}, utc("2026-11-21T04:00")),
        ({"quiet_hours": QuietHours.parse("22:00-09:00 Europe/Berlin")}, utc("2026-11-21T08:00")),
    ):
        assert realign_due(subscribe("at once", **fields), by_old_hours, now, "run:3") == due_at


def test_earlier_turns_stand_for_what_was_announced_until_they_waited_no_longer() -> None:
    assert covered_since(subscribe(), "2026-11-19") == utc("2026-11-19T09:30")
    assert covered_since(subscribe(), "2026-W47") is None
    assert covered_since(subscribe("on announcement"), "2026-11-19 mailing:2026-11-18") == utc("2026-11-19T01:00")
