"""Each transport with a far side of its own, opened through the registry."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from digest.config.settings import INCOMING
from digest.deliver.transports.registry import TRANSPORTS, construct
from digest.model.clock import ManualClock
from digest.model.destinations import Destination, DestinationKind
from digest.model.messages import Message, Transport
from tests.fakes.loopback import Answer, LoopbackServer, Request
from tests.fakes.mail import MailSink
from tests.fakes.slack import TOKEN, SlackReceiver

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
KEY = "5f0c9d54-0000-5000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Route:
    """A transport, somewhere to send to, and what has arrived there.

    Attributes:
        transport: opened through the registry.
        destination: takes messages.
        message: one it takes.
        arrived: the bodies that came through, oldest first.
        fail: makes the far side refuse or vanish, for now.
    """

    transport: Transport
    destination: Destination
    message: Message
    arrived: Callable[[], list[bytes]]
    fail: Callable[[], object]


@pytest.fixture(params=list(TRANSPORTS), ids=str)
def route(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Route]:
    with ExitStack() as stack:
        route = _ROUTES[request.param](stack, tmp_path)
        stack.callback(route.transport.close)
        yield route


def _encode(payload: object) -> bytes:
    text = json.dumps(payload, ensure_ascii=False)
    return text.encode()


def _open(kind: DestinationKind, **options: object) -> Transport:
    """Open the transport of a kind through the registry."""
    return construct(TRANSPORTS[kind].path, options)


def _lay_mail(stack: ExitStack, _: Path) -> Route:
    sink = MailSink()
    inner = stack.enter_context(ExitStack())
    inner.enter_context(sink)
    body = f"Message-ID: <{KEY}@sender.example>\r\nSubject: x\r\n\r\n.\r\n..\r\nten % of a dot.\r\n"
    transport = _open(DestinationKind.MAIL, url=sink.url, from_address="digest@sender.example")
    reader = Destination(DestinationKind.MAIL, "reader@example.org")
    message = Message("message/rfc822", body.encode(), KEY, "perf.eml")

    def list_arrived() -> list[bytes]:
        return [mail.raw for mail in sink.mails]

    return Route(transport, reader, message, list_arrived, inner.close)


def _lay_slack(stack: ExitStack, _: Path) -> Route:
    clock = ManualClock(NOW)
    receiver = stack.enter_context(SlackReceiver(clock))
    payload: dict[str, Any] = {
        "channel": "C000PAPERS",
        "text": "Pınar’s nine papers &amp; more",
        "metadata": {"event_type": "digest_posted", "event_payload": {"delivery": KEY}},
    }
    transport = _open(DestinationKind.SLACK, token=TOKEN, url=receiver.url)
    channel = Destination(DestinationKind.SLACK, "#papers")
    message = Message("application/json", _encode(payload), KEY, "perf.json")

    def list_arrived() -> list[bytes]:
        return [_encode(posted.payload) for posted in receiver.messages]

    def fail() -> None:
        receiver.faults.add("ratelimited", times=9)

    return Route(transport, channel, message, list_arrived, fail)


def _lay_incoming(kind: DestinationKind, stack: ExitStack, _: Path) -> Route:
    arrived: list[bytes] = []
    refusals: list[Answer] = []
    body = _encode({"text": "Pınar’s nine papers"})
    message = Message("application/json", body, KEY, "perf.json")
    quoted = _encode(body.decode())

    def take(request: Request) -> Answer:
        if refusals:
            return refusals[0]
        # The message is a text, however deep in what is posted.
        is_wrapped = quoted in request.body
        arrived.append(body if is_wrapped else request.body)
        return Answer(b"ok")

    def fail() -> None:
        refusals.append(Answer(status=429))

    receiver = stack.enter_context(LoopbackServer(take))
    transport = _open(kind, hooks={"team": f"{receiver.url}/hook"})
    team = Destination(kind, "team")
    return Route(transport, team, message, arrived.copy, fail)


def _lay_signed_webhook(stack: ExitStack, _: Path) -> Route:
    arrived: list[bytes] = []
    refusals: list[Answer] = []

    def take(request: Request) -> Answer:
        if refusals:
            return refusals[0]
        arrived.append(request.body)
        return Answer()

    def fail() -> None:
        refusals.append(Answer(status=429))

    receiver = stack.enter_context(LoopbackServer(take))
    hooks = {"lab": (receiver.url, bytes(32))}
    clock = ManualClock(NOW)
    transport = _open(DestinationKind.WEBHOOK, hooks=hooks, now=clock.now)
    lab = Destination(DestinationKind.WEBHOOK, "lab")
    body = _encode({"title": "Pınar’s nine papers"})
    message = Message("application/json", body, KEY, "perf.json")
    return Route(transport, lab, message, arrived.copy, fail)


def _lay_folder(_: ExitStack, tmp_path: Path) -> Route:
    folder = tmp_path / "digests"
    transport = _open(DestinationKind.FILE, root=tmp_path)
    place = Destination(DestinationKind.FILE, "digests")
    message = Message("text/html", b"<p>nine papers</p>\r\n\x00\xff", KEY, "perf.html")

    def list_arrived() -> list[bytes]:
        if not folder.exists():
            return []
        return [path.read_bytes() for path in folder.iterdir()]

    def fail() -> None:
        folder.write_bytes(b"a file in the folder's place")

    return Route(transport, place, message, list_arrived, fail)


def _lay_console(_: ExitStack, __: Path) -> Route:
    stream = io.StringIO()
    transport = _open(DestinationKind.CONSOLE, stream=stream)
    place = Destination(DestinationKind.CONSOLE)
    message = Message("text/plain", "Pınar’s nine papers\n".encode(), KEY)

    def list_arrived() -> list[bytes]:
        if stream.closed:
            return []
        written = stream.getvalue()
        return [written.encode()] if written else []

    return Route(transport, place, message, list_arrived, stream.close)


_ROUTES: dict[DestinationKind, Callable[[ExitStack, Path], Route]] = {
    DestinationKind.MAIL: _lay_mail,
    DestinationKind.SLACK: _lay_slack,
    DestinationKind.WEBHOOK: _lay_signed_webhook,
    DestinationKind.FILE: _lay_folder,
    DestinationKind.CONSOLE: _lay_console,
    **{kind: partial(_lay_incoming, kind) for kind in INCOMING},
}
