"""Sends one mail after the other over one SMTP connection.

The steps are taken one by one rather than by `smtplib.sendmail`, because what matters is on which side of the
final dot a failure lies: before it nothing was delivered and repeating is safe; behind it, without an answer,
nobody can tell (RFC 1047) and only the caller's policy can decide.
"""

from __future__ import annotations

import smtplib
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.deliver.transports.registry import require_ours
from digest.deliver.transports.smtp import (
    CLOSING,
    DONE,
    FORWARDED,
    GO_AHEAD,
    MailServer,
    Security,
    Stage,
    find_queue_id,
    judge_break,
    judge_opening,
    judge_reply,
    read_reply,
)
from digest.model.clock import monotonic
from digest.model.errors import DeliveryError
from digest.model.messages import Receipt

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from digest.deliver.transports.smtp import Mailbox

_CONNECT_SECONDS = 10.0
_POSITIVE = range(200, 300)
"""Behind the final dot the first digit decides, whatever follows (RFC 5321 §4.2.1)."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait and how much to ask of one connection.

    Attributes:
        command: seconds for each answer.
        final: seconds for the answer to the final dot: a shorter wait makes copies (RFC 5321 §4.5.3.2.6).
        idle: seconds after which a silent connection is not used again.
        mails: mails after which a connection is closed.
    """

    command: float = 60.0
    final: float = 600.0
    idle: float = 60.0
    mails: int = 100


class StaleConnection(Exception):
    """The server had ended a connection before the mail began."""


class SmtpConnection:
    """At most one open connection to a server, opened when needed.

    Attributes:
        is_broken_off: another thread has ended it, be it before it stood.
    """

    def __init__(self, server: MailServer, patience: Patience, tls: ssl.SSLContext | None) -> None:
        self.is_broken_off = False
        self._server = server
        self._patience = patience
        self._tls = tls
        self._link: smtplib.SMTP | None = None
        self._handle: socket.socket | None = None
        self._has_rested = False
        self._stage = Stage.GREETING
        self._mails = 0
        self._used_at = 0.0

    @property
    def is_old(self) -> bool:
        """Whether it has rested or served for so long that it is not used again, or is not open at all."""
        has_rested_long = monotonic() - self._used_at > self._patience.idle
        return self._link is None or self._mails >= self._patience.mails or has_rested_long

    def hand_over(self, sender: Mailbox, recipient: Mailbox, data: bytes, is_ours: Callable[[], bool]) -> Receipt:
        """Send one mail.

        Raises:
            StaleConnection: nothing was said: the server had gone while the connection rested.
            DeliveryError: it was not taken, or (`ambiguous`) the answer to the final dot is missing.
        """
        link = self._take()
        options = _choose_options(link, sender, recipient, data)
        self._stage = Stage.SENDER
        try:
            self._ask(link, f"MAIL FROM:<{sender.address}>{options}", DONE, FORWARDED)
            self._stage = Stage.RECIPIENT
            self._ask(link, f"RCPT TO:<{recipient.address}>", DONE, FORWARDED)
            self._stage = Stage.DATA
            self._ask(link, "DATA", GO_AHEAD)
            link.send(_stuff_dots(data))
            self._look_once_more(is_ours)
            self._stage = Stage.FINAL
            link.send(b".\r\n")
            code, reply = self._await_verdict(link)
        except OSError as error:
            self.drop()
            if self._stage is Stage.SENDER and self._has_rested:
                raise StaleConnection from error
            raise judge_break(self._stage, error) from error
        if code not in _POSITIVE:
            raise self._give_up(link, code, reply)
        self._used_at = monotonic()
        return Receipt(find_queue_id(reply), f"{code} {read_reply(reply)}")

    def break_off(self) -> None:
        """End whatever another thread waits for on this connection; that one sees it break."""
        self.is_broken_off = True
        if self._handle is not None:
            with suppress(OSError):  # it may have ended by itself just now
                self._handle.shutdown(socket.SHUT_RDWR)

    def quit(self) -> None:
        """Say goodbye and close. The last mail was answered long ago: no answer is waited for."""
        with suppress(OSError):
            if self._link is not None:
                self._link.putcmd("QUIT")
        self.drop()

    def _take(self) -> smtplib.SMTP:
        """Return a connection that can be used as far as known, opening one where needed.

        Raises:
            DeliveryError: the server can't be reached, trusted or logged in to.
        """
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
        stage, link = Stage.GREETING, None
        try:
            link = self._connect()
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
                    f"{self._server} was not reached: it was broken off on this side", whole_transport=True
                ) from error
            raise judge_opening(self._server, stage, error) from error
        return link

    def _connect(self) -> smtplib.SMTP:
        host, port, seconds = self._server.host, self._server.port, self._patience.command
        if self._server.security is Security.TLS:
            return _SecureLink(self._hold, host, port, timeout=seconds, context=self._tls)
        return _Link(self._hold, host, port, timeout=seconds)

    def _hold(self, line: socket.socket) -> None:
        """Keep a handle of our own: what secures a socket takes it from whoever held it."""
        self._handle = line.dup()
        if self.is_broken_off:
            raise ConnectionAbortedError

    def _ask(self, link: smtplib.SMTP, command: str, *wanted: int) -> None:
        code, reply = link.docmd(command)
        if code not in wanted:
            raise self._give_up(link, code, reply)

    def _look_once_more(self, is_ours: Callable[[], bool]) -> None:
        try:
            require_ours(is_ours)
        except DeliveryError:
            self.drop()  # without its final dot the server forgets the mail
            raise

    def _await_verdict(self, link: smtplib.SMTP) -> tuple[int, bytes]:
        """Return the answer to the final dot, which may take longer than any other."""
        assert link.sock is not None  # noqa: S101 - the dot has just gone over it
        link.sock.settimeout(self._patience.final)
        verdict = link.getreply()
        link.sock.settimeout(self._patience.command)
        return verdict

    def _give_up(self, link: smtplib.SMTP, code: int, reply: bytes) -> Exception:
        """Make the connection ready for the next mail, where it can be, and return what a refusal means."""
        if code == CLOSING and self._stage is Stage.SENDER and self._has_rested:
            self.drop()
            return StaleConnection()
        failure = judge_reply(self._stage, code, reply)
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


class _Link(smtplib.SMTP):
    """smtplib's side of a connection, whose socket is shown to somebody as soon as it stands."""

    def __init__(self, hold: Callable[[socket.socket], None], host: str, port: int, *, timeout: float) -> None:
        self._hold = hold
        super().__init__(host, port, timeout=timeout)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # Where smtplib connects, kept apart for what secures or replaces that.
        line = socket.create_connection((host, port), _CONNECT_SECONDS)
        line.settimeout(timeout)
        # The final dot goes out in a packet of its own; without this it would wait for an acknowledgement.
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._hold(line)
        except OSError:
            line.close()
            raise
        return line


class _SecureLink(smtplib.SMTP_SSL, _Link):
    """The same over TLS from the first byte: SMTP_SSL secures what `_Link` connected."""

    def __init__(
        self,
        hold: Callable[[socket.socket], None],
        host: str,
        port: int,
        *,
        timeout: float,
        context: ssl.SSLContext | None,
    ) -> None:
        self._hold = hold
        smtplib.SMTP_SSL.__init__(self, host, port, timeout=timeout, context=context)


def _choose_options(link: smtplib.SMTP, sender: Mailbox, recipient: Mailbox, data: bytes) -> str:
    """Return what the server is to know of a mail beforehand.

    Raises:
        DeliveryError: it does not take addresses or headers beyond ASCII.
    """
    is_ascii = data.isascii()
    needs_utf8 = (
        sender.needs_utf8 or recipient.needs_utf8 or not (is_ascii or data.partition(b"\r\n\r\n")[0].isascii())
    )
    if needs_utf8 and not link.has_extn("smtputf8"):
        raise DeliveryError(
            "the mail server does not take addresses or headers beyond ASCII (it offers no SMTPUTF8)",
            permanent=True,
            hint="Use an address of ASCII characters, or a mail server that offers SMTPUTF8.",
        )
    # smtplib encodes commands as ASCII unless told otherwise.
    link.command_encoding = "utf-8" if needs_utf8 else "ascii"
    return "".join(
        option
        for option, is_wanted in (
            (f" SIZE={len(data)}", link.has_extn("size")),
            (" BODY=8BITMIME", link.has_extn("8bitmime") and not is_ascii),
            (" SMTPUTF8", needs_utf8),
        )
        if is_wanted
    )


def _stuff_dots(data: bytes) -> bytes:
    """Double each dot that a line begins with (RFC 5321 §4.5.2)."""
    return b"." * data.startswith(b".") + data.replace(b"\r\n.", b"\r\n..")
