"""Texts cleaned, cut, flowed, dated, and escaped for Slack."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from digest.model.messages import Occasion
from digest.render.digests import name_slot, write_days
from digest.render.mime import flow_text, wrap_text
from digest.render.samples import make_coverage, make_digest
from digest.render.text import (
    Mrkdwn,
    clean_text,
    escape_text,
    link,
    shorten,
    slack_escape,
    to_plain_text,
)

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)


def test_controls_direction_overrides_and_invisible_characters_are_taken_out() -> None:
    assert (
        clean_text("a\x00b\x1b[1m \u202ex\u202c \u2066y\u2069 z\u200b\ufeff\ufffe\ud800")
        == "ab[1m x y z"
    )


def test_every_kind_of_line_end_becomes_one_blank() -> None:
    assert clean_text(" one\r\ntwo\x0bthree\u2028four\x85five ") == "one two three four five"


def test_joiners_that_scripts_need_and_hard_blanks_stay() -> None:
    assert clean_text("می\u200cخواهم 10\u00a0s") == "می\u200cخواهم 10\u00a0s"


@given(ANY_TEXT)
def test_cleaned_text_is_valid_xml_and_stays_as_it_is_when_cleaned_again(text: str) -> None:
    cleaned = clean_text(text)
    element = etree.Element("x")
    element.text = cleaned
    assert etree.fromstring(etree.tostring(element, encoding="utf-8")).text in (cleaned, None)
    assert clean_text(cleaned) == cleaned


def test_a_text_is_cut_between_words() -> None:
    assert shorten("Tail latency below a millisecond", 20) == "Tail latency below …"
    assert shorten("short", 20) == "short"


def test_a_text_without_blanks_is_cut_within_but_never_between_a_letter_and_its_accent() -> None:
    assert shorten("x" * 30, 10) == "x" * 8 + " …"
    assert shorten("e\u0301" * 30, 10) == "e\u0301" * 4 + " …"
    assert shorten("a" + "e\u0301" * 30, 10) == "a" + "e\u0301" * 3 + " …"


@given(ANY_TEXT, st.integers(3, 60))
def test_a_shortened_text_is_never_longer_than_allowed(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit


def test_several_days_are_written_with_what_differs() -> None:
    assert write_days(date(2026, 11, 17), date(2026, 11, 19)) == "17–19 November"
    assert write_days(date(2026, 11, 30), date(2026, 12, 2)) == "30 November – 2 December"
    assert write_days(date(2026, 12, 30), date(2027, 1, 4)) == "30 December 2026 – 4 January 2027"


@pytest.mark.parametrize(
    "slot", ["2026-11-20", "2026-11-22", "mailing:2026-11-19", "2026-W48", "run:17"]
)
def test_a_digest_is_called_after_its_announcement_whenever_it_goes_out(slot: str) -> None:
    assert name_slot(make_digest((), slot=slot)) == ("Thu 19 Nov", "Thursday 19 November 2026")


def test_a_digest_before_any_check_is_called_after_its_turn() -> None:
    unchecked = replace(make_coverage(0), announcement=None)
    assert name_slot(make_digest((), slot="2026-11-20", coverage=unchecked))[0] == "Fri 20 Nov"


@pytest.mark.parametrize(
    ("slot", "since", "announcement", "names"),
    [
        ("2026-W48", date(2026, 11, 15), date(2026, 11, 19), ("15–19 Nov", "15–19 November 2026")),
        (
            "2027-W02",
            date(2026, 12, 30),
            date(2027, 1, 4),
            ("30 Dec 2026 – 4 Jan 2027", "30 December 2026 – 4 January 2027"),
        ),
        ("2026-W48", None, date(2026, 11, 19), ("Thu 19 Nov", "Thursday 19 November 2026")),
    ],
)
def test_a_week_is_called_after_the_announcements_it_covers_not_the_week_it_goes_out_in(
    slot: str, since: date | None, announcement: date, names: tuple[str, str]
) -> None:
    week = make_coverage(1, since=since, announcement=announcement)
    assert name_slot(make_digest((), slot=slot, coverage=week)) == names


@pytest.mark.parametrize(
    ("zone", "day"), [("Europe/Berlin", "Fri 20 Nov"), ("America/New_York", "Thu 19 Nov")]
)
def test_a_first_digest_is_called_after_the_local_day_of_planning(zone: str, day: str) -> None:
    planned = datetime(2026, 11, 19, 23, 30, tzinfo=UTC)
    first = make_digest(
        (), slot="run:17", planned_at=planned, zone=zone, occasion=Occasion.FIRST_DIGEST
    )
    assert name_slot(first)[0] == day


def read_flowed(text: str) -> str:
    """Undo format=flowed as RFC 3676 §4.4 says, with delsp=no."""
    lines: list[str] = []
    is_open = False
    for raw in text.split("\n"):
        line = raw.removeprefix(" ")
        if is_open:
            lines[-1] += line
        else:
            lines.append(line)
        is_open = line.endswith(" ") and line != "-- "
    return "\n".join(lines)


def test_paragraphs_are_broken_softly_and_read_back_whole() -> None:
    text = "word " * 60 + "end"
    flowed = flow_text(text)
    assert all(len(line) <= 78 for line in flowed.split("\n"))
    assert read_flowed(flowed) == text


def test_a_link_stays_on_its_own_line_whole() -> None:
    link = "https://digest.example.org/d/" + "x" * 120
    assert flow_text(f"See:\n{link}\n") == f"See:\n{link}\n"


def test_a_text_without_blanks_stays_with_its_number() -> None:
    assert flow_text("6. " + "论" * 90) == "6. " + "论" * 90


def test_lines_that_would_mean_something_else_are_stuffed() -> None:
    assert (
        flow_text("> quoted\nFrom me\n indented\n-- \nname")
        == " > quoted\n From me\n  indented\n-- \nname"
    )


def test_a_line_that_ends_in_blanks_does_not_run_into_the_next() -> None:
    assert flow_text("one   \ntwo") == "one\ntwo"


@given(st.lists(st.text(st.sampled_from("ab >-F  é")), max_size=6).map("\n".join))
def test_whatever_is_flowed_reads_back_but_for_trailing_blanks(text: str) -> None:
    lines = [line if line == "-- " else line.rstrip(" ") for line in text.split("\n")]
    assert read_flowed(flow_text(text)) == "\n".join(lines)


def test_hard_lines_are_no_longer_than_asked_for() -> None:
    wrapped = wrap_text("word " * 60, 40)
    assert max(len(line) for line in wrapped.split("\n")) <= 40
    assert wrapped.replace("\n", " ") == ("word " * 60).strip()


def test_exactly_three_characters_are_escaped() -> None:
    assert escape_text("a & b < c > d ' \"") == "a &amp; b &lt; c &gt; d ' \""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("*bold* ~gone~ `code`", "∗bold∗ \u223cgone\u223c ˋcodeˋ"),
        ("_sly_ but snake_case", "ˍslyˍ but snake_case"),
        ("__init__", "ˍˍinitˍˍ"),
        ("@here @Channel mail@herens.example", "\uff20here \uff20Channel mail\uff20herens.example"),
        (":tada: at 10:30 and a::b", "\u2236tada\u2236 at 10:30 and a::b"),
        ("one\ntwo\u202e", "one two"),
    ],
)
def test_formatting_mentions_and_emoji_become_look_alikes(text: str, shown: str) -> None:
    assert escape_text(text) == shown


def test_text_that_is_mrkdwn_already_stays() -> None:
    assert slack_escape(Mrkdwn("*<x>*")) == "*<x>*"
    assert slack_escape("<x>") == "\x02&lt;x&gt;\x03"
    assert slack_escape(7) == "\x027\x03"


def test_a_link_holds_a_label_that_cannot_end_it() -> None:
    assert link("https://arxiv.org/abs/2611.15001v1", "a|b>c") == (
        "<https://arxiv.org/abs/2611.15001v1|a\u2223b&gt;c>"
    )
    assert (
        link("https://digest.example.org/?a=1&b=2", "x")
        == "<https://digest.example.org/?a=1&amp;b=2|x>"
    )


@pytest.mark.parametrize(
    "url", ["", "javascript:alert(1)", "https://a|b", "https://a b", "https://a>b", "ftp://a"]
)
def test_what_is_no_plain_web_address_is_no_link(url: str) -> None:
    assert link(url, "label") == "label"


def test_plain_text_objects_get_no_entities_and_no_brackets() -> None:
    assert to_plain_text(slack_escape("a & <b>")) == "a & \u2039b\u203a"


@given(st.text(st.characters(exclude_categories=()), max_size=80))
def test_no_text_whatever_holds_markup_once_escaped(text: str) -> None:
    shown = escape_text(text)
    assert not set(shown) & set("<>*`~\n\x00\u202e")
    assert "@here" not in shown.lower()
