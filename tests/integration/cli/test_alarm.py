"""What is amiss by the clock, who was told, and whether telling works."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.lively import World

DEAD = (
    "the delivery to mailto:old@digest.example was given up on Fri 20 Nov 09:05 Berlin: "
    "the mail server answered 550 at RCPT TO: 5.1.1 no such user"
)


def tell(world: World, *to: str, ping: str = "") -> None:
    path = world.folder / "digest.toml"
    places = ", ".join(f'"{place}"' for place in to)
    alarms = f'\n[alarms]\nto = [{places}]\nping_url = "{ping}"\n'
    path.write_text(path.read_text(encoding="utf-8") + alarms, encoding="utf-8")


@pytest.mark.usefixtures("world")
def test_what_is_amiss_is_listed_and_so_is_that_nobody_is_told(digest: Shell) -> None:
    header, line, _, ways = digest("alarm", "list").lines
    assert header.split() == ["ALARM", "RAISED", "TOLD", "WHAT"]
    assert line.startswith("dead   ")
    assert DEAD in line
    assert ways == "Nobody is told: write to = … under [alarms] in digest.toml."


def test_what_was_given_up_long_ago_is_no_alarm_and_not_nothing_either(world: World, digest: Shell) -> None:
    with closing(sqlite3.connect(world.folder / "digest.db")) as conn, conn:
        conn.execute("UPDATE deliveries SET ended_at = '2026-10-20 08:00:00.000000' WHERE state = 'dead'")
    assert digest("alarm", "list").lines[0] == (
        "No alarm lasts. 2 deliveries stay given up: digest delivery list --state dead."
    )


def test_whoever_is_told_is_told_by_the_next_run_and_the_list_says_when(world: World, digest: Shell) -> None:
    mails = len(world.mail.mails)
    assert "ATTENTION: the delivery to " in digest("run").err, "nobody is told: every run says it"
    tell(world, "mailto:ops@digest.example")
    said = digest("run")
    assert "mailto:ops@digest.example was told of it." in said.lines
    assert "ATTENTION: the delivery to " in said.err
    assert "ATTENTION" not in digest("run").err, "it was told today"
    assert world.mail.mails[mails].message["Subject"] == f"Digest: {DEAD.partition(' Berlin: ')[0]} …"
    facts = digest("alarm", "list", "--json").json
    assert facts["to"] == ["mailto:ops@digest.example"]
    assert [(alarm["name"], alarm["told_at"]) for alarm in facts["alarms"]] == [
        ("dead", "2026-11-20T08:20:00+00:00")
    ]
    assert "Fri 20 Nov 09:20" in digest("alarm", "list").out


def test_whether_a_sign_of_life_is_given_is_said_by_what_is_amiss(world: World, digest: Shell) -> None:
    tell(world, "mailto:ops@digest.example", ping="http://127.0.0.1:9/ping")
    told = "You are told at mailto:ops@digest.example."
    for words in (("alarm", "list"), ("status",)):
        assert f"{told} A sign of life is given." in digest(*words).out
    digest("restore", "--mark")
    for words in (("alarm", "list"), ("status",)):
        assert f"{told} No sign of life is given meanwhile." in digest(*words).out
    assert "restored  now" in digest("alarm", "list").out


def test_an_alarm_that_could_not_be_told_is_named_by_status_until_it_was(world: World, digest: Shell) -> None:
    tell(world, "mailto:ops@digest.example")
    world.mail.script.reply("RCPT", "451 4.3.0 try later", times=1, match="ops@digest.example")
    assert "the operator could not be told at mailto:ops@digest.example" in digest("run", expect=4).err
    ways = "Alarms     You are told at mailto:ops@digest.example."
    assert f"{ways} Not told yet: given up (digest alarm list)." in digest("status").lines
    assert digest("status", "--json").json["alarms"] == {"amiss": ["dead"], "not_told": ["dead"]}
    world.clock.sleep(3600)
    digest("run")
    assert ways in digest("status").lines


def test_a_test_reaches_every_place_and_says_so(world: World, digest: Shell) -> None:
    tell(world, "mailto:ops@digest.example", "slack:#papers")
    mails, posts = len(world.mail.mails), len(world.slack.messages)
    said = digest("alarm", "test").lines
    assert [line.partition(": ")[0] for line in said] == [
        "sent to mailto:ops@digest.example",
        "sent to slack:#papers",
    ]
    assert "This is a test. Nothing is wrong." in world.mail.mails[mails].message.get_content()
    assert len(world.slack.messages) == posts + 1


def test_a_test_that_does_not_arrive_says_where_and_why(world: World, digest: Shell) -> None:
    tell(world, "slack:#nowhere", "mailto:ops@digest.example")
    said = digest("alarm", "test", expect=4)
    assert "slack:#nowhere: there is no channel #nowhere that the app can see" in said.err
    assert said.lines[0].startswith("sent to mailto:ops@digest.example")


def test_what_fails_in_telling_is_said_once_in_words_and_not_as_a_log_line(world: World, digest: Shell) -> None:
    tell(world, "slack:#nowhere", ping="http://127.0.0.1:9/ping")
    for words, code in ((("run",), 4), (("alarm", "test"), 4)):
        said = digest(*words, expect=code)
        assert "logger=" not in said.err + said.out
        for what in ("there is no channel #nowhere", "the ping address can't be reached"):
            assert (said.err + said.out).count(what) == 1
    assert "logger=" in digest("-v", "run", "--now", expect=4).err


@pytest.mark.usefixtures("world")
def test_without_a_place_a_test_says_how_to_name_one(digest: Shell) -> None:
    told = "error: nobody is told\nhint:  Write to = … under [alarms] in digest.toml.\n"
    assert digest("alarm", "test", expect=3).err == told
    assert digest("alarm", "test", "--json", expect=3).json["sent"] == []


def test_a_feed_is_no_place_for_an_alarm(world: World, digest: Shell) -> None:
    tell(world, "feed")
    assert "feed is read when somebody looks, which is too late for an alarm" in digest("status", expect=3).err
