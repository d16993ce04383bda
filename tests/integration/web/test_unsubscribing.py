from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from digest.model.destinations import Destination
from digest.people.unsubscription import resubscribe_to
from digest.serve.steps import run_pass
from digest.store.schema import consents, suppressions
from tests.integration.web.conftest import ORIGIN, Desk
from tests.integration.web.world import LATER, READER, SUNDAY

FORM = "application/x-www-form-urlencoded"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def path_in_mail(desk: Desk, recipient: str = "reader@example.org") -> str:
    """Return the one-click address of the mail somebody got, as a mail program would read it."""
    (mail,) = [mail for mail in desk.mails if mail.recipients == (recipient,)]
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = re.search(r"<https://localhost:8000(/u/[\w-]+)>", mail.message["List-Unsubscribe"])
    assert found is not None
    return found[1]


def recipients_of_next_announcement(desk: Desk) -> list[str]:
    """Live until the next announcement is out and digested; return who got a mail."""
    before = len(desk.world.mail.mails)
    desk.world.arxiv.add(LATER)
    desk.world.clock.sleep((SUNDAY - desk.world.clock.now()).total_seconds())
    run_pass(desk.site)
    return sorted(mail.recipients[0] for mail in desk.world.mail.mails[before:])


MULTIPART = "multipart/form-data; boundary=b"
QUOTED = (
    b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n'
)
TYPED = QUOTED.replace(b"\r\n\r\n", b"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n")


@pytest.mark.parametrize(
    "body", [None, QUOTED, QUOTED.replace(b'"', b"").removesuffix(b"\r\n"), TYPED]
)
def test_one_click_ends_it_in_every_encoding(desk: Desk, body: bytes | None) -> None:
    path = path_in_mail(desk)
    if body is None:
        answer = desk.http.post(path, data=ONE_CLICK)
    else:
        answer = desk.http.post(path, content=body, headers={"Content-Type": MULTIPART})
    assert answer.status_code == 200
    assert not answer.history
    assert "set-cookie" not in answer.headers
    assert recipients_of_next_announcement(desk) == ["second@example.org"]


def test_an_address_nobody_was_given_is_answered_without_a_name_and_ends_nothing(
    desk: Desk,
) -> None:
    of_others = (desk.links.web_token("perf-team", "run:2"), desk.links.feed_token("perf-team", 0))
    unknown = ("A" * 22, "B" * 22)
    answers = []
    for token in (*unknown, *of_others):
        answers.append(desk.http.post(f"/u/{token}", data=ONE_CLICK))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert "<h1>You are unsubscribed.</h1>" in answers[0].text
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_who_has_left_reads_what_they_left_and_is_asked_no_more(desk: Desk) -> None:
    path = path_in_mail(desk)
    page = desk.http.get(path).text
    assert "Unsubscribe from Perf team?" in page
    assert ("r…@example.org" in page, "reader@" in page) == (True, False)
    assert (
        "<h1>You are unsubscribed from Perf team.</h1>" in desk.http.post(path, data=ONE_CLICK).text
    )
    again = desk.http.get(path)
    assert (
        again.status_code,
        "<h1>You are already unsubscribed from Perf team.</h1>" in again.text,
    ) == (
        200,
        True,
    )
    assert 'value="leave"' not in again.text
    with desk.site.store.begin() as conn:
        resubscribe_to(
            conn, Destination.parse(READER), "perf-team", how="operator", at=desk.world.clock.now()
        )
    assert "Unsubscribe from Perf team?" in desk.http.get(path).text


def test_whatever_else_a_scanner_posts_ends_nothing(desk: Desk) -> None:
    encoded = (
        b"List-Unsubscribe=One-Click&a=b| List-Unsubscribe=One-Click"
        b"|List-Unsubscribe=One-Clic%6b|answer=leave|"
    )
    spaced = QUOTED.replace(b"Click\r", b"Click \r")
    headed = b'"\r\nContent-Disposition: form-data; name="x"\r\n'
    named = [QUOTED.replace(b'"\r\n', instead, 1) for instead in (b'"; filename="x"\r\n', headed)]
    tried = [
        (body, FORM) for body in (*encoded.split(b"|"), b"List-Unsubscribe=One-Click\r\n", QUOTED)
    ]
    twice = QUOTED.removesuffix(b"--b--\r\n") + QUOTED
    tried += [(body, MULTIPART) for body in (spaced, *named, twice)]
    for body, kind in tried:
        headers = {"Content-Type": kind, "Origin": ORIGIN}
        answer = desk.http.post(path_in_mail(desk), content=body, headers=headers)
        assert answer.status_code in (400, 403), body
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_the_button_on_the_page_leads_where_leaving_happens(desk: Desk) -> None:
    answer = desk.press(desk.http.get(path_in_mail(desk)))
    assert answer.request.url.path == path_in_mail(desk)
    assert "You are unsubscribed from Perf team." in answer.text
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions.c.reason)).scalars().all() == ["page"]
    assert recipients_of_next_announcement(desk) == ["second@example.org"]


def test_leaving_is_undone_on_its_page_and_only_what_comes_later_is_sent(desk: Desk) -> None:
    path = path_in_mail(desk)
    desk.http.post(path, data=ONE_CLICK)
    page = desk.http.get(path)
    assert "undo it here until Fri 27 Nov." in page.text
    answer = desk.press(page)
    assert "<h1>You are subscribed to Perf team again.</h1>" in answer.text
    assert "<h1>You are subscribed to Perf team again.</h1>" in desk.press(page).text, (
        "twice is as once"
    )
    with desk.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []
        returned = select(consents.c.how).where(consents.c.event == "returned")
        assert conn.execute(returned).scalars().all() == ["page"]
    assert recipients_of_next_announcement(desk) == ["reader@example.org", "second@example.org"]


def test_after_seven_days_the_page_says_whom_to_ask(desk: Desk) -> None:
    path = path_in_mail(desk)
    desk.http.post(path, data=ONE_CLICK)
    desk.world.clock.sleep(timedelta(days=6, hours=23).total_seconds())
    page = desk.http.get(path)
    desk.world.clock.sleep(timedelta(hours=1).total_seconds())
    for late in (desk.press(page), desk.http.get(path)):
        assert "<h1>You are already unsubscribed from Perf team.</h1>" in late.text
        assert (
            "<form" in late.text,
            'write to <a href="mailto:ops@example.org">' in late.text,
        ) == (False, True)


@pytest.mark.parametrize("is_dropped_first", [True, False])
def test_nobody_comes_back_by_it_whom_the_operator_no_longer_names(
    desk: Desk,
    is_dropped_first: bool,  # noqa: FBT001 - pytest's
) -> None:
    path = path_in_mail(desk)
    page = desk.http.get(path)
    if not is_dropped_first:
        desk.press(page)
    desk.world.write_config(to=("mailto:second@example.org", "slack:#papers", "feed"))
    again = desk.world.open()
    run_pass(again)
    again.close()
    if is_dropped_first:
        desk.press(page)
    assert "You are already unsubscribed" in desk.press(page, answer="undo").text
    assert recipients_of_next_announcement(desk) == ["second@example.org"]
