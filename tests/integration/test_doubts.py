"""Messages that may have arrived, and faults nobody thought of.

Who is asked, and what goes on beside.
"""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from digest.deliver import step
from digest.deliver.dispatch import LANES, deliver
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import ManualClock, monotonic
from digest.model.errors import Refusal
from digest.model.messages import Delivery
from digest.site import Site
from tests.fakes.slack import SlackReceiver
from tests.harness.serving import wait_until
from tests.integration.test_delivering import CHANNEL, READER
from tests.integration.test_lanes import in_thread, mails_to, planned, states
from tests.integration.web.world import World

BOTH = (*READER, *CHANNEL)


def fail(*_given: object, **_options: object) -> None:
    raise ZeroDivisionError("nobody thought of this")


@pytest.mark.parametrize("phase", ["before", "after"])
def test_a_fault_nobody_thought_of_concerns_one_delivery_alone(
    world: World, phase: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(SlackTransport, "resolve" if phase == "before" else "send", fail)
    with planned(world, BOTH, connections=1) as site:
        report = deliver(site)
        assert report.sent == {"mailto": 1}
        assert states(site) == {
            "sent": 1,
            "held" if phase == "before" else "unknown": 1,
            "ready": 1,
        }
    (failure,) = report.failures
    assert "ZeroDivisionError" in str(failure.reason)
    assert failure.refusal is (Refusal.SETTINGS if phase == "before" else None)
    assert "nobody thought of this" in caplog.text


def test_a_fault_that_breaks_a_pass_gives_back_what_was_not_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step, "_mark_failure", fail)
    monkeypatch.setattr(SmtpTransport, "send", fail)
    with planned(world, mails_to(6), connections=1) as site:
        with pytest.raises(ZeroDivisionError):
            deliver(site)
        left = states(site)
        assert set(left) == {"sending", "ready"}
        assert left["ready"] >= 3


def doubt(world: World, site: Site) -> None:
    """Bring every post into doubt, long enough ago to be looked into.

    Slack does not answer that any more.
    """
    assert isinstance(world.clock, ManualClock)
    world.slack.faults.add("drop_after", times=3, path="chat.post")
    deliver(site)
    assert states(site)["unknown"] == 3
    world.clock.advance(timedelta(minutes=5))
    world.slack.faults.add("hang", times=3, path="conversations.history", seconds=60)


def test_a_post_in_doubt_keeps_no_other_waiting_and_a_stop_no_longer_than_slacks_time_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        SlackTransport.__init__, "__kwdefaults__", {"url": "", "timeout": 2.0, "now": monotonic}
    )
    with SlackReceiver(
        world.clock, channels=("papers", "one", "two", "three"), pace=0
    ) as world.slack:
        world.environ["DIGEST_SLACK_WEBHOOKS_TEAM"] = world.slack.webhook_url
        world.slack.faults.add("ratelimited", path="/services/", retry_after="60")
        with planned(
            world, ("slack:#one", "slack:#two", "slack:#three", "slack-webhook:team"), connections=1
        ) as site:
            doubt(world, site)
            should_stop = threading.Event()
            run = in_thread(lambda: deliver(site, should_stop=should_stop.is_set))
            wait_until(lambda: states(site) == {"unknown": 3, "sent": 1, "ready": 3}, 5)
            wait_until(lambda: world.slack.calls.count("conversations.history") > 0, 5)
            should_stop.set()
            began = monotonic()
            site.interrupt()
            run.join(10)
            assert monotonic() - began < 5
            assert states(site) == {"unknown": 3, "sent": 1, "ready": 3}


def test_a_pass_that_gets_nothing_though_something_is_due_pauses_before_it_looks_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[datetime] = []

    def claim_nothing(*_given: object, now: datetime, **_options: object) -> list[Delivery]:
        looks.append(now)  # what is due there somebody else holds
        return []

    monkeypatch.setattr("digest.store.outbox.claim", claim_nothing)
    with planned(world, READER, connections=1) as site:
        deliver(site, lanes=LANES[:1], should_stop=lambda: len(looks) > 20)
    assert all(later - earlier >= timedelta(seconds=0.2) for earlier, later in pairwise(looks))
