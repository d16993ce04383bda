"""Slack: the manifest holds what the client calls and no more.

A check says what Slack says, and posts nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from digest.cli import run_cli
from digest.deliver.transports.slack import SlackTransport
from digest.inspect.doctor import inspect_slack, list_scopes
from digest.inspect.findings import Finding, Verdict
from digest.model.clock import ManualClock
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError
from tests.fakes.slack import SCOPES as METHODS
from tests.fakes.slack import SlackReceiver
from tests.fakes.workspace import SlackChannel
from tests.integration.transports.slack_posts import NOW, PAPERS, make_post

LEAST = list_scopes(is_private=False)
ALL = list_scopes(is_private=True)
CHANNELS = (
    SlackChannel("C000PAPERS", "papers"),
    SlackChannel("C000LOUNGE", "lounge", is_member=False),
    SlackChannel("C000ATTIC0", "attic", is_archived=True),
    SlackChannel("C000SECRET", "secret", is_private=True),
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def slack(clock: ManualClock) -> Iterator[SlackReceiver]:
    with SlackReceiver(clock, channels=CHANNELS, scopes=ALL) as slack:
        yield slack


def inspect(slack: SlackReceiver, *to: str, token: str = "") -> list[Finding]:
    channels = {Destination.parse(one): f"team {number}" for number, one in enumerate(to)}
    token = token or slack.token
    return list(
        inspect_slack(channels, SlackTransport(token=token, url=slack.url, timeout=5.0), token)
    )


def use_all(slack: SlackReceiver, clock: ManualClock, channel: str) -> None:
    """Do whatever the client ever does with a channel.

    Look it up, post, answer in the thread, look back.
    """
    transport = SlackTransport(token=slack.token, url=slack.url)
    id_ = transport.resolve(Destination.parse(f"slack:#{channel}"))
    post = make_post(channel=id_)
    receipt = transport.send(post, PAPERS)
    clock.advance(timedelta(seconds=2))
    reply = make_post(
        key="5f0c9d54-0000-5000-8000-000000000002", channel=id_, thread_ts=receipt.remote_id
    )
    transport.send(reply, PAPERS)
    assert transport.find(post, PAPERS, NOW) is not None
    assert transport.find(reply, PAPERS, NOW) is not None
    transport.close()


def test_the_manifests_scopes_are_all_the_client_needs_and_none_can_be_left_out(
    clock: ManualClock,
) -> None:
    for scopes, channel in ((LEAST, "papers"), (ALL, "secret")):
        with SlackReceiver(clock, channels=CHANNELS, scopes=scopes) as slack:
            use_all(slack, clock, channel)
            called = set(slack.calls)
        assert {METHODS[method] for method in called} <= set(LEAST)
    for left_out in LEAST:
        granted = set(LEAST) - {left_out}
        with (
            SlackReceiver(clock, channels=CHANNELS, scopes=granted) as slack,
            pytest.raises(DeliveryError, match="missing_scope"),
        ):
            use_all(slack, clock, "papers")


def test_the_manifest_gives_each_scope_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["slack", "manifest", "--private"]) == 0
    said = capsys.readouterr().out
    explained = [line for line in said.splitlines() if " # " in line]
    assert [line.split()[1] for line in explained] == list(ALL)


def test_what_is_in_order_is_said_to_be_and_nothing_is_posted(slack: SlackReceiver) -> None:
    *others, person = inspect(slack, "slack:#papers", "slack:C000PAPERS", "slack:U000SOMEBODY")
    assert [one.verdict for one in others] == [Verdict.OK] * 4
    assert person.verdict is Verdict.UNCHECKED
    assert slack.messages == ()
    assert "chat.postMessage" not in slack.calls


@pytest.mark.parametrize(
    ("to", "todo"),
    [
        ("slack:#nowhere", "Check the name"),
        ("slack:C000NOWHERE", "/invite @"),
        ("slack:C000ATTIC0", "Unarchive it"),
        ("slack:#attic", "Unarchive it"),
        ("slack:#lounge", "/invite @"),
    ],
)
def test_each_trouble_with_a_channel_is_reported_with_what_to_do(
    slack: SlackReceiver, to: str, todo: str
) -> None:
    *_, found = inspect(slack, to)
    assert found.verdict is Verdict.PROBLEM
    assert todo in found.todo
    assert "team 0" in found.said


def test_a_token_that_opens_nothing_is_all_that_is_reported(slack: SlackReceiver) -> None:
    slack.trouble = "token_revoked"
    (finding,) = inspect(slack, "slack:#papers")
    assert (finding.verdict, "token_revoked" in finding.said) == (Verdict.PROBLEM, True)
    assert "DIGEST_SLACK_TOKEN" in finding.todo


@pytest.mark.parametrize(
    ("token", "kind"), [("xoxp-1-a", "person"), ("xapp-1-a", "whole app"), ("hm", "unknown")]
)
def test_a_token_of_another_kind_is_named_before_slack_is_asked(
    slack: SlackReceiver, token: str, kind: str
) -> None:
    (finding,) = inspect(slack, "slack:#papers", token=token)
    assert kind in finding.said
    assert "xoxb-" in finding.todo
    assert slack.calls == ()


@pytest.mark.parametrize("left_out", list(LEAST))
def test_a_missing_scope_is_named(clock: ManualClock, left_out: str) -> None:
    with SlackReceiver(clock, channels=CHANNELS, scopes=set(LEAST) - {left_out}) as slack:
        _, scopes, *_ = inspect(slack, "slack:#papers")
    assert (scopes.verdict, left_out in scopes.said) == (Verdict.PROBLEM, True)


@pytest.mark.parametrize(
    ("granted", "said"),
    [(LEAST, "for public channels"), (ALL, "for public and private channels")],
)
def test_the_scopes_are_known_by_the_channels_they_open(
    clock: ManualClock, granted: dict[str, str], said: str
) -> None:
    with SlackReceiver(clock, channels=CHANNELS, scopes=granted) as slack:
        _, scopes, *_ = inspect(slack, "slack:#papers")
    assert scopes.said == f"the app has the scopes {said}"


def test_an_app_of_private_channels_alone_is_known_and_finds_them_by_name(
    clock: ManualClock,
) -> None:
    granted = {"chat:write", "groups:read", "groups:history"}
    with SlackReceiver(clock, channels=CHANNELS, scopes=granted) as slack:
        _, scopes, secret, papers = inspect(slack, "slack:#secret", "slack:#papers")
        use_all(slack, clock, "secret")
    assert scopes.said == "the app has the scopes for private channels"
    assert (secret.verdict, papers.verdict) == (Verdict.OK, Verdict.PROBLEM)


def test_scopes_of_both_kinds_that_make_neither_whole_are_too_few(clock: ManualClock) -> None:
    granted = {"chat:write", "channels:read", "groups:history"}
    with SlackReceiver(clock, channels=CHANNELS, scopes=granted) as slack:
        _, scopes, *_ = inspect(slack, "slack:#papers")
    assert (scopes.verdict, "channels:history is missing" in scopes.said) == (Verdict.PROBLEM, True)
