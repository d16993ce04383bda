import http.client
import json
import re
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.error import URLError

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from digest.clock import ManualClock
from tests.fakes.slack import TOKEN, SlackReceiver
from tests.fakes.workspace import SlackChannel

TLS = ssl.create_default_context()  # made once: slow, and never used here
HTTP = httpx.Client(trust_env=False, verify=TLS)
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
        connect(slack).api_call("chat.postMessage", json={"channel": PAPERS, "text": "hello", **call})
    answer = raised.value.response.data
    assert isinstance(answer, dict)
    return answer


def section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def test_a_message_is_stored_as_it_was_sent(slack: SlackReceiver) -> None:
    blocks = [section("*Tail* &lt;latency&gt;"), {"type": "divider"}]
    answer = connect(slack).chat_postMessage(channel=PAPERS, text="1 &amp; 2", blocks=blocks, client_msg_id="x")
    (message,) = slack.messages
    assert answer["ok"]
    assert answer["channel"] == PAPERS
    assert re.fullmatch(r"\d{10}\.\d{6}", answer["ts"])
    assert (message.ts, message.channel, message.client_msg_id) == (answer["ts"], PAPERS, "x")
    assert (message.plain, message.block_texts) == ("1 & 2", ("*Tail* <latency>",))
    assert message.posted_at == NOON


def test_names_of_messages_only_ever_grow(slack: SlackReceiver, clock: ManualClock) -> None:
    client = connect(slack)
    stamps = []
    for step in (1, 5, 1):
        clock.advance(timedelta(seconds=step))
        stamps.append(client.chat_postMessage(channel="#papers", text="hello")["ts"])
    assert stamps == sorted(set(stamps))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"channel": "C0NOWHERE"}, "channel_not_found"),
        ({"channel": "#attic"}, "is_archived"),
        ({"channel": "#lounge"}, "not_in_channel"),
        ({"text": ""}, "no_text"),
        ({"thread_ts": "1.000001"}, "thread_not_found"),
        ({"metadata": {"event_type": "Big Event", "event_payload": {}}}, "invalid_metadata_format"),
        ({"metadata": {"event_type": "posted", "event_payload": {"x": "y" * 9_000}}}, "metadata_too_large"),
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
        ({"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}, "/blocks/0/text/text"),
        ({"type": "header", "text": {"type": "mrkdwn", "text": "x"}}, "/blocks/0/text"),
        ({"type": "section"}, "/blocks/0"),
        ({"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2_001}]}, "/blocks/0/fields/0/text"),
        ({"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}, "/blocks/0/elements"),
        ({"type": "actions", "elements": []}, "/blocks/0/elements"),
        ({"type": "carousel"}, "/blocks/0/type"),
        ({"type": "divider", "block_id": "x" * 256}, "/blocks/0/block_id"),
        (
            {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": [{"type": "text"}]}]},
            "/blocks/0/elements/0/elements/0/text",
        ),
        (
            {"type": "section", "text": {"type": "plain_text", "text": "x", "verbatim": True}},
            "/blocks/0/text",
        ),
    ],
)
def test_a_wrong_block_is_pointed_at(slack: SlackReceiver, block: dict[str, Any], pointer: str) -> None:
    answer = fail(slack, blocks=[block])
    assert answer["error"] == "invalid_blocks"
    assert f"[json-pointer:{pointer}]" in answer["errors"][0]
    assert answer["response_metadata"]["messages"] == answer["errors"]


def test_fifty_blocks_are_taken_and_one_more_is_not(slack: SlackReceiver) -> None:
    assert connect(slack).chat_postMessage(channel=PAPERS, text="x", blocks=[section("x")] * 50)["ok"]
    assert fail(slack, blocks=[section("x")] * 51)["error"] == "invalid_blocks"


def test_block_ids_must_differ(slack: SlackReceiver) -> None:
    assert fail(slack, blocks=[{"type": "divider", "block_id": "same"}] * 2)["error"] == "invalid_blocks"


def test_a_second_message_within_a_second_is_asked_to_wait(slack: SlackReceiver, clock: ManualClock) -> None:
    client = connect(slack)
    client.chat_postMessage(channel=PAPERS, text="one")
    with pytest.raises(SlackApiError) as raised:
        client.chat_postMessage(channel=PAPERS, text="two")
    assert raised.value.response.status_code == 429
    clock.sleep(float(raised.value.response.headers["Retry-After"]))
    client.chat_postMessage(channel=PAPERS, text="two")
    assert [message.text for message in slack.messages] == ["one", "two"]


def test_channels_have_their_pace_each(clock: ManualClock) -> None:
    with SlackReceiver(clock, channels=[SlackChannel("C1", "one"), SlackChannel("C2", "two")]) as slack:
        for name in ("C1", "C2"):
            connect(slack).chat_postMessage(channel=name, text="hello")
        assert len(slack.messages) == 2


def test_metadata_come_back_only_when_all_are_asked_for(slack: SlackReceiver) -> None:
    client = connect(slack)
    metadata = {"event_type": "digest_posted", "event_payload": {"delivery": "7"}}
    client.chat_postMessage(channel=PAPERS, text="hello", metadata=metadata)
    assert client.conversations_history(channel=PAPERS)["messages"][0]["metadata"] == {
        "event_type": "digest_posted"
    }
    full = client.conversations_history(channel=PAPERS, include_all_metadata=True)
    assert full["messages"][0]["metadata"] == metadata


def test_history_is_newest_first_within_bounds_and_without_replies(
    slack: SlackReceiver, clock: ManualClock
) -> None:
    client = connect(slack)
    stamps: list[str] = []
    for is_reply in (False, False, True):
        parent = stamps[0] if is_reply else None
        stamps.append(client.chat_postMessage(channel=PAPERS, text="hello", thread_ts=parent)["ts"])
        clock.advance(timedelta(seconds=2))
    listed = client.conversations_history(channel=PAPERS)["messages"]
    assert [message["ts"] for message in listed] == stamps[1::-1]
    later = client.conversations_history(channel=PAPERS, oldest=stamps[0])["messages"]
    assert [message["ts"] for message in later] == [stamps[1]]
    both = client.conversations_history(channel=PAPERS, oldest=stamps[0], inclusive=True, limit=1)
    assert both["has_more"]
    with pytest.raises(SlackApiError, match="invalid_ts_latest"):
        client.conversations_history(channel=PAPERS, latest="soon")


def test_a_thread_is_its_parent_and_the_replies_in_order(slack: SlackReceiver, clock: ManualClock) -> None:
    client = connect(slack)
    parent = client.chat_postMessage(channel=PAPERS, text="parent")["ts"]
    for text in ("one", "two"):
        clock.advance(timedelta(seconds=1))
        client.chat_postMessage(channel=PAPERS, text=text, thread_ts=parent)
    thread = client.conversations_replies(channel=PAPERS, ts=parent)["messages"]
    assert [message["text"] for message in thread] == ["parent", "one", "two"]
    with pytest.raises(SlackApiError, match="thread_not_found"):
        client.conversations_replies(channel=PAPERS, ts="1.000001")


def test_history_may_lag_behind(clock: ManualClock) -> None:
    with SlackReceiver(clock, history_lag=5) as slack:
        client = connect(slack)
        client.chat_postMessage(channel=PAPERS, text="hello")
        assert client.conversations_history(channel=PAPERS)["messages"] == []
        clock.advance(timedelta(seconds=5))
        assert len(client.conversations_history(channel=PAPERS)["messages"]) == 1


def test_channels_are_listed_in_pages_and_can_be_joined(slack: SlackReceiver) -> None:
    client = connect(slack)
    first = client.conversations_list(limit=1)
    second = client.conversations_list(limit=5, cursor=first["response_metadata"]["next_cursor"])
    assert [c["name"] for c in first["channels"] + second["channels"]] == ["papers", "lounge", "attic"]
    assert [c["name"] for c in client.conversations_list(exclude_archived=True)["channels"]] == [
        "papers",
        "lounge",
    ]
    assert client.conversations_join(channel="C000LOUNGE")["channel"]["is_member"]
    assert client.conversations_info(channel="C000LOUNGE")["channel"]["is_member"]
    assert client.chat_postMessage(channel="C000LOUNGE", text="hello")["ok"]


def test_a_private_channel_is_invisible_to_strangers(clock: ManualClock) -> None:
    hidden = SlackChannel("G0HIDDEN", "hidden", is_member=False, is_private=True)
    with SlackReceiver(clock, channels=[hidden]) as slack:
        assert fail(slack, channel="G0HIDDEN")["error"] == "channel_not_found"
        assert connect(slack).conversations_list(types="public_channel,private_channel")["channels"] == []


def test_a_wrong_token_opens_nothing(slack: SlackReceiver) -> None:
    with pytest.raises(SlackApiError, match="invalid_auth"):
        connect(slack, "xoxb-other").auth_test()
    assert HTTP.post(f"{slack.url}auth.test").json() == {"ok": False, "error": "not_authed"}
    assert connect(slack).auth_test()["user_id"]


def test_a_missing_scope_is_named(clock: ManualClock) -> None:
    with SlackReceiver(clock, scopes=("chat:write",)) as slack, pytest.raises(SlackApiError) as raised:
        connect(slack).conversations_history(channel=PAPERS)
    assert raised.value.response["needed"] == "channels:history"


def test_an_unknown_method_is_refused(slack: SlackReceiver) -> None:
    with pytest.raises(SlackApiError, match="unknown_method"):
        connect(slack).api_call("chat.whisper")


def test_repeats_are_recognised_only_where_wanted(clock: ManualClock) -> None:
    for drops_repeats, kept in ((True, 1), (False, 2)):
        with SlackReceiver(clock, drops_repeats=drops_repeats, pace=0) as slack:
            answers = [
                connect(slack).chat_postMessage(channel=PAPERS, text="x", client_msg_id="same") for _ in range(2)
            ]
            assert len(slack.messages) == kept
            assert answers[1].get("is_duplicate") == (True if drops_repeats else None)


def test_a_text_that_is_too_long_is_cut_with_a_warning(slack: SlackReceiver) -> None:
    answer = connect(slack).chat_postMessage(channel=PAPERS, text="x" * 40_001)
    assert answer["warning"] == "message_truncated"
    assert len(slack.messages[0].text) == 40_000


@pytest.mark.parametrize(
    ("fault", "stored", "error"),
    [
        ("drop_before", 0, http.client.RemoteDisconnected),
        ("drop_after", 1, http.client.RemoteDisconnected),
        ("reset", 0, ConnectionResetError),
        ("reset_after", 1, ConnectionResetError),
        ("hang", 0, TimeoutError),
        ("hang_after", 1, TimeoutError),
    ],
)
def test_a_broken_connection_hides_whether_the_message_was_stored(
    slack: SlackReceiver, fault: str, stored: int, error: type[Exception]
) -> None:
    slack.faults.add(fault, path="chat.postMessage")
    client = WebClient(token=TOKEN, base_url=slack.url, timeout=1, retry_handlers=[], ssl=TLS)
    with pytest.raises((error, URLError)):
        client.chat_postMessage(channel=PAPERS, text="hello")
    assert len(slack.messages) == stored


@pytest.mark.parametrize(("fault", "stored", "status"), [("500_after_store", 1, 500), ("html_503", 0, 503)])
def test_a_web_page_instead_of_json(slack: SlackReceiver, fault: str, stored: int, status: int) -> None:
    slack.faults.add(fault)
    with pytest.raises(SlackApiError) as raised:
        connect(slack).chat_postMessage(channel=PAPERS, text="hello")
    assert raised.value.response.status_code == status
    assert len(slack.messages) == stored


@pytest.mark.parametrize("retry_after", ["", "1.5", "30"])
def test_a_rate_limit_may_say_how_long_in_any_form_or_not_at_all(slack: SlackReceiver, retry_after: str) -> None:
    slack.faults.add("ratelimited", retry_after=retry_after)
    with pytest.raises(SlackApiError) as raised:
        connect(slack).chat_postMessage(channel=PAPERS, text="hello")
    assert raised.value.response.headers.get("Retry-After", "") == retry_after


def test_methods_take_forms_as_well_as_json(slack: SlackReceiver) -> None:
    form = {"channel": PAPERS, "text": "a+b", "blocks": json.dumps([section("x")])}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    answer = HTTP.post(f"{slack.url}chat.postMessage", data=form, headers=headers)
    assert answer.json()["ok"]
    assert slack.messages[0].text == "a+b"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"text": "hello"}, 200, "ok"),
        ({}, 400, "no_text"),
        ({"blocks": [{"type": "odd"}]}, 400, "invalid_blocks"),
        ([], 400, "invalid_payload"),
    ],
)
def test_the_webhook_answers_in_plain_words(slack: SlackReceiver, body: object, status: int, words: str) -> None:
    answer = HTTP.post(slack.webhook_url, json=body)
    assert (answer.status_code, answer.text) == (status, words)
    assert len(slack.messages) == (status == 200)


def test_the_webhook_keeps_the_channels_pace(slack: SlackReceiver) -> None:
    first, second = (HTTP.post(slack.webhook_url, json={"text": "x"}) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 429)
    assert second.headers["Retry-After"] == "1"


def test_the_webhook_of_an_archived_channel_is_gone(clock: ManualClock) -> None:
    with SlackReceiver(clock, channels=[SlackChannel("C1", "old", is_archived=True)]) as slack:
        answer = HTTP.post(slack.webhook_url, json={"text": "x"})
    assert (answer.status_code, answer.text) == (410, "channel_is_archived")


def test_every_call_is_noted_in_order(slack: SlackReceiver) -> None:
    connect(slack).auth_test()
    HTTP.post(slack.webhook_url, json={"text": "x"})
    assert slack.calls == ("auth.test", "webhook")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"markdown_text": "# x"}, "markdown_text_conflict"),
        ({"text": None, "markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"attachments": [{"text": "x"}] * 101}, "too_many_attachments"),
    ],
)
def test_other_forms_of_text_have_their_limits_too(slack: SlackReceiver, call: dict[str, Any], error: str) -> None:
    given = {name: value for name, value in ({"channel": PAPERS, "text": "x"} | call).items() if value is not None}
    with pytest.raises(SlackApiError) as raised:
        connect(slack).api_call("chat.postMessage", json=given)
    assert raised.value.response["error"] == error


def test_how_much_text_a_message_may_hold_can_be_set(clock: ManualClock) -> None:
    with SlackReceiver(clock, most_text=100) as slack:
        assert connect(slack).chat_postMessage(channel=PAPERS, text="x", blocks=[section("x" * 100)])["ok"]
        clock.advance(timedelta(seconds=1))
        assert fail(slack, blocks=[section("x" * 60), section("y" * 41)])["error"] == "msg_blocks_too_long"


def test_a_token_that_was_taken_back_opens_nothing_and_a_good_one_says_what_it_may(clock: ManualClock) -> None:
    with SlackReceiver(clock, scopes=("chat:write", "channels:read")) as slack:
        assert connect(slack).auth_test().headers["X-OAuth-Scopes"] == "channels:read,chat:write"
        slack.trouble = "token_revoked"
        assert fail(slack)["error"] == "token_revoked"


def test_a_private_channel_asks_for_scopes_of_its_own(clock: ManualClock) -> None:
    hidden = SlackChannel("G0HIDDEN", "hidden", is_private=True)
    for scopes, needed in ((("channels:history",), "groups:history"), (("groups:history",), None)):
        with SlackReceiver(clock, channels=[hidden], scopes=scopes) as slack:
            if needed is None:
                assert connect(slack).conversations_history(channel="G0HIDDEN")["ok"]
                continue
            with pytest.raises(SlackApiError) as raised:
                connect(slack).conversations_history(channel="G0HIDDEN")
            assert raised.value.response["needed"] == needed
