"""Posts to one of Slack's incoming webhooks: one secret URL per channel.

Its promise is weaker than the Web API's. Slack answers `ok` and nothing else: the message gets no id,
can't be searched for, and carries no key by which a repeat would be noticed. When the answer is lost the
message may or may not be in the channel, for good; the caller's policy either holds it (it may be
missing) or sends it again (it may be there twice). Where that matters, use the Web API (`slack:#…`).
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from digest.deliver.transports.http import CLIENT_ERRORS, TIMEOUT, HttpAnswer, HttpSender, judge_status
from digest.deliver.transports.registry import always_ours
from digest.deliver.transports.slack import TOO_LARGE, is_our_fault
from digest.model.errors import DeliveryError
from digest.model.messages import Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from digest.model.messages import Message
    from digest.model.subscriptions import Destination

_MOST_TEXT = 4096
_WHO = "the Slack webhook"

_GONE = "Make a new incoming webhook for the channel, and replace the old URL with its URL."
_REFUSALS = {
    "invalid_token": _GONE,
    "no_service": _GONE,
    "no_service_id": _GONE,
    "no_active_hooks": _GONE,
    "no_team": _GONE,
    "team_disabled": "The workspace is switched off: ask its administrators.",
    "channel_not_found": _GONE,
    "channel_is_archived": "Unarchive the channel, or make a webhook for another.",
    "user_not_found": _GONE,
    "action_prohibited": "The workspace's administrators forbid posting there: ask them.",
    "posting_to_general_channel_denied": "The workspace's administrators forbid posting there: ask them.",
}


class WebhookTransport:
    """Posts to incoming webhooks, known by the names the configuration gives them.

    Args:
        urls: name → URL. The URLs are secrets: they appear in no message and no log.
        timeout: seconds for connecting and for each read.
    """

    def __init__(self, *, urls: Mapping[str, str], timeout: float = TIMEOUT) -> None:
        self._urls = dict(urls)
        self._sender = HttpSender(timeout)

    def resolve(self, destination: Destination) -> str:
        """Return "": the URL itself says where messages go, and is a secret.

        Raises:
            DeliveryError: no webhook of that name is configured.
        """
        self._url_of(destination)
        return ""

    def send(
        self, message: Message, destination: Destination, is_ours: Callable[[], bool] = always_ours
    ) -> Receipt:
        """Post the message's bytes, in exactly one request; the receipt carries no id.

        Raises:
            DeliveryError: it was not stored, or (`ambiguous`) the answer does not say.
        """
        url, headers = self._url_of(destination), {"Content-Type": "application/json"}
        answer = self._sender.post(_WHO, url, message.body, headers, most=_MOST_TEXT, is_ours=is_ours)
        text = answer.text("text")
        if answer.status == HTTPStatus.OK and text == "ok":
            return Receipt("", text)
        raise _judge(answer, text)

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:  # noqa: ARG002 - every transport is asked alike
        """Never tells: a webhook only takes.

        Raises:
            DeliveryError: always, permanent.
        """
        raise DeliveryError(
            "a webhook can't be asked which messages it took",
            permanent=True,
            hint="Check the channel, then retry the delivery or mark it as sent.",
        )

    def close(self) -> None:
        """Break off what waits for an answer; each request has a connection of its own."""
        self._sender.hang_up()

    def _url_of(self, destination: Destination) -> str:
        url = self._urls.get(destination.address)
        if url is None:
            known = ", ".join(sorted(self._urls)) or "none"
            raise DeliveryError(
                f"there is no Slack webhook called {destination.address!r}",
                permanent=True,
                whole_transport=True,  # the operator's to correct: it is held until then, not given up
                hint=f"Its URL is missing: `digest doctor --quick` names the variable for it. Webhooks that are "
                f"configured: {known}.",
            )
        return url


def _judge(answer: HttpAnswer, text: str) -> DeliveryError:
    code = text if text.replace("_", "").isalnum() else ""
    if answer.status in CLIENT_ERRORS and code in _REFUSALS:
        return DeliveryError(f"{_WHO} answered {code}", permanent=True, hint=_REFUSALS[code])
    if answer.status in CLIENT_ERRORS and code in TOO_LARGE:
        return DeliveryError(f"{_WHO} answered {code}", permanent=True, too_large=True)
    if answer.status in CLIENT_ERRORS and is_our_fault(code):
        return DeliveryError(
            f"{_WHO} does not understand the message: {code}",
            permanent=True,
            hint="The message itself is wrong: check changed Slack templates, or report it as a fault in Digest.",
        )
    # Words that are none of Slack's are another's: a proxy's on the way, which may refuse all there is.
    return judge_status(_WHO, answer, is_post=True)
