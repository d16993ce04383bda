from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from digest.model.destinations import Destination
from digest.people.unsubscription import PAGE, resubscribe_to
from digest.serve.steps import run_pass
from digest.store.schema import consents, suppressions
from digest.store.subscribers import BY_OPERATOR
from tests.integration.web.conftest import ORIGIN, ServedSite
from tests.integration.web.world import LATER, READER, SUNDAY

FORM = "application/x-www-form-urlencoded"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def path_in_mail(served: ServedSite, recipient: str = "reader@example.org") -> str:
    """Return the one-click address of the mail somebody got, as a mail program would read it."""
    (mail,) = [mail for mail in served.mails if mail.recipients == (recipient,)]
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    found = re.search(r"<https://localhost:8000(/u/[\w-]+)>", mail.message["List-Unsubscribe"])
    assert found is not None
    return found[1]


def recipients_of_next_announcement(served: ServedSite) -> list[str]:
    """Live until the next announcement is out and digested; return who got a mail."""
    before = len(served.world.mail.mails)
    served.world.arxiv.add(LATER)
    served.world.clock.sleep((SUNDAY - served.world.clock.now()).total_seconds())
    run_pass(served.site)
    return sorted(mail.recipients[0] for mail in served.world.mail.mails[before:])


MULTIPART = "multipart/form-data; boundary=b"
QUOTED = (
    b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n'
)
TYPED = QUOTED.replace(b"\r\n\r\n", b"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n")


@pytest.mark.parametrize(
    "body", [None, QUOTED, QUOTED.replace(b'"', b"").removesuffix(b"\r\n"), TYPED]
)
def test_one_click_ends_it_in_every_encoding(served: ServedSite, body: bytes | None) -> None:
    path = path_in_mail(served)
    if body is None:
        answer = served.http.post(path, data=ONE_CLICK)
    else:
        answer = served.http.post(path, content=body, headers={"Content-Type": MULTIPART})
    assert answer.status_code == 200
    assert not answer.history
    assert "set-cookie" not in answer.headers
    assert recipients_of_next_announcement(served) == ["second@example.org"]


def test_an_address_nobody_was_given_is_answered_without_a_name_and_ends_nothing(
    served: ServedSite,
) -> None:
    of_others = (
        served.links.web_token("perf-team", "run:2"),
        served.links.feed_token("perf-team", 0),
    )
    answers = [
        served.http.post(f"/u/{token}", data=ONE_CLICK)
        for token in ("A" * 22, "B" * 22, *of_others)
    ]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert "<h1>You are unsubscribed.</h1>" in answers[0].text
    with served.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_who_has_left_is_told_what_and_asked_no_more(served: ServedSite) -> None:
    path = path_in_mail(served)
    page = served.http.get(path).text
    assert "Unsubscribe from Perf team?" in page
    assert ("r…@example.org" in page, "reader@" in page) == (True, False)
    assert (
        "<h1>You are unsubscribed from Perf team.</h1>"
        in served.http.post(path, data=ONE_CLICK).text
    )
    again = served.http.get(path)
    assert (
        again.status_code,
        "<h1>You are already unsubscribed from Perf team.</h1>" in again.text,
    ) == (
        200,
        True,
    )
    assert 'value="leave"' not in again.text
    with served.site.store.begin() as conn:
        resubscribe_to(
            conn,
            Destination.parse(READER),
            "perf-team",
            how=BY_OPERATOR,
            at=served.world.clock.now(),
        )
    assert "Unsubscribe from Perf team?" in served.http.get(path).text


def test_whatever_else_a_scanner_posts_ends_nothing(served: ServedSite) -> None:
    encoded = (
        b"List-Unsubscribe=One-Click&a=b| List-Unsubscribe=One-Click|"
        b"List-Unsubscribe=One-Clic%6b|answer=leave|"
    )
    spaced = QUOTED.replace(b"Click\r", b"Click \r")
    headed = b'"\r\nContent-Disposition: form-data; name="x"\r\n'
    named = [QUOTED.replace(b'"\r\n', instead, 1) for instead in (b'"; filename="x"\r\n', headed)]
    tried = [
        (body, FORM) for body in (*encoded.split(b"|"), b"List-Unsubscribe=One-Click\r\n", QUOTED)
    ]
    tried += [
        (body, MULTIPART) for body in (spaced, *named, QUOTED.removesuffix(b"--b--\r\n") + QUOTED)
    ]
    for body, kind in tried:
        headers = {"Content-Type": kind, "Origin": ORIGIN}
        assert served.http.post(
            path_in_mail(served), content=body, headers=headers
        ).status_code in (
            400,
            403,
        ), body
    with served.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []


def test_the_button_on_the_page_leads_where_leaving_happens(served: ServedSite) -> None:
    answer = served.press(served.http.get(path_in_mail(served)))
    assert answer.request.url.path == path_in_mail(served)
    assert "You are unsubscribed from Perf team." in answer.text
    with served.site.store.read() as conn:
        assert conn.execute(select(suppressions.c.reason)).scalars().all() == [PAGE]
    assert recipients_of_next_announcement(served) == ["second@example.org"]


def test_leaving_is_undone_on_its_page_and_only_what_comes_later_is_sent(
    served: ServedSite,
) -> None:
    path = path_in_mail(served)
    served.http.post(path, data=ONE_CLICK)
    page = served.http.get(path)
    assert "undo it here until Fri 27 Nov." in page.text
    answer = served.press(page)
    assert "<h1>You are subscribed to Perf team again.</h1>" in answer.text
    assert "<h1>You are subscribed to Perf team again.</h1>" in served.press(page).text, (
        "twice is as once"
    )
    with served.site.store.read() as conn:
        assert conn.execute(select(suppressions)).all() == []
        assert conn.execute(
            select(consents.c.how).where(consents.c.event == "returned")
        ).scalars().all() == ["page"]
    assert recipients_of_next_announcement(served) == ["reader@example.org", "second@example.org"]


def test_after_seven_days_the_page_says_whom_to_ask(served: ServedSite) -> None:
    path = path_in_mail(served)
    served.http.post(path, data=ONE_CLICK)
    served.world.clock.sleep(timedelta(days=6, hours=23).total_seconds())
    page = served.http.get(path)
    served.world.clock.sleep(timedelta(hours=1).total_seconds())
    for late in (served.press(page), served.http.get(path)):
        assert "<h1>You are already unsubscribed from Perf team.</h1>" in late.text
        assert (
            "<form" in late.text,
            'write to <a href="mailto:ops@example.org">' in late.text,
        ) == (False, True)


@pytest.mark.parametrize("is_dropped_first", [True, False])
def test_nobody_comes_back_by_it_whom_the_operator_no_longer_names(
    served: ServedSite,
    is_dropped_first: bool,  # noqa: FBT001 - pytest's
) -> None:
    path = path_in_mail(served)
    page = served.http.get(path)
    if not is_dropped_first:
        served.press(page)
    served.world.write_config(to=("mailto:second@example.org", "slack:#papers", "feed"))
    again = served.world.open()
    run_pass(again)
    again.close()
    if is_dropped_first:
        served.press(page)
    assert "You are already unsubscribed" in served.press(page, answer="undo").text
    assert recipients_of_next_announcement(served) == ["second@example.org"]
