"""Sends mail over SMTP (RFC 5321): reads the server's address and replies, one recipient per mail."""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from email_validator import EmailNotValidError, validate_email

from digest.deliver.transports.registry import always_ours
from digest.model.clock import LOOPBACK_HOSTS
from digest.model.errors import ConfigurationError, DeliveryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from digest.deliver.transports.smtp_connection import Patience, SmtpConnection
    from digest.model.messages import Message, Receipt
    from digest.model.subscriptions import Destination


_PRIVATE_DOMAIN = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*(?:local|localhost|test|invalid)", re.ASCII | re.IGNORECASE
)
"""Domains no public mail server knows, but a machine's or an office's own may (RFC 6761, RFC 6762)."""


@dataclass(frozen=True, slots=True)
class Mailbox:
    """An address for MAIL FROM or RCPT TO.

    Attributes:
        address: as it goes on the wire, without angle brackets; the domain in ASCII wherever it can be.
        needs_utf8: its local part is beyond ASCII, so the server must offer SMTPUTF8 (RFC 6531).
    """

    address: str
    needs_utf8: bool


@lru_cache(maxsize=1024)  # a mail's address is read when it is resolved, and again when it is sent
def parse_mailbox(text: str) -> Mailbox:
    """Read one bare mail address.

    Raises:
        ValueError: it is none; the reason is the message.
    """
    local, _, domain = text.rpartition("@")
    is_private = _PRIVATE_DOMAIN.fullmatch(domain) is not None
    try:
        checked = validate_email(
            f"{local}@example.org" if is_private else text,
            check_deliverability=False,
            globally_deliverable=False,
        )
    except EmailNotValidError as error:
        raise ValueError(str(error)) from error
    if is_private:
        return Mailbox(f"{checked.local_part}@{domain.lower()}", checked.smtputf8)
    return Mailbox(checked.ascii_email or checked.normalized, checked.smtputf8)


class Security(StrEnum):
    """How the connection is protected, named as in the URL."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


DEFAULT_PORTS = {Security.NONE: 25, Security.STARTTLS: 587, Security.TLS: 465}

_HOW_TO = "Write smtp://host:25, smtp+starttls://host:587 or smtps://host:465; the port may be left out."


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server that takes our mail.

    Attributes:
        host: name or address; with TLS, the name its certificate must carry.
        port: TCP port.
        security: how the connection is protected.
        user: whom to log in as; "" for no login.
        password: the password of `user`.
        ca_file: PEM certificates trusted besides the system's; None for the system's alone.
    """

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: Path | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.security}://{host}:{self.port}"

    def open_tls(self) -> ssl.SSLContext:
        """Return a context that verifies the server's certificate and name.

        Raises:
            ConfigurationError: the extra certificates cannot be read.
        """
        context = ssl.create_default_context()
        if self.ca_file is not None:
            try:
                context.load_verify_locations(self.ca_file)
            except OSError as error:
                raise ConfigurationError(
                    f"the mail server's certificates in {self.ca_file} can't be read: {error}",
                    hint="Name a PEM file with the authority's certificate, or leave it out for public ones.",
                ) from error
        return context


def parse_mail_server(url: str, *, user: str = "", password: str = "", ca_file: Path | None = None) -> MailServer:
    """Read a mail server's URL; `user` counts where the URL names none.

    Raises:
        ConfigurationError: the URL cannot be read, carries a password, or would send one in the clear.
    """
    parts = urlsplit(url)
    try:
        security = Security(parts.scheme)
        port = parts.port
    except ValueError:
        raise ConfigurationError("the mail server's URL cannot be read", hint=_HOW_TO) from None
    if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise ConfigurationError("the mail server's URL names no host, or more than one", hint=_HOW_TO)
    server = MailServer(
        host=parts.hostname,
        port=port or DEFAULT_PORTS[security],
        security=security,
        user=_read_user(parts) or user,
        password=password,
        ca_file=ca_file,
    )
    _check_login(server)
    return server


def _read_user(parts: SplitResult) -> str:
    if parts.password is not None:
        raise ConfigurationError(
            "the mail server's URL carries a password",
            hint="Take it out of the URL and set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    return unquote(parts.username or "")


def _check_login(server: MailServer) -> None:
    if not server.user:
        return
    if not server.password:
        raise ConfigurationError(
            f"logging in to {server} as {server.user} needs a password",
            hint="Set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    if not (server.user + server.password).isascii():
        raise ConfigurationError(
            f"the login for {server} has characters beyond ASCII, which SMTP logins don't carry reliably",
            hint="Choose a user and password of ASCII characters.",
        )
    if server.security is Security.NONE and server.host not in LOOPBACK_HOSTS:
        raise ConfigurationError(
            f"logging in to {server} would send the password in the clear",
            hint="Write smtp+starttls://… or smtps://…",
        )


class SmtpTransport:
    """Hands mails to one mail server.

    Args:
        url: `smtp://`, `smtp+starttls://` or `smtps://`, with host, optional port and optional user.
        from_address: envelope sender; bounces go there.
        user: whom to log in as, where the URL does not say; "" for no login.
        password: of that user.
        ca_file: PEM certificates trusted besides the system's.
        patience: time-outs, and how long a connection is kept.

    Raises:
        ConfigurationError: the URL, the sender, the login or the certificate file cannot be used.
    """

    def __init__(
        self,
        *,
        url: str,
        from_address: str,
        user: str = "",
        password: str = "",
        ca_file: Path | None = None,
        patience: Patience | None = None,
    ) -> None:
        from digest.deliver.transports.smtp_connection import Patience  # noqa: PLC0415 - each of the two needs the other

        self._patience = patience or Patience()
        try:
            self._sender = parse_mailbox(from_address)
        except ValueError as error:
            raise ConfigurationError(
                f"mail can't be sent from {from_address!r}: {error}",
                hint="Write a bare address such as digest@example.org.",
            ) from error
        self._server = parse_mail_server(url, user=user, password=password, ca_file=ca_file)
        # Certificates are read here, so that a wrong file shows at the start and not at the first mail.
        self._tls = None if self._server.security is Security.NONE else self._server.open_tls()
        self._resting: list[SmtpConnection] = []
        self._lent: set[SmtpConnection] = set()
        self._lock = threading.Lock()

    def resolve(self, destination: Destination) -> str:
        """Return the address as the mail server is told it.

        Raises:
            DeliveryError: it is no mail address.
        """
        return _read_recipient(destination).address

    def send(
        self, message: Message, destination: Destination, is_ours: Callable[[], bool] = always_ours
    ) -> Receipt:
        """Send the mail. With CRLF line ends it travels byte for byte.

        Bare CR and LF become CRLF, the only line end SMTP has (RFC 5321 §2.3.8): servers that disagree
        about them can be talked into seeing a second mail.

        Raises:
            DeliveryError: it was not taken, or (`ambiguous`) the answer to the final dot is missing.
        """
        from digest.deliver.transports.smtp_connection import StaleConnection  # noqa: PLC0415 - each of the two needs the other

        recipient = _read_recipient(destination)
        data = _end_lines(message.body)
        with self._lend() as connection:
            try:
                return connection.hand_over(self._sender, recipient, data, is_ours)
            except StaleConnection:
                return connection.hand_over(self._sender, recipient, data, is_ours)  # over a new one

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:  # noqa: ARG002 - every transport is asked alike
        """Never tells: SMTP cannot be asked what it took.

        Raises:
            DeliveryError: always, permanent.
        """
        raise DeliveryError(
            "a mail server can't be asked what it took",
            permanent=True,
            hint="The mail server's log knows, by Message-ID.",
        )

    def close(self) -> None:
        """Say goodbye to the server, and break off the mails that other threads are sending."""
        with self._lock:
            resting, self._resting = self._resting, []
            for connection in self._lent:
                connection.break_off()
        for connection in resting:
            connection.quit()

    @contextmanager
    def _lend(self) -> Iterator[SmtpConnection]:
        """Lend this thread a connection of its own: the one that rested least, so that others grow old."""
        from digest.deliver.transports.smtp_connection import SmtpConnection  # noqa: PLC0415 - each of the two needs the other

        with self._lock:
            new = SmtpConnection(self._server, self._patience, self._tls)
            connection = self._resting.pop() if self._resting else new
            connection.is_broken_off = False
            self._lent.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._lent.remove(connection)
                self._resting.append(connection)
                old = [one for one in self._resting if one.is_old]
                self._resting = [one for one in self._resting if not one.is_old]
            for one in old:
                one.quit()


def _read_recipient(destination: Destination) -> Mailbox:
    try:
        return parse_mailbox(destination.address)
    except ValueError as error:
        raise DeliveryError(
            f"{destination.address!r} is no mail address: {error}",
            permanent=True,
            hint="Correct it where the subscription names it.",
        ) from error


def _end_lines(body: bytes) -> bytes:
    """Give every line, also the last, the one line end that SMTP has."""
    return b"\r\n".join((*body.splitlines(), b""))


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
