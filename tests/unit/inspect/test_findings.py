"""What a check finds: waited for, judged, and shown without what should not be pasted."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest

from digest.inspect.doctor import judge_clock
from digest.inspect.findings import Finding, Verdict, hide, mask_query, run_checks

NOW = datetime(2026, 11, 20, 8, 20, tzinfo=UTC)


def test_a_check_that_never_ends_is_given_up_and_the_others_are_told() -> None:
    is_over = threading.Event()

    def hang() -> list[Finding]:
        is_over.wait()
        return []

    found = list(run_checks({"slow": hang, "fast": lambda: [Finding(Verdict.OK, "fast", "done")]}, 0.2))
    is_over.set()
    assert [(one.check, one.verdict) for one in found] == [("slow", Verdict.PROBLEM), ("fast", Verdict.OK)]


@pytest.mark.parametrize(
    ("off", "words"),
    [(0, "right within a minute"), (-59, "right within a minute"), (300, "5 min ahead of"), (-7200, "2 h behind")],
)
def test_a_clock_is_right_within_a_minute_of_arxivs(off: int, words: str) -> None:
    found = judge_clock(NOW + timedelta(seconds=off), NOW)
    assert words in found.said
    assert bool(found.todo) is (found.verdict is Verdict.WARNING)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("no mail for a.b+c@lab.net, ask x@y.net.", "no mail for <address>, ask <address>."),
        ("smtp://me@mail.lab.net:25 is away", "smtp://<address>:25 is away"),
        ("there is no channel #ops that the app can see", "there is no channel #… that the app can see"),
        ("channel C000PAPERS, token xoxb-12-ab", "channel <channel>, token <token>"),
        ("saved query gpu finds ti:gpu", "saved query gpu finds <query>"),
    ],
)
def test_addresses_channels_tokens_and_queries_are_left_out(said: str, shown: str) -> None:
    assert hide(Finding(Verdict.OK, "x", said, more=said), {"ti:gpu": "<query>"}) == Finding(
        Verdict.OK, "x", shown
    )


def test_what_to_do_keeps_its_own_words_and_examples() -> None:
    todo = 'Write mailto:you@example.org, or kinds = ["new"]. `to` takes slack:NAME, too.'
    assert hide(Finding(Verdict.PROBLEM, "configuration", "x", todo), {"ti:new": "<query>"}).todo == todo


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("abs:gpu AND NOT ti:(gpu or CPU)", "abs:worda AND NOT ti:(worda or wordb)"),
        ("math.NT cat:hep-th the zeta*", "math.NT cat:hep-th the worda*"),
        ("submittedDate:[20260101 TO *]", "submittedDate:[20260101 TO *]"),
        (
            "https://arxiv.org/search/?query=a+zeta&searchtype=all",
            "https://arxiv.org/search/?query=a+worda&searchtype=all",
        ),
    ],
)
def test_a_query_keeps_its_form_without_its_words(query: str, shown: str) -> None:
    assert mask_query(query) == shown


def test_values_of_the_file_are_left_out_of_its_mistakes() -> None:
    said = "mail.smtp: 'smtp:/x' can't be read; see https://x.net/a, slack:#b and \"c\""
    shown = "mail.smtp: '…' can't be read; see https://…, … and \"…\""
    assert hide(Finding(Verdict.PROBLEM, "configuration", said), {}).said == shown
