from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from digest.model.subscriptions import Origin, QueryOutcome
from digest.store import matches as match_store
from digest.store.queries import (
    FeedPlace,
    QueryRow,
    active_revisions,
    load_first_digest,
    load_queries,
    load_query_places,
    load_query_rows,
    load_query_wordings,
    load_wordings,
    open_query_feed,
    revoke_query_feed,
    rotate_query_feed,
    sync_queries,
)
from tests.contract.store.made import DAY, NOW, make_paper, make_subscription, store_papers, subscribe

if TYPE_CHECKING:
    from datetime import datetime

    from digest.store import Store


def ask(store: Store, at: datetime = NOW, **queries: str) -> dict[str, int]:
    """Make these the saved queries of the file; return their keys."""
    with store.begin() as conn:
        sync_queries(conn, {name: (text, text, "") for name, text in queries.items()}, Origin.FILE, at)
        return {query.name: query.id for query in load_queries(conn, include_ended=True)}


def places(store: Store) -> list[FeedPlace]:
    with store.read() as conn:
        return load_query_places(conn)


def test_a_saved_query_has_a_feed_once_one_is_opened(store: Store) -> None:
    ids = ask(store, gpu="ti:gpu", perf="cat:cs.PF")
    assert places(store) == []
    with store.begin() as conn:
        open_query_feed(conn, ids["gpu"], [7, 3], NOW)
        assert load_first_digest(conn, ids["gpu"]) == ((3, 7), NOW)
    assert places(store) == [FeedPlace(ids["gpu"], "gpu", "gpu", 0, is_open=True, origin="file")]


def test_it_can_be_closed_and_opened_at_another_address(store: Store) -> None:
    key = ask(store, gpu="ti:gpu")["gpu"]
    with store.begin() as conn:
        open_query_feed(conn, key, [], NOW)
        revoke_query_feed(conn, key, NOW + DAY)
    (closed,) = places(store)
    assert not closed.is_open
    with store.begin() as conn:
        assert rotate_query_feed(conn, key) == 1
    (anew,) = places(store)
    assert (anew.is_open, anew.generation) == (True, 1)


def test_it_closes_with_its_query_and_is_there_again_with_it(store: Store) -> None:
    key = ask(store, gpu="ti:gpu")["gpu"]
    with store.begin() as conn:
        open_query_feed(conn, key, [], NOW)
    ask(store, NOW + DAY, perf="cat:cs.PF")
    (closed,) = places(store)
    assert not closed.is_open
    ask(store, NOW + 2 * DAY, gpu="ti:gpu")
    assert [place.is_open for place in places(store)] == [True]


def test_what_a_query_brought_is_read_newest_first_over_all_its_wordings(store: Store) -> None:
    key = ask(store, gpu="ti:gpu")["gpu"]
    changes = store_papers(store, [make_paper(number) for number in (1, 2, 3)])
    runs = []
    for day, change in enumerate(changes):
        with store.begin() as conn:
            (wording,) = [one for one in load_query_wordings(conn, key) if one.until is None]
            (revision,) = [one.id for one in active_revisions(conn)]
            run = match_store.begin_match_run(
                conn, from_change=change.id - 1, to_change=change.id, at=NOW + day * DAY, occasion="poll"
            )
            match_store.save_query_matches(conn, run, {revision: QueryOutcome(new=(change.id,))})
        runs.append(QueryRow(run, NOW + day * DAY, 1 + (day > 1), QueryOutcome(new=(change.id,))))
        assert wording.name == "gpu"
        if day == 1:
            ask(store, NOW + day * DAY, gpu="ti:gpus")
    with store.read() as conn:
        assert load_query_rows(conn, key, span=2 * DAY, at_least=0) == runs[::-1]
        assert load_query_rows(conn, key, span=0 * DAY, at_least=0) == runs[:1:-1]
        assert load_query_rows(conn, key, span=0 * DAY, at_least=2) == runs[:0:-1]
        wordings = load_query_wordings(conn, key)
    assert [(one.text, one.since, one.until) for one in wordings] == [
        ("ti:gpu", NOW, NOW + DAY),
        ("ti:gpus", NOW + DAY, None),
    ]


def test_a_query_that_cannot_be_read_asks_in_its_feeds_what_it_asked_before(store: Store) -> None:
    subscribe(store, make_subscription("team", queries=("perf",)))
    key = ask(store, perf="cat:cs.PF")["perf"]
    with store.begin() as conn:
        sync_queries(conn, {"perf": ("cat:(", "", "not closed")}, Origin.FILE, NOW + DAY)
        assert [(one.text, one.until) for one in load_query_wordings(conn, key)][-1] == ("cat:cs.PF", None)
        assert load_wordings(conn, 1)[-1] == load_query_wordings(conn, key)[-1]


def test_a_subscription_asks_what_its_queries_asked_since_it_follows_them(store: Store) -> None:
    subscribe(store, make_subscription("team", queries=("perf",)))
    later = NOW + timedelta(hours=5)
    ids = subscribe(store, make_subscription("team", queries=("gpu", "perf")), at=later)
    with store.read() as conn:
        found = load_wordings(conn, ids["team"])
    assert [(one.name, one.since, one.until) for one in found] == [("gpu", later, None), ("perf", NOW, None)]
