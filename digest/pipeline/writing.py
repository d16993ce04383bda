"""What several threads have to write at the same moment goes into one transaction.

Each thread waits for the commit of what it wrote, as if it had made the transaction itself. While one
writes, what the others bring piles up, and whoever comes next writes all of it: the busier, the fewer commits.

Marks of mails are the exception: each is a transaction of its own, since a death between the other side's answer
and its mark makes a mail come twice. On PostgreSQL it waits for nobody. SQLite takes one writer at a time; there
others hold back while an answer is awaited, and the marks of mails do not wait for the disk, which would take
longer than the mail itself. A killed process has them; where the power is cut before the next claim or intent, or
the end of the pass, what they say is not known, and these mails are sent again with the same Message-ID, as after
any answer that was lost.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from digest.errors import StoreError
from digest.messages import DeliveryState
from digest.store import deliveries as outbox
from digest.subscriptions import SLACK_KINDS, DestinationKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery, Message, Receipt
    from digest.pipeline.site import Site

_log = logging.getLogger("digest.deliver")

SLACK_SPACING = timedelta(seconds=1)
"""Slack takes one message a second and channel (https://docs.slack.dev/apis/web-api/rate-limits)."""


@dataclass(eq=False)
class _Entry:
    """Something to write.

    Attributes:
        delivery: as claimed.
        is_written: whether somebody has tried.
        error: why it could not be written.
    """

    delivery: Delivery
    is_written: bool = field(default=False, init=False)
    error: BaseException | None = field(default=None, init=False)


@dataclass(eq=False)
class _Intent(_Entry):
    """That it is about to be sent: the bytes, and the address if it is news."""

    message: Message
    new_address: str
    state: DeliveryState = field(default=DeliveryState.READY, init=False)


@dataclass(eq=False)
class _Answer(_Entry):
    """That the other side took it."""

    receipt: Receipt


class _Pile:
    """What waits to be written together."""

    def __init__(self) -> None:
        self._pen = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: list[_Entry] = []

    def write(self, entry: _Entry, write_together: Callable[[Sequence[_Entry]], None]) -> None:
        """Return once an entry was written, with whatever else waits, by this thread or another.

        Raises:
            StoreError: the database is away.
        """
        with self._lock:
            self._waiting.append(entry)
        with self._pen:
            if not entry.is_written:
                with self._lock:
                    batch, self._waiting = self._waiting, []
                write_together(batch)
        if entry.error is not None:
            raise entry.error


class Clerk:
    """Writes intents and answers for several threads.

    Args:
        site: the installation.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._intents, self._answers = _Pile(), _Pile()

    def begin_sending(self, delivery: Delivery, message: Message, new_address: str = "") -> DeliveryState:
        """Record the intent to send; see `outbox.begin_sending`. It is committed when this returns.

        Args:
            delivery: as claimed.
            message: what is to be sent.
            new_address: what the other side calls the destination, where that was not known.

        Raises:
            StoreError: the database is away.
        """
        intent = _Intent(delivery, message, new_address)
        self._intents.write(intent, self._write_together)
        return intent.state

    def mark_sent(self, delivery: Delivery, receipt: Receipt) -> None:
        """Record that the other side took it; see `outbox.mark_sent`. It is committed when this returns.

        Until then a death makes a mail come twice: it waits for no intent, and on PostgreSQL for nobody at all.
        Posts, of which the other side can be asked, may be written together, and hold back for a mail's answer.

        Raises:
            StoreError: the database is away.
        """
        answer, store = _Answer(delivery, receipt), self._site.store
        if delivery.destination.kind not in SLACK_KINDS:
            now, awaits_disk = self._site.clock.now(), not self._may_come_twice([answer])
            if not outbox.mark_sent_alone(store, delivery, receipt, now, awaits_disk=awaits_disk):
                _warn_of_loss(delivery)
        elif store.path is not None:
            self._answers.write(answer, self._write_together)
        else:
            now = self._site.clock.now()
            with store.begin() as conn:
                self._write_answers(conn, [answer], now)

    def _write_together(self, batch: Sequence[_Entry]) -> None:
        answers = [entry for entry in batch if isinstance(entry, _Answer)]
        intents = [entry for entry in batch if isinstance(entry, _Intent)]
        try:
            awaits_disk = bool(intents) or not self._may_come_twice(answers)
            now = self._site.clock.now()  # before the database is held: a test's clock takes its time
            with self._site.store.begin(awaits_disk=awaits_disk) as conn:
                self._write_answers(conn, answers, now)
                self._write_intents(conn, intents, now)
        except BaseException as error:  # noqa: BLE001 - raised again in each thread that wrote
            if len(batch) > 1 and isinstance(error, Exception) and not isinstance(error, StoreError):
                for entry in batch:  # something is wrong with one of them, which is to harm no other
                    self._write_together([entry])
                return
            for entry in batch:
                entry.error = error
        finally:
            for entry in batch:
                entry.is_written = True

    def _may_come_twice(self, answers: Sequence[_Answer]) -> bool:
        """Whether nothing worse than a copy would follow if the power took these answers."""
        is_resent = self._site.config.mail.on_ambiguous == "resend"
        return is_resent and all(answer.delivery.destination.kind is DestinationKind.MAIL for answer in answers)

    def _write_answers(self, conn: Connection, answers: Sequence[_Answer], now: datetime) -> None:
        if not answers:
            return
        marked = outbox.mark_sent_many(conn, [(answer.delivery, answer.receipt) for answer in answers], now)
        for delivery in (answer.delivery for answer in answers):
            if delivery.id not in marked:
                _warn_of_loss(delivery)
            if delivery.destination.kind in SLACK_KINDS:
                outbox.block_destination(conn, delivery.destination, now + SLACK_SPACING)

    def _write_intents(self, conn: Connection, intents: Sequence[_Intent], now: datetime) -> None:
        if not intents:
            return
        for intent in sorted(intents, key=lambda intent: str(intent.delivery.destination)):  # as others do
            if intent.new_address:
                outbox.remember_address(conn, intent.delivery.destination, intent.new_address, now)
        sends = [(intent.delivery, intent.message) for intent in intents]
        states = outbox.begin_sending_many(conn, sends, now)
        for intent in intents:
            intent.state = states[intent.delivery.id]


def _warn_of_loss(delivery: Delivery) -> None:
    _log.warning("%s took delivery %d, which somebody else has", delivery.destination, delivery.id)
