"""Signed webhooks over real connections, read by the reference library of Standard Webhooks."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from digest.config.values import write_signing_key
from digest.deliver.transports.webhook import SignedWebhookTransport
from digest.model.clock import SystemClock
from digest.model.errors import DeliveryError
from digest.model.messages import Message, Receipt
from digest.model.subscriptions import Destination, DestinationKind
from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request

KEY = bytes(range(32))
LAB = Destination(DestinationKind.WEBHOOK, "lab")
MESSAGE = Message("application/json", '{"title":"Pınar’s nine papers"}'.encode(), "5a1d0b0e-93a4-4a35-8c39")


def send(answer: Answer, *, age: timedelta = timedelta(0)) -> tuple[Receipt, Request]:
    with LoopbackServer(answer) as server:
        hooks = {"lab": (f"{server.url}/hooks/digest?from=digest", KEY)}
        transport = SignedWebhookTransport(hooks=hooks, now=lambda: SystemClock().now() - age)
        return transport.send(MESSAGE, LAB), server.visits.pop()


def fail(answer: Answer) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        send(answer)
    assert "/hooks" not in f"{caught.value.message} {caught.value.hint}"
    assert not caught.value.whole_transport
    return caught.value


def test_what_arrives_is_the_bytes_signed_so_that_any_receiver_can_tell() -> None:
    receipt, visit = send(Answer(status=204))
    assert receipt.detail == "HTTP 204"
    assert (visit.method, visit.body, visit.param("from")) == ("POST", MESSAGE.body, "digest")
    assert visit.headers["webhook-id"] == visit.headers["idempotency-key"] == MESSAGE.idempotency_key
    reader = Webhook(write_signing_key(KEY))
    assert reader.verify(visit.body, visit.headers) == json.loads(MESSAGE.body)
    with pytest.raises(WebhookVerificationError):
        reader.verify(visit.body + b" ", visit.headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(write_signing_key(KEY[::-1])).verify(visit.body, visit.headers)


def test_an_attempt_is_signed_with_its_own_time_so_that_an_old_one_cannot_be_played_again() -> None:
    _, visit = send(Answer(), age=timedelta(hours=1))
    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(write_signing_key(KEY)).verify(visit.body, visit.headers)


@pytest.mark.parametrize("status", [400, 401, 404, 410, 413, 422])
def test_a_refusal_is_for_good_and_says_what_the_receiver_said(status: int) -> None:
    failure = fail(Answer(b"no such list", status))
    assert failure.permanent
    assert not failure.ambiguous
    assert str(status) in failure.message
    assert "no such list" in failure.hint


@pytest.mark.parametrize("status", [423, 425])
def test_a_refusal_for_now_is_worth_another_try(status: int) -> None:
    failure = fail(Answer(b"", status))
    assert (failure.permanent, failure.ambiguous) == (False, False)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"oops", 500),
        Answer(b"", 408),
        Answer(ending=Ending.DROP),
    ],
    ids=["500", "408", "drop"],
)
def test_where_the_answer_does_not_say_it_may_have_been_taken(answer: Answer) -> None:
    failure = fail(answer)
    assert failure.ambiguous
    assert not failure.permanent


def test_what_is_not_ours_any_more_is_not_posted() -> None:
    with LoopbackServer(Answer()) as server:
        transport = SignedWebhookTransport(hooks={"lab": (server.url, KEY)}, now=SystemClock().now)
        with pytest.raises(DeliveryError, match="claim"):
            transport.send(MESSAGE, LAB, lambda: False)
    assert server.visits == []


def test_a_name_that_is_not_configured_says_what_is_missing() -> None:
    transport = SignedWebhookTransport(hooks={}, now=SystemClock().now)
    with pytest.raises(DeliveryError, match="no webhook 'lab' with url and secret") as caught:
        transport.resolve(LAB)
    assert "digest doctor --quick" in caught.value.hint
    assert caught.value.permanent
    assert caught.value.whole_transport, "the operator's to mend: it is held until then"
    with pytest.raises(DeliveryError, match="can't be asked"):
        transport.find(MESSAGE, LAB, datetime(2026, 11, 20, tzinfo=UTC))
    transport.close()
