from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import UsageError
from digest.model.subscriptions import (
    EVERYTHING,
    ConsentEvent,
    Destination,
    SubscriberState,
    move_subscriber,
    normalise_address,
)

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


def test_one_spelling_of_an_address_is_what_consent_is_kept_under() -> None:
    assert normalise_address(" Reader@Example.ORG") == "reader@example.org"
