"""A mail as bytes: multipart/alternative, quoted-printable, CRLF, the same for the same input.

Written out by hand, because Python's serialiser folds and encodes header fields that must stay as
they are, and is several times slower than rendering itself. Sources: RFC 2045, RFC 2046, RFC 5322.
"""

from __future__ import annotations

import binascii
import re
from dataclasses import dataclass

from digest.render.headers import check_atom, write_headers

_FROM_LINE = re.compile(rb"^From ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MailParts:
    """What a mail is made of.

    Attributes:
        fields: header fields up to the MIME ones, in order.
        key: unique to the message; names the boundary.
        text: the plain part, already flowed.
        html: the HTML part.
    """

    fields: list[tuple[str, str]]
    key: str
    text: str
    html: str


def write_mail(parts: MailParts) -> bytes:
    """Write a whole mail: lines of at most 76 bytes in the body, ended by CRLF throughout.

    Raises:
        ConfigurationError: a header field cannot be written.
    """
    # "=_" is never part of quoted-printable text, so the boundary cannot occur in a body.
    boundary = f"=_{check_atom(parts.key)}"
    fields = [
        *parts.fields,
        ("MIME-Version", "1.0"),
        ("Content-Type", f'multipart/alternative;\r\n boundary="{boundary}"'),
    ]
    delimiter = b"--" + boundary.encode("ascii")
    plain = _write_part("text/plain; charset=utf-8; format=flowed; delsp=no", parts.text)
    html = _write_part("text/html; charset=utf-8", parts.html)
    return b"\r\n".join(
        [write_headers(fields), delimiter, plain, delimiter, html, delimiter + b"--", b""],
    )


def quote_printable(text: str) -> bytes:
    """Encode text as quoted-printable with CRLF line ends and no line above 76 bytes (RFC 2045 §6.7)."""
    data = "\r\n".join(text.split("\n")).encode("utf-8")
    # A line that starts with "From " is changed by mailbox files on its way, which breaks signatures.
    return _FROM_LINE.sub(b"=46rom ", binascii.b2a_qp(data, istext=True))


def _write_part(content_type: str, text: str) -> bytes:
    fields = [("Content-Type", content_type), ("Content-Transfer-Encoding", "quoted-printable")]
    return write_headers(fields) + b"\r\n" + quote_printable(text)
