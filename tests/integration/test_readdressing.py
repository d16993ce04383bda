"""A channel made anew: what waited goes where the name leads now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from digest.model.messages import DeliveryState
from tests.fakes.workspace import SlackChannel
from tests.integration.test_delivering import CHANNEL, look, pass_by
from tests.integration.test_lanes import by_night
from tests.integration.web.world import World, live_in


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with live_in(tmp_path) as world:
        yield world


@by_night
def test_a_message_for_a_channel_made_anew_is_written_anew(world: World) -> None:
    world.write_config(to=CHANNEL)
    world.slack.faults.add("ratelimited", retry_after="600", path="chat.post")
    pass_by(world, 1)
    assert look(world)[0].delivery.attempts == 1
    world.slack.workspace.channels = {"C000ANEW00": SlackChannel("C000ANEW00", "papers")}
    pass_by(world, 1)
    (message,) = world.slack.messages
    assert message.channel == "C000ANEW00"
    assert look(world)[0].delivery.state is DeliveryState.SENT
