"""One request to Slack at a time, sent once: no silent retries, no redirects, no bodies in logs.

slack_sdk's own transport would post again when the connection drops after Slack stored the message,
carry the token along to another host when redirected, and send it through a proxy from the environment
even to this machine. `SlackClient` replaces that one step and keeps the rest.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from digest.errors import DeliveryError
from digest.transports.fence import always_ours
from digest.transports.http import Answer, HttpSender
from digest.transports.slack_errors import judge_answer

if TYPE_CHECKING:
    import urllib.request
    from collections.abc import Callable, Mapping

_LARGEST_ANSWER = 8 * 1024 * 1024
_UNREADABLE = (ValueError, LookupError, RecursionError, AttributeError)
"""What reading an answer may end in that makes no sense: slack_sdk expects every one to be an object of JSON."""

_LOGGER = logging.getLogger("slack_sdk.digest")


class SlackClient(WebClient):
    """slack_sdk's client with a transport of ours.

    Args:
        token: a bot token (`xoxb-…`).
        url: base of the Web API, ending in `/api/`.
        timeout: seconds for connecting and for each read.
    """

    def __init__(self, *, token: str, url: str, timeout: float) -> None:
        # At DEBUG the library writes whole bodies to its log; nothing may lower this logger's level.
        _LOGGER.setLevel(logging.INFO)
        super().__init__(token=token, base_url=url, retry_handlers=[], logger=_LOGGER)
        self._own = threading.local()  # several threads post at once
        self._sender = HttpSender(timeout)

    def hang_up(self) -> None:
        """Break off what waits for an answer, from another thread."""
        self._sender.hang_up()

    def call(
        self,
        method: str,
        *,
        form: Mapping[str, str] | None = None,
        json: dict[str, Any] | None = None,
        is_ours: Callable[[], bool] = always_ours,
    ) -> Answer:
        """Make one request and return the answer Slack called ok.

        Args:
            method: such as `chat.postMessage`.
            form: arguments of a method that reads; nothing is lost by asking again.
            json: arguments of a method that posts: failures then say whether it may have happened.
            is_ours: asked right before the request goes out.

        Raises:
            DeliveryError: Slack refused, did not answer, or answered unreadably.
        """
        is_post = json is not None
        self._own.is_ours, self._own.is_post = is_ours, is_post
        try:
            response = self.api_call(method, data=dict(form) if form is not None else None, json=json)
        except SlackApiError as error:
            reply = error.response
            raise judge_answer(
                method, Answer(reply.status_code, reply.headers, reply.data), is_post=is_post
            ) from None
        except _UNREADABLE as error:
            raise DeliveryError(f"Slack's answer can't be read: {error}", ambiguous=is_post) from error
        return Answer(response.status_code, response.headers, response.data)

    def _perform_urllib_http_request_internal(self, url: str, req: urllib.request.Request) -> dict[str, Any]:
        body = req.data if isinstance(req.data, bytes) else b""
        reply = self._sender.post(
            "Slack",
            url,
            body,
            dict(req.header_items()),
            most=_LARGEST_ANSWER,
            is_ours=self._own.is_ours,
            is_change=self._own.is_post,
        )
        return {"status": reply.status, "headers": reply.headers, "body": reply.text("text")}
