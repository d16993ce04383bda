"""Whatever happens in whatever order, a delivery goes along its arrows only.

Nor is anything forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from digest.deliver.rules import PROBE_PAUSE
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import PROBED, Refusal
from digest.model.messages import TERMINAL_STATES, Delivery, DeliveryState, Message, Receipt, Share
from digest.model.said import Said
from digest.people.unsubscription import PAGE
from digest.store import Store, backups, outbox, subscribers
from digest.store.attempts import (
    SETTLING_PAUSE,
    claim_unknown,
    mark_arrived,
    mark_sent,
    mark_unsent,
    settle_unknown,
)
from digest.store.attempts import begin as begin_sending
from digest.store.attempts import cancel as cancel_delivery
from digest.store.attempts import retry as retry_delivery
from digest.store.schema import attempts, deliveries
from tests.conftest import IS_NIGHTLY
from tests.contract.store.made import MAIL, MATCHED_LATE, MORNING, SLACK, store_digest

S = DeliveryState
ARROWS = {
    S.READY: {S.CLAIMED, S.SENT, S.SUPPRESSED, S.DEAD, S.HELD},
    S.CLAIMED: {S.READY, S.SENDING, S.HELD, S.DEAD, S.SUPPRESSED},
    S.SENDING: {S.SENT, S.READY, S.UNKNOWN, S.HELD, S.DEAD},
    S.UNKNOWN: {S.SENT, S.READY, S.HELD, S.SUPPRESSED},
    S.HELD: {S.READY, S.SENT, S.SUPPRESSED, S.DEAD, S.UNKNOWN},
    S.DEAD: {S.READY, S.SUPPRESSED},
    S.SENT: set(),
    S.SUPPRESSED: {S.READY},
}
OTHERS = [Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(4)]
EVENTS = (
    *("claim", "begin") * 4,
    *(
        "sent",
        "retry",
        "unknown",
        "held",
        "place",
        "account",
        "dead",
        "too long",
        "give back",
        "crash",
    )
    * 2,
    *(
        "found",
        "missing",
        "unclear",
        "wait",
        "hours",
        "operator retries",
        "operator drops",
        "operator says",
    ),
    "leave",
)
ENDS = (
    "begin",
    "sent",
    "retry",
    "unknown",
    "held",
    "place",
    "account",
    "dead",
    "too long",
    "give back",
)
REFUSED = {"held": None, "place": Refusal.PLACE, "account": Refusal.ACCOUNT}


class WatchedOutbox:
    """An outbox, and the claims that workers believe they hold.

    It also knows what all its rows were a moment ago.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.now = MORNING
        self.believed: list[Delivery] = []
        self.renderings = 0
        self.has_left = False
        self.before = self.rows()

    def rows(self) -> dict[int, Any]:
        with self.store.read() as conn:
            return {row.id: row for row in conn.execute(select(deliveries))}

    def happen(self, event: str, number: int) -> None:
        if event in ENDS:
            if self.believed:
                delivery = self.believed[number % len(self.believed)]
                (self.begin if event == "begin" else self.end)(delivery, event)
        elif event in ("wait", "hours"):
            self.now += SETTLING_PAUSE if event == "wait" else PROBE_PAUSE
        else:
            self.interfere(event, number)

    def begin(self, delivery: Delivery, _: str) -> None:
        self.renderings += 1
        message = Message(
            "text/plain", f"rendering {self.renderings}".encode(), delivery.idempotency_key
        )
        with self.store.begin() as conn:
            state = begin_sending(conn, delivery, message, self.now)
        assert state is not S.SENDING or self.before[delivery.id].token == delivery.token
        assert state is not S.SENDING or not (self.has_left and delivery.destination == MAIL)

    def end(self, delivery: Delivery, event: str) -> None:
        with self.store.begin() as conn:
            if event == "sent":
                is_mine = mark_sent(conn, delivery, Receipt("remote"), self.now)
            elif event == "retry":
                is_mine = mark_unsent(
                    conn,
                    delivery,
                    DeliveryState.READY,
                    Said.plain("451"),
                    self.now,
                    not_before=self.now,
                )
            elif event == "unknown":
                is_mine = mark_unsent(
                    conn,
                    delivery,
                    DeliveryState.UNKNOWN,
                    Said.plain("lost"),
                    self.now,
                    not_before=self.now,
                )
            elif event in REFUSED:
                after = self.now + PROBE_PAUSE
                is_mine = mark_unsent(
                    conn,
                    delivery,
                    S.HELD,
                    Said.plain("refused"),
                    self.now,
                    not_before=after,
                    refusal=REFUSED[event],
                )
            elif event == "dead":
                is_mine = mark_unsent(
                    conn, delivery, DeliveryState.DEAD, Said.plain("550"), self.now
                )
            elif event == "too long":
                shorter = Share(0, 40, delivery.token)
                is_mine = mark_unsent(
                    conn,
                    delivery,
                    DeliveryState.READY,
                    Said.plain("too long"),
                    self.now,
                    shorter=shorter,
                )
            else:
                is_mine = outbox.release_claim(conn, delivery)
        assert not is_mine or self.before[delivery.id].token == delivery.token

    def interfere(self, event: str, number: int) -> None:
        with self.store.begin() as conn:
            if event == "claim":
                limit = 1 + number % 4
                self.believed += outbox.claim(conn, owner="worker", limit=limit, now=self.now)
            elif event == "crash":
                outbox.release_claims(conn, self.now)
            elif event == "operator retries":
                retry_delivery(conn, 1 + number % len(self.before), self.now)
            elif event == "operator drops":
                cancel_delivery(conn, 1 + number % len(self.before), self.now)
            elif event == "operator says":
                mark_arrived(conn, 1 + number % len(self.before), self.now)
            elif event == "leave":
                subscribers.save_unsubscription(conn, MAIL, "team", how=PAGE, at=self.now)
                self.has_left = True
            else:
                for unknown in claim_unknown(conn, self.now, limit=1):
                    if event == "found":
                        assert mark_sent(conn, unknown.delivery, Receipt("remote"), self.now)
                    elif event == "missing":
                        assert settle_unknown(
                            conn,
                            unknown.delivery,
                            DeliveryState.READY,
                            Said.plain("missing"),
                            self.now,
                            is_missing=True,
                        )
                    else:
                        assert settle_unknown(
                            conn,
                            unknown.delivery,
                            DeliveryState.HELD,
                            Said.plain("unclear"),
                            self.now,
                            is_missing=False,
                        )

    def check(self) -> None:
        after = self.rows()
        places = {(row.digest_id, row.destination, row.part): row for row in after.values()}
        assert after.keys() == self.before.keys()
        for id_, row in after.items():
            old = self.before.get(id_, row)
            is_probed = (old.state, row.state) == (S.HELD, S.CLAIMED)  # and was ready for a moment
            assert row.state == old.state or row.state in ARROWS[old.state] or is_probed
            assert row.token >= old.token
            assert row.attempts >= old.attempts
            is_shorter = row.share != old.share
            assert old.body is None or row.body == old.body or is_shorter, (
                "every attempt sends the same bytes"
            )
            # One that was refused for its size has no bytes until it is tried again; an operator
            # may say it came.
            ends = () if row.share else (S.SENT,)
            assert row.body is not None or row.state not in (S.SENDING, S.UNKNOWN, *ends)
            if row.part and row.state in (S.CLAIMED, S.SENDING, S.SENT, S.UNKNOWN):
                before = places[row.digest_id, row.destination, row.part - 1]
                assert before.state == S.SENT, "parts come in order"
            if row.state == S.CLAIMED != old.state:
                self.check_order(row, after)
        self.before = after
        self.check_attempts()

    @staticmethod
    def check_order(row: Any, after: dict[int, Any]) -> None:  # noqa: ANN401 - a row
        for other in after.values():
            is_refused = other.refusal in PROBED and other.state not in TERMINAL_STATES
            is_behind = is_refused and other.id < row.id
            assert not (is_behind and other.destination == row.destination), (
                "a place goes on in order"
            )
            is_of_kind = other.destination.partition(":")[0] == row.destination.partition(":")[0]
            is_behind_account = is_behind and other.refusal == Refusal.ACCOUNT and is_of_kind
            assert not is_behind_account, "an account is tried with one"

    def check_attempts(self) -> None:
        with self.store.read() as conn:
            tries = conn.execute(select(attempts)).all()
        assert len(tries) == sum(row.attempts for row in self.before.values())
        for attempt in tries:
            is_open = attempt.ended_at is None
            assert is_open == (attempt.outcome == S.SENDING)
            assert not is_open or self.before[attempt.delivery_id].state == S.SENDING


@settings(
    max_examples=60 if IS_NIGHTLY else 5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(EVENTS), st.integers(0, 59)), min_size=70, max_size=70
    )
)
def test_the_outbox_holds_its_invariants_under_any_sequence_of_events(
    emptied_sqlite: Callable[[], Store], events: list[tuple[str, int]]
) -> None:
    store = emptied_sqlite()
    store_digest(store, MAIL, SLACK, *OTHERS, parts=2)
    outbox = WatchedOutbox(store)
    for event, number in events:
        outbox.happen(event, number)
        outbox.check()
    with store.read() as conn:
        assert {one.name for one in backups.load_violations(conn)} <= {MATCHED_LATE}
