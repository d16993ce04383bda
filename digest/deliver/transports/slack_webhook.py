"""Posts to one of Slack's incoming webhooks: one secret URL per channel.

Slack answers `ok` and nothing else: the message gets no id, can't be searched for, and a repeat is not noticed. So
a message whose answer was lost waits for a person. The Web API (`slack:#…`) knows more.
"""

from __future__ import annotations

from http import HTTPStatus

from digest.deliver.transports.http import CLIENT_ERRORS, HookPoster, classify_status
from digest.deliver.transports.slack import TOO_LARGE, WRONG_MESSAGE, is_our_fault
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.wire import HttpAnswer

_WHO = "the Slack webhook"

_WEBHOOK_GONE = "Make a new incoming webhook for the channel, and replace the old URL with its URL."
_REFUSALS = {
    **dict.fromkeys(
        ("invalid_token", "no_service", "no_service_id", "no_active_hooks", "no_team"),
        _WEBHOOK_GONE,
    ),
    "team_disabled": "The workspace is switched off: ask its administrators.",
    "channel_not_found": _WEBHOOK_GONE,
    "channel_is_archived": "Unarchive the channel, or make a webhook for another.",
    "user_not_found": _WEBHOOK_GONE,
    "action_prohibited": "The workspace's administrators forbid posting there: ask them.",
    "posting_to_general_channel_denied": "The workspace's administrators forbid posting there: ask them.",
}


class WebhookTransport(HookPoster[str]):
    """Posts to incoming webhooks, known by the names the configuration gives them."""

    what = "Slack webhook called {!r}"

    def send(
        self, message: Message, destination: Destination, is_ours: IsOurs = always_ours
    ) -> Receipt:
        """Post the message's bytes, in exactly one request; the receipt carries no id."""
        answer = self._post(_WHO, self._hook_of(destination), message.body, is_ours)
        if answer.status == HTTPStatus.OK and answer.text == "ok":
            return Receipt("", answer.text)
        raise _classify(answer)


def _classify(answer: HttpAnswer) -> DeliveryError:
    code = answer.text if answer.text.replace("_", "").isalnum() else ""
    if answer.status in CLIENT_ERRORS and (
        code in _REFUSALS or code in TOO_LARGE or is_our_fault(code)
    ):
        return DeliveryError(
            f"{_WHO} answered {code}",
            permanent=True,
            too_large=code in TOO_LARGE,
            refusal=Refusal.PLACE if code in _REFUSALS else Refusal.CONTENT,
            hint=_REFUSALS.get(code, "" if code in TOO_LARGE else WRONG_MESSAGE),
        )
    # Words that are none of Slack's are another's: a proxy's on the way, which may refuse all there is.
    return classify_status(
        _WHO,
        answer.status,
        answer.retry_after,
        is_post=True,
        refusal=Refusal.PLACE,
    )
