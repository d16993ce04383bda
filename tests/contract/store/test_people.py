"""People who subscribe by themselves: limits, letters, confirming, coming back, and what is left of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from digest.config import load_config
from digest.deliver import people
from digest.deliver.letters import ALL, letter_token, queue_letters, take_request
from digest.deliver.people import Preferences
from digest.deliver.unsubscribe import leave_by_link
from digest.model import secrets
from digest.model.clock import ManualClock
from digest.model.errors import UnknownName, UsageError
from digest.model.people import LETTERS_TO_ADDRESS, MOST_QUERIES, REQUESTS, REQUESTS_OF_NETWORK, Ask, Wish
from digest.model.subscriptions import EVERYTHING, Destination
from digest.plan.links import LinkMaker, make_links
from digest.poll.installation import Site
from digest.serve.configuration import sync_roster
from digest.serve.installation import open_site
from digest.store import Store, subscribers
from digest.store import people as people_store
from digest.store import signups as signup_store
from digest.store.database import load_violations, make_token_row, remember_tokens
from digest.store.dialect import metadata
from digest.store.schema import deliveries, digests, query_revisions, request_counts, signups, subscriptions
from digest.store.subscriptions import load_subscriptions
from tests.fakes.config_file import write_config

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ADA = "ada@example.org"
QUERIES = Wish(cadence="daily at 06:00 Europe/Berlin").add_query("tail latency").add_query("cat:cs.PF")
TEAM = {"name": "team", "queries": "perf", "to": "mailto:team@example.org", "offered": True}
OTHER = {"name": "other", "queries": "perf", "to": "mailto:ada@example.org"}


@dataclass
class Office:
    """An installation where anybody may subscribe; nothing is sent."""

    folder: Path
    url: str
    clock: ManualClock
    site: Site

    @property
    def now(self) -> datetime:
        return self.clock.now()

    @property
    def maker(self) -> LinkMaker:
        with self.site.store.read() as conn:
            return make_links(conn, self.site.config)

    def reopen(self, *files: dict[str, object]) -> None:
        """Close it, and open it with another file; what that says is taken over."""
        self.site.close()
        self.site = open_office(self.folder, self.url, self.clock, files)
        sync_roster(self.site)

    def ask(
        self, wish: Wish = QUERIES, ask: Ask = Ask.SUBSCRIBE, *, to: str = ADA, of: str = ""
    ) -> datetime | None:
        with self.site.store.begin() as conn:
            return take_request(conn, self.maker, ask, to, wish, network=of, at=self.now)

    def confirm(self, *, to: str = ADA) -> Preferences | None:
        """Press the button of the newest letter to an address; None where its link is over."""
        with self.site.store.begin() as conn:
            newest = select(signups.c.token).where(signups.c.address == to).order_by(signups.c.id.desc()).limit(1)
            hashed = conn.execute(newest).scalar() or ""
            found = signup_store.load_signup(conn, hashed, None, self.now)
            return found and people.confirm(conn, self.site.config, self.maker, found, at=self.now)

    def subscribe(self, wish: Wish = QUERIES, *, to: str = ADA) -> Preferences:
        self.ask(wish, to=to)
        queue_letters(self.site)
        found = self.confirm(to=to)
        assert found is not None
        return found

    def leave(self, name: str) -> None:
        with self.site.store.begin() as conn:
            subscribers.leave(conn, mail(ADA), name, how="page", at=self.now)

    def readers(self, name: str) -> list[str]:
        with self.site.store.read() as conn:
            found = load_subscriptions(conn, names=[name])
        return [place.address for due in found for place in due.subscription.destinations]

    def letters(self) -> list[str]:
        with self.site.store.read() as conn:
            sent = select(deliveries.c.destination).join(digests, digests.c.id == deliveries.c.digest_id)
            found = sent.where(digests.c.occasion == "letter").order_by(deliveries.c.id)
            return [place.removeprefix("mailto:") for place in conn.execute(found).scalars()]

    def dump(self) -> str:
        with self.site.store.read() as conn:
            rows = {table.name: conn.execute(select(table)).all() for table in metadata.sorted_tables}
        return json.dumps(rows, default=str)


def mail(address: str) -> Destination:
    return Destination.parse(f"mailto:{address}")


def open_office(folder: Path, url: str, clock: ManualClock, files: tuple[dict[str, object], ...]) -> Site:
    web = {"base_url": "https://digest.example.org", "signup": "open"}
    text = write_config("http://127.0.0.1:9", {"perf": "cat:cs.PF"}, files, web=web, store={"url": url})
    (folder / "digest.toml").write_text(text, encoding="utf-8")
    return open_site(load_config(folder / "digest.toml", {}), clock, owner="test", jitter=lambda: 0.5)


@pytest.fixture
def office(url: str, tmp_path: Path) -> Iterator[Office]:
    clock = ManualClock(NOW)
    office = Office(tmp_path, url, clock, open_office(tmp_path, url, clock, (TEAM,)))
    sync_roster(office.site)
    yield office
    with office.site.store.read() as conn:
        assert load_violations(conn) == []
    office.site.close()


MOMENTS = st.lists(st.integers(0, 70 * 24 * 60), min_size=1, max_size=60).map(sorted)


@given(MOMENTS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_address_ever_gets_more_letters_than_the_limits_say(store: Store, minutes: list[int]) -> None:
    passed: list[datetime] = []
    with store.begin() as conn:
        conn.execute(delete(request_counts))
        for minute in minutes:
            now = NOW + timedelta(minutes=minute)
            free = [signup_store.find_free(conn, "x", limit, now) for limit in LETTERS_TO_ADDRESS]
            for limit, free_at in zip(LETTERS_TO_ADDRESS, free, strict=True):
                if free_at is not None:
                    assert free_at > now
                    assert signup_store.find_free(conn, "x", limit, free_at) is None
                    assert signup_store.find_free(conn, "x", limit, free_at - timedelta(seconds=1))
            if free == [None, None]:
                signup_store.count_request(conn, "x", now)
                passed.append(now)
    for limit in LETTERS_TO_ADDRESS:
        assert all(sum(one <= other < one + limit.span for other in passed) <= limit.most for one in passed)


def test_a_network_and_all_of_them_are_limited_across_a_restart_and_an_hours_end(office: Office) -> None:
    office.clock.set(NOW.replace(minute=59))
    assert [office.ask(of="a") for _ in range(REQUESTS_OF_NETWORK.most)] == [None] * REQUESTS_OF_NETWORK.most
    free_at = NOW.replace(hour=11, minute=0)
    assert office.ask(of="a") == free_at
    office.reopen(TEAM)
    office.clock.set(NOW.replace(hour=10, minute=1))
    assert office.ask(of="a") == free_at
    with office.site.store.begin() as conn:
        for _ in range(REQUESTS.most - REQUESTS_OF_NETWORK.most - 1):
            signup_store.count_request(conn, ALL, office.now)
    assert office.ask(of="b") is None
    office.clock.set(free_at - timedelta(seconds=1))
    assert office.ask(of="b") == free_at
    with office.site.store.read() as conn:
        assert signup_store.is_refusing(conn, office.now)
        assert not signup_store.is_refusing(conn, office.now + 2 * HOUR)
    office.clock.set(free_at)
    assert office.ask(of="a") is None
    assert "a" not in {row[0] for row in json.loads(office.dump())["request_counts"]}, (
        "a network is known by a hash"
    )


def in_threads(number: int, step: Callable[[], Any]) -> list[Any]:
    """Do the same in several threads at once; return what each brought, an error among it."""
    start, found = threading.Barrier(number), list[Any]()

    def run() -> None:
        start.wait(20)
        try:
            found.append(step())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_requests_at_once_pass_no_limit(office: Office) -> None:
    found = in_threads(8, lambda: [office.ask(of="a") for _ in range(4)])
    assert sorted(len(one) for one in found) == [4] * 8
    assert [free_at for one in found for free_at in one].count(None) == REQUESTS_OF_NETWORK.most


def test_an_address_gets_three_letters_a_day_and_no_more_whoever_asks(office: Office) -> None:
    for number in range(10):
        office.ask(of=str(number))
    assert [queue_letters(office.site), queue_letters(office.site)] == [3, 0]
    assert office.letters() == [ADA] * 3
    for _ in range(2):
        office.clock.sleep(25 * 3600)
        for number in range(5):
            office.ask(of=str(number))
        queue_letters(office.site)
    assert len(office.letters()) == 6


def test_who_has_nothing_gets_no_link_and_both_are_the_same_row(office: Office) -> None:
    office.subscribe()
    for address in (ADA, "nobody@example.org"):
        office.ask(Wish(), Ask.LINK, to=address)
    with office.site.store.read() as conn:
        rows = conn.execute(select(signups.c.ask, signups.c.wish, signups.c.state, signups.c.token)).all()
    assert len(set(rows)) == 1
    assert queue_letters(office.site) == 1
    assert office.letters() == [ADA, ADA]


def test_what_nobody_confirmed_is_gone_after_48_hours(office: Office) -> None:
    office.ask()
    queue_letters(office.site)
    office.clock.sleep(48 * 3600 - 1)
    with office.site.store.begin() as conn:
        assert signup_store.delete_expired_signups(conn, office.now) == 0
    assert ADA in office.dump()
    office.clock.sleep(1)
    assert office.confirm() is None
    with office.site.store.begin() as conn:
        assert signup_store.delete_expired_signups(conn, office.now) == 1
    assert ADA not in office.dump()


def test_a_link_opens_no_later_request_that_has_the_same_number(office: Office) -> None:
    tokens = []
    for address in (ADA, "bo@example.org"):
        office.ask(to=address)
        queue_letters(office.site)
        with office.site.store.begin() as conn:
            slot = conn.execute(select(digests.c.slot).order_by(digests.c.id.desc()).limit(1)).scalar_one()
            tokens.append(letter_token(office.maker, slot, mail(address)))
            assert conn.execute(select(signups.c.token)).scalar() == secrets.token_hash(tokens[-1])
            conn.execute(delete(signups))
        office.clock.sleep(1)
    assert tokens[0] != tokens[1]


def test_two_presses_at_once_make_one_subscription(office: Office) -> None:
    office.ask()
    queue_letters(office.site)
    found = in_threads(4, office.confirm)
    assert len([one for one in found if isinstance(one, Preferences)]) == 1
    assert found.count(None) == 3
    with office.site.store.read() as conn:
        assert (
            len(conn.execute(select(subscriptions).where(subscriptions.c.subscriber_id.is_not(None))).all()) == 1
        )


def test_two_requests_confirmed_at_once_both_count(office: Office) -> None:
    tokens = []
    for text in ("tail latency", "cat:cs.DC"):
        office.ask(Wish().add_query(text))
    queue_letters(office.site)
    with office.site.store.read() as conn:
        tokens = list(conn.execute(select(signups.c.token)).scalars())

    def press() -> None:
        with office.site.store.begin() as conn:
            found = signup_store.load_signup(conn, tokens.pop(), None, office.now)
            assert found is not None
            people.confirm(conn, office.site.config, office.maker, found, at=office.now)

    assert in_threads(2, press) == [None, None]
    with office.site.store.read() as conn:
        found = people.load_preferences(conn, ADA)
    assert found is not None
    assert sorted(query.text for query in found.wish.queries) == ["cat:cs.DC", "tail latency"]


def test_more_is_added_to_what_somebody_has_up_to_ten_and_times_stay(office: Office) -> None:
    office.subscribe()
    more = Wish(cadence="on announcement", has_feed=True).add_query("tail  latency").add_query("cat:cs.DC")
    found = office.subscribe(more)
    assert [query.text for query in found.wish.queries] == ["tail latency", "cat:cs.PF", "cat:cs.DC"]
    assert (found.wish.cadence, found.wish.has_feed) == ("daily at 06:00 Europe/Berlin", True)
    many = Wish()
    for number in range(MOST_QUERIES):
        many = many.add_query(f"word{number}")
    office.ask(many)
    queue_letters(office.site)
    with pytest.raises(UsageError, match="nobody may have more"):
        office.confirm()
    with office.site.store.read() as conn:
        assert people.load_preferences(conn, ADA) == found
        assert len(conn.execute(select(signups)).all()) == 1, "its link still works"


def test_who_left_everything_gets_back_only_what_they_ask_for(office: Office) -> None:
    office.reopen(TEAM, OTHER)
    own = office.subscribe(replace(QUERIES, joins=("team",)))
    name = own.memberships[0].name
    office.leave(EVERYTHING)
    assert [office.readers(one) for one in (name, "team", "other")] == [[], ["team@example.org"], []]
    found = office.subscribe(Wish(joins=("team",)))
    assert [one.name for one in found.memberships if one.left_at is None] == ["team"]
    office.clock.sleep(DAY.total_seconds())
    found = office.subscribe(
        Wish(cadence="mondays at 09:00 Europe/Berlin").add_query("cat:cs.PF").add_query("gpu")
    )
    assert [(query.text, query.is_on) for query in found.wish.queries] == [
        ("tail latency", False),
        ("cat:cs.PF", True),
        ("gpu", True),
    ]
    assert found.wish.cadence == "mondays at 09:00 Europe/Berlin", "what was left begins anew"
    sync_roster(office.site)
    assert [office.readers(one) for one in (name, "other")] == [[ADA], []]


def test_what_was_joined_stays_through_edits_of_the_file_and_ends_with_it(office: Office) -> None:
    office.subscribe(Wish(joins=("team",)))
    assert office.readers("team") == ["team@example.org", ADA]
    office.reopen({**TEAM, "to": "mailto:others@example.org", "offered": False})
    assert office.readers("team") == ["others@example.org", ADA]
    office.reopen()
    assert office.readers("team") == []
    office.reopen(TEAM)
    assert office.readers("team") == ["team@example.org", ADA]


def test_what_is_not_offered_any_more_is_left_out_and_alone_refused(office: Office) -> None:
    for wish in (Wish(joins=("team",)), replace(QUERIES, joins=("team",))):
        office.ask(wish)
    queue_letters(office.site)
    office.reopen({**TEAM, "offered": False})
    found = office.confirm()
    assert found is not None
    assert [len(found.wish.queries), found.wish.joins] == [2, ()]
    with pytest.raises(UnknownName, match="not offered any more"):
        office.confirm()


def test_this_was_not_me_holds_for_good_and_only_for_letters(office: Office) -> None:
    office.subscribe()
    office.ask()
    queue_letters(office.site)
    with office.site.store.begin() as conn:
        hashed = conn.execute(select(signups.c.token)).scalar_one()
        found = signup_store.load_signup(conn, hashed, None, office.now)
        assert found is not None
        people.refuse_letters(conn, found, at=office.now)
    for ask in Ask:
        office.ask(ask=ask)
    office.clock.sleep(DAY.total_seconds())
    assert queue_letters(office.site) == 0
    with office.site.store.read() as conn:
        preferences = people.load_preferences(conn, ADA)
    assert preferences is not None
    assert preferences.memberships[0].left_at is None


def test_the_link_in_an_old_mail_still_unsubscribes_who_moved(office: Office) -> None:
    name = office.subscribe().memberships[0].name
    maker, bo = office.maker, "bo@example.org"
    hashed = secrets.token_hash(maker.leave_token(mail(ADA), name))
    with office.site.store.begin() as conn:
        remember_tokens(
            conn, [make_token_row(hashed, "leave", destination=f"mailto:{ADA}", subscription=name)], at=NOW
        )
    office.ask(Wish(old_address=ADA), Ask.MOVE, to=bo)
    queue_letters(office.site)
    assert office.confirm(to=bo) is not None
    assert office.readers(name) == [bo]
    with office.site.store.begin() as conn:
        leave_by_link(conn, maker.leave_token(mail(ADA), name), how="one-click", at=office.now)
    assert office.readers(name) == []


@pytest.mark.parametrize("files", [(TEAM,), (TEAM, OTHER)])
def test_of_whom_is_erased_nothing_is_left_but_that_they_left_what_the_file_names(
    office: Office, files: tuple[dict[str, object], ...]
) -> None:
    office.reopen(*files)
    first = office.subscribe(replace(QUERIES, joins=("team",), has_feed=True)).memberships[0].name
    office.ask()
    queue_letters(office.site)
    with office.site.store.begin() as conn:
        stored = people.export(conn, ADA)
        assert stored is not None
        filled = {table for table, rows in stored["stored"].items() if rows}
        assert {"subscribers", "consents", "saved_queries", "signups", "deliveries"} <= filled
        assert people.erase(conn, office.site.config, ADA, at=office.now) is (OTHER in files)
    assert office.dump().count(ADA) == (2 if OTHER in files else 0), "a place of the file's, and that it was left"
    sync_roster(office.site)
    assert office.readers("other") == []
    with office.site.store.begin() as conn, pytest.raises(UnknownName):
        people.erase(conn, office.site.config, "nobody@example.org", at=office.now)
    office.clock.sleep(1)
    assert office.subscribe(to="bo@example.org").memberships[0].name != first, "no link of theirs opens another's"


def test_of_a_request_without_a_person_everything_is_known_and_erased(office: Office) -> None:
    office.ask()
    queue_letters(office.site)
    with office.site.store.begin() as conn:
        stored = people.export(conn, ADA)
        assert stored is not None
        assert {table for table, rows in stored["stored"].items() if rows} == {"signups", "deliveries"}
        people.erase(conn, office.site.config, ADA, at=office.now)
    assert ADA not in office.dump()


def test_saved_queries_of_one_name_are_kept_apart(office: Office) -> None:
    office.subscribe(Wish().add_query("perf"))
    with office.site.store.read() as conn:
        person = people_store.load_person(conn, ADA)
        assert person is not None
        assert [query.name for query in people_store.load_own_queries(conn, person)] == ["perf"]
        texts = conn.execute(select(query_revisions.c.text)).scalars().all()
    assert sorted(texts) == ["cat:cs.PF", "perf"]
