"""A small Slack on 127.0.0.1: one channel, and what was posted there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from digest.demo.server import Answer, DemoServer, Request

if TYPE_CHECKING:
    from digest.model.clock import Clock

TOKEN = "xoxb-demo"  # noqa: S105 - opens nothing but this server
CHANNEL = {"id": "C000PAPERS", "name": "papers", "is_channel": True, "is_member": True, "is_archived": False}


class DemoSlack(DemoServer):
    """A Slack workspace; `posts` are the calls that posted a message, oldest first."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(self._answer)
        self.posts: list[dict[str, Any]] = []
        self._clock = clock

    @property
    def api_url(self) -> str:
        """The Web API, ending in a slash as `slack_sdk` wants it."""
        return f"{self.url}/api/"

    def _answer(self, request: Request) -> Answer:
        method = request.path.removeprefix("/api/")
        if method == "conversations.list":
            return _accept(channels=[CHANNEL], response_metadata={"next_cursor": ""})
        if method == "chat.postMessage":
            self.posts.append(json.loads(request.body))
            stamp = f"{self._clock.now().timestamp():.0f}.{len(self.posts):06d}"
            return _accept(channel=CHANNEL["id"], ts=stamp, message={})
        return _write_json({"ok": False, "error": "unknown_method"})


def _accept(**result: object) -> Answer:
    return _write_json({"ok": True, **result})


def _write_json(value: dict[str, object]) -> Answer:
    return Answer(json.dumps(value).encode(), "application/json")
