from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.consent import (
    EVERYTHING,
    LINK_LIFETIME,
    ConsentEvent,
    SubscriberState,
    judge_link,
    may_send,
    move_subscriber,
    normalise_address,
)
from digest.errors import UsageError
from digest.subscriptions import Destination

READER = Destination.parse("mailto:reader@example.org")
CHANNEL = Destination.parse("slack:#papers")
NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
HOUR = timedelta(hours=1)

STATES = st.sampled_from([None, *SubscriberState])
EVENTS = st.lists(st.sampled_from(list(ConsentEvent)), max_size=12)
NAMES = st.sampled_from(["perf", "gpu", EVERYTHING])


def live(events: list[ConsentEvent]) -> SubscriberState | None:
    """Go through a life, skipping what is not possible."""
    state: SubscriberState | None = None
    for event in events:
        try:
            state = move_subscriber(state, event)
        except UsageError:
            continue
    return state


def test_a_person_who_asks_is_pending_until_they_confirm() -> None:
    assert live([ConsentEvent.ASKED]) is SubscriberState.PENDING
    assert live([ConsentEvent.ASKED, ConsentEvent.ASKED]) is SubscriberState.PENDING
    assert live([ConsentEvent.ASKED, ConsentEvent.CONFIRMED]) is SubscriberState.CONFIRMED


def test_an_address_in_the_operators_file_counts_as_confirmed() -> None:
    assert live([ConsentEvent.LISTED]) is SubscriberState.CONFIRMED
    assert live([ConsentEvent.ASKED, ConsentEvent.LISTED]) is SubscriberState.CONFIRMED


@given(STATES)
def test_leaving_is_possible_from_anywhere(state: SubscriberState | None) -> None:
    assert move_subscriber(state, ConsentEvent.LEFT) is SubscriberState.LEFT


@given(EVENTS, EVENTS)
def test_leaving_beats_the_file_whatever_happened_before_and_happens_after(
    before: list[ConsentEvent], after: list[ConsentEvent]
) -> None:
    not_by_themselves = [event for event in after if event is not ConsentEvent.RETURNED]
    assert live([*before, ConsentEvent.LEFT, *not_by_themselves]) is SubscriberState.LEFT


@given(EVENTS)
def test_whoever_left_comes_back_by_their_own_wish(before: list[ConsentEvent]) -> None:
    assert (
        live([*before, ConsentEvent.LEFT, ConsentEvent.ASKED, ConsentEvent.RETURNED]) is SubscriberState.CONFIRMED
    )


@given(EVENTS)
def test_nobody_is_confirmed_who_neither_said_so_nor_is_in_the_file(events: list[ConsentEvent]) -> None:
    consents = {ConsentEvent.CONFIRMED, ConsentEvent.RETURNED, ConsentEvent.LISTED}
    if not consents & set(events):
        assert live(events) is not SubscriberState.CONFIRMED


@pytest.mark.parametrize(
    ("state", "event"),
    [
        (None, ConsentEvent.CONFIRMED),
        (None, ConsentEvent.RETURNED),
        (SubscriberState.PENDING, ConsentEvent.RETURNED),
        (SubscriberState.CONFIRMED, ConsentEvent.RETURNED),
        (SubscriberState.LEFT, ConsentEvent.CONFIRMED),
    ],
)
def test_a_step_nobody_asked_for_is_refused(state: SubscriberState | None, event: ConsentEvent) -> None:
    with pytest.raises(UsageError, match="no such step was asked for") as caught:
        move_subscriber(state, event)
    assert "Ask again" in caught.value.hint


def test_a_link_confirms_for_two_days() -> None:
    assert judge_link(NOW, NOW + LINK_LIFETIME, None) is ConsentEvent.CONFIRMED
    with pytest.raises(UsageError, match="expired"):
        judge_link(NOW, NOW + LINK_LIFETIME + timedelta(seconds=1), None)


def test_a_link_from_before_leaving_brings_nobody_back_and_one_from_after_does() -> None:
    with pytest.raises(UsageError, match="before you left"):
        judge_link(NOW, NOW + 2 * HOUR, NOW + HOUR)
    with pytest.raises(UsageError, match="before you left"):
        judge_link(NOW, NOW + HOUR, NOW)
    assert judge_link(NOW + HOUR, NOW + 2 * HOUR, NOW) is ConsentEvent.RETURNED


@pytest.mark.parametrize(
    ("state", "is_in_file", "expected"),
    [
        (None, False, False),
        (None, True, True),
        (SubscriberState.PENDING, False, False),
        (SubscriberState.PENDING, True, True),
        (SubscriberState.CONFIRMED, False, True),
        (SubscriberState.CONFIRMED, True, True),
        (SubscriberState.LEFT, False, False),
        (SubscriberState.LEFT, True, False),
    ],
)
def test_mail_goes_to_who_confirmed_or_is_in_the_file_and_never_to_who_left(
    state: SubscriberState | None, *, is_in_file: bool, expected: bool
) -> None:
    decision = may_send(READER, "perf", state=state, left=(), is_in_file=is_in_file)
    assert decision.is_allowed is expected
    assert bool(decision.reason) is not expected


@given(
    state=STATES,
    is_in_file=st.booleans(),
    left=st.frozensets(NAMES),
    destination=st.sampled_from([READER, CHANNEL]),
)
def test_nothing_goes_where_this_subscription_or_everything_was_left(
    state: SubscriberState | None, *, is_in_file: bool, left: frozenset[str], destination: Destination
) -> None:
    decision = may_send(destination, "perf", state=state, left=left, is_in_file=is_in_file)
    if left & {"perf", EVERYTHING}:
        assert not decision.is_allowed
        assert "left" in decision.reason


def test_leaving_one_subscription_keeps_the_others() -> None:
    decision = may_send(READER, "gpu", state=SubscriberState.CONFIRMED, left={"perf"}, is_in_file=True)
    assert decision.is_allowed


def test_a_channel_needs_no_confirmation() -> None:
    assert may_send(CHANNEL, "perf", state=None, left=(), is_in_file=False).is_allowed


def test_one_spelling_of_an_address_is_what_consent_is_kept_under() -> None:
    assert normalise_address(" Reader@Example.ORG") == "reader@example.org"
