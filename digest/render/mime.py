"""Writes a mail as bytes: multipart/alternative, quoted-printable, CRLF, the same for the same input.

Written out by hand, because Python's serialiser folds and encodes header fields that must stay as
they are, and is several times slower than rendering itself. Sources: RFC 2045, RFC 2046, RFC 5322.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

_LONGEST_LINE = 76
_PLAIN = "text/plain; charset=utf-8; format=flowed; delsp=no"
_UNSAFE = re.compile(rb"[^\n\x20-\x3c\x3e-\x7e]+| (?=\n|\Z)|^F(?=rom )|^\.(?=\.?$)", re.MULTILINE)
"""What must be encoded, and what mail software would change on its way: blanks at line ends, "From " at the
start of a line (mailbox files), lone dots (the end of a message)."""


def join_mail(header: list[tuple[str, str]], key: str, plain: bytes, html: bytes) -> bytes:
    """Write a whole mail of parts that are quoted-printable already.

    Args:
        header: fields up to the MIME ones, in order.
        key: unique to the message; names the boundary.
        plain: the plain part.
        html: the HTML part.

    Raises:
        ConfigurationError: a header field cannot be written.
    """
    # "=_" is never part of quoted-printable text, so the boundary cannot occur in a body.
    from digest.render.mail import check_atom, write_headers  # noqa: PLC0415 - each of the two needs the other

    boundary = f"=_{check_atom(key)}"
    fields = [
        *header,
        ("MIME-Version", "1.0"),
        ("Content-Type", f'multipart/alternative;\r\n boundary="{boundary}"'),
    ]
    delimiter = b"--" + boundary.encode("ascii")
    parts = [_head_part(_PLAIN) + plain, delimiter, _head_part("text/html; charset=utf-8") + html]
    return b"\r\n".join([write_headers(fields), delimiter, *parts, delimiter + b"--", b""])


def write_plain_mail(fields: list[tuple[str, str]], text: str) -> bytes:
    """Write a mail of one plain part, its text already flowed.

    Raises:
        ConfigurationError: a header field cannot be written.
    """
    from digest.render.mail import write_headers  # noqa: PLC0415 - each of the two needs the other

    return write_headers([*fields, ("MIME-Version", "1.0")]) + _head_part(_PLAIN) + quote_printable(text)


def quote_printable(text: str) -> bytes:
    """Encode text as quoted-printable with CRLF line ends and no line above 76 bytes (RFC 2045 §6.7)."""
    data = _UNSAFE.sub(_quote, text.encode("utf-8"))
    return b"\r\n".join(part for line in data.split(b"\n") for part in _break_line(line))


def _quote(match: re.Match[bytes]) -> bytes:
    return _quote_octets(match[0])


@lru_cache(1_024)
def _quote_octets(octets: bytes) -> bytes:
    return b"".join(b"=%02X" % octet for octet in octets)


def _break_line(line: bytes) -> list[bytes]:
    parts: list[bytes] = []
    start = 0
    while len(line) - start > _LONGEST_LINE:
        end = start + _LONGEST_LINE - 1
        # A soft line break never stands within "=XX".
        equals = line.rfind(b"=", end - 2, end)
        if equals >= 0:
            end = equals
        parts.append(line[start:end] + b"=")
        start = end
    parts.append(line[start:])
    return parts


@cache
def _head_part(content_type: str) -> bytes:
    from digest.render.mail import write_headers  # noqa: PLC0415 - each of the two needs the other

    fields = [("Content-Type", content_type), ("Content-Transfer-Encoding", "quoted-printable")]
    return write_headers(fields) + b"\r\n"
