"""A send is broken off from another thread before it has reached anybody: at once, and nothing is in doubt."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, ClassVar

import pytest

from digest.clock import SystemClock, monotonic
from digest.errors import DeliveryError
from digest.messages import Message
from digest.subscriptions import Destination, DestinationKind
from digest.transports.mail_server import parse_mail_server
from digest.transports.slack import SlackTransport
from digest.transports.smtp import SmtpTransport
from digest.transports.smtp_connection import Patience, SmtpConnection
from digest.transports.smtp_pool import SmtpPool
from digest.transports.webhook import SignedWebhookTransport
from tests.integration.transports.conftest import SENDER, make_mail
from tests.integration.transports.slack_posts import make_post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from digest.transports.registry import Transport

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
    assert "was not reached: it was broken off on this side" in failure.message


@pytest.fixture
def deaf() -> Iterator[str]:
    """A place whose connections never stand: its queue is full, and nobody takes from it."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.settimeout(0)
            one.connect_ex(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


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
        (_mail("smtp"), MAIL),
        (_mail("smtps"), MAIL),
    ],
    ids=["mail", "mail over TLS"],
)
def test_a_connection_that_does_not_stand_yet_is_broken_off_safely(
    make: Callable[[str], Transport], what: tuple[DestinationKind, Message], deaf: str
) -> None:
    _require_safe(_break_off(make(deaf), what))


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


def test_a_name_that_no_resolver_tells_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    def look_up(*_: object) -> list[object]:
        is_over.wait(5)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    try:
        _require_safe(_break_off(_mail("smtps")("mail.example"), MAIL))
    finally:
        is_over.set()


class _Leaving(SmtpConnection):
    """Notes its goodbye."""

    said: ClassVar[list[str]] = []

    def begin_goodbye(self) -> None:
        self.said.append("QUIT")

    def end_goodbye(self, until: float) -> None:
        self.said.append(f"waited until {until:g}")


def test_connections_that_rest_are_left_together_so_that_a_server_that_hangs_keeps_nobody_long() -> None:
    _Leaving.said.clear()
    server = parse_mail_server("smtp://127.0.0.1", user="", password="", ca_file=None)
    pool = SmtpPool(lambda: _Leaving(server, Patience(), None), 2)
    with pool.borrow(), pool.borrow():
        pass
    pool.close()
    first, second, *waits = _Leaving.said
    assert first == second == "QUIT"
    assert len(waits) == 2
    assert len(set(waits)) == 1
