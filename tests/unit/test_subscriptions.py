from datetime import time
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.announcements import Kind
from digest.errors import ConfigurationError, UsageError
from digest.subscriptions import (
    NAME,
    Cadence,
    CadenceKind,
    Destination,
    DestinationKind,
    Subscription,
    normalise_address,
)

ZONES = sorted(zone for zone in available_timezones() if "/" in zone or zone == "UTC")
CLOCK_CADENCES = st.builds(
    Cadence,
    kind=st.just(CadenceKind.CLOCK),
    days=st.frozensets(st.integers(0, 6), min_size=1),
    at=st.builds(time, st.integers(0, 23), st.integers(0, 59)),
    zone=st.sampled_from(ZONES),
)
CADENCES = st.one_of(
    CLOCK_CADENCES, st.sampled_from([Cadence(CadenceKind.ANNOUNCEMENT), Cadence(CadenceKind.AT_ONCE)])
)
WORDS = [
    "every",
    "on",
    "and",
    "daily",
    "weekdays",
    "mondays",
    "day",
    "at",
    "at once",
    "09:00",
    "25:61",
    "UTC",
    ",",
    "x",
]


@given(CADENCES)
def test_a_cadence_reads_back_from_what_it_prints(cadence: Cadence) -> None:
    assert Cadence.parse(str(cadence)) == cadence


@given(CADENCES)
def test_case_and_white_space_do_not_change_a_cadence(cadence: Cadence) -> None:
    phrase = str(cadence)
    if cadence.kind is CadenceKind.CLOCK:
        days, _, rest = phrase.partition(" at ")
        phrase = f"  {days.upper()}\n AT  {rest} "
    assert Cadence.parse(phrase) == cadence


@pytest.mark.parametrize(
    ("phrase", "days", "at", "zone"),
    [
        ("weekdays at 09:00 Europe/Berlin", {0, 1, 2, 3, 4}, time(9), "Europe/Berlin"),
        ("every weekday at 9:00 Europe/Berlin", {0, 1, 2, 3, 4}, time(9), "Europe/Berlin"),
        ("daily at 07:30", {0, 1, 2, 3, 4, 5, 6}, time(7, 30), "UTC"),
        ("every day at 7.30", {0, 1, 2, 3, 4, 5, 6}, time(7, 30), "UTC"),
        ("mondays at 08:00 America/New_York", {0}, time(8), "America/New_York"),
        ("on Mondays and Thursdays at 08:00", {0, 3}, time(8), "UTC"),
        ("monday, wednesday, and friday at 23:59 Etc/GMT+5", {0, 2, 4}, time(23, 59), "Etc/GMT+5"),
        ("Saturdays at 00:00 UTC", {5}, time(0), "UTC"),
    ],
)
def test_a_phrase_people_write_names_days_a_time_and_a_zone(
    phrase: str, days: set[int], at: time, zone: str
) -> None:
    assert Cadence.parse(phrase) == Cadence(CadenceKind.CLOCK, frozenset(days), at, zone)


@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("", "is not a time a digest can be due"),
        ("sometimes", "is not a time a digest can be due"),
        ("daily at noon", "is not a time a digest can be due"),
        ("at 09:00", "is not a time a digest can be due"),
        ("daily at 24:00", "there is no 24:00 o'clock"),
        ("daily at 09:60", "there is no 9:60 o'clock"),
        ("daily at 09:00 Europe/Berlni", "no time zone called Europe/Berlni"),
        ("daily at 09:00 Europe", "no time zone called Europe"),
        ("daily at 09:00 /etc/passwd", "no time zone called /etc/passwd"),
        ("moondays at 09:00", "'moondays' is no day"),
        ("every at 09:00", "names no day"),
        ("on and at 09:00", "names no day"),
        (", at 09:00", "names no day"),
    ],
)
def test_a_phrase_that_says_no_time_is_refused_with_a_way_out(phrase: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        Cadence.parse(phrase)
    assert caught.value.hint or "o'clock" in words


@given(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join))
def test_any_phrase_gives_a_cadence_with_days_or_a_configuration_error(phrase: str) -> None:
    try:
        cadence = Cadence.parse(phrase)
    except ConfigurationError:
        return
    assert cadence.days
    assert Cadence.parse(str(cadence)) == cadence


@pytest.mark.parametrize(
    ("text", "kind", "address"),
    [
        ("mailto:reader@example.org", DestinationKind.MAIL, "reader@example.org"),
        ("slack:#papers", DestinationKind.SLACK, "#papers"),
        ("slack:C0123456789", DestinationKind.SLACK, "C0123456789"),
        ("slack-webhook:team", DestinationKind.SLACK_WEBHOOK, "team"),
        ("feed", DestinationKind.FEED, ""),
        (" console ", DestinationKind.CONSOLE, ""),
        ("file:feeds/gpu.atom", DestinationKind.FILE, "feeds/gpu.atom"),
        ("file:C:/feeds", DestinationKind.FILE, "C:/feeds"),
    ],
)
def test_a_destination_names_a_way_out_and_an_address(text: str, kind: DestinationKind, address: str) -> None:
    destination = Destination.parse(text)
    assert destination == Destination(kind, address)
    assert Destination.parse(str(destination)) == destination


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("reader@example.org", "names no way out"),
        ("", "names no way out"),
        ("fax:+49", "names no way out"),
        ("mailto:", "lacks an address"),
        ("slack: ", "lacks an address"),
        ("mailto", "lacks an address"),
        ("feed:x", "takes no address"),
        ("console:", "takes no address"),
    ],
)
def test_a_destination_that_leads_nowhere_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Destination.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("feed", True),
        ("file:a.atom", True),
        ("file:a.xml", True),
        ("file:a.json", True),
        ("file:out", False),
        ("file:out/", False),
        ("console", False),
        ("mailto:x@example.org", False),
        ("slack:#a.atom", False),
    ],
)
def test_feeds_and_feed_files_are_pulled_all_else_is_sent(text: str, *, expected: bool) -> None:
    destination = Destination.parse(text)
    assert destination.is_pulled is expected
    subscription = Subscription("a", ("q",), (destination,), Cadence(CadenceKind.AT_ONCE))
    assert subscription.has_digests is not expected


def test_a_subscription_sends_new_papers_and_cross_lists_unless_told_otherwise() -> None:
    subscription = Subscription("a", ("q",), (), Cadence(CadenceKind.AT_ONCE))
    assert subscription.kinds == (Kind.NEW, Kind.CROSS_LIST)
    assert not subscription.has_digests


@pytest.mark.parametrize("name", ["perf-team", "a", "9", "gpu.static", "a_b", "x" * 63])
def test_names_are_small_letters_digits_dots_dashes_and_underscores(name: str) -> None:
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "Perf", "-a", ".a", "a b", "a/b", "ä", "x" * 64, "a\n"])
def test_what_would_not_fit_an_address_or_file_name_is_no_name(name: str) -> None:
    assert not NAME.fullmatch(name)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("reader@example.org", "reader@example.org"),
        (" Reader@Example.ORG ", "reader@example.org"),
        ("a.b+tag@example.org", "a.b+tag@example.org"),
        ("reader@bücher.example", "reader@xn--bcher-kva.example"),
        ("Reader@XN--BCHER-KVA.example", "reader@xn--bcher-kva.example"),
        ("root@localhost", "root@localhost"),
        ("You@Mail.Local", "you@mail.local"),
        ("a@b.test", "a@b.test"),
    ],
)
def test_every_spelling_of_a_mail_address_becomes_one(text: str, address: str) -> None:
    assert normalise_address(text) == address
    assert normalise_address(address) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "reader",
        "@example.org",
        "reader@",
        "reader@example",
        "a b@example.org",
        "a@b@example.org",
        "Reader <reader@example.org>",
        "x@y.example>\r\nRCPT TO:<z@y.example>",
        "a@example.org\nBcc: b@example.org",
        "a\x00@example.org",
        "ä@example.org",
        "a b@localhost",
        "a\r\nb@localhost",
        "a@.localhost",
        "a@b..test",
        "x" * 65 + "@localhost",
    ],
)
def test_what_is_no_mail_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an e-mail address") as caught:
        normalise_address(text)
    assert "reader@example.org" in caught.value.hint


@given(st.text())
def test_no_text_becomes_an_address_that_could_break_a_header(text: str) -> None:
    for attempt in (text, f"{text}@example.org", f"a@{text}", f"{text}@localhost"):
        try:
            address = normalise_address(attempt)
        except UsageError:
            continue
        assert address.isascii()
        assert address.isprintable()
        assert not set(' <>,;"') & set(address)
        assert normalise_address(address) == address
