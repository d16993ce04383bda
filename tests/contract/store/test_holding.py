"""What is refused for a place or an account.

Who waits for whom, what is tried again, and in which order.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update

from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import Refusal
from digest.model.messages import Delivery, DeliveryPlan, DeliveryState, Receipt
from digest.model.said import Said
from digest.people.unsubscription import PAGE
from digest.store import Store, alarms, attempts, backups, outbox, subscribers
from digest.store.schema import deliveries
from tests.contract.store.made import (
    DAY,
    MAIL,
    MATCHED_LATE,
    MORNING,
    SLACK,
    make_digest,
    make_message,
    make_paper,
    make_subscription,
    next_number,
    save_digest,
    store_match,
    store_papers,
    subscribe,
)
from tests.contract.store.made import plan as make_plans
from tests.threads import do_together

S = DeliveryState
LAB = Destination(DestinationKind.SLACK, "#lab")
READERS = [Destination(DestinationKind.MAIL, f"reader{number}@example.org") for number in range(4)]
EVERYWHERE = (MAIL, SLACK, LAB, *READERS)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
PAUSE = 6 * HOUR


def claim(store: Store, now: datetime = MORNING, limit: int = 9) -> list[Delivery]:
    with store.begin() as conn:
        return outbox.claim(conn, owner="me", limit=limit, now=now)


def only(claimed: Sequence[Delivery]) -> Delivery:
    (one,) = claimed
    return one


def name(claimed: Sequence[Delivery]) -> list[int]:
    return [one.id for one in claimed]


def refuse(
    store: Store, delivery: Delivery, refusal: Refusal = Refusal.PLACE, now: datetime = MORNING
) -> None:
    with store.begin() as conn:
        assert attempts.begin(conn, delivery, make_message(), now) is S.SENDING
        why = f"refused: {refusal}"
        assert attempts.mark_unsent(
            conn, delivery, S.HELD, Said.plain(why), now, not_before=now + PAUSE, refusal=refusal
        )


def send(store: Store, delivery: Delivery, now: datetime = MORNING) -> None:
    with store.begin() as conn:
        assert attempts.begin(conn, delivery, make_message(), now) is S.SENDING
        assert attempts.mark_sent(conn, delivery, Receipt("there"), now)


def send_all(store: Store, now: datetime) -> list[int]:
    """Send one after the other for as long as there is something; return them in that order."""
    went = []
    for step in range(50):
        for delivery in claim(store, now + step * SECOND):
            send(store, delivery, now + step * SECOND)
            went.append(delivery.id)
    return went


def look(store: Store) -> dict[int, tuple[str, str | None]]:
    """Return the state and the code of each delivery."""
    with store.read() as conn:
        assert {one.name for one in backups.load_violations(conn)} <= {MATCHED_LATE}
        rows = conn.execute(select(deliveries).order_by(deliveries.c.id))
        return {row.id: (row.state, row.refusal) for row in rows}


def plan(
    store: Store,
    *ways: Destination,
    parts: int = 1,
    at: datetime = MORNING,
    subscription: str = "team",
) -> None:
    """Plan a digest of one of two subscriptions that go everywhere, for some destinations."""
    slot = f"{at:%Y-%m-%d %H:%M}"
    team = make_subscription("team", destinations=EVERYWHERE)
    other = make_subscription("other", destinations=EVERYWHERE)
    subscription_id = subscribe(store, team, other)[subscription]
    paper = make_paper(next_number(store))
    (change,) = store_papers(store, [paper])
    run_id = store_match(store, {subscription_id: (change.id,)})
    key = f"{subscription}-{slot}"
    plans: list[DeliveryPlan] = []
    for way in ways:
        plans += make_plans(way, parts, key=key)
    digest = make_digest([change], slot=slot, subscription=subscription)
    with store.begin() as conn:
        save_digest(conn, subscription_id, digest, plans, consumed=[run_id], at=at)


def plan_days(store: Store, *days: int, to: Destination = SLACK, parts: int = 1) -> None:
    """Plan a digest for each of some days after the first morning."""
    for day in days:
        plan(store, to, parts=parts, at=MORNING + day * DAY)


HELD = (S.HELD, Refusal.PLACE)
READY = (S.READY, None)


def test_a_refusal_of_a_place_holds_all_that_goes_there_with_a_code_and_nothing_else(
    store: Store,
) -> None:
    plan(store, SLACK, LAB, MAIL, parts=2)
    plan(store, SLACK, subscription="other")
    refused = claim(store)
    refuse(store, next(one for one in refused if one.destination == SLACK))
    assert look(store) == {
        1: HELD,
        2: HELD,
        3: (S.CLAIMED, None),
        4: READY,
        5: (S.CLAIMED, None),
        6: READY,
        7: HELD,
    }


def test_the_oldest_that_is_held_is_tried_alone_after_six_hours(store: Store) -> None:
    plan_days(store, 0, 1)
    at = MORNING + DAY
    refuse(store, only(claim(store, at)), now=at)
    assert look(store) == {1: HELD, 2: HELD}
    assert claim(store, at + PAUSE - SECOND) == []
    (probe,) = claim(store, at + PAUSE)
    assert probe.id == 1
    refuse(store, probe, now=at + PAUSE)
    assert claim(store, at + PAUSE + HOUR) == []
    assert name(claim(store, at + 2 * PAUSE)) == [1]


def test_once_it_is_taken_the_others_follow_in_order_and_newer_ones_after_them(
    store: Store,
) -> None:
    plan_days(store, 0, 1, parts=2)
    at = MORNING + DAY
    refuse(store, only(claim(store, at)), now=at)
    plan_days(store, 2, parts=2)
    assert send_all(store, at + DAY) == [1, 2, 3, 4, 5, 6]


def test_something_newer_for_the_place_has_it_tried_once(store: Store) -> None:
    plan_days(store, 0)
    refuse(store, only(claim(store)))
    plan(store, LAB, at=MORNING + HOUR)
    at = MORNING + 2 * HOUR
    assert [one.destination for one in claim(store, at)] == [LAB], "that is another place"
    plan(store, SLACK, subscription="other", at=MORNING + HOUR)
    (probe,) = claim(store, at)
    assert probe.id == 1, "the newer one waits for it"
    refuse(store, probe, now=at)
    assert look(store)[3] == HELD
    assert claim(store, at + HOUR) == []


@pytest.mark.parametrize("refusal", [Refusal.PLACE, Refusal.ACCOUNT])
def test_what_is_to_be_sent_only_later_has_nothing_tried(store: Store, refusal: Refusal) -> None:
    plan_days(store, 0)
    refuse(store, only(claim(store)), refusal)
    plan_days(store, 1)
    assert claim(store, MORNING + HOUR) == []


def test_of_an_account_one_is_tried_whatever_places_wait(store: Store) -> None:
    plan(store, SLACK, LAB, MAIL)
    first, second, mail = claim(store)
    refuse(store, first, Refusal.ACCOUNT)
    refuse(store, second, Refusal.ACCOUNT)
    send(store, mail)
    plan(store, LAB, at=MORNING + HOUR)
    (probe,) = claim(store, MORNING + HOUR)
    assert probe.id == 1
    refuse(store, probe, Refusal.ACCOUNT, now=MORNING + HOUR)
    account = (S.HELD, Refusal.ACCOUNT)
    assert look(store) == {1: account, 2: account, 3: (S.SENT, None), 4: account}
    assert claim(store, MORNING + HOUR + PAUSE - SECOND) == []
    assert name(claim(store, MORNING + HOUR + PAUSE)) == [1]


def test_a_refused_account_of_mail_stops_no_post(store: Store) -> None:
    plan(store, SLACK, MAIL)
    post, mail = claim(store)
    refuse(store, mail, Refusal.ACCOUNT)
    refuse(store, post)
    plan(store, LAB, at=MORNING - HOUR)
    assert [one.destination for one in claim(store)] == [LAB]


def test_once_an_account_is_well_each_place_goes_on_by_itself(store: Store) -> None:
    plan(store, *READERS)
    plan(store, *READERS, at=MORNING - HOUR)
    refuse(store, claim(store, limit=1)[0], Refusal.ACCOUNT)
    at = MORNING + PAUSE
    (probe,) = claim(store, at)
    send(store, probe, at)
    several = claim(store, at)
    assert name(several) == [2, 3, 4, 5], "the first of each reader"
    for one in several:
        send(store, one, at)
    assert name(claim(store, at)) == [6, 7, 8]


def test_a_place_that_refuses_when_its_account_is_well_again_keeps_no_other_place_waiting(
    store: Store,
) -> None:
    plan(store, SLACK, LAB, parts=2)
    refuse(store, claim(store, limit=1)[0], Refusal.ACCOUNT)
    at = MORNING + PAUSE
    (probe,) = claim(store, at)
    refuse(store, probe, Refusal.PLACE, now=at)
    (next_one,) = claim(store, at)
    assert (next_one.destination, next_one.part) == (LAB, 0)
    send(store, next_one, at)
    assert send_all(store, at) == [4]
    assert look(store) == {1: HELD, 2: HELD, 3: (S.SENT, None), 4: (S.SENT, None)}


def test_what_must_not_be_sent_is_not_tried_and_the_next_is(store: Store) -> None:
    plan_days(store, 0, 1, to=MAIL)
    plan(store, MAIL, subscription="other", at=MORNING + HOUR)
    at = MORNING + DAY
    for one in claim(store, at, limit=1):
        refuse(store, one, now=at)
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "team", how=PAGE, at=at)
    assert name(claim(store, at)) == [3], "two were of the one that was left"


def test_what_is_cancelled_or_whose_destination_is_taken_out_is_not_tried(store: Store) -> None:
    for day in (0, 1):
        plan(store, SLACK, LAB, at=MORNING + day * DAY)
    at = MORNING + DAY
    for one in claim(store, at):
        refuse(store, one, now=at)
    with store.begin() as conn:
        assert attempts.cancel(conn, 1, at)
    subscribe(store, make_subscription(destinations=(SLACK,)), at=at)
    assert name(claim(store, at + PAUSE)) == [3]
    found = look(store)
    for id_ in (1, 2, 4):
        state, _ = found[id_]
        assert state == S.SUPPRESSED


@pytest.mark.parametrize("refusal", [Refusal.SETTINGS, None])
def test_what_waits_for_the_operators_word_is_never_tried_and_keeps_nothing_waiting(
    store: Store, refusal: Refusal | None
) -> None:
    plan_days(store, 0, parts=2)
    (first,) = claim(store)
    refuse(store, first)
    (probe,) = claim(store, MORNING + PAUSE)
    with store.begin() as conn:
        attempts.begin(conn, probe, make_message(), MORNING + PAUSE)
        if refusal is None:
            attempts.mark_unsent(
                conn,
                probe,
                S.UNKNOWN,
                Said.plain("no answer"),
                MORNING + PAUSE,
                not_before=MORNING + PAUSE,
            )
            attempts.settle_unknown(
                conn, probe, S.HELD, Said.plain("can't tell"), MORNING + PAUSE, is_missing=False
            )
        else:
            attempts.mark_unsent(
                conn, probe, S.HELD, Said.plain("a typo"), MORNING + PAUSE, refusal=refusal
            )
    assert look(store) == {1: (S.HELD, refusal), 2: READY}
    plan_days(store, 1, parts=2)
    assert send_all(store, MORNING + 2 * DAY) == [3, 4]
    assert claim(store, MORNING + 9 * DAY) == []


def test_a_part_after_one_in_doubt_is_not_held_with_what_is_refused_later(store: Store) -> None:
    plan_days(store, 0, 1, parts=2)
    (first,) = claim(store)
    with store.begin() as conn:
        attempts.begin(conn, first, make_message(), MORNING)
        attempts.mark_unsent(
            conn, first, S.UNKNOWN, Said.plain("no answer"), MORNING, not_before=MORNING
        )
        attempts.settle_unknown(
            conn, first, S.HELD, Said.plain("can't tell"), MORNING, is_missing=False
        )
    at = MORNING + DAY
    refuse(store, only(claim(store, at)), now=at)
    assert look(store) == {1: (S.HELD, None), 2: READY, 3: HELD, 4: HELD}
    assert send_all(store, at + PAUSE) == [3, 4]


def test_a_part_that_waits_for_a_persons_word_has_nothing_tried(store: Store) -> None:
    plan_days(store, 0, parts=2)
    plan(store, SLACK, parts=2, subscription="other")
    first = only(claim(store))
    with store.begin() as conn:
        attempts.begin(conn, first, make_message(), MORNING)
        attempts.mark_unsent(
            conn, first, S.READY, Said.plain("away"), MORNING, not_before=MORNING + HOUR
        )
    second = only(claim(store))
    with store.begin() as conn:
        attempts.begin(conn, second, make_message(), MORNING)
        attempts.mark_unsent(
            conn, second, S.UNKNOWN, Said.plain("no answer"), MORNING, not_before=MORNING
        )
        attempts.settle_unknown(
            conn, second, S.HELD, Said.plain("can't tell"), MORNING, is_missing=False
        )
    refuse(store, only(claim(store, MORNING + HOUR)), now=MORNING + HOUR)
    assert look(store) == {1: HELD, 2: HELD, 3: (S.HELD, None), 4: READY}
    assert claim(store, MORNING + 2 * HOUR) == []


def test_a_probe_whose_process_dies_is_found_in_doubt_and_the_others_wait(store: Store) -> None:
    plan_days(store, 0, 1)
    at = MORNING + DAY
    refuse(store, only(claim(store, at)), now=at)
    (probe,) = claim(store, at + PAUSE)
    with store.begin() as conn:
        attempts.begin(conn, probe, make_message(), at + PAUSE)
        assert outbox.release_claims(conn, at + PAUSE) == (0, 1)
    assert claim(store, at + DAY) == []
    with store.begin() as conn:
        attempts.settle_unknown(
            conn, probe, S.READY, Said.plain("it never arrived"), at + DAY, is_missing=True
        )
    assert send_all(store, at + DAY) == [1, 2]


def test_of_two_that_claim_at_the_same_moment_one_gets_the_probe(store: Store) -> None:
    plan_days(store, *range(4))
    at = MORNING + 4 * DAY
    refuse(store, only(claim(store, at)), now=at)
    found = do_together(range(2), lambda _: claim(store, at + PAUSE))
    assert sorted(map(name, found)) == [[], [1]]


@pytest.mark.parametrize("refusal", [Refusal.PLACE, Refusal.ACCOUNT])
def test_one_that_the_operator_sends_goes_after_the_older_ones_which_are_tried_for_it(
    store: Store, refusal: Refusal
) -> None:
    plan_days(store, 0, 1, 2)
    at = MORNING + 2 * DAY
    refuse(store, only(claim(store, at)), refusal, now=at)
    with store.begin() as conn:
        assert attempts.retry(conn, 3, at + HOUR) is S.READY
    (probe,) = claim(store, at + HOUR)
    assert probe.id == 1
    refuse(store, probe, refusal, now=at + HOUR)
    assert look(store)[3] == (S.HELD, refusal)
    with store.begin() as conn:
        attempts.retry(conn, 3, at + HOUR)
    assert send_all(store, at + HOUR) == [1, 2, 3]


def test_what_is_held_since_a_moment_keeps_that_until_the_operator_sends_it(store: Store) -> None:
    plan_days(store, 0, 1)
    refuse(store, only(claim(store)))
    for at in (MORNING + PAUSE, MORNING + DAY):
        (probe,) = claim(store, at)
        refuse(store, probe, now=at)
    in_order = select(deliveries.c.id, deliveries.c.held_at).order_by(deliveries.c.id)
    with store.begin() as conn:
        rows = conn.execute(in_order).all()
        assert [row.held_at for row in rows] == [MORNING, MORNING]
        attempts.retry(conn, 1, MORNING + DAY)
    (probe,) = claim(store, MORNING + DAY)
    assert (probe.refusal, probe.held_at) == (Refusal.PLACE, None)


def test_what_was_refused_needs_the_operator_until_it_was_sent_and_a_try_is_no_end(
    store: Store,
) -> None:
    def count_held() -> int:
        with store.read() as conn:
            held = alarms.load_held_deliveries(conn)
            return 0 if held is None else held.count

    plan_days(store, 0, 1)
    refuse(store, only(claim(store)))
    assert count_held() == 2
    (probe,) = claim(store, MORNING + DAY)
    assert count_held() == 2, "while it is tried"
    send(store, probe, MORNING + DAY)
    assert count_held() == 1
    assert send_all(store, MORNING + DAY) == [2]
    assert count_held() == 0


@pytest.mark.parametrize("refusal", [Refusal.PLACE, Refusal.ACCOUNT])
def test_what_was_given_up_and_is_sent_after_all_makes_the_next_due_though_that_was_just_tried(
    store: Store, refusal: Refusal
) -> None:
    plan_days(store, 0, 1, 2)
    refuse(store, only(claim(store)), refusal)
    at = MORNING + 7 * DAY
    (probe,) = claim(store, at)
    with store.begin() as conn:
        attempts.begin(conn, probe, make_message(), at)
        attempts.mark_unsent(conn, probe, S.DEAD, Said.plain("refused"), at, refusal=refusal)
    (probe,) = claim(store, at)
    refuse(store, probe, refusal, now=at)
    assert claim(store, at + HOUR) == [], "it has its pause"
    with store.begin() as conn:
        attempts.retry(conn, 1, at + HOUR)
    assert send_all(store, at + HOUR) == [1, 2, 3]


def test_what_was_held_long_is_given_up_with_all_that_was_held_as_long(store: Store) -> None:
    plan(store, SLACK, LAB, parts=2)
    refuse(store, claim(store, limit=1)[0], Refusal.ACCOUNT)
    at = MORNING + 7 * DAY
    plan(store, LAB, at=at)
    (probe,) = claim(store, at)
    with store.begin() as conn:
        attempts.begin(conn, probe, make_message(), at)
        attempts.mark_unsent(
            conn, probe, S.DEAD, Said.plain("refused"), at, refusal=Refusal.ACCOUNT
        )
        others = attempts.give_up_held(
            conn, probe, Refusal.ACCOUNT, before=at - 7 * DAY, reason=Said.plain("refused"), now=at
        )
    given_up = sorted((one.destination.address, one.part) for one in others)
    assert given_up == [("#lab", 0), ("#lab", 1)]
    states = [state for state, _ in look(store).values()]
    assert states == [S.DEAD, S.DEAD, S.DEAD, S.DEAD, S.READY]
    assert name(claim(store, at)) == [5]


def test_what_was_given_up_and_is_held_after_all_is_tried_from_a_moment_on(store: Store) -> None:
    plan(store, MAIL)
    (delivery,) = claim(store)
    with store.begin() as conn:
        attempts.begin(conn, delivery, make_message(), MORNING)
        attempts.mark_unsent(conn, delivery, S.DEAD, Said.plain("no"), MORNING)
        attempts.hold_failed(conn, [delivery.id], MORNING, MORNING + PAUSE)
    assert look(store) == {1: HELD}
    assert claim(store, MORNING + PAUSE - SECOND) == []
    assert name(claim(store, MORNING + PAUSE)) == [1]


def test_what_a_lost_database_may_have_sent_meanwhile_is_not_tried(store: Store) -> None:
    plan_days(store, 0, 1)
    refuse(store, only(claim(store)))
    with store.begin() as conn:
        assert attempts.mark_taken_as_sent(conn, MORNING + HOUR, MORNING + HOUR) == 1
    assert name(claim(store, MORNING + DAY)) == [2]


def test_the_outbox_is_asked_for_what_is_held_only_when_something_is_to_be_tried(
    store: Store,
) -> None:
    plan_days(store, 0, 1)
    at = MORNING + DAY
    refuse(store, only(claim(store, at)), now=at)
    with store.read() as conn:
        moments = [at, at + PAUSE - SECOND, at + PAUSE]
        assert [outbox.has_deliveries(conn, moment) for moment in moments] == [False, False, True]
        assert outbox.next_claimable_at(conn, at) is None
    with store.begin() as conn:
        conn.execute(update(deliveries).values(refusal=None))
        assert not outbox.has_deliveries(conn, at + PAUSE)
