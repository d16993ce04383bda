"""C16: an older copy takes a lost database's place: nothing goes out before the operator says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.acceptance.dying import KILLED, Point
from tests.acceptance.made import made_up
from tests.acceptance.mortals import MEDIA, Mortal
from tests.command_line import run_digest
from tests.conftest import IS_NIGHTLY

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="databases are lost by night")

Live = Callable[[str], AbstractContextManager[Mortal]]
Lose = Callable[[str, "Copy"], AbstractContextManager[Mortal]]


@dataclass(frozen=True)
class Copy:
    """A copy of the database, and what becomes of the day's digest after going back to it.

    Attributes:
        between: when it was taken.
        taken: where the day's run dies and the copy is taken; None before the run.
        held: the delivery before the database is resumed.
        dropped: the delivery once what was due is taken as told.
    """

    between: str
    taken: Point | None
    held: str
    dropped: str


BEFORE_PLANNING = Copy("taken before the digest was planned", None, held="none 1", dropped="none 1")
AFTER_PLANNING = Copy(
    "taken between plan and claim",
    Point("digest.serve.steps:plan", after=True),
    held="ready 1",
    dropped="suppressed 1",
)

DATABASES = pytest.mark.parametrize("database", ["sqlite", "postgresql"])
COPIES = pytest.mark.parametrize("copy", [BEFORE_PLANNING, AFTER_PLANNING], ids=lambda copy: copy.between)


def command(here: Mortal, *arguments: str) -> None:
    done = run_digest(here.folder, here.environ, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def restored(live: Live, make_database: Callable[[str], tuple[str, str]]) -> Lose:
    @contextmanager
    def lose_what_followed(database: str, copy: Copy) -> Iterator[Mortal]:
        """Back up, let the day's digest go out, go back to the backup, and run hours later."""
        with live(database) as here:
            if copy.taken is not None:
                here.run(copy.taken, expect=KILLED)
            command(here, "db", "backup", "copy.db")
            here.advance(timedelta(seconds=10))
            here.run()
            assert [here.look_at(medium) for medium in MEDIA] == ["sent 1", "sent 1", "4/4"]
            if not here.is_sqlite:  # into PostgreSQL a backup goes only where the database is empty
                here.move_to(make_database("postgresql")[0])
            here.engine.dispose()
            command(here, "db", "restore", "copy.db")
            here.advance(timedelta(hours=5))
            here.run()
            yield here

    return lose_what_followed


def take_as_told(here: Mortal) -> None:
    command(here, "db", "resume", "--since", here.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))


@COPIES
@DATABASES
def test_a_restored_database_sends_nothing_and_what_was_sent_is_not_repeated(
    database: str, copy: Copy, restored: Lose
) -> None:
    with restored(database, copy) as here:
        assert [here.look_at(medium) for medium in MEDIA] == [copy.held, copy.held, "4/4"]
        take_as_told(here)
        here.advance(timedelta(minutes=20))
        here.run()
        assert [here.look_at(medium) for medium in MEDIA[:2]] == [copy.dropped, copy.dropped]
        here.arxiv.add(made_up(7, here.clock.now()))
        here.advance(timedelta(days=1))
        here.run()
        following = "sent 2" if copy is BEFORE_PLANNING else "suppressed+sent 2"
        assert [here.look_at(medium) for medium in MEDIA[:2]] == [following, following]


@COPIES
@DATABASES
def test_what_the_operator_does_not_take_as_sent_goes_out_again(database: str, copy: Copy, restored: Lose) -> None:
    with restored(database, copy) as here:
        assert here.look_at("mail") == copy.held
        command(here, "db", "resume")
        here.advance(timedelta(days=1))
        here.run()
        assert [here.look_at(medium) for medium in MEDIA] == ["sent 2", "sent 2", "4/4"]


@DATABASES
def test_a_feed_keeps_what_it_had_when_the_rest_is_taken_as_told(database: str, restored: Lose) -> None:
    with restored(database, BEFORE_PLANNING) as here:
        take_as_told(here)
        here.run()
        assert here.look_at("feed") == "4/4"
