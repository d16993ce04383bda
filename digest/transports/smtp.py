"""Mail over SMTP (RFC 5321), one recipient per mail, over a few connections that are kept for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.errors import ConfigurationError, DeliveryError
from digest.transports.fence import always_ours
from digest.transports.mail_address import Mailbox, parse_mailbox
from digest.transports.mail_server import Security, parse_mail_server
from digest.transports.smtp_connection import Patience, SmtpConnection
from digest.transports.smtp_conversation import Conversation, StaleConnection
from digest.transports.smtp_pool import SmtpPool

if TYPE_CHECKING:
    import smtplib
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from digest.messages import Message, Receipt
    from digest.subscriptions import Destination


class SmtpTransport:
    """Hands mails to one mail server.

    Args:
        url: `smtp://`, `smtp+starttls://` or `smtps://`, with host, optional port and optional user.
        from_address: envelope sender; bounces go there.
        user: whom to log in as, where the URL does not say; "" for no login.
        password: of that user.
        ca_file: PEM certificates trusted besides the system's.
        patience: time-outs, and how long a connection is kept.
        connections: how many at once, at most; more senders wait for their turn.

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
        connections: int = 1,
    ) -> None:
        self._patience = patience or Patience()
        try:
            self._sender = parse_mailbox(from_address)
        except ValueError as error:
            raise ConfigurationError(
                f"mail can't be sent from {from_address!r}: {error}",
                hint="Write a bare address such as digest@example.org.",
            ) from error
        server = parse_mail_server(url, user=user, password=password, ca_file=ca_file)
        # Certificates are read here, so that a wrong file shows at the start and not at the first mail.
        tls = None if server.security is Security.NONE else server.open_tls()
        self._pool = SmtpPool(lambda: SmtpConnection(server, self._patience, tls), connections)

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
        recipient = _read_recipient(destination)
        data = _end_lines(message.body)
        with self._pool.borrow() as connection:
            try:
                return self._hand_over(connection, recipient, data, is_ours)
            except StaleConnection:
                return self._hand_over(connection, recipient, data, is_ours)  # over a new one

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
        self._pool.close()

    def _hand_over(
        self, connection: SmtpConnection, recipient: Mailbox, data: bytes, is_ours: Callable[[], bool]
    ) -> Receipt:
        link = connection.take()
        sender = f"<{self._sender.address}>{self._choose_options(connection, link, recipient, data)}"
        return Conversation(connection, link).say(sender, f"<{recipient.address}>", _stuff_dots(data), is_ours)

    def _choose_options(
        self, connection: SmtpConnection, link: smtplib.SMTP, recipient: Mailbox, data: bytes
    ) -> str:
        is_ascii = data.isascii()
        needs_utf8 = (
            self._sender.needs_utf8
            or recipient.needs_utf8
            or not (is_ascii or data.partition(b"\r\n\r\n")[0].isascii())
        )
        if needs_utf8 and not link.has_extn("smtputf8"):
            raise self._refuse_utf8(connection)
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

    def _refuse_utf8(self, connection: SmtpConnection) -> DeliveryError:
        connection.release()
        return DeliveryError(
            "the mail server does not take addresses or headers beyond ASCII (it offers no SMTPUTF8)",
            permanent=True,
            hint="Use an address of ASCII characters, or a mail server that offers SMTPUTF8.",
        )


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


def _stuff_dots(data: bytes) -> bytes:
    """Double each dot that a line begins with (RFC 5321 §4.5.2)."""
    return b"." * data.startswith(b".") + data.replace(b"\r\n.", b"\r\n..")
