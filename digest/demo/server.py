"""A small HTTP server on a free port of 127.0.0.1."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LOOPBACK = "127.0.0.1"


class Request(NamedTuple):
    """What a client asked; `params` are those of the address."""

    path: str
    params: dict[str, str]
    body: bytes


class Answer(NamedTuple):
    """What it is told."""

    body: bytes
    media_type: str
    status: int = 200


class DemoServer:
    """Serves `answer(request)` while its context lasts."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        class Handler(_Handler):
            decide = staticmethod(answer)

        self._server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    decide: Callable[[Request], Answer]

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        answer = self.decide(Request(address.path, dict(parse_qsl(address.query)), body))
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_POST = do_GET  # noqa: N815 - the name http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server passes
        """Print nothing: the story is told elsewhere."""
