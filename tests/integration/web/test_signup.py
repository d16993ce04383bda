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
from tests.integration.web.conftest import ORIGIN, ServedSite, serve_installation
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
        with serve_installation(world):
            return folder


@pytest.fixture
def signup_site(
    lived: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[ServedSite]:
    """An installation where people may subscribe: anybody, or whom the test's parameter names."""
    shutil.copy(lived / "digest.db", tmp_path)
    with live_in(tmp_path) as world:
        world.write_config(extra=OFFERED)
        who = json.dumps(getattr(request, "param", "open"))
        world.edit("[web]", f"[web]\nsignup = {who}")
        with serve_installation(world, is_new=False) as served:
            yield served


def send(
    served: ServedSite, path: str, fields: Mapping[str, Any], **changes: str
) -> httpx.Response:
    """Send a form as the page that shows it does."""
    day = served.site.clock.now().date().isoformat()
    token = secrets.derive_token(served.links.secret, "form", path, day)
    headers = {"Origin": changes.pop("origin", ORIGIN), **changes}
    return served.http.post(path, data={"token": token, **fields}, headers=headers)


def run(served: ServedSite) -> list[ReceivedMail]:
    """Do all that is due; return the mails that came of it."""
    before = len(served.world.mail.mails)
    run_pass(served.site)
    return list(served.world.mail.mails[before:])


def ask(served: ServedSite, **changes: Any) -> httpx.Response:  # noqa: ANN401 - fields of a form
    """Ask for a subscription; return the page that the link in the mail opens."""
    assert send(served, "/subscribe", {**WISH, **changes}).status_code == 200
    (mail,) = run(served)
    found = re.search(r"https://localhost:8000(/c/[\w-]{22})\s", mail.message.get_content())
    assert found is not None
    return served.http.get(found[1])


def count_rows(served: ServedSite, *tables: Table) -> list[int]:
    with served.site.store.read() as conn:
        return [
            conn.execute(select(func.count()).select_from(table)).scalar_one() for table in tables
        ]


def read_text(page: httpx.Response) -> str:
    return " ".join(
        re.sub(r"<[^>]+>", " ", page.text.partition("<main>")[2].partition("</main>")[0]).split()
    )


def test_one_form_and_one_button_and_papers_come(signup_site: ServedSite) -> None:
    said = read_text(send(signup_site, "/subscribe", {**WISH, "joins": "queues", "feed": "yes"}))
    for words in ("ada@example.org", "within minutes", "48 hours", "spam", "digest@example.org"):
        assert words in said
    (letter,) = run(signup_site)
    text = letter.message.get_content()
    assert (letter.recipients, letter.message["Subject"]) == (
        ("ada@example.org",),
        "Please confirm your subscription",
    )
    assert not {"tail", "latency", "Berlin", "Queues"} & set(re.findall(r"\w+", text)), (
        "nothing that was typed"
    )
    assert [letter.message[name] for name in ("List-Unsubscribe", "Auto-Submitted")] == [
        None,
        "auto-generated",
    ]
    link = re.search(r"/c/[\w-]{22}", text)
    assert link is not None
    page = signup_site.http.get(link[0])
    said = read_text(page)
    assert "A saved query of your own: sent daily at 06:00 Europe/Berlin" in said
    assert "Queues &amp; more: sent daily at 02:00 UTC" in said
    assert ("a…@example.org" in said, "tail" in said) == (True, False)
    assert count_rows(signup_site, saved_queries) == [1], "a GET changes nothing"
    done = signup_site.press(page, answer="yes")
    assert "You are subscribed." in read_text(done)
    assert (
        "Your papers Sent daily at 06:00 Europe/Berlin. The next one: Fri 20 Nov 06:00 Berlin"
        in read_text(done)
    )
    assert (
        f'href="https://localhost:8000/p/{signup_site.links.preferences_token(ADA)}"' in done.text
    )
    assert [mail.message["Subject"].partition(":")[0] for mail in run(signup_site)] == [
        "First digest, 3 papers",  # of the one that was joined
        "First digest, 1 paper",
    ]
    signup_site.world.arxiv.add(LATER)
    signup_site.world.clock.sleep(
        (SUNDAY - signup_site.world.clock.now()).total_seconds() + 4 * 3600
    )
    titles = [
        mail.message["List-Id"].split("<")[0].strip()
        for mail in run(signup_site)
        if ADA.address in mail.recipients
    ]
    assert titles == ["Queues & more"], "the stopwatches are nothing of tail latency"


def test_every_other_link_and_a_second_press_lead_to_one_page(signup_site: ServedSite) -> None:
    page = ask(signup_site)
    late = ask(signup_site, address="bo@example.org")
    assert signup_site.press(page, answer="yes").status_code == 200
    answers = [signup_site.press(page, answer=answer) for answer in ("yes", "not-me")]
    signup_site.world.clock.sleep(48 * 3600)
    answers += [
        signup_site.http.get(page.url.path),
        signup_site.http.get(late.url.path),
        signup_site.http.get("/c/AAAAAAAAAAAAAAAAAAAAAA"),
        send(signup_site, late.url.path, {"answer": "yes"}),
    ]
    assert {(answer.status_code, read_text(answer)) for answer in answers} == {
        (404, f"404 This link no longer works It works once, for 48 hours. {AGAIN}")
    }
    run(signup_site)
    assert count_rows(signup_site, signups) == [0]


def test_this_was_not_me_ends_it_for_good_and_says_who_can_lift_it(signup_site: ServedSite) -> None:
    said = read_text(signup_site.press(ask(signup_site), answer="not-me"))
    assert "These mails are blocked." in said
    assert "ops@example.org" in said
    again = send(signup_site, "/subscribe", WISH)
    assert "Check your mail" in read_text(again), "nobody learns of it"
    assert run(signup_site) == []
    assert count_rows(signup_site, signups, suppressions) == [0, 1]
    with signup_site.site.store.read() as conn:
        assert ADA.address not in conn.execute(select(subscribers.c.address)).scalars().all()


def test_no_more_queries_are_taken_than_arxivs_search_is_asked_for(
    signup_site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = signup_site.site.config
    monkeypatch.setattr(
        signup_site.site, "config", replace(config, arxiv=replace(config.arxiv, source="query"))
    )
    monkeypatch.setattr("digest.people.preferences.MOST_SEARCHED", 1)
    refused = signup_site.press(ask(signup_site), answer="yes")
    assert refused.status_code == 400
    assert "No more saved queries are possible here Ask who runs this service." in read_text(
        refused
    )
    assert count_rows(signup_site, saved_queries) == [1]


def test_a_button_that_is_none_does_nothing(signup_site: ServedSite) -> None:
    page = ask(signup_site)
    assert signup_site.press(page, answer="perhaps").status_code == 400
    assert (
        signup_site.press(page, answer="yes", origin="https://elsewhere.example").status_code == 403
    )
    assert signup_site.press(page, answer="yes", token="x").status_code == 403
    assert signup_site.press(page, answer="yes").status_code == 200


@pytest.mark.parametrize("path", ["/subscribe", "/link"])
def test_known_and_unknown_addresses_are_answered_alike(signup_site: ServedSite, path: str) -> None:
    signup_site.press(ask(signup_site), answer="yes")
    known = send(signup_site, path, WISH)
    unknown = send(signup_site, path, {**WISH, "address": "bo@example.org"})
    assert known.text.replace("ada@", "bo@") == unknown.text
    others = ("date", "content-length")  # the other address has another length
    assert dict(known.headers, **dict.fromkeys(others)) == dict(
        unknown.headers, **dict.fromkeys(others)
    )
    if path == "/link":
        mails = [
            mail
            for mail in run(signup_site)
            if mail.message["Subject"] == "Your link to your subscriptions"
        ]
        assert [mail.recipients for mail in mails] == [(ADA.address,)]
        assert f"/p/{signup_site.links.preferences_token(ADA)}" in mails[0].message.get_content()


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
    signup_site: ServedSite, changes: dict[str, Any], said: str
) -> None:
    given = {**WISH, **changes}
    page = send(signup_site, "/subscribe", given)
    assert (page.status_code, said in read_text(page)) == (400, True), read_text(page)
    kept = dict(
        re.findall(r'<input type="(?:text|email)" id="(\w+)"[^>]* value="([^"]*)"', page.text)
    )
    assert kept["q"] == given["q"]
    assert ('<option value="daily" selected>' in page.text) == (given["days"] == "daily")
    assert count_rows(signup_site, signups, request_counts) == [0, 0], "nothing of it is stored"


@pytest.mark.parametrize("signup_site", ["example.org"], indirect=True)
def test_where_only_domains_may_others_are_told_which(signup_site: ServedSite) -> None:
    page = send(signup_site, "/subscribe", {**WISH, "address": "ada@other.example"})
    assert (
        page.status_code,
        "Only addresses of example.org may subscribe here" in read_text(page),
    ) == (400, True)


@pytest.mark.parametrize("signup_site", [["example.org", "carol@other.example"]], indirect=True)
def test_who_may_subscribe_is_known_of_domains_and_of_nobody(signup_site: ServedSite) -> None:
    assert "Check your mail" in read_text(send(signup_site, "/subscribe", WISH))
    pages = [
        send(signup_site, "/subscribe", {**WISH, "address": f"{name}@other.example"})
        for name in ("carol", "dave_")
    ]
    assert pages[0].text.replace("carol", "dave_") == pages[1].text
    assert "If yours is not one of them, no mail comes." in read_text(pages[0])
    assert [mail.recipients for mail in run(signup_site)] == [
        ("ada@example.org",),
        ("carol@other.example",),
    ]


@pytest.mark.parametrize("signup_site", ["closed"], indirect=True)
def test_where_nobody_may_subscribe_readers_still_get_their_link(signup_site: ServedSite) -> None:
    assert send(signup_site, "/subscribe", WISH).status_code == 404
    page = signup_site.press(signup_site.http.get("/link"), address="reader@example.org")
    assert "If reader@example.org is subscribed" in read_text(page)
    assert [mail.recipients for mail in run(signup_site)] == [("reader@example.org",)]


def test_a_met_limit_says_when_it_ends_and_the_operator_is_told(signup_site: ServedSite) -> None:
    for number in range(REQUESTS_OF_NETWORK.most):
        fields = {"address": f"a{number}@example.org"}
        assert (
            send(
                signup_site, "/link", fields, **{"X-Forwarded-For": f"203.0.113.{number}"}
            ).status_code
            == 200
        )
    page = send(signup_site, "/subscribe", WISH, **{"X-Forwarded-For": "203.0.113.99"})
    assert (page.status_code, page.headers["Retry-After"]) == (429, str(73 * 60))
    assert "Try again after Fri 20 Nov 05:00 UTC." in read_text(page)
    assert (
        send(signup_site, "/subscribe", WISH, **{"X-Forwarded-For": "198.51.100.7"}).status_code
        == 200
    )
    with signup_site.site.store.read() as conn:
        names = [
            alarm.name
            for alarm in load_alarms(conn, signup_site.site.config, signup_site.site.clock.now())
        ]
    assert names == [AlarmName.SIGNUPS]


def test_the_address_of_a_letter_that_failed_alarms_nobody_and_is_forgotten(
    signup_site: ServedSite,
) -> None:
    signup_site.world.mail.script.reply(
        "RCPT", "550 5.1.1 no such user", times=9, match="ada@example.org"
    )
    send(signup_site, "/subscribe", WISH)
    run(signup_site)
    with signup_site.site.store.read() as conn:
        assert (
            conn.execute(
                select(deliveries.c.state).where(deliveries.c.destination == str(ADA))
            ).scalar()
            == "dead"
        )
        assert load_alarms(conn, signup_site.site.config, signup_site.site.clock.now()) == ()
    signup_site.world.clock.sleep(48 * 3600)
    run(signup_site)
    with signup_site.site.store.read() as conn:
        dumped = "\n".join(conn.connection.driver_connection.iterdump())  # type: ignore[union-attr]
    assert ADA.address not in dumped
