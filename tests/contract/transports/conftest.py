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
    return json.dumps(payload, ensure_ascii=False).encode()


def _lay_mail(stack: ExitStack, _: Path) -> Route:
    sink = MailSink()
    inner = stack.enter_context(ExitStack())
    inner.enter_context(sink)
    body = f"Message-ID: <{KEY}@sender.example>\r\nSubject: x\r\n\r\n.\r\n..\r\nten % of a dot.\r\n"
    return Route(
        construct(
            TRANSPORTS[DestinationKind.MAIL].path,
            {"url": sink.url, "from_address": "digest@sender.example"},
        ),
        Destination(DestinationKind.MAIL, "reader@example.org"),
        Message("message/rfc822", body.encode(), KEY, "perf.eml"),
        lambda: [mail.raw for mail in sink.mails],
        inner.close,
    )


def _lay_slack(stack: ExitStack, _: Path) -> Route:
    receiver = stack.enter_context(SlackReceiver(ManualClock(NOW)))
    payload: dict[str, Any] = {
        "channel": "C000PAPERS",
        "text": "Pınar’s nine papers &amp; more",
        "metadata": {"event_type": "digest_posted", "event_payload": {"delivery": KEY}},
    }
    return Route(
        construct(TRANSPORTS[DestinationKind.SLACK].path, {"token": TOKEN, "url": receiver.url}),
        Destination(DestinationKind.SLACK, "#papers"),
        Message("application/json", _encode(payload), KEY, "perf.json"),
        lambda: [_encode(message.payload) for message in receiver.messages],
        lambda: receiver.faults.add("ratelimited", times=9),
    )


def _lay_incoming(kind: DestinationKind, stack: ExitStack, _: Path) -> Route:
    arrived: list[bytes] = []
    refusals: list[Answer] = []

    def take(request: Request) -> Answer:
        if refusals:
            return refusals[0]
        is_wrapped = (
            _encode(message.body.decode()) in request.body
        )  # a text, however deep in what is posted
        arrived.append(message.body if is_wrapped else request.body)
        return Answer(b"ok")

    message = Message(
        "application/json", _encode({"text": "Pınar’s nine papers"}), KEY, "perf.json"
    )
    receiver = stack.enter_context(LoopbackServer(take))
    return Route(
        construct(TRANSPORTS[kind].path, {"hooks": {"team": f"{receiver.url}/hook"}}),
        Destination(kind, "team"),
        message,
        lambda: list(arrived),
        lambda: refusals.append(Answer(status=429)),
    )


def _lay_signed_webhook(stack: ExitStack, _: Path) -> Route:
    arrived: list[bytes] = []
    refusals: list[Answer] = []

    def take(request: Request) -> Answer:
        if refusals:
            return refusals[0]
        arrived.append(request.body)
        return Answer()

    receiver = stack.enter_context(LoopbackServer(take))
    hooks = {"lab": (receiver.url, bytes(32))}
    return Route(
        construct(
            TRANSPORTS[DestinationKind.WEBHOOK].path, {"hooks": hooks, "now": ManualClock(NOW).now}
        ),
        Destination(DestinationKind.WEBHOOK, "lab"),
        Message("application/json", _encode({"title": "Pınar’s nine papers"}), KEY, "perf.json"),
        lambda: list(arrived),
        lambda: refusals.append(Answer(status=429)),
    )


def _lay_folder(_: ExitStack, tmp_path: Path) -> Route:
    folder = tmp_path / "digests"
    return Route(
        construct(TRANSPORTS[DestinationKind.FILE].path, {"root": tmp_path}),
        Destination(DestinationKind.FILE, "digests"),
        Message("text/html", b"<p>nine papers</p>\r\n\x00\xff", KEY, "perf.html"),
        lambda: [path.read_bytes() for path in folder.iterdir()] if folder.exists() else [],
        lambda: folder.write_bytes(b"a file in the folder's place"),
    )


def _lay_console(_: ExitStack, __: Path) -> Route:
    stream = io.StringIO()
    return Route(
        construct(TRANSPORTS[DestinationKind.CONSOLE].path, {"stream": stream}),
        Destination(DestinationKind.CONSOLE),
        Message("text/plain", "Pınar’s nine papers\n".encode(), KEY),
        lambda: [stream.getvalue().encode()] if not stream.closed and stream.getvalue() else [],
        stream.close,
    )


_ROUTES: dict[DestinationKind, Callable[[ExitStack, Path], Route]] = {
    DestinationKind.MAIL: _lay_mail,
    DestinationKind.SLACK: _lay_slack,
    DestinationKind.WEBHOOK: _lay_signed_webhook,
    DestinationKind.FILE: _lay_folder,
    DestinationKind.CONSOLE: _lay_console,
    **{kind: partial(_lay_incoming, kind) for kind in INCOMING},
}
