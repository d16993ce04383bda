"""Posts to a channel of Discord by its webhook: one secret URL for each channel.

Asked to wait, Discord answers with the message it stored, and its id
(https://discord.com/developers/docs/resources/webhook#execute-webhook). It has no search for what a
webhook posted and no key by which it would notice a repeat. So a message whose answer was lost
waits for a person.
"""

from __future__ import annotations

import json
from http import HTTPStatus

from digest.deliver.transports.http import CLIENT_ERRORS, WRONG_CONTENT, HookPoster, classify_status
from digest.model.destinations import LONGEST_POST, Destination
from digest.model.errors import Refusal
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying
from digest.wire import HttpAnswer

_WHO = "Discord"
_MOST_TEXT = 200
"""Characters of an answer's body that a refusal quotes."""

_WEBHOOK_GONE = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


class DiscordTransport(HookPoster[str]):
    """Posts to Discord's webhooks, known by the names the configuration gives them."""

    name_in_errors = "Discord webhook called {!r}"

    def send(
        self, message: Message, destination: Destination, is_ours: IsOurs = always_ours
    ) -> Receipt:
        """Post the message's text, in exactly one request.

        Nobody is notified by a name that is in it.
        """
        hook = self._hook_of(destination)  # with a query, if it names a thread
        url = f"{hook}{'&' if '?' in hook else '?'}wait=true"
        content = {
            "content": message.body.decode()[:LONGEST_POST],
            "allowed_mentions": {"parse": []},
        }
        answer = self._post(_WHO, url, json.dumps(content, ensure_ascii=False).encode(), is_ours)
        if answer.status in (HTTPStatus.OK, HTTPStatus.NO_CONTENT):
            return Receipt(_read_id(answer.text), f"HTTP {answer.status}")
        refusal = Refusal.CONTENT if answer.status in WRONG_CONTENT else Refusal.PLACE
        failure = classify_status(
            _WHO,
            answer.status,
            answer.retry_after,
            is_post=True,
            refusal=refusal,
        )
        if answer.status in CLIENT_ERRORS and failure.permanent:
            failure.whole_transport = False
            failure.advice = _advise(answer)
        raise failure


def _advise(answer: HttpAnswer) -> Said:
    """Say what to do about a refusal."""
    if answer.status in _WEBHOOK_GONE:
        return Said.of(Saying.DISCORD_HOOK_GONE)
    said = answer.text[:_MOST_TEXT]
    return Said.of(Saying.DISCORD_SAYS, said) if said else Said.of(Saying.DISCORD_SAYS_NOTHING)


def _read_id(text: str) -> str:
    """Return the id of the stored message, "" if the answer has none."""
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(stored.get("id", "")) if isinstance(stored, dict) else ""
