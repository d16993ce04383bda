"""A clock kept by another process, over real HTTP on 127.0.0.1."""

import json
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

from digest.model.clock import RemoteClock
from digest.model.errors import ConfigurationError
from tests.fakes.loopback import Answer, LoopbackServer, Request, answer_json

START = datetime(2026, 3, 24, 12, 40, tzinfo=UTC)


class _Keeper(BaseHTTPRequestHandler):
    moment: ClassVar[datetime] = START
    answer: ClassVar[bytes | None] = None

    def do_GET(self) -> None:
        said = type(self).answer
        body = json.dumps({"now": f"{type(self).moment:%Y-%m-%dT%H:%M:%SZ}"}).encode() if said is None else said
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        seconds = int(parse_qs(urlsplit(self.path).query)["advance"][0])
        type(self).moment += timedelta(seconds=seconds)
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it is called with
        """Keep the test's output quiet."""


@pytest.fixture
def keeper() -> Iterator[str]:
    _Keeper.moment, _Keeper.answer = START, None
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Keeper)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/_control/now"
    server.shutdown()
    thread.join()
    server.server_close()


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
