"""`digest slack`: the manifest holds what the client calls and no more; the check says what Slack says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from digest.cli import run_cli
from digest.deliver.transports.slack import SlackTransport
from digest.inspect.slack_check import SCOPES, Finding, Verdict, build_manifest, inspect_slack, write_manifest
from digest.model.clock import ManualClock
from digest.model.errors import DeliveryError
from digest.model.subscriptions import Destination
from tests.fakes.slack import SCOPES as METHODS
from tests.fakes.slack import SlackReceiver
from tests.fakes.workspace import SlackChannel
from tests.integration.transports.slack_posts import NOW, PAPERS, make_post

LEAST = build_manifest(name="Digest", is_private=False)["oauth_config"]["scopes"]["bot"]
ALL = build_manifest(name="Digest", is_private=True)["oauth_config"]["scopes"]["bot"]
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


def inspect(
    slack: SlackReceiver,
    clock: ManualClock,
    *to: str,
    **settings: Any,  # noqa: ANN401 - any of `inspect_slack`'s
) -> dict[str, Finding]:
    values: dict[str, Any] = {
        "token": slack.token,
        "url": slack.url,
        "timeout": 5.0,
        "webhooks": ("team",),
        "sleep": clock.sleep,
    }
    found = inspect_slack([Destination.parse(one) for one in to], **(values | settings))
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
        assert called <= {method for scope in SCOPES for method in scope.methods}
    for left_out in LEAST:
        with (
            SlackReceiver(clock, channels=CHANNELS, scopes=set(LEAST) - {left_out}) as slack,
            pytest.raises(DeliveryError, match="missing_scope"),
        ):
            use_all(slack, clock, "papers")


def test_each_scope_is_the_one_slack_asks_for_where_its_methods_are_called() -> None:
    for scope in SCOPES:
        assert {METHODS[method] for method in scope.methods} == {scope.name}


def test_the_manifest_gives_each_scope_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["slack", "manifest"]) == 0
    assert capsys.readouterr().out == write_manifest(name="Digest", is_private=False)
    assert "    bot:\n      - chat:write        # to post digests\n" in write_manifest(name="x", is_private=False)
    assert '  name: "A: #lab"' in write_manifest(name="A: #lab", is_private=True)
    assert run_cli(["slack", "manifest", "--private", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["oauth_config"]["scopes"]["bot"] == ALL
    assert run_cli(["slack", "manifest", "--name", "x" * 36]) == 2


def test_what_is_in_order_is_said_to_be_and_nothing_is_posted(slack: SlackReceiver, clock: ManualClock) -> None:
    found = inspect(slack, clock, "slack:#papers", "slack:C000PAPERS", "slack:#secret", "mailto:a@example.org")
    assert {one.verdict for name, one in found.items() if name != "slack:#papers"} == {Verdict.OK}
    assert found["token"].said == "it belongs to the app digest in the workspace Demo"
    assert found["slack:#papers"].verdict is Verdict.NOTE
    assert "are one channel (C000PAPERS)" in found["slack:#papers"].said
    assert "#secret (C000SECRET, private): the app is a member" in found["slack:#secret"].said
    assert slack.messages == ()
    assert "chat.postMessage" not in slack.calls


@pytest.mark.parametrize(
    ("to", "verdict", "said", "todo"),
    [
        ("slack:#nowhere", "problem", "the app sees no such channel", "Check the name"),
        ("slack:C000NOWHERE", "problem", "the app sees no such channel", "Check the name"),
        ("slack:#attic", "problem", "#attic (C000ATTIC0, public) is archived", "Unarchive it"),
        ("slack:#lounge", "problem", "not a member of #lounge (C000LOUNGE, public)", "/invite @"),
        ("slack:U000SOMEBODY", "unknown", "can't be asked without posting", "alarms.to"),
        ("slack-webhook:team", "unknown", "can't be asked without posting", "digest alarm test"),
        ("slack-webhook:lab-2", "problem", "no webhook of that name has a URL", "DIGEST_SLACK_WEBHOOKS_LAB_2"),
    ],
)
def test_each_trouble_with_a_channel_is_told_with_what_to_do(  # noqa: PLR0917 - a row of the table above
    slack: SlackReceiver, clock: ManualClock, to: str, verdict: str, said: str, todo: str
) -> None:
    finding = inspect(slack, clock, to)[to]
    assert (finding.verdict, finding.is_silent) == (verdict, False)
    assert said in finding.said
    assert todo in finding.todo


@pytest.mark.parametrize("trouble", ["token_revoked", "account_inactive", "token_expired", "invalid_auth"])
def test_a_token_that_opens_nothing_is_all_that_is_told(
    slack: SlackReceiver, clock: ManualClock, trouble: str
) -> None:
    slack.trouble = trouble
    (finding,) = inspect(slack, clock, "slack:#papers").values()
    assert (finding.what, finding.verdict) == ("token", "problem")
    assert trouble in finding.said
    assert "DIGEST_SLACK_TOKEN" in finding.todo


def test_without_a_token_slack_is_not_asked(slack: SlackReceiver, clock: ManualClock) -> None:
    (finding,) = inspect(slack, clock, "slack:#papers", token="").values()
    assert (finding.what, finding.verdict) == ("token", "problem")
    assert slack.calls == ()


@pytest.mark.parametrize(
    ("left_out", "to", "verdict", "said"),
    [
        ("chat:write", "slack:#papers", "problem", "without chat:write, nothing can be posted"),
        ("channels:read", "slack:#papers", "problem", "without channels:read, channels can be named by id only"),
        ("channels:read", "slack:C000PAPERS", "ok", "all it needs"),
        ("channels:history", "slack:#papers", "note", "held until you say whether it arrived"),
    ],
)
def test_a_missing_scope_is_told_with_what_goes_wrong_without_it(
    clock: ManualClock, left_out: str, to: str, verdict: str, said: str
) -> None:
    with SlackReceiver(clock, channels=CHANNELS, scopes=set(LEAST) - {left_out}) as slack:
        found = inspect(slack, clock, to)
    assert found["scopes"].verdict == verdict
    assert said in found["scopes"].said
    assert (left_out in found["scopes"].todo) is (verdict != "ok")
    assert found[to].verdict == {"chat:write": "ok", "channels:history": "note"}.get(
        left_out, "unknown" if verdict == "ok" else "problem"
    )


def test_scopes_that_are_never_used_are_named(clock: ManualClock) -> None:
    with SlackReceiver(clock, channels=CHANNELS, scopes=[*LEAST, "files:write"]) as slack:
        finding = inspect(slack, clock, "slack:#papers")["scopes"]
    assert (finding.verdict, "files:write" in finding.said) == ("note", True)


def test_a_short_pause_that_slack_asks_for_is_waited_out(slack: SlackReceiver, clock: ManualClock) -> None:
    slack.faults.add("ratelimited", retry_after="7", path="conversations.list")
    assert inspect(slack, clock, "slack:#papers")["slack:#papers"].verdict is Verdict.OK
    assert clock.now() == NOW + timedelta(seconds=7)


def test_a_long_pause_or_no_answer_says_that_nobody_knows(slack: SlackReceiver, clock: ManualClock) -> None:
    slack.faults.add("ratelimited", retry_after="600", path="conversations.list")
    finding = inspect(slack, clock, "slack:#papers")["slack:#papers"]
    assert (finding.verdict, finding.is_silent, finding.todo) == ("unknown", True, "Try again in 600 s.")
    (finding,) = inspect(slack, clock, "slack:#papers", url="http://127.0.0.1:9/api/").values()
    assert (finding.what, finding.verdict, finding.is_silent) == ("token", "unknown", True)
    assert "can't be reached" in finding.said


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


def test_nothing_to_check_and_no_answer_have_exit_codes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digest.toml").write_text(CONFIG.format(url="http://127.0.0.1:9/api/", to="console"))
    assert run_cli(["slack", "check"]) == 0
    assert "Nothing goes to Slack" in capsys.readouterr().out
    monkeypatch.setenv("DIGEST_SLACK_TOKEN", "xoxb-demo")
    (tmp_path / "digest.toml").write_text(CONFIG.format(url="http://127.0.0.1:9/api/", to="slack:#papers"))
    assert run_cli(["slack", "check"]) == 4
