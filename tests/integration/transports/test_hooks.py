"""Slack's, Discord's and signed webhooks over real connections.

What is posted, and what each answer means.
"""

from __future__ import annotations

import json
from datetime import timedelta
from importlib import import_module

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from digest.config.settings import INCOMING
from digest.config.values import write_signing_key
from digest.deliver.transports.registry import TRANSPORTS
from digest.deliver.transports.webhook import SignedWebhookTransport
from digest.model.clock import SystemClock
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError, Refusal
from digest.model.messages import Message, Receipt, Transport
from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request

SLACK = DestinationKind.SLACK_WEBHOOK
DISCORD = DestinationKind.DISCORD
SIGNED = DestinationKind.WEBHOOK
KINDS = (*INCOMING, SIGNED)
EACH = pytest.mark.parametrize("kind", KINDS, ids=str)
MESSAGE = Message(
    "application/json",
    '{"text":"Pınar’s nine papers @everyone"}'.encode(),
    "5a1d0b0e-93a4-4a35-8c39",
)
KEY = bytes(range(32))
NOBODY = "http://127.0.0.1:1"


def construct(kind: DestinationKind, url: str, age: timedelta = timedelta(0)) -> Transport:
    if kind is SIGNED:
        return SignedWebhookTransport(
            hooks={"team": (url, KEY)}, now=lambda: SystemClock().now() - age
        )
    module, _, name = TRANSPORTS[kind].path.partition(":")
    made: Transport = getattr(import_module(module), name)(hooks={"team": url})
    return made


def send(
    kind: DestinationKind, answer: Answer, age: timedelta = timedelta(0)
) -> tuple[Receipt, Request]:
    with LoopbackServer(answer) as server:
        transport = construct(kind, f"{server.url}/secret-path", age)
        receipt = transport.send(MESSAGE, Destination(kind, "team"))
    (visit,) = server.visits
    return receipt, visit


def fail(kind: DestinationKind, answer: Answer | None) -> DeliveryError:
    """Let the other side answer so, or let nobody be there."""
    with LoopbackServer(answer or Answer()) as server:
        transport = construct(kind, f"{server.url if answer else NOBODY}/secret-path")
        with pytest.raises(DeliveryError) as caught:
            transport.send(MESSAGE, Destination(kind, "team"))
    assert len(server.visits) == (answer is not None), "whatever happens"
    assert "secret-path" not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


def test_slacks_webhook_takes_the_bytes_as_they_are_and_gives_no_id() -> None:
    receipt, visit = send(SLACK, Answer(b"ok"))
    assert (visit.body, visit.headers["content-type"]) == (MESSAGE.body, "application/json")
    assert (receipt.remote_id, receipt.detail) == ("", "ok")


def test_discord_gets_text_that_notifies_nobody_and_the_id_of_its_message_is_kept() -> None:
    receipt, visit = send(DISCORD, Answer(b'{"id": "1234", "content": "x"}'))
    assert visit.params == (("wait", "true"),)
    posted = json.loads(visit.body)
    assert posted == {"content": MESSAGE.body.decode(), "allowed_mentions": {"parse": []}}
    assert receipt.remote_id == "1234"


@pytest.mark.parametrize(
    ("query", "params"),
    [
        ("?thread_id=7", {"thread_id": "7", "wait": "true"}),
        ("?thread_id=7&wait=true", {"thread_id": "7", "wait": "true"}),
        ("", {"wait": "true"}),
    ],
)
def test_discords_address_may_name_a_thread(query: str, params: dict[str, str]) -> None:
    with LoopbackServer(Answer(b'{"id": "1"}')) as server:
        transport = construct(DISCORD, f"{server.url}/secret{query}")
        transport.send(MESSAGE, Destination(DISCORD, "team"))
    (visit,) = server.visits
    assert (visit.path, dict(visit.params)) == ("/secret", params)


def test_a_signed_webhook_is_asked_with_the_query_and_the_slash_of_its_address() -> None:
    with LoopbackServer(Answer()) as server:
        construct(SIGNED, f"{server.url}/hook/?team=a&team=b").send(
            MESSAGE, Destination(SIGNED, "team")
        )
    (visit,) = server.visits
    assert visit.path == "/hook/"
    assert visit.params == (("team", "a"), ("team", "b"))


@pytest.mark.parametrize("body", [b"", b"[]", b"no json"])
def test_discords_answer_without_an_id_is_taken_all_the_same(body: bytes) -> None:
    assert send(DISCORD, Answer(body))[0].remote_id == ""


def test_what_is_signed_is_the_bytes_that_arrive_so_that_any_receiver_can_tell() -> None:
    receipt, visit = send(SIGNED, Answer(status=204))
    assert receipt.detail == "HTTP 204"
    assert (visit.method, visit.body) == ("POST", MESSAGE.body)
    assert (
        visit.headers["webhook-id"] == visit.headers["idempotency-key"] == MESSAGE.idempotency_key
    )
    reader = Webhook(write_signing_key(KEY))
    assert reader.verify(visit.body, visit.headers) == json.loads(MESSAGE.body)
    with pytest.raises(WebhookVerificationError):
        reader.verify(visit.body + b" ", visit.headers)
    with_other_key = Webhook(write_signing_key(KEY[::-1]))
    with pytest.raises(WebhookVerificationError):
        with_other_key.verify(visit.body, visit.headers)


def test_an_attempt_is_signed_with_its_own_time_so_that_an_old_one_cannot_be_played_again() -> None:
    _, visit = send(SIGNED, Answer(), age=timedelta(hours=1))
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(write_signing_key(KEY)).verify(visit.body, visit.headers)


NEW_HOOK = "Make a new incoming webhook"
ASK = "forbid posting there: ask them"


@pytest.mark.parametrize(
    ("kind", "status", "said", "hint"),
    [
        (SLACK, 400, "user_not_found", NEW_HOOK),
        (SLACK, 403, "action_prohibited", ASK),
        (SLACK, 403, "invalid_token", NEW_HOOK),
        (SLACK, 403, "posting_to_general_channel_denied", ASK),
        *(
            (SLACK, 404, said, NEW_HOOK)
            for said in ("channel_not_found", "no_service", "no_active_hooks", "no_team")
        ),
        (SLACK, 404, "team_disabled", "ask its administrators"),
        (SLACK, 410, "channel_is_archived", "Unarchive the channel"),
        *(
            (SLACK, 400, said, "template")
            for said in ("invalid_payload", "invalid_blocks", "no_text")
        ),
        (SLACK, 400, "too_many_attachments", "template"),
        *((DISCORD, status, "Unknown Webhook", "Make a new webhook") for status in (401, 403, 404)),
        (DISCORD, 400, "Invalid Form Body", "Invalid Form Body"),
        *(
            (SIGNED, status, "no such list", "no such list")
            for status in (400, 401, 404, 410, 413, 422)
        ),
    ],
)
def test_a_refusal_is_for_good_concerns_one_hook_and_says_what_to_do(
    kind: DestinationKind, status: int, said: str, hint: str
) -> None:
    failure = fail(kind, Answer(said.encode(), status))
    assert failure.permanent
    assert not failure.ambiguous
    assert not failure.whole_transport
    is_of_content = "template" in hint if kind is SLACK else status in (400, 413, 422)
    assert failure.refusal is (Refusal.CONTENT if is_of_content else Refusal.PLACE)
    assert (said if kind is SLACK else str(status)) in failure.message
    assert hint in failure.hint


@pytest.mark.parametrize("status", [400, 404, 407, 413])
def test_a_refusal_in_words_that_are_not_slacks_waits_for_the_operator(status: int) -> None:
    failure = fail(SLACK, Answer(b"<html>nginx</html>", status))
    assert (failure.permanent, failure.refusal) == (True, Refusal.PLACE)
    assert "<html" not in failure.message


@pytest.mark.parametrize(
    ("kind", "answer", "is_ambiguous"),
    [
        *((kind, Answer(b"<html>", 500), True) for kind in KINDS),
        *((kind, Answer(b"", 503), True) for kind in KINDS),
        *((kind, Answer(b"", 408), True) for kind in KINDS),
        *((kind, Answer(ending=Ending.DROP), True) for kind in KINDS),
        (SLACK, Answer(b"<html>welcome to the hotel</html>"), True),
        *((kind, None, False) for kind in KINDS),
        *((SIGNED, Answer(b"", status), False) for status in (423, 425)),
    ],
)  # fmt: skip
def test_what_is_lost_may_have_been_taken_and_what_is_put_off_was_not(
    kind: DestinationKind, answer: Answer | None, *, is_ambiguous: bool
) -> None:
    failure = fail(kind, answer)
    assert (failure.permanent, failure.ambiguous) == (False, is_ambiguous)


def test_a_wish_to_wait_is_kept() -> None:
    failure = fail(DISCORD, Answer(b'{"retry_after": 7.5}', 429, headers=(("Retry-After", "8"),)))
    assert (failure.permanent, failure.ambiguous, failure.retry_after) == (False, False, 8.0)


@EACH
def test_a_hook_that_is_not_configured_is_named_and_held_until_the_operator_mended_it(
    kind: DestinationKind,
) -> None:
    transport = construct(kind, NOBODY)
    other = Destination(kind, "other")
    for act in (lambda: transport.resolve(other), lambda: transport.send(MESSAGE, other)):
        with pytest.raises(DeliveryError, match=r"there is no .*'other'") as caught:
            act()
        assert (caught.value.permanent, caught.value.refusal) == (True, Refusal.PLACE)
        assert "digest doctor --quick" in caught.value.hint
