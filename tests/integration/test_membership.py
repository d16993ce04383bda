from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from digest.deliver import unsubscribe
from digest.deliver.unsubscribe import Departure
from digest.model import secrets
from digest.model.cadences import Cadence, CadenceKind
from digest.model.errors import UnknownName, UsageError
from digest.model.subscriptions import EVERYTHING, FILE, Destination, Subscription
from digest.store import Store, open_store
from digest.store import queries as query_store
from digest.store.database import TokenPurpose, make_token_row, remember_tokens
from digest.store.subscribers import confirm_by_operator, load_departures
from digest.store.subscriptions import load_subscriptions, sync_subscriptions
from tests.contract.store.made import AlwaysDue

NOW = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)
READER = Destination.parse("mailto:reader@example.org")
SECOND = Destination.parse("mailto:second@example.org")
TEAM = Subscription("team", ("perf",), (READER, SECOND), Cadence(CadenceKind.ANNOUNCEMENT), title="Performance")
OTHER = Subscription("other", ("perf",), (READER,), Cadence(CadenceKind.ANNOUNCEMENT))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = open_store(f"sqlite:///{tmp_path}/digest.db", create=True)
    sync(store)
    yield store
    store.close()


def sync(store: Store, subscriptions: tuple[Subscription, ...] = (TEAM, OTHER)) -> None:
    with store.begin() as conn:
        query_store.sync_queries(conn, {"perf": ("cat:cs.PF", "cat:cs.PF", "")}, FILE, NOW)
        sync_subscriptions(conn, subscriptions, FILE, NOW, AlwaysDue(NOW))
        for subscription in subscriptions:
            for destination in subscription.destinations:
                confirm_by_operator(conn, destination.address, subscription.name, NOW)


def written_to(store: Store, name: str) -> list[str]:
    with store.read() as conn:
        (due,) = load_subscriptions(conn, names=[name])
    return [destination.address for destination in due.subscription.destinations]


def leave(store: Store, subscription: str = "team", destination: Destination = READER) -> bool:
    with store.begin() as conn:
        return unsubscribe.leave(conn, destination, subscription, how="operator", at=NOW)


def resubscribe(store: Store, subscription: str = "team", destination: Destination = READER) -> tuple[str, ...]:
    with store.begin() as conn:
        return unsubscribe.resubscribe(conn, destination, subscription, how="operator", at=NOW)


def keep_token(store: Store) -> None:
    hashed = secrets.token_hash("secret")
    with store.begin() as conn:
        row = make_token_row(hashed, TokenPurpose.LEAVE, destination=str(READER), subscription="team")
        remember_tokens(conn, [row], at=NOW)


def test_a_subscription_nobody_knows_cannot_be_left(store: Store) -> None:
    with pytest.raises(UnknownName, match="there is no subscription teem"):
        leave(store, "teem")


def test_nobody_comes_back_who_never_left(store: Store) -> None:
    with pytest.raises(UsageError, match="has not unsubscribed from team"):
        resubscribe(store)


def test_a_leave_of_one_is_taken_back_after_that_of_everything(store: Store) -> None:
    leave(store)
    leave(store, EVERYTHING)
    with pytest.raises(UsageError, match="unsubscribed from everything, not only from team") as caught:
        resubscribe(store)
    assert "`digest subscription resubscribe team mailto:reader@example.org --everything`" in caught.value.hint
    with store.read() as conn:
        assert load_departures(conn, READER) == {EVERYTHING, "team"}


def test_a_link_names_what_it_ends_and_ends_it(store: Store) -> None:
    keep_token(store)
    with store.read() as conn:
        assert unsubscribe.find_departure(conn, "secret") == Departure(
            READER, "team", "Performance", has_left=False
        )
    with store.begin() as conn:
        assert unsubscribe.leave_by_link(conn, "secret", how="one-click", at=NOW)
        assert unsubscribe.leave_by_link(conn, "secret", how="one-click", at=NOW)
    assert written_to(store, "team") == ["second@example.org"]
