"""Every rule of a digest's header fields, asserted on the bytes that are sent.

Parsing them back would hide what mail readers choke on: Python's own parser undoes what its
serialiser did wrong.
"""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from quopri import decodestring

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from digest.model.cadences import Cadence
from digest.model.messages import Links, Occasion
from digest.model.subscriptions import Subscription
from digest.render.mail import MailIdentity
from digest.render.mime import write_feedback_id
from digest.render.samples import SAMPLE_LINKS, make_digest, make_entry, quiet_digests
from tests.samples import odd_entries, sample_digest
from tests.unit.render.conftest import Write

ENCODED_WORD = re.compile(rb"=\?utf-8\?([bq])\?([!->@-~]*)\?=")
"""RFC 2047 §2: printable, without blanks and question marks."""

DIGESTS = {
    "sample": sample_digest(),
    "odd": make_digest(odd_entries()),
    "first look": make_digest((make_entry(title="字" * 300),), occasion=Occasion.FIRST_DIGEST),
    **quiet_digests(),
}


def read_fields(raw: bytes) -> dict[str, bytes]:
    """Return header fields by name as they were written, folds and all; none stands twice."""
    fields = re.split(rb"\r\n(?=[^ \t])", raw.partition(b"\r\n\r\n")[0])
    names = [field.partition(b":")[0].decode() for field in fields]
    assert len(names) == len(set(names))
    return {name: field.partition(b": ")[2] for name, field in zip(names, fields, strict=True)}


def decode_words(value: bytes) -> str:
    """Decode a field of encoded words as RFC 2047 says: what parts two of them is dropped."""
    shown = ""
    for encoding, text in ENCODED_WORD.findall(value):
        octets = (
            b64decode(text)
            if encoding == b"b"
            else decodestring(text.replace(b"_", b" "), header=False)
        )
        shown += octets.decode("utf-8")  # fails where a letter was cut in two, which §5 forbids
    return shown


@pytest.mark.parametrize("name", DIGESTS)
def test_whatever_a_digest_says_its_mail_is_ascii_in_short_lines_and_only_three_fields_are_encoded(
    write: Write, identity: MailIdentity, name: str
) -> None:
    raw = write(
        replace(DIGESTS[name], title="Größe & Güte 论文"),
        sender=replace(identity, from_name="Günlük"),
    )
    assert raw.isascii()
    assert raw.count(b"\n") == raw.count(b"\r\n") == raw.count(b"\r")
    head, _, body = raw.partition(b"\r\n\r\n")
    long = [line.partition(b":")[0] for line in head.split(b"\r\n") if len(line) > 78]
    assert long == [b"List-Unsubscribe", b"Content-Type"]
    assert max(len(line) for line in body.split(b"\r\n")) <= 76
    assert all(line.strip() for line in head.split(b"\r\n"))
    encoded = {field for field, value in read_fields(raw).items() if b"=?" in value}
    assert encoded <= {"Subject", "From", "List-Id"}
    assert decode_words(read_fields(raw)["From"]) == "Größe & Güte 论文 (Günlük)"
    assert decode_words(read_fields(raw)["List-Id"]) == "Größe & Güte 论文"


NAMES = [("pi", "Pi"), ("perf-team", "Perf team"), ("a_b", "A b"), ("hep-th", "hep-th")]


@pytest.mark.parametrize(("name", "title"), NAMES)
def test_a_mail_comes_from_its_list_whose_bare_name_is_written_as_a_title(
    write: Write, name: str, title: str
) -> None:
    bare = Subscription(name, (), (), Cadence.parse("daily at 09:00 UTC"))
    assert (
        read_fields(write(make_digest((), title=bare.title)))["From"]
        == f"{title} <digest@example.org>".encode()
    )
    assert replace(bare, title="Our own").title == "Our own"


@settings(max_examples=25)
@given(st.integers(1, 850))
def test_a_way_to_leave_is_never_encoded_and_stays_one_line_however_long(
    write: Write, length: int
) -> None:
    long = f"https://digest.example.org/u/{'x' * length}"
    fields = read_fields(write(quiet_digests()["quiet"], replace(SAMPLE_LINKS, unsubscribe=long)))
    assert (
        fields["List-Unsubscribe"]
        == f"<{long}>, <mailto:leave@example.org?subject=unsubscribe>".encode()
    )


def test_nothing_else_tells_readers_apart_so_nobody_is_followed(write: Write) -> None:
    one = write(DIGESTS["sample"])
    other = write(
        DIGESTS["sample"],
        replace(SAMPLE_LINKS, unsubscribe="https://digest.example.org/u/Zm9sbG93ZWQgYnkgbm9ib2"),
    )
    token = b"Qm9vdHN0cmFwcGluZzEyMw"
    another = b"Zm9sbG93ZWQgYnkgbm9ib2"
    assert len(token) == len(another)
    assert one.replace(b"=\r\n", b"").replace(token, another) == other.replace(b"=\r\n", b"")


def test_replies_go_where_mails_of_those_who_leave_are_read(
    write: Write, identity: MailIdentity
) -> None:
    at_sender = replace(
        SAMPLE_LINKS, unsubscribe_mail="mailto:digest@example.org?subject=leave%20demo-team"
    )
    assert "Reply-To" not in read_fields(write(DIGESTS["sample"], at_sender))
    assert "Reply-To" not in read_fields(write(DIGESTS["sample"], Links()))
    elsewhere = replace(identity, from_address="robot@example.org")
    assert (
        read_fields(write(DIGESTS["sample"], at_sender, sender=elsewhere))["Reply-To"]
        == b"digest@example.org"
    )


def test_without_a_web_address_leaving_is_by_mail_and_never_one_click(write: Write) -> None:
    fields = read_fields(
        write(DIGESTS["sample"], Links(unsubscribe_mail="mailto:leave@example.org"))
    )
    assert fields["List-Unsubscribe"] == b"<mailto:leave@example.org>"
    assert not {"List-Unsubscribe-Post", "List-Help", "List-Archive"} & fields.keys()


def test_one_click_is_promised_over_https_only(write: Write) -> None:
    fields = read_fields(write(DIGESTS["sample"], Links(unsubscribe="http://127.0.0.1:8000/u/x")))
    assert fields["List-Unsubscribe"] == b"<http://127.0.0.1:8000/u/x>"
    assert "List-Unsubscribe-Post" not in fields


@settings(max_examples=20)
@given(
    st.sampled_from(list(Occasion)),
    st.from_regex(r"[a-zA-Z0-9-]{1,20}(\.[a-z]{2,6}){0,2}", fullmatch=True),
)
def test_a_feedback_id_has_at_most_four_fields_and_a_sender_of_5_to_15_letters(
    occasion: Occasion, domain: str
) -> None:
    *_, sender = fields = write_feedback_id(occasion, domain).split(":")
    assert len(fields) <= 4
    assert all(re.fullmatch(r"[a-z0-9-]+", field) for field in fields)
    assert 5 <= len(sender) <= 15
