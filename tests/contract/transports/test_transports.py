"""What every transport keeps to, whatever lies behind it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from digest.deliver.transports.registry import TRANSPORTS
from digest.model.destinations import DestinationKind
from digest.model.errors import DeliveryError
from tests.contract.transports.conftest import NOW, Route

SINCE = NOW - timedelta(seconds=60)


def test_what_is_sent_is_what_arrives_once(route: Route) -> None:
    receipt = route.transport.send(route.message, route.destination)
    assert route.arrived() == [route.message.body]
    assert receipt.detail


def test_a_destination_resolves_to_an_address_that_stays_the_same(route: Route) -> None:
    address = route.transport.resolve(route.destination)
    assert route.transport.resolve(route.destination) == address
    assert route.arrived() == []


def test_a_far_side_that_fails_for_now_is_worth_another_try_and_certain(route: Route) -> None:
    route.fail()
    with pytest.raises(DeliveryError) as caught:
        route.transport.send(route.message, route.destination)
    assert not caught.value.permanent
    assert not caught.value.ambiguous


@pytest.mark.parametrize(
    "route", sorted({*TRANSPORTS} - {DestinationKind.FILE, DestinationKind.CONSOLE}), indirect=True
)
def test_what_is_not_ours_any_more_does_not_leave_this_machine(route: Route) -> None:
    with pytest.raises(DeliveryError, match="claim on it ended") as caught:
        route.transport.send(route.message, route.destination, lambda: False)
    assert not caught.value.ambiguous
    assert route.arrived() == []


def test_a_transport_finds_out_what_became_of_a_message_or_says_that_it_never_can(
    route: Route,
) -> None:
    if not route.destination.traits.can_be_asked:
        with pytest.raises(DeliveryError) as caught:
            route.transport.find(route.message, route.destination, SINCE)
        assert caught.value.permanent
        assert not caught.value.ambiguous
        return
    assert route.transport.find(route.message, route.destination, SINCE) is None
    sent = route.transport.send(route.message, route.destination)
    found = route.transport.find(route.message, route.destination, SINCE)
    assert found is not None
    assert found.remote_id == sent.remote_id
    assert route.arrived() == [route.message.body]


def test_closing_may_be_repeated_and_comes_before_or_after_anything(route: Route) -> None:
    route.transport.close()
    route.transport.send(route.message, route.destination)
    route.transport.close()
    route.transport.close()
    assert len(route.arrived()) == 1
