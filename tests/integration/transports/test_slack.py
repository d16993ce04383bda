"""Slack's Web API over real connections: one request per post, and every way it can end."""

from __future__ import annotations

import json
import logging
import unicodedata

import pytest

from digest.deliver.transports.slack import SlackTransport
from digest.model.clock import ManualClock
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError, DeliveryError
from digest.model.messages import Message
from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json
from tests.fakes.slack import TOKEN, SlackReceiver
from tests.fakes.workspace import SlackChannel
from tests.integration.transports.slack_posts import KEY, PAPERS, fail_to_send, make_post


def test_the_rendered_call_is_posted_as_it_is_and_answered_with_its_timestamp(
    receiver: SlackReceiver, slack: SlackTransport
) -> None:
    message = make_post(text="Pınar Tözün: “10⁻³ s”", unfurl_links=False, parse="none")
    receipt = slack.send(message, PAPERS)
    (stored,) = receiver.messages
    assert stored.payload == json.loads(message.body)
    assert receipt.remote_id == stored.ts
    assert receiver.calls == ("chat.postMessage",)


def test_a_repeat_that_slack_recognises_counts_as_taken(clock: ManualClock) -> None:
    with SlackReceiver(clock, drops_repeats=True) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        first = slack.send(make_post(), PAPERS)
        again = slack.send(make_post(), PAPERS)
    assert again.remote_id == first.remote_id
    assert "already" in again.detail
    assert len(receiver.messages) == 1


@pytest.mark.parametrize("fault", ["drop_after", "reset_after", "500_after_store"])
def test_an_answer_lost_after_the_post_was_stored_is_ambiguous_and_never_repeated_by_itself(
    fault: str, receiver: SlackReceiver, slack: SlackTransport
) -> None:
    receiver.faults.add(fault)
    failure = fail_to_send(slack)
    assert failure.ambiguous
    assert not failure.permanent
    assert receiver.calls == ("chat.postMessage",)
    assert len(receiver.messages) == 1


@pytest.mark.parametrize("token", ["", "  ", "xoxb-1\r\nX-Header: y"])
def test_a_missing_or_broken_token_is_a_configuration_error(token: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SlackTransport(token=token)
    assert "DIGEST_SLACK_TOKEN" in caught.value.hint


def test_no_log_at_any_level_shows_the_token_or_the_message(
    receiver: SlackReceiver, slack: SlackTransport, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), caplog.at_level(logging.DEBUG, "slack_sdk"):
        slack.send(make_post(text="unmistakable words"), PAPERS)
        receiver.faults.add("drop_after")
        fail_to_send(slack, make_post(text="unmistakable words"))
        slack.resolve(PAPERS)
    assert "unmistakable" not in caplog.text
    assert TOKEN not in caplog.text


def test_what_slack_warns_about_is_logged_and_kept(
    slack: SlackTransport, caplog: pytest.LogCaptureFixture
) -> None:
    message = make_post()
    call = json.loads(message.body) | {"text": "x" * 40_001}
    receipt = slack.send(Message("application/json", json.dumps(call).encode(), KEY), PAPERS)
    assert "message_truncated" in receipt.detail
    assert "message_truncated" in caplog.text


def test_a_channels_name_becomes_its_id_and_is_asked_for_once(
    receiver: SlackReceiver, slack: SlackTransport
) -> None:
    assert slack.resolve(PAPERS) == "C000PAPERS"
    assert slack.resolve(Destination(DestinationKind.SLACK, "Papers")) == "C000PAPERS"
    assert slack.resolve(Destination(DestinationKind.SLACK, "#lounge")) == "C000LOUNGE"
    assert receiver.calls == ("conversations.list",)


@pytest.mark.parametrize("address", ["C000PAPERS", "G0123456789", "D0123456789", "U0123456789"])
def test_an_id_is_taken_as_it_is_without_asking(
    address: str, receiver: SlackReceiver, slack: SlackTransport
) -> None:
    assert slack.resolve(Destination(DestinationKind.SLACK, address)) == address
    assert receiver.calls == ()


def test_a_channel_beyond_the_first_page_is_found(clock: ManualClock) -> None:
    many = [SlackChannel(f"C{number:09}", f"team-{number}") for number in range(2100)]
    with SlackReceiver(clock, channels=many) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        assert slack.resolve(Destination(DestinationKind.SLACK, "#team-2099")) == "C000002099"
        assert receiver.calls == ("conversations.list",) * 3


def test_a_channel_nobody_can_see_is_permanent_and_says_how_to_be_seen(
    slack: SlackTransport,
) -> None:
    with pytest.raises(DeliveryError, match="#nowhere") as caught:
        slack.resolve(Destination(DestinationKind.SLACK, "#nowhere"))
    assert caught.value.permanent
    assert not caught.value.whole_transport
    assert "/invite" in caught.value.hint
    assert "groups:read" in caught.value.hint


def test_without_the_scope_for_private_channels_the_public_ones_are_still_found() -> None:
    def answer(request: Request) -> Answer:
        if "private_channel" in request.param("types"):
            return answer_json({"ok": False, "error": "missing_scope", "needed": "groups:read"})
        return answer_json({"ok": True, "channels": [{"id": "C1", "name": "papers"}]})

    with LoopbackServer(answer) as server:
        assert SlackTransport(token=TOKEN, url=f"{server.url}/api/").resolve(PAPERS) == "C1"


def test_a_failed_look_up_is_never_ambiguous(
    receiver: SlackReceiver, slack: SlackTransport
) -> None:
    for fault in ("drop_before", "html_503", "internal_error"):
        receiver.faults.add(fault)
        with pytest.raises(DeliveryError) as caught:
            slack.resolve(PAPERS)
        assert not caught.value.ambiguous
        assert not caught.value.permanent


def test_a_channel_made_anew_is_found_by_its_new_id_once_the_old_one_is_refused(
    clock: ManualClock,
) -> None:
    with SlackReceiver(clock, channels=[SlackChannel("C000OLDONE", "papers")]) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        assert slack.resolve(PAPERS) == "C000OLDONE"
        receiver.workspace.channels = {"C000NEWONE": SlackChannel("C000NEWONE", "papers")}
        assert slack.resolve(PAPERS) == "C000OLDONE"
        assert "channel_not_found" in fail_to_send(slack, make_post(channel="C000OLDONE")).message
        assert slack.resolve(PAPERS) == "C000NEWONE"


def test_a_renamed_channel_is_found_after_a_while_and_a_known_one_kept_while_slack_tells_none(
    clock: ManualClock,
) -> None:
    passed = [0.0]
    with SlackReceiver(clock, channels=[SlackChannel("C000OLDONE", "papers")]) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url, now=lambda: passed[0])
        assert slack.resolve(PAPERS) == "C000OLDONE"
        receiver.workspace.channels = {
            "C000OLDONE": SlackChannel("C000OLDONE", "papers-2025"),
            "C000NEWONE": SlackChannel("C000NEWONE", "papers"),
        }
        passed[0] = 1_000.0
        receiver.faults.add("html_503", path="conversations.list")
        assert slack.resolve(PAPERS) == "C000OLDONE"
        passed[0] = 2_000.0
        assert slack.resolve(PAPERS) == "C000NEWONE"


def test_of_an_archived_channel_by_name_slack_says_why_it_takes_nothing(
    receiver: SlackReceiver, slack: SlackTransport
) -> None:
    id_ = slack.resolve(Destination(DestinationKind.SLACK, "#attic"))
    failure = fail_to_send(slack, make_post(channel=id_))
    assert failure.permanent
    assert "is_archived" in failure.message
    assert failure.hint == "Unarchive the channel, or name another."
    assert receiver.messages == ()


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_channels_of_one_name_the_one_in_use_counts(
    clock: ManualClock, *, is_first: bool
) -> None:
    rooms = [
        SlackChannel("C000OLDONE", "papers", is_archived=True),
        SlackChannel("C000NEWONE", "papers"),
    ]
    with SlackReceiver(clock, channels=rooms[:: -1 if is_first else 1]) as receiver:
        assert SlackTransport(token=TOKEN, url=receiver.url).resolve(PAPERS) == "C000NEWONE"


def test_a_name_beyond_ascii_is_found_and_shown_as_it_is_written(clock: ManualClock) -> None:
    rooms = [SlackChannel("C000GROSSE", "größe"), SlackChannel("C000DOUBLE", "grösse")]
    with SlackReceiver(clock, channels=rooms) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        for written in ("#größe", "#GRÖßE", unicodedata.normalize("NFD", "#größe")):
            assert slack.resolve(Destination(DestinationKind.SLACK, written)) == "C000GROSSE"
        with pytest.raises(DeliveryError, match="#Weißbier ") as caught:
            slack.resolve(Destination(DestinationKind.SLACK, "#Weißbier"))
    assert caught.value.hint.endswith("in #Weißbier.")


def test_a_workspace_with_too_many_channels_is_asked_a_few_times_and_the_id_is_advised() -> None:
    asked = 0

    def endless(request: Request) -> Answer:
        nonlocal asked
        asked += 1
        return answer_json(
            {
                "ok": True,
                "channels": [],
                "response_metadata": {"next_cursor": request.body.decode()},
            }
        )

    with LoopbackServer(endless) as server:
        slack = SlackTransport(token=TOKEN, url=f"{server.url}/api/")
        with pytest.raises(DeliveryError) as caught:
            slack.resolve(PAPERS)
    assert asked == 20
    assert caught.value.permanent
    assert "Write the channel's id" in caught.value.hint


def test_if_slack_asks_to_wait_amid_its_channels_the_id_is_advised(clock: ManualClock) -> None:
    many = [SlackChannel(f"C{number:09}", f"team-{number}") for number in range(2500)]
    with SlackReceiver(clock, channels=many) as receiver:
        receiver.faults.add("ratelimited", skip=1, times=9, path="conversations.list")
        with pytest.raises(DeliveryError, match="wait") as caught:
            SlackTransport(token=TOKEN, url=receiver.url).resolve(PAPERS)
    assert not caught.value.permanent
    assert "Write the channel's id" in caught.value.hint
