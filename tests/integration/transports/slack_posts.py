"""Posts to a made-up Slack, and the errors they end in."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from digest.deliver.transports.slack import SlackTransport
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError
from digest.model.messages import Message

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
PAPERS = Destination(DestinationKind.SLACK, "#papers")
KEY = "5f0c9d54-0000-5000-8000-000000000001"
POST = "/api/chat.postMessage"


def make_post(
    *, key: str = KEY, channel: str = "C000PAPERS", text: str = "Nine papers", **more: object
) -> Message:
    """Return a post that carries its key as metadata."""
    metadata = {"event_type": "digest_posted", "event_payload": {"delivery": key}}
    blocks = [{"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}]
    call = {
        "channel": channel,
        "text": text,
        "blocks": blocks,
        "metadata": metadata,
        "client_msg_id": key,
    } | more
    return Message("application/json", json.dumps(call, ensure_ascii=False).encode(), key)


def fail_to_send(transport: SlackTransport, message: Message | None = None) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        transport.send(message or make_post(), PAPERS)
    return caught.value
