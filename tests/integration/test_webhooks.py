"""Digests to other programs, from `digest.toml` to a receiver that uses the reference library."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from digest.config.values import write_signing_key
from digest.store import attempts
from tests.command_line import run_digest
from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request
from tests.integration.test_delivering import pass_by
from tests.integration.web.world import World, live_in

SECRET = write_signing_key(bytes(range(32)))


@dataclass
class Receiver:
    """A program that takes events; each is verified.

    Attributes:
        answers: what the next requests are answered; then 202.
        events: what came.
    """

    answers: list[Answer] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def take(self, request: Request) -> Answer:
        name = request.headers["webhook-id"]
        moment = int(request.headers["webhook-timestamp"])
        signed = Webhook(SECRET).sign(
            name, datetime.fromtimestamp(moment, UTC), request.body.decode()
        )
        assert request.headers["webhook-signature"] == signed
        event = json.loads(request.body)
        assert event["id"] == name
        self.events.append(event)
        return self.answers.pop(0) if self.answers else Answer(status=202)

    @property
    def ids(self) -> list[str]:
        return [event["id"] for event in self.events]


@pytest.fixture
def receiver() -> Receiver:
    return Receiver()


@pytest.fixture
def world(tmp_path: Path, receiver: Receiver) -> Iterator[World]:
    """An installation that posts to `lab`, whose secret is in the environment."""
    with live_in(tmp_path) as world, LoopbackServer(receiver.take) as server:
        world.write_config(
            to=("webhook:lab",), extra=f'\n[webhooks.lab]\nurl = "{server.url}/hook"\n'
        )
        world.environ["DIGEST_WEBHOOKS_LAB_SECRET"] = SECRET
        yield world


def states(world: World) -> list[str]:
    with closing(world.open()) as site, site.store.read() as conn:
        return [str(stored.delivery.state) for stored in attempts.load_stored_deliveries(conn)]


def test_a_digest_arrives_whole_and_signed(world: World, receiver: Receiver) -> None:
    pass_by(world, 2)
    (event,) = receiver.events
    assert event["type"] == "digest.planned"
    data = event["data"]
    assert data["papers"]
    assert [paper["number"] for paper in data["papers"]] == [*range(1, len(data["papers"]) + 1)]
    assert data["coverage"]["state"] == "complete"
    for paper in data["papers"]:
        for reason in paper["reasons"]:
            for place in reason["places"]:
                if place["field"] == "title":
                    assert paper["title_tex"][place["start"] : place["end"]]
    assert states(world) == ["sent"]


@pytest.mark.parametrize(
    "answer",
    [Answer(b"", 503), Answer(ending=Ending.DROP), Answer(ending=Ending.RESET)],
    ids=["503", "drop", "reset"],
)
def test_where_the_answer_was_lost_the_same_comes_again_under_the_same_id(
    answer: Answer, world: World, receiver: Receiver
) -> None:
    receiver.answers = [answer, answer]
    pass_by(world, 6)
    first, *others = receiver.events
    assert others == [first, first]
    assert states(world) == ["sent"]


def test_alarms_go_there_too(world: World, receiver: Receiver) -> None:
    environ = {
        **world.environ,
        "DIGEST_ALARMS_TO": "webhook:lab",
        "DIGEST_TEST_CLOCK": world.arxiv.clock_url,
    }
    pass_by(world, 1)
    assert run_digest(world.folder, environ, "doctor", "--quick", "--send").returncode == 0
    assert [event["type"] for event in receiver.events] == ["digest.planned", "alarm.raised"]
    assert receiver.events[-1]["data"]["is_test"] is True
