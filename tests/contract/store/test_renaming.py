from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from digest.errors import ConfigurationError
from digest.store import subscribers
from digest.store.queries import SyncReport, sync_queries
from digest.store.renaming import NotRenamed, foresee_renaming
from digest.store.schema import subscriptions, suppressions
from digest.store.subscriptions import load_subscriptions
from digest.store.syncing import sync_subscriptions
from digest.subscriptions import Origin
from tests.contract.store.made import DAY, MAIL, NOW, SLACK, AlwaysDue, make_subscription

if TYPE_CHECKING:
    from digest.store import Store
    from digest.subscriptions import Subscription


def sync(store: Store, *wanted: Subscription, at_day: int = 0, origin: str = Origin.FILE) -> SyncReport:
    at = NOW + at_day * DAY
    with store.begin() as conn:
        sync_queries(conn, {"perf": ("perf", "perf", "")}, origin, at)
        return sync_subscriptions(conn, wanted, origin, at, AlwaysDue(at + DAY))


def link_names(store: Store) -> dict[str, tuple[int, str]]:
    """Return each subscription's key and what its new addresses are made from, by name."""
    with store.read() as conn:
        stored = load_subscriptions(conn, include_ended=True)
    return {due.subscription.name: (due.id, due.link_name or due.subscription.name) for due in stored}


def departures(store: Store) -> set[str]:
    with store.read() as conn:
        return set(conn.execute(select(suppressions.c.subscription)).scalars())


def test_addresses_stay_with_a_renamed_subscription_and_who_takes_its_name_gets_others(store: Store) -> None:
    sync(store, make_subscription())
    sync(store, make_subscription("crew", was="team"))
    sync(store, make_subscription("crew"), make_subscription())
    found = link_names(store)
    assert found["crew"][1] == "team"
    assert found["team"][1] == f"team#{found['team'][0]}"
    sync(store, make_subscription("crew"), make_subscription("third", was="team"))
    assert link_names(store)["third"] == found["team"]
    sync(store, make_subscription("crew"), make_subscription("third"), make_subscription())
    assert len({link_name for _, link_name in link_names(store).values()}) == 3


def test_a_subscription_that_is_called_as_before_again_has_its_addresses(store: Store) -> None:
    sync(store, make_subscription())
    sync(store, make_subscription("crew", was="team"))
    sync(store, make_subscription(was="crew"))
    assert [link_name for _, link_name in link_names(store).values()] == ["team"]


def test_the_name_of_a_subscription_that_has_ended_is_free_for_one_that_is_renamed(store: Store) -> None:
    sync(store, make_subscription(), make_subscription("gpu", destinations=(SLACK,)))
    with store.begin() as conn:
        subscribers.leave(conn, MAIL, "team", how="one-click", at=NOW)
        subscribers.leave(conn, SLACK, "gpu", how="operator", at=NOW)
    before = link_names(store)
    sync(store, make_subscription(), at_day=1)
    renamed = make_subscription("gpu", was="team", destinations=(MAIL, SLACK))
    assert sync(store, renamed, at_day=2) == SyncReport(edited=("gpu",), renamed=(("team", "gpu"),))
    assert link_names(store) == {"gpu": before["team"], "gpu (ended 2026-11-20)": before["gpu"]}
    assert departures(store) == {"gpu", "gpu (ended 2026-11-20)"}
    with store.read() as conn:
        (found,) = load_subscriptions(conn)
        assert subscribers.load_departures(conn, MAIL) == {"gpu"}
    assert found.subscription.destinations == (SLACK,)
    assert sync(store, renamed, at_day=2) == SyncReport()


def test_subscriptions_of_one_name_that_ended_on_one_day_are_told_apart(store: Store) -> None:
    for before in ("a", "b"):
        sync(store, make_subscription(before), make_subscription("gpu"))
        sync(store, make_subscription(before))
        sync(store, make_subscription("gpu", was=before))
    first, second, last = sorted(link_names(store), key=len)
    assert (first, second) == ("gpu", "gpu (ended 2026-11-19)")
    assert last.startswith("gpu (ended 2026-11-19, no. ")


def test_was_beside_a_name_that_lives_renames_nothing_and_says_the_way(store: Store) -> None:
    sync(store, make_subscription())
    sync(store, make_subscription("crew"))
    report = sync(store, make_subscription("crew", was="team"))
    assert report == SyncReport(not_renamed=(NotRenamed("team", "crew", has_both=True),))
    assert report.not_renamed[0].describe() == (
        'was = "team" renames nothing, since crew is there beside team already: leave `was` out, or call it team'
        " again for one run, and crew with `was` for the next"
    )
    team = link_names(store)["team"]
    sync(store, make_subscription())
    assert sync(store, make_subscription("crew", was="team")).not_renamed == ()
    assert link_names(store)["crew"] == team


def test_a_chain_of_names_moves_as_one_and_only_once(store: Store) -> None:
    sync(store, *(make_subscription(name) for name in "abc"))
    with store.begin() as conn:
        subscribers.leave(conn, MAIL, "a", how="one-click", at=NOW)
        subscribers.leave(conn, SLACK, "c", how="operator", at=NOW)
    before = link_names(store)
    chain = (make_subscription("b", was="a"), make_subscription("c", was="b"), make_subscription("d", was="c"))
    assert sync(store, *chain).renamed == (("c", "d"), ("b", "c"), ("a", "b"))
    assert link_names(store) == {"b": before["a"], "c": before["b"], "d": before["c"]}
    with store.read() as conn:
        assert subscribers.load_departures(conn, MAIL) == {"b"}
        assert subscribers.load_departures(conn, SLACK) == {"d"}
    assert sync(store, *chain) == SyncReport()
    sync(store, *chain[:2])
    assert sync(store, *chain[:2]) == SyncReport()
    assert link_names(store)["c"] == before["b"]


def test_a_name_that_is_not_given_up_is_not_taken_and_nothing_is_lost(store: Store) -> None:
    sync(store, make_subscription("b"))
    stale = (make_subscription("b", was="a"), make_subscription("c", was="b"))
    with store.read() as conn:
        foreseen = foresee_renaming(conn, stale, Origin.FILE)
    assert (foreseen.renamed, foreseen.refused) == ((), (("b", "c"),))
    with pytest.raises(ConfigurationError, match="another subscription is called b still"):
        sync(store, *stale)
    assert set(link_names(store)) == {"b"}


def test_a_chain_that_ends_at_a_name_that_lives_renames_nothing(store: Store) -> None:
    sync(store, *(make_subscription(name) for name in "abc"))
    report = sync(store, make_subscription("b", was="a"), make_subscription("c", was="b"))
    assert report.not_renamed == (NotRenamed("a", "b", has_both=True, goes_on=True),)
    assert report.ended == (), "which of them is meant is for the operator to say"
    assert report.not_renamed[0].describe().endswith("; until then a goes on as it was")
    assert sync(store, make_subscription("b"), make_subscription("c")).ended == ("a",)


def test_was_with_a_name_that_there_never_was_is_pointed_out_once(store: Store) -> None:
    sync(store, make_subscription())
    report = sync(store, make_subscription("crew", was="taem"))
    assert [one.describe() for one in report.not_renamed] == [
        'was = "taem" renames nothing, since there is no taem that could be crew'
    ]
    assert sync(store, make_subscription("crew", was="taem")).not_renamed == ()


def test_a_name_that_people_took_for_themselves_is_not_taken_by_renaming(store: Store) -> None:
    sync(store, make_subscription("own"), origin=Origin.STORE)
    sync(store, make_subscription())
    with store.begin() as conn:
        conn.execute(update(subscriptions).where(subscriptions.c.name == "own").values(state="ended"))
    with pytest.raises(ConfigurationError, match="the name own"):
        sync(store, make_subscription("own", was="team"))
