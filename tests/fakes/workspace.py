"""A made-up Slack workspace: its channels, what was posted there, and the rules of posting."""

from __future__ import annotations

import html
import json
import math
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from digest.model.clock import Clock
from tests.fakes.blocks import MOST_TEXT_BYTES, check_blocks, list_texts, measure_text

TEAM = "T000DEMO"
BOT_USER = "U000DIGEST"
BOT = "B000DIGEST"
TEXT_LIMIT = 40_000
METADATA_LIMIT = 8_000
_EVENT_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SlackChannel:
    """A channel as the bot sees it; `name` is without `#`."""

    id: str
    name: str
    is_member: bool = True
    is_archived: bool = False
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message as stored.

    `ts` is its name within the channel, `thread_ts` that of the message it replies to.
    """

    channel: str
    ts: str
    thread_ts: str
    text: str
    blocks: tuple[dict[str, Any], ...]
    metadata: dict[str, Any] | None
    client_msg_id: str
    posted_at: datetime
    payload: dict[str, Any] = field(repr=False, default_factory=dict)

    @property
    def plain(self) -> str:
        """The text as a reader sees it: unescaped."""
        return html.unescape(self.text)

    @property
    def block_texts(self) -> tuple[str, ...]:
        """Every text of the blocks, unescaped, in order."""
        return tuple(html.unescape(text) for text in list_texts(list(self.blocks)))

    def show(self, *, with_metadata: bool) -> dict[str, Any]:
        """Return it as the history methods list it."""
        shown: dict[str, Any] = {
            "type": "message",
            "ts": self.ts,
            "text": self.text,
            "user": BOT_USER,
            "bot_id": BOT,
            "team": TEAM,
            "blocks": list(self.blocks),
        }
        if self.thread_ts:
            shown["thread_ts"] = self.thread_ts
        if self.metadata is not None:
            shown["metadata"] = (
                self.metadata if with_metadata else {"event_type": self.metadata["event_type"]}
            )
        return shown


class SlackRefusal(Exception):
    """The API says no, politely: `ok` is false and `error` names why."""

    def __init__(self, error: str, **details: object) -> None:
        super().__init__(error)
        self.error = error
        self.details = details


class SlackRateLimited(Exception):
    """Too many messages for this channel; `retry_after` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"wait {retry_after} s")
        self.retry_after = retry_after


class Workspace:
    """Channels and messages. Safe between threads.

    `refusals` says with what posts are refused, by their channel's id.
    """

    def __init__(
        self,
        channels: Sequence[SlackChannel],
        clock: Clock,
        *,
        pace: float,
        drops_repeats: bool,
        most_text: int = MOST_TEXT_BYTES,
    ) -> None:
        self.channels = {channel.id: channel for channel in channels}
        self._clock = clock
        self.most_text = most_text
        self.refusals: dict[str, str] = {}
        self._pace = pace
        self._drops_repeats = drops_repeats
        self._messages: list[SlackMessage] = []
        self._posted: dict[str, float] = {}
        self._last_ts = 0
        self._lock = threading.RLock()

    def list_messages(self) -> tuple[SlackMessage, ...]:
        """Return every message, oldest first."""
        with self._lock:
            return tuple(self._messages)

    def find_channel(self, text: str) -> SlackChannel:
        """Return a channel by id or name, if the bot can see it."""
        for channel in self.channels.values():
            is_visible = channel.is_member or not channel.is_private
            if is_visible and text.removeprefix("#") in (channel.id, channel.name):
                return channel
        raise SlackRefusal("channel_not_found")

    def join(self, channel: SlackChannel) -> SlackChannel:
        """Make the bot a member of a channel."""
        if channel.is_private:
            raise SlackRefusal("method_not_supported_for_channel_type")
        if channel.is_archived:
            raise SlackRefusal("is_archived")
        self.channels[channel.id] = replace(channel, is_member=True)
        return self.channels[channel.id]

    def post(self, payload: dict[str, Any]) -> tuple[SlackMessage, bool]:
        """Store a message and return it; the flag says that it is an earlier one, repeated."""
        with self._lock:
            channel = self.find_channel(str(payload.get("channel") or ""))
            if channel.is_archived:
                raise SlackRefusal("is_archived")
            if not channel.is_member:
                raise SlackRefusal("not_in_channel")
            if channel.id in self.refusals:
                raise SlackRefusal(self.refusals[channel.id])
            check_payload(payload, self.most_text)
            thread_ts = str(payload.get("thread_ts") or "")
            if thread_ts and not self.find_messages(channel.id, thread_ts):
                raise SlackRefusal("thread_not_found")
            repeated = self._find_repeated(channel.id, str(payload.get("client_msg_id") or ""))
            if repeated:
                return repeated, True
            self._keep_pace(channel.id)
            return self._store(channel.id, thread_ts, payload), False

    def find_messages(self, channel: str, ts: str) -> list[SlackMessage]:
        """Return a message and its replies, oldest first; nothing where it does not exist."""
        found = [message for message in self.list_messages() if message.channel == channel]
        return [message for message in found if ts in (message.ts, message.thread_ts)]

    def _find_repeated(self, channel: str, client_msg_id: str) -> SlackMessage | None:
        if not (self._drops_repeats and client_msg_id):
            return None
        same = (
            m for m in self._messages if (m.channel, m.client_msg_id) == (channel, client_msg_id)
        )
        return next(same, None)

    def _keep_pace(self, channel: str) -> None:
        now = self._clock.now().timestamp()
        wait = self._posted.get(channel, -math.inf) + self._pace - now
        if wait > 0:
            raise SlackRateLimited(max(1, math.ceil(wait)))
        self._posted[channel] = now

    def _store(self, channel: str, thread_ts: str, payload: dict[str, Any]) -> SlackMessage:
        now = self._clock.now()
        self._last_ts = max(self._last_ts + 1, round(now.timestamp() * 1_000_000))
        seconds, micros = divmod(self._last_ts, 1_000_000)
        message = SlackMessage(
            channel=channel,
            ts=f"{seconds}.{micros:06d}",
            thread_ts=thread_ts,
            text=str(payload.get("text") or "")[:TEXT_LIMIT],
            blocks=tuple(payload.get("blocks") or ()),
            metadata=payload.get("metadata"),
            client_msg_id=str(payload.get("client_msg_id") or ""),
            posted_at=now,
            payload=payload,
        )
        self._messages.append(message)
        return message


def check_payload(payload: dict[str, Any], most_text: int = MOST_TEXT_BYTES) -> None:
    """Raise `SlackRefusal` if a message's content breaks one of Slack's limits."""
    blocks = payload.get("blocks")
    if blocks:
        complaints = check_blocks(blocks)
        if complaints:
            raise SlackRefusal(
                "invalid_blocks", errors=complaints, response_metadata={"messages": complaints}
            )
        if measure_text(blocks) > most_text:
            raise SlackRefusal("msg_blocks_too_long")
    elif not payload.get("text"):
        raise SlackRefusal("no_text")
    _check_metadata(payload.get("metadata"))


def _check_metadata(metadata: object) -> None:
    if metadata is None:
        return
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackRefusal("invalid_metadata_format")
    if not _EVENT_NAME.fullmatch(str(metadata.get("event_type") or "")):
        raise SlackRefusal("invalid_metadata_format")
    if len(json.dumps(metadata)) > METADATA_LIMIT:
        raise SlackRefusal("metadata_too_large")
