"""How many deliveries a lane claims, and when its turn ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from digest.deliver.dispatch import LAG, LANES, count_claims, is_turn_over
from digest.model.subscriptions import DestinationKind

SLOTS = st.integers(1, 50)


@given(SLOTS, st.integers(0, 200))
def test_little_more_is_claimed_than_is_on_its_way_and_a_free_slot_always_has_a_next_one(
    slots: int, in_hand: int
) -> None:
    claims = count_claims(in_hand, slots)
    assert claims == 0 or in_hand + claims <= slots + max(2 * slots, 8)
    assert claims > 0 or in_hand > slots


@given(SLOTS)
def test_an_empty_lane_claims_for_every_slot(slots: int) -> None:
    assert count_claims(0, slots) >= slots


def test_nothing_is_claimed_while_every_slot_is_held_up() -> None:
    assert count_claims(0, 0) == 0


def test_a_turn_ends_at_its_time_unless_a_send_hangs_and_then_later() -> None:
    assert not is_turn_over(59, 60, lag=0)
    assert is_turn_over(61, 60, lag=LAG / 2)
    assert not is_turn_over(61, 60, lag=LAG)
    assert is_turn_over(601, 60, lag=LAG)


def test_every_way_out_has_one_lane_and_mail_has_its_own() -> None:
    kinds = [kind for lane in LANES for kind in lane.kinds]
    assert sorted(kinds) == sorted(DestinationKind)
    assert {DestinationKind.MAIL} in [set(lane.kinds) for lane in LANES]
