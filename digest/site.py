"""One installation as values: its configuration, store, clock, arXiv and transports."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from digest.config import Config
from digest.model.clock import Clock
from digest.model.destinations import DestinationKind
from digest.model.messages import Transport
from digest.store import Store

if TYPE_CHECKING:
    from digest.arxiv.client import ArxivClient
    from digest.branch.step import Branch
    from digest.render.renderer import Renderer


class Progress(Protocol):
    """Gets what the pipeline does, verb by verb, while it does it."""

    def begin(self, verb: str, what: str) -> None:
        """Say that a verb begins."""

    def update(self, text: str) -> None:
        """Say how far the present verb has come."""

    def end(self, verb: str, summary: str) -> None:
        """Say that a verb has ended, and with what."""


class Silent:
    """Tells nobody."""

    def begin(self, verb: str, what: str) -> None:
        """Say nothing."""

    def update(self, text: str) -> None:
        """Say nothing."""

    def end(self, verb: str, summary: str) -> None:
        """Say nothing."""


@dataclass
class Site:
    """One installation at work.

    Attributes:
        open_transport: opens the transport of a kind of destination; called once for each in use.
        open_renderer: opens the templates; called once, and not before something is rendered.
        owner: a name no other process has, for claims and leases.
        jitter: a number from 0 up to 1, for back-off; random outside tests.
        has_gate: the gate that `client` asks is in this store; if not, it is in another store.
        branch: the branch that the store is kept on, if it is on one.
    """

    config: Config
    store: Store
    clock: Clock
    client: ArxivClient
    open_transport: Callable[[DestinationKind], Transport]
    open_renderer: Callable[[Config], Renderer]
    owner: str
    jitter: Callable[[], float]
    progress: Progress = field(default_factory=Silent)
    has_gate: bool = True
    branch: Branch | None = None
    _transports: dict[DestinationKind, Transport] = field(default_factory=dict)
    _opening: threading.Lock = field(default_factory=threading.Lock)
    _interrupting: threading.Condition = field(default_factory=threading.Condition)
    interrupts: int = field(default=0, init=False)
    """How often `interrupt` was called."""

    @cached_property
    def renderer(self) -> Renderer:
        """Templates, the operator's before the shipped ones.

        It is made when needed: most checks render nothing.
        """
        return self.open_renderer(self.config)

    def transport(self, kind: DestinationKind) -> Transport:
        """Return the one open transport of a kind."""
        with self._opening:
            if kind not in self._transports:
                self._transports[kind] = self.open_transport(kind)
            return self._transports[kind]

    def hang_up(self) -> None:
        """Break off whatever waits for the outside world, from another thread; twice is harmless.

        A message that was said whole, as a mail after its final dot, may have arrived: it fails
        ambiguously. One broken off earlier did not arrive: it fails safely.
        """
        self.client.close()
        for transport in list(self._transports.values()):
            transport.close()

    def interrupt(self) -> None:
        """Break off what `hang_up` breaks off, and what waits for the database to take a mark."""
        with self._interrupting:
            self.interrupts += 1
            self._interrupting.notify_all()
        self.hang_up()

    def wait(self, seconds: float, since: int) -> bool:
        """Wait that many seconds of the machine's own time; False if that was interrupted.

        `since` is the number of `interrupts` when the work began: one that came meanwhile counts.
        """
        with self._interrupting:
            return not self._interrupting.wait_for(lambda: self.interrupts != since, seconds)

    def close(self) -> None:
        """Close every transport and the store; harmless when done twice."""
        for transport in self._transports.values():
            transport.close()
        self._transports.clear()
        self.client.close()
        self.store.close()
