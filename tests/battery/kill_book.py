"""What the database of a kill battery says, read beside the processes that write it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, select

from digest.model.messages import DeliveryState
from digest.plan.links import LinkMaker
from digest.store import Store, matches, runs
from digest.store.attempts import retry as retry_delivery
from digest.store.papers import MATCHED, STORED, load_mark
from digest.store.schema import attempts, deliveries, papers
from tests.harness.arrivals import Arrival
from tests.harness.oracle import Planned, count_arrivals, load_planned

_OPEN = (DeliveryState.READY, DeliveryState.CLAIMED, DeliveryState.SENDING, DeliveryState.UNKNOWN)


class Book:
    """Reads an installation's store; writes only what an operator would."""

    def __init__(self, store: Store, links: LinkMaker, names: list[str]) -> None:
        self._store = store
        self.names = names
        self.feed_tokens = {name: links.feed_token(name, 0) for name in names}

    @property
    def planned(self) -> int:
        """How many deliveries there are."""
        with self._store.read() as conn:
            return int(conn.execute(select(func.count()).select_from(deliveries)).scalar_one())

    def has_begun(self) -> bool:
        """Whether the first look at arXiv is complete, and matched."""
        with self._store.read() as conn:
            is_known = runs.load_cursor(conn, "harvest").is_bootstrapped
            return is_known and load_mark(conn, MATCHED) == load_mark(conn, STORED)

    def has_found(self, paper_ids: Iterable[str]) -> bool:
        """Whether papers are stored and everything stored is matched."""
        wanted = set(paper_ids)
        with self._store.read() as conn:
            stored = conn.execute(
                select(func.count()).where(papers.c.arxiv_id.in_(wanted))
            ).scalar_one()
            return stored == len(wanted) and load_mark(conn, MATCHED) == load_mark(conn, STORED)

    def has_due(self, now: datetime) -> bool:
        """Whether a digest is due, or matches wait for a turn that nobody gave them."""
        with self._store.read() as conn:
            due = matches.load_due_slots(conn, now, 1)
            return bool(due or matches.load_undue_subscriptions(conn))

    def count_open(self) -> int:
        """Return how many deliveries have not come to an end."""
        with self._store.read() as conn:
            return int(
                conn.execute(select(func.count()).where(deliveries.c.state.in_(_OPEN))).scalar_one()
            )

    def last_delivery(self) -> int:
        with self._store.read() as conn:
            return int(conn.execute(select(func.max(deliveries.c.id))).scalar() or 0)

    def list_planned(self) -> list[Planned]:
        with self._store.read() as conn:
            return load_planned(conn)

    def count_outcomes(self, *, after: int = 0) -> Counter[str]:
        """Return how the attempts ended at deliveries above a number.

        A post found in the history is `found`.
        """
        found = select(attempts.c.outcome, attempts.c.detail).where(attempts.c.delivery_id > after)
        with self._store.read() as conn:
            return Counter(
                "found" if str(row.detail).startswith("found") else str(row.outcome)
                for row in conn.execute(found)
            )

    def count_copies(self, *arrived: Iterable[Arrival]) -> Counter[str]:
        """Return how many messages came again, by way out."""
        copies: Counter[str] = Counter()
        for arrivals in arrived:
            for (_, place), count in count_arrivals(arrivals).items():
                copies[place.partition(":")[0]] += count - 1
        return copies

    def help_held(self, arrived: set[str], now: datetime) -> list[int]:
        """Be the operator: send again what is held and, by the other side's book, never arrived."""
        held = select(deliveries.c.id, deliveries.c.idempotency_key).where(
            deliveries.c.state == DeliveryState.HELD
        )
        with self._store.begin() as conn:
            lost = [
                row.id for row in conn.execute(held).all() if row.idempotency_key not in arrived
            ]
            for id_ in lost:
                retry_delivery(conn, id_, now)
        return lost
