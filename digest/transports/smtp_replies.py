"""What a mail server's replies mean for a delivery (RFC 5321 §4.2, enhanced codes RFC 3463)."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
from enum import StrEnum
from typing import TYPE_CHECKING

from digest.errors import DeliveryError

if TYPE_CHECKING:
    from digest.transports.mail_server import MailServer


class Stage(StrEnum):
    """Where in the conversation something happened. Only `FINAL` lies behind the final dot."""

    GREETING = "greeting"
    LOGIN = "login"
    SENDER = "MAIL FROM"
    RECIPIENT = "RCPT TO"
    DATA = "DATA"
    FINAL = "the final dot"


DONE = 250
"""Requested action completed."""
FORWARDED = 251
"""Completed as well: the server will pass the mail on."""
GO_AHEAD = 354
"""The mail itself is awaited."""
CLOSING = 421
"""The server ends the connection (RFC 5321 §3.8)."""
_NO_ROOM = 552
_TRANSIENT = range(400, 500)
_PERMANENT = range(500, 600)

_BEFORE_ANY_RECIPIENT = (Stage.GREETING, Stage.LOGIN, Stage.SENDER)
_LOGIN_CODES = frozenset({454, 530, 534, 535, 538})
"""Codes about authentication wherever they appear (RFC 4954 §6)."""

_ENHANCED = re.compile(r"(?P<category>[245]\.\d{1,3})\.\d{1,3}\b")

_QUEUE_IDS = (
    re.compile(r"\bqueued as <?([\w.@-]+)", re.IGNORECASE),  # Postfix, OpenSMTPD's relays, many others
    re.compile(r"\bid=([\w.-]+)", re.IGNORECASE),  # Exim
    re.compile(r"\bInternalId=(\d+)"),  # Exchange
    re.compile(r"\bOK\s+\d+ ([\w.-]+) - gsmtp"),  # Gmail
    re.compile(r"^(?:2\.\d\.\d )?(\w{8,}) Message accepted for delivery"),  # sendmail, OpenSMTPD
    re.compile(r"^Ok ([0-9a-f]{16}-[0-9a-f-]{20,})$", re.IGNORECASE),  # Amazon SES
)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_LONGEST_DETAIL = 300


def read_reply(reply: bytes | str) -> str:
    """Return a reply as one short printable line."""
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    return _CONTROLS.sub(" ", text).strip()[:_LONGEST_DETAIL]


def find_queue_id(reply: bytes) -> str:
    """Return the server's own name for the mail it took, "" where its reply has none."""
    text = read_reply(reply)
    found = (pattern.search(text) for pattern in _QUEUE_IDS)
    return next((match[1] for match in found if match), "")


def judge_reply(stage: Stage, code: int, reply: bytes | str) -> DeliveryError:
    """Turn a refusal into an error that knows whether to try again.

    A 4xx code passes with time, a 5xx code does not. What comes before any recipient was named, and
    what is about the login, concerns every mail; but once one was named, only what does not pass: a server may
    say 421 or 454 for one recipient for ever. A reply without a usable code after the final dot leaves it open
    whether the mail was taken.
    """
    text = read_reply(reply)
    is_early = stage in _BEFORE_ANY_RECIPIENT
    is_login = stage is Stage.LOGIN or (code in _LOGIN_CODES and (is_early or code in _PERMANENT))
    is_general = is_early and code != _NO_ROOM
    return DeliveryError(
        f"the mail server answered {code} at {stage}: {text}",
        permanent=code in _PERMANENT,
        ambiguous=stage is Stage.FINAL and code not in _TRANSIENT and code not in _PERMANENT,
        whole_transport=is_login or is_general,
        hint=_hint_for(stage, code, text, is_login=is_login),
    )


def _hint_for(stage: Stage, code: int, text: str, *, is_login: bool) -> str:
    enhanced = _ENHANCED.match(text)
    category = enhanced["category"] if enhanced else ""
    if is_login:
        return "Check the mail server's user and DIGEST_MAIL_PASSWORD."
    if category == "5.7":
        return (
            "The server refuses us by policy: ask its operator about relaying, and check the sender's domain "
            "(SPF, DKIM, DMARC) and block lists."
        )
    if code == _NO_ROOM or category == "5.2":
        return "The mailbox is full or switched off, or the mail too large: a smaller `cap` shortens it."
    if stage is Stage.SENDER:
        return "Check the `from` address: the server does not take mail from it."
    if stage is Stage.RECIPIENT and code in _PERMANENT:
        return "Check the address, or take it out of the subscription."
    return ""


def judge_break(stage: Stage, error: Exception) -> DeliveryError:
    """Turn a broken or silent connection into an error; behind the final dot it is ambiguous."""
    if stage is Stage.FINAL:
        return DeliveryError(
            f"the connection broke after the final dot, before the mail server answered: {_words(error)}",
            ambiguous=True,
            hint="The mail may have been taken: the server's log knows, by its Message-ID.",
        )
    return DeliveryError(f"the connection broke at {stage}, before the mail was handed over: {_words(error)}")


def judge_opening(server: MailServer, stage: Stage, error: Exception) -> DeliveryError:
    """Turn a failure to connect, protect the connection or log in into an error for every mail."""
    if isinstance(error, smtplib.SMTPResponseException):
        return judge_reply(stage, error.smtp_code, error.smtp_error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return DeliveryError(
            f"the certificate of {server} can't be trusted: {error.verify_message}",
            whole_transport=True,
            hint="Write the name the certificate carries, or name your own authority's certificate file.",
        )
    if isinstance(error, ssl.SSLError):
        return DeliveryError(
            f"no secure connection to {server}: {_words(error)}",
            whole_transport=True,
            hint="Check scheme and port: smtp+starttls is usual on 587, smtps on 465.",
        )
    # Every smtplib error is an OSError; the two kinds mean different things here.
    if isinstance(error, smtplib.SMTPServerDisconnected) or not isinstance(error, smtplib.SMTPException):
        return DeliveryError(
            f"{server} can't be reached: {_words(error)}",
            whole_transport=True,
            hint="Check the host's name and port, and whether the server runs." if _is_absent(error) else "",
        )
    return DeliveryError(
        f"{server} does not offer what was asked for at {stage}: {_words(error)}",
        permanent=True,
        whole_transport=True,
        hint="Check the URL's scheme (smtp, smtp+starttls, smtps), and whether the server takes logins.",
    )


def _is_absent(error: Exception) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror)


def _words(error: Exception) -> str:
    return read_reply(str(error)) or type(error).__name__
