"""Writes a mail as bytes with the standard library's `EmailMessage`.

The same input gives the same bytes.

Sources: RFC 2047, RFC 2369, RFC 2919, RFC 3676, RFC 5322.
"""

from __future__ import annotations

import re
from email.header import Header
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import formataddr
from functools import lru_cache

from digest.model.errors import ConfigurationError
from digest.render.text import clean_text, shorten

LONGEST_LINE = 998
"""RFC 5322 §2.1.1, without the line end."""

_WANTED_LINE = 76
"""The longest line of quoted-printable text, and of a field with encoded words."""

_CRLF = "\r\n"
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,253}")
_URI = re.compile(r"(?:https?|mailto):[!#-;=?-\[\]_a-z~]+")
_ATOM_TEXT = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_FIELD = re.compile(r"[\t\x20-\x7e]*(?:\r\n [\t\x20]*[\x21-\x7e][\t\x20-\x7e]*)*")
_LONGEST_PHRASE = 60
_NO_LETTERS = re.compile("[^a-z0-9]+")
_SHORTEST_SENDER_ID = 5
_LONGEST_SENDER_ID = 15

_FLOWED_WIDTH = 72
"""RFC 3676 §4.2 asks for at most 78 with the trailing blank."""

_SHORT_BEGINNING = 8
_STUFFED = re.compile(r"[ >]|From ")
_LINK_LINE = re.compile(r"\s*(?:https?://|mailto:)\S+\Z")
_SIGNATURE = "-- "


class _AsWritten(EmailPolicy):
    """Sends each field as it is written.

    Python's own policy encodes a long `List-Unsubscribe`, which no mail program reads then. It also
    decodes what looks like an encoded word, so that a title could become a field of its own.
    """

    def header_store_parse(self, name: str, value: str) -> tuple[str, str]:
        lines = f"{name}: {value}".split(_CRLF)
        is_short = all(len(line) <= LONGEST_LINE for line in lines)
        if _FIELD.fullmatch(value) is None or not is_short:
            raise ConfigurationError(f"the mail header {name} cannot be written: {value[:200]!r}")
        return name, value


_POLICY = _AsWritten(linesep=_CRLF, max_line_length=_WANTED_LINE, refold_source="none")


def write_mail(fields: list[tuple[str, str]], key: str, plain: str, html: str = "") -> bytes:
    """Write a whole mail: its plain part, and its HTML part if there is one, both quoted-printable.

    `key`: unique to the message; names the boundary between the parts.

    Raise `ConfigurationError`: a value is not ASCII, holds a line end that does not fold, or is too
    long.
    """
    message = EmailMessage(policy=_POLICY)
    for name, value in fields:
        message[name] = value
    message.set_content(plain, cte="quoted-printable", params={"format": "flowed", "delsp": "no"})
    if html:
        # "=_" is never part of quoted-printable text, so the boundary cannot occur in a part.
        message.make_alternative(boundary=f"=_{check_atom(key)}")
        message.add_alternative(html, subtype="html", cte="quoted-printable")
    message["Content-Language"] = "en"
    return message.as_bytes()


def write_subject(text: str) -> str:
    """Write unstructured text: as it is if it is plain ASCII, in encoded words otherwise."""
    return _fold(clean_text(text), "Subject")


def write_mailbox(name: str, address: str) -> str:
    """Write the value of `From`: `Name <address>`, or the bare address.

    The name is quoted or encoded as it needs.
    """
    return _write_named(name, check_address(address), "From")


def write_list_id(title: str, name: str, domain: str) -> str:
    """Write `title <name.domain>` (RFC 2919): the title as a sender's name, the id in ASCII."""
    list_id = f"{check_atom(name)}.{check_atom(domain)}"
    return _write_named(clean_text(title) or name, list_id, "List-Id")


def _write_named(name: str, target: str, field: str) -> str:
    """Write `name <target>`, the name in encoded words if it is not plain (RFC 2047 §5)."""
    phrase = shorten(clean_text(name), _LONGEST_PHRASE)
    if _is_plain(phrase):
        return formataddr((phrase, target))
    encoded = _fold(phrase, field)
    return f"{encoded}{_CRLF} <{target}>"


def write_uris(*uris: str) -> str:
    """Write `<uri>, <uri>` (RFC 2369), in one line, without those that are ""."""
    return ", ".join(f"<{check_uri(uri)}>" for uri in uris if uri)


def write_feedback_id(occasion: str, domain: str) -> str:
    """Write `scheduled:digest:examplecom`, by which Gmail counts which mails were called spam.

    The sender's name at the end is the domain's letters and digits, 5 to 15 of them; nothing in it
    is a reader's own.
    """
    sender = _NO_LETTERS.sub("", domain.lower())
    if len(sender) < _SHORTEST_SENDER_ID:
        sender += "digest"
    campaign = check_atom(occasion.replace(" ", "-"))
    return f"{campaign}:digest:{sender[:_LONGEST_SENDER_ID]}"


def check_address(address: str) -> str:
    """Return a mail address, in the one spelling of `normalise_address`, fit for a header."""
    return _check(address, _ADDRESS, "Use a plain address such as reader@example.org.")


def check_uri(uri: str) -> str:
    """Return an address fit for a header."""
    return _check(
        uri, _URI, "base_url is an http(s) address without blanks, quotes or angle brackets."
    )


def check_atom(text: str) -> str:
    """Return text fit for an id in a header: RFC 5322's dot-atom."""
    return _check(text, _ATOM_TEXT)


def _check(text: str, pattern: re.Pattern[str], hint: str = "") -> str:
    if pattern.fullmatch(text) is None:
        raise ConfigurationError(f"{text!r} cannot be written into a mail's header", hint=hint)
    return text


def _is_plain(text: str) -> bool:
    """Tell whether text is read as it is written: ASCII that does not look like an encoded word."""
    return text.isascii() and "=?" not in text


def _fold(text: str, name: str) -> str:
    charset = "us-ascii" if _is_plain(text) else "utf-8"
    header = Header(text, charset, maxlinelen=_WANTED_LINE, header_name=name)
    return header.encode(linesep=_CRLF)


def flow_text(text: str) -> str:
    """Return text as format=flowed with delsp=no: a line ending in a blank goes on in the next."""
    return "\n".join(_flow_line(line) for line in text.split("\n"))


def wrap_text(text: str, width: int = 78) -> str:
    """Return text with lines of at most `width` characters, as far as words and links allow."""
    wrapped: list[str] = []
    for line in text.split("\n"):
        wrapped += _break_line(line.rstrip(" "), width)
    return "\n".join(wrapped)


@lru_cache(2_048)
def _flow_line(line: str) -> str:
    """Flow one line; mails have many in common, such as a paper's abstract."""
    if line == _SIGNATURE:
        return line
    parts = _break_line(line.rstrip(" "), _FLOWED_WIDTH)
    return " \n".join(_stuff(part) for part in parts)


def _break_line(line: str, width: int) -> list[str]:
    if len(line) <= width or _LINK_LINE.fullmatch(line):
        return [line]
    first, *words = line.split(" ")
    parts = [first]
    for word in words:
        last = parts[-1]
        fits = len(last) + 1 + len(word) <= width
        # A text without blanks, such as a title in Chinese, is too long for any line: its number
        # stays with it.
        is_hopeless = len(word) > width and len(last) < _SHORT_BEGINNING
        if fits or is_hopeless:
            parts[-1] = f"{last} {word}"
        else:
            parts.append(word)
    return parts


def _stuff(line: str) -> str:
    return f" {line}" if _STUFFED.match(line) else line
