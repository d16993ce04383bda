from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from digest.model.destinations import Destination
from digest.people.stored import STORED
from digest.people.tables import load_person
from tests.harness.serving import serve_site
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
from tests.integration.web.world import LATER

READER = "reader@example.org"
NEW = "new@lab.example"


@pytest.fixture
def people_site(shared: ServedSite, tmp_path: Path) -> Iterator[PeopleSite]:
    with open_people_site(tmp_path, shared.world.folder) as people_site:
        yield people_site


def fetch_link(people_site: PeopleSite, address: str = ME) -> str:
    """Ask for a fresh link, and return the path in the mail."""
    people_site.open(people_site.path(address)).press("fresh")
    texts = [text for to, text in people_site.live() if to == address]
    found = re.search(r"https://localhost:8000(/k/[\w-]+)", texts[-1])
    assert found is not None
    return found[1]


def enter(people_site: PeopleSite, address: str = ME) -> Page:
    """Open the private page by a fresh link."""
    page = people_site.open(fetch_link(people_site, address))
    return page.send(page.forms[0], page.forms[0].buttons[0])


def confirm(people_site: PeopleSite, texts: list[str]) -> Page:
    (path,) = re.findall(r"https://localhost:8000(/c/[\w-]+)", " ".join(texts))
    page = people_site.http.get(path)
    token = re.search(r'name="token" value="([\w-]+)"', page.text)
    assert token is not None
    return Page(
        people_site.http,
        people_site.http.post(path, data={"token": token[1], "answer": "yes"}, headers=ORIGIN),
    )


def test_a_fresh_link_opens_once_and_looking_at_it_uses_nothing_up(people_site: PeopleSite) -> None:
    people_site.subscribe(ME, "abs:measure")
    path = fetch_link(people_site)
    before = people_site.dump()
    for method in ("GET", "HEAD", "GET"):
        assert people_site.http.request(method, path).status_code == 200
    assert people_site.http.post(path, data={"token": "x"}, headers=ORIGIN).status_code == 403
    assert ME not in people_site.http.get(path).text
    assert people_site.dump() == before
    page = people_site.open(path)
    opened = page.send(page.forms[0], page.forms[0].buttons[0])
    assert (opened.status, ME in opened.text) == (200, True)
    assert page.send(page.forms[0], page.forms[0].buttons[0]).status == 404
    assert people_site.http.get(path).status_code == 404


def test_a_fresh_link_is_over_after_half_an_hour_and_so_is_the_page_it_opened(
    people_site: PeopleSite,
) -> None:
    people_site.subscribe(ME, "abs:measure")
    page = enter(people_site)
    path = fetch_link(people_site)
    people_site.world.clock.sleep(30 * 60 - 1)
    assert (page.press("export").status, people_site.http.get(path).status_code) == (200, 200)
    people_site.world.clock.sleep(1)
    closed = page.press("export")
    assert (closed.status, "This page is closed" in closed.text) == (403, True)
    assert people_site.http.get(path).status_code == 404


def test_a_key_opens_the_data_of_one_person_and_no_other_is_as_good(
    people_site: PeopleSite,
) -> None:
    people_site.subscribe(ME, "abs:measure")
    people_site.subscribe(OTHER, "ti:clocks")
    page = enter(people_site)
    (key,) = {value for form in page.forms for name, value in form.fields if name == "key"}
    expiry, mac, _ = key.split(".", 2)
    forged = [
        "",
        "x",
        key[:-1],
        f"{key}x",
        f"{expiry}.{mac}.{OTHER}",
        f"{int(expiry) + 60}.{mac}.{ME}",
    ]
    forged += [
        f"{expiry}.{'A' * 22}.{ME}",
        f"{expiry}.{mac}é.{ME}",
        f"{expiry}.{mac}.{ME.upper()}",
        "9" * 30 + f".{mac}.{ME}",
    ]
    before = people_site.dump()
    for wrong in forged:
        assert page.press("erase", key=wrong, sure="yes").status == 403, wrong
    assert people_site.dump() == before
    assert page.press("export", key=key).status == 200


def test_everything_stored_of_a_person_is_in_their_export(people_site: PeopleSite) -> None:
    people_site.subscribe(ME, "abs:measure", "ti:clocks")
    people_site.live(hours=1)
    people_site.open(people_site.path()).press("unsubscribe", "*").press("undo", "*")
    answer = enter(people_site).press("export").answer
    assert answer.headers["content-disposition"] == 'attachment; filename="digest.json"'
    exported = json.loads(answer.text)
    stored = exported["stored"]
    assert exported["address"] == ME
    assert [query["text"] for query in stored["query_revisions"]] == ["abs:measure", "ti:clocks"]
    assert [row["papers"] for row in stored["digests"]] == [3]
    assert [row["event"] for row in stored["consents"]] == ["unsubscribed", "returned"]
    assert len(stored["deliveries"]) == len(stored["attempts"]) == 2
    assert OTHER not in answer.text
    left_out = {
        "request_counts": "hashes, which nobody can tell to be theirs",
        "query_matches": "numbers of the papers that the digests name",
        "matches": "numbers of the papers that the digests name",
        "near_days": "figures, made of what they like and what arXiv announced",
        "bodies": "what their mails say, which came to them",
        "alarms": "said to the operator of this service",
        **dict.fromkeys(
            ("requests", "poll_runs", "cursors", "quarantine"), "says nothing of anybody"
        ),
    }
    tables = {table for kind in STORED for table in kind.tables}
    assert tables == {*stored, *left_out}
    assert not {*stored} & {*left_out}
    hashes = re.findall(r'"[0-9a-f]{64}"', answer.text)
    assert not hashes, "no hash of a link"


def test_erasing_leaves_no_trace_of_the_address(people_site: PeopleSite) -> None:
    path = people_site.subscribe(ME, "abs:measure")
    people_site.live(hours=1)
    page = enter(people_site)
    page.press("move", address=NEW)
    people_site.open(path).press("unsubscribe", "*")
    unsure = page.press("erase")
    assert (unsure.status, "Tick the box to say that you are sure." in unsure.text) == (400, True)
    assert ME in people_site.dump()
    erased = page.press("erase", sure="yes")
    assert (erased.status, erased.said) == (200, "Nothing about you is stored any more.")
    assert "Everything is erased" in erased.text
    left = people_site.dump()
    assert (ME in left, "Your papers" in left) == (False, False)
    assert people_site.http.get(path).status_code == 404
    assert page.press("export").status == 403
    people_site.world.arxiv.add(LATER)
    assert {address for address, _ in people_site.live(days=4)} == {READER, "second@example.org"}
    assert ME not in people_site.dump()


def test_after_moving_everything_comes_to_the_new_address_alone(people_site: PeopleSite) -> None:
    path = people_site.subscribe(ME, "abs:measure", cadence="mondays at 12:00 UTC")
    ((_, first),) = people_site.live(hours=1)
    (leave,) = re.findall(r"https://localhost:8000(/u/[\w-]+)", first)
    people_site.world.arxiv.add(LATER)
    people_site.live(days=2.96)
    asked = enter(people_site).press("move", address=f" {NEW.upper()} ")
    assert asked.said.startswith(f"A mail is on its way to {NEW}.")
    mails = people_site.live()
    assert [address for address, _ in mails] == [NEW]
    assert "measure" not in mails[0][1]
    assert people_site.http.get(path).status_code == 200, (
        "nothing changes before the button is pressed"
    )
    moved = confirm(people_site, [text for _, text in mails])
    assert (moved.status, "n…@lab.example" in moved.text) == (200, True)
    assert people_site.http.get(path).status_code == 404
    assert people_site.open(people_site.path(NEW)).has("save")
    with people_site.site.store.read() as conn:
        assert load_person(conn, ME) is None
    assert [(address, LATER.title in text) for address, text in people_site.live(hours=9)] == [
        (NEW, True)
    ]
    token = re.search(r'name="token" value="([\w-]+)"', people_site.http.get(leave).text)
    assert token is not None
    people_site.http.post(leave, data={"token": token[1], "answer": "unsubscribe"}, headers=ORIGIN)
    assert "You unsubscribed on Mon 23 Nov." in people_site.open(people_site.path(NEW)).text, (
        "by a link of an old mail"
    )
    people_site.live(days=3)
    assert f"'mailto:{ME}'" not in people_site.dump(), (
        "no token, no destination, no delivery, and the letter is over"
    )
    enter(people_site, NEW).press("erase", sure="yes")
    assert (ME in people_site.dump(), NEW in people_site.dump()) == (False, False)


def test_who_moved_can_still_unsubscribe_from_what_the_file_sends_to_the_old_address(
    people_site: PeopleSite,
) -> None:
    people_site.subscribe(READER, "abs:measure")
    links = people_site.world.links(people_site.site)
    token = links.unsubscribe_token(Destination.parse(f"mailto:{READER}"), "perf-team")
    team = f"/u/{token}"
    people_site.live(hours=1)
    enter(people_site, READER).press("move", address=NEW)
    assert confirm(people_site, [text for _, text in people_site.live()]).status == 200
    assert "r…@example.org" in people_site.open(team).text
    assert people_site.http.post(team, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    people_site.world.arxiv.add(LATER)
    assert sorted(address for address, _ in people_site.live(days=4)) == [NEW, "second@example.org"]


def test_a_message_that_was_being_tried_again_is_written_anew_for_the_new_address(
    people_site: PeopleSite,
) -> None:
    people_site.subscribe(ME, "abs:measure")
    people_site.world.mail.script.reply("RCPT", "451 4.3.0 later", times=1)
    assert people_site.live(hours=1) == []
    enter(people_site).press("move", address=NEW)
    confirm(people_site, [text for to, text in people_site.live() if to == NEW])
    people_site.live(hours=2)
    mail = people_site.world.mail.mails[-1]
    assert (mail.recipients, mail.message["To"]) == ((NEW,), NEW)
    assert "Clocks & caches" in read_text(mail.message)


@pytest.mark.parametrize(
    ("address", "wrong"),
    [
        ("nobody", "'nobody' is not an e-mail address"),
        ("me@example.com", "This service takes no such address."),
        ("", "is not an e-mail address"),
    ],
)
def test_an_address_that_can_not_be_is_refused_at_its_field(
    shared: ServedSite, tmp_path: Path, address: str, wrong: str
) -> None:
    with open_people_site(tmp_path, shared.world.folder, signup="lab.example") as people_site:
        people_site.subscribe(ME, "abs:measure")
        page = enter(people_site).press("move", address=address)
        assert page.status == 400
        assert wrong in page.text
        assert ("address", address) in page.form("move").fields
        assert people_site.live() == []


def test_a_new_address_of_the_feed_ends_the_old_one(people_site: PeopleSite) -> None:
    people_site.open(people_site.subscribe(ME, "abs:measure")).press("save", feed="yes")
    page = enter(people_site)
    (old,) = {*re.findall(r"https://localhost:8000(/f/[\w.-]+)", page.answer.text)}
    assert "Tail latency" in people_site.http.get(old).text
    page = page.press("feed")
    assert page.said.startswith("Your feed has a new address.")
    (new,) = {*re.findall(r"https://localhost:8000(/f/[\w.-]+)", page.answer.text)}
    assert people_site.http.get(new).status_code == 200
    assert old != new
    with serve_site(people_site.site) as url:
        assert people_site.http.get(f"{url}{old}").status_code == 410


def test_who_has_no_feed_is_offered_no_address_of_one(people_site: PeopleSite) -> None:
    people_site.subscribe(ME, "abs:measure")
    assert not enter(people_site).has("feed")
    page = enter(people_site, READER)
    assert not page.has("feed")
    forged = page.send(page.form("export"), page.form("export").buttons[0], action="feed")
    assert (forged.status, "the operator" in forged.text.lower()) == (400, True)


@pytest.mark.parametrize("address", [ME, READER])
def test_links_that_a_person_ended_never_work_again_and_unsubscribing_in_old_mails_does(
    people_site: PeopleSite, address: str
) -> None:
    if address == ME:
        people_site.subscribe(ME, "abs:measure")
    ended = [people_site.path(address)]
    leave = people_site.world.links(people_site.site).unsubscribe_token(
        people_site.preferences(address).person.destination, "perf-team"
    )
    page = people_site.open(ended[0]).press("end")
    assert (page.status, "Old links to your subscriptions no longer work." in page.text) == (
        200,
        True,
    )
    over = people_site.http.get(ended[0])
    assert (
        over.status_code,
        'Get a new one by mail: <a href="https://localhost:8000/link">' in over.text,
    ) == (
        404,
        True,
    )
    found = {find_preferences(text) for to, text in people_site.live() if to == address}
    assert (len(found), people_site.open(*found).status) == (1, 200)
    people_site.world.arxiv.add(LATER)
    text = next(text for to, text in people_site.live(days=4) if to == address)
    assert find_preferences(text) == people_site.path(address) not in ended
    ended.append(people_site.path(address))
    erased = enter(people_site, address).press("erase", sure="yes")
    assert ("The operator’s file still names your address." in erased.said) is (address == READER)
    people_site.subscribe(address, "abs:measure")
    assert {people_site.open(path).status for path in ended} == {404}
    assert people_site.open(people_site.path(address)).status == 200
    assert (
        people_site.http.post(f"/u/{leave}", data={"List-Unsubscribe": "One-Click"}).status_code
        == 200
    )


def find_preferences(text: str) -> str:
    """Return the path of the page that a mail's link opens."""
    found = re.search(r"https://localhost:8000(/p/[\w-]+)", text)
    assert found is not None
    return found[1]
