"""One SMTP connection, opened when needed and kept for a while."""

from __future__ import annotations

import contextlib
import select
import smtplib
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.clock import monotonic
from digest.transports.dialling import Call, CalledOff
from digest.transports.mail_server import MailServer, Security
from digest.transports.smtp_replies import DONE, Stage, judge_opening

if TYPE_CHECKING:
    import ssl

_REST = 5.0
"""Seconds a connection may have rested, in silence, and be taken for alive without asking."""

GOODBYE = 2.0
"""Seconds QUIT may take, over all connections together: nothing depends on it."""

_LEAST_WAIT = 0.01
"""Seconds for an answer that should be here by now."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait and how much to ask of one connection.

    Attributes:
        command: seconds for connecting and for each answer.
        final: seconds for the answer to the final dot: a shorter wait makes copies (RFC 5321 §4.5.3.2.6).
        idle: seconds after which a silent connection is not used again.
        mails: mails after which a connection is closed.
    """

    command: float = 60.0
    final: float = 600.0
    idle: float = 60.0
    mails: int = 100


class SmtpConnection:
    """At most one open connection to a server, logged in and ready for MAIL FROM.

    Attributes:
        has_rested: it was open before it was last taken, and nobody asked whether it still is.
    """

    def __init__(self, server: MailServer, patience: Patience, tls: ssl.SSLContext | None) -> None:
        self._server = server
        self._patience = patience
        self._tls = tls
        self._link: smtplib.SMTP | None = None
        self._call = Call()
        self._mails = 0
        self._used_at = 0.0
        self.has_rested = False

    @property
    def is_old(self) -> bool:
        """Whether it is open, and has rested or served for so long that it is not used again."""
        rested = monotonic() - self._used_at
        return self._link is not None and (self._mails >= self._patience.mails or rested > self._patience.idle)

    def take(self) -> smtplib.SMTP:
        """Return a connection that can be used as far as known (see `has_rested`), opening one where needed.

        Raises:
            DeliveryError: the server can't be reached, trusted or logged in to.
        """
        self.has_rested = self._link is not None and self._seems_alive(self._link)
        if self._link is not None and not self.has_rested and not self._is_usable(self._link):
            self.quit()
        if self._link is None:
            self._link = self._open()
            self._mails = 0
        self._mails += 1
        self._used_at = monotonic()
        return self._link

    def await_verdict(self, link: smtplib.SMTP) -> tuple[int, bytes]:
        """Return the answer to the final dot, which may take longer than any other."""
        assert link.sock is not None  # noqa: S101 - the dot has just gone over it
        link.sock.settimeout(self._patience.final)
        verdict = link.getreply()
        link.sock.settimeout(self._patience.command)
        return verdict

    def release(self) -> None:
        """Note that a mail went through and the connection rests from now on."""
        self._used_at = monotonic()

    def reset(self) -> None:
        """Forget the mail that was begun, so that the next can go over the same connection."""
        self._used_at = monotonic()
        try:
            if self._link is not None and self._link.rset()[0] == DONE:
                return
        except OSError:
            pass  # RSET only saves reconnecting; what went wrong with the mail is already being reported
        self.drop()

    def drop(self) -> None:
        """Close without a word."""
        link, self._link = self._link, None
        if link is not None:
            link.close()
        self._call.close()

    def quit(self) -> None:
        """Say goodbye and close."""
        self.begin_goodbye()
        self.end_goodbye(monotonic() + GOODBYE)

    def begin_goodbye(self) -> None:
        """Say goodbye, and wait for no answer yet."""
        # The last mail was answered long ago: how the goodbye ends changes nothing.
        with contextlib.suppress(OSError):
            if self._link is not None and self._link.sock is not None:
                self._link.sock.settimeout(GOODBYE)
                self._link.putcmd("QUIT")

    def end_goodbye(self, until: float) -> None:
        """Wait for the answer to a goodbye until a moment, by `monotonic`, and close."""
        with contextlib.suppress(OSError):
            if self._link is not None and self._link.sock is not None:
                self._link.sock.settimeout(max(until - monotonic(), _LEAST_WAIT))
                self._link.getreply()
        self.drop()

    def interrupt(self) -> None:
        """End whatever another thread waits for on this connection, also where it does not stand yet.

        That thread sees the connection break.
        """
        self._call.break_off()

    def _seems_alive(self, link: smtplib.SMTP) -> bool:
        """Whether it was used a moment ago, and the server has neither closed it nor said anything since."""
        if self.is_old or monotonic() - self._used_at > _REST or link.sock is None:
            return False
        return not _has_news(link.sock)

    def _is_usable(self, link: smtplib.SMTP) -> bool:
        if self.is_old:
            return False
        try:
            return link.noop()[0] == DONE
        except OSError:
            return False

    def _open(self) -> smtplib.SMTP:
        stage = Stage.GREETING
        link, self._call = None, Call()
        try:
            link = self._connect()
            link.ehlo_or_helo_if_needed()
            if self._server.security is Security.STARTTLS:
                link.starttls(context=self._tls)
                link.ehlo_or_helo_if_needed()
            stage = Stage.LOGIN
            if self._server.user:
                link.login(self._server.user, self._server.password)
        except OSError as error:
            if link is not None:
                link.close()
            self._call.close()
            reason = CalledOff() if self._call.is_broken_off else error
            raise judge_opening(self._server, stage, reason) from error
        return link

    def _connect(self) -> smtplib.SMTP:
        host, port, timeout = self._server.host, self._server.port, self._patience.command
        if self._server.security is Security.TLS:
            link: smtplib.SMTP = _SecureLink(self._call, host, port, timeout=timeout, context=self._tls)
        else:
            link = _Link(self._call, host, port, timeout=timeout)
        assert link.sock is not None  # noqa: S101 - constructing with a host connects, or raises
        # The final dot goes out in a packet of its own; without this it would wait for an acknowledgement.
        link.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link


class _Link(smtplib.SMTP):
    """smtplib's side of a connection, over a call of ours."""

    def __init__(self, call: Call, host: str, port: int, *, timeout: float) -> None:
        self._call = call
        super().__init__(host, port, timeout=timeout)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        # Where smtplib connects, kept apart for what secures or replaces that.
        return self._call.dial(host, port, timeout)


class _SecureLink(smtplib.SMTP_SSL, _Link):
    """The same over TLS from the first byte: SMTP_SSL secures what `_Link` dialled."""

    def __init__(
        self, call: Call, host: str, port: int, *, timeout: float, context: ssl.SSLContext | None
    ) -> None:
        self._call = call
        smtplib.SMTP_SSL.__init__(self, host, port, timeout=timeout, context=context)


def _has_news(sock: socket.socket) -> bool:
    """Whether there is something to read, be it the end: unasked, a server only says goodbye."""
    poll = select.poll()  # unlike select it takes descriptors beyond 1,024
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
