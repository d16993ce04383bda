"""What a check finds: waited for, judged, and shown without what should not be pasted."""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from digest.config import Config, load_config, values
from digest.config.addresses import read_private_url
from digest.config.declarations import Secrecy, variable_of
from digest.config.settings import SETTINGS
from digest.inspect import findings
from digest.inspect.doctor import check_proxy, compare_clocks, list_network_checks
from digest.inspect.findings import (
    Finding,
    Verdict,
    build_mask,
    hide_private,
    hide_secrets,
    list_private,
    list_public_log,
    list_secrets,
    run_checks,
)
from digest.model.destinations import TRAITS, DestinationKind

NOW = datetime(2026, 11, 20, 8, 20, tzinfo=UTC)


def test_a_check_that_never_ends_is_given_up_and_the_others_are_told() -> None:
    is_over = threading.Event()

    def hang() -> list[Finding]:
        is_over.wait()
        return []

    found = list(
        run_checks({"slow": hang, "fast": lambda: [Finding(Verdict.OK, "fast", "done")]}, 0.2)
    )
    is_over.set()
    assert [(one.check, one.verdict) for one in found] == [
        ("slow", Verdict.PROBLEM),
        ("fast", Verdict.OK),
    ]


@pytest.mark.parametrize(
    ("off", "words"),
    [
        (0, "right within a minute"),
        (-59, "right within a minute"),
        (300, "5 min ahead of"),
        (-7200, "2 h behind"),
    ],
)
def test_a_clock_is_right_within_a_minute_of_arxivs(off: int, words: str) -> None:
    found = compare_clocks(NOW + timedelta(seconds=off), NOW)
    assert words in found.said
    assert bool(found.todo) is (found.verdict is Verdict.WARNING)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no mail for a.b+c@lab.net, ask x@y.net.", "no mail for <address>, ask <address>."),
        ("smtp://me@mail.lab.net:25 is away", "smtp://<address>:25 is away"),
        (
            "there is no channel #ops that the app can see",
            "there is no channel #… that the app can see",
        ),
        ("channel C000PAPERS, token xoxb-12-ab", "channel <channel>, token <token>"),
        ("saved query gpu finds ti:gpu", "saved query gpu finds <query>"),
        ("the proxy http://[2001:db8::5]:3128, from X", "the proxy http://<proxy>:3128, from X"),
        (
            "the proxy http://10.1.2.3:3128, at 10.9.8.7.",
            "the proxy http://<proxy>:3128, at <host>.",
        ),
        (
            "logging in to smtps://mx:465 as ada needs it",
            "logging in to smtps://mx:465 as <name> needs it",
        ),
        ("it can't be made in /home/ada/my-papers/x.db.", "it can't be made in <path>."),
        (
            "/livez answers 404; revision 20260101/2, and/or",
            "/livez answers 404; revision 20260101/2, and/or",
        ),
    ],
)
def test_addresses_channels_tokens_and_queries_are_left_out(said: str, shown: str) -> None:
    assert hide_private(
        Finding(Verdict.OK, "x", said, more=said), {"ti:gpu": "<query>"}
    ) == Finding(Verdict.OK, "x", shown)


def test_what_to_do_keeps_its_own_words_and_examples() -> None:
    todo = (
        'Write mailto:you@example.org, or kinds = ["new"]. '
        "`to` takes slack:#papers, too, and 10.0.0.5."
    )
    assert (
        hide_private(
            Finding(Verdict.PROBLEM, "configuration", "x", todo), {"ti:new": "<query>"}
        ).todo
        == todo
    )


@pytest.mark.parametrize(
    ("check", "said", "todo", "shown"),
    [
        ("configuration", "there is no saved query 'ada'", 'Write "all:ada".', 'Write "all:…".'),
        (
            "configuration",
            "'file://ada' is wrong",
            "Write file:ada, without.",
            "Write file:…, without.",
        ),
        ("configuration", "is there, too", 'Write:\nfollow = "all:ada"', "Write:"),
        ("database", 'postgresql://u:***@db/x: role "ada" at 10.0.0.9', "Ask.", "Ask."),
    ],
)
def test_values_of_the_file_are_left_out_of_what_to_do_and_of_a_databases_words(
    check: str, said: str, todo: str, shown: str
) -> None:
    hidden = hide_private(Finding(Verdict.PROBLEM, check, said, todo), {})
    assert hidden.todo == shown
    assert not re.search(r"ada|db|10\.", hidden.said)


def test_values_of_the_file_are_left_out_of_its_mistakes() -> None:
    said = "mail.smtp: 'smtp:/x' can't be read; see https://x.net/a, slack:#b and \"c\""
    shown = "mail.smtp: '…' can't be read; see https://…, … and \"…\""
    assert hide_private(Finding(Verdict.PROBLEM, "configuration", said), {}).said == shown


SECRET_VALUES: dict[Callable[[object], Any], str] = {
    values.read_line: "hushed-value",
    values.read_state_key: b64encode(bytes(range(32))).decode(),
    read_private_url: "https://ping.example.org/hushed-value",
}
"""What a secret may be, by what reads it."""

SECRET_SETTINGS = [setting for setting in SETTINGS if setting.secrecy is Secrecy.SECRET]
SENDER = {"DIGEST_MAIL_FROM": "digest@example.org", "DIGEST_MAIL_SMTP": "smtp://me@localhost"}


def read_variables(**more: str) -> Config:
    return load_config(None, {**SENDER, **more})


@pytest.mark.parametrize("setting", SECRET_SETTINGS, ids=lambda setting: setting.key)
def test_each_secret_setting_is_shown_neither_here_nor_to_strangers_nor_in_a_public_log(
    setting: Any,  # noqa: ANN401 - pytest passes it on
) -> None:
    secret = SECRET_VALUES[setting.read]
    config = read_variables(**{variable_of(setting.key): secret})
    assert list_secrets(config) == {secret: "<secret>"}
    said = Finding(Verdict.OK, "x", f"it is {secret}")
    assert secret not in hide_secrets(said, list_secrets(config)).said
    assert secret not in hide_private(said, list_private(config)).said
    assert secret not in build_mask(list_public_log(config))(said.said)


def test_a_setting_is_masked_because_its_declaration_says_that_it_is_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = read_variables(DIGEST_MAIL_FROM_NAME="hushed-value")
    assert list_secrets(config) == {}
    (row,) = (setting for setting in SETTINGS if setting.key == "mail.from_name")
    monkeypatch.setattr(findings, "SETTINGS", [replace(row, secrecy=Secrecy.SECRET)])
    assert list_secrets(config) == {"hushed-value": "<secret>"}


@pytest.mark.parametrize(("is_named", "shown"), [(False, "<channel 1>"), (True, "hidden-room")])
def test_an_address_that_is_no_name_of_the_operators_is_left_out_whatever_its_kind(
    monkeypatch: pytest.MonkeyPatch, *, is_named: bool, shown: str
) -> None:
    row = TRAITS[DestinationKind.DISCORD]
    monkeypatch.setitem(TRAITS, DestinationKind.DISCORD, replace(row, is_named=is_named))
    config = read_variables(DIGEST_ALARMS_TO="discord:hidden-room")
    said = Finding(Verdict.OK, "x", "in hidden-room")
    assert hide_private(said, list_private(config)).said == f"in {shown}"


@pytest.mark.parametrize(
    ("more", "asked"),
    [
        ({}, {"mail server", "DNS", "Zotero"}),
        ({"DIGEST_MAIL_FROM": ""}, {"Zotero"}),
        ({"DIGEST_MAIL_FROM": "", "DIGEST_ALARMS_TO": "slack:#ops"}, {"Slack", "Zotero"}),
        ({"DIGEST_MAIL_FROM": "", "DIGEST_ALARMS_TO": "slack-webhook:ops"}, {"Zotero"}),
        ({"DIGEST_MAIL_FROM": "", "DIGEST_SLACK_TOKEN": "xoxb-1"}, {"Slack", "Zotero"}),
        (
            {"DIGEST_MAIL_FROM": "", "DIGEST_WEB_BASE_URL": "https://example.org"},
            {"Zotero", "base_url"},
        ),
    ],
)
def test_another_machine_is_asked_if_its_setting_is_there_or_a_channel_needs_it(
    more: dict[str, str], asked: set[str]
) -> None:
    assert {check.name for check in list_network_checks(read_variables(**more))} == asked


def test_a_proxy_is_named_whichever_setting_has_the_address_that_goes_through_it() -> None:
    proxy = "http://proxy.example.org:3128"
    config = read_variables(DIGEST_MAIL_SMTP="smtp://mx.example.org", ALL_PROXY=proxy, NO_PROXY="*")
    assert list(check_proxy(config)) == []
    config = read_variables(ALL_PROXY=proxy, NO_PROXY="arxiv.org,slack.com")
    (found,) = check_proxy(config)
    assert found.said == f"requests go through the proxy {proxy}, from ALL_PROXY"
