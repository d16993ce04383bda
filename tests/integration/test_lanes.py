"""Ways out that do not wait for each other, and several mails at once.

Real servers, real databases.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from digest.deliver.dispatch import LANES, deliver
from digest.deliver.rules import Step as Next
from digest.deliver.step import DeliverReport
from digest.deliver.transports.smtp import SmtpTransport
from digest.match.step import match
from digest.model.clock import monotonic
from digest.model.errors import StoreError
from digest.plan.step import plan
from digest.poll.step import poll
from digest.serve.configuration import sync_config
from digest.serve.schedule import EVERY, Schedule
from digest.site import Site
from digest.store import attempts
from tests.conftest import IS_NIGHTLY
from tests.fakes.mailscript import Cue, Script, Step
from tests.harness.serving import wait_until
from tests.integration.web.world import World

MANY = 400 if IS_NIGHTLY else 60
by_night = pytest.mark.skipif(
    not IS_NIGHTLY, reason="takes its time: .ci/nightly sets DIGEST_NIGHTLY"
)
OFTEN = dict.fromkeys(EVERY, 0.1)


class Watched(Script):
    """A script that notes how many connections the mail server had at each moment."""

    def __init__(self, count: Callable[[], int]) -> None:
        super().__init__()
        self._count = count
        self.most = 0
        self.ends: list[float] = []

    def take(self, step: Step, argument: str) -> Cue | None:
        self.most = max(self.most, self._count())
        if step is Step.END:
            self.ends.append(monotonic())
        return super().take(step, argument)


@pytest.fixture
def world(world: World) -> World:
    world.mail.script = Watched(lambda: len(world.mail._sessions))
    return world


def make_database(kind: str, request: pytest.FixtureRequest) -> str:
    if kind == "SQLite":
        return ""
    return f'\n[store]\nurl = "{request.getfixturevalue("postgresql_url")}"\n'


@contextmanager
def planned(
    world: World, to: tuple[str, ...], *, connections: int, store: str = ""
) -> Iterator[Site]:
    """Open an installation whose outbox holds one message for each place."""
    world.environ["DIGEST_MAIL_CONNECTIONS"] = str(connections)
    world.write_config(to=to, extra=store)
    with closing(world.open()) as site:
        sync_config(site)
        match(site) if poll(site).was_due else None
        plan(site)
        yield site


def mails_to(count: int) -> tuple[str, ...]:
    return tuple(f"mailto:reader-{number}@example.org" for number in range(count))


def states(site: Site) -> Counter[str]:
    with site.store.read() as conn:
        return Counter(
            str(stored.delivery.state)
            for stored in attempts.load_stored_deliveries(conn, limit=1_000)
        )


def in_thread(act: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread


def test_a_mail_server_that_hangs_delays_neither_slack_nor_the_other_jobs_nor_the_stop(
    world: World,
) -> None:
    world.write_config(to=("mailto:reader@example.org", "slack:#papers"))
    world.mail.script.delay("END", 60.0)
    site = world.open()
    sync_config(site)
    schedule = Schedule(site, every=OFTEN)
    schedule.start()
    wait_until(lambda: states(site) == {"sending": 1, "sent": 2})
    assert len(world.slack.messages) == 2

    def count_turns(job: str) -> int:
        return next(turn.turns for turn in schedule.pulse.board.list_turns() if turn.job == job)

    for job in ("poll", "plan", "deliver-posts", "watch"):
        before = count_turns(job)
        wait_until(lambda job=job, before=before: count_turns(job) > before + 1)
    assert states(site)["sending"] == 1
    assert schedule.stop(grace=0.1, force=5)
    assert states(site) == {"unknown": 1, "sent": 2}
    site.close()


def test_several_mails_are_on_their_way_at_once_and_never_more_than_the_connections_allowed(
    world: World,
) -> None:
    script = world.mail.script
    assert isinstance(script, Watched)
    script.delay("END", 0.3, times=3)
    with planned(world, mails_to(12), connections=3) as site:
        assert deliver(site).sent == {"mailto": 12}
    assert script.most == 3
    assert script.ends[2] - script.ends[0] < 0.3


@pytest.mark.parametrize("database", ["SQLite", pytest.param("PostgreSQL", marks=by_night)])
def test_every_mail_of_a_crowd_is_sent_exactly_once_or_put_back_if_it_was_refused(
    world: World, database: str, request: pytest.FixtureRequest
) -> None:
    later = ("reader-7@", "reader-33@")
    never = ("reader-8@",)
    for name in later:
        world.mail.script.reply("RCPT", "451 4.2.1 try later", match=name)
    for name in never:
        world.mail.script.reply("RCPT", "550 5.1.1 no such user", match=name)
    with planned(
        world, mails_to(MANY), connections=8, store=make_database(database, request)
    ) as site:
        report = deliver(site)
        taken = Counter(mail.recipients for mail in world.mail.mails)
        assert set(taken.values()) == {1}
        assert report.total == len(taken) == MANY - 3
        assert sorted(one.step for one in report.failures) == [Next.GIVE_UP, Next.RETRY, Next.RETRY]
        assert states(site) == {"sent": MANY - 3, "ready": 2, "dead": 1}
        with site.store.read() as conn:
            stored = attempts.load_stored_deliveries(conn, limit=1_000)
        assert {one.delivery.attempts for one in stored} == {1}
        assert {one.delivery.token for one in stored} == {1}


@pytest.mark.parametrize("database", ["SQLite", pytest.param("PostgreSQL", marks=by_night)])
def test_a_thread_that_loses_the_database_costs_no_other_its_mark(
    world: World, database: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun = threading.Event()
    has_failed = threading.Event()
    begin = attempts.begin
    send = SmtpTransport.send

    def begin_once(*given: Any) -> Any:  # noqa: ANN401 - passed on
        if has_begun.is_set() and not has_failed.is_set():
            has_failed.set()
            raise StoreError("the database went away")
        return begin(*given)

    def send_noted(*given: Any) -> Any:  # noqa: ANN401 - passed on
        has_begun.set()
        return send(*given)

    monkeypatch.setattr("digest.store.attempts.begin", begin_once)
    monkeypatch.setattr(SmtpTransport, "send", send_noted)
    world.mail.script.delay("END", 0.5, times=3)
    with planned(
        world, mails_to(12), connections=4, store=make_database(database, request)
    ) as site:
        with pytest.raises(StoreError, match="went away"):
            deliver(site)
        left = states(site)
        assert left["sent"] == len(world.mail.mails) >= 1
        assert set(left) == {"sent", "claimed", "ready"}


def test_a_stop_begins_nothing_more_and_lets_end_what_is_on_its_way(world: World) -> None:
    world.mail.script.delay("END", 0.5, times=6)
    should_stop = threading.Event()
    with planned(world, mails_to(12), connections=2) as site:
        run = in_thread(lambda: deliver(site, should_stop=should_stop.is_set))
        wait_until(lambda: states(site)["sending"] == 2)
        assert states(site) == {"sending": 2, "ready": 10}
        should_stop.set()
        run.join(5)
        assert states(site) == {"sent": 2, "ready": 10}
        assert len(world.mail.mails) == 2


def test_whoever_interrupts_a_pass_waits_for_no_mail_server(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.mail.script.delay("END", 60.0)

    def interrupt(*_: object) -> None:
        wait_until(lambda: bool(world.mail.mails))
        monkeypatch.undo()
        raise KeyboardInterrupt

    with planned(world, mails_to(1), connections=1) as site:
        monkeypatch.setattr("digest.deliver.dispatch.wait", interrupt)
        began = monotonic()
        with pytest.raises(KeyboardInterrupt):
            deliver(site)
        assert monotonic() - began < 10
        assert states(site) == {"unknown": 1}


def test_a_report_counts_what_threads_tell_it_together() -> None:
    report = DeliverReport()
    kind = next(iter(LANES[0].kinds))

    def note() -> None:
        for _ in range(500):
            report.note_sent(kind)

    threads = [in_thread(note) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert report.total == 2_000
