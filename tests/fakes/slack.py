"""A Slack on 127.0.0.1: methods of the Web API, an incoming webhook, and faults on order.

Methods and their errors: https://docs.slack.dev/reference/methods; webhooks:
https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self
from urllib.parse import parse_qsl

from digest.model.clock import Clock
from tests.fakes.blocks import MOST_TEXT_BYTES
from tests.fakes.faults import Faults
from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json
from tests.fakes.slackfaults import AFTER, BEFORE, limit_rate, spoil_answer
from tests.fakes.workspace import (
    BOT,
    BOT_USER,
    TEAM,
    TEXT_LIMIT,
    SlackChannel,
    SlackMessage,
    SlackRateLimited,
    SlackRefusal,
    Workspace,
)

TOKEN = "xoxb-demo"
WEBHOOK_PATH = "/services/T000/B000/XXXX"
CHANNELS = (
    SlackChannel("C000PAPERS", "papers"),
    SlackChannel("C000LOUNGE", "lounge", is_member=False),
    SlackChannel("C000ATTIC0", "attic", is_archived=True),
)
SCOPES = {
    "chat.postMessage": "chat:write",
    "conversations.list": "channels:read",
    "conversations.info": "channels:read",
    "conversations.history": "channels:history",
    "conversations.replies": "channels:history",
    "conversations.join": "channels:join",
    "auth.test": "",
}
"""The methods there are and the scope each needs.

Of a private channel, the one in `PRIVATE_SCOPES`.
"""

PRIVATE_SCOPES = {"channels:read": "groups:read", "channels:history": "groups:history"}
"""What stands in for a scope where a channel is private."""

ALL_SCOPES = frozenset({*filter(None, SCOPES.values()), *PRIVATE_SCOPES.values()})

_WEBHOOK_STATUS = {"channel_not_found": 404, "not_in_channel": 403, "is_archived": 410}
_WEBHOOK_WORDS = {"not_in_channel": "action_prohibited", "is_archived": "channel_is_archived"}


class SlackReceiver:
    """A Slack workspace on a free port, while its context lasts.

    `trouble` is what every call is refused with, such as `token_revoked`. There must be `pace`
    seconds between two messages of a channel, and `history_lag` seconds pass until a message can be
    read back.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        channels: Sequence[SlackChannel | str] = CHANNELS,
        token: str = TOKEN,
        scopes: Collection[str] = ALL_SCOPES,
        trouble: str = "",
        most_text: int = MOST_TEXT_BYTES,
        pace: float = 1.0,
        history_lag: float = 0.0,
        drops_repeats: bool = False,
        port: int = 0,
    ) -> None:
        self.faults = Faults((*BEFORE, *AFTER))
        self.token = token
        rooms = [
            _open_channel(channel) if isinstance(channel, str) else channel for channel in channels
        ]
        self.trouble = trouble
        self.workspace = Workspace(
            rooms, clock, pace=pace, most_text=most_text, drops_repeats=drops_repeats
        )
        self._clock = clock
        self._scopes = frozenset(scopes)
        self._history_lag = history_lag
        self._calls: list[str] = []
        self._server = LoopbackServer(self._answer, name="demo-slack", port=port)
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "chat.postMessage": self._post,
            "conversations.list": self._list_channels,
            "conversations.info": lambda form: {
                "channel": _show_channel(self._find_readable(form, "channels:read"))
            },
            "conversations.join": lambda form: {"channel": _show_channel(self._join(form))},
            "conversations.history": self._read_history,
            "conversations.replies": self._read_replies,
            "auth.test": lambda _: {
                "team": "Demo",
                "team_id": TEAM,
                "user": "digest",
                "user_id": BOT_USER,
                "bot_id": BOT,
                "url": "https://demo.slack.example/",
            },
        }

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.__exit__()

    @property
    def url(self) -> str:
        """The Web API, ending in a slash as `slack_sdk` wants it."""
        return f"{self._server.url}/api/"

    @property
    def webhook_url(self) -> str:
        """An incoming webhook for the first channel."""
        return f"{self._server.url}{WEBHOOK_PATH}"

    @property
    def messages(self) -> tuple[SlackMessage, ...]:
        """What was stored, oldest first."""
        return self.workspace.list_messages()

    @property
    def calls(self) -> tuple[str, ...]:
        """The methods called, in order, whatever became of them; `webhook` for the webhook."""
        return tuple(self._calls)

    def _answer(self, request: Request) -> Answer:
        method = request.path.removeprefix("/api/") if request.path != WEBHOOK_PATH else "webhook"
        self._calls.append(method)
        fault = self.faults.take(request.path)
        if fault is not None and fault.kind in BEFORE:
            return spoil_answer(fault, is_webhook=method == "webhook")
        answer = (
            self._answer_webhook(request)
            if method == "webhook"
            else self._answer_method(method, request)
        )
        return answer if fault is None else spoil_answer(fault, is_webhook=method == "webhook")

    def _answer_method(self, method: str, request: Request) -> Answer:
        try:
            self._check_access(method, request.headers.get("authorization", ""))
            result = self._methods[method](_read_form(request))
        except SlackRefusal as refusal:
            return answer_json({"ok": False, "error": refusal.error, **refusal.details})
        except SlackRateLimited as limited:
            return limit_rate(str(limited.retry_after), is_webhook=False)
        granted = ",".join(sorted(filter(None, self._scopes)))
        return answer_json({"ok": True, **result}, headers=(("X-OAuth-Scopes", granted),))

    def _check_access(self, method: str, authorization: str) -> None:
        if method not in SCOPES:
            raise SlackRefusal("unknown_method", req_method=method)
        if not authorization:
            raise SlackRefusal("not_authed")
        if authorization != f"Bearer {self.token}":
            raise SlackRefusal("invalid_auth")
        if self.trouble:
            raise SlackRefusal(self.trouble)
        needed = SCOPES[method]
        if (
            PRIVATE_SCOPES.get(needed) not in self._scopes
        ):  # which of both it is, the channel decides
            self._require(needed)

    def _require(self, scope: str) -> None:
        if scope and scope not in self._scopes:
            provided = ",".join(sorted(filter(None, self._scopes)))
            raise SlackRefusal("missing_scope", needed=scope, provided=provided)

    def _answer_webhook(self, request: Request) -> Answer:
        first = next(iter(self.workspace.channels))
        try:
            self.workspace.post({**request.json(), "channel": first})
        except (ValueError, TypeError):
            return Answer(b"invalid_payload", 400)
        except SlackRefusal as refusal:
            words = _WEBHOOK_WORDS.get(refusal.error, refusal.error)
            return Answer(words.encode(), _WEBHOOK_STATUS.get(refusal.error, 400))
        except SlackRateLimited as limited:
            return limit_rate(str(limited.retry_after), is_webhook=True)
        return Answer(b"ok")

    def _post(self, form: dict[str, Any]) -> dict[str, Any]:
        message, is_repeated = self.workspace.post(form)
        shown = message.show(with_metadata=True)
        result: dict[str, Any] = {"channel": message.channel, "ts": message.ts, "message": shown}
        if is_repeated:
            result["is_duplicate"] = True
        if len(str(form.get("text") or "")) > TEXT_LIMIT:
            result["warning"] = "message_truncated"
            result["response_metadata"] = {"warnings": ["message_truncated"]}
        return result

    def _find_channel(self, form: Mapping[str, Any]) -> SlackChannel:
        channel = self.workspace.channels.get(str(form.get("channel") or ""))
        if channel is None or (channel.is_private and not channel.is_member):
            raise SlackRefusal("channel_not_found")
        return channel

    def _find_readable(self, form: Mapping[str, Any], scope: str) -> SlackChannel:
        """Return a channel of which the token may read what a scope is for."""
        channel = self._find_channel(form)
        self._require(PRIVATE_SCOPES[scope] if channel.is_private else scope)
        return channel

    def _join(self, form: Mapping[str, Any]) -> SlackChannel:
        return self.workspace.join(self._find_channel(form))

    def _list_channels(self, form: Mapping[str, Any]) -> dict[str, Any]:
        kinds = str(form.get("types") or "public_channel").split(",")
        for kind, scope in (
            ("public_channel", "channels:read"),
            ("private_channel", "groups:read"),
        ):
            self._require(scope if kind in kinds else "")
        wants_archived = not _is_true(form.get("exclude_archived"))
        listed = []
        for channel in self.workspace.channels.values():
            kind = "private_channel" if channel.is_private else "public_channel"
            is_visible = channel.is_member or not channel.is_private
            if channel.is_archived and not wants_archived:
                continue
            if kind in kinds and is_visible:
                listed.append(_show_channel(channel))
        page, cursor = _cut_page(listed, form)
        return {"channels": page, "response_metadata": {"next_cursor": cursor}}

    def _read_history(self, form: Mapping[str, Any]) -> dict[str, Any]:
        channel = self._find_readable(form, "channels:history")
        if not channel.is_member:
            raise SlackRefusal("not_in_channel")
        found = [m for m in self._list_visible(form) if m.channel == channel.id and not m.thread_ts]
        return self._show_page(found[::-1], form)

    def _read_replies(self, form: Mapping[str, Any]) -> dict[str, Any]:
        channel = self._find_readable(form, "channels:history")
        ts = str(form.get("ts") or "")
        thread = self.workspace.find_messages(channel.id, ts)
        if not thread:
            raise SlackRefusal("thread_not_found")
        visible = self._list_visible({**form, "inclusive": "true"})
        shown = [message for message in thread if message.ts == ts or message in visible]
        return self._show_page(shown, form)

    def _list_visible(self, form: Mapping[str, Any]) -> list[SlackMessage]:
        oldest = _read_ts(form, "oldest", 0)
        latest = _read_ts(form, "latest", math.inf)
        bounds = (oldest, latest) if _is_true(form.get("inclusive")) else ()
        ripe = self._clock.now().timestamp() - self._history_lag
        visible = []
        for message in self.messages:
            ts = float(message.ts)
            is_asked_for = oldest < ts < latest or ts in bounds
            if is_asked_for and message.posted_at.timestamp() <= ripe:
                visible.append(message)
        return visible

    def _show_page(
        self, messages: Sequence[SlackMessage], form: Mapping[str, Any]
    ) -> dict[str, Any]:
        shows_all = _is_true(form.get("include_all_metadata"))
        page, cursor = _cut_page([m.show(with_metadata=shows_all) for m in messages], form)
        return {
            "messages": page,
            "has_more": bool(cursor),
            "response_metadata": {"next_cursor": cursor},
        }


def _open_channel(name: str) -> SlackChannel:
    return SlackChannel(f"C000{re.sub('[^A-Z0-9]', '', name.upper())}", name)


def _read_form(request: Request) -> dict[str, Any]:
    if request.body and request.headers.get("content-type", "").startswith("application/json"):
        try:
            return request.json()
        except (ValueError, TypeError):
            raise SlackRefusal("invalid_json") from None
    body = request.body.decode("utf-8", "replace")
    form: dict[str, Any] = dict(parse_qsl(body)) | dict(request.params)
    for name in ("blocks", "metadata"):
        if name in form:
            try:
                form[name] = json.loads(form[name])
            except ValueError:
                raise SlackRefusal(f"invalid_{name}_format") from None
    return form


def _is_true(value: object) -> bool:
    return str(value).lower() in ("true", "1")


def _cut_page(
    rows: Sequence[dict[str, Any]], form: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], str]:
    start = int(form.get("cursor") or 0)
    limit = int(form.get("limit") or 100)
    end = start + limit
    cursor = str(end) if len(rows) > end else ""
    return list(rows[start:end]), cursor


def _read_ts(form: Mapping[str, Any], name: str, default: float) -> float:
    try:
        return float(form.get(name) or default)
    except ValueError:
        raise SlackRefusal(f"invalid_ts_{name}") from None


def _show_channel(channel: SlackChannel) -> dict[str, Any]:
    return {
        "id": channel.id,
        "name": channel.name,
        "is_channel": not channel.is_private,
        "is_private": channel.is_private,
        "is_archived": channel.is_archived,
        "is_member": channel.is_member,
    }
