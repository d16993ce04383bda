"""An arXiv on 127.0.0.1 that answers what a test tells it to, well or badly, byte by byte."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable


class Way(Enum):
    """How an answer is sent."""

    WHOLE = auto()
    CUT = auto()
    """Half the body, then the end of the connection."""
    CUT_UNSAID = auto()
    """The same without a length, so that nothing says that more should come."""
    RESET = auto()
    SILENT = auto()
    """Nothing for ten seconds."""
    DRIP = auto()
    """A byte every tenth of a second."""
    DRIP_UNSAID = auto()
    """The same without a length."""
    DRIP_HEAD = auto()
    """The same, status line and all."""


@dataclass(frozen=True)
class Reply:
    """One answer."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/atom+xml; charset=utf-8"
    way: Way = Way.WHOLE


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    port: int


class ScriptedArxiv:
    """Serves replies in order, or those of a function; keeps every request."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.answer: Callable[[Seen], Reply] = lambda _: Reply(b"nothing left in the script", 410)
        self.stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._make_handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *replies: Reply) -> None:
        """Answer with these, one after the other."""
        left = iter(replies)
        self.answer = lambda _: next(left, Reply(b"nothing left in the script", 410))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        arxiv = self

        class Handler(_Handler):
            server_arxiv = arxiv

        return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        # The usual way asks the name servers what 127.0.0.1 is called, which may take seconds.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_arxiv: ScriptedArxiv

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        params = dict(parse_qsl(parts.query) + parse_qsl(body))
        seen = Seen(self.command, parts.path, params, headers, self.client_address[1])
        self.server_arxiv.seen.append(seen)
        try:
            self._send(self.server_arxiv.answer(seen))
        except OSError:
            self.close_connection = True  # the client hung up, as it may

    do_POST = do_GET  # noqa: N815 - the name http.server looks for

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server passes
        """Keep quiet."""

    def _send(self, reply: Reply) -> None:
        wait = self.server_arxiv.stopping.wait
        half = len(reply.body) // 2
        self.close_connection = reply.way is not Way.WHOLE
        match reply.way:
            case Way.WHOLE:
                self.wfile.write(_head(reply) + reply.body)
            case Way.CUT:
                self.wfile.write(_head(reply) + reply.body[:half])
            case Way.CUT_UNSAID:
                self.wfile.write(_head(reply, has_length=False) + reply.body[:half])
            case Way.RESET:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.rfile.close()
                self.connection.close()
            case Way.SILENT:
                wait(10)
            case Way.DRIP | Way.DRIP_UNSAID:
                self.wfile.write(_head(reply, has_length=reply.way is Way.DRIP))
                self._drip(reply.body)
            case Way.DRIP_HEAD:
                self._drip(_head(reply) + reply.body)

    def _drip(self, data: bytes) -> None:
        for byte in data:
            self.wfile.write(bytes([byte]))
            if self.server_arxiv.stopping.wait(0.1):
                return


def _head(reply: Reply, *, has_length: bool = True) -> bytes:
    headers = {"Content-Type": reply.media_type, **reply.headers}
    if has_length:
        headers["Content-Length"] = str(len(reply.body))
    if reply.way is not Way.WHOLE:
        headers["Connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
    return f"HTTP/1.1 {reply.status} Scripted\r\n{lines}\r\n".encode()
