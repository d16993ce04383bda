"""Whatever a process was at when it was killed, every reader gets the day's digest, as the table says.

Every death is a real `kill -9` of a process of its own, with a real mail server, Slack over HTTP, arXiv over
HTTP, and a real database. By night each row is lived on both databases; always, a few of them.
"""

from __future__ import annotations

import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from digest.deliver import unsubscribe
from digest.store.database import INVARIANTS
from tests.acceptance.dying import ENDED, KILLED, Nursery, Point
from tests.acceptance.fail_points import MOMENTS, PLANNED, TABLE, Row, live_on
from tests.acceptance.made import made_up
from tests.acceptance.mortals import MEDIA, NEWS, OLD, Mortal, mortal
from tests.command_line import run_digest
from tests.conftest import IS_NIGHTLY
from tests.postgres_servers import PostgresServer

Live = Callable[[str], AbstractContextManager[Mortal]]
DATABASES = ("sqlite", "postgresql")
ALL_NEWS = [f"2603.{number:05d}" for number in range(OLD + 1, OLD + NEWS + 1)]
ALWAYS = {("C4", "sqlite"), ("C11, mail", "sqlite"), ("C11, Slack", "postgresql")}
BY_NIGHT = pytest.mark.skipif(not IS_NIGHTLY, reason="a few deaths are died every day, all of them by night")
ON_BOTH = pytest.mark.parametrize("database", DATABASES)

CELLS = [
    pytest.param(
        database,
        row,
        id=f"{row.name} on {database}",
        marks=() if (row.name, database) in ALWAYS else BY_NIGHT,
    )
    for row in TABLE
    for database in DATABASES
]


def run_later(here: Mortal, *waits: timedelta) -> None:
    """Run once after each wait; every claim has lapsed by the second."""
    for number, wait in enumerate(waits or [timedelta(minutes=20)]):
        here.advance(wait)
        if number == 1:
            here.let_leases_lapse()
        here.run()


def look(here: Mortal) -> list[str]:
    return [here.look_at(medium) for medium in MEDIA]


@pytest.mark.parametrize(("database", "row"), CELLS)
def test_every_reader_gets_the_digest_as_the_table_says(database: str, row: Row, live: Live) -> None:
    with live(database) as here:
        here.run(row.point, expect=KILLED if "death" in row.point.happens else ENDED)
        assert here.stored == row.stored, "at death"
        expected = {medium: row.path(medium, is_sqlite=here.is_sqlite) for medium in MEDIA}
        assert live_on(here) == expected, f"between {row.between}"
        assert here.stored == PLANNED, "in the end"
        assert here.find_told() == {*ALL_NEWS}


def test_the_table_names_every_point_of_one_death_for_every_medium_it_lies_on() -> None:
    names = {row.name for row in TABLE}
    assert {name.partition(",")[0] for name in names} == {f"C{number}" for number in range(1, 14)}
    for number in (9, 10, 11, 13):
        assert {f"C{number}, mail", f"C{number}, Slack", f"C{number}, feed"} <= names


# Slack refuses messages for their size: each comes once with fewer papers, whichever moment the process dies at.

TOO_LITTLE = 400
"""Bytes that two of the day's papers fit into, and neither all four nor the message that lists their titles."""

_SLACK = "digest.deliver.transports.slack:SlackTransport.send"
SHORTENED = {
    "Slack has refused it → the mark": Point("digest.store.outbox_sends:mark_unsent"),
    "the mark is written → committed": Point("digest.store.outbox_sends:mark_unsent", after=True),
    "the mark is committed → the shorter message": Point("digest.deliver.step:_mark_failure", after=True),
    "the shorter message is taken → the mark": Point("digest.deliver.step:_mark_sent"),
    "the shorter message is marked → the next part": Point("digest.deliver.step:_mark_sent", after=True),
}


@BY_NIGHT
@ON_BOTH
@pytest.mark.parametrize("name", SHORTENED)
def test_every_paper_is_shown_or_counted_once_whenever_the_process_dies(
    database: str, name: str, live: Live
) -> None:
    with live(database) as here:
        here.slack.workspace.most_text = TOO_LITTLE
        here.run(SHORTENED[name], expect=KILLED)
        run_later(here, *MOMENTS[:3])
        parent, part = here.slack.messages
        assert part.thread_ts == parent.ts
        text = " ".join(part.block_texts)
        shown = list(dict.fromkeys(re.findall(r"2603\.\d{5}", text)))
        assert 0 < len(shown) < NEWS
        assert f"{NEWS - len(shown)} more" in text
        assert {str(state) for (state,) in here.ask("SELECT DISTINCT state FROM deliveries")} == {"sent"}
        assert {name: here.ask(query) for name, query in INVARIANTS.items() if here.ask(query) != [(0,)]} == {}


# C14: a process is suspended while it sends, for longer than its claim lasts, and comes back. On PostgreSQL
# another takes its delivery over meanwhile. On SQLite nobody can: the one that is suspended holds the database.

TAKEN = {
    "mail": Point("digest.deliver.transports.smtp:SmtpTransport.send", after=True, happens="pause"),
    "Slack": Point(_SLACK, after=True, happens="pause"),
}
NOT_TAKEN = {
    "mail": Point("digest.deliver.transports.smtp_connection:SmtpConnection._look_once_more", happens="pause"),
    # The first request looks the channel up.
    "Slack": Point("digest.deliver.transports.slack:SlackClient.call", skip=1, happens="pause"),
}
REFUSED = 1


def suspend(here: Mortal, point: Point) -> int:
    process = here.start(point)
    here.nursery.await_stop(process)
    here.let_leases_lapse()
    here.advance(timedelta(minutes=2))
    return process


def wake(here: Mortal, process: int) -> None:
    """Let a suspended process go on, to its end."""
    os.kill(process, signal.SIGCONT)
    assert here.nursery.await_end(process) == ENDED, here.nursery.read_log()
    here.await_silence()


@BY_NIGHT
@pytest.mark.parametrize(("medium", "copies"), [("mail", 2), ("Slack", 1)])
def test_what_was_taken_before_the_pause_is_repeated_where_nobody_can_be_asked(
    medium: str, copies: int, live: Live
) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 1"
        run_later(here)
        assert here.look_at(medium) == f"sent {copies}"
        before = here.ask("SELECT id, token, attempts, remote_id, ended_at FROM deliveries ORDER BY id")
        wake(here, suspended)
        assert here.ask("SELECT id, token, attempts, remote_id, ended_at FROM deliveries ORDER BY id") == before
        run_later(here)
        assert here.look_at(medium) == f"sent {copies}"
        assert len(here.find_told()) == NEWS


@BY_NIGHT
@pytest.mark.parametrize("medium", TAKEN)
def test_an_answer_that_comes_late_counts_as_long_as_nobody_has_sent_again(medium: str, live: Live) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 1"
        wake(here, suspended)
        assert here.look_at(medium) == "sent 1"
        run_later(here)
        assert here.look_at(medium) == "sent 1"


@BY_NIGHT
@pytest.mark.parametrize("medium", NOT_TAKEN)
def test_what_was_not_handed_over_before_the_pause_is_left_to_whoever_took_it_over(
    medium: str, live: Live
) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, NOT_TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 0"
        run_later(here)
        assert here.look_at(medium) == "sent 1"
        wake(here, suspended)
        run_later(here)
        assert here.look_at(medium) == "sent 1"
        assert len(here.find_told()) == NEWS


@BY_NIGHT
@pytest.mark.parametrize("medium", TAKEN)
@pytest.mark.parametrize(
    ("points", "awake"),
    # Nobody has taken its claim: it goes on where the thread that keeps claims wakes before the one that sends.
    [(TAKEN, {"sent 1"}), (NOT_TAKEN, {"ready 0", "sent 1"})],
    ids=("taken", "not taken"),
)
def test_on_sqlite_nobody_works_beside_one_that_is_suspended(
    points: dict[str, Point], awake: set[str], medium: str, live: Live
) -> None:
    with live("sqlite") as here:
        suspended = suspend(here, points[medium])
        here.run(expect=REFUSED)
        assert here.look_at(medium).startswith("sending")
        wake(here, suspended)
        assert here.look_at(medium) in awake
        run_later(here)
        assert look(here) == ["sent 1", "sent 1", "4/4"]


@BY_NIGHT
def test_a_feed_written_late_is_put_right_by_the_next_pass(live: Live) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, Point("digest.deliver.transports.file:_replace", happens="pause"))
        here.arxiv.add(made_up(7, here.clock.now(), announced=here.clock.now()))
        here.advance(timedelta(hours=8))
        here.run()
        assert here.look_at("feed") == "5/5"
        wake(here, suspended)
        assert here.look_at("feed") == "5/4"
        run_later(here)
        assert here.look_at("feed") == "5/5"


# C15: the power goes at the worst moments: what was committed is there afterwards, so it is as after any death.
# PostgreSQL is ended at once and started again. Of SQLite's file all that was committed has reached the disk; what
# may be torn is what was being written: so garbage is put behind the last commit, and the shared file is gone.

WORST_NAMES = ("C3", "C7", "C9, mail", "C11, mail", "C11, Slack", "C11, feed", "C13, mail")
WORST = [row for row in TABLE if row.name in WORST_NAMES]


@contextmanager
def beside_postgresql(folder: Path, nursery: Nursery) -> Iterator[tuple[Mortal, PostgresServer]]:
    with tempfile.TemporaryDirectory(prefix="digest-pg-", ignore_cleanup_errors=True) as place:
        Path(place).chmod(0o755)
        server = PostgresServer(Path(place) / "server")
        server.create()
        try:
            server.do("CREATE DATABASE mortal")
            with mortal(folder, server.url("mortal"), server.url(), nursery) as here:
                yield here, server
        finally:
            server.crash()


def live_after_cut(here: Mortal, row: Row, cut: Callable[[], None]) -> None:
    here.run(row.point, expect=KILLED)
    here.engine.dispose()
    cut()
    assert here.stored == row.stored
    assert live_on(here) == {medium: row.path(medium, is_sqlite=here.is_sqlite) for medium in MEDIA}


@BY_NIGHT
@pytest.mark.parametrize("row", WORST, ids=lambda row: row.name)
def test_a_server_that_lost_its_power_has_all_it_committed(row: Row, quick_folder: Path, nursery: Nursery) -> None:
    with beside_postgresql(quick_folder, nursery) as (here, server):

        def cut() -> None:
            server.crash()
            server.start()

        live_after_cut(here, row, cut)


@BY_NIGHT
@pytest.mark.parametrize("row", WORST, ids=lambda row: row.name)
def test_a_file_whose_end_was_torn_has_all_it_committed(row: Row, live: Live, quick_folder: Path) -> None:
    def cut() -> None:
        with (quick_folder / "digest.db-wal").open("ab") as log:
            log.write(os.urandom(2 * (4096 + 24)))
        (quick_folder / "digest.db-shm").unlink()

    with live("sqlite") as here:
        live_after_cut(here, row, cut)
        assert here.ask("PRAGMA integrity_check") == [("ok",)]


# C16: an older copy takes a lost database's place: what was sent after it is not repeated.

COPIES = {
    "taken before the digest was planned": (None, "none 1"),
    "taken between plan and claim": (Point("digest.serve.steps:plan", after=True), "suppressed 1"),
}
"""Where the day's run dies and the copy is taken; a delivery after what was due counts as sent."""


def command(here: Mortal, *arguments: str) -> None:
    done = run_digest(here.folder, here.environ, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@BY_NIGHT
@pytest.mark.parametrize("copy", COPIES)
def test_what_was_sent_after_the_backup_is_not_repeated(copy: str, live: Live) -> None:
    taken, dropped = COPIES[copy]
    with live("sqlite") as here:
        if taken is not None:
            here.run(taken, expect=KILLED)
        command(here, "db", "backup", "copy.db")
        run_later(here, timedelta(seconds=10))
        assert look(here) == ["sent 1", "sent 1", "4/4"]
        here.engine.dispose()
        command(here, "db", "restore", "copy.db", "--sent-until", "now")
        run_later(here, timedelta(hours=5))
        assert look(here) == [dropped, dropped, "4/4"]
        here.arxiv.add(made_up(7, here.clock.now()))
        run_later(here, timedelta(days=1))
        following = "sent 2" if taken is None else "suppressed+sent 2"
        assert look(here)[:2] == [following, following]


# C17: the link by which somebody leaves stands in the mail and, hashed, in the database: both or none.

LINKS = "SELECT count(*) FROM tokens WHERE purpose = 'leave'"
LINKED = [row for row in TABLE if row.name in ("C7", "C8", "C10, mail", "C11, mail")]


@BY_NIGHT
@ON_BOTH
@pytest.mark.parametrize("row", LINKED, ids=lambda row: row.name)
def test_the_link_in_every_copy_works_and_ends_the_digests(database: str, row: Row, live: Live) -> None:
    with live(database) as here:
        here.run(row.point, expect=KILLED)
        assert here.ask(LINKS) == [(row.stored.digests,)], "with the digest it is for"
        here.let_leases_lapse()
        run_later(here, *MOMENTS[:3])
        assert here.ask(LINKS) == [(1,)]
        (link,) = {
            re.findall(r"http://localhost/u/([^>\s]+)>", str(mail.message["List-Unsubscribe"]))[0]
            for mail in here.mail.mails
        }
        with here.opened() as site, site.store.begin() as conn:
            assert unsubscribe.leave_by_link(conn, link, how="one-click", at=here.clock.now())
        came = here.look_at("mail")
        here.arxiv.add(made_up(7, here.clock.now()))
        run_later(here, timedelta(days=1))
        assert here.look_at("mail") == came
        assert here.look_at("feed") == "5/5"
