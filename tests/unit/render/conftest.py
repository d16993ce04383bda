"""What the tests of rendering share: a renderer and deliveries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from digest.model.messages import Delivery, DeliveryState
from digest.model.subscriptions import Destination
from digest.render import MailIdentity, Renderer
from digest.render.samples import EVENING

KEY = "5a1d0b0e-93a4-4a35-8c39-6ad6c55a2f10"

MakeDelivery = Callable[..., Delivery]


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer()


@pytest.fixture(scope="session")
def identity() -> MailIdentity:
    return MailIdentity("digest@example.org", "Digest", "digest.example.org", EVENING)


@pytest.fixture(scope="session")
def deliver() -> MakeDelivery:
    """Makes a delivery to a destination given as text, with any other field of `Delivery`."""

    def make(to: str, **fields: Any) -> Delivery:  # noqa: ANN401 - the fields of Delivery
        values: dict[str, Any] = {
            "id": 1,
            "digest_id": 1,
            "part": 0,
            "parts": 1,
            "state": DeliveryState.CLAIMED,
            "attempts": 0,
            "token": 1,
            "idempotency_key": KEY,
            "not_before": EVENING,
            "created_at": EVENING,
        }
        return Delivery(destination=Destination.parse(to), **(values | fields))

    return make
