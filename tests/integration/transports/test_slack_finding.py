"""Whether an uncertain post arrived: Slack is asked, by the key the post carries."""

from __future__ import annotations

from datetime import timedelta

import pytest

from digest.deliver.transports.slack import SlackAnswer, SlackClient, SlackTransport
from digest.model.clock import ManualClock
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError
from digest.model.messages import Message
from tests.fakes.slack import CHANNELS, SCOPES, TOKEN, SlackReceiver
from tests.integration.transports.slack_posts import KEY, NOW, PAPERS, fail_to_send, make_post


def test_a_post_of_unknown_fate_is_found_by_its_metadata(
    receiver: SlackReceiver, slack: SlackTransport, clock: ManualClock
) -> None:
    slack.send(make_post(key="earlier"), PAPERS)
    clock.advance(timedelta(seconds=5))
    receiver.faults.add("drop_after")
    assert fail_to_send(slack).ambiguous
    found = slack.find(make_post(), PAPERS, NOW)
    assert found is not None
    assert found.remote_id == receiver.messages[-1].ts
    assert receiver.messages[-1].client_msg_id == KEY


def test_a_post_that_never_arrived_is_not_found(
    receiver: SlackReceiver, slack: SlackTransport
) -> None:
    receiver.faults.add("drop_before")
    assert fail_to_send(slack).ambiguous
    assert slack.find(make_post(), PAPERS, NOW) is None


def test_an_answer_without_a_list_does_not_say_that_nothing_is_there(
    slack: SlackTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    post = make_post()
    place = Destination.parse("slack:#papers")
    monkeypatch.setattr(SlackClient, "call", lambda *_, **__: SlackAnswer(200, {}, {"ok": True}))
    for ask in (lambda: slack.find(post, PAPERS, NOW), lambda: slack.resolve(place)):
        with pytest.raises(DeliveryError, match="it has no list") as caught:
            ask()
        assert not caught.value.permanent


@pytest.mark.parametrize("hours", [-25, -23, 23, 25])
def test_a_post_is_found_though_the_senders_clock_is_up_to_a_day_off(
    slack: SlackTransport, hours: int
) -> None:
    sent = slack.send(make_post(), PAPERS)
    found = slack.find(make_post(), PAPERS, NOW + timedelta(hours=hours))
    assert (found is not None and found.remote_id == sent.remote_id) is (abs(hours) <= 24)


def test_a_reply_of_unknown_fate_is_found_in_its_thread(
    receiver: SlackReceiver, slack: SlackTransport, clock: ManualClock
) -> None:
    parent = slack.send(make_post(key="parent"), PAPERS)
    clock.advance(timedelta(seconds=2))
    reply = make_post(thread_ts=parent.remote_id)
    receiver.faults.add("drop_after")
    assert fail_to_send(slack, reply).ambiguous
    found = slack.find(reply, PAPERS, NOW)
    assert found is not None
    assert found.remote_id == receiver.messages[1].ts
    assert receiver.calls[-1] == "conversations.replies"


def test_a_post_is_found_behind_many_others(clock: ManualClock) -> None:
    with SlackReceiver(clock, pace=0) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        first = slack.send(make_post(), PAPERS)
        for number in range(120):
            receiver.workspace.post({"channel": "C000PAPERS", "text": f"chatter {number}"})
        found = slack.find(make_post(), PAPERS, NOW)
        assert found is not None
        assert found.remote_id == first.remote_id
        assert receiver.calls.count("conversations.history") == 2


def test_what_a_busy_channel_heard_long_after_is_not_read(clock: ManualClock) -> None:
    with SlackReceiver(clock, pace=0) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        sent = slack.send(make_post(), PAPERS)
        clock.advance(timedelta(days=14))
        for number in range(120):
            receiver.workspace.post({"channel": "C000PAPERS", "text": f"chatter {number}"})
        found = slack.find(make_post(), PAPERS, NOW)
        assert found is not None
        assert found.remote_id == sent.remote_id
        assert receiver.calls.count("conversations.history") == 1


def test_a_history_without_an_end_cannot_be_told_and_is_not_read_again_and_again(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("digest.deliver.transports.slack._MOST_PAGES", 1)
    with SlackReceiver(clock, pace=0) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        for number in range(101):
            receiver.workspace.post({"channel": "C000PAPERS", "text": f"chatter {number}"})
        with pytest.raises(DeliveryError, match="does not end") as caught:
            slack.find(make_post(), PAPERS, NOW)
    assert caught.value.permanent


def test_without_the_scope_to_read_history_it_cannot_be_told_and_the_scope_is_named(
    clock: ManualClock,
) -> None:
    scopes = set(SCOPES.values()) - {"channels:history"}
    with SlackReceiver(clock, channels=CHANNELS, scopes=scopes) as receiver:
        slack = SlackTransport(token=TOKEN, url=receiver.url)
        with pytest.raises(DeliveryError, match="channels:history") as caught:
            slack.find(make_post(), PAPERS, NOW)
    assert caught.value.permanent
    assert not caught.value.ambiguous


def test_a_post_without_metadata_cannot_be_told_from_others(slack: SlackTransport) -> None:
    bare = Message("application/json", b'{"channel": "C000PAPERS", "text": "x"}', KEY)
    with pytest.raises(DeliveryError, match="no metadata") as caught:
        slack.find(bare, PAPERS, NOW)
    assert caught.value.permanent
