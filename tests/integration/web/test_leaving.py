from __future__ import annotations

import re

import pytest
from sqlalchemy import select, update

from digest.deliver.unsubscribe import leave, resubscribe
from digest.model.subscriptions import Destination
from digest.plan.step import plan
from digest.serve.steps import run_pass
from digest.store.schema import subscriptions, suppressions
from tests.integration.web.conftest import Desk
from tests.integration.web.world import LATER, READER, SUNDAY

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def path_in_mail(desk: Desk, recipient: str = "reader@example.org") -> str:
    """Return the one-click address of the mail somebody got, as a mail program would read it."""
    (mail,) = [mail for mail in desk.mails if mail.recipients == (recipient,)]
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = re.search(r"<https://localhost:8000(/u/[\w-]+)>", mail.message["List-Unsubscribe"])
    assert found is not None
    return found[1]


def recipients_of_next_mailing(desk: Desk) -> list[str]:
    """Live until the next mailing is out and digested; return who got a mail."""
    before = len(desk.world.mail.mails)
    desk.world.arxiv.add(LATER)
    desk.world.clock.sleep((SUNDAY - desk.world.clock.now()).total_seconds())
    run_pass(desk.site)
    return sorted(mail.recipients[0] for mail in desk.world.mail.mails[before:])


@pytest.mark.parametrize("encoding", ["urlencoded", "multipart", "neither"])
def test_one_click_ends_it_in_every_encoding(desk: Desk, encoding: str) -> None:
    path = path_in_mail(desk)
    match encoding:
        case "urlencoded":
            answer = desk.http.post(path, data=ONE_CLICK)
        case "multipart":
            answer = desk.http.post(path, files={name: (None, value) for name, value in ONE_CLICK.items()})
        case _:
            answer = desk.http.post(path)
    assert answer.status_code == 200
    assert not answer.history
    assert "set-cookie" not in answer.headers
    assert recipients_of_next_mailing(desk) == ["second@example.org"]


def test_a_turn_that_nobody_hears_is_none_that_could_be_missed(desk: Desk) -> None:
    with desk.site.store.begin() as conn:
        for reader in (READER, "mailto:second@example.org", "slack:#papers"):
            leave(conn, Destination.parse(reader), "perf-team", how="operator", at=desk.world.clock.now())
        conn.execute(update(subscriptions).values(next_due_at=desk.world.clock.now()))
    plan(desk.site)
    with desk.site.store.read() as conn:
        assert conn.execute(select(subscriptions.c.next_due_at)).scalar() is None


def test_what_waits_in_the_outbox_is_not_sent_to_whoever_left_meanwhile(desk: Desk) -> None:
    path = path_in_mail(desk)
    desk.world.mail.script.reply("RCPT", "451 4.3.0 later", times=2)
    assert recipients_of_next_mailing(desk) == []
    assert desk.http.post(path, data=ONE_CLICK).status_code == 200
    before = len(desk.world.mail.mails)
    desk.world.clock.sleep(3600)
    run_pass(desk.site)
    assert [mail.recipients for mail in desk.world.mail.mails[before:]] == [("second@example.org",)]


def test_leaving_beats_the_file_that_still_names_the_address(desk: Desk) -> None:
    desk.http.post(path_in_mail(desk), data=ONE_CLICK)
    again = desk.world.open()
    run_pass(again)
    again.close()
    assert recipients_of_next_mailing(desk) == ["second@example.org"]


def test_an_address_nobody_was_given_is_answered_without_a_name_and_ends_nothing(desk: Desk) -> None:
    paths = ("/u/AAAAAAAAAAAAAAAAAAAAAA", "/u/BBBBBBBBBBBBBBBBBBBBBB")
    answers = [desk.http.post(path, data=ONE_CLICK) for path in paths]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert "<h1>You are unsubscribed.</h1>" in answers[0].text
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_who_has_left_is_told_what_and_asked_no_more(desk: Desk) -> None:
    path = path_in_mail(desk)
    page = desk.http.get(path).text
    assert "Unsubscribe from perf-team?" in page
    assert ("r…@example.org" in page, "reader@" in page) == (True, False)
    assert "<h1>You are unsubscribed from perf-team.</h1>" in desk.http.post(path, data=ONE_CLICK).text
    again = desk.http.get(path)
    assert (again.status_code, "<h1>You are already unsubscribed from perf-team.</h1>" in again.text) == (
        200,
        True,
    )
    assert "<form" not in again.text
    with desk.site.store.begin() as conn:
        resubscribe(conn, Destination.parse(READER), "perf-team", how="operator", at=desk.world.clock.now())
    assert "Unsubscribe from perf-team?" in desk.http.get(path).text


def test_a_token_made_for_something_else_ends_nothing(desk: Desk) -> None:
    web = desk.links.web_token("perf-team", "run:2")
    feed = desk.links.feed_token("perf-team", 0)
    for token in (web, feed):
        assert desk.http.post(f"/u/{token}", data=ONE_CLICK).status_code == 200
        assert desk.http.get(f"/u/{token}").status_code == 404
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_the_button_on_the_page_leads_where_leaving_happens(desk: Desk) -> None:
    path = path_in_mail(desk)
    page = desk.http.get(path)
    action = re.search(r'action="([^"]+)"', page.text)
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]+)"', page.text))
    assert action is not None
    assert fields == ONE_CLICK
    target = page.url.join(action[1])
    assert target.path == path
    assert "You are unsubscribed" in desk.http.post(target, data=fields).text
    assert recipients_of_next_mailing(desk) == ["second@example.org"]
