"""Posts signed JSON to other programs, as https://www.standardwebhooks.com has it.

Each request carries `webhook-id` (the same for every attempt: by it a receiver knows repetitions),
`webhook-timestamp` (of this attempt, so that an old request can't be played again) and
`webhook-signature`. Any 2xx means that it was taken. Redirects are not followed.
"""

from __future__ import annotations

from http import HTTPStatus

from digest.deliver.transports.http import CLIENT_ERRORS, WRONG_CONTENT, HookPoster, classify_status
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying
from digest.model.secrets import sign_webhook
from digest.wire import HttpAnswer

_TAKEN = range(200, 300)
"""What a webhook answers to a message that it took."""

_MOST_TEXT = 300
"""Characters of an answer's body that a refusal quotes."""

_LATER = (HTTPStatus.LOCKED, HTTPStatus.TOO_EARLY)
"""Refusals that a later attempt may not meet (RFC 4918 §11.3, RFC 8470 §5.2).

`classify_status` knows two more: 408 and 429.
"""


class SignedWebhookTransport(HookPoster[tuple[str, bytes]]):
    """Posts to webhooks, known by the names the configuration gives them.

    Each has an address and a key.
    """

    name_in_errors = "webhook {!r} with url and secret"

    def send(
        self, message: Message, destination: Destination, is_ours: IsOurs = always_ours
    ) -> Receipt:
        """Post the message's bytes, signed, in exactly one request."""
        url, key = self._hook_of(destination)
        moment = int(self._now().timestamp())
        headers = {
            "webhook-id": message.idempotency_key,
            "webhook-timestamp": str(moment),
            "webhook-signature": sign_webhook(key, message.idempotency_key, moment, message.body),
            "Idempotency-Key": message.idempotency_key,
        }
        who = f"webhook {destination.address}"
        try:
            answer = self._post(who, url, message.body, is_ours, headers=headers, unread=_TAKEN)
            if answer.status not in _TAKEN:
                raise _classify_refusal(who, answer)
        except DeliveryError as failure:
            failure.whole_transport = False  # each webhook is an address of its own
            raise
        return Receipt("", f"HTTP {answer.status}")


def _classify_refusal(who: str, answer: HttpAnswer) -> DeliveryError:
    """Turn the answer to a message that was not taken into an error, with what the answer says."""
    refusal = Refusal.CONTENT if answer.status in WRONG_CONTENT else Refusal.PLACE
    failure = classify_status(
        who,
        answer.status,
        answer.retry_after,
        is_post=True,
        refusal=refusal,
    )
    if answer.status in _LATER:
        failure.permanent = False
    elif answer.status in CLIENT_ERRORS and failure.permanent:
        said = answer.text[:_MOST_TEXT]
        silence = Said.of(Saying.RECEIVER_SAYS_NOTHING)
        failure.advice = Said.of(Saying.RECEIVER_SAYS, said) if said else silence
    return failure
