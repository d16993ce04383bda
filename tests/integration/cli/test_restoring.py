"""Backups, what becomes of a restored database, and how it goes on: real mails, a real Slack, no double."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import IS_NIGHTLY
from tests.fakes.archive import DemoPaper
from tests.integration.cli.conftest import Shell
from tests.integration.web.world import SUNDAY, World, live_in, make_paper, wait_until
from tests.postgres_servers import create_database, quick_server

TUESDAY = datetime(2026, 11, 24, 3, 47, tzinfo=UTC)
"""22:47 Eastern time of Mon 23 Nov: another mailing is out."""

LATER = make_paper(15_003, "A later paper about stopwatches", datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
LATEST = make_paper(15_004, "The latest paper about hourglasses", datetime(2026, 11, 23, 12, 0, tzinfo=UTC))


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
        sum(paper.title in json.dumps(post.blocks) for post in world.slack.messages if not post.thread_ts),
    )


def test_what_was_sent_after_the_backup_is_sent_no_more_and_all_else_once(world: World, digest: Shell) -> None:
    digest("run")
    backup = digest("db", "backup", "--json").json["file"]
    announce(world, LATER, SUNDAY)
    digest("run")
    assert told(world, LATER) == (2, 1)
    lost = world.clock.now()

    assert "checked and sound" in digest("db", "restore", backup).out
    for _ in range(2):
        said = digest("run", "--now", expect=3)
        assert "this database was restored: nothing is sent until you" in said.err
        assert said.out.endswith("Nothing was sent.\n")
    for words in (("status",), ("subscription", "list"), ("subscription", "show", "perf-team")):
        assert "held until `digest db resume`, 1 waits" in digest(*words).out
    assert "the database was restored" in digest("status").out
    assert (len(world.mail.mails), len(world.slack.messages)) == (4, 4)

    announce(world, LATEST, TUESDAY)
    digest("run", expect=3)
    said = digest("db", "resume", "--since", lost.isoformat())
    named = f"by {lost:%a %-d %b %H:%M} UTC ({lost:%Y-%m-%dT%H:%M:%SZ})."
    assert f"Taken as sent: 0 deliveries, and 1 paper that had come due {named}" in said.out
    for _ in range(2):
        digest("run", "--now")
    assert told(world, LATER) == (2, 1)
    assert told(world, LATEST) == (2, 1)
    assert (len(world.mail.mails), len(world.slack.messages)) == (6, 6)
    assert digest("db", "check").out.startswith("Sound: ")
    trail = digest("explain", "2611.15003", "perf-team").out
    assert "perf-team  sent" in trail
    assert "by the database before this one was restored" in trail


def test_without_a_moment_all_that_waits_is_told_once(world: World, digest: Shell) -> None:
    digest("run")
    digest("db", "backup", "backup.db")
    announce(world, LATER, SUNDAY)
    digest("run")
    digest("db", "restore", "backup.db")
    digest("run", "--now", expect=3)
    digest("db", "resume")
    digest("run", "--now")
    assert told(world, LATER) == (4, 2)
    keys = [mail.message["Message-ID"] for mail in world.mail.mails]
    assert len(set(keys)) == 6, "no mailbox takes the one for a duplicate of the other"


def test_a_backup_that_was_copied_back_by_hand_says_what_it_is(world: World, digest: Shell) -> None:
    digest("run")
    announce(world, LATER, SUNDAY)
    world.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=2)
    digest("run", expect=4)
    assert told(world, LATER) == (0, 1)
    digest("db", "backup", "by-hand.db")
    world.clock.sleep(timedelta(hours=1).total_seconds())
    digest("run")
    assert told(world, LATER) == (2, 1)
    lost = world.clock.now().isoformat()

    for suffix in ("", "-wal", "-shm"):
        Path(f"digest.db{suffix}").unlink(missing_ok=True)
    shutil.copy("by-hand.db", "digest.db")
    world.clock.sleep(60)
    digest("run", "--now", expect=3)
    assert "Taken as sent: 2 deliveries" in digest("db", "resume", "--since", lost).out
    digest("run", "--now")
    assert told(world, LATER) == (2, 1)


@pytest.mark.usefixtures("world")
def test_before_arxiv_was_looked_at_nobody_knows_what_was_due(digest: Shell) -> None:
    digest("run")
    digest("db", "backup", "backup.db")
    digest("db", "restore", "backup.db")
    digest("run", expect=3)
    said = digest("db", "resume", "--since", "2026-11-20T03:00Z", expect=2)
    assert "not been checked since the restore" in said.err
    assert "in the future" in digest("db", "resume", "--since", "2027-01-01", expect=2).err
    assert "is not a moment" in digest("db", "resume", "--since", "tea time", expect=2).err


def test_the_operators_word_that_it_was_restored_holds_everything(world: World, digest: Shell) -> None:
    world.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=2)
    digest("run", expect=4)
    digest("db", "restore", "--mark")
    world.clock.sleep(timedelta(hours=1).total_seconds())
    digest("run", expect=3)
    assert world.mail.mails == ()
    assert digest("db", "resume", "--json").json == {"released": 2, "dropped": 0, "told": 0}
    assert "sending is not stopped" in digest("db", "resume", expect=2).err
    digest("run")
    assert len(world.mail.mails) == 2


@pytest.mark.skipif(not IS_NIGHTLY, reason="a database is lost twice")
def test_what_a_pause_kept_back_is_told_after_it_also_where_the_database_was_lost_meanwhile(
    world: World, digest: Shell
) -> None:
    digest("run")
    digest("subscription", "pause", "perf-team", "--until", "2026-11-30")
    announce(world, LATER, SUNDAY)
    digest("run")
    digest("db", "backup", "backup.db")
    world.clock.sleep(timedelta(days=5).total_seconds())
    last = world.clock.now().isoformat()
    digest("run")
    assert told(world, LATER) == (0, 0)

    digest("db", "restore", "backup.db")
    world.clock.sleep(timedelta(hours=12).total_seconds())
    digest("run", "--now", expect=3)
    digest("db", "resume", "--since", last)
    world.clock.sleep(timedelta(days=9).total_seconds())
    for _ in range(2):
        digest("run", "--now")
    assert told(world, LATER) == (2, 1)


@pytest.mark.skipif(not IS_NIGHTLY, reason="waits for the real pace of the jobs, most of a minute")
def test_serving_a_restored_database_sends_nothing_says_so_and_goes_on_when_told(
    world: World, digest: Shell
) -> None:
    digest("run")
    digest("db", "backup", "backup.db")
    announce(world, LATER, SUNDAY)
    digest("run")
    digest("db", "restore", "backup.db")
    with world.serve() as served:
        refused = digest("db", "restore", "backup.db", expect=3)
        assert f"process {served.process.pid} already works on this database" in refused.err
        wait_until(lambda: digest("subscription", "list", "--json").json["subscriptions"][0]["waiting"] == 1)
        report = digest("db", "backup", "--json", "beside.db").json
        assert report["rows"]["papers"] == 4
        assert told(world, LATER) == (2, 1)
        digest("db", "resume")
        world.mail.wait_for(6, 45)
        wait_until(lambda: told(world, LATER) == (4, 2))
        assert served.stop()[0] == 0
    assert any("the database was restored: nothing is sent" in line for line in served.log)


def test_a_database_is_moved_to_postgresql_and_works_on_there(world: World, digest: Shell) -> None:
    digest("run")
    with quick_server() as admin:
        url = create_database(admin, "moved")
        said = digest("db", "copy", "--to", url, "--json").json
        assert said["rows"]["deliveries"] == 4
        assert set(said["violations"].values()) == {0}
        assert "is not empty" in digest("db", "copy", "--to", url, expect=3).err
        file = world.folder / "digest.toml"
        file.write_text(f'{file.read_text()}\n[store]\nurl = "{url}"\n', encoding="utf-8")
        announce(world, LATER, SUNDAY)
        digest("run")
        assert told(world, LATER) == (2, 1)
        assert "Run: pg_dump --format=custom" in digest("db", "backup", expect=2).err


def test_a_check_names_what_is_wrong_and_fails(world: World, digest: Shell) -> None:
    digest("run")
    with closing(sqlite3.connect(world.folder / "digest.db")) as connection:
        connection.execute("UPDATE deliveries SET ended_at = NULL WHERE id = 1")
        connection.commit()
    said = digest("db", "check", expect=1)
    assert "1     a delivery has a time of its end once it has ended" in said.out
    found = digest("db", "check", "--json", expect=1).json
    assert found["violations"] == {"a delivery has a time of its end once it has ended": 1}
    assert "is damaged" in digest("db", "backup", expect=3).err


def test_backups_are_pruned_where_nobody_named_their_file(world: World, digest: Shell) -> None:
    digest("run")
    for _ in range(2):
        world.clock.sleep(60)
        assert "removed" not in digest("db", "backup", "--keep", "2").out
    world.clock.sleep(60)
    assert "1 older backup removed." in digest("db", "backup", "--keep", "2").out
    assert len(list((world.folder / "backups").iterdir())) == 2
    assert "--keep is for backups without FILE" in digest("db", "backup", "a.db", "--keep", "2", expect=2).err
    assert "name a FILE, or --mark" in digest("db", "restore", expect=2).err
