"""Which ways out share their threads."""

from __future__ import annotations

from digest.deliver.dispatch import LANES
from digest.model.destinations import DestinationKind


def test_every_way_out_has_one_lane_and_mail_has_its_own() -> None:
    kinds: list[DestinationKind] = []
    for lane in LANES:
        kinds += lane.kinds
    assert sorted(kinds) == sorted(DestinationKind)
    assert {DestinationKind.MAIL} in [set(lane.kinds) for lane in LANES]
