"""Posts to one of Slack's incoming webhooks: one secret URL per channel.

Slack answers `ok` and nothing else: the message gets no id, can't be searched for, and a repeat is
not noticed. So a message whose answer was lost waits for a person. The Web API (`slack:#…`) knows
more.
"""

from __future__ import annotations

from http import HTTPStatus

from digest.deliver.transports.http import CLIENT_ERRORS, HookPoster, classify_status
from digest.deliver.transports.slack import TOO_LARGE, is_our_fault
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying
from digest.wire import HttpAnswer

_WHO = "the Slack webhook"

_REFUSALS = {
    "invalid_token": Saying.SLACK_HOOK_GONE,
    "no_service": Saying.SLACK_HOOK_GONE,
    "no_service_id": Saying.SLACK_HOOK_GONE,
    "no_active_hooks": Saying.SLACK_HOOK_GONE,
    "no_team": Saying.SLACK_HOOK_GONE,
    "team_disabled": Saying.TEAM_DISABLED,
    "channel_not_found": Saying.SLACK_HOOK_GONE,
    "channel_is_archived": Saying.ANOTHER_HOOK,
    "user_not_found": Saying.SLACK_HOOK_GONE,
    "action_prohibited": Saying.POSTING_FORBIDDEN,
    "posting_to_general_channel_denied": Saying.POSTING_FORBIDDEN,
}
"""What to do about each refusal of all that comes to a webhook."""


class WebhookTransport(HookPoster[str]):
    """Posts to incoming webhooks, known by the names the configuration gives them."""

    name_in_errors = "Slack webhook called {!r}"

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
    is_of_place = code in _REFUSALS
    is_too_large = code in TOO_LARGE
    if answer.status in CLIENT_ERRORS and (is_of_place or is_too_large or is_our_fault(code)):
        otherwise = Saying.NOTHING if is_too_large else Saying.WRONG_MESSAGE
        return DeliveryError(
            Said.of(Saying.HOOK_ANSWERED, _WHO, code),
            permanent=True,
            too_large=is_too_large,
            refusal=Refusal.PLACE if is_of_place else Refusal.CONTENT,
            hint=Said.of(_REFUSALS.get(code, otherwise)),
            answer=code,
        )
    # Words that are none of Slack's are another's, such as a proxy's: it may refuse all there is.
    return classify_status(
        _WHO,
        answer.status,
        answer.retry_after,
        is_post=True,
        refusal=Refusal.PLACE,
    )
