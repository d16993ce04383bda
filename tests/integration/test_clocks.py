"""A clock that went ahead once: what stops, and how work goes on once a right clock counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from digest.model.clock import ManualClock
from digest.store import open_store
from digest.store.dialect import Moment, metadata
from digest.store.schema import digests, subscriptions
from tests.command_line import run_digest
from tests.fakes.arxiv import DemoArxiv
from tests.integration.cli.fortnight import (
    FIRST_DIGEST,
    MORNINGS,
    PAPER,
    World,
    count_arrived,
    surrounded,
)
from tests.postgres_servers import create_database

NOON = datetime(2026, 11, 11, 12, 5, tzinfo=UTC)
"""A Wednesday: its digests have gone out."""

AHEAD = timedelta(days=5, minutes=-2)
"""The clock then says Monday 16 November, a day whose digests still have a turn of their own."""


def call(world: World, *arguments: str, expect: int = 0, **environ: str) -> str:
    done = run_digest(world.folder, {**world.environ, **environ}, *arguments)
    assert done.returncode == expect, (done.stdout, done.stderr)
    return done.stdout + done.stderr


@contextmanager
def ahead(world: World, by: timedelta) -> Iterator[str]:
    """Give the address of a clock that is ahead of everybody else's."""
    with DemoArxiv([], ManualClock(world.clock.now() + by)) as other:
        yield other.clock_url


def list_mails(world: World) -> list[tuple[tuple[str, ...], set[str]]]:
    """Return the recipients and the papers of each mail."""
    return [(mail.recipients, set(PAPER.findall(mail.raw.decode()))) for mail in world.mail.mails]


def live(world: World, *, slips: bool) -> Counter[tuple[str, str]]:
    """Live a fortnight, in which the clock may slip once; return what was told."""
    for moment in (FIRST_DIGEST, *MORNINGS[:2], NOON, *MORNINGS[2:]):
        world.clock.set(moment)
        if moment == NOON and slips:
            with ahead(world, AHEAD) as clock:
                call(world, "run", "--now", DIGEST_TEST_CLOCK=clock)
            assert "`digest run --accept-clock`" in call(world, "run", expect=3)
            call(world, "run", "--accept-clock")
        else:
            call(world, "run", "--now", expect=4 if moment in MORNINGS and is_refused(world) else 0)
    assert "Sound" in call(world, "db", "check")
    return count_arrived(world)


def is_refused(world: World) -> bool:
    """Whether the mail to the one reader whom the server refuses is still to be refused."""
    return "old@digest.example" in (world.folder / "digest.toml").read_text()


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[World]:
    with surrounded(tmp_path / "slipped", FIRST_DIGEST) as world:
        world.edit("old@digest.example", "other@digest.example")
        yield world


def test_after_a_clock_went_ahead_nothing_is_lost_late_or_sent_twice(
    plain: World, tmp_path: Path
) -> None:
    with surrounded(tmp_path / "steady", FIRST_DIGEST) as steady:
        steady.edit("old@digest.example", "other@digest.example")
        expected = live(steady, slips=False)
        mails = list_mails(steady)
    assert live(plain, slips=True) == expected
    assert list_mails(plain) == mails


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_no_moment_of_the_database_lies_in_the_future_and_it_is_said_what_was_put_right(
    plain: World, database: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{plain.folder / 'digest.db'}"
    if database == "postgresql":
        server: Engine = request.getfixturevalue("postgresql_server")
        url = create_database(server, "slipped")
    monkeypatch.setenv("DIGEST_STORE_URL", url)
    call(plain, "run")
    plain.clock.set(NOON)
    plain.mail.script.reply("RCPT", "451 4.7.1 greylisted", times=1)
    with ahead(plain, timedelta(days=30)) as clock:
        call(plain, "run", "--now", expect=4, DIGEST_TEST_CLOCK=clock)
    plain.arxiv.faults.add("503", times=1)
    said = call(plain, "run", "--accept-clock", expect=4)
    line = " ".join(said.partition("Put right:")[2].split())
    for table in (
        "poll_runs",
        "cursors",
        "digests",
        "deliveries",
        "attempts",
        "matches",
        "subscriptions",
    ):
        assert re.search(rf"\b{table} [1-9]", line), line
    late = plain.clock.now() + timedelta(days=1)
    moments = []
    for one_table in metadata.sorted_tables:
        moments += [column for column in one_table.columns if isinstance(column.type, Moment)]
    with closing(open_store(url)) as store, store.read() as conn:
        found = set()
        for column in moments:
            too_late = select(column).where(column > late)
            if conn.execute(too_late).first():
                found.add(str(column))
        turns = [one for one in conn.execute(select(subscriptions.c.next_due_at)).scalars() if one]
        slots = list(conn.execute(select(digests.c.slot)).scalars())
    assert found <= {"subscriptions.next_due_at"}
    assert max(turns) < plain.clock.now() + timedelta(days=4)
    assert not [slot for slot in slots if slot.startswith("2026-12")]
    assert "Put right: nothing" in call(plain, "run", "--accept-clock")


def test_a_pause_that_ended_before_its_time_goes_on_and_no_other_is_touched(plain: World) -> None:
    call(plain, "run")
    call(plain, "subscription", "pause", "perf-mail", "--until", "2026-11-20")
    call(plain, "subscription", "pause", "gpu-mail", "--until", "2026-12-24")
    plain.clock.set(NOON)
    plain.edit('"slack:#papers", ', "")  # whose clock is right: it says that we are too quick
    with ahead(plain, timedelta(days=30)) as clock:
        call(plain, "run", "--now", DIGEST_TEST_CLOCK=clock)
    call(plain, "run", "--accept-clock")
    listed = call(plain, "subscription", "list", "--json")
    states = {}
    for one in json.loads(listed)["subscriptions"]:
        paused_until = one["paused_until"] or ""
        states[one["settings"]["name"]] = (one["state"], paused_until[:10])
    assert states["perf-mail"] == ("paused", "2026-11-19")
    assert states["gpu-mail"] == ("paused", "2026-12-23")
    assert states["perf-team"][0] == "active"
