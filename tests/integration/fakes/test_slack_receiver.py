import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from digest.model.clock import ManualClock
from tests.fakes.slack import TOKEN, SlackReceiver

TLS = ssl.create_default_context()  # made once: slow, and never used here
NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PAPERS = "C000PAPERS"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def slack(clock: ManualClock) -> Iterator[SlackReceiver]:
    with SlackReceiver(clock) as receiver:
        yield receiver


def connect(slack: SlackReceiver, token: str = TOKEN) -> WebClient:
    return WebClient(token=token, base_url=slack.url, timeout=5, retry_handlers=[], ssl=TLS)


def fail(slack: SlackReceiver, **call: object) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as raised:
        connect(slack).api_call(
            "chat.postMessage", json={"channel": PAPERS, "text": "hello", **call}
        )
    answer = raised.value.response.data
    assert isinstance(answer, dict)
    return answer


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"channel": "C0NOWHERE"}, "channel_not_found"),
        ({"channel": "#attic"}, "is_archived"),
        ({"channel": "#lounge"}, "not_in_channel"),
        ({"text": ""}, "no_text"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"metadata": {"event_type": "Big Event", "event_payload": {}}}, "invalid_metadata_format"),
        (
            {"metadata": {"event_type": "posted", "event_payload": {"x": "y" * 9_000}}},
            "metadata_too_large",
        ),
        ({"blocks": [section("x" * 2_700) for _ in range(4)]}, "msg_blocks_too_long"),
        ({"blocks": [section("ä" * 1_400) for _ in range(4)]}, "msg_blocks_too_long"),
    ],
)
def test_a_refused_call_is_answered_politely_and_stores_nothing(
    slack: SlackReceiver, call: dict[str, Any], error: str
) -> None:
    assert fail(slack, **call)["error"] == error
    assert slack.messages == ()


@pytest.mark.parametrize(
    ("block", "pointer"),
    [
        (section("x" * 3_001), "/blocks/0/text/text"),
        (section(""), "/blocks/0/text/text"),
        (
            {"type": "header", "text": {"type": "plain_text", "text": "x" * 151}},
            "/blocks/0/text/text",
        ),
        ({"type": "header", "text": {"type": "mrkdwn", "text": "x"}}, "/blocks/0/text"),
        ({"type": "section"}, "/blocks/0/text"),
        (
            {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11},
            "/blocks/0/elements",
        ),
        ({"type": "context", "elements": []}, "/blocks/0/elements"),
        ({"type": "carousel"}, "/blocks/0/type"),
        ({"type": "divider", "block_id": "x" * 256}, "/blocks/0/block_id"),
        (
            {"type": "section", "text": {"type": "plain_text", "text": "x", "verbatim": True}},
            "/blocks/0/text",
        ),
    ],
)
def test_a_wrong_block_is_pointed_at(
    slack: SlackReceiver, block: dict[str, Any], pointer: str
) -> None:
    answer = fail(slack, blocks=[block])
    assert answer["error"] == "invalid_blocks"
    assert f"[json-pointer:{pointer}]" in answer["errors"][0]
    assert answer["response_metadata"]["messages"] == answer["errors"]


def test_fifty_blocks_are_taken_and_one_more_is_not(slack: SlackReceiver) -> None:
    assert connect(slack).chat_postMessage(channel=PAPERS, text="x", blocks=[section("x")] * 50)[
        "ok"
    ]
    assert fail(slack, blocks=[section("x")] * 51)["error"] == "invalid_blocks"


def test_a_second_message_within_a_second_is_asked_to_wait(
    slack: SlackReceiver, clock: ManualClock
) -> None:
    client = connect(slack)
    client.chat_postMessage(channel=PAPERS, text="one")
    with pytest.raises(SlackApiError) as raised:
        client.chat_postMessage(channel=PAPERS, text="two")
    assert raised.value.response.status_code == 429
    clock.sleep(float(raised.value.response.headers["Retry-After"]))
    client.chat_postMessage(channel=PAPERS, text="two")
    assert [message.text for message in slack.messages] == ["one", "two"]
