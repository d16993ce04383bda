"""Sends several deliveries at once per transport, and keeps their leases.

One thread of a lane claims, some others send. What a send leaves free is filled again at once, and only
a little more is claimed than is on its way, since others may not touch what is claimed.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Self

from digest.deliver.step import (
    SAY_AGAIN,
    DeliverReport,
    deliver_one,
    settle_one,
    settling_times,
    take_settled,
)
from digest.model.clock import SystemClock, monotonic
from digest.model.errors import StoreError
from digest.model.subscriptions import DestinationKind
from digest.store import outbox as outbox_module
from digest.store import views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from digest.config import Config
    from digest.model.messages import Delivery
    from digest.poll.installation import Site
    from digest.store import Store
    from digest.store.outbox_sends import UnknownDelivery


_log = logging.getLogger("digest.deliver")

SHORT_WAIT = timedelta(seconds=10)
"""A pass waits this long for the pace of a channel rather than leaving its parts to the next pass."""

LAG = 5.0
"""Seconds after which a send counts as one that hangs."""

_POSTS = 4
"""Sends at once on all ways out that are no mail; to one Slack channel they go one by one all the same."""

_LOOKS = 2
"""Threads of a lane that look into what may have arrived: whoever does not answer them keeps no send waiting."""

_LOOKS_AHEAD = 8
_LEAST_AHEAD = 8
_TIDY_EVERY = 5.0
_LOOK_AGAIN = 0.5
_TELL_EVERY = 0.1
_GLANCE = 0.25
"""Seconds between two looks at whether to stop, while nothing comes to its end."""

_LEAST_WAIT = 0.25
"""Seconds a pass waits at least where there is something to claim and it gets nothing: somebody holds that row."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Ways out that share some threads.

    Attributes:
        name: what it is called.
        kinds: the ways out.
    """

    name: str
    kinds: frozenset[DestinationKind]

    def count_slots(self, config: Config) -> int:
        """Return how many deliveries may be on their way at once."""
        return config.mail.connections if DestinationKind.MAIL in self.kinds else _POSTS


_MAIL = frozenset({DestinationKind.MAIL})

LANES = (Lane("mail", _MAIL), Lane("posts", frozenset(DestinationKind) - _MAIL))
"""A mail server may take ten minutes to answer; whatever is no mail does not wait for it."""


def deliver(
    site: Site,
    *,
    lanes: Sequence[Lane] = LANES,
    should_stop: Callable[[], bool] = lambda: False,
    turn: float = float("inf"),
) -> DeliverReport:
    """Send what is in the outbox and due, until nothing is, or it is time to stop.

    Args:
        site: the installation.
        lanes: which ways out; each goes on until it is done itself.
        should_stop: says that nothing more may be begun; what is on its way is waited for.
        turn: seconds after which to stop by itself; see `is_turn_over`.

    Raises:
        StoreError: the database is away. What was on its way has ended, and other lanes have gone on.
    """
    report, is_broken = DeliverReport(), threading.Event()
    with site.store.read() as conn:
        if not views.has_deliveries(conn):
            return report
    ends = partial(_ends, should_stop, is_broken, monotonic(), turn)
    with ThreadPoolExecutor(len(lanes), thread_name_prefix="lane") as pool:
        passes = [pool.submit(_Pass(site, lane, report, ends).run) for lane in lanes]
        try:
            wait(passes)
        except BaseException:
            # Whoever waits here was interrupted, and is not to be kept waiting for a mail server.
            is_broken.set()
            if isinstance(site.clock, SystemClock):
                site.clock.wake()
            while wait(passes, _GLANCE).not_done:
                site.interrupt()
            raise
    errors = [error for one in passes if (error := one.exception()) is not None]
    for error in errors[1:]:
        _log.error("another lane failed too: %s", error)
    if errors:
        raise errors[0]
    return report


def is_turn_over(age: float, turn: float, lag: float) -> bool:
    """Whether a pass ends although there may be more to send.

    While one send hangs, its end can't be had: the others go on meanwhile, within reason.

    Args:
        age: seconds the pass has taken.
        turn: seconds it is meant to take at most.
        lag: seconds the longest of the sends on their way has taken.
    """
    return age > turn and (lag < LAG or age > 10 * turn)


def count_claims(under_way: int, slots: int) -> int:
    """Return how many deliveries to claim: none while there is enough in hand to go on with, or nobody to send."""
    if slots <= 0:
        return 0
    ahead = max(2 * slots, _LEAST_AHEAD)
    return slots + ahead - under_way if under_way <= slots + ahead // 2 else 0


def _ends(
    should_stop: Callable[[], bool], is_broken: threading.Event, began_at: float, turn: float, lag: float
) -> bool:
    return is_broken.is_set() or should_stop() or is_turn_over(monotonic() - began_at, turn, lag)


class _Pass:
    """One pass of one lane.

    Args:
        site: the installation.
        lane: which ways out.
        report: is told what comes of each delivery.
        ends: whether nothing more may be begun, given for how long the slowest send has been on its way.
    """

    def __init__(self, site: Site, lane: Lane, report: DeliverReport, ends: Callable[[float], bool]) -> None:
        self._site, self._lane, self._report, self._ends = site, lane, report, ends
        self._slots = lane.count_slots(site.config)
        self._in_hand: dict[Future[None], Delivery] = {}
        self._looking: set[Future[None]] = set()
        self._done: SimpleQueue[Future[None]] = SimpleQueue()
        self._sends: dict[int, float] = {}
        self._looks: dict[int, float] = {}
        self._lock = threading.Lock()
        self._trouble: BaseException | None = None
        self._tidy_at = self._look_at = self._complain_at = self._tell_at = 0.0

    def run(self) -> None:
        """Send until nothing is left to send, or it is time to end.

        Raises:
            StoreError: the database is away; what was on its way has ended.
        """
        with (
            Leases(self._site.store) as self._leases,
            ThreadPoolExecutor(self._slots, self._lane.name) as self._pool,
            ThreadPoolExecutor(_LOOKS, f"{self._lane.name}-looks") as self._lookers,
        ):
            try:
                self._keep_busy()
                while self._winds_down():
                    self._keep_busy()
            except BaseException as error:  # noqa: BLE001 - raised below, when all that was begun has ended
                self._trouble = error
            self._call_off()
            while self._is_busy:
                self._collect()
        if self._trouble is not None:
            raise self._trouble

    def _keep_busy(self) -> None:
        while not self._is_over():
            is_dry = self._look_for_more() == 0 if self._has_room() else False
            if self._is_busy:
                if self._count_free() == 0 and monotonic() >= self._look_at:
                    self._leave_to_others()
                self._collect()
            elif is_dry and not self._wait_for_pace():
                return

    def _winds_down(self) -> bool:
        """Let what is on its way end; return whether one of these hangs, so that others go on beside it."""
        self._call_off()
        while self._is_busy:
            if not self._is_over():
                return True
            self._collect()
        return False

    @property
    def _is_busy(self) -> bool:
        return bool(self._in_hand or self._looking)

    def _is_over(self) -> bool:
        return self._trouble is not None or self._ends(self._find_lag())

    def _find_lag(self) -> float:
        with self._lock:
            return monotonic() - min([*self._sends.values(), *self._looks.values()], default=monotonic())

    def _count_free(self) -> int:
        """Return how many can be on their way beside those that hang."""
        with self._lock:
            return self._slots - sum(begun_at < monotonic() - LAG for begun_at in self._sends.values())

    def _count_wanted(self) -> int:
        free = self._count_free()
        return count_claims(len(self._in_hand) - (self._slots - free), free)

    def _has_room(self) -> bool:
        """Whether to look for more: not while there is enough, nor at once again where there was no more."""
        now = monotonic()
        is_time = not self._is_busy or now >= self._look_at
        return is_time and (self._count_wanted() > 0 or now >= self._tidy_at)

    def _look_for_more(self) -> int:
        """Claim more; while a mark on its way is repeated until the database is back, so is this."""
        try:
            return self._claim()
        except StoreError as error:
            if not self._in_hand:
                raise
            if monotonic() >= self._complain_at:
                self._complain_at = monotonic() + SAY_AGAIN
                _log.warning("the database gives nothing to send; trying again: %s", error.message)
            self._look_at = monotonic() + _LOOK_AGAIN
            return 0

    def _claim(self) -> int:
        """Claim what is due, and hand what can be begun soon to those who send; return how much was due."""
        site, asked_at = self._site, monotonic()
        is_tidy = asked_at < self._tidy_at
        if not is_tidy:
            self._tidy_at = asked_at + _TIDY_EVERY
            self._look_into_unknown()
        wanted, now, asked_at = self._count_wanted(), site.clock.now(), monotonic()
        with site.store.begin() as conn:
            if not is_tidy:
                outbox_module.reap(conn, now, settle=settling_times(site.config))
            claimed = outbox_module.claim(conn, owner=site.owner, limit=wanted, now=now, kinds=self._lane.kinds)
        self._leases.take(claimed, asked_at)
        self._hand_over(claimed)
        self._look_at = 0.0 if len(claimed) == wanted else monotonic() + _LOOK_AGAIN
        return len(claimed)

    def _hand_over(self, claimed: Iterable[Delivery]) -> None:
        """Give deliveries to those who send."""
        for delivery in claimed:
            future = self._pool.submit(self._send, delivery)
            self._in_hand[future] = delivery
            future.add_done_callback(self._done.put)

    def _look_into_unknown(self) -> None:
        """Have others look into what may have arrived: Slack may take its time to answer."""
        wanted = _LOOKS_AHEAD - len(self._looking)
        for unknown in take_settled(self._site, self._lane.kinds, wanted) if wanted > 0 else ():
            future = self._lookers.submit(self._look_into, unknown)
            self._looking.add(future)
            future.add_done_callback(self._done.put)

    def _look_into(self, unknown: UnknownDelivery) -> None:
        """Look into one, unless there is no time left: then the next pass does."""
        with self._noting(unknown.delivery, self._looks):
            if not self._is_over():
                settle_one(self._site, unknown)

    @contextmanager
    def _noting(self, delivery: Delivery, begun: dict[int, float]) -> Iterator[None]:
        """Note since when a delivery is on its way, or looked into."""
        with self._lock:
            begun[delivery.id] = monotonic()
        try:
            yield
        finally:
            with self._lock:
                begun.pop(delivery.id, None)

    def _send(self, delivery: Delivery) -> None:
        """Send one delivery, in a thread that does nothing else meanwhile."""
        try:
            with self._noting(delivery, self._sends):
                if self._is_over():
                    self._give_back([delivery])
                    return
                deliver_one(self._site, self._report, delivery, partial(self._leases.holds, delivery))
                self._tell()
        finally:
            self._leases.drop(delivery)

    def _tell(self) -> None:
        """Say how far this has come, as often as anybody reads it."""
        if monotonic() >= self._tell_at:
            self._tell_at = monotonic() + _TELL_EVERY
            self._site.progress.update(f"{self._report.total} sent")

    def _collect(self) -> None:
        """Wait a moment for sends to end, and note which have."""
        try:
            future = self._done.get(timeout=_GLANCE)
            while True:
                is_mine = future in self._looking or future in self._in_hand
                self._in_hand.pop(future, None)
                self._looking.discard(future)
                if is_mine and not future.cancelled():
                    self._trouble = self._trouble or future.exception()
                future = self._done.get_nowait()
        except Empty:
            return

    def _leave_to_others(self) -> None:
        """Give back what would wait behind sends that hang; what the database does not take back stays claimed."""
        left = self._take_from_pool()
        try:
            self._give_back(left)
        except StoreError as error:
            _log.info("the database takes nothing back: %s", error.message)
            self._look_at = monotonic() + _LOOK_AGAIN
            self._hand_over(left)
        else:
            for delivery in left:
                self._leases.drop(delivery)

    def _take_from_pool(self) -> list[Delivery]:
        """Take what was not begun from those who send."""
        not_begun = [future for future in list(self._in_hand) if future.cancel()]
        return [self._in_hand.pop(future) for future in not_begun]

    def _call_off(self) -> None:
        """Give back what was claimed and not begun."""
        self._looking = {future for future in self._looking if not future.cancel()}
        called_off = self._take_from_pool()
        if self._trouble is None or isinstance(self._trouble, Exception):
            try:
                self._give_back(called_off)
            except StoreError as error:
                _log.warning("what was not begun is sent when its claims have lapsed: %s", error.message)
        for delivery in called_off:
            self._leases.drop(delivery)

    def _give_back(self, not_begun: Sequence[Delivery]) -> None:
        if not_begun:
            with self._site.store.begin() as conn:
                for delivery in not_begun:
                    outbox_module.release_claim(conn, delivery)

    def _wait_for_pace(self) -> bool:
        """Sleep until a channel's pace lets its next part go; return False if nothing is that near."""
        now = self._site.clock.now()
        with self._site.store.read() as conn:
            next_at = outbox_module.next_claimable_at(conn, now, kinds=self._lane.kinds)
        if next_at is None or next_at - now > SHORT_WAIT:
            return False
        self._site.clock.sleep(max((next_at - now).total_seconds(), _LEAST_WAIT))
        return True


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
        self, store: Store, *, beat: float = BEAT, lease: float = outbox_module.CLAIM_LEASE, margin: float = MARGIN
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
            renewed = outbox_module.renew(conn, claims, self._lease)
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
