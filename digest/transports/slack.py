"""Slack's Web API: `chat.postMessage`, with answers judged here and nothing sent twice by itself.

Scopes: `chat:write` to post; `channels:read` and `groups:read` to look channels up by name;
`channels:history` and `groups:history` to find out whether a post of unknown fate arrived.
"""

from __future__ import annotations

import json
import logging
import re
import threading
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from digest.clock import monotonic
from digest.errors import ConfigurationError, DeliveryError
from digest.messages import Receipt
from digest.transports.fence import always_ours
from digest.transports.http import TIMEOUT, is_loopback
from digest.transports.slack_client import SlackClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from digest.messages import Message
    from digest.subscriptions import Destination
    from digest.transports.http import Answer

SLACK_URL = "https://slack.com/api/"

_ID = re.compile(r"[CDGUW][A-Z0-9]{7,}", re.ASCII)
"""Channels, direct messages, old private channels, people."""

_PAGE = 999
"""The most that `conversations.list` gives at once."""

_HISTORY_PAGE = 100
_MOST_PAGES = 100
"""Pages read before a list counts as endless."""

_AROUND = timedelta(days=1)
"""So long before or after a post was begun it is looked for: a host's clock may be hours off, and a process may
have been paused. Its metadata tells it from others; what a channel heard before and since may be without end."""

_LISTED_FOR = 900.0
"""Seconds a list of channels is relied upon."""

_LOGGER = logging.getLogger(__name__)


class SlackTransport:
    """Posts messages to the channels of one workspace.

    Args:
        token: bot token (`xoxb-…`).
        url: base of the Web API; https, or this machine.
        timeout: seconds for connecting and for each read.
        now: seconds that pass.

    Raises:
        ConfigurationError: the token is missing or the URL cannot be used.
    """

    def __init__(
        self,
        *,
        token: str,
        url: str = SLACK_URL,
        timeout: float = TIMEOUT,
        now: Callable[[], float] = monotonic,
    ) -> None:
        if not token.strip() or not token.isprintable():
            raise ConfigurationError(
                "posting to Slack needs the app's bot token",
                hint="Set DIGEST_SLACK_TOKEN or DIGEST_SLACK_TOKEN_FILE (it starts with xoxb-).",
            )
        if urlsplit(url).scheme != "https" and not (urlsplit(url).scheme == "http" and is_loopback(url)):
            raise ConfigurationError(
                f"Slack's address must be https, not {url!r}: the token goes there",
                hint=f"Leave slack.url out for {SLACK_URL}.",
            )
        self._client = SlackClient(token=token, url=url, timeout=timeout)
        self._now = now
        self._channels: dict[str, str] = {}
        self._list_again_at = 0.0
        self._lock = threading.Lock()

    def resolve(self, destination: Destination) -> str:
        """Return the channel's id: ids pass through, names are looked up, and once in a while anew.

        A channel may be renamed, or be made anew under the same name: it has another id then.

        Raises:
            DeliveryError: no channel of that name can be seen, a scope is missing, or Slack did not answer.
        """
        if _ID.fullmatch(destination.address):
            return destination.address
        name = destination.address.removeprefix("#").casefold()
        with self._lock:
            if name not in self._channels or self._now() >= self._list_again_at:
                self._look_around(name)
            if name in self._channels:
                return self._channels[name]
        raise DeliveryError(
            f"there is no channel #{name} that the app can see",
            permanent=True,
            hint=f"Check the name. A private channel is seen after /invite @… with the app's name in #{name} and "
            "with the scope groups:read; or write the channel's id.",
        )

    def send(
        self, message: Message, destination: Destination, is_ours: Callable[[], bool] = always_ours
    ) -> Receipt:
        """Post the message's JSON as it is, in exactly one request.

        Raises:
            DeliveryError: it was not stored, or (`ambiguous`) the answer does not say.
        """
        try:
            answer = self._client.call("chat.postMessage", json=_read_call(message), is_ours=is_ours)
        except DeliveryError as error:
            if error.permanent and not error.too_large:
                self._list_again_at = 0.0  # the channel may be another by now
            raise
        warnings = _read_warnings(answer)
        if warnings:
            _LOGGER.warning("Slack took a message for %s and warns: %s", destination, ", ".join(warnings))
        if not answer.text("ts"):
            raise DeliveryError("Slack said ok, but named no message", ambiguous=True)
        is_repeat = answer.get("is_duplicate") is True
        detail = ", ".join(["was there already" if is_repeat else "posted", *warnings])
        return Receipt(answer.text("ts"), detail)

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:  # noqa: ARG002 - every transport is asked alike
        """Look through a channel or a thread, a day around, for a post with this message's metadata.

        Raises:
            DeliveryError: the history can't be read (a scope may be missing), has no end, or Slack did not answer.
        """
        call = _read_call(message)
        mark = _read_payload(call)
        if not mark:
            raise DeliveryError(
                "the post carries no metadata to find it by",
                permanent=True,
            )
        form = {
            "channel": str(call.get("channel", "")),
            "oldest": f"{(begun_at - _AROUND).timestamp():.6f}",
            "latest": f"{(begun_at + _AROUND).timestamp():.6f}",
            "inclusive": "true",
            "include_all_metadata": "true",
            "limit": str(_HISTORY_PAGE),
        }
        method = "conversations.history"
        if call.get("thread_ts"):
            method, form["ts"] = "conversations.replies", str(call["thread_ts"])
        for page in self._walk(method, form, is_hopeless=True):
            for post in page.objects("messages"):
                if mark.items() <= _read_payload(post).items():
                    return Receipt(str(post.get("ts", "")), "found in the channel's history")
        return None

    def close(self) -> None:
        """Break off what waits for an answer; each request has a connection of its own."""
        self._client.hang_up()

    def _look_around(self, name: str) -> None:
        """List the channels anew; where Slack does not tell them, a known one is what it was."""
        try:
            self._channels = self._list_channels()
        except DeliveryError:
            if name not in self._channels:
                raise
            self._list_again_at = self._now() + _LISTED_FOR / 10
        else:
            self._list_again_at = self._now() + _LISTED_FOR

    def _list_channels(self) -> dict[str, str]:
        try:
            return self._list_channels_of("public_channel,private_channel")
        except DeliveryError as error:
            if "missing_scope" not in error.message:
                raise
            # Without groups:read the public ones can still be listed; the hint of a miss names the scope.
            return self._list_channels_of("public_channel")

    def _list_channels_of(self, types: str) -> dict[str, str]:
        form = {"types": types, "exclude_archived": "true", "limit": str(_PAGE)}
        return {
            str(channel.get("name", "")).casefold(): str(channel["id"])
            for page in self._walk("conversations.list", form)
            for channel in page.objects("channels")
            if channel.get("id")
        }

    def _walk(self, method: str, form: dict[str, str], *, is_hopeless: bool = False) -> Iterator[Answer]:
        """Read page by page.

        Args:
            method: what lists.
            form: which.
            is_hopeless: a list without an end is not asked for again, since it will have none then either.
        """
        cursor = ""
        for _ in range(_MOST_PAGES):
            answer = self._client.call(method, form=form | ({"cursor": cursor} if cursor else {}))
            yield answer
            cursor = answer.text("response_metadata", "next_cursor")
            if not cursor:
                return
        raise DeliveryError(f"Slack's {method} does not end after {_MOST_PAGES} pages", permanent=is_hopeless)


def _read_call(message: Message) -> dict[str, object]:
    try:
        call = json.loads(message.body)
    except ValueError as error:
        raise DeliveryError(f"the message for Slack is no JSON: {error}", permanent=True) from error
    if not isinstance(call, dict):
        raise DeliveryError("the message for Slack is no JSON object", permanent=True)
    return call


def _read_payload(post: dict[str, object]) -> dict[str, object]:
    """Return the metadata a post carries; {} where there is none."""
    metadata = post.get("metadata")
    payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
    return payload if isinstance(payload, dict) else {}


def _read_warnings(answer: Answer) -> list[str]:
    listed = answer.get("response_metadata", "warnings")
    found = [str(warning) for warning in listed] if isinstance(listed, list) else []
    found += answer.text("warning").split(",") if answer.text("warning") else []
    return list(dict.fromkeys(found))
