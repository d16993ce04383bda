"""Requests whose leave lapsed before they could be begun."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from digest.arxiv.client import ArxivAddresses, ArxivClient
from digest.model.clock import GateOutcome, Grant, ManualClock, RequestOutcome
from digest.model.errors import ArxivUnreachable
from digest.model.polls import RequestLog
from tests.fakes.pages import atom_entry, atom_feed
from tests.integration.arxiv.conftest import AGENT, WatchedGate
from tests.integration.arxiv.scripted import Reply, ScriptedArxiv

MORNING = datetime(2026, 11, 20, 12, tzinfo=UTC)
OK = GateOutcome(RequestOutcome.OK)
FAILED = GateOutcome(RequestOutcome.FAILED)
GOOD = Reply(atom_feed(atom_entry()))


class LapsingGate(WatchedGate):
    """Gives leave that has lapsed when the request could be begun, so many times."""

    def __init__(self, lapsing: int) -> None:
        super().__init__()
        self.lapsing = lapsing

    def acquire(self) -> Grant:
        grant = super().acquire()
        self.open = replace(grant, good_until=-math.inf) if self.granted <= self.lapsing else grant
        return self.open


@pytest.mark.parametrize("lapsing", [0, 1, 2])
def test_what_could_not_be_begun_in_time_is_not_asked_and_leave_is_asked_for_again(
    arxiv: ScriptedArxiv, requests: list[RequestLog], lapsing: int
) -> None:
    gate = LapsingGate(lapsing)
    client = ArxivClient(
        ArxivAddresses(f"{arxiv.url}/api/query"),
        AGENT,
        gate,
        ManualClock(MORNING),
        on_request=requests.append,
    )
    arxiv.script(GOOD)
    assert client.search("a", size=1).grant == Grant(lapsing + 1)
    assert len(arxiv.seen) == len(requests) == client.requests == 1
    assert gate.outcomes == [FAILED] * lapsing + [OK]
    client.close()


def test_a_machine_that_is_late_again_and_again_gives_up_without_a_request(
    arxiv: ScriptedArxiv,
) -> None:
    client = ArxivClient(
        ArxivAddresses(f"{arxiv.url}/api/query"), AGENT, LapsingGate(100), ManualClock(MORNING)
    )
    with pytest.raises(ArxivUnreachable, match="in time") as caught:
        client.search("a", size=1)
    assert caught.value.message.startswith("papers 0-0 of 'a': ")
    assert caught.value.hint
    client.close()
    assert arxiv.seen == []
