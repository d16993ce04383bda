from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from digest.model.announcements import Kind
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import Destination, DestinationKind
from digest.model.errors import ConfigurationError
from digest.model.messages import DeliveryState
from digest.model.papers import ArxivId
from digest.model.said import Said
from digest.model.subscriptions import (
    EVERYTHING,
    FILE,
    Abstracts,
    DueSubscription,
    Grouping,
    Subscription,
    WhenEmpty,
)
from digest.people.unsubscription import ONE_CLICK
from digest.store import Store, attempts, matches, outbox, queries, subscribers, subscriptions
from digest.store.queries import SyncReport
from digest.store.subscribers import DroppedMatches
from digest.store.sync import sync_subscriptions
from tests.contract.store.made import (
    DAY,
    FEED,
    MAIL,
    MORNING,
    NOW,
    SLACK,
    AlwaysDue,
    make_message,
    make_paper,
    make_subscription,
    states,
    store_digest,
    store_match,
    store_papers,
    subscribe,
)

OTHER = Destination(DestinationKind.MAIL, "other@example.org")


def sync(store: Store, *wanted: Subscription, at_day: int = 0, origin: str = FILE) -> SyncReport:
    at = NOW + at_day * DAY
    names: set[str] = set()
    for subscription in wanted:
        names.update(subscription.queries)
    texts = {name: (name, name, "") for name in sorted(names)}
    with store.begin() as conn:
        queries.sync(conn, texts, origin, at)
        return sync_subscriptions(conn, wanted, origin, at, AlwaysDue(at + DAY))


def load(store: Store, name: str = "team") -> DueSubscription:
    with store.read() as conn:
        (found,) = subscriptions.load(conn, names=[name], include_ended=True)
        return found


def test_a_subscription_comes_back_as_it_was_written(store: Store) -> None:
    written = make_subscription(
        queries=("perf", "gpu"),
        destinations=(SLACK, MAIL, FEED),
        cadence=Cadence.parse("mondays and thursdays at 07:30 Europe/Berlin"),
        kinds=(Kind.NEW, Kind.WITHDRAWAL),
        when_empty=WhenEmpty.ALWAYS,
        show=None,
        abstracts=Abstracts.FULL,
        look_back=3,
        title="The team's papers",
        exclude=("cat:math.CO", 'author:"Keiko Lindquell"'),
        exclude_papers=(ArxivId.parse("2611.14886"), ArxivId.parse("hep-th/9901001")),
        quiet_hours=QuietHours.parse("22:00-07:00 Europe/Berlin"),
        group_by=Grouping.QUERY,
    )
    assert sync(store, written) == SyncReport(added=("team",))
    found = load(store)
    assert found.subscription == written
    assert [revision.name for revision in found.revisions] == ["perf", "gpu"]
    assert found.state == "active"
    assert found.created_at == NOW
    assert found.last_slot == ""
    assert found.next_due_at == NOW + DAY


def test_what_is_excluded_can_be_edited(store: Store) -> None:
    sync(store, make_subscription(exclude=("cat:math.CO",)))
    assert sync(store, make_subscription()) == SyncReport(edited=("team",))
    assert load(store).subscription.exclude == ()


def test_reading_the_same_file_twice_changes_nothing(store: Store) -> None:
    written = make_subscription(destinations=(SLACK, MAIL, FEED), queries=("perf", "gpu"))
    sync(store, written)
    before = load(store)
    assert sync(store, written, at_day=1) == SyncReport()
    assert load(store) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Another title"},
        {"kinds": (Kind.REPLACEMENT,)},
        {"show": None, "abstracts": Abstracts.NONE},
        {"group_by": Grouping.QUERY},
        {"when_empty": WhenEmpty.NOTE},
        {"queries": ("gpu", "perf")},
        {"queries": ("gpu",)},
        {"destinations": (SLACK, MAIL)},
        {"destinations": (MAIL, SLACK, OTHER)},
    ],
)
def test_an_edit_is_taken_over_and_does_not_move_the_next_turn(
    store: Store, changes: dict[str, Any]
) -> None:
    written = make_subscription(queries=("perf", "gpu"), destinations=(MAIL, SLACK))
    sync(store, written)
    edited = replace(written, **changes)
    assert sync(store, edited, at_day=1).edited == ("team",)
    found = load(store)
    assert found.subscription == edited
    assert found.next_due_at == NOW + DAY


def test_another_cadence_moves_the_next_turn(store: Store) -> None:
    sync(store, make_subscription(), at_day=3)
    at_nine = Cadence.parse("daily at 09:00 UTC")
    sync(store, make_subscription(cadence=at_nine), at_day=2)
    assert load(store).next_due_at == NOW + 3 * DAY


@pytest.mark.parametrize(
    "cadence", ["daily at 09:00 UTC", "daily at 08:00 UTC, at the latest 08:10", "at once"]
)
def test_a_turn_that_has_come_stays_due_whatever_the_file_says_of_those_to_come(
    store: Store, cadence: str
) -> None:
    sync(store, make_subscription())
    night = QuietHours.parse("22:00-07:00 UTC")
    edited = make_subscription(cadence=Cadence.parse(cadence), quiet_hours=night)
    assert sync(store, edited, at_day=1).edited == ("team",)
    assert load(store).next_due_at == NOW + DAY


def test_other_quiet_hours_move_the_same_turn(store: Store) -> None:
    sync(store, make_subscription())
    night = QuietHours.parse("22:00-09:00")
    sync(store, make_subscription(quiet_hours=night), at_day=0)
    assert load(store).next_due_at == NOW + DAY + timedelta(hours=1)


def test_a_feed_alone_has_no_next_turn(store: Store) -> None:
    file = Destination(DestinationKind.FILE, "x.atom")
    sync(store, make_subscription(destinations=(FEED, file)))
    assert load(store).next_due_at is None


def test_a_subscription_the_file_names_no_more_ends_and_what_waits_is_suppressed(
    store: Store,
) -> None:
    store_digest(store, MAIL, SLACK)
    dropped = DroppedMatches("team", "", messages=2)
    gone = SyncReport(added=("other",), ended=("team",), dropped=(dropped,))
    assert sync(store, make_subscription("other")) == gone
    assert states(store) == [DeliveryState.SUPPRESSED] * 2
    ended = load(store)
    assert ended.state == "ended"
    assert ended.next_due_at is None
    assert sync(store, make_subscription("other")) == SyncReport()


class NextDay(AlwaysDue):
    """A schedule by which everything is due a day after the moment that is asked about."""

    def next_due(
        self, subscription: Subscription, now: datetime, taken: str, paused_until: datetime | None
    ) -> datetime:
        del subscription, taken, paused_until
        return now + DAY


def return_after(store: Store, gap: timedelta) -> DueSubscription:
    """Let the file name the subscription `team` again that it stopped to name at `NOW`."""
    at = NOW + gap
    wanted = make_subscription(destinations=(MAIL, SLACK))
    with store.begin() as conn:
        queries.sync(conn, {"perf": ("all:perf", "all:perf", "")}, FILE, at)
        report = sync_subscriptions(conn, [wanted], FILE, at, NextDay(NOW))
    assert report.added == ("team",)
    return load(store)


def test_a_subscription_that_returns_within_a_week_goes_on_as_if_it_had_never_been_missing(
    store: Store,
) -> None:
    planned = store_digest(store, MAIL, SLACK)
    first, second = store_papers(store, [make_paper(7), make_paper(8)])
    store_match(store, {planned.subscription_id: (first.id,)})
    before = load(store)
    sync(store)
    with store.read() as conn:
        (away,) = subscriptions.load(conn, ended_since=NOW)
    assert [one.name for one in away.revisions] == ["perf"], "what is found meanwhile is matched"
    store_match(store, {planned.subscription_id: (second.id,)})
    found = return_after(store, timedelta(days=7))
    assert found.id == before.id
    assert found.state == "active"
    assert found.plan_after == before.plan_after
    assert found.next_due_at == NOW + timedelta(days=7), "a turn that came meanwhile is due"
    assert states(store) == [DeliveryState.READY] * 2
    with store.read() as conn:
        pending = matches.load_pending(conn, found.id, found.plan_after)
    assert [row.changes for row in pending] == [(first.id,), (second.id,)]


def test_a_subscription_that_returns_later_begins_anew(store: Store) -> None:
    planned = store_digest(store, MAIL, SLACK)
    (change,) = store_papers(store, [make_paper(7)])
    run_id = store_match(store, {planned.subscription_id: (change.id,)})
    let_go = DroppedMatches("team", "", messages=2, papers=1)
    assert sync(store, make_subscription("other")).dropped == (let_go,)
    gap = timedelta(days=7, seconds=1)
    found = return_after(store, gap)
    assert found.id == planned.subscription_id
    assert found.state == "active"
    assert found.plan_after == run_id
    assert found.next_due_at == NOW + gap + DAY
    assert found.created_at == NOW
    assert states(store) == [DeliveryState.SUPPRESSED] * 2


def test_what_may_have_arrived_before_a_subscription_ended_is_not_sent_when_it_returns(
    store: Store,
) -> None:
    store_digest(store, MAIL, SLACK)
    with store.begin() as conn:
        mail, post = outbox.claim(conn, owner="me", limit=9, now=MORNING)
        attempts.begin(conn, mail, make_message(), MORNING)
        attempts.mark_unsent(conn, mail, DeliveryState.UNKNOWN, Said.plain("no answer"), MORNING)
        attempts.settle_unknown(
            conn, mail, DeliveryState.HELD, Said.plain("nobody can tell"), MORNING, is_missing=False
        )
        attempts.begin(conn, post, make_message(), MORNING)
        attempts.mark_unsent(
            conn,
            post,
            DeliveryState.READY,
            Said.plain("try later"),
            MORNING,
            not_before=MORNING + DAY,
        )
    sync(store)
    assert states(store) == [DeliveryState.SUPPRESSED] * 2
    return_after(store, DAY)
    assert states(store) == [DeliveryState.SUPPRESSED, DeliveryState.READY]


def test_a_message_to_a_place_that_is_named_no_more_is_not_sent_when_the_subscription_returns(
    store: Store,
) -> None:
    store_digest(store, MAIL, OTHER)
    sync(store)
    return_after(store, DAY)
    assert states(store) == [DeliveryState.READY, DeliveryState.SUPPRESSED]


def test_a_subscription_that_comes_back_to_nobody_has_no_next_turn(store: Store) -> None:
    subscribe(store, make_subscription())
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "team", how=ONE_CLICK, at=NOW)
    sync(store)
    assert sync(store, make_subscription()).added == ("team",)
    assert load(store).next_due_at is None


def test_a_destination_somebody_left_stays_left_whatever_the_file_says(store: Store) -> None:
    subscribe(store, make_subscription(destinations=(MAIL, SLACK)))
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, "team", how=ONE_CLICK, at=NOW)
    sync(store, make_subscription(destinations=(SLACK,)))
    sync(store, make_subscription(destinations=(MAIL, SLACK)))
    assert load(store).subscription.destinations == (SLACK,)


def test_who_left_everything_is_not_written_to_by_a_subscription_that_names_them_anew(
    store: Store,
) -> None:
    subscribe(store, make_subscription(destinations=(SLACK,)), make_subscription("other"))
    with store.begin() as conn:
        subscribers.save_unsubscription(conn, MAIL, EVERYTHING, how=ONE_CLICK, at=NOW)
    names = ("team", "other", "new")
    wanted = [make_subscription(name, destinations=(MAIL, SLACK)) for name in names]
    sync(store, *wanted)
    for name in names:
        assert load(store, name).subscription.destinations == (SLACK,)


def test_a_destination_taken_from_the_file_gets_nothing_more_until_it_is_named_again(
    store: Store,
) -> None:
    store_digest(store, MAIL, SLACK)
    report = sync(store, make_subscription(destinations=(SLACK,)))
    dropped = DroppedMatches("team", str(MAIL), messages=1)
    assert report == SyncReport(edited=("team",), dropped=(dropped,))
    assert states(store) == [DeliveryState.SUPPRESSED, DeliveryState.READY]
    assert load(store).subscription.destinations == (SLACK,)
    sync(store, make_subscription(destinations=(SLACK, MAIL)))
    assert load(store).subscription.destinations == (SLACK, MAIL)


def test_mail_added_to_a_feed_brings_only_what_is_matched_from_then_on(store: Store) -> None:
    ids = subscribe(store, make_subscription(destinations=(FEED,)))
    (change,) = store_papers(store, [make_paper()])
    run_id = store_match(store, {ids["team"]: (change.id,)})
    sync(store, make_subscription(destinations=(FEED, MAIL)), at_day=1)
    found = load(store)
    assert found.plan_after == run_id
    assert found.next_due_at == NOW + 2 * DAY
    with store.read() as conn:
        assert matches.load_pending(conn, found.id, found.plan_after) == []
        in_feed = matches.load_for_feed(conn, found.id, span=DAY, at_least=1)
    assert len(in_feed) == 1


def list_first_digests(store: Store) -> list[tuple[str, str]]:
    with store.read() as conn:
        dues = subscriptions.load(conn)
        first_digests = matches.load_first_digests(conn)
    names = {due.id: due.subscription.name for due in dues}
    return [(names[one.subscription_id], one.revision.name) for one in first_digests]


def test_a_first_digest_is_for_all_that_a_subscription_follows_when_it_is_given(
    store: Store,
) -> None:
    team = make_subscription(queries=("perf",))
    calm = make_subscription("calm", look_back=0)
    subscribe(store, team, calm)
    assert list_first_digests(store) == [("team", "perf")]
    edited_team = make_subscription(queries=("gpu", "net"))
    edited_calm = make_subscription("calm", queries=("perf", "gpu"))
    subscribe(store, edited_team, edited_calm)
    assert list_first_digests(store) == [("team", "gpu"), ("team", "net")]


@pytest.mark.parametrize("queries", [("perf", "gpu"), ("gpu",), ("gpu", "net")])
def test_a_subscription_that_had_its_first_digest_gets_no_other(
    store: Store, queries: tuple[str, ...]
) -> None:
    ids = subscribe(store, make_subscription(look_back=5))
    with store.begin() as conn:
        (pending,) = matches.load_first_digests(conn)
        assert pending.subscription_id == ids["team"]
        assert pending.days == 5
        assert pending.revision.name == "perf"
        assert matches.close_first_digest(conn, ids["team"], 1)
    edited = make_subscription(look_back=5, queries=queries)
    new = make_subscription("new")
    subscribe(store, edited, new)
    assert list_first_digests(store) == [("new", "perf")]
    subscribe(store, new)
    subscribe(store, edited, new)
    assert list_first_digests(store) == [("new", "perf")], "nor when it returns"


def test_a_saved_query_that_there_is_not_is_named(store: Store) -> None:
    with (
        pytest.raises(ConfigurationError, match="team names a saved query perf"),
        store.begin() as conn,
    ):
        sync_subscriptions(conn, [make_subscription()], FILE, NOW, AlwaysDue(MORNING))


def test_a_name_that_people_took_for_themselves_is_not_taken_over(store: Store) -> None:
    sync(store, make_subscription(), origin="person:1")
    with pytest.raises(ConfigurationError, match="the name team"):
        sync(store, make_subscription(), origin=FILE)
    assert sync(store, origin=FILE) == SyncReport(), "and it does not end with the file"
