"""Sends several deliveries at once per transport, and keeps their leases.

One thread of a lane claims as many as it has threads free to send them, the others send. So a send
that hangs holds up none after it, and nothing is claimed that is not on its way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from queue import Empty, SimpleQueue

from digest.deliver.step import DeliverReport, MessageMaker, deliver_one, settle_one
from digest.deliver.transports.registry import settling_times
from digest.model.clock import SystemClock, monotonic
from digest.model.destinations import TRAITS, DestinationKind, Medium
from digest.model.messages import Delivery
from digest.site import Site
from digest.store import Store, attempts, outbox, workers
from digest.store.attempts import UnknownDelivery
from digest.store.outbox import CLAIM_LEASE

_log = logging.getLogger("digest.deliver")

SHORT_WAIT = timedelta(seconds=10)
"""A pass waits this long for the pace of a channel.

Else it would leave its parts to the next pass.
"""

_POSTS = 4
"""Sends at once on all kinds of destination but mail.

To one Slack channel they still go one by one.
"""

MAILS = frozenset(kind for kind, traits in TRAITS.items() if traits.medium is Medium.MAIL)

_CHECKS_AT_ONCE = 8
_TIDY_EVERY = 5.0
_ASK_AGAIN = 0.5
_REPORT_EVERY = 0.1
_POLL_SECONDS = 0.25
"""Seconds between two checks at whether to stop, while nothing comes to its end."""

_LEAST_WAIT = 0.25
"""Seconds a pass waits at least if there is something to claim and it gets nothing.

Then somebody holds that row.
"""

BEAT = 15.0
"""Seconds between two signs of life.

Several may fail before a lease of `outbox.CLAIM_LEASE` lapses.
"""

MARGIN = 10.0
"""Seconds before its end from which on a lease is not relied upon.

What is begun must reach the other side.
"""


@dataclass(frozen=True, slots=True)
class Lane:
    """Destinations that share some threads."""

    name: str
    kinds: frozenset[DestinationKind]


LANES = (Lane("mail", MAILS), Lane("posts", frozenset(TRAITS) - MAILS))
"""A mail server may take ten minutes to answer; whatever is no mail does not wait for it."""


def deliver(
    site: Site, *, lanes: Sequence[Lane] = LANES, should_stop: Callable[[], bool] = lambda: False
) -> DeliverReport:
    """Send what is in the outbox and due, until nothing is, or nothing more may be begun.

    On a `StoreError`, what was on its way has ended, and other lanes have gone on.
    """
    report = DeliverReport()
    is_broken = threading.Event()

    def is_over() -> bool:
        return is_broken.is_set() or should_stop()

    with site.store.read() as conn:
        if not outbox.has_deliveries(conn, site.clock.now()):
            return report
    with ThreadPoolExecutor(len(lanes), thread_name_prefix="lane") as pool:
        passes = [pool.submit(_Pass(site, lane, report, is_over).run) for lane in lanes]
        try:
            wait(passes)
        except BaseException:
            # This wait was interrupted, and must not last as long as a mail server takes.
            is_broken.set()
            if isinstance(site.clock, SystemClock):
                site.clock.wake()
            while wait(passes, _POLL_SECONDS).not_done:
                site.interrupt()
            raise
    _raise_first(one.exception() for one in passes)
    return report


def _raise_first(found: Iterable[BaseException | None]) -> None:
    """Raise the first error of several passes, if there is any, and log the others."""
    errors = [error for error in found if error is not None]
    for error in errors[1:]:
        _log.error("sending failed in another thread too: %s", error)
    if errors:
        raise errors[0]


class _Pass:
    """One pass of one lane; when `is_over`, nothing more may be begun."""

    def __init__(
        self, site: Site, lane: Lane, report: DeliverReport, is_over: Callable[[], bool]
    ) -> None:
        self._site = site
        self._lane = lane
        self._report = report
        self._is_over = is_over
        self._slots = site.config.mail.connections if MAILS & lane.kinds else _POSTS
        self._sending: set[Future[None]] = set()
        self._looking: set[Future[None]] = set()
        self._done: SimpleQueue[Future[None]] = SimpleQueue()
        self._tidy_at = self._ask_at = self._tell_at = 0.0
        self._leases = Leases(site.store)
        self._maker = MessageMaker(site)

    def run(self) -> None:
        """Send until nothing is left to send, or it is time to end."""
        with (
            workers.keep_calling(self._leases.renew, BEAT),
            ThreadPoolExecutor(self._slots + 1, self._lane.name) as self._pool,
        ):
            while not self._is_over():
                is_dry = self._claim() == 0
                if self._is_busy:
                    self._collect()
                elif is_dry and not self._wait_for_pace():
                    break
            while self._is_busy:
                self._collect()

    @property
    def _is_busy(self) -> bool:
        return bool(self._sending or self._looking)

    def _claim(self) -> int:
        """Claim what is due, as far as there is somebody to send it; return how much that was."""
        site = self._site
        asked_at = monotonic()
        if asked_at >= self._tidy_at:
            self._tidy_at = asked_at + _TIDY_EVERY
            self._tidy()
        wanted = self._slots - len(self._sending)
        if not wanted or (self._is_busy and asked_at < self._ask_at):
            return 0
        now = site.clock.now()
        asked_at = monotonic()
        with site.store.begin(is_lasting=False) as conn:
            claimed = outbox.claim(
                conn, owner=site.owner, limit=wanted, now=now, kinds=self._lane.kinds
            )
        self._leases.take(claimed, asked_at)
        for delivery in claimed:
            self._submit(self._sending, partial(self._send, delivery))
        self._ask_at = 0.0 if len(claimed) == wanted else monotonic() + _ASK_AGAIN
        return len(claimed)

    def _tidy(self) -> None:
        """Free what other processes let lapse, and have what may have arrived checked."""
        now = self._site.clock.now()
        settling = settling_times(self._site.config)
        unknown: list[UnknownDelivery] = []
        with self._site.store.begin() as conn:
            outbox.release_claims(conn, now, settle=settling, only_expired=True)
            if not self._looking:
                unknown = attempts.claim_unknown(
                    conn, now, limit=_CHECKS_AT_ONCE, kinds=self._lane.kinds
                )
        if unknown:
            self._submit(self._looking, partial(self._settle_unknown, unknown))

    def _submit(self, among: set[Future[None]], do: Callable[[], None]) -> None:
        future = self._pool.submit(do)
        among.add(future)
        future.add_done_callback(self._done.put)

    def _settle_unknown(self, unknown: Iterable[UnknownDelivery]) -> None:
        """Check some, as long as there is time: the others wait for the next pass."""
        for one in unknown:
            if not self._is_over():
                settle_one(self._site, self._report, one)

    def _send(self, delivery: Delivery) -> None:
        """Send one delivery, in a thread that does nothing else meanwhile."""
        try:
            deliver_one(
                self._site,
                self._maker,
                self._report,
                delivery,
                partial(self._leases.is_ours, delivery),
            )
        finally:
            self._leases.drop(delivery)
        if monotonic() >= self._tell_at:  # as often as anybody reads it
            self._tell_at = monotonic() + _REPORT_EVERY
            self._site.progress.update(f"{self._report.total} sent")

    def _collect(self) -> None:
        """Wait a moment for sends to end, and note which have; raise the `StoreError` of one."""
        with suppress(Empty):
            future = self._done.get(timeout=_POLL_SECONDS)
            while True:
                self._sending.discard(future)
                self._looking.discard(future)
                future.result()
                future = self._done.get_nowait()

    def _wait_for_pace(self) -> bool:
        """Sleep until a channel's pace lets its next part go.

        Return False if nothing is that near.
        """
        now = self._site.clock.now()
        with self._site.store.read() as conn:
            next_at = outbox.next_claimable_at(conn, now, kinds=self._lane.kinds)
        if next_at is None or next_at - now > SHORT_WAIT:
            return False
        self._site.clock.sleep(max((next_at - now).total_seconds(), _LEAST_WAIT))
        return True


class Leases:
    """Claims in hand, kept alive each time they are renewed. All arguments are in seconds."""

    def __init__(self, store: Store, *, lease: float = CLAIM_LEASE, margin: float = MARGIN) -> None:
        self._store = store
        self._lease = lease
        self._margin = margin
        self._held: dict[tuple[int, int], float] = {}
        self._lock = threading.Lock()

    def take(self, claimed: Iterable[Delivery], asked_at: float) -> None:
        """Begin to keep claims; `asked_at` is `monotonic()` from before they were asked for."""
        with self._lock:
            self._held.update({(delivery.id, delivery.token): asked_at for delivery in claimed})

    def drop(self, delivery: Delivery) -> None:
        """Keep a claim no longer: it came to its end, or lapses."""
        with self._lock:
            self._held.pop((delivery.id, delivery.token), None)

    def is_ours(self, delivery: Delivery) -> bool:
        """Whether nobody can have taken the claim back, nor will for a while."""
        with self._lock:
            confirmed_at = self._held.get((delivery.id, delivery.token))
        return confirmed_at is not None and monotonic() - confirmed_at < self._lease - self._margin

    def renew(self) -> None:
        """Give one sign of life; claims that were lost are forgotten."""
        with self._lock:
            claims = list(self._held)
        if not claims:
            return
        asked_at = monotonic()
        with self._store.begin() as conn:
            renewed = outbox.renew_claims(conn, claims, self._lease)
        with self._lock:
            for claim in claims:
                if claim[0] not in renewed:
                    self._held.pop(claim, None)
                elif claim in self._held:
                    self._held[claim] = asked_at
