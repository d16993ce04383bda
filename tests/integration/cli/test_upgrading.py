"""A database of the release before, as a killed process left it.

Each start refuses it, is upgraded, and goes on.

The release that comes is made up. Its mail server is a new one, so that all mails counted came
after the upgrade.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine

from digest.branch.step import Branch
from digest.config import load_config
from digest.store import migrate, workers
from tests.conftest import IS_NIGHTLY
from tests.fakes.archive import DemoPaper
from tests.harness.serving import Served, wait_until
from tests.integration.branch.conftest import git
from tests.integration.web.world import World, live_in, make_paper
from tests.later_release import LATER, later_release, write_later_release
from tests.postgres_servers import create_database
from tests.schema_before import DIED, NEWS, REVISION, STATES, TO, load_postgresql, load_sqlite

NEXT = make_paper(15_004, "A paper of the day after", datetime(2026, 12, 1, 12, 0, tzinfo=UTC))
EVENING = datetime(2026, 12, 2, 3, 47, tzinfo=UTC)
"""It is out."""

OWED = dict.fromkeys(STATES, 0) | dict.fromkeys(("ready", "claimed", "sending", "unknown"), 1)
"""Mails of the digest that was under way, by state.

What may have arrived comes once more under its Message-ID.
"""
SENT_AT_LAST = OWED | {"held": 1}
"""What was refused is tried again in the morning, and its server takes it then."""

ALL = dict.fromkeys(STATES, 1) | {"suppressed": 0}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Give what the release before left, an hour later; Slack has what was being sent to it."""
    with live_in(tmp_path, DIED + timedelta(seconds=30)) as world:
        world.arxiv.add(NEWS)
        world.write_config(to=TO)
        load_sqlite(tmp_path / "digest.db")
        with closing(sqlite3.connect(tmp_path / "digest.db")) as connection:
            found = connection.execute(
                "SELECT body FROM deliveries WHERE state = 'sending' AND destination LIKE 'sl%'"
            )
            (body,) = found.fetchone()
        headers = {
            "Authorization": f"Bearer {world.slack.token}",
            "Content-Type": "application/json",
        }
        httpx.post(
            f"{world.slack.url}chat.postMessage", content=body, headers=headers
        ).raise_for_status()
        world.clock.sleep(3_600)
        yield world


def told(world: World, paper: DemoPaper) -> tuple[dict[str, int], int]:
    """Return how many mails told each reader of a paper, and how many posts the channel."""
    mails = [mail.recipients for mail in world.mail.mails if paper.title in str(mail.message)]
    posts = [
        one
        for one in world.slack.messages
        if not one.thread_ts and paper.title in json.dumps(one.blocks)
    ]
    return {state: mails.count((f"{state}@example.org",)) for state in STATES}, len(posts)


def dump(world: World) -> list[str]:
    with closing(sqlite3.connect(world.folder / "digest.db")) as connection:
        return [*connection.iterdump()]


def announce(world: World) -> None:
    world.arxiv.add(NEXT)
    world.clock.sleep((EVENING - world.clock.now()).total_seconds())


def live_on(world: World) -> None:
    """Run again and again until the next day's papers were told, and see that all came once.

    One message was refused, and is tried again in the morning: no run before ends with 0.
    """
    for _ in range(3):
        assert world.call("run").returncode == 4
        world.clock.sleep(600)
    assert told(world, NEWS) == (OWED, 1)
    announce(world)
    for _ in range(2):
        world.call("run")
        world.clock.sleep(600)
    assert (told(world, NEWS), told(world, NEXT)) == ((SENT_AT_LAST, 1), (ALL, 1))
    assert world.call("db", "check").returncode == 0


def wait_until_told(world: World, paper: DemoPaper, mails: dict[str, int]) -> None:
    """Let time pass for what serves."""

    def has_all() -> bool:
        world.clock.sleep(5)
        sent, posts = told(world, paper)
        return posts >= 1 and all(sent[state] >= number for state, number in mails.items())

    wait_until(has_all, 60)
    assert told(world, paper) == (mails, 1)


def serve_later(world: World) -> Served:
    return world.serve(program=f"tests.later_release {world.folder / 'later'}")


def test_a_run_is_refused_until_the_upgrade_and_then_sends_what_was_owed_once(world: World) -> None:
    before = dump(world)
    with later_release(world.folder / "later"):
        for command in (("run",), ("status",), ("doctor", "--quick")):
            done = world.call(*command)
            said = " ".join((done.stdout + done.stderr).split())
            assert done.returncode == (1 if "doctor" in command else 3)
            assert f"is at revision {REVISION}, this release needs {LATER}" in said
            assert "run `digest db migrate`: it keeps a copy" in said
        assert (dump(world), world.mail.mails) == (before, ())
        done = json.loads(world.call("db", "migrate", "--json").stdout)
        assert (done["before"], done["after"]) == (REVISION, LATER)
        live_on(world)
    Path(done["kept"]).replace(world.folder / "digest.db")
    assert dump(world) == before, "the release before can go back to it"


def test_tables_that_no_release_made_are_told_by_a_run_and_by_the_doctor(world: World) -> None:
    world.call("db", "migrate")
    with closing(sqlite3.connect(world.folder / "digest.db")) as connection:
        connection.execute("ALTER TABLE subscriptions RENAME COLUMN library TO books")
    for command, code in ((("run",), 3), (("doctor", "--quick"), 1)):
        done = world.call(*command)
        assert done.returncode == code
        said = " ".join((done.stdout + done.stderr).split())
        assert "no such column: subscriptions.library" in said
        assert "made before the first release, move the file away" in said


def test_serving_is_refused_until_the_upgrade_which_waits_for_the_old_one_to_stop(
    world: World,
) -> None:
    folder = write_later_release(world.folder / "later")
    before = dump(world)
    words = [sys.executable, "-m", "tests.later_release", str(folder), "serve"]
    done = subprocess.run(  # noqa: S603 - our own command
        words,
        cwd=world.folder,
        env=world.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert "digest db migrate" in done.stderr
    assert (dump(world), world.mail.mails) == (before, ())
    with later_release(folder):
        with workers.lock_file(world.folder / "digest.db"):
            assert "already works on this database" in world.call("db", "migrate").stderr
        assert world.call("db", "migrate").returncode == 0
    with serve_later(world) as served:
        wait_until_told(world, NEWS, OWED)
        served.stop()
    announce(world)
    with serve_later(world):
        wait_until_told(world, NEXT, ALL)
    assert told(world, NEWS) == (SENT_AT_LAST, 1)


@pytest.mark.skipif(not IS_NIGHTLY, reason="takes its time: .ci/nightly sets DIGEST_NIGHTLY")
def test_replicas_are_replaced_one_by_one_and_send_all_once(
    world: World, postgresql_server: Engine
) -> None:
    url = create_database(postgresql_server, "before")
    load_postgresql(url)
    migrate(url)
    world.environ["DIGEST_STORE_URL"] = url
    later = write_later_release(world.folder / "later")
    with world.serve("--no-web") as old, later_release(later):
        assert "Make a backup with pg_dump" in " ".join(world.call("run").stderr.split())
        assert migrate(url).after == LATER
        with serve_later(world) as one:
            wait_until_told(world, NEWS, OWED)
            assert old.stop()[0] == 0
            with serve_later(world) as two:
                assert one.stop()[0] == two.stop()[0] == 0
        announce(world)
        with serve_later(world):  # whoever starts asks arXiv at once, and else once a minute
            wait_until_told(world, NEXT, ALL)
    assert told(world, NEWS) == (SENT_AT_LAST, 1)


@pytest.mark.parametrize("command", [("run",), ("db", "migrate")])
def test_a_state_on_a_branch_is_upgraded_under_the_lease_and_an_older_release_leaves_it(
    world: World, command: tuple[str, ...]
) -> None:
    git(world.folder, "init", "--quiet", "--bare", "origin.git")
    git(world.folder, "init", "--quiet")
    git(world.folder, "remote", "add", "origin", str(world.folder / "origin.git"))
    world.environ |= {
        "DIGEST_STORE_GIT_BRANCH": "state",
        "DIGEST_STORE_STATE_KEY": b64encode(bytes(32)).decode(),
    }
    (world.folder / "run").mkdir()
    (world.folder / "digest.db").replace(world.folder / "before.db")
    killed = Branch(
        load_config(world.folder / "digest.toml", world.environ),
        world.clock,
        "killed",
        world.folder / "run",
    )
    killed.fetch(create=True)
    killed.take_lease()
    killed.store.close()
    (world.folder / "before.db").replace(world.folder / "run" / "digest.db")
    killed.store.reopen()
    killed.push()
    killed.store.close()
    pushed = git(world.folder, "ls-remote", "origin")
    with later_release(world.folder / "later"):
        refused = world.call("status")
        assert refused.returncode == 3
        said = " ".join(refused.stderr.split())
        assert f"on the branch state is at revision {REVISION}, this release needs {LATER}" in said
        assert world.call("doctor", "--quick").returncode == 1
        assert world.call(*command).returncode == (0 if command == ("run",) else 75), (
            "the lease is another's"
        )
        assert (git(world.folder, "ls-remote", "origin"), world.mail.mails) == (pushed, ())
        world.clock.sleep(3_600 + 300)
        assert world.call(*command).returncode == (4 if command == ("run",) else 0), (
            "one message is held"
        )
        live_on(world)
    pushed = git(world.folder, "ls-remote", "origin")
    older = world.call("run")
    assert older.returncode == 3
    assert "is newer than this release's" in " ".join(older.stderr.split())
    assert git(world.folder, "ls-remote", "origin") == pushed
