"""Digests in every shape, before they are sent and long after.

And one sent to the operator alone.
"""

from __future__ import annotations

import email
import email.policy
import re
from datetime import timedelta
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import NOW, World


def count_outbox(digest: Shell) -> int:
    return len(digest("delivery", "list", "--json", "--limit", "1000").json["deliveries"])


def last_digest(digest: Shell, name: str = "perf-team") -> dict[str, object]:
    found = digest("subscription", "show", name, "--json").json["digests"][0]
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("world")
def test_a_past_digest_is_shown_as_it_was_frozen_and_nothing_is_sent(digest: Shell) -> None:
    before = count_outbox(digest)
    last = last_digest(digest)
    said = digest("preview", "perf-team", "--digest", str(last["id"]))
    named = f"digest {last['id']} of perf-team"
    assert said.err == f"{named}: {last['papers']} papers, already sent\n"
    assert "All 11 papers of Thu 19 Nov were checked." in said.out
    assert count_outbox(digest) == before


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("terminal", "NEW"),
        ("text", "https://arxiv.org/abs/"),
        ("page", "<!doctype html>"),
        ("slack", '"blocks"'),
        ("json", '"papers"'),
        ("feed", '<feed xmlns="http://www.w3.org/2005/Atom"'),
        ("mail", "MIME-Version: 1.0"),
    ],
)
def test_each_shape_is_that_medium_itself(shape: str, expected: str, digest: Shell) -> None:
    number = str(last_digest(digest)["id"])
    assert expected in digest("preview", "perf-team", "--digest", number, "--as", shape).out


@pytest.mark.usefixtures("world")
def test_a_file_says_by_its_name_what_it_holds(digest: Shell) -> None:
    number = str(last_digest(digest)["id"])
    said = digest("preview", "perf-team", "--digest", number, "--output", "look.eml")
    assert said.out == ""
    assert said.err.endswith("Written to look.eml.\n")
    mail = email.message_from_bytes(Path("look.eml").read_bytes(), policy=email.policy.default)
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert mail["List-Unsubscribe"] is None  # nobody's own address to leave at
    digest("preview", "perf-team", "--digest", number, "--output", "look.html")
    assert Path("look.html").read_text().startswith("<!doctype html>")
    assert (
        "can't be written"
        in digest("preview", "perf-team", "--output", "no/such/x.html", expect=2).err
    )


@pytest.mark.usefixtures("world")
def test_a_day_names_the_digest_of_its_announcement(digest: Shell) -> None:
    last = last_digest(digest)
    day = str(last["slot"]).removeprefix("mailing:")[:10]
    assert f"digest {last['id']} of perf-team" in digest("preview", "perf-team", "--date", day).err
    said = digest("preview", "perf-team", "--date", "2001-01-01", expect=2)
    assert "it has had no digest of Mon 1 Jan 2001" in said.err
    assert "digest subscription show perf-team" in said.err


def test_what_waits_is_shown_as_it_will_go_out(digest: Shell, world: World) -> None:
    waiting = digest("preview", "perf-mail", "--as", "json").json
    assert waiting["papers"]
    digest("subscription", "resume", "perf-mail")
    world.clock.advance(timedelta(days=4))  # over the weekend
    digest("run")
    number = str(last_digest(digest, "perf-mail")["id"])
    frozen = digest("preview", "perf-mail", "--digest", number, "--as", "json").json
    went_out = {paper["id"]: paper for paper in frozen["papers"]}
    for paper in waiting["papers"]:
        sent = went_out[paper["id"]]
        assert sent | {"number": 0} == paper | {"number": 0}
    refused = digest("preview", "perf-mail", "--next", expect=2)
    assert "nothing waits for it" in refused.err


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIGEST_ALARMS_TO", "mailto:ops@example.org, slack:#papers")


@pytest.mark.usefixtures("told")
def test_a_digest_is_sent_to_the_operator_alone_and_nothing_is_marked(
    digest: Shell, world: World
) -> None:
    before = digest("delivery", "list", "--json", "--limit", "1000").json["deliveries"]
    mails = len(world.mail.mails)
    said = digest("send", "perf-team", "--digest", str(last_digest(digest)["id"]))
    assert said.lines[1:] == [
        "  mailto:ops@example.org: sent, 1 message",
        "  slack:#papers: sent, 2 messages",
    ]
    (mail,) = world.mail.mails[mails:]
    assert mail.recipients == ("ops@example.org",)
    assert b"List-Unsubscribe" not in mail.raw
    assert digest("delivery", "list", "--json", "--limit", "1000").json["deliveries"] == before
    digest("send", "perf-team", "--digest", str(last_digest(digest)["id"]))
    assert len(world.mail.mails) == mails + 2  # as often as asked


@pytest.mark.usefixtures("told")
def test_a_place_that_takes_nothing_stops_no_other_and_is_named(
    digest: Shell, world: World
) -> None:
    world.mail.script.reply("RCPT", "550 5.1.1 no such user")
    said = digest(
        "send", "perf-team", "--json", "--digest", str(last_digest(digest)["id"]), expect=4
    )
    mail, slack = said.json["sent"]
    assert "no such user" in mail["error"]
    assert (slack["error"], slack["messages"]) == ("", 2)


@pytest.mark.usefixtures("world")
def test_without_an_operator_nothing_is_sent(digest: Shell) -> None:
    assert "no address of yours" in digest("send", "perf-team", expect=2).err


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nobody",), "there is no subscription 'nobody'"),
        (("perf-team", "--digest", "99999"), "there is no digest 99999"),
        (("perf-team", "--next", "--date", "2026-11-19"), "one of --digest, --date and --next"),
    ],
)
def test_what_is_not_there_is_said(arguments: tuple[str, ...], words: str, digest: Shell) -> None:
    assert words in digest("preview", *arguments, expect=2).err


@pytest.mark.usefixtures("world")
def test_another_subscriptions_digest_is_not_taken_for_this_ones(digest: Shell) -> None:
    other = last_digest(digest, "perf-mail")
    said = digest("preview", "perf-team", "--digest", str(other["id"]), expect=2)
    assert "is one of perf-mail, not of perf-team" in said.err


@pytest.mark.usefixtures("world")
def test_an_ending_that_says_nothing_is_refused_unless_the_shape_is_named(digest: Shell) -> None:
    said = digest("preview", "perf-team", "--output", "look.pdf", expect=2)
    assert "the ending of look.pdf does not say what to write" in said.err
    assert ".html .eml .txt .atom .xml .json" in said.err
    assert not Path("look.pdf").exists()
    digest("preview", "perf-team", "--output", "look.pdf", "--as", "text")
    assert Path("look.pdf").exists()


def test_a_dry_run_says_what_a_run_would_send_and_changes_and_asks_nothing(
    world: World, digest: Shell
) -> None:
    digest("subscription", "resume", "perf-mail")
    world.clock.set(NOW + timedelta(days=3))
    said = digest("run", "--dry-run", "--json").json["subscriptions"]
    due = {one["line"]["settings"]["name"]: one["papers"] for one in said if one["is_due"]}
    assert due == {"gpu-mail": 0, "old-mail": 0, "perf-mail": 7, "perf-team": 0}
    assert re.search(
        r"^perf-mail +now +7 +mailto:second", digest("run", "--dry-run").out, re.MULTILINE
    )
    assert (len(world.arxiv.requests), len(world.mail.mails)) == (0, 0)
    digest("run")
    (planned,) = digest("subscription", "show", "perf-mail", "--json").json["digests"][:1]
    assert planned["papers"] == 7


def test_every_screen_announces_the_first_digest_of_a_place_that_is_added(
    world: World, digest: Shell
) -> None:
    digest("subscription", "resume", "perf-mail")
    to = "mailto:second@digest.example"
    world.edit(f'to = "{to}"', f'to = ["{to}", "mailto:late@digest.example"]')
    for command in (("run", "--dry-run"), ("status",), ("subscription", "list")):
        said = digest(*command).out
        assert re.search("^perf-mail .*first digest with the next run", said, re.MULTILINE), said
        assert "subscription perf-mail" in said, "it says that the file was edited"


@pytest.mark.usefixtures("world")
def test_a_digest_is_found_by_the_day_it_is_called_after(digest: Shell) -> None:
    for day in ("2026-11-19", "2026-11-20"):  # of its announcement, or on which it was made
        assert "Thu 19 Nov" in digest("preview", "perf-team", "--date", day).out.splitlines()[0]


def test_a_dry_run_says_what_an_edit_of_the_file_adds_and_ends(world: World, digest: Shell) -> None:
    for before, after in (('name = "old-mail"', 'name = "new-mail"'), ("old@", "new@")):
        world.edit(before, after)
    said = digest("run", "--dry-run", "--json").json["subscriptions"]
    edited = []
    for one in said:
        if one["edit"]:
            name = one["line"]["settings"]["name"]
            edited.append((name, one["edit"], one["is_due"], one["papers"]))
    assert edited == [
        ("new-mail", "first digest with the next run", True, None),
        ("old-mail", "ends with the next run", False, 0),
    ]
    assert re.search(
        "^new-mail +first digest with the next run +– ",
        digest("run", "--dry-run").out,
        re.MULTILINE,
    )
    digest("run")
    assert [mail.recipients for mail in world.mail.mails] == [("new@digest.example",)]
