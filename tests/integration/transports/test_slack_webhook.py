"""Slack incoming webhooks over real connections: `ok`, a refusal in words, or nothing."""

from __future__ import annotations

import pytest

from digest.deliver.transports.slack_webhook import WebhookTransport
from digest.model.errors import DeliveryError
from digest.model.messages import Message
from digest.model.subscriptions import Destination, DestinationKind
from tests.fakes.loopback import Answer, Ending, LoopbackServer

TEAM = Destination(DestinationKind.SLACK_WEBHOOK, "team")
MESSAGE = Message("application/json", '{"text": "Pınar’s nine papers"}'.encode(), "key-1")


def _fail(answer: Answer) -> DeliveryError:
    with LoopbackServer(answer) as server, pytest.raises(DeliveryError) as caught:
        WebhookTransport(hooks={"team": f"{server.url}/hook"}).send(MESSAGE, TEAM)
    assert len(server.visits) == 1, "whatever happens"
    return caught.value


def test_a_webhook_takes_the_bytes_as_they_are_and_gives_no_id() -> None:
    with LoopbackServer(Answer(b"ok")) as server:
        receipt = WebhookTransport(hooks={"team": f"{server.url}/hook"}).send(MESSAGE, TEAM)
    (visit,) = server.visits
    assert visit.body == MESSAGE.body
    assert visit.headers["content-type"] == "application/json"
    assert receipt.remote_id == ""
    assert receipt.detail == "ok"


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "user_not_found"),
        (403, "action_prohibited"),
        (403, "invalid_token"),
        (403, "posting_to_general_channel_denied"),
        (404, "channel_not_found"),
        (404, "no_service"),
        (404, "no_active_hooks"),
        (404, "no_team"),
        (404, "team_disabled"),
        (410, "channel_is_archived"),
    ],
)
def test_a_webhook_that_is_gone_or_forbidden_is_permanent_and_says_what_to_do(status: int, text: str) -> None:
    failure = _fail(Answer(text.encode(), status))
    assert failure.permanent
    assert not failure.ambiguous
    assert not failure.whole_transport
    assert text in failure.message
    assert failure.hint


@pytest.mark.parametrize("text", ["invalid_payload", "invalid_blocks", "no_text", "too_many_attachments"])
def test_a_message_slack_does_not_understand_is_permanent_and_our_own_fault(text: str) -> None:
    failure = _fail(Answer(text.encode(), 400))
    assert failure.permanent
    assert "template" in failure.hint


@pytest.mark.parametrize("status", [400, 404, 407, 413])
def test_a_refusal_in_words_that_are_not_slacks_waits_for_the_operator(status: int) -> None:
    failure = _fail(Answer(b"<html>nginx</html>", status))
    assert failure.permanent
    assert failure.whole_transport
    assert "<html" not in failure.message


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"rollup_error", 500),
        Answer(b"<html>", 503),
        Answer(b"<html>welcome to the hotel</html>", 200),
        Answer(b"", ending=Ending.DROP),
    ],
    ids=["500", "503", "portal", "drop"],
)
def test_an_answer_that_does_not_say_ok_or_no_is_ambiguous(answer: Answer) -> None:
    failure = _fail(answer)
    assert failure.ambiguous
    assert not failure.permanent


def test_nobody_listening_means_nothing_was_stored_and_the_url_stays_secret() -> None:
    with LoopbackServer(Answer()) as server:
        url = f"{server.url}/secret-path"
    with pytest.raises(DeliveryError) as caught:
        WebhookTransport(hooks={"team": url}).send(MESSAGE, TEAM)
    assert not caught.value.ambiguous
    assert not caught.value.permanent
    assert "secret-path" not in caught.value.message + caught.value.hint


def test_a_webhook_that_is_not_configured_is_named() -> None:
    transport = WebhookTransport(hooks={"team": "http://127.0.0.1:1/hook"})
    other = Destination(DestinationKind.SLACK_WEBHOOK, "other")
    for act in (lambda: transport.resolve(other), lambda: transport.send(MESSAGE, other)):
        with pytest.raises(DeliveryError, match="other") as caught:
            act()
        assert caught.value.permanent
        assert caught.value.whole_transport, "held until the operator mended it"
