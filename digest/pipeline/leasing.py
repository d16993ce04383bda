"""The claims this process has in hand, and the signs of life that keep them from being taken back.

Leases run on the database's clock. What this process believes of them it measures from before the
statement that was answered, so that it gives a claim up before anybody else may take it, also where it
was paused in between and knows nothing of it.
"""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Self

from digest.clock import SystemClock, monotonic
from digest.errors import StoreError
from digest.store import deliveries as outbox

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from digest.messages import Delivery
    from digest.store import Store

_log = logging.getLogger("digest.deliver")

BEAT = 15.0
"""Seconds between two signs of life: several may fail before a lease of `outbox.CLAIM_LEASE` lapses."""

MARGIN = 10.0
"""Seconds before its end from which on a lease is not relied upon: what is begun must reach the other side."""


class Leases:
    """Keeps claims alive from a thread of its own while its context lasts.

    Args:
        store: where the claims are.
        beat: seconds between two signs of life.
        lease: seconds a claim lasts without one.
        margin: see `MARGIN`.
    """

    def __init__(
        self, store: Store, *, beat: float = BEAT, lease: float = outbox.CLAIM_LEASE, margin: float = MARGIN
    ) -> None:
        self._store, self._beat, self._lease, self._margin = store, beat, lease, margin
        self._held: dict[tuple[int, int], float] = {}
        self._lock = threading.Lock()
        self._pause = SystemClock()
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._pause.wake()
        if self._thread is not None:
            self._thread.join()

    def take(self, claimed: Iterable[Delivery], asked_at: float) -> None:
        """Begin to keep claims; `asked_at` is `monotonic()` from before they were asked for."""
        with self._lock:
            self._held.update({(delivery.id, delivery.token): asked_at for delivery in claimed})
            if self._held and self._thread is None:
                self._thread = threading.Thread(target=self._live, name="leases", daemon=True)
                self._thread.start()

    def drop(self, delivery: Delivery) -> None:
        """Keep a claim no longer: it came to its end, or lapses."""
        with self._lock:
            self._held.pop((delivery.id, delivery.token), None)

    def holds(self, delivery: Delivery) -> bool:
        """Whether nobody can have taken the claim back, nor will for a while."""
        with self._lock:
            confirmed_at = self._held.get((delivery.id, delivery.token))
        return confirmed_at is not None and monotonic() - confirmed_at < self._lease - self._margin

    def renew(self) -> None:
        """Give one sign of life; claims that were lost are forgotten.

        Raises:
            StoreError: the database did not take it.
        """
        with self._lock:
            claims = list(self._held)
        if not claims:
            return
        asked_at = monotonic()
        with self._store.begin() as conn:
            renewed = outbox.renew(conn, claims, self._lease)
        with self._lock:
            for claim in claims:
                if claim[0] not in renewed:
                    self._held.pop(claim, None)
                elif claim in self._held:
                    self._held[claim] = asked_at

    def _live(self) -> None:
        while True:
            self._pause.sleep(self._beat)
            if self._is_over.is_set():
                return
            try:
                self.renew()
            except StoreError as error:
                _log.warning("the database takes no sign of life: %s", error.message)
