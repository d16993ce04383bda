"""People who subscribed by themselves, and their letters, as the operator meets them on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import select

from digest.config import load_config
from digest.deliver import people
from digest.deliver.letters import queue_letters, take_request
from digest.model.people import Ask, Wish
from digest.plan.links import make_links
from digest.poll.installation import Site
from digest.serve.installation import open_site
from digest.store import signups as signup_store
from digest.store.schema import papers, signups, subscriptions
from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World

ADA, BO = "ada@digest.example", "bo@digest.example"
PEOPLE = [
    (ADA, Wish(cadence="daily at 06:00 Europe/Berlin", joins=("gpu-mail",)).add_query("perf").add_query("gpu")),
    (BO, Wish(joins=("gpu-mail",))),
]


@contextmanager
def opened(world: World) -> Iterator[Site]:
    config = load_config(world.folder / "digest.toml", {**world.environ, "DIGEST_WEB_SIGNUP": "open"})
    site = open_site(config, world.clock, owner="test", jitter=lambda: 0.5)
    try:
        yield site
    finally:
        site.close()


def ask(site: Site, address: str, wish: Wish) -> None:
    with site.store.begin() as conn:
        maker = make_links(conn, site.config)
        take_request(conn, maker, Ask.SUBSCRIBE, address, wish, network="", at=site.clock.now())


@pytest.fixture
def crowd(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The installation with two people more, and a third who did not confirm: their letters wait."""
    monkeypatch.setenv("DIGEST_WEB_SIGNUP", "open")
    world.edit_config(
        'when = "daily at 07:30 Europe/Berlin"', 'when = "daily at 07:30 Europe/Berlin"\noffered = true'
    )
    world.mail.script.reply("RCPT", "550 5.1.1 no such user", times=9, match="mistyped@digest.example")
    with opened(world) as site:
        for address, wish in PEOPLE:
            ask(site, address, wish)
        queue_letters(site)
        with site.store.begin() as conn:
            maker = make_links(conn, site.config)
            for hashed in conn.execute(select(signups.c.token)).scalars().all():
                found = signup_store.load_signup(conn, hashed, None, site.clock.now())
                assert found is not None
                people.confirm(conn, site.config, maker, found, at=site.clock.now())
        ask(site, "mistyped@digest.example", PEOPLE[1][1])
    return world


@pytest.mark.usefixtures("crowd")
def test_the_list_has_people_below_the_subscriptions_of_the_file(digest: Shell) -> None:
    said = digest("subscription", "list").out
    assert "p-" not in said.partition("PERSON")[0]
    rows = [line.split() for line in said.partition("PERSON")[2].splitlines()[1:]]
    assert rows == [
        [ADA, "subscribed", "2", "gpu-mail", "20", "Nov", "2026"],
        [BO, "subscribed", "0", "gpu-mail", "20", "Nov", "2026"],
    ]
    found = digest("subscription", "list", "--json").json
    assert [one["origin"] for one in found["subscriptions"]].count("file") == 5
    assert [(one["address"], one["joined"]) for one in found["people"]] == [
        (ADA, ["gpu-mail"]),
        (BO, ["gpu-mail"]),
    ]


def test_no_screen_takes_what_is_a_persons_for_the_files(crowd: World, digest: Shell) -> None:
    for words in (("status",), ("query", "list"), ("subscription", "list"), ("run", "--dry-run")):
        assert "edited since" not in digest(*words).out, words
    assert "ends with the next run" not in digest("run", "--dry-run").out
    assert [one["name"] for one in digest("query", "list", "--json").json] == ["broken", "follow", "gpu", "perf"]
    assert "cat:cs.PF" in digest("query", "show", "perf").out
    digest("run", expect=4)
    assert "p-" not in digest("status").out
    assert "1 more by people themselves: `digest subscription list`" in digest("status").out
    listed = digest("delivery", "list", "--json").json
    assert {one["subscription"] for one in listed if one["destination"] == f"mailto:{BO}"} <= {
        "(letters)",
        "gpu-mail",
    }
    assert digest("coverage").code == digest("db", "check").code == 0
    with opened(crowd) as site, site.store.read() as conn:
        paper = conn.execute(select(papers.c.arxiv_id).order_by(papers.c.id.desc())).scalars().first()
        (name,) = conn.execute(
            select(subscriptions.c.name).where(subscriptions.c.subscriber_id.is_not(None))
        ).scalars()
    assert "daily at 06:00 Europe/Berlin" in digest("subscription", "show", name).out
    assert "all:gpu" in digest("explain", str(paper), name).out
    assert digest("subscription", "show", "(letters)", expect=2).err.startswith(
        "error: subscription (letters) has"
    )


def test_a_letter_is_listed_and_shown_like_any_message(digest: Shell, crowd: World) -> None:
    digest("run", expect=4)
    rows = {
        one["destination"]: one
        for one in digest("delivery", "list", "--json").json
        if one["subscription"] == "(letters)"
    }
    states = {place.removeprefix("mailto:"): one["state"] for place, one in rows.items()}
    assert states == {ADA: "suppressed", BO: "suppressed", "mistyped@digest.example": "dead"}, (
        "two were confirmed before"
    )
    shown = digest("delivery", "show", str(rows["mailto:mistyped@digest.example"]["id"])).out
    assert "no such user" in shown
    assert "(letters), subscribe:" in shown
    assert "/c/***" in shown, "its link works for nobody who looks here"
    assert "message to mistyped@digest.example failed" in digest("status", "--all").out
    assert not any("mistyped" in alarm["what"] for alarm in digest("status", "--json").json["alarms"])
    assert digest("export", "--digest", str(rows[f"mailto:{ADA}"]["digest_id"])).out == ""
    del crowd


def test_all_that_is_stored_about_somebody_is_printed_and_deleted(digest: Shell, crowd: World) -> None:
    found = digest("subscription", "export", "Ada@Digest.example").json
    assert found["address"] == ADA
    assert [one["text"] for one in found["stored"]["query_revisions"]] == ["perf", "gpu"]
    assert "token" not in json.dumps(found)
    said = digest("subscription", "remove", ADA, "--dry-run").out
    assert said.startswith("Nothing was deleted. Stored: 1 of subscribers, ")
    assert digest("subscription", "remove", ADA, "--json").json["deleted"] is True
    assert "nothing is stored about" in digest("subscription", "export", ADA, expect=2).err
    assert ADA not in digest("subscription", "list").out
    said = digest("subscription", "remove", "reader@digest.example", "--yes").out
    assert "digest.toml still names this address." in said
    crowd.clock.sleep(24 * 3600)
    before = len(crowd.mail.mails)
    digest("run", expect=4)
    assert {"reader@digest.example", ADA} & {
        to for mail in crowd.mail.mails[before:] for to in mail.recipients
    } == set()


@pytest.mark.usefixtures("crowd")
def test_letters_to_an_address_are_stopped_and_lifted(digest: Shell) -> None:
    assert "has not unsubscribed" in digest("subscription", "resubscribe", "(letters)", ADA, expect=2).err
    said = digest("subscription", "unsubscribe", "(letters)", ADA).out
    assert f"`digest subscription resubscribe '(letters)' {ADA}`" in said
    assert digest("subscription", "list").out.count("unsubscribed") == 0
    assert "subscribed to (letters) again." in digest("subscription", "resubscribe", "(letters)", ADA).out


def test_a_restored_database_sends_no_letter_before_it_is_told_to(digest: Shell, crowd: World) -> None:
    digest("db", "backup", "backups/digest.db")
    digest("db", "restore", "backups/digest.db")
    before = len(crowd.mail.mails)
    crowd.mail.script.clear()
    digest("run", "--now", expect=3)
    assert len(crowd.mail.mails) == before
    digest("db", "resume")
    digest("run")
    assert "mistyped@digest.example" in {to for mail in crowd.mail.mails[before:] for to in mail.recipients}
