"""A mail's header fields and body, as bytes that read back the same."""

from __future__ import annotations

import email
import email.policy
import re
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from digest.model.errors import ConfigurationError
from digest.render.mime import (
    check_address,
    check_atom,
    check_uri,
    write_list_id,
    write_mail,
    write_mailbox,
    write_subject,
)

MIME = ["Content-Transfer-Encoding", "Content-Type", "MIME-Version", "Content-Language"]


def _write_field(name: str, value: str) -> bytes:
    return write_mail([(name, value)], "key", "")


def _lines(name: str, value: str) -> list[str]:
    head, _, _ = _write_field(name, value).partition(b"\r\nContent-")
    return head.decode("ascii").split("\r\n")


def _read(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert all(part.defects == [] for part in message.walk())
    return message


def test_a_plain_subject_stays_plain_and_folds_between_words() -> None:
    assert write_subject("9 papers: a title (Thu 19 Nov)") == "9 papers: a title (Thu 19 Nov)"
    lines = _lines("Subject", write_subject("word " * 40))
    assert all(len(line) <= 78 for line in lines)
    assert "".join(lines) == "Subject: " + ("word " * 40).strip()


def test_a_subject_in_other_letters_is_encoded_and_reads_back_the_same() -> None:
    subject = "9 papers: Tail latency below 10⁻³ s … שלום 共享加速器 (Thu 19 Nov)"
    raw = _write_field("Subject", write_subject(subject))
    assert all(len(line) <= 76 for line in raw.decode().split("\r\n"))
    assert _read(raw)["Subject"] == subject


def test_a_subject_that_looks_encoded_is_shown_as_written() -> None:
    subject = "1 paper: =?utf-8?q?=0D=0ABcc=3A_x?= (Thu 19 Nov)"
    message = _read(_write_field("Subject", write_subject(subject)))
    assert message["Subject"] == subject
    assert message.keys() == ["Subject", *MIME]


@given(st.text(st.characters(exclude_categories=()), max_size=200))
@example("a\r\nBcc: b@c.example\r\n\r\nhello")
@example("=?utf-8?b?DQpCY2M6IGJAYy5leGFtcGxl?=")
def test_no_subject_or_name_whatever_adds_a_header_or_a_long_line(text: str) -> None:
    fields = [
        ("Subject", write_subject(text)),
        ("From", write_mailbox(text, "a@b.example")),
        ("List-Id", write_list_id(text, "papers", "example.org")),
    ]
    raw = write_mail(fields, "key", "")
    message = _read(raw)
    assert message.keys() == ["Subject", "From", "List-Id", *MIME]
    assert [one.addr_spec for one in message["From"].addresses] == ["a@b.example"]
    assert str(message["List-Id"]).endswith("<papers.example.org>")
    assert all(len(line) <= 998 for line in raw.split(b"\r\n"))
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("", "digest@example.org"),
        ("Digest", "Digest <digest@example.org>"),
        ("Digest, daily", '"Digest, daily" <digest@example.org>'),
        ('Say "hi" \\', '"Say \\"hi\\" \\\\" <digest@example.org>'),
    ],
)
def test_a_sender_is_written_with_its_name_quoted_if_it_has_to_be(name: str, written: str) -> None:
    assert write_mailbox(name, "digest@example.org") == written


NAMES = (
    "Größe und Form",
    "Müller, Jörg; <ops@b.example>",
    "=?utf-8?q?Ada?=",
    "论文：量子计算 与 几何",
    "أوراق جديدة عن الرياضيات",
    "מאמרים חדשים, כל יום",
    "Papers 🚀 👩🏽‍🔬 daily",
    "Papers, daily",
    'The "best" \\ of (all)',
    "字" * 60,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_any_letters_reads_back_the_same_in_each_field(name: str) -> None:
    fields = [
        ("From", write_mailbox(name, "digest@example.org")),
        ("List-Id", write_list_id(name, "papers", "example.org")),
        ("Subject", write_subject(name)),
    ]
    raw = write_mail(fields, "key", "").partition(b"\r\nContent-")[0].decode("ascii")
    assert all(len(line) <= 76 for line in raw.split("\r\n"))
    list_id = re.search(r"(?s)\r\nList-Id: (.*?)\r\n(?! )", raw)
    assert list_id is not None
    (named,) = getaddresses([list_id[1].replace("\r\n", "")])
    assert str(make_header(decode_header(named[0]))) == name
    assert named[1] == "papers.example.org"
    assert list_id[1].endswith("<papers.example.org>")
    assert _read(write_mail(fields, "key", ""))["Subject"] == name


@pytest.mark.parametrize("name", NAMES[:3])
def test_a_senders_name_in_other_letters_reads_back_the_same(name: str) -> None:
    raw = _write_field("From", write_mailbox(name, "digest@example.org"))
    assert all(len(line) <= 76 for line in raw.decode("ascii").split("\r\n"))
    (sender,) = _read(raw)["From"].addresses
    assert sender.display_name == name
    assert sender.addr_spec == "digest@example.org"


def test_a_list_id_has_a_name_however_empty_its_title_is_and_its_id_is_ascii() -> None:
    for title in ("", " ", "\x00", "papers"):
        assert write_list_id(title, "papers", "example.org") == "papers <papers.example.org>"
    with pytest.raises(ConfigurationError):
        write_list_id("Größe", "größe", "example.org")


@pytest.mark.parametrize(
    "address",
    [
        *(
            "",
            "a",
            "a@",
            "@b.example",
            "a b@c.example",
            "a@b.example>\r\nRCPT TO:<x@y.example",
            "a\x00@b.example",
        ),
        *("ä@b.example", "a@b@c.example"),
    ],
)
def test_what_is_no_plain_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written") as caught:
        check_address(address)
    assert "reader@example.org" in caught.value.hint


@pytest.mark.parametrize(
    "uri", ["", "https://a b", "https://a>b", "https://a\r\nX: y", "ftp://a", "javascript:x"]
)
def test_what_is_no_web_or_mail_address_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        check_uri(uri)


@pytest.mark.parametrize("atom", ["", "a b", "a\n", ".a", "a.", "a..b", "a@b", "a>b"])
def test_what_cannot_stand_in_an_id_is_refused(atom: str) -> None:
    with pytest.raises(ConfigurationError):
        check_atom(atom)


@pytest.mark.parametrize("value", ["a\r\nBcc: b", "a\nb", "a\rb", "é", "a\x00b", "a" * 1_000])
def test_a_field_that_is_not_sound_is_never_written(value: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        _write_field("X", value)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n =.F"), min_size=1)
)
def test_both_parts_read_back_the_same_from_short_crlf_lines(text: str) -> None:
    raw = write_mail([("X", "y")], "key", text, text)
    plain, html = (
        str(part.get_content()).replace("\r\n", "\n") for part in _read(raw).iter_parts()
    )
    assert plain == html == text.removesuffix("\n") + "\n"
    assert all(len(line) <= 76 for line in raw.split(b"\r\n"))
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    assert not any(line.endswith((b" ", b"\t")) for line in raw.split(b"\r\n"))


def test_a_mail_ends_with_its_last_boundary_and_the_boundary_occurs_nowhere_else() -> None:
    text = "--=_key--\n--=_key\n"
    raw = write_mail([("X", "y")], "key", text, text)
    assert raw.count(b"--=_key") == 3
    assert raw.endswith(b"\r\n--=_key--\r\n")
    assert _read(raw).get_boundary() == "=_key"
