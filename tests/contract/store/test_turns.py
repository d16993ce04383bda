from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import update

from digest.messages import Occasion
from digest.planning import Rhythm
from digest.store import schema, subscribers, subscriptions, turns
from digest.subscriptions import QuietHours
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    NOW,
    SLACK,
    make_paper,
    make_subscription,
    recording,
    store_match,
    store_papers,
    subscribe,
)

if TYPE_CHECKING:
    from digest.store import Store


def test_batches_that_begin_where_the_last_one_ended_meet_each_turn_once(store: Store) -> None:
    names = [f"team-{number}" for number in range(7)]
    ids = subscribe(store, *map(make_subscription, names))
    with store.begin() as conn:
        for name in names[:2]:
            subscriptions.set_next_due(conn, ids[name], NOW)
        met, after = [], None
        while batch := turns.due_turns(conn, NOW + DAY, 3, after=after):
            met += [turn.name for turn in batch]
            after = batch[-1].next_due_at, batch[-1].id
    assert met[:2] == names[:2], "the longest waiting first"
    assert sorted(met) == names


def test_a_turn_tells_the_rhythm_of_its_subscription_and_whether_it_excludes_anything(store: Store) -> None:
    told = make_subscription("told", quiet_hours=None)
    picky = make_subscription("picky", exclude=("cat:cs.CV",))
    subscribe(store, told, picky)
    with store.read() as conn:
        first, second = sorted(turns.due_turns(conn, NOW + DAY, 9), key=lambda turn: turn.name)
    assert second.rhythm == Rhythm(told.cadence, told.quiet_hours, told.quiet_days)
    assert (first.excludes, second.excludes) == (True, False)
    assert first.likeness == second.likeness, "what is excluded does not decide over a turn"
    assert first.likeness != first._replace(last_slot="2026-11-18").likeness


def test_what_waits_is_told_by_rhythm_also_of_those_who_rest_but_not_of_those_who_get_no_digests(
    store: Store,
) -> None:
    awake, asleep = (
        make_subscription("awake"),
        make_subscription("asleep", quiet_hours=QuietHours.parse("22:00-07:00")),
    )
    fetched = make_subscription("fetched", destinations=(FEED,))
    ids = subscribe(store, awake, asleep, fetched, make_subscription("new"), make_subscription("over"))
    paper, other, late = (change.id for change in store_papers(store, [make_paper(n) for n in (1, 2, 3)]))
    run_id = store_match(store, {ids["awake"]: (paper,), ids["new"]: (late,)})
    store_match(store, {ids["asleep"]: (paper, other), ids["fetched"]: (late,), ids["over"]: (late,)})
    store_match(store, {ids["awake"]: (other,)}, occasion=Occasion.FIRST_LOOK)
    with store.begin() as conn:
        subscriptions.pause(conn, ids["asleep"], None)
        subscriptions.end(conn, ids["over"], NOW)
        started = update(schema.subscriptions).where(schema.subscriptions.c.id == ids["new"])
        conn.execute(started.values(plan_after=run_id))
        unplanned = turns.load_unplanned(conn)
    rhythms = [Rhythm(one.cadence, one.quiet_hours, one.quiet_days) for one in (awake, asleep)]
    assert unplanned == {
        (rhythms[0], False): {paper},
        (rhythms[0], True): {other},
        (rhythms[1], False): {paper, other},
    }


def test_what_is_only_fetched_or_was_left_has_no_digests(store: Store) -> None:
    both = make_subscription("both", destinations=(FEED, SLACK))
    ids = subscribe(
        store,
        both,
        make_subscription("feed", destinations=(FEED,)),
        make_subscription("left", destinations=(MAIL,)),
    )
    with store.begin() as conn:
        subscribers.leave(conn, MAIL, "left", how="link", at=NOW)
        assert turns.sent_somewhere(conn, ids.values()) == {ids["both"]}
        assert turns.sent_somewhere(conn, []) == set()


def test_the_saved_queries_of_subscriptions_are_told_by_their_canonical_texts(store: Store) -> None:
    ids = subscribe(store, make_subscription("a", queries=("gpu", "perf")), make_subscription("b"))
    with store.read() as conn:
        asked = turns.asked_queries(conn, ids.values())
    assert asked == {ids["a"]: {"all:gpu", "all:perf"}, ids["b"]: {"all:perf"}}


def test_turns_that_go_on_alike_are_taken_in_one_statement(store: Store) -> None:
    ids = subscribe(store, *(make_subscription(f"team-{number}") for number in range(9)))
    with store.begin() as conn, recording(store) as statements:
        subscriptions.take_turns(conn, dict.fromkeys(ids.values(), (NOW + 2 * DAY, "2026-11-20")))
    assert len([statement for statement in statements if statement.startswith("UPDATE")]) == 1
    with store.read() as conn:
        taken = turns.due_turns(conn, NOW + 2 * DAY, 99)
    assert {(turn.next_due_at, turn.last_slot) for turn in taken} == {(NOW + 2 * DAY, "2026-11-20")}
    assert len(taken) == len(ids)
