from __future__ import annotations

from dataclasses import replace

from sqlalchemy import select

from digest.model.said import Said
from digest.model.subscriptions import Timing, TurnFailure, TurnState, UncheckedTurn
from digest.people.unsubscription import ONE_CLICK
from digest.store import Store, matches, runs, subscribers
from digest.store.schema import subscriptions
from digest.store.subscriptions import end as end_subscription
from digest.store.subscriptions import has_due_slots, make_open_due, set_next_due, store_slots
from digest.store.subscriptions import pause as pause_subscription
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    NOW,
    SLACK,
    make_paper,
    make_subscription,
    recording,
    store_papers,
    subscribe,
)

FAILED = UncheckedTurn(NOW, TurnFailure.ARXIV_FAILED)


def test_batches_that_begin_where_the_last_one_ended_meet_each_turn_once(store: Store) -> None:
    names = [f"team-{number}" for number in range(7)]
    ids = subscribe(store, *map(make_subscription, names))
    with store.begin() as conn:
        for name in names[:2]:
            set_next_due(conn, ids[name], NOW)
        met = []
        after = None
        while batch := matches.load_due_slots(conn, NOW + DAY, 3, after=after):
            met += [turn.name for turn in batch]
            last = batch[-1]
            assert last.state.next_due_at is not None
            after = last.state.next_due_at, last.id
    assert met[:2] == names[:2], "the longest waiting first"
    assert sorted(met) == names


def test_a_turn_has_the_rhythm_of_its_subscription_and_whether_it_excludes_anything(
    store: Store,
) -> None:
    told = make_subscription("told", quiet_hours=None)
    picky = make_subscription("picky", exclude=("cat:cs.CV",))
    subscribe(store, told, picky)
    with store.read() as conn:
        turns = list(matches.load_due_slots(conn, NOW + DAY, 9))
    first, second = sorted(turns, key=lambda turn: turn.name)
    assert second.timing == Timing(told.cadence, told.quiet_hours, told.when_empty)
    assert (first.excludes, second.excludes) == (True, False)
    assert first.group_key == second.group_key, "what is excluded does not decide over a turn"
    assert (
        first.group_key != first._replace(state=replace(first.state, taken="2026-11-18")).group_key
    )


def test_what_is_only_fetched_or_was_left_has_no_digests(store: Store) -> None:
    both = make_subscription("both", destinations=(FEED, SLACK))
    by_feed = make_subscription("feed", destinations=(FEED,))
    left = make_subscription("left", destinations=(MAIL,))
    ids = subscribe(store, both, by_feed, left)
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "left", how=ONE_CLICK, at=NOW)
        assert subscribers.find_sent(conn, ids.values()) == {ids["both"]}
        assert subscribers.find_sent(conn, []) == set()


def test_turns_that_go_on_alike_are_taken_in_one_statement(store: Store) -> None:
    teams = [make_subscription(f"team-{number}") for number in range(9)]
    ids = subscribe(store, *teams)
    next_turn = TurnState(NOW + 2 * DAY, "2026-11-20")
    with store.begin() as conn, recording(store) as statements:
        store_slots(conn, dict.fromkeys(ids.values(), next_turn))
    updates = [statement for statement in statements if statement.startswith("UPDATE")]
    assert len(updates) == 1
    with store.read() as conn:
        taken = matches.load_due_slots(conn, NOW + 2 * DAY, 99)
    assert {turn.state for turn in taken} == {next_turn}
    assert len(taken) == len(ids)


def _check(store: Store) -> None:
    """Let one check of arXiv begin and end."""
    with store.begin() as conn:
        run_id = runs.start(conn, source="harvest", at=NOW)
        runs.finish(conn, run_id, outcome="failed", at=NOW, failure=Said.plain("no answer"))


def test_open_turns_are_due_again_after_each_check_and_ask_for_nothing_between(
    store: Store,
) -> None:
    teams = [make_subscription(f"team-{number}") for number in range(50)]
    ids = subscribe(store, *teams)
    opened = TurnState(NOW + DAY, "2026-11-19", awaits_check=True, unchecked=(FAILED,))
    _check(store)
    with store.begin() as conn:
        store_slots(conn, dict.fromkeys(ids.values(), opened))
    with recording(store) as statements, store.read() as conn:
        assert not has_due_slots(conn, NOW)
    assert len([text for text in statements if text.startswith("SELECT")]) <= 4, (
        "however many are open"
    )
    _check(store)
    with store.begin() as conn, recording(store) as statements:
        assert has_due_slots(conn, NOW)
        assert make_open_due(conn, NOW) == len(ids)
    assert len([text for text in statements if text.startswith("UPDATE")]) == 1
    with store.begin() as conn:
        turns = matches.load_due_slots(conn, NOW, 99)
        assert {turn.state for turn in turns} == {replace(opened, next_due_at=NOW)}
        store_slots(conn, {turn.id: opened for turn in turns})
        assert not has_due_slots(conn, NOW), "they were decided over after this check"


def test_an_open_turn_waits_until_what_a_check_found_is_matched(store: Store) -> None:
    ids = subscribe(store, make_subscription())
    opened = TurnState(NOW + DAY, "2026-11-19", awaits_check=True)
    with store.begin() as conn:
        store_slots(conn, {ids["team"]: opened})
    _check(store)
    (change,) = store_papers(store, [make_paper(1)])
    with store.begin() as conn:
        assert make_open_due(conn, NOW) == 0
        matches.set_matched_mark(conn, change.id, expected=0)
        assert make_open_due(conn, NOW) == 1


def test_a_pause_and_an_end_leave_no_turn_open(store: Store) -> None:
    ids = subscribe(store, make_subscription("paused"), make_subscription("ended"))
    opened = TurnState(NOW + DAY, "2026-11-19", awaits_check=True, unchecked=(FAILED,))
    with store.begin() as conn:
        store_slots(conn, dict.fromkeys(ids.values(), opened))
        pause_subscription(conn, ids["paused"], None)
        end_subscription(conn, ids["ended"], NOW)
    _check(store)
    with store.begin() as conn:
        assert make_open_due(conn, NOW) == 0
        rows = {row.name: row.unchecked for row in conn.execute(select(subscriptions))}
    assert set(rows.values()) == {str(FAILED)}, "what closed is told once they go on"
