"""`digest slack`: the manifest holds what the client calls and no more; the check says what Slack says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from digest.cli import run_cli
from digest.deliver.transports.slack import SlackTransport
from digest.inspect.slack_check import Finding, inspect_slack, list_scopes
from digest.model.clock import ManualClock
from digest.model.errors import DeliveryError
from digest.model.subscriptions import Destination
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


def inspect(slack: SlackReceiver, *to: str) -> dict[str, Finding]:
    found = inspect_slack([Destination.parse(one) for one in to], token=slack.token, url=slack.url, timeout=5.0)
    return {one.what: one for one in found}


def use_all(slack: SlackReceiver, clock: ManualClock, channel: str) -> None:
    """Do whatever the client ever does with a channel: look it up, post, answer in the thread, look back."""
    transport = SlackTransport(token=slack.token, url=slack.url)
    id_ = transport.resolve(Destination.parse(f"slack:#{channel}"))
    post = make_post(channel=id_)
    receipt = transport.send(post, PAPERS)
    clock.advance(timedelta(seconds=2))
    reply = make_post(key="5f0c9d54-0000-5000-8000-000000000002", channel=id_, thread_ts=receipt.remote_id)
    transport.send(reply, PAPERS)
    assert transport.find(post, PAPERS, NOW) is not None
    assert transport.find(reply, PAPERS, NOW) is not None
    transport.close()


def test_the_manifests_scopes_are_all_the_client_needs_and_none_can_be_left_out(clock: ManualClock) -> None:
    for scopes, channel in ((LEAST, "papers"), (ALL, "secret")):
        with SlackReceiver(clock, channels=CHANNELS, scopes=scopes) as slack:
            use_all(slack, clock, channel)
            called = set(slack.calls)
        assert {METHODS[method] for method in called} <= set(LEAST)
    for left_out in LEAST:
        with (
            SlackReceiver(clock, channels=CHANNELS, scopes=set(LEAST) - {left_out}) as slack,
            pytest.raises(DeliveryError, match="missing_scope"),
        ):
            use_all(slack, clock, "papers")


def test_the_manifest_gives_each_scope_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["slack", "manifest", "--private"]) == 0
    said = capsys.readouterr().out
    assert [line.split()[1] for line in said.splitlines() if " # " in line] == list(ALL)


def test_what_is_in_order_is_said_to_be_and_nothing_is_posted(slack: SlackReceiver) -> None:
    found = inspect(slack, "slack:#papers", "slack:C000PAPERS", "slack:U000SOMEBODY", "mailto:a@example.org")
    assert list(found) == ["token", "scopes", "slack:#papers", "slack:C000PAPERS", "slack:U000SOMEBODY"]
    assert {one.todo for one in found.values()} == {""}
    assert slack.messages == ()
    assert "chat.postMessage" not in slack.calls


@pytest.mark.parametrize(
    ("to", "todo"),
    [
        ("slack:#nowhere", "Check the name"),
        ("slack:C000NOWHERE", "/invite @"),
        ("slack:C000ATTIC0", "Unarchive it"),
        ("slack:#lounge", "/invite @"),
    ],
)
def test_each_trouble_with_a_channel_is_told_with_what_to_do(slack: SlackReceiver, to: str, todo: str) -> None:
    assert todo in inspect(slack, to)[to].todo


def test_a_token_that_opens_nothing_is_all_that_is_told(slack: SlackReceiver) -> None:
    slack.trouble = "token_revoked"
    (finding,) = inspect(slack, "slack:#papers").values()
    assert (finding.what, "token_revoked" in finding.said) == ("token", True)
    assert "DIGEST_SLACK_TOKEN" in finding.todo


@pytest.mark.parametrize("left_out", list(LEAST))
def test_a_missing_scope_is_told(clock: ManualClock, left_out: str) -> None:
    with SlackReceiver(clock, channels=CHANNELS, scopes=set(LEAST) - {left_out}) as slack:
        found = inspect(slack, "slack:#papers")
    assert left_out in found["scopes"].todo


CONFIG = """
[arxiv]
contact = "ops@example.org"

[slack]
url = "{url}"

[queries]
perf = "cat:cs.PF"

[[subscriptions]]
name = "perf-team"
queries = ["perf"]
to = "{to}"
"""


@pytest.mark.parametrize(
    ("to", "trouble", "code"),
    [("slack:#papers", "", 0), ("slack:#attic", "", 3), ("slack:#papers", "token_revoked", 3)],
)
def test_the_command_says_it_in_words_and_by_its_exit_code(  # noqa: PLR0917 - what it depends on
    slack: SlackReceiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    to: str,
    trouble: str,
    code: int,
) -> None:
    (tmp_path / "digest.toml").write_text(CONFIG.format(url=slack.url, to=to))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIGEST_SLACK_TOKEN", slack.token)
    slack.trouble = trouble
    assert run_cli(["slack", "check"]) == code
    words = capsys.readouterr().out
    assert ("problem" in words) is (code == 3)
    assert run_cli(["slack", "check", "--json"]) == code
    shown = json.loads(capsys.readouterr().out)
    assert shown[0]["what"] == "token"
    assert slack.token not in words


def test_no_token_and_no_answer_have_exit_codes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digest.toml").write_text(CONFIG.format(url="http://127.0.0.1:9/api/", to="slack:#papers"))
    assert run_cli(["slack", "check"]) == 3
    monkeypatch.setenv("DIGEST_SLACK_TOKEN", "xoxb-demo")
    assert run_cli(["slack", "check"]) == 4
