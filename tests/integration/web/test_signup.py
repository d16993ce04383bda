"""Somebody subscribes by themselves: over real HTTP, with the mails that come of it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Table, func, select

from digest.inspect.alarm_facts import load_alarms
from digest.model import secrets
from digest.model.destinations import Destination
from digest.model.people import REQUESTS_OF_NETWORK
from digest.serve.steps import run_pass
from digest.store.alarms import AlarmName
from digest.store.schema import (
    deliveries,
    request_counts,
    saved_queries,
    signups,
    subscribers,
    suppressions,
)
from tests.fakes.mail import ReceivedMail
from tests.integration.web.conftest import ORIGIN, Desk, open_desk
from tests.integration.web.world import LATER, SUNDAY, live_in

OFFERED = """
[[subscriptions]]
name = "queues"
title = "Queues & more"
follow = ["perf"]
to = "slack:#papers"
joinable = true
"""

WISH: Mapping[str, Any] = {
    "address": "Ada@Example.org",
    "q": "tail latency",
    "days": "daily",
    "hour": "6",
    "zone": "Europe/Berlin",
    "kinds": ["new", "cross-listed"],
}
AGAIN = "If you used it, it worked. To ask again, open the first page."
ADA = Destination.parse("mailto:ada@example.org")


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation that has had its first digest."""
    folder = tmp_path_factory.mktemp("lived")
    with live_in(folder) as world:
        world.write_config(extra=OFFERED)
        with open_desk(world):
            return folder


@pytest.fixture
def office(lived: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """An installation where people may subscribe: anybody, or whom the test's parameter names."""
    shutil.copy(lived / "digest.db", tmp_path)
    with live_in(tmp_path) as world:
        world.write_config(extra=OFFERED)
        path = tmp_path / "digest.toml"
        who = json.dumps(getattr(request, "param", "open"))
        path.write_text(path.read_text().replace("[web]", f"[web]\nsignup = {who}"))
        with open_desk(world, is_new=False) as desk:
            yield desk


def send(desk: Desk, path: str, fields: Mapping[str, Any], **changes: str) -> httpx.Response:
    """Send a form as the page that shows it does."""
    day = desk.site.clock.now().date().isoformat()
    token = secrets.derive_token(desk.links.secret, "form", path, day)
    headers = {"Origin": changes.pop("origin", ORIGIN), **changes}
    return desk.http.post(path, data={"token": token, **fields}, headers=headers)


def run(desk: Desk) -> list[ReceivedMail]:
    """Do all that is due; return the mails that came of it."""
    before = len(desk.world.mail.mails)
    run_pass(desk.site)
    return list(desk.world.mail.mails[before:])


def ask(desk: Desk, **changes: Any) -> httpx.Response:  # noqa: ANN401 - fields of a form
    """Ask for a subscription; return the page that the link in the mail opens."""
    assert send(desk, "/subscribe", {**WISH, **changes}).status_code == 200
    (mail,) = run(desk)
    found = re.search(r"https://localhost:8000(/c/[\w-]{22})\s", mail.message.get_content())
    assert found is not None
    return desk.http.get(found[1])


def count_rows(desk: Desk, *tables: Table) -> list[int]:
    with desk.site.store.read() as conn:
        counts = []
        for table in tables:
            rows = select(func.count()).select_from(table)
            counts.append(conn.execute(rows).scalar_one())
        return counts


def read_text(page: httpx.Response) -> str:
    _, _, rest = page.text.partition("<main>")
    main, _, _ = rest.partition("</main>")
    text = re.sub(r"<[^>]+>", " ", main)
    return " ".join(text.split())


def test_one_form_and_one_button_and_papers_come(office: Desk) -> None:
    said = read_text(send(office, "/subscribe", {**WISH, "joins": "queues", "feed": "yes"}))
    for words in ("ada@example.org", "within minutes", "48 hours", "spam", "digest@example.org"):
        assert words in said
    (letter,) = run(office)
    text = letter.message.get_content()
    assert (letter.recipients, letter.message["Subject"]) == (
        ("ada@example.org",),
        "Please confirm your subscription",
    )
    typed = set(re.findall(r"\w+", text))
    assert typed.isdisjoint({"tail", "latency", "Berlin", "Queues"}), "nothing that was typed"
    assert [letter.message[name] for name in ("List-Unsubscribe", "Auto-Submitted")] == [
        None,
        "auto-generated",
    ]
    link = re.search(r"/c/[\w-]{22}", text)
    assert link is not None
    page = office.http.get(link[0])
    said = read_text(page)
    assert "A saved query of your own: sent daily at 06:00 Europe/Berlin" in said
    assert "Queues &amp; more: sent daily at 02:00 UTC" in said
    assert ("a…@example.org" in said, "tail" in said) == (True, False)
    assert count_rows(office, saved_queries) == [1], "a GET changes nothing"
    done = office.press(page, answer="yes")
    assert "You are subscribed." in read_text(done)
    assert (
        "Your papers Sent daily at 06:00 Europe/Berlin. The next one: Fri 20 Nov 06:00 Berlin"
        in read_text(done)
    )
    token = office.links.preferences_token(ADA)
    assert f'href="https://localhost:8000/p/{token}"' in done.text
    of_joined, of_own = (mail.message["Subject"] for mail in run(office))
    assert of_joined.startswith("First digest, 3 papers:")
    assert of_own.startswith("First digest, 1 paper:")
    office.world.arxiv.add(LATER)
    until_sunday = SUNDAY - office.world.clock.now()
    office.world.clock.sleep(until_sunday.total_seconds() + 4 * 3600)
    titles = []
    for mail in run(office):
        if ADA.address in mail.recipients:
            title, _, _ = mail.message["List-Id"].partition("<")
            titles.append(title.strip())
    assert titles == ["Queues & more"], "the stopwatches are nothing of tail latency"


def test_every_other_link_and_a_second_press_lead_to_one_page(office: Desk) -> None:
    page = ask(office)
    late = ask(office, address="bo@example.org")
    assert office.press(page, answer="yes").status_code == 200
    answers = [office.press(page, answer=answer) for answer in ("yes", "not-me")]
    office.world.clock.sleep(48 * 3600)
    answers += [
        office.http.get(page.url.path),
        office.http.get(late.url.path),
        office.http.get("/c/AAAAAAAAAAAAAAAAAAAAAA"),
        send(office, late.url.path, {"answer": "yes"}),
    ]
    assert {(answer.status_code, read_text(answer)) for answer in answers} == {
        (404, f"404 This link no longer works It works once, for 48 hours. {AGAIN}")
    }
    run(office)
    assert count_rows(office, signups) == [0]


def test_this_was_not_me_ends_it_for_good_and_says_who_can_lift_it(office: Desk) -> None:
    said = read_text(office.press(ask(office), answer="not-me"))
    assert "These mails are blocked." in said
    assert "ops@example.org" in said
    again = send(office, "/subscribe", WISH)
    assert "Check your mail" in read_text(again), "nobody learns of it"
    assert run(office) == []
    assert count_rows(office, signups, suppressions) == [0, 1]
    with office.site.store.read() as conn:
        assert ADA.address not in conn.execute(select(subscribers.c.address)).scalars().all()


def test_no_more_queries_are_taken_than_arxivs_search_is_asked_for(
    office: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = office.site.config
    monkeypatch.setattr(
        office.site, "config", replace(config, arxiv=replace(config.arxiv, source="query"))
    )
    monkeypatch.setattr("digest.people.preferences.MOST_SEARCHED", 1)
    refused = office.press(ask(office), answer="yes")
    assert refused.status_code == 400
    assert "No more saved queries are possible here Ask who runs this service." in read_text(
        refused
    )
    assert count_rows(office, saved_queries) == [1]


def test_a_button_that_is_none_does_nothing(office: Desk) -> None:
    page = ask(office)
    assert office.press(page, answer="perhaps").status_code == 400
    assert office.press(page, answer="yes", origin="https://elsewhere.example").status_code == 403
    assert office.press(page, answer="yes", token="x").status_code == 403
    assert office.press(page, answer="yes").status_code == 200


@pytest.mark.parametrize("path", ["/subscribe", "/link"])
def test_known_and_unknown_addresses_are_answered_alike(office: Desk, path: str) -> None:
    office.press(ask(office), answer="yes")
    known = send(office, path, WISH)
    unknown = send(office, path, {**WISH, "address": "bo@example.org"})
    assert known.text.replace("ada@", "bo@") == unknown.text
    others = ("date", "content-length")  # the other address has another length
    left_out = dict.fromkeys(others)
    assert dict(known.headers, **left_out) == dict(unknown.headers, **left_out)
    if path == "/link":
        mails = [
            mail
            for mail in run(office)
            if mail.message["Subject"] == "Your link to your subscriptions"
        ]
        assert [mail.recipients for mail in mails] == [(ADA.address,)]
        assert f"/p/{office.links.preferences_token(ADA)}" in mails[0].message.get_content()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"q": "ti:(gpu OR"}, "OR has nothing after it"),
        ({"q": "x" * 2001}, "This is longer than 2,000 characters"),
        ({"q": " ", "joins": []}, "Nothing is chosen yet"),
        ({"q": "", "joins": "queues", "feed": "yes"}, "A feed is made of what you follow"),
        ({"joins": "perf-team"}, "Something is chosen that is not offered"),
        ({"kinds": []}, "No kind of paper is chosen"),
        ({"kinds": "edited"}, "Something is chosen that is not offered"),
        ({"hour": "24"}, "These days or this hour are not offered"),
        ({"zone": "Mars/Olympus"}, "is not a time zone"),
        ({"address": "ada"}, "is not an e-mail address"),
        ({"address": "ada@example.org\r\nBcc: bo@example.org"}, "is not an e-mail address"),
    ],
)
def test_what_cannot_be_taken_is_said_above_the_form_as_it_was_filled_in(
    office: Desk, changes: dict[str, Any], said: str
) -> None:
    given = {**WISH, **changes}
    page = send(office, "/subscribe", given)
    text = read_text(page)
    assert page.status_code == 400, text
    assert said in text
    kept = dict(
        re.findall(r'<input type="(?:text|email)" id="(\w+)"[^>]* value="([^"]*)"', page.text)
    )
    assert kept["q"] == given["q"]
    assert ('<option value="daily" selected>' in page.text) == (given["days"] == "daily")
    assert count_rows(office, signups, request_counts) == [0, 0], "nothing of it is stored"


@pytest.mark.parametrize("office", ["example.org"], indirect=True)
def test_where_only_domains_may_subscribe_others_read_which(office: Desk) -> None:
    page = send(office, "/subscribe", {**WISH, "address": "ada@other.example"})
    assert (
        page.status_code,
        "Only addresses of example.org may subscribe here" in read_text(page),
    ) == (400, True)


@pytest.mark.parametrize("office", [["example.org", "carol@other.example"]], indirect=True)
def test_who_may_subscribe_is_known_of_domains_and_of_nobody(office: Desk) -> None:
    assert "Check your mail" in read_text(send(office, "/subscribe", WISH))
    of_carol = send(office, "/subscribe", {**WISH, "address": "carol@other.example"})
    of_dave = send(office, "/subscribe", {**WISH, "address": "dave_@other.example"})
    assert of_carol.text.replace("carol", "dave_") == of_dave.text
    assert "If yours is not one of them, no mail comes." in read_text(of_carol)
    assert [mail.recipients for mail in run(office)] == [
        ("ada@example.org",),
        ("carol@other.example",),
    ]


@pytest.mark.parametrize("office", ["closed"], indirect=True)
def test_where_nobody_may_subscribe_readers_still_get_their_link(office: Desk) -> None:
    assert send(office, "/subscribe", WISH).status_code == 404
    page = office.press(office.http.get("/link"), address="reader@example.org")
    assert "If reader@example.org is subscribed" in read_text(page)
    assert [mail.recipients for mail in run(office)] == [("reader@example.org",)]


def test_a_met_limit_says_when_it_ends_and_the_operator_is_informed(office: Desk) -> None:
    for number in range(REQUESTS_OF_NETWORK.most):
        fields = {"address": f"a{number}@example.org"}
        assert (
            send(office, "/link", fields, **{"X-Forwarded-For": f"203.0.113.{number}"}).status_code
            == 200
        )
    page = send(office, "/subscribe", WISH, **{"X-Forwarded-For": "203.0.113.99"})
    assert page.status_code == 429
    assert page.headers["Retry-After"] == str(73 * 60)
    assert "Try again after Fri 20 Nov 05:00 UTC." in read_text(page)
    assert (
        send(office, "/subscribe", WISH, **{"X-Forwarded-For": "198.51.100.7"}).status_code == 200
    )
    with office.site.store.read() as conn:
        alarms = load_alarms(conn, office.site.config, office.site.clock.now())
    assert [alarm.name for alarm in alarms] == [AlarmName.SIGNUPS]


def test_the_address_of_a_letter_that_failed_alarms_nobody_and_is_forgotten(office: Desk) -> None:
    office.world.mail.script.reply(
        "RCPT", "550 5.1.1 no such user", times=9, match="ada@example.org"
    )
    send(office, "/subscribe", WISH)
    run(office)
    state_of_hers = select(deliveries.c.state).where(deliveries.c.destination == str(ADA))
    with office.site.store.read() as conn:
        assert conn.execute(state_of_hers).scalar() == "dead"
        assert load_alarms(conn, office.site.config, office.site.clock.now()) == ()
    office.world.clock.sleep(48 * 3600)
    run(office)
    with office.site.store.read() as conn:
        dumped = "\n".join(conn.connection.driver_connection.iterdump())  # type: ignore[union-attr]
    assert ADA.address not in dumped
