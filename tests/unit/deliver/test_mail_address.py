"""Which addresses may enter an SMTP envelope."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.deliver.transports.smtp_connection import Mailbox, parse_mailbox


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("reader@example.org", "reader@example.org"),
        ("First.Last+arxiv@Example.ORG", "First.Last+arxiv@example.org"),
        ("o'neil@example.org", "o'neil@example.org"),
        ("reader@bücher.example", "reader@xn--bcher-kva.example"),
        ("root@localhost", "root@localhost"),
        ("team@mail.office.local", "team@mail.office.local"),
        ("reader@Inbox.TEST", "reader@inbox.test"),
    ],
)
def test_an_address_keeps_its_local_part_and_gets_an_ascii_domain(text: str, address: str) -> None:
    assert parse_mailbox(text) == Mailbox(address, needs_utf8=False)


@pytest.mark.parametrize("text", ["jürgen@example.org", "用户@example.org", "jürgen@localhost"])
def test_only_a_local_part_beyond_ascii_needs_smtputf8(text: str) -> None:
    assert parse_mailbox(text).needs_utf8


@pytest.mark.parametrize(
    "text",
    [
        "",
        "reader",
        "@example.org",
        "reader@",
        "reader@example.org ",
        " reader@example.org",
        "two words@example.org",
        "<reader@example.org>",
        "Reader <reader@example.org>",
        "a@example.org,b@example.org",
        "reader@example.org\n",
        "reader@example.org>\r\nRCPT TO:<other@example.org",
        "reader\r\n@localhost",
        "reader@local host",
        "reader@x\r\nDATA\r\n.localhost",
        "reader@-.local",
        "reader@[127.0.0.1]",
        '"quoted part"@example.org',
        "a..b@example.org",
        "reader\0@example.org",
    ],
)
def test_what_is_no_bare_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_mailbox(text)


@given(
    st.text(st.sampled_from("abé@.<>\r\n\t \0;,:\u2028\u202e\"'"), max_size=20)
    | st.builds("{}@{}{}".format, st.text(max_size=8), st.text(max_size=8), st.sampled_from([".org", ".local"]))
)
def test_no_accepted_address_can_end_a_command_or_name_a_second_recipient(text: str) -> None:
    try:
        address = parse_mailbox(text).address
    except ValueError:
        return
    assert not set(address) & set(' \t\r\n\0<>,;"\u2028\u2029\x85\x0b\x0c')
    assert address.count("@") == 1
