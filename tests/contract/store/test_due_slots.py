from __future__ import annotations

from dataclasses import replace

from digest.model.subscriptions import Timing, TurnState
from digest.store import Store
from digest.store.matches import find_sent, load_due_slots
from digest.store.subscribers import save_unsubscription
from digest.store.subscriptions import set_next_due, store_slots
from tests.contract.store.made import DAY, FEED, MAIL, NOW, SLACK, make_subscription, recording, subscribe


def test_batches_that_begin_where_the_last_one_ended_meet_each_turn_once(store: Store) -> None:
    names = [f"team-{number}" for number in range(7)]
    ids = subscribe(store, *map(make_subscription, names))
    with store.begin() as conn:
        for name in names[:2]:
            set_next_due(conn, ids[name], NOW)
        met, after = [], None
        while batch := load_due_slots(conn, NOW + DAY, 3, after=after):
            met += [turn.name for turn in batch]
            last = batch[-1]
            assert last.state.next_due_at is not None
            after = last.state.next_due_at, last.id
    assert met[:2] == names[:2], "the longest waiting first"
    assert sorted(met) == names


def test_a_turn_tells_the_rhythm_of_its_subscription_and_whether_it_excludes_anything(store: Store) -> None:
    told = make_subscription("told", quiet_hours=None)
    picky = make_subscription("picky", exclude=("cat:cs.CV",))
    subscribe(store, told, picky)
    with store.read() as conn:
        first, second = sorted(load_due_slots(conn, NOW + DAY, 9), key=lambda turn: turn.name)
    assert second.timing == Timing(told.cadence, told.quiet_hours, told.when_empty)
    assert (first.excludes, second.excludes) == (True, False)
    assert first.group_key == second.group_key, "what is excluded does not decide over a turn"
    assert first.group_key != first._replace(state=replace(first.state, taken="2026-11-18")).group_key


def test_what_is_only_fetched_or_was_left_has_no_digests(store: Store) -> None:
    both = make_subscription("both", destinations=(FEED, SLACK))
    ids = subscribe(
        store,
        both,
        make_subscription("feed", destinations=(FEED,)),
        make_subscription("left", destinations=(MAIL,)),
    )
    with store.begin() as conn:
        save_unsubscription(conn, MAIL, "left", how="link", at=NOW)
        assert find_sent(conn, ids.values()) == {ids["both"]}
        assert find_sent(conn, []) == set()


def test_turns_that_go_on_alike_are_taken_in_one_statement(store: Store) -> None:
    ids = subscribe(store, *(make_subscription(f"team-{number}") for number in range(9)))
    with store.begin() as conn, recording(store) as statements:
        store_slots(conn, dict.fromkeys(ids.values(), TurnState(NOW + 2 * DAY, "2026-11-20")))
    assert len([statement for statement in statements if statement.startswith("UPDATE")]) == 1
    with store.read() as conn:
        taken = load_due_slots(conn, NOW + 2 * DAY, 99)
    assert {turn.state for turn in taken} == {TurnState(NOW + 2 * DAY, "2026-11-20")}
    assert len(taken) == len(ids)
