"""A clock kept by another process, over real HTTP on 127.0.0.1."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from digest.model.clock import RemoteClock
from digest.model.errors import ConfigurationError
from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json

START = datetime(2026, 3, 24, 12, 40, tzinfo=UTC)


@pytest.fixture
def keeper() -> Iterator[str]:
    moments = [START]

    def answer(request: Request) -> Answer:
        if request.method == "POST":
            moments.append(moments[-1] + timedelta(seconds=int(request.param("advance"))))
        return answer_json({"now": f"{moments[-1]:%Y-%m-%dT%H:%M:%SZ}"})

    with LoopbackServer(answer) as server:
        yield f"{server.url}/_control/now"


def test_a_remote_clock_tells_the_moment_the_other_process_keeps(keeper: str) -> None:
    clock = RemoteClock(keeper)
    assert clock.now() == START
    assert clock.is_simulated


def test_sleeping_moves_the_other_process_on_by_whole_seconds_rounded_up(keeper: str) -> None:
    clock = RemoteClock(keeper)
    clock.sleep(2.1)
    assert clock.now() == START + timedelta(seconds=3)
    clock.sleep(0)
    clock.sleep(-1)
    assert clock.now() == START + timedelta(seconds=3)


def test_a_clock_that_is_not_there_is_a_clear_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/now"
    with pytest.raises(ConfigurationError, match="can't be read"):
        RemoteClock(url).now()
    with pytest.raises(ConfigurationError, match="can't be read"):
        RemoteClock("http://127.0.0.1:port/now").now()


def test_a_clock_that_was_started_anew_meanwhile_is_asked_again() -> None:
    def answer(_: Request) -> Answer:
        return answer_json({"now": "2026-11-20T04:00:00+00:00"})

    with LoopbackServer(answer) as server:
        clock = RemoteClock(f"{server.url}/_control/now")
        clock.now()
    with LoopbackServer(answer, port=int(server.url.rpartition(":")[2])):
        assert clock.now() == datetime(2026, 11, 20, 4, tzinfo=UTC)
