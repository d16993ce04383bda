"""A send is broken off from another thread before anything was handed over: at once, and nothing is in doubt."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.deliver.transports.webhook import SignedWebhookTransport
from digest.model.clock import SystemClock, monotonic
from digest.model.errors import DeliveryError
from digest.model.messages import Message
from digest.model.subscriptions import Destination, DestinationKind
from tests.integration.transports.conftest import SENDER, make_mail
from tests.integration.transports.slack_posts import make_post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from digest.model.messages import Transport

JSON = Message("application/json", b"{}", "key-1")

MAIL = (DestinationKind.MAIL, make_mail())
SLACK = (DestinationKind.SLACK, make_post())
WEBHOOK = (DestinationKind.WEBHOOK, JSON)
_ADDRESSES = {DestinationKind.MAIL: "reader@example.org", DestinationKind.SLACK: "C000PAPERS"}


def _mail(scheme: str) -> Callable[[str], Transport]:
    return lambda place: SmtpTransport(url=f"{scheme}://{place}", from_address=SENDER, user="digest", password="x")


def _slack(place: str, scheme: str = "http") -> Transport:
    return SlackTransport(token="xoxb-1", url=f"{scheme}://{place}/api/")


def _webhook(place: str, scheme: str = "http") -> Transport:
    return SignedWebhookTransport(hooks={"lab": (f"{scheme}://{place}/hook", b"k" * 32)}, now=SystemClock().now)


def _break_off(
    transport: Transport, what: tuple[DestinationKind, Message], wait: Callable[[], object] = lambda: None
) -> DeliveryError:
    """Send in one thread, wait, and close in another, again and again, as a stop does."""
    kind, message = what
    failures: list[DeliveryError] = []

    def send() -> None:
        try:
            transport.send(message, Destination(kind, _ADDRESSES.get(kind, "lab")))
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


def _require_safe(failure: DeliveryError) -> None:
    assert not failure.ambiguous
    assert not failure.permanent
    assert "was not reached: this process stopped the" in failure.message


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A place where connections stand, and nobody says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def _place(server: socket.socket) -> str:
    return f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (_mail("smtps"), MAIL),
        (lambda place: _slack(place, "https"), SLACK),
        (lambda place: _webhook(place, "https"), WEBHOOK),
    ],
    ids=["mail", "Slack", "webhook"],
)
def test_a_connection_that_is_being_secured_is_broken_off_safely(
    make: Callable[[str], Transport], what: tuple[DestinationKind, Message], silent: socket.socket
) -> None:
    _require_safe(_break_off(make(_place(silent)), what))


@pytest.mark.parametrize(
    ("scheme", "said", "heard"),
    [
        ("smtp", "", ""),
        ("smtp", "220 wire.example\r\n", "ehlo"),
        ("smtp", "220 wire.example\r\n250-wire.example\r\n250 AUTH PLAIN\r\n", "AUTH"),
        ("smtp+starttls", "220 wire.example\r\n250-wire.example\r\n250 STARTTLS\r\n", "STARTTLS"),
        ("smtp+starttls", "220 wire.example\r\n250-wire.example\r\n250 STARTTLS\r\n220 go on\r\n", "\x16"),
    ],
    ids=["greeting", "EHLO", "login", "STARTTLS", "handshake"],
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

        _require_safe(_break_off(_mail(scheme)(_place(silent)), MAIL, speak))
