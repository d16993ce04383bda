"""Which ways out share their threads, and how long a claim is relied upon."""

from __future__ import annotations

from digest.deliver.dispatch import LANES, MARGIN, holds_claim
from digest.model.clock import monotonic
from digest.model.subscriptions import DestinationKind
from digest.store.outbox import CLAIM_LEASE


def test_every_way_out_has_one_lane_and_mail_has_its_own() -> None:
    kinds = [kind for lane in LANES for kind in lane.kinds]
    assert sorted(kinds) == sorted(DestinationKind)
    assert {DestinationKind.MAIL} in [set(lane.kinds) for lane in LANES]


def test_a_claim_is_relied_upon_as_long_as_an_answer_can_still_come_before_it_ends() -> None:
    assert holds_claim(monotonic() - (CLAIM_LEASE - MARGIN) + 5)
    assert not holds_claim(monotonic() - (CLAIM_LEASE - MARGIN))
