"""Somebody subscribes by themselves, over real HTTP and with real mails."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from digest.serve.steps import run_pass
from digest.web.forms import make_form_token
from tests.fakes.mail import ReceivedMail
from tests.integration.web.conftest import ORIGIN, Desk, _open_desk
from tests.integration.web.world import live_in

OFFERED = """
[[subscriptions]]
name = "queues"
title = "Queues"
queries = ["perf"]
to = "mailto:second@example.org"
when = "daily at 02:00 UTC"
offered = true
"""

WISH = {
    "address": "Ada@Example.org",
    "q": "tail latency",
    "days": "daily",
    "hour": "6",
    "zone": "Europe/Berlin",
    "kinds": ["new", "cross-list"],
}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Desk]:
    with live_in(tmp_path) as world:
        world.environ["DIGEST_WEB_SIGNUP"] = "open"
        world.write_config(extra=OFFERED)
        with _open_desk(world) as desk:
            yield desk


def send(desk: Desk, path: str, fields: dict) -> httpx.Response:
    shell = desk.http  # noqa
    from digest.model import secrets

    token = secrets.derive_token(desk.links.secret, "form", path, desk.site.clock.now().date().isoformat())
    return desk.http.post(path, data={**fields, "token": token}, headers={"Origin": ORIGIN})


def test_story(office: Desk) -> None:
    answer = send(office, "/subscribe", WISH)
    print(answer.text[-3000:])
    before = len(office.world.mail.mails)
    run_pass(office.site)
    mails = office.world.mail.mails[before:]
    print(mails[0].raw.decode())
    link = re.search(r"https://localhost:8000(/c/\S+)", mails[0].raw.decode())[1]
    page = office.http.get(link)
    print(page.text[-2500:])
    done = office.press(page, answer="yes")
    print(done.text[-2500:])
    again = office.press(page, answer="yes")
    print(again.text[-1500:])
    bad = send(office, "/subscribe", {**WISH, "q": "ti:(gpu OR"})
    print(bad.status_code, bad.text[-4500:])
    l = office.http.get("/link")
    print(l.status_code, l.text[-1500:])
    run_pass(office.site)
    for m in office.world.mail.mails[before + 1 :]:
        print(m.raw.decode()[:1500])
    assert 0
