"""What its reader's quiet hours keep in the outbox, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from digest.messages import DeliveryState, Share
from digest.store import alarms, nights, overview
from digest.store import deliveries as outbox
from digest.store.clocks import put_right
from digest.store.schema import deliveries
from digest.subscriptions import QuietHours
from tests.contract.store.made import MAIL, MORNING, SLACK, make_subscription, store_digest, subscribe
from tests.contract.store.test_deliveries import begin, claim

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from digest.messages import Delivery
    from digest.store import Store

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
END = MORNING + 9 * HOUR


def put_off(store: Store, *, error: str = "greylisted") -> Delivery:
    """Have the first delivery fail once, and put it off until `END`; return it as it was claimed."""
    with store.begin() as conn:
        (first,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
        outbox.mark_retry(conn, first, MORNING, error, MORNING)
        (again,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
        assert outbox.put_off(conn, again, END)
    return again


def list_all(conn: Connection) -> list[Delivery]:
    return [stored.delivery for stored in reversed(outbox.list_deliveries(conn))]


def find_claimable(conn: Connection, now: datetime) -> list[int]:
    return [one.id for one in outbox.claim(conn, owner="me", limit=9, now=now)]


def test_what_is_put_off_waits_with_the_parts_behind_it_and_keeps_its_error(store: Store) -> None:
    store_digest(store, SLACK, parts=3)
    put_off(store)
    with store.begin() as conn:
        waiting = list_all(conn)
        assert [one.is_put_off(MORNING) for one in waiting] == [True] * 3
        assert [one.last_error for one in waiting] == ["greylisted", "", ""]
        assert find_claimable(conn, END - MINUTE) == []
        assert outbox.next_claimable_at(conn, MORNING) == END
        assert find_claimable(conn, END) == [waiting[0].id]


def test_whoever_lost_the_claim_puts_nothing_off(store: Store) -> None:
    store_digest(store)
    stale = claim(store)
    with store.begin() as conn:
        outbox.release_claim(conn, stale)
        (fresh,) = outbox.claim(conn, owner="other", limit=1, now=MORNING)
        assert not outbox.put_off(conn, stale, END)
    begin(store, fresh)
    with store.begin() as conn:
        assert not outbox.put_off(conn, fresh, END), "it is on its way"


def test_what_is_put_off_is_late_only_when_it_has_not_gone_after_the_end(store: Store) -> None:
    store_digest(store, SLACK, parts=2)
    put_off(store)
    with store.read() as conn:
        assert alarms.find_overdue_deliveries(conn, END) is None
        assert overview.is_waiting_explained(conn, END), "nothing is late"
        late = alarms.find_overdue_deliveries(conn, END + MINUTE)
    assert late is not None
    assert (late.number, late.due_at) == (2, END)


def test_the_outbox_tells_what_waits_for_quiet_hours_and_what_is_in_doubt(store: Store) -> None:
    store_digest(store, SLACK, MAIL)
    with store.begin() as conn:
        first, second = outbox.claim(conn, owner="me", limit=2, now=MORNING)
        outbox.put_off(conn, first, END)
    begin(store, second)
    with store.begin() as conn:
        outbox.mark_unknown(conn, second, MORNING + MINUTE, "no answer", MORNING)
        for standing in (overview.load_open(conn, MORNING), overview.load_outbox(conn, MORNING)):
            assert standing.put_off == overview.Waits(1, END)
            assert standing.in_doubt == overview.Waits(1, MORNING + MINUTE)
            assert standing.oldest_due is None
        assert overview.load_open(conn, END).put_off == overview.Waits()


def test_what_is_let_through_goes_with_the_parts_behind_it_and_however_often_it_is_tried(store: Store) -> None:
    store_digest(store, MAIL, parts=2)
    delivery = put_off(store)
    with store.begin() as conn:
        nights.let_through(conn, delivery, END, MORNING)
        waiting = list_all(conn)
        assert [one.is_put_off(MORNING) for one in waiting] == [False, False]
        assert [one.not_before for one in waiting] == [MORNING, MORNING]
        (first,) = outbox.claim(conn, owner="me", limit=9, now=MORNING)
        outbox.mark_retry(conn, first, MORNING + MINUTE, "greylisted again", MORNING)
        (again,) = outbox.claim(conn, owner="me", limit=9, now=MORNING + MINUTE)
    assert again.is_let_through(END - MINUTE)
    assert not again.is_let_through(END), "the next night is another"


def test_smaller_parts_in_place_of_one_that_was_let_through_are_let_through(store: Store) -> None:
    store_digest(store, SLACK)
    delivery = put_off(store)
    with store.begin() as conn:
        nights.let_through(conn, delivery, END, MORNING)
        (too_large,) = outbox.claim(conn, owner="me", limit=1, now=MORNING)
        outbox.supersede(conn, too_large, [Share(0, 1), Share(1, 2)], "too large", MORNING)
        new = [one for one in list_all(conn) if one.replaces]
    assert [one.is_let_through(END - MINUTE) for one in new] == [True, True]


def test_what_is_in_doubt_is_let_through_once_it_turns_out_to_be_missing(store: Store) -> None:
    store_digest(store, SLACK)
    delivery = claim(store)
    begin(store, delivery)
    with store.begin() as conn:
        outbox.mark_unknown(conn, delivery, MORNING + MINUTE, "no answer", MORNING)
        nights.let_through(conn, delivery, END, MORNING)
        (doubtful,) = list_all(conn)
        assert doubtful.not_before == MORNING + MINUTE, "it is looked into when it has settled"
        outbox.settle_ready(conn, delivery, MORNING + HOUR, "it never arrived")
        (again,) = outbox.claim(conn, owner="me", limit=1, now=MORNING + HOUR)
    assert again.is_let_through(END - MINUTE)


@pytest.mark.parametrize(
    ("changes", "is_freed"),
    [
        ({"quiet_hours": None}, True),
        ({"quiet_hours": QuietHours.parse("21:00-08:00")}, True),
        ({"title": "Another title"}, False),
    ],
)
def test_an_edit_of_the_rhythm_frees_what_the_hours_before_put_off(
    store: Store, *, changes: dict[str, Any], is_freed: bool
) -> None:
    hours = QuietHours.parse("21:00-07:00")
    store_digest(store, MAIL, parts=2)
    subscribe(store, make_subscription(destinations=(MAIL,), quiet_hours=hours), at=MORNING)
    put_off(store)
    edited = make_subscription(destinations=(MAIL,), **{"quiet_hours": hours} | changes)
    subscribe(store, edited, at=MORNING + 2 * HOUR)
    with store.begin() as conn:
        waiting = list_all(conn)
        assert [one.not_before for one in waiting] == [MORNING + 2 * HOUR if is_freed else END] * 2
        assert not any(one.is_let_through(MORNING + 2 * HOUR) and is_freed for one in waiting), (
            "longer hours may put it off anew"
        )
        assert alarms.find_overdue_deliveries(conn, MORNING + 2 * HOUR) is None, "late from the edit on"
        assert bool(find_claimable(conn, MORNING + 2 * HOUR)) is is_freed


def test_what_was_let_through_stays_so_when_the_rhythm_is_edited(store: Store) -> None:
    planned = store_digest(store)
    delivery = put_off(store)
    with store.begin() as conn:
        nights.let_through(conn, delivery, END, MORNING)
        assert nights.free_put_off(conn, [planned.subscription_id], MORNING + MINUTE) == 0
        assert list_all(conn)[0].is_let_through(END - MINUTE), "also where they end later now"


def test_trying_again_what_quiet_hours_put_off_keeps_its_error_and_lets_nothing_through(store: Store) -> None:
    store_digest(store)
    delivery = put_off(store)
    with store.begin() as conn:
        assert outbox.retry(conn, delivery.id, MORNING + HOUR) is DeliveryState.READY
        (again,) = outbox.claim(conn, owner="me", limit=1, now=MORNING + HOUR)
    assert again.last_error == "greylisted"
    assert not again.is_let_through(MORNING + HOUR)


def test_the_end_of_quiet_hours_that_a_clock_ahead_reckoned_holds_nothing_and_lets_nothing_through(
    store: Store,
) -> None:
    store_digest(store)
    with store.begin() as conn:
        far = MORNING + timedelta(days=30)
        conn.execute(update(deliveries).values(not_before=far, quiet_until=far))
        assert put_right(conn, MORNING) == 1
        assert conn.execute(select(deliveries.c.quiet_until)).scalar_one() == MORNING
