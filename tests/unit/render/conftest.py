"""What the tests of rendering share: a renderer and deliveries, and how messages are read back."""

from __future__ import annotations

import email
import email.policy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from digest.model.destinations import Destination
from digest.model.messages import Delivery, DeliveryState, Digest, Links
from digest.model.subscriptions import Abstracts, Grouping
from digest.plan.order import arrange
from digest.render.mail import MailIdentity
from digest.render.renderer import Renderer
from digest.render.samples import EVENING, SAMPLE_LINKS, make_digest, make_entry

KEY = "5a1d0b0e-93a4-4a35-8c39-6ad6c55a2f10"

IDENTITY = MailIdentity("digest@example.org", "Digest", "digest.example.org", EVENING)

MakeDelivery = Callable[..., Delivery]
Write = Callable[..., bytes]


@pytest.fixture(scope="session")
def renderer() -> Renderer:
    return Renderer()


@pytest.fixture(scope="session")
def identity() -> MailIdentity:
    return IDENTITY


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


@pytest.fixture(scope="session")
def write(renderer: Renderer, deliver: MakeDelivery, identity: MailIdentity) -> Write:
    """Renders a digest as the bytes of a mail."""

    def write_mail(
        digest: Digest, links: Links = SAMPLE_LINKS, *, sender: MailIdentity = identity
    ) -> bytes:
        return renderer.render(digest, deliver("mailto:reader@example.org"), links, sender).body

    return write_mail


def plan_digest(count: int, abstracts: Abstracts = Abstracts.SHORT, **fields: Any) -> Digest:  # noqa: ANN401 - the fields of Paper
    """Plan a digest of some papers of eight categories.

    Two of them were found by two saved queries.
    """
    entries = [
        make_entry(
            number,
            categories=(f"cs.{'ABCDEFGH'[number % 8]}A",),
            queries=("perf", "gpu") if number in (3, 4) else ("perf",),
            title=f"A title of some {number} words that says what its paper is about and why",
            abstract="We measure where it comes from. " + "It has many parts. " * 100,
            **fields,
        )
        for number in range(1, count + 1)
    ]
    ordered, groups = arrange(entries, Grouping.KIND, ["perf", "gpu"])
    return replace(make_digest(ordered, abstracts=abstracts), groups=groups)


def read_posts(
    renderer: Renderer, deliver: MakeDelivery, digest: Digest, links: Links = SAMPLE_LINKS
) -> list[dict[str, Any]]:
    """Return the bodies of all Slack messages of a digest."""
    parts = len(renderer.divide(digest, Destination.parse("slack:#papers")))
    deliveries = [
        deliver(
            "slack:#papers",
            part=part,
            parts=parts,
            parent_remote_id="1764000000.000100" * bool(part),
        )
        for part in range(parts)
    ]
    return [
        json.loads(renderer.render(digest, delivery, links, IDENTITY).body)
        for delivery in deliveries
    ]


def read_parts(raw: bytes) -> tuple[str, str]:
    """Return what the text and the HTML part of a mail say."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    plain, html = (str(part.get_content()).replace("\r\n", "\n") for part in message.iter_parts())
    return plain, html
