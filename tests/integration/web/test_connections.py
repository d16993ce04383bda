from __future__ import annotations

import logging
import re
import resource
import signal
import socket
import statistics
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from digest.model.clock import monotonic
from digest.render.renderer import Renderer
from digest.web import WebServer
from digest.web.connections import HEAD_LIMIT, as_search
from digest.web.searches import QUEUE, SEARCHES, Searches
from digest.web.shell import Pages
from tests.harness.serving import Served, serve_app, wait_until
from tests.integration.web.world import World

_log = logging.getLogger("tests")

CROWD = 1_100
FLOOD = 200 * 1024 * 1024
DESCRIPTORS = 1024
AT_ONCE = 1.0
"""Seconds in which good clients are answered."""

GROWTH = 64 * 1024 * 1024
"""Bytes by which a process may grow meanwhile: it sends its first digest in that time, too."""


def address(url: str) -> tuple[str, int]:
    return "127.0.0.1", int(url.rpartition(":")[2])


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """Whoever attacks needs more of them than whoever is attacked."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * CROWD)), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def crowd(url: str, stop: threading.Event) -> Iterator[list[int]]:
    """Clients that connect in silence, and come again when they are shown out; counts who came."""
    came = [0]
    with ExitStack() as stack:
        sockets = [
            stack.enter_context(socket.create_connection(address(url))) for _ in range(CROWD)
        ]
        came[0] = len(sockets)

        def come_again() -> None:
            with ExitStack() as later:
                while not stop.wait(0.2):
                    for _ in range(100):
                        with suppress(OSError):
                            later.enter_context(socket.create_connection(address(url), timeout=5))
                            came[0] += 1

        thread = threading.Thread(target=come_again, daemon=True)
        thread.start()
        try:
            yield came
        finally:
            stop.set()
            thread.join(10)


def pour(url: str, stop: threading.Event, sent: list[int]) -> None:
    """Send request heads without an end until so much has gone."""
    fields = b"X-Pad: " + b"x" * 65_500 + b"\r\n"
    while sum(sent) < FLOOD and not stop.is_set():
        with suppress(OSError), socket.create_connection(address(url), timeout=5) as one:
            one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            while sum(sent) < FLOOD:
                sent.append(one.send(fields))


def measure(process: int, what: str) -> int:
    """Return what the kernel counts for a process, in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{what}:"))
    _, kilobytes, _ = line.split()
    return int(kilobytes) * 1024


@pytest.mark.usefixtures("many_descriptors")
def test_mails_posts_and_answers_go_out_while_a_crowd_holds_connections_and_heads_have_no_end(
    world: World,
) -> None:
    whole = (world.folder / "digest.toml").read_text()
    (world.folder / "digest.toml").write_text(whole.partition("[[subscriptions]]")[0])
    stop = threading.Event()
    sent = [0]
    with world.serve(descriptors=DESCRIPTORS) as process:
        wait_until(lambda: httpx.get(f"{process.url}/readyz").status_code == 200)
        number = process.process.pid
        took = list[float]()
        before = measure(number, "VmRSS")
        with (
            crowd(process.url, stop) as came,
            httpx.Client(headers={"Connection": "close"}) as client,
        ):
            pouring = []
            for _ in range(2):
                arguments = (process.url, stop, sent)
                pouring.append(threading.Thread(target=pour, args=arguments, daemon=True))
            for one in pouring:
                one.start()
            (world.folder / "digest.toml").write_text(whole)
            process.process.send_signal(signal.SIGHUP)
            began = monotonic()
            while (
                any(one.is_alive() for one in pouring)
                or len(world.mail.mails) < 2
                or not world.slack.messages
            ):
                assert monotonic() < began + 60
                asked = monotonic()
                assert client.get(f"{process.url}/livez").status_code == 200
                took.append(monotonic() - asked)
                descriptors = list(Path(f"/proc/{number}/fd").iterdir())
                assert len(descriptors) < DESCRIPTORS * 3 / 4
            all_sent = monotonic() - began
            assert came[0] >= CROWD
        grown = measure(number, "VmHWM") - before
        code, _ = process.stop()
    usual = statistics.quantiles(took, n=20)[-1]
    _log.info(
        "%d came and %d MB of heads; all was sent after %.1f s", came[0], sum(sent) >> 20, all_sent
    )
    _log.info(
        "%d answers, 95 %% within %.0f ms; grown by %d MB", len(took), usual * 1000, grown >> 20
    )
    assert code == 0
    assert len(world.mail.mails) == 2
    assert sum(sent) >= FLOOD
    assert usual < AT_ONCE  # one answer may be late where the machine is busy with something else
    assert grown < GROWTH
    assert "unable to open" not in "\n".join(process.log)


ASK = b"GET /%s HTTP/1.1\r\nHost: x\r\n"


class Doors:
    """A server of two pages: one answers, and one answers once it is allowed to."""

    def __init__(self, room: int) -> None:
        self.is_asked = threading.Event()
        self.may_answer = threading.Event()
        routes = [Route("/small", self.small), Route("/slow", self.slow)]
        self.server = WebServer(Starlette(routes=routes), "127.0.0.1", 0, room=room)

    def small(self, _request: Request) -> Response:
        return PlainTextResponse("here")

    def slow(self, _request: Request) -> Response:
        self.is_asked.set()
        assert self.may_answer.wait(20)
        return PlainTextResponse("at last")

    def connect(self) -> socket.socket:
        return socket.create_connection(address(self.server.url), timeout=10)


@pytest.fixture
def doors() -> Iterator[Doors]:
    doors = Doors(room=3)
    doors.server.start()
    yield doors
    doors.may_answer.set()
    doors.server.stop()


def is_closed(one: socket.socket) -> bool:
    """Whether the other side closes a connection before it says anything."""
    try:
        return one.recv(1) == b""
    except ConnectionError:
        return True


def test_a_head_that_is_too_long_is_not_read_to_its_end(doors: Doors) -> None:
    with doors.connect() as one:
        too_long = b"y" * 2 * HEAD_LIMIT
        one.sendall(ASK % b"small" + b"X: " + too_long)
        assert b" 400 " in one.recv(20)


def test_heads_that_are_as_long_as_may_be_are_answered_one_by_one(doors: Doors) -> None:
    with doors.connect() as one:
        long_value = b"y" * (HEAD_LIMIT - 100)
        for _ in range(3):
            one.sendall(ASK % b"small" + b"X: " + long_value + b"\r\n\r\n")
            assert one.recv(1000).endswith(b"here")


def test_where_there_are_too_many_the_oldest_that_is_idle_gives_way(doors: Doors) -> None:
    with doors.connect() as busy, doors.connect() as idle:
        busy.sendall(ASK % b"slow" + b"\r\n")
        assert doors.is_asked.wait(10)
        with doors.connect() as later, doors.connect() as last:
            for one in (later, last):
                one.sendall(ASK % b"small" + b"\r\n")
                assert one.recv(1000).endswith(b"here")
            assert is_closed(idle)
        doors.may_answer.set()
        assert busy.recv(1000).endswith(b"at last")


def test_where_all_wait_for_their_answers_no_other_is_let_in(doors: Doors) -> None:
    with doors.connect() as one, doors.connect() as two, doors.connect() as three:
        for busy in (one, two, three):
            doors.is_asked.clear()
            busy.sendall(ASK % b"slow" + b"\r\n")
            assert doors.is_asked.wait(10)
        with doors.connect() as late:
            assert is_closed(late)
        doors.may_answer.set()
        for busy in (one, two, three):
            assert busy.recv(1000).endswith(b"at last")


def hang_up(url: str, number: int) -> None:
    """Ask a query that costs much, from a network of its own, and go before it is answered."""
    query = "+OR+".join(f"{chr(97 + place)}{number:03}*" for place in range(19))
    network = f"X-Forwarded-For: 10.{number // 250}.{number % 250}.7:80"
    with socket.create_connection(address(url), timeout=10) as one:
        one.sendall(
            f"GET /live?q=sh*+OR+{query} HTTP/1.1\r\nHost: localhost\r\n{network}\r\n\r\n".encode()
        )


def list_searches(process: Served) -> list[str]:
    """Return the status of each search that a process answered or let go."""
    return re.findall(r'GET /live" status=(\d+)', "\n".join(process.log))


def test_what_clients_that_hung_up_asked_for_is_not_searched_while_others_are_answered(
    world: World,
) -> None:
    with (
        world.serve(program="digest --verbose") as process,
        httpx.Client(base_url=process.url, headers={"X-Forwarded-For": "192.0.2.1"}) as client,
    ):
        wait_until(lambda: client.get("/readyz").status_code == 200 and len(world.mail.mails) == 2)
        ours = [client.get("/live?q=gpu")]
        while "data-wait" in ours[-1].text:
            ours.append(client.get("/live?q=gpu"))
        for number in range(300):
            hang_up(process.url, number)
        leave = re.search(r"/u/[\w-]+", str(world.mail.mails[0].message["List-Unsubscribe"]))
        assert leave is not None
        assert client.get("/livez").status_code == 200
        assert client.post(leave[0], data={"List-Unsubscribe": "One-Click"}).status_code == 200
        assert "1 paper in" in client.get("/live?q=gpus").text
        wait_until(lambda: len(list_searches(process)) == len(ours) + 301)
        assert list_searches(process).count("200") == len(ours) + 1, (
            "none was searched for but ours"
        )
        process.stop()


def test_two_searches_of_a_network_run_and_a_bounded_number_waits_without_a_thread() -> None:
    came = list[str]()
    may_answer = threading.Event()

    def search(request: Request) -> Response:
        came.append(request.url.query)
        assert may_answer.wait(20)
        return PlainTextResponse("found")

    config = SimpleNamespace(web=SimpleNamespace(trusted_proxies=("127.0.0.1",)))
    searched = Route("/search", as_search(search))
    searched_by_text = Route("/small", as_search(search, "q"))
    app = Starlette(routes=[searched, searched_by_text])
    searches = Searches()
    pages = Pages(Renderer())
    app.state.shell = SimpleNamespace(
        searches=searches, site=SimpleNamespace(config=config), pages=pages
    )
    with serve_app(app) as url, ExitStack() as stack:

        def ask(number: int, network: str) -> socket.socket:
            one = stack.enter_context(socket.create_connection(address(url), timeout=20))
            head = f"GET /search?{number} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {network}\r\n\r\n"
            one.sendall(head.encode())
            return one

        ours = [ask(number, "10.0.0.1") for number in range(3)]
        wait_until(lambda: len(came) == 2)
        ask(3, "10.0.1.1")
        wait_until(lambda: "3" in came)
        ours += [ask(number, f"10.1.{number}.1") for number in range(4, QUEUE)]
        given_up = ours.pop()
        wait_until(lambda: searches._count == QUEUE)
        refused = httpx.get(f"{url}/search?x")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "30")
        assert "Too many people search at the moment." in refused.text
        assert len(came) == SEARCHES
        assert threading.active_count() < 20
        given_up.close()
        may_answer.set()
        assert all(one.recv(1000).endswith(b"found") for one in ours)
        assert httpx.get(f"{url}/small").text == "found"
    assert sorted(came) == sorted(["", *map(str, range(QUEUE - 1))])
