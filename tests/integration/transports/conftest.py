"""Mail servers to talk to, and messages to send."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import ManualClock
from digest.model.messages import Message
from tests.fakes.mail import MailSink
from tests.fakes.mailscript import Cue, Script, Step
from tests.fakes.slack import TOKEN, SlackReceiver
from tests.integration.transports.slack_posts import NOW

SENDER = "digest@sender.example"


class WatchedScript(Script):
    """A script that also notes every step the server is asked to take."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[Step, str]] = []

    def take(self, step: Step, argument: str) -> Cue | None:
        """Note the step and return its cue."""
        self.steps.append((step, argument))
        return super().take(step, argument)

    def count(self, step: Step) -> int:
        """How often a step was taken."""
        return sum(taken is step for taken, _ in self.steps)


@pytest.fixture
def script() -> WatchedScript:
    """What the mail sink is told to do, and what it did."""
    return WatchedScript()


@pytest.fixture
def sink(script: WatchedScript) -> Iterator[MailSink]:
    """A plain mail server that follows `script`."""
    with MailSink() as sink:
        sink.script = script
        yield sink


@pytest.fixture
def open_mail() -> Iterator[Callable[..., SmtpTransport]]:
    """Open a mail transport that is closed when the test ends."""
    opened: list[SmtpTransport] = []

    def open_one(url: str, **settings: object) -> SmtpTransport:
        keywords = {"url": url, "from_address": SENDER} | settings
        transport = SmtpTransport(**keywords)  # type: ignore[arg-type]  # they have many types
        opened.append(transport)
        return transport

    yield open_one
    for transport in opened:
        transport.close()


def make_mail(
    text: str = "Nine papers.\r\n", *, key: str = "5f0c9d54-0000-5000-8000-000000000001"
) -> Message:
    """Return a small mail whose Message-ID is its key."""
    head = f"From: {SENDER}\r\nTo: reader@example.org\r\nMessage-ID: <{key}@sender.example>\r\n\r\n"
    return Message("message/rfc822", (head + text).encode(), key, "digest.eml")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def receiver(clock: ManualClock) -> Iterator[SlackReceiver]:
    """A workspace with one ordinary, one strange and one archived channel."""
    with SlackReceiver(clock) as receiver:
        yield receiver


@pytest.fixture
def slack(receiver: SlackReceiver) -> SlackTransport:
    return SlackTransport(token=TOKEN, url=receiver.url)
