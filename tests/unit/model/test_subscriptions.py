import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.announcements import Kind
from digest.model.cadences import Cadence, CadenceKind
from digest.model.destinations import Destination, DestinationKind, normalise_address
from digest.model.errors import ConfigurationError, UsageError
from digest.model.subscriptions import NAME, Subscription


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
def test_a_destination_names_a_way_out_and_an_address(
    text: str, kind: DestinationKind, address: str
) -> None:
    destination = Destination.parse(text)
    assert destination == Destination(kind, address)
    assert Destination.parse(str(destination)) == destination


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("reader@example.org", "is not a destination"),
        ("", "is not a destination"),
        ("fax:+49", "is not a destination"),
        *(
            ("mailto:", "has no address"),
            ("slack: ", "has no address"),
            ("mailto", "has no address"),
        ),
        *(("feed:x", "has no address"), ("console:", "has no address")),
    ],
)
def test_a_destination_that_leads_nowhere_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Destination.parse(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("feed", True), ("file:a.atom", True), ("file:a.xml", True), ("file:a.JSON", True)),
        *(
            ("file:a.atom/", False),
            ("file:out/", False),
            ("console", False),
            ("mailto:x@example.org", False),
        ),
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
        *(
            "",
            "reader",
            "@example.org",
            "reader@",
            "reader@example",
            "a b@example.org",
            "a@b@example.org",
        ),
        *("Reader <reader@example.org>", "x@y.example>\r\nRCPT TO:<z@y.example>"),
        *(
            "a@example.org\nBcc: b@example.org",
            "a\x00@example.org",
            "ä@example.org",
            "a b@localhost",
        ),
        *("a\r\nb@localhost", "a@.localhost", "a@b..test"),
        "x" * 65 + "@localhost",
    ],
)
def test_what_is_no_mail_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not an e-mail address") as caught:
        normalise_address(text)
    assert "reader@example.org" in caught.value.hint


@given(st.text() | st.text(st.sampled_from("abé@.<>\r\n\t \0;,:\u2028\u202e\"'"), max_size=20))
def test_no_text_becomes_an_address_that_could_break_a_header(text: str) -> None:
    for attempt in (text, f"{text}@example.org", f"a@{text}", f"{text}@localhost"):
        try:
            address = normalise_address(attempt)
        except UsageError:
            continue
        assert address.isascii()
        assert address.isprintable()
        assert address.count("@") == 1
        assert not set(' <>,;"') & set(address)
        assert normalise_address(address) == address
