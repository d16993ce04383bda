"""A send is broken off from another thread before anything was handed over.

At once, and nothing is in doubt.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import monotonic
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import DeliveryError
from tests.integration.transports.conftest import SENDER, make_mail


def _break_off(transport: SmtpTransport, wait: Callable[[], object]) -> DeliveryError:
    """Send in one thread, wait, and close in another, again and again, as a stop does."""
    failures: list[DeliveryError] = []

    def send() -> None:
        try:
            transport.send(make_mail(), Destination(DestinationKind.MAIL, "reader@example.org"))
        except DeliveryError as failure:
            failures.append(failure)

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    wait()
    until = monotonic() + 5
    while sending.is_alive() and monotonic() < until:
        transport.close()
        sending.join(timeout=0.01)
    (failure,) = failures
    return failure


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A place where connections stand, and nobody says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.mark.parametrize(
    ("scheme", "said", "heard"),
    [
        ("smtps", "", "\x16"),
        ("smtp", "", ""),
        ("smtp", "220 wire.example\r\n", "ehlo"),
        ("smtp", "220 wire.example\r\n250-wire.example\r\n250 AUTH PLAIN\r\n", "AUTH"),
        ("smtp+starttls", "220 wire.example\r\n250-wire.example\r\n250 STARTTLS\r\n", "STARTTLS"),
        (
            "smtp+starttls",
            "220 wire.example\r\n250-wire.example\r\n250 STARTTLS\r\n220 go on\r\n",
            "\x16",
        ),
    ],
    ids=["TLS", "greeting", "EHLO", "login", "STARTTLS", "handshake"],
)
def test_a_mail_server_that_falls_silent_before_any_mail_is_left_safely(
    scheme: str, said: str, heard: str, silent: socket.socket
) -> None:
    with ExitStack() as stack:

        def speak() -> None:
            silent.settimeout(5)
            connection = stack.enter_context(silent.accept()[0])
            connection.settimeout(5)
            connection.sendall(said.encode())
            words = ""
            while heard not in words:
                words += connection.recv(1000).decode("latin-1")

        transport = SmtpTransport(
            url=f"{scheme}://digest@127.0.0.1:{silent.getsockname()[1]}",
            from_address=SENDER,
            password="x",
        )
        failure = _break_off(transport, speak)
    assert not failure.ambiguous
    assert not failure.permanent
    assert "was not reached: this process stopped the" in failure.message
