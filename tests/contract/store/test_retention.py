from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from digest.model.messages import DeliveryState, Receipt
from digest.store import database, outbox, outbox_sends
from digest.store.schema import attempts, deliveries, digests, matches
from tests.contract.store.made import DAY, MAIL, MATCHED_LATE, MORNING, SLACK, make_message, store_digest

if TYPE_CHECKING:
    import pytest

    from digest.store import Store


def send_one(store: Store) -> None:
    with store.begin() as conn:
        (delivery,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
        assert outbox_sends.begin_sending(conn, delivery, make_message(), MORNING) is DeliveryState.SENDING
        assert outbox_sends.mark_sent(conn, delivery, Receipt("ok"), MORNING)


def count_kept(store: Store) -> dict[str, int]:
    bodies = select(func.count()).where(deliveries.c.body.is_not(None))
    with store.read() as conn:
        assert {violation.name for violation in database.load_violations(conn)} <= {MATCHED_LATE}
        tables = (deliveries, attempts, digests, matches)
        kept = {table.name: conn.execute(select(func.count()).select_from(table)).scalar_one() for table in tables}
        return {**kept, "bodies": conn.execute(bodies).scalar_one()}


def test_each_kind_goes_at_its_time_and_what_is_under_way_never(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_PORTION", 2)
    for slot in "123":
        store_digest(store, MAIL, slot=slot)
        send_one(store)
    store_digest(store, SLACK, MAIL, slot="4")  # one of them is sent, and goes with the other alone
    send_one(store)
    begun = {"deliveries": 5, "attempts": 4, "digests": 4, "matches": 4, "bodies": 4}
    assert count_kept(store) == begun

    database.delete_expired(store, MORNING + 7 * DAY)
    assert count_kept(store) == begun
    assert database.delete_expired(store, MORNING + 8 * DAY)["rendered bytes"] == 4
    assert database.delete_expired(store, MORNING + 181 * DAY) == {"rendered bytes": 0, "deliveries": 3}
    assert count_kept(store) == begun | {"deliveries": 2, "attempts": 1, "bodies": 0}
