"""People who subscribe by themselves.

Limits, letters, confirming, coming back, and what is left of them.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from digest.config import load_config
from digest.interest.step import Interests
from digest.interest.tables import save_like
from digest.model.clock import ManualClock
from digest.model.errors import UnknownName, UsageError
from digest.model.libraries import LibraryPaper, Opinion
from digest.model.papers import ArxivId
from digest.model.people import (
    LETTERS_TO_ADDRESS,
    MOST_QUERIES,
    REQUESTS_OF_ALL,
    REQUESTS_OF_NETWORK,
    REQUESTS_OF_WIDE_NETWORK,
    RequestKind,
    Signup,
    SignupRequest,
)
from digest.model.subscriptions import EVERYTHING
from digest.people.letters import accept_request, queue_letters
from digest.people.preferences import (
    Preferences,
    confirm_signup,
    erase_person,
    export_records,
    load_preferences,
    pause_digests,
    require_own,
    save_query,
    undo_unsubscription,
)
from digest.people.signups import (
    count_request,
    delete_expired_signups,
    find_next_allowed,
    is_refusing,
    load_signup,
)
from digest.people.unsubscription import ONE_CLICK, PAGE
from digest.plan.links import make_links
from digest.serve.configuration import sync_config
from digest.serve.installation import open_site
from digest.site import Site
from digest.store import Store, backups, subscribers
from digest.store.dialect import metadata
from digest.store.schema import (
    digests,
    library_papers,
    near_days,
    request_counts,
    signups,
    subscriptions,
)
from digest.store.subscriptions import load as load_subscriptions
from digest.store.subscriptions import save_least
from tests.fakes.config_file import write_config
from tests.threads import do_together

NOW = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
ADA = "ada@example.org"
QUERIES = (
    SignupRequest(cadence="daily at 06:00 Europe/Berlin")
    .add_query("tail latency")
    .add_query("cat:cs.PF")
)
TEAM: dict[str, object] = {
    "name": "team",
    "follow": "perf",
    "to": "mailto:team@example.org",
    "joinable": True,
}
OTHER: dict[str, object] = {"name": "other", "follow": "perf", "to": "mailto:ada@example.org"}


class SignupInstallation:
    """An installation where anybody may subscribe; nothing is sent."""

    site: Site | None = None

    def __init__(self, folder: Path, url: str) -> None:
        self.path = folder / "digest.toml"
        self.url = url
        self.clock = ManualClock(NOW)
        self.open(TEAM)

    def open(self, *files: dict[str, object], **more: dict[str, object]) -> None:
        """Open it, or open it again, and take over the subscriptions of its file."""
        if self.site is not None:
            self.site.close()
        tables = {
            "web": {"base_url": "https://digest.example.org", "signup": "open"},
            "store": {"url": self.url},
        }
        self.path.write_text(
            write_config("http://127.0.0.1:9", {"perf": "cat:cs.PF"}, files, **tables, **more)
        )
        self.site = open_site(
            load_config(self.path, {}), self.clock, owner="test", jitter=lambda: 0.5
        )
        self.store = self.site.store
        self.config = self.site.config
        with self.store.read() as conn:
            self.maker = make_links(conn, self.config)
        sync_config(self.site)

    @property
    def now(self) -> datetime:
        return self.clock.now()

    def ask(
        self,
        wish: SignupRequest = QUERIES,
        ask: RequestKind = RequestKind.SUBSCRIBE,
        *,
        to: str = ADA,
        of: str = "",
    ) -> Any:  # noqa: ANN401
        with self.store.begin() as conn:
            return accept_request(conn, self.maker, ask, to, wish, network=of, at=self.now)

    def queue(self) -> int:
        assert self.site is not None
        return queue_letters(self.site)

    def links(self, to: str = ADA) -> list[str]:
        """Return the hashes of the links that were mailed to an address, the newest last."""
        with self.store.read() as conn:
            return list(
                conn.execute(select(signups.c.token).where(signups.c.address == to)).scalars()
            )

    def press(self, link: str) -> Preferences | None:
        """Press the button of a letter; None where its link is over."""
        with self.store.begin() as conn:
            found = load_signup(conn, link, None, self.now)
            return (
                confirm_signup(conn, self.config, self.maker, found, at=self.now) if found else None
            )

    def subscribe(self, wish: SignupRequest = QUERIES, *, to: str = ADA) -> Preferences:
        self.ask(wish, to=to)
        self.queue()
        found = self.press(self.links(to)[-1])
        assert found is not None
        return found

    def like(self) -> None:
        """Let the operator like a paper for the team and Ada one in all else.

        Store the top tenth of a day.
        """
        with self.store.begin() as conn:
            for due in load_subscriptions(conn):
                paper = LibraryPaper(f"Liked in {due.subscription.title}", "", ArxivId(202611, 1))
                reader = "" if due.subscription.name == TEAM["name"] else f"mailto:{ADA}"
                save_like(conn, due.id, paper, Opinion.MORE, self.now, reader=reader)
                save_least(conn, self.now.date(), {due.id: 7})

    def list_liked(self) -> list[str]:
        with self.store.read() as conn:
            assert len(conn.execute(select(near_days)).all()) == len(
                conn.execute(select(library_papers)).all()
            )
            return sorted(conn.execute(select(library_papers.c.title)).scalars())

    def load(self) -> Preferences:
        with self.store.read() as conn:
            found = load_preferences(conn, ADA)
        assert found is not None
        return found

    def readers(self, *names: str) -> list[list[str]]:
        """Return whom each subscription writes to."""
        with self.store.read() as conn:
            found = {
                due.subscription.name: due.subscription.destinations
                for due in load_subscriptions(conn)
            }
        return [[place.address for place in found.get(name, ())] for name in names]

    def count_letters(self) -> int:
        with self.store.read() as conn:
            return len(conn.execute(select(digests).where(digests.c.occasion == "letter")).all())

    def dump(self) -> str:
        with self.store.read() as conn:
            rows = {
                table.name: conn.execute(select(table)).all() for table in metadata.sorted_tables
            }
        return json.dumps(rows, default=str)


@pytest.fixture
def installation(url: str, tmp_path: Path) -> Iterator[SignupInstallation]:
    installation = SignupInstallation(tmp_path, url)
    yield installation
    with installation.store.read() as conn:
        assert backups.load_violations(conn) == []
    assert installation.site is not None
    installation.site.close()


MOMENTS = st.lists(st.integers(0, 70 * 24 * 60), min_size=1, max_size=60).map(sorted)


@given(MOMENTS)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_address_ever_gets_more_letters_than_the_limits_say(
    store: Store, minutes: list[int]
) -> None:
    passed: list[datetime] = []
    with store.begin() as conn:
        conn.execute(delete(request_counts))
        for minute in minutes:
            now = NOW + timedelta(minutes=minute)
            free = [find_next_allowed(conn, "x", limit, now) for limit in LETTERS_TO_ADDRESS]
            for limit, allowed_at in zip(LETTERS_TO_ADDRESS, free, strict=True):
                if allowed_at is not None:
                    assert allowed_at > now
                    assert find_next_allowed(conn, "x", limit, allowed_at) is None
                    assert find_next_allowed(conn, "x", limit, allowed_at - timedelta(seconds=1))
            if free == [None, None]:
                count_request(conn, "x", now)
                passed.append(now)
    for limit in LETTERS_TO_ADDRESS:
        assert all(
            sum(one <= other < one + limit.span for other in passed) <= limit.most for one in passed
        )


def test_a_network_and_all_of_them_are_limited_across_a_restart_and_an_hours_end(
    installation: SignupInstallation,
) -> None:
    installation.clock.set(NOW.replace(minute=59))
    assert [installation.ask(of="a") for _ in range(REQUESTS_OF_NETWORK.most)] == [
        None
    ] * REQUESTS_OF_NETWORK.most
    allowed_at = NOW.replace(hour=11, minute=0)
    assert installation.ask(of="a") == allowed_at
    installation.open(TEAM)
    installation.clock.set(NOW.replace(hour=10, minute=1))
    assert installation.ask(of="a") == allowed_at
    with installation.store.begin() as conn:
        for _ in range(REQUESTS_OF_ALL.most - REQUESTS_OF_NETWORK.most - 1):
            count_request(conn, "all", installation.now)
    assert installation.ask(of="b") is None
    installation.clock.set(allowed_at - timedelta(seconds=1))
    assert installation.ask(of="b") == allowed_at
    with installation.store.read() as conn:
        assert is_refusing(conn, installation.now)
        assert not is_refusing(conn, installation.now + 2 * HOUR)
    installation.clock.set(allowed_at)
    assert installation.ask(of="a") is None
    assert "a" not in {row[0] for row in json.loads(installation.dump())["request_counts"]}, (
        "a network is known by a hash"
    )


def in_threads(number: int, step: Callable[[], Any]) -> list[Any]:
    """Do the same in several threads at once; return what each brought."""
    return do_together(range(number), lambda _: step())


def test_requests_at_once_pass_no_limit(installation: SignupInstallation) -> None:
    found = in_threads(8, lambda: [installation.ask(of="a") for _ in range(4)])
    assert sorted(len(one) for one in found) == [4] * 8
    assert [allowed_at for one in found for allowed_at in one].count(
        None
    ) == REQUESTS_OF_NETWORK.most


def test_an_address_gets_three_letters_a_day_and_no_more_whoever_asks(
    installation: SignupInstallation,
) -> None:
    for number in range(10):
        installation.ask(of=str(number))
    assert [installation.queue(), installation.queue(), installation.count_letters()] == [3, 0, 3]
    for _ in range(2):
        installation.clock.sleep(25 * 3600)
        for number in range(5):
            installation.ask(of=str(number))
        installation.queue()
    assert installation.count_letters() == 6


@pytest.mark.parametrize(
    "spellings",
    [
        [f"ada+{number}@example.org" for number in range(5)],
        [
            "rest@gmail.com",
            "r.est@gmail.com",
            "re.s.t@googlemail.com",
            "Rest+a.b@GoogleMail.com",
            "rest+@gmail.com",
        ],
    ],
)
def test_however_a_mailbox_is_spelled_it_is_the_same(
    installation: SignupInstallation, spellings: list[str]
) -> None:
    for address in spellings:
        installation.ask(to=address)
    assert [installation.queue(), installation.count_letters()] == [3, 3]
    assert len(installation.links(spellings[1])) == 1, "stored as written"
    for address in ("r.est@example.org", "re.st@example.org"):  # dots count elsewhere
        installation.ask(to=address)
    assert installation.queue() == 2


@pytest.mark.parametrize(
    ("narrow", "other"), [("10.1.{}.0/24", "10.2.0.0/24"), ("2001:db8:{}::/48", "2001:db9::/48")]
)
def test_many_networks_of_a_wider_one_lock_nobody_else_out_and_all_of_them_nobody_who_is_known(
    installation: SignupInstallation, narrow: str, other: str
) -> None:
    installation.subscribe()
    given = [installation.ask(of=narrow.format(number)) for number in range(REQUESTS_OF_ALL.most)]
    assert given.count(None) == REQUESTS_OF_WIDE_NETWORK.most
    assert installation.ask(of=other) is None
    with installation.store.begin() as conn:
        for _ in range(REQUESTS_OF_ALL.most):
            count_request(conn, "all", installation.now)
    assert installation.ask(of=other) is not None
    assert installation.ask(SignupRequest(), RequestKind.LINK, of=other) is None


def test_who_has_nothing_gets_no_link_and_both_are_the_same_row(
    installation: SignupInstallation,
) -> None:
    installation.subscribe()
    for address in (ADA, "nobody@example.org"):
        installation.ask(SignupRequest(), RequestKind.LINK, to=address)
    with installation.store.read() as conn:
        rows = conn.execute(select(signups.c.kind, signups.c.choices, signups.c.token)).all()
    assert len(set(rows)) == 1
    assert [installation.queue(), installation.count_letters()] == [1, 2]


@pytest.mark.parametrize("is_erased", [True, False])
def test_of_what_nobody_confirmed_nothing_is_left_after_48_hours_or_once_erased(
    installation: SignupInstallation,
    is_erased: bool,  # noqa: FBT001 - pytest's
) -> None:
    installation.ask()
    installation.queue()
    (link,) = installation.links()
    with installation.store.begin() as conn:
        stored = export_records(conn, ADA)
        assert stored is not None
        assert {table for table, rows in stored["stored"].items() if rows} == {
            "signups",
            "deliveries",
        }
        if is_erased:
            erase_person(conn, installation.config, ADA, at=installation.now)
        installation.clock.sleep(48 * 3600 - 1)
        assert delete_expired_signups(conn, installation.now) == 0
        installation.clock.sleep(1)
        assert delete_expired_signups(conn, installation.now) == (not is_erased)
    assert installation.press(link) is None
    assert ADA not in installation.dump()


@pytest.mark.parametrize("ask", [RequestKind.LINK, RequestKind.FRESH, RequestKind.SUBSCRIBE])
def test_a_request_is_gone_after_48_hours_though_its_letter_was_late(
    installation: SignupInstallation, ask: RequestKind
) -> None:
    installation.subscribe()
    asked_at = installation.now
    for late, made in ((48 * HOUR, 0), (48 * HOUR - timedelta(minutes=1), 1)):
        installation.clock.set(asked_at)
        installation.ask(SignupRequest(), ask)
        installation.clock.set(asked_at + late)
        assert installation.queue() == made
        with installation.store.begin() as conn:
            delete_expired_signups(conn, asked_at + 48 * HOUR)
        assert installation.links() == []


def test_a_link_subscribes_nobody_once_the_operator_admits_the_address_no_more(
    installation: SignupInstallation,
) -> None:
    installation.ask()
    installation.queue()
    installation.config = replace(
        installation.config, web=replace(installation.config.web, signup=Signup())
    )
    with pytest.raises(UsageError, match="may no longer subscribe"):
        installation.press(installation.links()[0])
    assert installation.readers("team") == [["team@example.org"]]
    with installation.store.read() as conn:
        assert load_preferences(conn, ADA) is None


def test_a_link_opens_no_later_request_though_its_number_came_again(
    installation: SignupInstallation,
) -> None:
    links = []
    for address in (ADA, "bo@example.org"):
        installation.ask(to=address)
        installation.queue()
        with installation.store.begin() as conn:
            links.append(conn.execute(select(signups.c.token)).scalar_one())
            conn.execute(delete(signups))
            if installation.store.dialect == "sqlite":
                conn.exec_driver_sql(
                    "DELETE FROM sqlite_sequence"
                )  # as after a backup was restored
    assert links[0] != links[1]


def test_two_presses_at_once_make_one_subscription_and_two_requests_both_count(
    installation: SignupInstallation,
) -> None:
    installation.ask()
    installation.queue()
    (link,) = installation.links()
    found = in_threads(4, lambda: installation.press(link))
    assert sorted(isinstance(one, Preferences) for one in found) == [False, False, False, True]
    assert found.count(None) == 3
    with installation.store.read() as conn:
        owned = select(subscriptions).where(subscriptions.c.subscriber_id.is_not(None))
        assert len(conn.execute(owned).all()) == 1
    for text in ("cat:cs.DC", "cat:cs.OS"):
        installation.ask(SignupRequest().add_query(text))
    installation.queue()
    links = installation.links()
    assert None not in in_threads(2, lambda: installation.press(links.pop()))
    texts = sorted(query.text for query in installation.load().choices.queries)
    assert texts == ["cat:cs.DC", "cat:cs.OS", "cat:cs.PF", "tail latency"]


def test_one_click_is_taken_while_the_same_person_saves(installation: SignupInstallation) -> None:
    installation.subscribe()
    name = installation.load().memberships[0].name
    numbers = itertools.count()

    def change() -> None:
        number = next(numbers)
        with installation.store.begin() as conn:
            if number % 2:
                subscribers.save_unsubscription(
                    conn, f"mailto:{ADA}", name, how=ONE_CLICK, at=installation.now
                )
            else:
                found = load_preferences(conn, ADA)
                assert found is not None
                save_query(
                    conn,
                    installation.config,
                    found,
                    "",
                    f"ti:word{number % 6}",
                    at=installation.now,
                )

    for _ in range(3):
        assert in_threads(6, change) == [None] * 6
        with installation.store.begin() as conn:
            subscribers.save_resubscription(
                conn, f"mailto:{ADA}", name, how=PAGE, at=installation.now
            )


def test_more_is_added_to_what_somebody_has_up_to_ten_and_times_stay(
    installation: SignupInstallation,
) -> None:
    installation.subscribe()
    more = (
        SignupRequest(cadence="on announcement", has_feed=True)
        .add_query("tail  latency")
        .add_query("cat:cs.DC")
    )
    found = installation.subscribe(more)
    assert [query.text for query in found.choices.queries] == [
        "tail latency",
        "cat:cs.PF",
        "cat:cs.DC",
    ]
    assert (found.choices.cadence, found.choices.has_feed) == ("daily at 06:00 Europe/Berlin", True)
    many = SignupRequest()
    for number in range(MOST_QUERIES):
        many = many.add_query(f"word{number}")
    installation.ask(many)
    installation.queue()
    with pytest.raises(UsageError, match="nobody may have more"):
        installation.press(installation.links()[0])
    assert (installation.load(), len(installation.links())) == (found, 1), (
        "nothing is lost, and the link still works"
    )


@pytest.mark.parametrize("which", ["own", "everything"])
def test_an_undone_leave_brings_back_the_next_turn(
    installation: SignupInstallation, which: str
) -> None:
    installation.subscribe()
    own = installation.load().memberships[0]
    turn = installation.load().dues[own.id].next_due_at
    assert turn is not None
    with installation.store.begin() as conn:
        left = EVERYTHING if which == "everything" else own.name
        subscribers.save_unsubscription(conn, f"mailto:{ADA}", left, how=PAGE, at=installation.now)
    assert installation.load().dues[own.id].next_due_at is None
    with installation.store.begin() as conn:
        undo_unsubscription(conn, installation.load(), own.name, at=installation.now)
    assert installation.load().dues[own.id].next_due_at == turn


def test_who_left_everything_gets_back_only_what_they_ask_for(
    installation: SignupInstallation,
) -> None:
    installation.open(TEAM, OTHER)
    own = installation.subscribe(replace(QUERIES, joins=("team",)))
    name = own.memberships[0].name
    with installation.store.begin() as conn:
        subscribers.save_unsubscription(
            conn, f"mailto:{ADA}", EVERYTHING, how=PAGE, at=installation.now
        )
    assert installation.readers(name, "team", "other") == [[], ["team@example.org"], []]
    found = installation.subscribe(SignupRequest(joins=("team",)))
    assert [one.name for one in found.memberships if one.unsubscribed_at is None] == ["team"]
    installation.clock.sleep(DAY.total_seconds())
    found = installation.subscribe(
        SignupRequest(cadence="mondays at 09:00 Europe/Berlin")
        .add_query("cat:cs.PF")
        .add_query("gpu")
    )
    assert [(query.text, query.is_on) for query in found.choices.queries] == [
        ("tail latency", False),
        ("cat:cs.PF", True),
        ("gpu", True),
    ]
    assert found.choices.cadence == "mondays at 09:00 Europe/Berlin", "what was left begins anew"
    installation.open(TEAM, OTHER)
    assert installation.readers(name, "other") == [[ADA], []]


def test_what_was_joined_stays_through_edits_of_the_file_and_ends_with_it(
    installation: SignupInstallation,
) -> None:
    installation.subscribe(SignupRequest(joins=("team",)))
    assert installation.readers("team") == [["team@example.org", ADA]]
    installation.open({**TEAM, "to": "mailto:others@example.org", "joinable": False})
    assert installation.readers("team") == [["others@example.org", ADA]]
    installation.open()
    assert installation.readers("team") == [[]]
    installation.open(TEAM)
    assert installation.readers("team") == [["team@example.org", ADA]]


def test_what_is_not_offered_any_more_is_left_out_and_alone_refused(
    installation: SignupInstallation,
) -> None:
    for wish in (SignupRequest(joins=("team",)), replace(QUERIES, joins=("team",))):
        installation.ask(wish)
    installation.queue()
    installation.open({**TEAM, "joinable": False})
    alone, both = installation.links()
    with pytest.raises(UnknownName, match="not offered any more"):
        installation.press(alone)
    found = installation.press(both)
    assert found is not None
    assert [len(found.choices.queries), found.choices.joins] == [2, ()]


@pytest.mark.parametrize("files", [(TEAM,), (TEAM, OTHER)])
def test_of_whom_is_erased_nothing_is_left_but_that_they_left_what_the_file_names(
    installation: SignupInstallation, files: tuple[dict[str, object], ...]
) -> None:
    installation.open(*files)
    first = (
        installation.subscribe(replace(QUERIES, joins=("team",), has_feed=True)).memberships[0].name
    )
    installation.ask()
    installation.queue()
    installation.like()
    with installation.store.begin() as conn:
        stored = export_records(conn, ADA)
        assert stored is not None
        filled = {table for table, rows in stored["stored"].items() if rows}
        assert {"subscribers", "consents", "saved_queries", "signups", "deliveries"} <= filled
        liked = [row["title"] for row in stored["stored"]["library_papers"]]
        assert sorted(liked) == [
            *(["Liked in Other"] if OTHER in files else []),
            "Liked in Your papers",
        ]
        assert erase_person(conn, installation.config, ADA, at=installation.now) is (OTHER in files)
    assert installation.dump().count(ADA) == (2 if OTHER in files else 0), (
        "a place of the file's, and that it was left"
    )
    assert installation.list_liked() == ["Liked in Team"], (
        "what the operator likes for a list stays"
    )
    installation.open(*files)
    assert installation.readers("other") == [[]]
    with installation.store.begin() as conn, pytest.raises(UnknownName):
        erase_person(conn, installation.config, "nobody@example.org", at=installation.now)
    installation.clock.sleep(1)
    assert installation.subscribe(to="bo@example.org").memberships[0].name != first, (
        "no link of theirs opens another's"
    )


def test_what_a_reader_likes_counts_while_they_alone_read_a_subscription(
    installation: SignupInstallation,
) -> None:
    alone: dict[str, object] = {"name": "own", "follow": "perf", "to": f"mailto:{ADA}"}
    installation.open(alone)
    installation.like()

    def counts(**changed: object) -> bool:
        installation.open(alone | changed)
        with installation.store.read() as conn:
            (due,) = load_subscriptions(conn, names=["own"])
            return Interests(installation.config).find_profile(conn, due) is not None

    bo = "mailto:bo@example.org"
    assert [counts(), counts(to=[f"mailto:{ADA}", "file:out/"])] == [True, True]
    assert [counts(to=[f"mailto:{ADA}", bo]), counts(to=bo), counts(joinable=True)] == [
        False,
        False,
        False,
    ]
    assert counts()


def test_a_persons_digests_are_put_in_order_by_what_they_like_alone_wherever_they_move(
    installation: SignupInstallation,
) -> None:
    installation.open(TEAM, defaults={"library": "lab.bib", "not_like": "zotero:7"})
    people_own = installation.subscribe().own
    installation.like()
    installation.ask(SignupRequest(old_address=ADA), RequestKind.MOVE, to="ada@new.example.org")
    installation.queue()
    with installation.store.begin() as conn:
        pause_digests(conn, require_own(installation.load()), None, at=installation.now)
    moved = installation.press(installation.links("ada@new.example.org")[-1])
    installation.open(
        {**TEAM, "read_first": "ti:gpu"}, defaults={"library": "lab.bib", "not_like": "zotero:7"}
    )
    assert people_own is not None
    assert moved is not None
    assert moved.own is not None
    assert moved.own.id == people_own.id
    assert installation.list_liked() == ["Liked in Team", "Liked in Your papers"]
    with installation.store.read() as conn:
        orders = {due.subscription.name: due.subscription for due in load_subscriptions(conn)}
    own = orders[moved.own.subscription.name]
    team = orders["team"]
    assert (own.library, own.not_like, own.read_first, own.read_last) == ((), (), (), ())
    assert ([Path(source).name for source in team.library], team.read_first) == (
        ["lab.bib"],
        ("ti:gpu",),
    )
