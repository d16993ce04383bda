"""Sends mail over SMTP (RFC 5321), one recipient per mail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from digest.config.addresses import read_mail_address
from digest.deliver.transports.smtp_connection import (
    Security,
    SmtpConnection,
    StaleConnection,
    Timeouts,
    parse_mail_server,
)
from digest.deliver.transports.smtp_replies import LimitReached
from digest.model.clock import monotonic
from digest.model.destinations import Destination, normalise_address
from digest.model.errors import DeliveryError, Refusal, UsageError
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying
from digest.wire import read_clock

_LONG = 10.0
"""Seconds in vain after which a server gets no mail for a while."""

_REST = timedelta(minutes=1)
"""How long that is.

Also after it has named a limit of ours: to two readers, or before it knew one.
"""


class SmtpTransport:
    """Hands mails to one mail server; bounces go to `from_address`."""

    def __init__(
        self,
        *,
        url: str,
        from_address: str,
        password: str = "",
        ca_file: Path | None = None,
        helo: str = "",
        timeouts: Timeouts | None = None,
        now: Callable[[], datetime] = read_clock,
    ) -> None:
        self._now = now
        self._timeouts = timeouts or Timeouts()
        self._sender = read_mail_address(from_address)
        self._server = parse_mail_server(url, password=password, ca_file=ca_file, helo=helo)
        # Certificates are read here: so a wrong file shows at the start, not at the first mail.
        self._tls = None if self._server.security is Security.NONE else self._server.open_tls()
        self._idle: list[SmtpConnection] = []
        self._lent: set[SmtpConnection] = set()
        self._lock = threading.Lock()
        self._obstacle: DeliveryError | None = None
        self._limited: set[str] = set()  # who was refused for a limit since the last mail was taken
        self._rests_until = now()

    def resolve(self, destination: Destination) -> str:
        """Return the address as the mail server gets it."""
        return _read_recipient(destination)

    def send(
        self, message: Message, destination: Destination, is_ours: IsOurs = always_ours
    ) -> Receipt:
        """Send the mail. With CRLF line ends it travels byte for byte.

        Bare CR and LF become CRLF, the only line end SMTP has (RFC 5321 §2.3.8): servers that
        disagree about them can be talked into seeing a second mail.
        """
        recipient = _read_recipient(destination)
        if self._obstacle is not None and self._now() < self._rests_until:
            raise DeliveryError(
                self._obstacle.said,
                whole_transport=True,
                hint=self._obstacle.advice,
            )
        began = monotonic()
        data = b"\r\n".join(
            (*message.body.splitlines(), b"")
        )  # the one line end that SMTP has, also at the end
        with self._lend() as connection:
            try:
                try:
                    receipt = connection.send(self._sender, recipient, data, is_ours)
                except StaleConnection:  # over a new one
                    receipt = connection.send(self._sender, recipient, data, is_ours)
            except DeliveryError as error:
                # Else each of many mails would wait as long. A slow refusal is an answer, and of
                # one reader alone.
                is_silent = (
                    isinstance(error.__cause__, OSError)
                    and not error.ambiguous
                    and monotonic() - began >= min(_LONG, self._timeouts.command)
                )
                # One connection too many keeps nothing from others. Errors on opening have a cause.
                is_spare = error.__cause__ is not None and len(self._lent) > 1
                is_limit = isinstance(error, LimitReached) and not is_spare
                if is_limit:
                    self._limited.add(recipient)
                # Said to one reader alone it may be of that reader.
                concerns_all = is_limit and (
                    error.refusal is Refusal.ACCOUNT or len(self._limited) > 1
                )
                error.whole_transport |= concerns_all
                if is_silent or concerns_all:
                    self._rests_until = self._now() + _REST
                    self._obstacle = error
                raise
            self._limited.clear()
            return receipt

    def log_in(self) -> None:
        """Connect, secure the connection and log in, as before a mail; nothing is sent."""
        with self._lend() as connection:
            connection.take()

    def find(
        self,
        message: Message,  # noqa: ARG002 - every transport is asked alike
        destination: Destination,  # noqa: ARG002 - every transport is asked alike
        begun_at: datetime,  # noqa: ARG002 - every transport is asked alike
    ) -> Receipt | None:
        """Never answer, but raise a permanent `DeliveryError`.

        SMTP cannot be asked what it took.
        """
        raise DeliveryError(Said.of(Saying.MAIL_NOT_ASKED), permanent=True)

    def close(self) -> None:
        """Say goodbye to the server, and break off the mails that other threads are sending."""
        with self._lock:
            idle = self._idle
            self._idle = []
            for connection in self._lent:
                connection.break_off()
        for connection in idle:
            connection.quit()

    @contextmanager
    def _lend(self) -> Iterator[SmtpConnection]:
        """Lend this thread a connection of its own.

        It is the one used last, so that the others can be closed.
        """
        with self._lock:
            new = SmtpConnection(self._server, self._timeouts, self._tls)
            connection = self._idle.pop() if self._idle else new
            connection.is_broken_off = False
            self._lent.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._lent.remove(connection)
                self._idle.append(connection)
                old = [one for one in self._idle if one.is_old]
                self._idle = [one for one in self._idle if not one.is_old]
            for one in old:
                one.quit()


def _read_recipient(destination: Destination) -> str:
    try:
        return normalise_address(destination.address)
    except UsageError as error:
        raise DeliveryError(
            Said.of(Saying.NO_MAIL_ADDRESS, repr(destination.address), error.said),
            permanent=True,
            hint=Said.of(Saying.CORRECT_ADDRESS),
        ) from error
