"""People who subscribed by themselves, and their letters, as the command line shows them."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import timedelta

import pytest
from sqlalchemy import select

from digest.config import load_config
from digest.model.people import RequestKind, SignupRequest
from digest.people.letters import accept_request, queue_letters
from digest.people.preferences import confirm_signup
from digest.people.signups import load_signup
from digest.plan.links import make_links
from digest.serve.installation import open_site
from digest.site import Site
from digest.store import alarms
from digest.store.schema import signups
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

ADA = "ada@digest.example"
BO = "bo@digest.example"
PEOPLE = [
    (
        ADA,
        SignupRequest(cadence="daily at 06:00 Europe/Berlin", joins=("gpu-mail",))
        .add_query("perf")
        .add_query("gpu"),
    ),
    (BO, SignupRequest(joins=("gpu-mail",))),
]


def ask(site: Site, address: str, wish: SignupRequest) -> None:
    with site.store.begin() as conn:
        maker = make_links(conn, site.config)
        accept_request(
            conn, maker, RequestKind.SUBSCRIBE, address, wish, network="", at=site.clock.now()
        )


@pytest.fixture
def crowd(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """The installation with two people more, and a third who did not confirm.

    Their letters wait.
    """
    monkeypatch.setenv("DIGEST_WEB_SIGNUP", "open")
    world.edit('when = "daily at 07:30', 'joinable = true\nwhen = "daily at 07:30')
    world.mail.script.reply(
        "RCPT", "550 5.1.1 no such user", times=9, match="mistyped@digest.example"
    )
    config = load_config(
        world.folder / "digest.toml", {**world.environ, "DIGEST_WEB_SIGNUP": "open"}
    )
    with closing(open_site(config, world.clock, owner="test", jitter=lambda: 0.5)) as site:
        for address, wish in PEOPLE:
            ask(site, address, wish)
        queue_letters(site)
        with site.store.begin() as conn:
            maker = make_links(conn, site.config)
            for hashed in conn.execute(select(signups.c.token)).scalars().all():
                found = load_signup(conn, hashed, None, site.clock.now())
                assert found is not None
                confirm_signup(conn, site.config, maker, found, at=site.clock.now())
        ask(site, "mistyped@digest.example", PEOPLE[1][1])
    return world


@pytest.mark.usefixtures("crowd")
def test_the_list_has_people_below_the_subscriptions_of_the_file(digest: Shell) -> None:
    said = digest("subscription", "list").out
    assert "p-" not in said.partition("PERSON")[0]
    _, _, table = said.partition("PERSON")
    rows = [line.split() for line in table.splitlines()[1:]]
    daily = ["daily", "at", "06:00", "Europe/Berlin"]
    assert rows == [
        [ADA, "subscribed", "2", *daily, "2026-11-20"],
        [BO, "subscribed", "0", "2026-11-20"],
    ]
    found = digest("subscription", "list", "--json").json
    of_people = [one for one in found["subscriptions"] if one["is_personal"]]
    assert len(found["subscriptions"]) - len(of_people) == 5
    assert [(one["address"], one["queries"]) for one in found["people"]] == [(ADA, 2), (BO, 0)]
    own = of_people[0]["settings"]["name"]
    assert len(of_people) == 1
    digest("subscription", "unsubscribe", own, ADA, "--everything")
    ada = digest("subscription", "list", "--json").json["people"][0]
    assert (ada["state"], ada["queries"]) == ("unsubscribed", 2), (
        "as on the page, where they stay ticked"
    )


@pytest.mark.usefixtures("crowd")
def test_no_screen_takes_what_is_a_persons_for_the_files(digest: Shell) -> None:
    for words in (("status",), ("query", "list"), ("subscription", "list"), ("run", "--dry-run")):
        assert "edited since" not in digest(*words).out, words
    assert "ends with the next run" not in digest("run", "--dry-run").out
    queries = digest("query", "list", "--json").json["queries"]
    assert [one["name"] for one in queries] == ["broken", "follow", "gpu", "perf"]
    assert "cat:cs.PF" in digest("query", "show", "perf").out
    digest("run", expect=4)
    assert "p-" not in digest("status").out
    assert "1 more by people themselves: `digest subscription list`" in digest("status").out
    assert digest("coverage").code == digest("db", "check").code == 0
    lines = digest("subscription", "list", "--json").json["subscriptions"]
    (name,) = (one["settings"]["name"] for one in lines if one["is_personal"])
    assert "daily at 06:00 Europe/Berlin" in digest("subscription", "show", name).out
    assert "all:gpu" in digest("explain", "2611.15013", name).out
    assert (
        "subscription (letters) has ended"
        in digest("subscription", "show", "(letters)", expect=2).err
    )


@pytest.mark.usefixtures("crowd")
def test_a_paper_is_explained_for_one_person_by_all_that_goes_to_their_address(
    digest: Shell,
) -> None:
    digest("run", expect=4)
    found = digest("explain", "2611.15013", ADA.title(), "--json").json["subscriptions"]
    names = [one["subscription"] for one in found]
    assert [name for name in names if not name.startswith("p-")] == ["gpu-mail"]
    assert len(names) == 2
    (of_bo,) = digest("explain", "2611.15013", BO, "--json").json["subscriptions"]
    assert of_bo["subscription"] == "gpu-mail"
    said = digest("explain", "2611.15013", "mistyped@digest.example", expect=2).err
    assert "no subscription goes to mistyped@digest.example" in said


@pytest.mark.usefixtures("crowd")
def test_a_letter_is_listed_and_shown_like_any_message(world: World, digest: Shell) -> None:
    digest("run", expect=4)
    listed = digest("delivery", "list", "--json").json["deliveries"]
    listed = [one["delivery"] for one in listed if one["subscription"] == "(letters)"]
    assert [one["state"] for one in listed] == ["dead", "suppressed", "suppressed"], (
        "two were confirmed before"
    )
    shown = digest("delivery", "show", str(listed[0]["id"])).out
    assert "no such user" in shown
    assert "(letters), subscribe:" in shown
    assert "/c/***" in shown, "its link works for nobody who looks here"
    assert (
        "messages to mistyped@digest.example, old@digest.example failed"
        in digest("status", "--all").out
    )
    with closing(world.open_store()) as store, store.read() as conn:
        failed = alarms.load_failed_deliveries(conn, world.clock.now() - timedelta(days=2))
    assert failed is None or "mistyped" not in failed.named, "a letter alarms nobody"
    assert digest("export", "--digest", str(listed[0]["digest_id"])).out == ""


def test_all_that_is_stored_about_somebody_is_printed_and_deleted(
    digest: Shell, crowd: World
) -> None:
    found = digest("subscription", "export", "Ada@Digest.example").json
    assert found["address"] == ADA
    assert [one["text"] for one in found["stored"]["query_revisions"]] == ["perf", "gpu"]
    assert '"token"' not in json.dumps(found)
    said = digest("subscription", "remove", ADA, "--dry-run").out
    assert said.startswith("Nothing was deleted. Stored: ")
    assert "Add --yes" in digest("subscription", "remove", ADA, expect=2).err
    assert digest("subscription", "remove", ADA, "--yes", "--json").json["deleted"] is True
    assert "nothing is stored about" in digest("subscription", "export", ADA, expect=2).err
    assert ADA not in digest("subscription", "list").out
    said = digest("subscription", "remove", "reader@digest.example", "--yes").out
    assert "digest.toml still names this address." in said
    crowd.clock.sleep(24 * 3600)
    before = len(crowd.mail.mails)
    digest("run", expect=4)
    written_to: set[str] = set()
    for mail in crowd.mail.mails[before:]:
        written_to.update(mail.recipients)
    assert not written_to & {"reader@digest.example", ADA}


@pytest.mark.usefixtures("crowd")
def test_letters_to_an_address_are_stopped_and_lifted(digest: Shell) -> None:
    assert (
        "has not unsubscribed"
        in digest("subscription", "resubscribe", "(letters)", ADA, expect=2).err
    )
    said = digest("subscription", "unsubscribe", "(letters)", ADA).out
    assert f"`digest subscription resubscribe '(letters)' {ADA}`" in said
    assert digest("subscription", "list").out.count("unsubscribed") == 0
    assert (
        "subscribed to (letters) again."
        in digest("subscription", "resubscribe", "(letters)", ADA).out
    )


def test_an_address_that_several_people_read_gets_no_letter_with_a_link(world: World) -> None:
    for extra, letters in (("shared = false", 1), ("shared = true", 0)):
        world.edit('name = "old-mail"', f'name = "old-mail"\n{extra}')
        config = load_config(world.folder / "digest.toml", world.environ)
        with closing(open_site(config, world.clock, owner="test", jitter=lambda: 0.5)) as site:
            with site.store.begin() as conn:
                maker = make_links(conn, site.config)
                address = "old@digest.example"
                accept_request(
                    conn,
                    maker,
                    RequestKind.LINK,
                    address,
                    SignupRequest(),
                    network="",
                    at=site.clock.now(),
                )
            assert queue_letters(site) == letters
        world.edit(f"{extra}\n", "")
