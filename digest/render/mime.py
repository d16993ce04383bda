"""Writes a mail as bytes: multipart/alternative, quoted-printable, CRLF, the same for the same input.

Written out by hand, because Python's serialiser folds and encodes header fields that must stay as
they are, and is several times slower than rendering itself. Sources: RFC 2045, RFC 2046, RFC 5322.
"""

from __future__ import annotations

import re
import unicodedata
from email.charset import BASE64, Charset
from email.header import Header
from functools import cache, lru_cache

from digest.model.errors import ConfigurationError
from digest.render.text import clean_text, shorten

LONGEST_LINE = 998
"""RFC 5322 §2.1.1, without the line end."""


_WANTED_LINE = 76


_CRLF = "\r\n"


_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")


_URI = re.compile(r"(?:https?|mailto):[!#-;=?-\[\]_a-z~]+")


_ATOM_TEXT = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+")


_NAME = re.compile(r"[A-Za-z0-9-]+")


_LONGEST_PHRASE = 60


_SENDER_ID = slice(0, 15)


_NO_LETTERS = re.compile("[^a-z0-9]+")


_SHORTEST_SENDER_ID = 5


def write_headers(fields: list[tuple[str, str]]) -> bytes:
    """Write fields in order, each ended by CRLF.

    Raises:
        ConfigurationError: a value is not ASCII, holds a line end that does not fold, or is too long.
    """
    lines: list[str] = []
    for name, value in fields:
        line = f"{name}: {value}"
        _check_line(name, line)
        lines.append(line)
    return (_CRLF.join(lines) + _CRLF).encode("ascii")


def write_subject(text: str) -> str:
    """Write unstructured text: as it is where it is plain ASCII, in encoded words otherwise."""
    shown = clean_text(text)
    if shown.isascii() and "=?" not in shown:
        return _fold_words(shown, len("Subject: "))
    return Header(shown, "utf-8", maxlinelen=_WANTED_LINE, header_name="Subject").encode(linesep=_CRLF)


def write_mailbox(name: str, address: str) -> str:
    """Write the value of `From`: `Name <address>`, the name quoted or encoded as it needs, or the bare address."""
    checked = check_address(address)
    shown = shorten(clean_text(name), _LONGEST_PHRASE)
    if not shown:
        return checked
    if shown.isascii() and "=?" not in shown:
        return f"{_quote_phrase(shown)} <{checked}>"
    # In a phrase fewer characters may stand unencoded than in text, so base64 is the safe choice.
    charset = Charset("utf-8")
    charset.header_encoding = BASE64
    phrase = Header(shown, charset, maxlinelen=_WANTED_LINE, header_name="From").encode(linesep=_CRLF)
    return f"{phrase}{_CRLF} <{checked}>"


def write_list_id(title: str, name: str, domain: str) -> str:
    """Write `"title" <name.domain>` (RFC 2919): the phrase in ASCII, since it must not be encoded."""
    plain = unicodedata.normalize("NFKD", clean_text(title)).encode("ascii", "ignore").decode("ascii")
    phrase = shorten_ascii(" ".join(plain.split()) or name, _LONGEST_PHRASE)
    return f"{_quote_phrase(phrase)}{_CRLF} <{check_atom(name)}.{check_atom(domain)}>"


def write_uris(uris: list[str]) -> str:
    """Write `<uri>, <uri>`, folded between the addresses only (RFC 2369)."""
    return f",{_CRLF} ".join(f"<{check_uri(uri)}>" for uri in uris)


def write_feedback_id(occasion: str, domain: str) -> str:
    """Write `scheduled:digest:examplecom`, by which Gmail tells a sender how many of which mails were called spam.

    The sender's name at the end is the domain's letters and digits, 5 to 15 of them; nothing in it is a
    reader's own.
    """
    letters = _NO_LETTERS.sub("", domain.lower())
    sender = letters if len(letters) >= _SHORTEST_SENDER_ID else f"{letters}digest"
    return f"{check_atom(occasion.replace(' ', '-'))}:digest:{sender[_SENDER_ID]}"


def check_address(address: str) -> str:
    """Return a mail address in ASCII; a domain in other letters is written in its ASCII form.

    Raises:
        ConfigurationError: it is not a plain address.
    """
    local, at, domain = address.strip().rpartition("@")
    try:
        ascii_domain = domain.encode("idna").decode("ascii") if not domain.isascii() else domain
    except UnicodeError:
        ascii_domain = ""
    checked = f"{local}{at}{ascii_domain}"
    if _ADDRESS.fullmatch(checked) is None:
        raise ConfigurationError(
            f"{address!r} cannot be written into a mail's header",
            hint="Use a plain address such as reader@example.org.",
        )
    return checked


def check_uri(uri: str) -> str:
    """Return an address fit for a header.

    Raises:
        ConfigurationError: it holds what no header may carry.
    """
    if _URI.fullmatch(uri) is None:
        raise ConfigurationError(
            f"{uri!r} cannot be written into a mail's header",
            hint="base_url is an http(s) address without blanks, quotes or angle brackets.",
        )
    return uri


def check_atom(text: str) -> str:
    """Return text fit to stand in an id of a header.

    Raises:
        ConfigurationError: it holds other characters than RFC 5322's dot-atom allows.
    """
    if _ATOM_TEXT.fullmatch(text) is None or text.startswith(".") or text.endswith(".") or ".." in text:
        raise ConfigurationError(f"{text!r} cannot be written into a mail's header")
    return text


def shorten_ascii(text: str, limit: int) -> str:
    """Return at most `limit` characters, ending in three dots where something is missing."""
    return text if len(text) <= limit else f"{text[: limit - 3].rstrip()}..."


def _quote_phrase(phrase: str) -> str:
    """Quote a phrase, shorter where backslashes would make its line too long."""
    escaped = phrase.replace("\\", "\\\\").replace('"', '\\"')
    if len(escaped) > _LONGEST_PHRASE:
        return _quote_phrase(shorten_ascii(phrase, len(phrase) - 1))
    return f'"{escaped}"'


def _fold_words(text: str, used: int) -> str:
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and used + len(lines[-1]) + 1 + len(word) > _WANTED_LINE:
            lines.append(word)
            used = 1
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return f"{_CRLF} ".join(lines)


def _check_line(name: str, line: str) -> None:
    is_sound = (
        _NAME.fullmatch(name) is not None
        and line.isascii()
        and not re.search(r"\r(?!\n)|(?<!\r)\n|\r\n(?! \S)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", line)
        and all(len(part) <= LONGEST_LINE for part in line.split(_CRLF))
    )
    if not is_sound:
        raise ConfigurationError(f"the mail header {name} cannot be written: {line[:200]!r}")


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
    return write_headers([*fields, ("MIME-Version", "1.0")]) + _head_part(_PLAIN) + quote_printable(text)


def quote_printable(text: str) -> bytes:
    """Encode text as quoted-printable with CRLF line ends and no line above 76 bytes (RFC 2045 §6.7)."""
    data = _UNSAFE.sub(lambda found: _quote_octets(found[0]), text.encode("utf-8"))
    return b"\r\n".join(part for line in data.split(b"\n") for part in _break_line(line))


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

    fields = [("Content-Type", content_type), ("Content-Transfer-Encoding", "quoted-printable")]
    return write_headers(fields) + b"\r\n"
