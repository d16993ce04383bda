"""What a check finds: waited for, judged, and shown without what should not be pasted."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta

import pytest

from digest.inspect.doctor import compare_clocks
from digest.inspect.findings import Finding, Verdict, hide_private, run_checks

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
