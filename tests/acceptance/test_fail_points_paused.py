"""C14: a process is suspended while it sends, for longer than its claim lasts, and comes back.

On PostgreSQL another process takes its delivery over meanwhile. On SQLite nobody can: the one that is
suspended still holds the database.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta

import pytest

from tests.acceptance.dying import ENDED, Point
from tests.acceptance.made import made_up
from tests.acceptance.mortals import Mortal
from tests.conftest import IS_NIGHTLY

pytestmark = pytest.mark.skipif(not IS_NIGHTLY, reason="processes are suspended by night")

_SMTP = "digest.deliver.transports.smtp:SmtpTransport."
_TAKEN = {
    "mail": Point(_SMTP + "send", after=True, happens="pause"),
    "Slack": Point("digest.deliver.transports.slack:SlackTransport.send", after=True, happens="pause"),
}
_NOT_TAKEN = {
    "mail": Point("digest.deliver.transports.smtp_connection:SmtpConnection._look_once_more", happens="pause"),
    # The first request looks the channel up.
    "Slack": Point("digest.deliver.transports.http:HttpSender.post", skip=1, happens="pause"),
}
_REFUSED = 1
Live = Callable[[str], AbstractContextManager[Mortal]]


@dataclass
class Suspended:
    """An installation one of whose processes stands still."""

    here: Mortal
    process: int

    def wake(self) -> None:
        """Let it go on, to its end."""
        os.kill(self.process, signal.SIGCONT)
        assert self.here.nursery.await_end(self.process) == ENDED, self.here.nursery.read_log()
        self.here.await_silence()


def suspend(here: Mortal, point: Point) -> Suspended:
    process = here.start(point)
    here.nursery.await_stop(process)
    here.let_leases_lapse()
    here.advance(timedelta(minutes=2))
    return Suspended(here, process)


def run_later(here: Mortal) -> None:
    here.advance(timedelta(minutes=20))
    here.run()


@pytest.mark.parametrize(("medium", "copies"), [("mail", 2), ("Slack", 1)])
def test_what_was_taken_before_the_pause_is_repeated_where_nobody_can_be_asked(
    medium: str, copies: int, live: Live
) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, _TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 1"
        run_later(here)
        assert here.look_at(medium) == f"sent {copies}"
        before = here.ask("SELECT id, token, attempts, remote_id, ended_at FROM deliveries ORDER BY id")
        suspended.wake()
        assert here.ask("SELECT id, token, attempts, remote_id, ended_at FROM deliveries ORDER BY id") == before
        run_later(here)
        assert here.look_at(medium) == f"sent {copies}"
        assert len(here.find_told()) == 4


@pytest.mark.parametrize("medium", ["mail", "Slack"])
def test_an_answer_that_comes_late_counts_as_long_as_nobody_has_sent_again(medium: str, live: Live) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, _TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 1"
        suspended.wake()
        assert here.look_at(medium) == "sent 1"
        run_later(here)
        assert here.look_at(medium) == "sent 1"


@pytest.mark.parametrize("medium", ["mail", "Slack"])
def test_what_was_not_handed_over_before_the_pause_is_left_to_whoever_took_it_over(
    medium: str, live: Live
) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, _NOT_TAKEN[medium])
        here.run()
        assert here.look_at(medium) == "unknown 0"
        run_later(here)
        assert here.look_at(medium) == "sent 1"
        suspended.wake()
        run_later(here)
        assert here.look_at(medium) == "sent 1"
        assert len(here.find_told()) == 4


@pytest.mark.parametrize(("medium", "point"), [*_TAKEN.items()])
def test_on_sqlite_nobody_works_beside_one_that_is_suspended(medium: str, point: Point, live: Live) -> None:
    with live("sqlite") as here:
        suspended = suspend(here, point)
        here.run(expect=_REFUSED)
        assert here.look_at(medium) == "sending 1"
        suspended.wake()
        assert here.look_at(medium) == "sent 1"
        run_later(here)
        assert [here.look_at("mail"), here.look_at("Slack"), here.look_at("feed")] == ["sent 1", "sent 1", "4/4"]


@pytest.mark.parametrize(("medium", "point"), [*_NOT_TAKEN.items()])
def test_on_sqlite_what_was_not_handed_over_goes_out_later(medium: str, point: Point, live: Live) -> None:
    with live("sqlite") as here:
        suspended = suspend(here, point)
        here.run(expect=_REFUSED)
        suspended.wake()
        assert here.look_at(medium) == "ready 0"
        run_later(here)
        assert here.look_at(medium) == "sent 1"


def test_a_feed_written_late_is_put_right_by_the_next_pass(live: Live) -> None:
    with live("postgresql") as here:
        suspended = suspend(here, Point("digest.deliver.transports.file:_replace", happens="pause"))
        here.arxiv.add(made_up(7, here.clock.now(), announced=here.clock.now()))
        here.advance(timedelta(hours=8))
        here.run()
        assert here.look_at("feed") == "5/5"
        suspended.wake()
        assert here.look_at("feed") == "5/4"
        run_later(here)
        assert here.look_at("feed") == "5/5"
