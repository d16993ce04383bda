"""Subscriptions: who gets what; pausing, and the word of people who unsubscribe or resubscribe."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

SECOND = "second@digest.example"


def mails_to(world: World, address: str) -> int:
    return sum(address in mail.recipients for mail in world.mail.mails)


@pytest.mark.usefixtures("world")
def test_the_list_as_json_names_every_setting(digest: Shell) -> None:
    lines = {
        line["settings"]["name"]: line
        for line in digest("subscription", "list", "--json").json["subscriptions"]
    }
    assert lines["perf-mail"]["paused_until"] == "2026-11-29T23:00:00+00:00"
    assert lines["gpu-mail"]["settings"]["cadence"] == "daily at 07:30 Europe/Berlin"
    assert lines["gpu-mail"]["settings"]["kinds"] == [
        "new",
        "cross-listed",
        "replaced",
        "withdrawn",
    ]


@pytest.mark.usefixtures("world")
def test_showing_one_lists_its_queries_destinations_and_last_digests(digest: Shell) -> None:
    said = digest("subscription", "show", "perf-team", "--json").json
    assert [one["destination"] for one in said["destinations"]] == ["slack:#papers", "feed"]
    assert (said["digests"][0]["id"], said["digests"][0]["papers"]) == (8, 9)


def test_a_paused_subscription_collects_and_tells_all_of_it_when_resumed(
    world: World, digest: Shell
) -> None:
    assert (
        "`digest subscription resume old-mail`" in digest("subscription", "pause", "old-mail").out
    )
    assert "Mon 23 Nov 09:00" in digest("subscription", "resume", "perf-mail").out
    before = mails_to(world, SECOND)
    world.clock.set(datetime(2026, 11, 23, 8, 5, tzinfo=UTC))
    digest("run")
    assert mails_to(world, SECOND) == before + 1
    (line,) = (
        line for line in digest("subscription", "list").lines if line.startswith("perf-mail")
    )
    assert line.endswith("Tue 24 Nov 09:00")


@pytest.mark.usefixtures("world")
def test_a_pause_needs_a_day_to_come(digest: Shell) -> None:
    for day in ("2026-11-20", "tomorrow"):
        assert day in digest("subscription", "pause", "gpu-mail", "--until", day, expect=2).err
    assert "paused" not in "".join(
        line for line in digest("subscription", "list").lines if line.startswith("gpu-mail")
    )


def test_whoever_leaves_gets_nothing_more_whatever_the_file_says(
    world: World, digest: Shell
) -> None:
    digest("subscription", "resume", "perf-mail")
    said = digest("subscription", "unsubscribe", "perf-mail", "Second@Digest.Example")
    assert "`digest subscription resubscribe perf-mail Second@Digest.Example`" in said.out
    assert "already" in digest("subscription", "unsubscribe", "perf-mail", SECOND).out
    before = mails_to(world, SECOND)
    world.clock.set(datetime(2026, 11, 23, 8, 5, tzinfo=UTC))
    digest("run")
    assert mails_to(world, SECOND) == before
    assert (
        "mailto:second@digest.example   unsubscribed Fri 20 Nov 09:20, by the operator"
        in digest("subscription", "show", "perf-mail").out
    )


@pytest.mark.usefixtures("world")
def test_an_address_the_subscription_never_had_is_answered_with_the_nearest(digest: Shell) -> None:
    said = digest("subscription", "unsubscribe", "gpu-mail", "readr@digest.example", expect=2)
    assert "gpu-mail is not sent to mailto:readr@digest.example" in said.err
    assert "Did you mean 'mailto:reader@digest.example'?" in said.err
    assert (
        "is not a destination"
        in digest("subscription", "unsubscribe", "gpu-mail", "reader", expect=3).err
    )


def test_names_are_known_new_ended_or_nearly_known(world: World, digest: Shell) -> None:
    world.edit('name = "gpu-mail"', 'name = "gpu-post"')
    assert "`digest run` takes it over" in digest("subscription", "show", "gpu-post", expect=2).err
    digest("run")
    assert (
        "subscription gpu-mail has ended"
        in digest("subscription", "pause", "gpu-mail", expect=2).err
    )
    assert "never: it has ended" in digest("subscription", "show", "gpu-mail").out, (
        "and what it had can be read"
    )
    assert "Did you mean 'gpu-post'?" in digest("subscription", "pause", "gpu-pots", expect=2).err


def test_an_at_once_subscription_that_goes_on_is_due_at_once_where_something_waits(
    world: World, digest: Shell
) -> None:
    world.edit("daily at 07:30 Europe/Berlin", "at once")
    digest("run")
    assert "as papers come" in digest("subscription", "list").out
    digest("subscription", "pause", "gpu-mail")
    world.arxiv.replace("2611.15012", announced=world.clock.now(), comment="revised")
    digest("run", "--now")
    before = mails_to(world, "reader@digest.example")
    said = digest("subscription", "resume", "gpu-mail")
    assert said.out == "gpu-mail goes on. Its next digest: due, with the next run, 1 paper.\n"
    digest("run")
    assert mails_to(world, "reader@digest.example") == before + 1


def test_a_run_that_always_meets_quiet_hours_says_whom_it_tells_nothing(
    world: World, digest: Shell
) -> None:
    world.edit('name = "gpu-mail"\n', 'name = "gpu-mail"\nquiet_hours = "09:10-09:05"\n')
    said = digest("run").out
    assert "quiet hours" not in said
    for day in (21, 22):
        world.clock.set(datetime(2026, 11, day, 8, 20, tzinfo=UTC))
        said = digest("run").out
        assert "gpu-mail has quiet hours now. What waits is sent by a run after them.\n" in said
        assert "Nothing was sent." in said
    world.clock.set(datetime(2026, 11, 23, 8, 20, tzinfo=UTC))
    assert digest("run", "--json").json["report"]["plan"]["held_by_quiet_hours"] == ["gpu-mail"]


def test_readers_in_a_file_begin_and_end_with_it_but_leaving_beats_the_file(
    world: World, digest: Shell
) -> None:
    members = world.folder / "members.txt"
    members.write_text("Ada <ada@digest.example>\nbob@digest.example\nnobody\n", encoding="utf-8")
    digest("subscription", "edit", "perf-mail", "--add-to", "mailto:@members.txt", "--yes")
    assert '"mailto:@members.txt"' in (world.folder / "digest.toml").read_text(encoding="utf-8")
    assert "line 3 of members.txt is left out" in digest("run").err
    assert "ada@digest.example" in digest("subscription", "show", "perf-mail").out
    assert "digest.toml, members.txt" in digest("config", "show").out
    digest("subscription", "unsubscribe", "perf-mail", "ada@digest.example")
    members.write_text("ada@digest.example\ncleo@digest.example\n", encoding="utf-8")
    digest("run")
    to = {
        one["destination"]: one["state"]
        for one in digest("subscription", "show", "perf-mail", "--json").json["destinations"]
    }
    assert to == {
        "mailto:second@digest.example": "active",
        "mailto:ada@digest.example": "unsubscribed",
        "mailto:bob@digest.example": "disabled",
        "mailto:cleo@digest.example": "active",
    }
    members.unlink()
    assert "Until it can be read, everybody stays subscribed." in digest("run", expect=3).err


@pytest.mark.parametrize(
    "shared", ['"mailto:old@digest.example"', '"mailto:second@digest.example"']
)
def test_a_mail_to_a_shared_address_lets_no_reader_end_it_for_all_and_says_whom_to_ask(
    world: World, digest: Shell, shared: str
) -> None:
    world.mail.script.clear()
    # it may have another digest of its own
    both = '["mailto:second@digest.example", "mailto:old@digest.example"]'
    world.edit(f"to = {shared}", f"to = {shared if 'old' in shared else both}\nshared = true")
    world.edit("[slack]", 'unsubscribe = "ops@digest.example"\n[slack]')
    digest("delivery", "retry", "13")
    with world.open_store().begin() as conn:  # it is written anew
        conn.exec_driver_sql("UPDATE deliveries SET body = NULL WHERE id = 13")
    digest("run")
    mail = world.mail.mails[-1].message
    assert (mail["To"], mail["Reply-To"]) == ("old@digest.example", "ops@digest.example")
    headers = mail.keys()
    assert not [name for name in headers if name.startswith("List-Unsubscribe")]
    for part in ("plain", "html"):
        body = mail.get_body((part,))
        assert body is not None
        said = body.get_content()
        assert "To be taken off, ask" in said
        assert "ops@digest.example" in said
        assert not [link for link in ("/u/", "/p/", "nsubscribe") if link in said]
    world.edit("shared = true", "shared = true\njoinable = true")
    assert "-mail.shared: can't be joined by single people" in digest("run", expect=3).err


def test_a_first_digest_is_asked_for_once_and_not_where_none_is_wanted(
    world: World, digest: Shell
) -> None:
    world.edit('follow = ["perf"]', 'follow = ["perf", "cat:cs.DC"]')
    digest("subscription", "resume", "perf-mail")
    digest("run")
    before = mails_to(world, SECOND)
    said = digest("subscription", "first", "perf-mail").out
    assert "perf-mail gets a first digest with the next `digest run`" in " ".join(said.split())
    digest("run")
    assert mails_to(world, SECOND) == before + 1
    assert str(world.mail.mails[-1].message["Subject"]).startswith("First digest, ")
    digest("run")
    assert mails_to(world, SECOND) == before + 1
    world.edit('name = "perf-mail"\n', 'name = "perf-mail"\nlook_back = "0 days"\n')
    digest("run")
    assert "its look_back is 0 days" in digest("subscription", "first", "perf-mail", expect=2).err
