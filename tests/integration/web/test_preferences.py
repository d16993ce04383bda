from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urljoin

import pytest

from digest.model.announcements import Kind
from digest.model.subscriptions import Abstracts
from digest.people.preferences import erase_person, export_records
from digest.store import digests
from digest.web import preferences
from tests.harness.serving import wait_until
from tests.integration.web.conftest import ServedSite
from tests.integration.web.visitors import (
    ME,
    ORIGIN,
    OTHER,
    Page,
    PeopleSite,
    open_people_site,
    read_text,
)
from tests.integration.web.world import LATER, PAPERS, make_paper

READER = "reader@example.org"
TEAM = "perf-team"
MONDAY = datetime(2026, 11, 23, 3, 47, tzinfo=UTC)
"""The announcement of Sunday evening is out."""


@pytest.fixture
def people_site(shared: ServedSite, tmp_path: Path) -> Iterator[PeopleSite]:
    with open_people_site(tmp_path, shared.world.folder) as people_site:
        yield people_site


def until_monday(people_site: PeopleSite) -> list[tuple[str, str]]:
    people_site.world.arxiv.add(LATER)
    return people_site.live(days=(MONDAY - people_site.world.clock.now()) / timedelta(days=1))


def post(people_site: PeopleSite, path: str, **fields: str) -> Page:
    """Send what no page offers, as somebody might who knows how forms look."""
    page = people_site.open(people_site.path() if path.endswith("/query") else path)
    token = dict(page.forms[0].fields)["token"]
    return Page(
        people_site.http,
        people_site.http.post(path, data={"token": token, **fields}, headers=ORIGIN),
    )


def test_the_mail_of_one_person_links_to_their_page_and_nothing_else_does(
    shared: ServedSite, people_site: PeopleSite
) -> None:
    people_site.subscribe(ME, "abs:measure")
    ((address, text),) = people_site.live(hours=1)
    (path,) = {*re.findall(r"https://localhost:8000(/p/[\w-]+)", text)}
    assert (address, path) == (ME, people_site.path(ME))
    assert "m…@example.org" in people_site.open(path).text
    to_team = {
        text for mail in shared.mails for text in re.findall(r"/p/[\w-]+", str(mail.message))
    }
    assert to_team == {people_site.path(who) for who in (READER, "second@example.org")}
    links = people_site.world.links(people_site.site)
    public = [f"/d/{links.web_token(TEAM, 'run:2')}", f"/f/{links.feed_token(TEAM, 0)}.atom"]
    said = [people_site.http.get(path).text for path in public] + [
        str(post) for post in shared.world.slack.messages
    ]
    assert len(said) >= 3
    assert not [text for text in said if "/p/" in text]


def test_what_the_form_says_holds_from_then_on_and_twice_is_as_once(
    people_site: PeopleSite,
) -> None:
    page = people_site.open(people_site.subscribe(ME, "abs:measure", "ti:clocks"))
    page = page.press("save", abstracts="full", feed="yes", on=["clocks"])
    kinds = ["new", "replaced"]
    page = page.press("save", days="fridays", hour="9", zone="Europe/Berlin", kind=kinds)
    assert (page.status, page.said) == (
        200,
        "Saved. Your next digest comes Friday 20 November at 09:00 CET.",
    )
    wish = people_site.preferences().choices
    assert [(query.text, query.is_on) for query in wish.queries] == [
        ("abs:measure", False),
        ("ti:clocks", True),
    ]
    assert wish.cadence == "fridays at 09:00 Europe/Berlin"
    assert wish.kinds == (Kind.NEW, Kind.REPLACEMENT)
    assert (wish.abstracts, wish.has_feed) == (Abstracts.FULL, True)
    before = people_site.dump()
    again = page.press("save")
    assert (again.said, people_site.dump()) == (page.said, before)


def test_a_page_that_is_old_turns_off_no_query_that_it_did_not_list(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    old = people_site.open(path)
    new = people_site.open(f"{path}/query?q=ti:clocks")
    assert new.send(new.forms[0], new.forms[0].buttons[1]).said.startswith("Saved.")
    old.press("save")
    assert [query.is_on for query in people_site.preferences().choices.queries] == [True, True]


def test_a_mistake_stands_at_its_field_and_what_was_typed_is_kept(people_site: PeopleSite) -> None:
    page = people_site.open(people_site.subscribe(ME, "abs:measure"))
    before = people_site.dump()
    wrong = page.press("save", zone="Europe/Berln", hour="7", kind=["withdrawn"], on=[])
    assert wrong.status == 400
    assert "'Europe/Berln' is not a time zone. Write it like Europe/Berlin." in wrong.text
    assert re.search(
        r'name="zone" value="Europe/Berln"[^>]*aria-describedby="mistake-when"', wrong.answer.text
    )
    fields = wrong.form("save").fields
    assert {("hour", "7"), ("kind", "withdrawn")} <= {*fields}
    assert not [value for name, value in fields if name == "on" or value == "new"]
    none = page.press("save", kind=[])
    assert re.search(r'id="mistake-kinds">No kind of paper is chosen', none.answer.text)
    past = page.press("pause", until="2026-11-19")
    assert re.search(r'value="2026-11-19"[^>]*aria-describedby="mistake-until"', past.answer.text)
    assert "This day is over already. Choose a later day." in past.text
    assert people_site.dump() == before


@pytest.mark.parametrize(
    "fields",
    [
        {"action": "save", "days": "never", "hour": "9", "zone": "UTC", "kind": "new"},
        {"action": "save", "days": "daily", "hour": "24", "zone": "UTC", "abstracts": "full"},
        {"action": "save", "days": "daily", "hour": "9", "abstracts": "long"},
        {"action": "pause", "until": "soon"},
        {"action": "pause", "until": "9999-12-31"},
        {"action": "unsubscribe"},
        {"action": "unsubscribe", "subscription": ""},
        {"action": "undo", "subscription": TEAM},
        {"action": "undo", "subscription": "*"},
        {"action": "delete", "name": "measure"},
        {"action": "become"},
        {},
    ],
)
def test_what_no_page_offers_is_refused_and_changes_nothing(
    people_site: PeopleSite, fields: dict[str, str]
) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    before = people_site.dump()
    assert post(people_site, path, **fields).status == 400
    assert people_site.dump() == before


def test_a_form_without_our_token_or_from_elsewhere_changes_nothing(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    token = dict(people_site.open(path).form("unsubscribe").fields)["token"]
    fields = {"action": "unsubscribe", "subscription": "*"}
    before = people_site.dump()
    answers = [
        people_site.http.post(path, data=fields, headers=ORIGIN),
        people_site.http.post(path, data={**fields, "token": token}),
        people_site.http.post(
            path, data={**fields, "token": token}, headers={"Origin": "https://elsewhere.example"}
        ),
        people_site.http.post(f"{path}/query", data={"token": token, "q": "gpu"}, headers=ORIGIN),
    ]
    assert [answer.status_code for answer in answers] == [403] * 4
    for address in (path, f"{path}/query", f"{path}/query/measure?q=gpu"):
        assert [
            people_site.http.request(method, address).status_code for method in ("GET", "HEAD")
        ] == [
            200,
            200,
        ]
    assert people_site.dump() == before


def test_an_address_that_is_nobodys_is_answered_with_the_same_page_whatever_it_was(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    other = people_site.subscribe(OTHER, "ti:clocks")
    links = people_site.world.links(people_site.site)
    paths = [
        path,
        "/p/x",
        f"/p/{links.web_token(TEAM, 'run:2')}",
        f"/p/{links.feed_token(TEAM, 0)}",
    ]
    with people_site.site.store.begin() as conn:
        erase_person(conn, people_site.site.config, ME, at=people_site.world.clock.now())
    answers = [people_site.http.get(path) for path in paths] + [
        people_site.http.get(f"{path}/query")
    ]
    token = dict(people_site.open(other).forms[0].fields)["token"]
    assert {(answer.status_code, answer.content) for answer in answers} == {
        (404, answers[0].content)
    }
    assert people_site.http.post(path, data={"token": token}, headers=ORIGIN).status_code == 403


def test_the_operators_subscriptions_are_read_only_and_can_be_left(people_site: PeopleSite) -> None:
    path = people_site.path(READER)
    page = people_site.open(path)
    assert "Perf team The next digest comes Saturday 21 November at 02:00 UTC." in page.text
    assert "Set by ops@example.org." in page.text
    assert not any(page.has(action) for action in ("save", "pause", "resume", "delete"))
    before = people_site.dump()
    for action in ("save", "pause", "resume", "delete"):
        refused = post(
            people_site, path, action=action, days="daily", hour="9", kind="new", name="perf"
        )
        is_told = "hese digests are set by the operator of this service" in refused.text
        assert (refused.status, is_told) == ((200, False) if action == "delete" else (400, True))
    assert people_site.dump() == before
    left = page.press("unsubscribe", TEAM)
    assert left.said == "You are unsubscribed from Perf team."
    assert [address for address, _ in until_monday(people_site)] == ["second@example.org"]
    assert (
        people_site.open(path).press("undo", TEAM).said == "You are subscribed to Perf team again."
    )


def test_nobody_gets_first_saved_queries_of_their_own_where_the_operator_admits_them_not(
    shared: ServedSite, tmp_path: Path
) -> None:
    with open_people_site(tmp_path, shared.world.folder, signup="lab.example") as people_site:
        page = people_site.open(people_site.path(READER))
        assert "Your saved queries" not in page.text
        before = people_site.dump()
        query = people_site.open(f"{people_site.path(READER)}/query?q=gpu")
        refused = query.send(query.forms[0], query.forms[0].buttons[1])
        assert (refused.status, "hese digests are set by the operator" in refused.text) == (
            400,
            True,
        )
        assert people_site.dump() == before


def test_somebody_whom_the_file_names_adds_a_query_of_their_own(people_site: PeopleSite) -> None:
    page = people_site.open(people_site.path(READER))
    add = next(form for form in page.forms if form.action.endswith("/query"))
    tried = page.send(add, add.buttons[0], q="ti:clocks")
    saved = tried.send(tried.forms[0], tried.forms[0].buttons[1])
    assert saved.said.startswith("Saved. Your next digest comes")
    assert saved.press("save", days="daily").status == 200, (
        "the forms of the answer lead where they should"
    )
    mails = people_site.live(hours=1)
    assert [(address, "*Clocks* & caches" in text) for address, text in mails] == [(READER, True)]


def test_nobody_reaches_what_belongs_to_another_person(people_site: PeopleSite) -> None:
    mine = people_site.subscribe(ME, "abs:measure", "ti:queues")
    _ = people_site.subscribe(OTHER, "ti:clocks", "ti:tail")
    other = people_site.preferences(OTHER)
    assert other.own is not None
    for action in ("unsubscribe", "undo"):
        refused = post(people_site, mine, action=action, subscription=other.own.subscription.name)
        assert "This subscription is none of yours." in refused.text
    post(people_site, mine, action="delete", name="clocks")
    assert people_site.http.get(f"{mine}/query/clocks").status_code == 404
    post(
        people_site,
        mine,
        action="save",
        days="daily",
        hour="9",
        kind="new",
        abstracts="full",
        listed="clocks",
    )
    assert people_site.preferences(OTHER) == other


@pytest.mark.parametrize("which", [TEAM, "*", "own"])
def test_leaving_is_undone_up_to_the_seventh_day_and_not_on_the_eighth(
    people_site: PeopleSite, which: str
) -> None:
    path = people_site.subscribe(READER, "abs:measure")
    own = people_site.preferences(READER).memberships[0].name
    name = own if which == "own" else which
    assert people_site.open(path).press("unsubscribe", name).has("undo", name)
    people_site.world.clock.sleep(7 * 86_400 - 1)
    page = people_site.open(path)
    assert page.has("undo", name)
    assert page.press("undo", name).said.endswith("again.")
    people_site.open(path).press("unsubscribe", name)
    people_site.world.clock.sleep(7 * 86_400)
    assert not people_site.open(path).has("undo")
    refused = post(people_site, path, action="undo", subscription=name)
    assert (refused.status, "This can't be undone any more." in refused.text) == (400, True)


def test_who_resumes_gets_what_waited(people_site: PeopleSite) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    people_site.live(hours=1)
    assert "Paused until further notice." in people_site.open(path).press("pause").text
    until_monday(people_site)
    page = people_site.open(path).press("resume")
    assert page.said == "Resumed. Your next digest comes Tuesday 24 November at 02:00 UTC."
    assert [LATER.title in text for address, text in people_site.live(days=1) if address == ME] == [
        True
    ]


def edit(people_site: PeopleSite, path: str, name: str, text: str) -> Page:
    page = people_site.open(f"{path}/query/{name}")
    return page.send(page.forms[0], page.forms[0].buttons[1], q=text)


def mine(mails: list[tuple[str, str]]) -> list[set[str]]:
    """Return the papers of each digest of ours."""
    return [{*re.findall(r"abs/(\d{4}\.\d{5})", text)} for address, text in mails if address == ME]


def test_an_edited_query_is_named_after_its_new_words(people_site: PeopleSite) -> None:
    path = people_site.subscribe(ME, "abs:measure", "ti:queues", "ti:clocks")
    people_site.live(hours=1)
    people_site.open(path).press("delete", "queues")
    assert edit(people_site, path, "measure", "ti:stopwatches OR ti:sundials").status == 200
    assert edit(people_site, path, "clocks", "ti:queues").status == 200
    names = ["stopwatches-sundials", "queues-2"]
    assert [query.name for query in people_site.preferences().choices.queries] == names
    (text,) = [text for address, text in until_monday(people_site) if address == ME]
    assert "stopwatches-sundials = ti:stopwatches OR ti:sundials" in text
    assert edit(people_site, path, names[0], "abs:measure").said.startswith("Saved.")
    assert people_site.open(f"{path}/query/{names[0]}").status == 404


def test_what_an_edit_changes_is_shown_before_it_is_saved(people_site: PeopleSite) -> None:
    path = f"{people_site.subscribe(ME, 'abs:measure')}/query/measure"
    wait_until(lambda: "data-wait" not in people_site.open(path).answer.text)
    before = people_site.dump()
    page = people_site.open(path)
    assert "Your digest today" in page.text
    tried = page.send(page.forms[0], page.forms[0].buttons[0], q="ti:clocks OR ti:tail")
    assert "0 papers gained, 1 lost, 2 kept." in tried.text
    assert "− Queues that never drain" in tried.text
    assert 'data-was="abs:measure"' in tried.answer.text
    assert (
        people_site.http.get(
            re.findall(r'<script src="([^"]+)"', tried.answer.text)[0].replace("../", "/")
        ).status_code
        == 200
    )
    wrong = page.send(page.forms[0], page.forms[0].buttons[0], q="ti:(clocks")
    assert (wrong.status, "The nearest that works:" in wrong.text) == (200, True)
    assert people_site.dump() == before
    saved = tried.send(tried.forms[0], tried.forms[0].buttons[1])
    assert (saved.status, people_site.preferences().choices.queries[0].text) == (
        200,
        "ti:clocks OR ti:tail",
    )


def test_a_query_that_was_off_brings_what_is_announced_once_it_is_on(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure", "ti:nothing")
    people_site.live(hours=1)
    page = people_site.open(path).press("save", on=["nothing"])
    assert mine(until_monday(people_site)) == []
    page = people_site.open(path).press("save", on=["nothing", "measure"])
    assert page.said.startswith("Saved.")
    new = make_paper(16_000, "Hourglasses", datetime(2026, 11, 23, 12, tzinfo=UTC))
    people_site.world.arxiv.add(new)
    assert mine(people_site.live(hours=1) + people_site.live(days=2)) == [{new.id}]
    off = people_site.open(path).press("save", on=[])
    assert off.said == "Saved. Nothing comes: no saved query is on."


def test_saved_queries_are_added_once_each_up_to_ten_and_deleted_but_the_last(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure")

    def add(text: str) -> Page:
        page = people_site.open(f"{path}/query")
        return page.send(page.forms[0], page.forms[0].buttons[1], q=text)

    assert add("cs.PF").said.startswith("Saved.")
    assert add("cat:cs.PF").said.startswith("Saved."), "the same again adds none"
    assert [query.text for query in people_site.preferences().choices.queries] == [
        "abs:measure",
        "cat:cs.PF",
    ]
    same = edit(people_site, path, "measure", "cat:cs.PF")
    assert (same.status, "You have this saved query already." in same.text) == (400, True)
    wrong = add("abs:(gpu")
    assert (wrong.status, 'value="abs:(gpu"' in wrong.answer.text) == (400, True)
    assert "parenthesis is never closed" in wrong.text
    assert add(" ").status == add("x" * 2_001).status == 400
    statuses = [add(f"ti:word{number}").status for number in range(9)]
    assert statuses == [200] * 8 + [400]
    names = [query.name for query in people_site.preferences().choices.queries]
    page = people_site.open(path)
    for name in names[1:]:
        page = page.press("delete", name)
    assert page.said == "Deleted: ti:word7"
    assert not page.has("delete"), "the last one is turned off, or left"
    assert people_site.http.get(f"{path}/query/{names[-1]}").status_code == 404


def find_likes(text: str) -> str:
    """Return the path in a mail of the page to say "more" and "less"; "" for none."""
    found = re.search(r"https://localhost:8000(/p/[\w-]+/d/[\w-]+)", text)
    return found[1] if found else ""


TAIL, QUEUES, CLOCKS = (paper.id for paper in PAPERS)


def test_more_and_less_are_said_on_a_page_that_the_mail_links_to_and_can_be_undone(
    people_site: PeopleSite,
) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    assert (
        "You have chosen no paper yet. Each mail with papers links" in people_site.open(path).text
    )
    ((_, text),) = people_site.live(hours=1)
    page = people_site.open(find_likes(text))
    before = people_site.dump()
    assert page.answer.text.count(' like Queues that never drain"') == 2, (
        "each button names its paper"
    )
    assert [
        people_site.http.request(method, find_likes(text)).status_code for method in ("GET", "HEAD")
    ] == [200, 200]
    assert people_site.dump() == before
    said = page.press("more", QUEUES).press("less", CLOCKS)
    once = people_site.dump()
    assert (page.press("more", QUEUES).status, people_site.dump()) == (200, once)
    assert [said.has("more", one) for one in (TAIL, QUEUES, CLOCKS)] == [True, False, False]
    mine = people_site.open(path)
    assert "Less like: Clocks & caches Undo More like: Queues that never drain Undo" in mine.text
    assert urljoin(path, re.findall(r'href="([^"]+/d/[^"]+)"', mine.answer.text)[0]) == find_likes(
        text
    )
    assert page.press("less", QUEUES).has("forget", QUEUES), "the other opinion replaces the first"
    assert said.press("forget", CLOCKS).has("more", CLOCKS)
    undone = mine.press("forget", QUEUES)
    assert (undone.said, mine.press("forget", QUEUES).said) == ("Undone.", "Undone.")
    assert (
        "Open your last digest to say of which papers you want more, and of which less."
        in undone.text
    )
    assert "Queues" not in undone.text


def test_what_is_not_theirs_alone_nobody_says_more_or_less_of(
    people_site: PeopleSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    people_site.subscribe(OTHER, "ti:clocks")
    ((_, theirs),) = people_site.live(hours=1)
    path = people_site.subscribe(ME, "ti:queues OR ti:clocks")
    ((_, text),) = people_site.live(hours=1)
    links = people_site.world.links(people_site.site)
    other = people_site.preferences(OTHER).own
    assert other is not None
    mine = find_likes(text)
    before = people_site.dump()
    pages = [
        find_likes(theirs).rpartition("/")[2],
        links.web_token(TEAM, "run:2"),
        links.archive_token(TEAM),
        "x",
    ]
    fields = {"paper": CLOCKS, "subscription": other.subscription.name}
    for page in pages:
        assert people_site.http.get(f"{path}/d/{page}").status_code == 404
        answer = post(people_site, mine, action="more", digest=page, **fields)
        assert (answer.status, "no digest that you alone get" in answer.text) == (404, True)
    for action, wrong in {"more": TAIL, "less": "x", "forget": CLOCKS}.items():
        answer = post(
            people_site,
            mine,
            action=action,
            digest=mine.rpartition("/")[2],
            **fields | {"paper": wrong},
        )
        assert answer.status == 404
    token = dict(people_site.open(path).forms[0].fields)["token"]
    forged = {"action": "more", "digest": mine.rpartition("/")[2], "paper": QUEUES, "token": token}
    assert people_site.http.post(mine, data=forged, headers=ORIGIN).status_code == 403, (
        "the token of another page"
    )
    assert people_site.dump() == before
    monkeypatch.setattr(preferences, "MOST_LIKES", 1)
    shown = people_site.open(mine)
    assert [shown.press(what, QUEUES).status for what in ("more", "more", "less")] == [200] * 3
    full = shown.press("less", CLOCKS)
    assert (full.status, "You said this of 1 papers, and nobody may of more" in full.text) == (
        400,
        True,
    )


@pytest.mark.parametrize(
    ("to", "extra", "has_page"),
    [
        (("mailto:reader@example.org", "feed"), "", True),
        (("mailto:reader@example.org",), "shared = true", False),
        (("mailto:reader@example.org",), "joinable = true", False),
        (("mailto:reader@example.org",), 'archive = "public"', False),
        (("mailto:reader@example.org", "slack:#papers"), "", False),
        (("mailto:reader@example.org", "mailto:second@example.org"), "", False),
    ],
)
def test_of_the_operators_subscriptions_only_that_of_one_reader_has_the_page(
    tmp_path: Path, to: tuple[str, ...], extra: str, *, has_page: bool
) -> None:
    with open_people_site(tmp_path, to=to, extra=extra) as people_site:
        text = read_text(people_site.world.mail.mails[0].message)
        with people_site.site.store.read() as conn:
            ((row, _),) = digests.load_frozen(conn, TEAM)
        token = people_site.world.links(people_site.site).web_token(TEAM, row.slot)
        page = people_site.open(f"{people_site.path(READER)}/d/{token}")
        assert (page.status, bool(find_likes(text))) == ((200, True) if has_page else (404, False))
        assert (
            "More or less like this" in people_site.open(people_site.path(READER)).text
        ) is has_page
        if has_page:
            page.press("more", TAIL)
            with people_site.site.store.begin() as conn:
                stored = export_records(conn, READER)["stored"]  # type: ignore[index]
                assert len(stored["library_papers"]) == 1
                erase_person(
                    conn, people_site.site.config, READER, at=people_site.world.clock.now()
                )
            assert "Tail latency" not in re.sub(
                r"INSERT INTO \"?(?!librar).*", "", people_site.dump()
            )


def test_what_a_reader_wants_less_of_comes_later_and_as_before_once_it_is_undone(
    people_site: PeopleSite,
) -> None:
    people_site.subscribe(ME, "abs:measure", cadence="on announcement")
    ((_, text),) = people_site.live(hours=1)

    def read_order(day: int) -> list[str]:
        """Let an announcement come with a paper on tail latency and two others.

        Return their titles as sent.
        """
        titles = (
            f"Stopwatches ({day})",
            f"Sundials ({day})",
            f"Tail latency again, on shared GPUs ({day})",
        )
        at = datetime(2026, 11, day, 12, tzinfo=UTC)
        people_site.world.arxiv.add(
            *(make_paper(16_000 + 10 * day + one, title, at) for one, title in enumerate(titles))
        )
        days = (at + timedelta(hours=40) - people_site.world.clock.now()) / timedelta(days=1)
        (mail,) = [text for address, text in people_site.live(days=days) if address == ME]
        found = [
            title.split()[0]
            for title in re.findall(r"(?m)^\d\. (.+?)$", mail)
            if f"({day})" in title
        ]
        return [one.strip("*") for one in found]

    usual = read_order(23)
    people_site.open(find_likes(text)).press("less", TAIL)
    later = read_order(24)
    people_site.open(find_likes(text)).press("forget", TAIL)
    assert (sorted(later), later[-1], usual[-1] != "Tail") == (sorted(usual), "Tail", True)
    assert read_order(30) == usual
