"""Sends one mail after the other over one SMTP connection, and reads what the server says.

The steps are taken one by one rather than by `smtplib.sendmail`. What matters is on which side of
the final dot a failure lies: before it nothing was delivered and repeating is safe; after it,
without an answer, nobody can know (RFC 1047) and only the caller's policy can decide.
"""

from __future__ import annotations

import io
import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from digest.config.addresses import read_smtp_url
from digest.deliver.rules import refuses_us, says_no_such_recipient
from digest.deliver.transports.smtp_replies import (
    OF_SENDER,
    OF_SENDER_MAYBE,
    Cause,
    LimitReached,
    find_cause,
)
from digest.model.clock import monotonic
from digest.model.errors import ConfigurationError, DeliveryError, Refusal
from digest.model.messages import IsOurs, Receipt, require_ours
from digest.model.said import NOTHING, Said, Saying
from digest.wire import TRUST_HINT, load_authorities

DONE = 250
"""Requested action completed."""
FORWARDED = 251
"""Completed as well: the server will pass the mail on."""
GO_AHEAD = 354
"""The mail itself is awaited."""
CLOSING = 421
"""The server ends the connection (RFC 5321 §3.8)."""
_REFUSALS = range(400, 600)
_PERMANENT = range(500, 600)
_LOGIN_CODES = frozenset({454, 530, 534, 535, 538})
"""Codes about authentication wherever they appear (RFC 4954 §6)."""

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_LONGEST_DETAIL = 300

_CONNECT_SECONDS = 10.0
_POSITIVE = range(200, 300)
"""Behind the final dot the first digit decides, whatever follows (RFC 5321 §4.2.1)."""

_LONGEST_ANSWER = 65_536


class Security(StrEnum):
    """How the connection is protected, named as in the URL."""

    NONE = "smtp"
    STARTTLS = "smtp+starttls"
    TLS = "smtps"


DEFAULT_PORTS = {Security.NONE: 25, Security.STARTTLS: 587, Security.TLS: 465}


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server that takes our mail, without a login if `user` is "".

    Certificates in `ca_file` are trusted besides the system's. `helo` is the name this machine
    gives itself.
    """

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)
    ca_file: Path | None = None
    helo: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.security}://{host}:{self.port}"

    def open_tls(self) -> ssl.SSLContext:
        """Return a context that verifies the server's certificate and name."""
        try:
            return load_authorities(self.ca_file)
        except OSError as error:
            raise ConfigurationError(
                f"the certificates in {self.ca_file} can't be read: {error}",
                hint="Name a PEM file with the authority's certificate, or remove the setting.",
            ) from error


def parse_mail_server(
    url: str, *, password: str = "", ca_file: Path | None = None, helo: str = ""
) -> MailServer:
    """Read a mail server's URL, and check the login."""
    parts = urlsplit(read_smtp_url(url))
    security = Security(parts.scheme)
    user = unquote(parts.username or "")
    port = parts.port or DEFAULT_PORTS[security]
    server = MailServer(parts.hostname or "", port, security, user, password, ca_file, helo)
    if user and not password:
        raise ConfigurationError(
            f"logging in to {server} as {user} needs a password",
            hint="Set DIGEST_MAIL_PASSWORD or DIGEST_MAIL_PASSWORD_FILE.",
        )
    if user and not (user + password).isascii():
        raise ConfigurationError(
            f"the login for {server} has characters beyond ASCII, which many mail servers refuse",
            hint="Choose a user and password of ASCII characters.",
        )
    return server


class Stage(StrEnum):
    """Where in the conversation something happened. Only `FINAL` is after the final dot."""

    GREETING = "greeting"
    LOGIN = "login"
    SENDER = "MAIL FROM"
    RECIPIENT = "RCPT TO"
    DATA = "DATA"
    FINAL = "the final dot"


_BEFORE_ANY_RECIPIENT = (Stage.GREETING, Stage.LOGIN, Stage.SENDER)


def read_reply(reply: bytes | str) -> str:
    """Return a reply as one short printable line."""
    text = reply.decode("utf-8", "replace") if isinstance(reply, bytes) else reply
    return _CONTROLS.sub(" ", text).strip()[:_LONGEST_DETAIL]


def classify_reply(stage: Stage, code: int, reply: bytes | str) -> DeliveryError:
    """Turn a refusal into an error that knows whether to try again.

    A 4xx code passes with time, a 5xx code does not. What comes before any recipient was named, and
    what is about the login, concerns every mail; but once one was named, only what does not pass: a
    server may say 421 or 454 for one recipient for ever. What refuses this machine or its sender
    waits for the operator, wherever it is said; but once a recipient was named, others may be taken
    all the same. A limit passes, whatever the code is. It concerns every mail if it came before any
    recipient, or if its words say that it is ours. Else it may be one reader's. A `LimitReached`
    concerns every mail once two readers' mails meet it. A reply without a usable code after the
    final dot leaves it open whether the mail was taken.
    """
    text = read_reply(reply)
    is_early = stage in _BEFORE_ANY_RECIPIENT
    # No word of an address or a link says why.
    said = f"{code} " + re.sub(r"(?<!\S)[^\s@]+@\S*|\bhttps?://\S*", " ", text).lower()
    cause = find_cause(said, is_early=is_early) if code in _REFUSALS else None
    if cause is Cause.LIMIT:
        is_sure = is_early or OF_SENDER.search(said) is not None
        may_be_ours = is_sure or code not in _PERMANENT or OF_SENDER_MAYBE.search(said)
        limit = Saying.LOGIN_LIMIT if stage is Stage.LOGIN else Saying.MAIL_LIMIT
        return (LimitReached if may_be_ours else DeliveryError)(
            Said.of(limit, f"{code}", str(stage), text),
            whole_transport=is_sure,
            refusal=Refusal.ACCOUNT if is_early else None,
            hint=cause.advice,
        )
    is_login = stage is Stage.LOGIN or (code in _LOGIN_CODES and (is_early or code in _PERMANENT))
    is_general = is_early and cause is not Cause.MAILBOX
    is_of_us = code in _REFUSALS and refuses_us(code, text, has_read=stage is Stage.FINAL)
    refused = {
        Refusal.ACCOUNT: is_general,
        Refusal.PLACE: is_login or is_of_us,
        Refusal.READER: says_no_such_recipient(text),
    }
    return DeliveryError(
        Said.of(Saying.MAIL_ANSWERED, f"{code}", str(stage), text),
        permanent=code in _PERMANENT or is_of_us,
        ambiguous=stage is Stage.FINAL and code not in _REFUSALS,
        whole_transport=is_login or is_general or is_of_us or cause is Cause.ENCRYPTION,
        refusal=next((one for one, is_so in refused.items() if is_so), None),
        hint=(
            cause.advice
            if cause
            else _hint_for(stage, code, text, is_login=is_login, is_of_us=is_of_us)
        ),
    )


def _hint_for(stage: Stage, code: int, text: str, *, is_login: bool, is_of_us: bool) -> Said:
    if is_login:
        return Said.of(Saying.CHECK_LOGIN)
    # A server's policy has codes that begin so (RFC 3463 §3.8).
    if is_of_us or (stage is Stage.FINAL and text.startswith("5.7.")):
        return Said.of(Saying.POLICY)
    if stage is Stage.SENDER:
        return Said.of(Saying.CHECK_SENDER)
    if stage is Stage.RECIPIENT and code in _PERMANENT:
        is_unknown = says_no_such_recipient(text)
        return Said.of(Saying.DROP_RECIPIENT if is_unknown else Saying.CHECK_RECIPIENT)
    return NOTHING


def classify_break(stage: Stage, error: Exception) -> DeliveryError:
    """Turn a broken or silent connection into an error; after the final dot it is ambiguous."""
    if stage is Stage.FINAL:
        return DeliveryError(
            Said.of(Saying.BROKE_AFTER_DOT, _words(error)),
            ambiguous=True,
            hint=Said.of(Saying.SEARCH_MAIL_LOG),
        )
    return DeliveryError(Said.of(Saying.BROKE_BEFORE, str(stage), _words(error)))


def classify_opening_error(
    server: MailServer, stage: Stage, error: Exception, offered: Mapping[str, str]
) -> DeliveryError:
    """Turn a failure to connect, protect the connection or log in into an error for every mail.

    `offered`: what the server said to EHLO, each extension by its name with what follows it.
    """
    if isinstance(error, smtplib.SMTPResponseException):
        return classify_reply(stage, error.smtp_code, error.smtp_error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return DeliveryError(
            Said.of(Saying.NOT_TRUSTED, str(server), str(error.verify_message)),
            whole_transport=True,
            hint=Said.of(Saying.NAME_CERTIFICATE, TRUST_HINT),
        )
    if isinstance(error, ssl.SSLError):
        return DeliveryError(
            Said.of(Saying.NO_SECURE_CONNECTION, str(server), _words(error)),
            whole_transport=True,
            hint=Cause.ENCRYPTION.advice,
        )
    # Every smtplib error is an OSError; the two kinds mean different things here.
    if isinstance(error, smtplib.SMTPServerDisconnected) or not isinstance(
        error, smtplib.SMTPException
    ):
        return DeliveryError(
            Said.of(Saying.UNREACHABLE, str(server), _words(error)),
            whole_transport=True,
            hint=Said.of(Saying.CHECK_HOST, Cause.ENCRYPTION.advice),
        )
    if stage is Stage.LOGIN and "auth" in offered:
        return DeliveryError(
            Said.of(Saying.NO_PASSWORD, str(server), offered["auth"].strip()),
            permanent=True,
            whole_transport=True,
            hint=Cause.LOGIN.advice,
        )
    return DeliveryError(
        Said.of(Saying.NOT_OFFERED, str(server), str(stage), _words(error)),
        permanent=True,
        whole_transport=True,
        hint=Said.of(Saying.LOGINS_ENCRYPTED, Cause.ENCRYPTION.advice),
    )


def _words(error: Exception) -> str:
    return read_reply(str(error)) or type(error).__name__


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait (seconds) and how much to ask of one connection, until it is closed."""

    command: float = 60.0
    final: float = (
        600.0  # a shorter wait for the answer to the final dot makes copies (RFC 5321 §4.5.3.2.6)
    )
    idle: float = 60.0
    mails: int = 100


class StaleConnection(Exception):
    """A connection that carried mails takes no more, and has not taken this one."""


class SmtpConnection:
    """At most one open connection to a server, opened when needed.

    Another thread may break it off.
    """

    def __init__(self, server: MailServer, timeouts: Timeouts, tls: ssl.SSLContext | None) -> None:
        self.is_broken_off = False
        self._server = server
        self._timeouts = timeouts
        self._tls = tls
        self._link: smtplib.SMTP | None = None
        self._handle: socket.socket | None = None
        self._has_rested = False
        self._stage = Stage.GREETING
        self._mails = 0
        self._used_at = 0.0

    @property
    def is_old(self) -> bool:
        """Whether it is not used again: it has rested or served for too long, or is not open."""
        return (
            self._link is None
            or self._mails >= self._timeouts.mails
            or monotonic() - self._used_at > self._timeouts.idle
        )

    def send(self, sender: str, recipient: str, data: bytes, is_ours: IsOurs) -> Receipt:
        """Send one mail, of ASCII; `StaleConnection` if it may go over a new connection."""
        link = self.take()
        size = f" SIZE={len(data)}" if link.has_extn("size") else ""
        self._stage = Stage.SENDER
        try:
            self._ask(link, f"MAIL FROM:<{sender}>{size}", DONE, FORWARDED)
            self._stage = Stage.RECIPIENT
            self._ask(link, f"RCPT TO:<{recipient}>", DONE, FORWARDED)
            self._stage = Stage.DATA
            self._ask(link, "DATA", GO_AHEAD)
            # Each dot that a line begins with is doubled (RFC 5321 §4.5.2).
            link.send(b"." * data.startswith(b".") + data.replace(b"\r\n.", b"\r\n.."))
            self._check_once_more(is_ours)
            self._stage = Stage.FINAL
            link.send(b".\r\n")
            code, reply = self._await_verdict(link)
        except OSError as error:
            self.drop()
            if self._stage is Stage.SENDER and self._has_rested:
                raise StaleConnection from error
            raise classify_break(self._stage, error) from error
        if code not in _POSITIVE:
            raise self._give_up(link, code, reply)
        self._used_at = monotonic()
        return Receipt("", f"{code} {read_reply(reply)}")

    def break_off(self) -> None:
        """End whatever another thread waits for on this connection; that one sees it break."""
        self.is_broken_off = True
        handle = self._handle  # its own thread may drop it at any moment
        if handle is not None:
            with suppress(OSError):  # it may have ended by itself just now
                handle.shutdown(socket.SHUT_RDWR)

    def quit(self) -> None:
        """Say goodbye and close. The last mail was answered long ago: no answer is waited for."""
        with suppress(OSError):
            if self._link is not None:
                self._link.putcmd("QUIT")
        self.drop()

    def take(self) -> smtplib.SMTP:
        """Return a connection that can be used as far as known, opening one if needed."""
        if self.is_old:
            self.quit()
        self._has_rested = self._link is not None
        if self._link is None:
            self._link = self._open()
            self._mails = 0
        self._mails += 1
        self._used_at = monotonic()
        return self._link

    def _open(self) -> smtplib.SMTP:
        link = None
        stage = Stage.GREETING
        try:
            link = _Link(self._server, self._keep_handle, self._tls, self._timeouts.command)
            link.ehlo_or_helo_if_needed()
            if self._server.security is Security.STARTTLS:
                link.starttls(context=self._tls)
                link.ehlo_or_helo_if_needed()
            stage = Stage.LOGIN
            if self._server.user:
                link.login(self._server.user, self._server.password)
        except (OSError, UnicodeError) as error:
            if link is not None:
                link.close()
            self.drop()
            if self.is_broken_off:
                raise DeliveryError(
                    Said.of(Saying.STOPPED_HERE, str(self._server)),
                    whole_transport=True,
                ) from error
            offered = link.esmtp_features if link is not None else {}
            raise classify_opening_error(self._server, stage, error, offered) from error
        return link

    def _keep_handle(self, line: socket.socket) -> None:
        """Keep a handle of our own: what secures a socket takes it from its holder."""
        self._handle = line.dup()
        if self.is_broken_off:
            raise ConnectionAbortedError

    def _ask(self, link: smtplib.SMTP, command: str, *wanted: int) -> None:
        code, reply = link.docmd(command)
        if code not in wanted:
            raise self._give_up(link, code, reply)

    def _check_once_more(self, is_ours: IsOurs) -> None:
        try:
            require_ours(is_ours)
        except DeliveryError:
            self.drop()  # without its final dot the server forgets the mail
            raise

    def _await_verdict(self, link: smtplib.SMTP) -> tuple[int, bytes]:
        """Return the answer to the final dot, which may take longer than any other."""
        assert link.sock is not None  # noqa: S101 - the dot has just gone over it
        link.sock.settimeout(self._timeouts.final)
        verdict = link.getreply()
        link.sock.settimeout(self._timeouts.command)
        return verdict

    def _give_up(self, link: smtplib.SMTP, code: int, reply: bytes) -> Exception:
        """Make the connection ready for the next mail, if it can be.

        Return what a refusal means.
        """
        failure = classify_reply(self._stage, code, reply)
        # A limit may be of this connection alone. A new one shows it.
        if self._has_rested and (
            isinstance(failure, LimitReached) or (code == CLOSING and self._stage is Stage.SENDER)
        ):
            self.drop()
            return StaleConnection()
        self._used_at = monotonic()
        try:
            if code == CLOSING or failure.ambiguous or link.rset()[0] != DONE:
                self.drop()
        except OSError:
            self.drop()
        return failure

    def drop(self) -> None:
        """Close without a word."""
        for one in (self._link, self._handle):
            if one is not None:
                one.close()
        self._link = self._handle = None


class _Answers(io.RawIOBase):
    """What a server says. A whole answer has the socket's time, and a limit of bytes."""

    def begin(self, line: socket.socket) -> None:
        """Begin to wait for an answer."""
        self._line = line
        self._ends_at = monotonic() + (line.gettimeout() or 0.0)
        self._room = _LONGEST_ANSWER

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as io has it
        seconds = self._ends_at - monotonic()
        patience = self._line.gettimeout()
        if seconds <= 0 or self._room <= 0:
            raise TimeoutError("the answer did not end in time")
        self._line.settimeout(seconds)
        try:
            size = self._line.recv_into(buffer)
        finally:
            self._line.settimeout(patience)
        self._room -= size
        return size


class _Link(smtplib.SMTP):
    """smtplib's side of a connection; it shows its socket as soon as there is one."""

    def __init__(
        self,
        server: MailServer,
        hold: Callable[[socket.socket], None],
        tls: ssl.SSLContext | None,
        timeout: float,
    ) -> None:
        self._hold = hold
        self._tls = tls if server.security is Security.TLS else None
        super().__init__(server.host, server.port, server.helo or None, timeout=timeout)

    def getreply(self) -> tuple[int, bytes]:
        if self.file is None:
            self.file = io.BufferedReader(_Answers())
        self.file.raw.begin(self.sock)
        return super().getreply()

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        line = socket.create_connection((host, port), _CONNECT_SECONDS)
        line.settimeout(timeout)
        # The final dot goes out in a packet of its own. Else it would wait for an acknowledgement.
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._hold(line)
            return self._tls.wrap_socket(line, server_hostname=host) if self._tls else line
        except OSError:
            line.close()
            raise
