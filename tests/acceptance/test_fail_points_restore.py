"""C16: an older copy takes a lost database's place: nothing goes out before the operator says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest

from tests.acceptance.dying import KILLED, ROOT, Point
from tests.acceptance.made import made_up
from tests.acceptance.mortals import MEDIA, Mortal
from tests.conftest import IS_NIGHTLY

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="databases are lost by night")

Live = Callable[[str], AbstractContextManager[Mortal]]
BEFORE_PLANNING = None
AFTER_PLANNING = Point("digest.pipeline.passes:plan", after=True)

DATABASES = pytest.mark.parametrize("database", ["sqlite", "postgresql"])
COPIES = pytest.mark.parametrize(
    ("taken", "held", "dropped"),
    [
        pytest.param(BEFORE_PLANNING, "none 1", "none 1", id="taken before the digest was planned"),
        pytest.param(AFTER_PLANNING, "held 1", "suppressed 1", id="taken between plan and claim"),
    ],
)


def command(here: Mortal, *arguments: str) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "digest", *arguments],
        cwd=here.folder,
        env={**os.environ, **here.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def lose_what_followed(here: Mortal, taken: Point | None, make_database: Callable[[str], tuple[str, str]]) -> None:
    """Back up at a point of the day, let the day's digest go out, and go back to the backup."""
    if taken is not None:
        here.run(taken, expect=KILLED)
    command(here, "backup", "copy.db")
    here.advance(timedelta(seconds=10))
    here.run()
    assert [here.look_at(medium) for medium in MEDIA] == ["sent 1", "sent 1", "4/4"]
    if not here.is_sqlite:  # into PostgreSQL a backup goes only where the database is empty
        here.move_to(make_database("postgresql")[0])
    here.engine.dispose()
    command(here, "restore", "copy.db")


@COPIES
@DATABASES
def test_a_restored_database_sends_nothing_and_what_was_sent_is_not_repeated(  # noqa: PLR0917 - what is tried, and where
    database: str,
    taken: Point | None,
    held: str,
    dropped: str,
    live: Live,
    make_database: Callable[[str], tuple[str, str]],
) -> None:
    with live(database) as here:
        lose_what_followed(here, taken, make_database)
        here.advance(timedelta(hours=5))
        here.run()
        assert [here.look_at(medium) for medium in MEDIA] == [held, held, "4/4"]
        command(here, "resume", "--since", here.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        here.advance(timedelta(minutes=20))
        here.run()
        assert [here.look_at(medium) for medium in MEDIA[:2]] == [dropped, dropped]
        here.arxiv.add(made_up(7, here.clock.now()))
        here.advance(timedelta(days=1))
        here.run()
        following = "sent 2" if dropped == "none 1" else "suppressed+sent 2"
        assert [here.look_at(medium) for medium in MEDIA[:2]] == [following, following]


@COPIES
@DATABASES
def test_what_the_operator_does_not_take_as_sent_goes_out_again(  # noqa: PLR0917 - what is tried, and where
    database: str,
    taken: Point | None,
    held: str,
    dropped: str,
    live: Live,
    make_database: Callable[[str], tuple[str, str]],
) -> None:
    with live(database) as here:
        lose_what_followed(here, taken, make_database)
        here.advance(timedelta(hours=5))
        here.run()
        assert here.look_at("mail") == held != dropped or taken is None
        command(here, "resume")
        here.advance(timedelta(days=1))
        here.run()
        assert [here.look_at(medium) for medium in MEDIA] == ["sent 2", "sent 2", "4/4"]


@DATABASES
def test_a_feed_keeps_what_it_had_when_the_rest_is_taken_as_told(
    database: str, live: Live, make_database: Callable[[str], tuple[str, str]]
) -> None:
    with live(database) as here:
        lose_what_followed(here, BEFORE_PLANNING, make_database)
        here.advance(timedelta(hours=5))
        here.run()
        command(here, "resume", "--since", here.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        here.run()
        assert here.look_at("feed") == "4/4"
