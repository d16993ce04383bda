"""A site served from this process, and `digest serve` as a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Self

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from digest.model.clock import monotonic
from digest.site import Site
from digest.web import WebServer, create_app
from tests.fakes.loopback import LOOPBACK
from tests.harness.installation import Installation


class Served:
    """`digest serve` as a process of its own.

    It has so many descriptors at most; 0 for as many as we have.
    """

    def __init__(
        self, here: Installation, *arguments: str, descriptors: int = 0, program: str = "digest"
    ) -> None:
        self.lines: list[str] = []
        self.log: list[str] = []
        command = [sys.executable, "-m", *program.split(), "serve", *arguments]
        if descriptors:
            command = ["sh", "-c", f'ulimit -n {descriptors} && exec "$@"', "sh", *command]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            command,
            cwd=here.folder,
            env=here.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._readers = [
            _start_reader(self.process.stdout, self.lines),
            _start_reader(self.process.stderr, self.log),
        ]
        wait_until(lambda: bool(self.lines) or self.process.poll() is not None, 30)
        assert self.lines, "\n".join(self.log)

    @property
    def url(self) -> str:
        return self.lines[0].split()[2]

    def stop(self, number: int = signal.SIGTERM, seconds: float = 15.0) -> tuple[int, float]:
        """Send a signal; return the exit code and how long it took."""
        began = monotonic()
        self.process.send_signal(number)
        code = self.process.wait(seconds)
        for reader in self._readers:
            reader.join(5)
        return code, monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _start_reader(stream: IO[str], lines: list[str]) -> threading.Thread:
    """Keep the lines of a stream as they come."""

    def collect() -> None:
        lines.extend(line.rstrip("\n") for line in iter(stream.readline, ""))

    reader = threading.Thread(target=collect, daemon=True)
    reader.start()
    return reader


def wait_until(is_so: Callable[..., object], seconds: float = 15.0) -> None:
    pause = threading.Event()
    until = monotonic() + seconds
    while not is_so():
        assert monotonic() < until, f"not so within {seconds:g} s"
        pause.wait(0.05)


def find_shell(app: ASGIApp) -> Starlette:
    """Return the web shell itself, out of what guards it."""
    while not isinstance(app, Starlette):
        app = vars(app)["_app"]
    return app


def find_routes(app: ASGIApp) -> list[Route]:
    return [route for route in find_shell(app).routes if isinstance(route, Route)]


def find_port() -> int:
    """Return a free port; what is served may have to know its own address before it is served."""
    with socket.create_server((LOOPBACK, 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def serve_site(site: Site, **settings: object) -> Iterator[str]:
    """Serve a site's web shell from this process; yield its address."""
    app = create_app(site, **settings)  # type: ignore[arg-type]  # create_app's own keywords
    with serve_app(app) as url:
        yield url


@contextmanager
def serve_app(app: ASGIApp, port: int = 0) -> Iterator[str]:
    """Serve an application from this process; yield its address."""
    web = WebServer(app, LOOPBACK, port)
    web.start()
    try:
        yield web.url
    finally:
        web.stop()
