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
from tests.integration.web.conftest import Desk
from tests.integration.web.visitors import ME, ORIGIN, OTHER, House, Page, open_house, read_text
from tests.integration.web.world import LATER

READER = "reader@example.org"
NEW = "new@lab.example"


@pytest.fixture
def house(shared: Desk, tmp_path: Path) -> Iterator[House]:
    with open_house(tmp_path, shared.world.folder / "digest.db") as house:
        yield house


def fetch_link(house: House, address: str = ME) -> str:
    """Ask for a fresh link, and return the path in the mail."""
    house.open(house.path(address)).press("fresh")
    texts = [text for to, text in house.live() if to == address]
    found = re.search(r"https://localhost:8000(/k/[\w-]+)", texts[-1])
    assert found is not None
    return found[1]


def enter(house: House, address: str = ME) -> Page:
    """Open the private page by a fresh link."""
    page = house.open(fetch_link(house, address))
    return page.send(page.forms[0], page.forms[0].buttons[0])


def confirm(house: House, texts: list[str]) -> Page:
    (path,) = re.findall(r"https://localhost:8000(/c/[\w-]+)", " ".join(texts))
    page = house.http.get(path)
    token = re.search(r'name="token" value="([\w-]+)"', page.text)
    assert token is not None
    return Page(
        house.http, house.http.post(path, data={"token": token[1], "answer": "yes"}, headers=ORIGIN)
    )


def test_a_fresh_link_opens_once_and_looking_at_it_uses_nothing_up(house: House) -> None:
    house.subscribe(ME, "abs:measure")
    path = fetch_link(house)
    before = house.dump()
    for method in ("GET", "HEAD", "GET"):
        assert house.http.request(method, path).status_code == 200
    assert house.http.post(path, data={"token": "x"}, headers=ORIGIN).status_code == 403
    assert ME not in house.http.get(path).text
    assert house.dump() == before
    page = house.open(path)
    opened = page.send(page.forms[0], page.forms[0].buttons[0])
    assert (opened.status, ME in opened.text) == (200, True)
    assert page.send(page.forms[0], page.forms[0].buttons[0]).status == 404
    assert house.http.get(path).status_code == 404


def test_a_fresh_link_is_over_after_half_an_hour_and_so_is_the_page_it_opened(house: House) -> None:
    house.subscribe(ME, "abs:measure")
    page = enter(house)
    path = fetch_link(house)
    house.world.clock.sleep(30 * 60 - 1)
    assert (page.press("export").status, house.http.get(path).status_code) == (200, 200)
    house.world.clock.sleep(1)
    closed = page.press("export")
    assert (closed.status, "This page is closed" in closed.text) == (403, True)
    assert house.http.get(path).status_code == 404


def test_a_key_opens_the_data_of_one_person_and_no_other_is_as_good(house: House) -> None:
    house.subscribe(ME, "abs:measure")
    house.subscribe(OTHER, "ti:clocks")
    page = enter(house)
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
    before = house.dump()
    for wrong in forged:
        assert page.press("erase", key=wrong, sure="yes").status == 403, wrong
    assert house.dump() == before
    assert page.press("export", key=key).status == 200


def test_everything_stored_of_a_person_is_in_their_export(house: House) -> None:
    house.subscribe(ME, "abs:measure", "ti:clocks")
    house.live(hours=1)
    house.open(house.path()).press("unsubscribe", "*").press("undo", "*")
    answer = enter(house).press("export").answer
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


def test_erasing_leaves_no_trace_of_the_address(house: House) -> None:
    path = house.subscribe(ME, "abs:measure")
    house.live(hours=1)
    page = enter(house)
    page.press("move", address=NEW)
    house.open(path).press("unsubscribe", "*")
    unsure = page.press("erase")
    assert (unsure.status, "Tick the box to say that you are sure." in unsure.text) == (400, True)
    assert ME in house.dump()
    erased = page.press("erase", sure="yes")
    assert (erased.status, erased.said) == (200, "Nothing about you is stored any more.")
    assert "Everything is erased" in erased.text
    left = house.dump()
    assert (ME in left, "Your papers" in left) == (False, False)
    assert house.http.get(path).status_code == 404
    assert page.press("export").status == 403
    house.world.arxiv.add(LATER)
    assert {address for address, _ in house.live(days=4)} == {READER, "second@example.org"}
    assert ME not in house.dump()


def test_after_moving_everything_comes_to_the_new_address_alone(house: House) -> None:
    path = house.subscribe(ME, "abs:measure", cadence="mondays at 12:00 UTC")
    ((_, first),) = house.live(hours=1)
    (leave,) = re.findall(r"https://localhost:8000(/u/[\w-]+)", first)
    house.world.arxiv.add(LATER)
    house.live(days=2.96)
    asked = enter(house).press("move", address=f" {NEW.upper()} ")
    assert asked.said.startswith(f"A mail is on its way to {NEW}.")
    mails = house.live()
    assert [address for address, _ in mails] == [NEW]
    assert "measure" not in mails[0][1]
    assert house.http.get(path).status_code == 200, "nothing changes before the button is pressed"
    moved = confirm(house, [text for _, text in mails])
    assert (moved.status, "n…@lab.example" in moved.text) == (200, True)
    assert house.http.get(path).status_code == 404
    assert house.open(house.path(NEW)).has("save")
    with house.site.store.read() as conn:
        assert load_person(conn, ME) is None
    assert [(address, LATER.title in text) for address, text in house.live(hours=9)] == [
        (NEW, True)
    ]
    token = re.search(r'name="token" value="([\w-]+)"', house.http.get(leave).text)
    assert token is not None
    house.http.post(leave, data={"token": token[1], "answer": "unsubscribe"}, headers=ORIGIN)
    assert "You unsubscribed on Mon 23 Nov." in house.open(house.path(NEW)).text, (
        "by a link of an old mail"
    )
    house.live(days=3)
    assert f"'mailto:{ME}'" not in house.dump(), (
        "no token, no destination, no delivery, and the letter is over"
    )
    enter(house, NEW).press("erase", sure="yes")
    assert (ME in house.dump(), NEW in house.dump()) == (False, False)


def test_who_moved_can_still_unsubscribe_from_what_the_file_sends_to_the_old_address(
    house: House,
) -> None:
    house.subscribe(READER, "abs:measure")
    team = f"/u/{house.world.links(house.site).unsubscribe_token(Destination.parse(f'mailto:{READER}'), 'perf-team')}"
    house.live(hours=1)
    enter(house, READER).press("move", address=NEW)
    assert confirm(house, [text for _, text in house.live()]).status == 200
    assert "r…@example.org" in house.open(team).text
    assert house.http.post(team, data={"List-Unsubscribe": "One-Click"}).status_code == 200
    house.world.arxiv.add(LATER)
    assert sorted(address for address, _ in house.live(days=4)) == [NEW, "second@example.org"]


def test_a_message_that_was_being_tried_again_is_written_anew_for_the_new_address(
    house: House,
) -> None:
    house.subscribe(ME, "abs:measure")
    house.world.mail.script.reply("RCPT", "451 4.3.0 later", times=1)
    assert house.live(hours=1) == []
    enter(house).press("move", address=NEW)
    confirm(house, [text for to, text in house.live() if to == NEW])
    house.live(hours=2)
    mail = house.world.mail.mails[-1]
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
    shared: Desk, tmp_path: Path, address: str, wrong: str
) -> None:
    with open_house(tmp_path, shared.world.folder / "digest.db", signup="lab.example") as house:
        house.subscribe(ME, "abs:measure")
        page = enter(house).press("move", address=address)
        assert page.status == 400
        assert wrong in page.text
        assert ("address", address) in page.form("move").fields
        assert house.live() == []


def test_a_new_address_of_the_feed_ends_the_old_one(house: House) -> None:
    house.open(house.subscribe(ME, "abs:measure")).press("save", feed="yes")
    page = enter(house)
    (old,) = {*re.findall(r"https://localhost:8000(/f/[\w.-]+)", page.answer.text)}
    assert "Tail latency" in house.http.get(old).text
    page = page.press("feed")
    assert page.said.startswith("Your feed has a new address.")
    (new,) = {*re.findall(r"https://localhost:8000(/f/[\w.-]+)", page.answer.text)}
    assert house.http.get(new).status_code == 200
    assert old != new
    with serve_site(house.site) as url:
        assert house.http.get(f"{url}{old}").status_code == 410


def test_who_has_no_feed_is_offered_no_address_of_one(house: House) -> None:
    house.subscribe(ME, "abs:measure")
    assert not enter(house).has("feed")
    page = enter(house, READER)
    assert not page.has("feed")
    forged = page.send(page.form("export"), page.form("export").buttons[0], action="feed")
    assert (forged.status, "the operator" in forged.text.lower()) == (400, True)


@pytest.mark.parametrize("address", [ME, READER])
def test_links_that_a_person_ended_never_work_again_and_unsubscribing_in_old_mails_does(
    house: House, address: str
) -> None:
    if address == ME:
        house.subscribe(ME, "abs:measure")
    ended = [house.path(address)]
    leave = house.world.links(house.site).unsubscribe_token(
        house.preferences(address).person.destination, "perf-team"
    )
    page = house.open(ended[0]).press("end")
    assert (page.status, "Old links to your subscriptions no longer work." in page.text) == (
        200,
        True,
    )
    over = house.http.get(ended[0])
    assert (
        over.status_code,
        'Get a new one by mail: <a href="https://localhost:8000/link">' in over.text,
    ) == (
        404,
        True,
    )
    found = {find_preferences(text) for to, text in house.live() if to == address}
    assert (len(found), house.open(*found).status) == (1, 200)
    house.world.arxiv.add(LATER)
    text = next(text for to, text in house.live(days=4) if to == address)
    assert find_preferences(text) == house.path(address) not in ended
    ended.append(house.path(address))
    erased = enter(house, address).press("erase", sure="yes")
    assert ("The operator’s file still names your address." in erased.said) is (address == READER)
    house.subscribe(address, "abs:measure")
    assert {house.open(path).status for path in ended} == {404}
    assert house.open(house.path(address)).status == 200
    assert house.http.post(f"/u/{leave}", data={"List-Unsubscribe": "One-Click"}).status_code == 200


def find_preferences(text: str) -> str:
    """Return the path of the page that a mail's link opens."""
    found = re.search(r"https://localhost:8000(/p/[\w-]+)", text)
    assert found is not None
    return found[1]
