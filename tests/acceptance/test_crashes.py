"""What a reader sees when the process dies, at each hand-over: nothing lost, nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import digest.deliver.step
import digest.poll.record
import digest.serve.steps
from digest.deliver.transports.slack import SlackTransport
from digest.deliver.transports.smtp import SmtpTransport
from digest.model.clock import ManualClock
from digest.model.papers import Author
from tests.acceptance.worlds import Installation
from tests.fakes.archive import DemoPaper, plan_mailing
from tests.fakes.arxiv import DemoArxiv

START = datetime(2026, 3, 2, 12, 40, tzinfo=UTC)
NEWS = 7


class Killed(BaseException):
    """The process is gone: nothing of ours may catch this."""


def made_up(number: int, submitted: datetime) -> DemoPaper:
    return DemoPaper(
        id=f"2603.{number:05d}",
        announced=plan_mailing(submitted),
        submitted=(submitted,),
        title=f"Made-up paper {number}",
        abstract="Made up.",
        authors=(Author("Bo Sample"),),
        categories=("cs.PF",),
    )


@pytest.fixture
def arxiv() -> Iterator[DemoArxiv]:
    old = [made_up(number, START - timedelta(days=4, minutes=number)) for number in range(1, 8)]
    with DemoArxiv(old, ManualClock(START), page_size=3) as running:
        yield running


@pytest.fixture
def here(arxiv: DemoArxiv, install: Callable[..., Installation]) -> Installation:
    """Set up an installation that knows the past, on the noon after a mailing with news."""
    installation = install(arxiv, extra="first_look = 0\ncap = 2")
    installation.run()
    arxiv.add(*(made_up(number, START + timedelta(hours=1)) for number in range(101, 101 + NEWS)))
    set_clock(arxiv, START + timedelta(days=1))
    return installation


def set_clock(arxiv: DemoArxiv, moment: datetime) -> None:
    clock = arxiv._clock
    assert isinstance(clock, ManualClock)
    clock.set(moment)


def die(
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,  # noqa: ANN401 - a module or a class
    name: str,
    *,
    after: bool = False,
    skip: int = 0,
) -> None:
    """Kill the process when a function is called, before it does anything or right after it has."""
    original = getattr(owner, name)
    calls = 0

    def lethal(*args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - stands for any function
        nonlocal calls
        calls += 1
        if calls <= skip:
            return original(*args, **keywords)
        if after:
            original(*args, **keywords)
        raise Killed

    monkeypatch.setattr(owner, name, lethal)


def survive(here: Installation, arxiv: DemoArxiv, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run until the death, then as often as cron would within the next hours."""
    with pytest.raises(Killed):
        here.run()
    monkeypatch.undo()
    for minutes in (1, 20, 300):
        set_clock(arxiv, START + timedelta(days=1, minutes=minutes))
        here.run()


def assert_told_once(here: Installation) -> None:
    mails = [mail.raw for mail in here.mail.mails]
    assert len(mails) == 1
    text = " ".join(text for message in here.slack.messages for text in message.block_texts)
    for number in range(101, 101 + NEWS):
        assert text.count(f"2603.{number:05d}") >= 1
    keys = [message.client_msg_id for message in here.slack.messages]
    assert len(set(keys)) == len(keys)


BEFORE_THE_NETWORK = [
    (digest.poll.record.RecordedRun, "store_page", False, 1),
    (digest.poll.record.RecordedRun, "store_page", True, 1),
    (digest.poll.record.RecordedRun, "_finish", False, 0),
    (digest.serve.steps, "match", False, 0),
    (digest.serve.steps, "match", True, 0),
    (digest.serve.steps, "plan", False, 0),
    (digest.serve.steps, "plan", True, 0),
    (digest.serve.steps, "deliver", False, 0),
    (digest.deliver.step, "_render", False, 0),
    (digest.deliver.step, "_render", False, 1),
    (digest.serve.steps, "publish_feeds", False, 0),
]


@pytest.mark.parametrize(
    ("owner", "name", "after", "skip"),
    BEFORE_THE_NETWORK,
    ids=lambda value: getattr(value, "__name__", str(value)).rpartition(".")[2],
)
def test_a_death_away_from_the_network_costs_nothing_and_doubles_nothing(
    owner: Any,  # noqa: ANN401 - a module or a class
    name: str,
    *,
    after: bool,
    skip: int,
    here: Installation,
    arxiv: DemoArxiv,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    die(monkeypatch, owner, name, after=after, skip=skip)
    survive(here, arxiv, monkeypatch)
    assert_told_once(here)


def test_a_post_that_slack_took_before_the_death_is_found_there_and_not_repeated(
    here: Installation, arxiv: DemoArxiv, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(monkeypatch, SlackTransport, "send", after=True)
    survive(here, arxiv, monkeypatch)
    assert_told_once(here)


def test_a_post_that_never_reached_slack_goes_out_after_the_death(
    here: Installation, arxiv: DemoArxiv, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(monkeypatch, SlackTransport, "send")
    survive(here, arxiv, monkeypatch)
    assert_told_once(here)


def test_a_mail_taken_before_the_death_comes_at_most_twice_byte_for_byte_alike(
    here: Installation, arxiv: DemoArxiv, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(monkeypatch, SmtpTransport, "send", after=True)
    survive(here, arxiv, monkeypatch)
    raw = [mail.raw for mail in here.mail.mails]
    assert len(raw) == 2
    assert raw[0] == raw[1]


def test_a_mail_that_never_left_is_not_lost(
    here: Installation, arxiv: DemoArxiv, monkeypatch: pytest.MonkeyPatch
) -> None:
    die(monkeypatch, SmtpTransport, "send")
    survive(here, arxiv, monkeypatch)
    assert len(here.mail.mails) == 1


def test_an_answer_slack_lost_is_looked_up_and_not_repeated(here: Installation, arxiv: DemoArxiv) -> None:
    here.slack.faults.add("drop_after", times=1, path="chat.postMessage")
    for minutes in (0, 1, 20):
        set_clock(arxiv, START + timedelta(days=1, minutes=minutes))
        here.run()
    assert_told_once(here)
