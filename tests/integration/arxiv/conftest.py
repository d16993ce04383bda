"""A scripted arXiv, a gate that watches its own rules, and clients between the two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.model.clock import GateOutcome, Grant, ManualClock
from digest.model.polls import RequestLog
from tests.integration.arxiv.scripted import ScriptedArxiv

AGENT = "digest-test/1.0 (+https://digest.example; mailto:ops@digest.example)"


class WatchedGate:
    """Gives leave at once, one at a time; keeps what it was told."""

    def __init__(self) -> None:
        self.open: Grant | None = None
        self.granted = 0
        self.outcomes: list[GateOutcome] = []

    def acquire(self) -> Grant:
        """Give leave.

        Raises:
            AssertionError: the request before has not ended.
        """
        assert self.open is None, "two requests at a time"
        self.granted += 1
        self.open = Grant(self.granted)
        return self.open

    def release(self, grant: Grant, outcome: GateOutcome) -> None:
        """Keep the outcome.

        Raises:
            AssertionError: another request was under way.
        """
        assert grant == self.open, "the wrong grant came back"
        self.open = None
        self.outcomes.append(outcome)


@pytest.fixture
def arxiv() -> Iterator[ScriptedArxiv]:
    with ScriptedArxiv() as scripted:
        yield scripted


@pytest.fixture
def gate() -> WatchedGate:
    """A gate without any spacing."""
    return WatchedGate()


@pytest.fixture
def requests() -> list[RequestLog]:
    return []


@pytest.fixture
def connect(
    arxiv: ScriptedArxiv, gate: WatchedGate, requests: list[RequestLog]
) -> Iterator[Callable[..., ArxivClient]]:
    """Make clients of the scripted arXiv; they are closed in the end."""
    clients: list[ArxivClient] = []

    def make(url: str = arxiv.url) -> ArxivClient:
        addresses = ArxivAddresses(f"{url}/api/query", f"{url}/oai")
        clock = ManualClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
        clients.append(ArxivClient(addresses, AGENT, gate, clock, on_request=requests.append))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(connect: Callable[..., ArxivClient]) -> ArxivClient:
    return connect()
