"""A mark that the database does not take is tried again until it goes through or a stop comes."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from digest.deliver import step
from digest.model.clock import monotonic
from digest.model.errors import StoreError
from digest.serve.configuration import sync_config
from digest.serve.schedule import EVERY, Schedule
from digest.serve.steps import run_pass
from digest.site import Site
from digest.store import attempts
from tests.conftest import IS_NIGHTLY
from tests.harness.serving import wait_until
from tests.integration.web.world import World

by_night = pytest.mark.skipif(
    not IS_NIGHTLY, reason="takes its time: .ci/nightly sets DIGEST_NIGHTLY"
)
AWAY = "the database is out for lunch"


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(step, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(step, "LONGEST_PAUSE", 0.01)
    world.write_config(to=("mailto:reader@example.org",))
    return world


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, name: str = "mark_sent") -> Iterator[list[int]]:
    """Let the database take no marks while the block lasts; give how often it was asked."""
    asked = [0]

    def refuse(*_: Any, **__: Any) -> Any:  # noqa: ANN401 - never returns
        asked[0] += 1
        raise StoreError(AWAY, hint="Wait for the coffee.")

    with monkeypatch.context() as patch:
        patch.setattr(f"digest.store.attempts.{name}", refuse)
        yield asked


def state(site: Site) -> str:
    with site.store.read() as conn:
        (stored,) = attempts.load_stored_deliveries(conn)
        return str(stored.delivery.state)


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record for record in caplog.records if record.name == "digest.deliver"]
    assert all(record.exc_info is None for record in lines)
    return [
        record.getMessage()
        for record in lines
        if "gives nothing to send" not in record.getMessage()
    ]


@pytest.mark.parametrize("name", ["mark_sent", pytest.param("mark_unsent", marks=by_night)])
def test_a_mark_is_tried_until_the_database_takes_it_and_little_is_said_of_it(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if name == "mark_unsent":
        world.mail.script.reply("RCPT", "550 5.1.1 no such user")
    site = world.open()
    run = threading.Thread(target=lambda: run_pass(site), daemon=True)
    with refusing(monkeypatch, name) as asked:
        run.start()
        wait_until(lambda: asked[0] > 100)
        assert state(site) == "sending"
    run.join(10)
    assert state(site) == ("dead" if name == "mark_unsent" else "sent")
    assert len(world.mail.mails) == (name != "mark_unsent")
    first, last = told(caplog)
    assert re.fullmatch(
        rf"the database does not record the result of delivery 1 to \S+; trying again: {AWAY}"
        r" Wait for the coffee\.",
        first,
    )
    assert re.fullmatch(r"the result of delivery 1 to \S+ was recorded after \d+\.\d s", last)
    site.close()


def test_a_stop_lets_a_mark_try_on_while_it_waits_and_ends_it_when_it_has_waited_long_enough(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = world.open()
    sync_config(site)
    schedule = Schedule(site, every=dict.fromkeys(EVERY, 0.1))
    schedule.start()
    with refusing(monkeypatch) as asked:
        wait_until(lambda: asked[0] > 10)
        began = monotonic()
        before = asked[0]
        assert schedule.stop(grace=0.2, force=0.8)
        assert 1.0 <= monotonic() - began < 5.0
        assert 20 < asked[0] - before < 1_500, "it went on with its pauses until the end"
    assert "is lost, because this process stops" in told(caplog)[-1]
    assert state(site) == "sending"
    assert len(world.mail.mails) == 1
    site.close()
