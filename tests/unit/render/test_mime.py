"""A mail's header fields and body, as bytes that read back the same."""

from __future__ import annotations

import email
import email.policy
import quopri

import pytest
from hypothesis import given
from hypothesis import strategies as st

from digest.model.errors import ConfigurationError
from digest.render.mime import (
    check_address,
    check_atom,
    check_uri,
    join_mail,
    quote_printable,
    write_headers,
    write_list_id,
    write_mailbox,
    write_subject,
)


def _lines(name: str, value: str) -> list[str]:
    return write_headers([(name, value)]).decode("ascii").split("\r\n")


def test_a_plain_subject_stays_plain_and_folds_between_words() -> None:
    assert write_subject("9 papers: a title (Thu 19 Nov)") == "9 papers: a title (Thu 19 Nov)"
    lines = _lines("Subject", write_subject("word " * 40))
    assert all(len(line) <= 78 for line in lines)
    assert "".join(lines) == "Subject: " + ("word " * 40).strip()


def test_a_subject_in_other_letters_is_encoded_and_reads_back_the_same() -> None:
    subject = "9 papers: Tail latency below 10⁻³ s … שלום 共享加速器 (Thu 19 Nov)"
    raw = write_headers([("Subject", write_subject(subject))])
    assert all(len(line) <= 76 for line in raw.decode().split("\r\n"))
    assert email.message_from_bytes(raw, policy=email.policy.default)["Subject"] == subject


def test_a_subject_that_looks_encoded_is_shown_as_written() -> None:
    subject = "1 paper: =?utf-8?q?=0D=0ABcc=3A_x?= (Thu 19 Nov)"
    raw = write_headers([("Subject", write_subject(subject))])
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message["Subject"] == subject
    assert message.keys() == ["Subject"]


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_no_subject_whatever_adds_a_header_or_a_long_line(text: str) -> None:
    raw = write_headers([("Subject", write_subject(text)), ("To", "a@b.example")])
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert message.keys() == ["Subject", "To"]
    assert not message.defects
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    assert raw.count(b"\n") == raw.count(b"\r\n")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("", "digest@example.org"),
        ("Digest", '"Digest" <digest@example.org>'),
        ('Say "hi" \\', '"Say \\"hi\\" \\\\" <digest@example.org>'),
    ],
)
def test_a_sender_is_written_with_its_name_quoted(name: str, written: str) -> None:
    assert write_mailbox(name, "digest@example.org") == written


def test_a_senders_name_in_other_letters_reads_back_the_same() -> None:
    raw = write_headers([("From", write_mailbox("Günlük Özet", "digest@example.org"))])
    sender = email.message_from_bytes(raw, policy=email.policy.default)["From"].addresses[0]
    assert (sender.display_name, sender.addr_spec) == ("Günlük Özet", "digest@example.org")


def test_a_list_id_is_ascii_and_never_encoded() -> None:
    assert write_list_id("Größe & Güte", "groesse", "example.org") == '"Groe & Gute"\r\n <groesse.example.org>'
    assert write_list_id("论文", "papers", "example.org") == '"papers"\r\n <papers.example.org>'
    assert len(_lines("List-Id", write_list_id("x " * 200, "papers", "example.org"))[0]) < 78


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a",
        "a@",
        "@b.example",
        "a b@c.example",
        "a@b.example>\r\nRCPT TO:<x@y.example",
        "a\x00@b.example",
        "ä@b.example",
        "a@b@c.example",
    ],
)
def test_what_is_no_plain_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written") as caught:
        check_address(address)
    assert "reader@example.org" in caught.value.hint


def test_a_domain_in_other_letters_is_written_in_its_ascii_form() -> None:
    assert check_address("reader@bücher.example") == "reader@xn--bcher-kva.example"


@pytest.mark.parametrize("uri", ["", "https://a b", "https://a>b", "https://a\r\nX: y", "ftp://a", "javascript:x"])
def test_what_is_no_web_or_mail_address_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        check_uri(uri)


@pytest.mark.parametrize("atom", ["", "a b", "a\n", ".a", "a.", "a..b", "a@b", "a>b"])
def test_what_cannot_stand_in_an_id_is_refused(atom: str) -> None:
    with pytest.raises(ConfigurationError):
        check_atom(atom)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nBcc: b"),
        ("X", "a\nb"),
        ("X", "a\rb"),
        ("X", "é"),
        ("X y", "a"),
        ("X", "a\x00b"),
        ("X", "a" * 1_000),
    ],
)
def test_a_field_that_is_not_sound_is_never_written(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_headers([(name, value)])


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n =.F")))
def test_quoted_printable_reads_back_the_same_with_short_crlf_lines(text: str) -> None:
    raw = quote_printable(text)
    assert quopri.decodestring(raw).decode("utf-8") == text.replace("\n", "\r\n")
    assert all(len(line) <= 76 for line in raw.split(b"\r\n"))
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    assert not any(line.endswith((b" ", b"\t")) for line in raw.split(b"\r\n"))


def test_lines_that_mail_software_would_change_on_the_way_are_encoded() -> None:
    assert quote_printable("From me\n.\n..\n") == b"=46rom me\r\n=2E\r\n=2E.\r\n"


def test_a_mail_ends_with_its_last_boundary_and_the_boundary_occurs_nowhere_else() -> None:
    text = "--=_key--\n--=_key\n"
    raw = join_mail([("X", "y")], "key", quote_printable(text), quote_printable(text))
    assert raw.count(b"--=_key") == 3
    assert raw.endswith(b"\r\n--=_key--\r\n")
    assert raw.startswith(
        b"X: y\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/alternative;\r\n boundary="=_key"\r\n\r\n--=_key\r\n'
    )
