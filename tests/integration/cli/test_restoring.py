"""Backups, what a restored database takes as sent, and how it goes on.

Real mails, a real Slack, no double.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.fakes.archive import DemoPaper
from tests.integration.cli.conftest import Shell
from tests.integration.web.world import SUNDAY, World, live_in, make_paper
from tests.postgres_servers import create_database, run_tool

TUESDAY = datetime(2026, 11, 24, 3, 47, tzinfo=UTC)
"""22:47 Eastern time of Mon 23 Nov: another announcement is out."""

LATER = make_paper(
    15_003, "A later paper about stopwatches", datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
)
LATEST = make_paper(
    15_004, "The latest paper about hourglasses", datetime(2026, 11, 23, 12, 0, tzinfo=UTC)
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world whose first three papers were told: two mails and a post."""
    with live_in(tmp_path) as world:
        monkeypatch.chdir(tmp_path)
        for name, text in {**world.environ, "DIGEST_TEST_CLOCK": world.arxiv.clock_url}.items():
            monkeypatch.setenv(name, text)
        yield world


def announce(world: World, paper: DemoPaper, moment: datetime) -> None:
    world.arxiv.add(paper)
    world.clock.sleep((moment - world.clock.now()).total_seconds())


def told(world: World, paper: DemoPaper) -> tuple[int, int]:
    """Return how many mails and posts in the channel told of a paper."""
    return (
        sum(paper.title in str(mail.message) for mail in world.mail.mails),
        sum(
            paper.title in json.dumps(post.blocks)
            for post in world.slack.messages
            if not post.thread_ts
        ),
    )


def test_what_was_sent_after_the_backup_is_sent_no_more_and_all_else_once(
    world: World, digest: Shell
) -> None:
    digest("run")
    backup = digest("db", "backup", "--json").json["file"]
    announce(world, LATER, SUNDAY)
    digest("run")
    assert told(world, LATER) == (2, 1)
    lost = world.clock.now()

    said = digest("db", "restore", backup, "--sent-until", lost.isoformat()).out
    assert "checked and sound" in said
    named = f"due by {lost:%a %-d %b %H:%M} UTC ({lost:%Y-%m-%dT%H:%M:%SZ})."
    assert f"Taken as sent: 0 deliveries and 0 papers, {named}" in said
    assert digest("run", "--now").out.endswith("Nothing new to send.\n")
    assert "wait" not in digest("subscription", "show", "perf-team").out
    announce(world, LATEST, TUESDAY)
    for _ in range(2):
        digest("run", "--now")
    assert told(world, LATER) == (2, 1)
    assert told(world, LATEST) == (2, 1)
    assert (len(world.mail.mails), len(world.slack.messages)) == (6, 6)
    assert digest("db", "check").out.startswith("Sound: ")
    trail = digest("explain", "2611.15003", "perf-team").out
    assert "perf-team  sent" in trail
    assert "taken as sent before the database was restored" in trail


def test_what_was_announced_after_the_moment_is_sent_under_keys_of_its_own(
    world: World, digest: Shell
) -> None:
    digest("run")
    digest("db", "backup", "backup.db")
    before = world.clock.now().isoformat()
    announce(world, LATER, SUNDAY)
    digest("run")
    digest("db", "restore", "backup.db", "--sent-until", before)
    world.clock.sleep(60)
    digest("run", "--now")
    assert told(world, LATER) == (4, 2)
    keys = [mail.message["Message-ID"] for mail in world.mail.mails]
    assert len(set(keys)) == 6, "no mailbox takes the one for a duplicate of the other"


def test_a_backup_that_was_copied_back_by_hand_sends_nothing_twice(
    world: World, digest: Shell
) -> None:
    digest("run")
    announce(world, LATER, SUNDAY)
    world.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=2)
    digest("run", expect=4)
    assert told(world, LATER) == (0, 1)
    digest("db", "backup", "by-hand.db")
    world.clock.sleep(timedelta(hours=1).total_seconds())
    digest("run")
    assert told(world, LATER) == (2, 1)

    for suffix in ("", "-wal", "-shm"):
        Path(f"digest.db{suffix}").unlink(missing_ok=True)
    shutil.copy("by-hand.db", "digest.db")
    world.clock.sleep(60)
    said = digest("db", "restored", "--sent-until", "now", "--json").json
    assert said["settled"] == {"deliveries": 2, "papers": 0}
    digest("run", "--now")
    assert told(world, LATER) == (2, 1)
    assert (
        "taken as sent before the database was restored"
        in digest("delivery", "list", "--state", "not-sent").out
    )


def test_postgresql_goes_back_to_what_pg_dump_wrote_and_sends_nothing_twice(
    world: World, digest: Shell, postgresql_server: Engine
) -> None:
    url = create_database(postgresql_server, "dumped")
    file = world.folder / "digest.toml"
    file.write_text(f'{file.read_text()}\n[store]\nurl = "{url}"\n', encoding="utf-8")
    digest("run")
    run_tool("pg_dump", "--format=custom", "--file=digest.dump", url)
    announce(world, LATER, SUNDAY)
    digest("run")
    run_tool("pg_restore", "--clean", "--if-exists", f"--dbname={url}", "digest.dump")
    digest("db", "restored", "--sent-until", "now")
    digest("run", "--now")
    assert told(world, LATER) == (2, 1)
    assert "Run: pg_dump --format=custom" in digest("db", "backup", expect=2).err
    assert (
        "Restore with pg_restore"
        in digest("db", "restore", "b.db", "--sent-until", "now", expect=2).err
    )


@pytest.mark.usefixtures("world")
def test_the_moment_must_be_named_and_have_come(digest: Shell) -> None:
    digest("run")
    assert "Add --sent-until now, or" in digest("db", "restored", expect=2).err
    for text, said in (("2027-01-01", "in the future"), ("tea time", "is not a moment")):
        assert said in digest("db", "restored", "--sent-until", text, expect=2).err


def test_a_database_is_moved_to_postgresql_and_works_on_there(
    world: World, digest: Shell, postgresql_server: Engine
) -> None:
    digest("run")
    url = create_database(postgresql_server, "moved")
    said = digest("db", "copy", "--to", url, "--json").json
    assert said["deliveries"] == 4
    assert "is not empty" in digest("db", "copy", "--to", url, expect=3).err
    file = world.folder / "digest.toml"
    file.write_text(f'{file.read_text()}\n[store]\nurl = "{url}"\n', encoding="utf-8")
    announce(world, LATER, SUNDAY)
    digest("run")
    assert told(world, LATER) == (2, 1)


def test_a_check_names_what_is_wrong_and_fails(world: World, digest: Shell) -> None:
    digest("run")
    with closing(sqlite3.connect(world.folder / "digest.db")) as connection:
        connection.execute("UPDATE deliveries SET ended_at = NULL WHERE id = 1")
        connection.commit()
    said = digest("db", "check", expect=1)
    assert "   1  a delivery has a time of its end once it has ended" in said.out
    found = digest("db", "check", "--json", expect=1).json
    assert found["violations"] == [
        {"name": "a delivery has a time of its end once it has ended", "count": 1}
    ]
    assert "is damaged" in digest("db", "backup", expect=3).err
