"""A small HTTP/1.1 server on 127.0.0.1, in a daemon thread.

It can also break off, reset and fall silent. What is answered is decided by a function from
`Request` to `Answer`; this module only carries bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import select
import socket
import ssl
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from digest.model.clock import monotonic

LOOPBACK = "127.0.0.1"
_POLL = 0.02
"""Seconds between looks at whether to stop: a test's whole life is short."""


class Ending(StrEnum):
    """How an exchange ends: well, or in one of the ways connections die."""

    WHOLE = "whole"
    CUT = "cut"
    """Half of the announced body, then the connection is closed."""
    CUT_UNSAID = "cut unsaid"
    """The same without a length, so that nothing says that more should come."""
    DROP = "drop"
    """No answer; the connection is closed in an orderly way."""
    RESET = "reset"
    """No answer; a TCP reset."""
    HANG = "hang"
    """Silence until the client goes or time is up, then a close."""
    TRICKLE = "trickle"
    """The body byte by byte, too slowly ever to end, as long as the client waits for more."""
    TRICKLE_UNSAID = "trickle unsaid"
    """The same without a length."""
    TRICKLE_HEAD = "trickle head"
    """The same, status line and all."""


_UNSAID = (Ending.CUT_UNSAID, Ending.TRICKLE_UNSAID)
_CUTS = (Ending.CUT, Ending.CUT_UNSAID)
_TRICKLES = (Ending.TRICKLE, Ending.TRICKLE_UNSAID, Ending.TRICKLE_HEAD)


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked, `headers` with names in lower case.

    `params` are those of the query string, and of the body where that is a form (or names no type
    at all). `port` is the client's, one per connection.
    """

    method: str
    path: str
    params: tuple[tuple[str, str], ...]
    headers: dict[str, str]
    body: bytes
    port: int

    def param(self, name: str, default: str = "") -> str:
        """Return a parameter's last value, or the default."""
        return dict(self.params).get(name, default)

    def json(self) -> dict[str, Any]:
        """Return the body as a JSON object, or raise `ValueError`."""
        read = json.loads(self.body)
        if not isinstance(read, dict):
            raise TypeError("not an object")
        return read


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and how it ends.

    `delay` and `patience` (of a hang) are seconds of real time.
    """

    body: bytes = b""
    status: int = 200
    media_type: str = "text/plain; charset=utf-8"
    headers: tuple[tuple[str, str], ...] = field(default=())
    ending: Ending = Ending.WHOLE
    delay: float = 0.0
    patience: float = 30.0

    def pack(self) -> Answer:
        """Return the same answer with its body compressed."""
        headers = (*self.headers, ("Content-Encoding", "gzip"))
        return replace(
            self, body=gzip.compress(self.body, compresslevel=1, mtime=0), headers=headers
        )


def answer_json(
    value: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Answer:
    """Return a JSON answer."""
    return Answer(json.dumps(value).encode(), status, "application/json; charset=utf-8", headers)


class LoopbackServer:
    """Serves `answer(request)` on a free port of 127.0.0.1 while its context lasts.

    `answer` is called from one thread per connection, or is every answer; `visits` are the requests
    that came.
    """

    def __init__(
        self,
        answer: Callable[[Request], Answer] | Answer,
        *,
        name: str = "demo",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.visits: list[Request] = []

        def take(request: Request) -> Answer:
            self.visits.append(request)
            return answer if isinstance(answer, Answer) else answer(request)

        self._server = _Server((LOOPBACK, port), take, name)
        self._scheme = "https" if tls else "http"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve, daemon=True, name=name)

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return f"{self._scheme}://{LOOPBACK}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stopping.set()
        with suppress(OSError):
            socket.create_connection(
                (LOOPBACK, self._server.server_port), timeout=1
            ).close()  # wakes it
        self._thread.join()
        self._server.server_close()
        self._server.hang_up()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], answer: Callable[[Request], Answer], name: str
    ) -> None:
        super().__init__(address, _Handler)
        self.answer = answer
        self.name = name
        self.stopping = threading.Event()
        self._open: dict[int, socket.socket] = {}
        self._handling: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def server_bind(self) -> None:
        """Bind without a question to the name servers, which may take a second."""
        TCPServer.server_bind(self)
        self.server_name = "127.0.0.1"
        self.server_port = self.server_address[1]

    def serve(self) -> None:
        """Take connections until it is to stop, without looking at a clock in between."""
        while not self.stopping.is_set():
            with suppress(OSError):  # a client went away, or does not speak TLS
                self.process_request(*self.get_request())

    def remember(self, connection: socket.socket) -> None:
        with self._lock:
            self._open[id(connection)] = connection
            self._handling.add(threading.current_thread())

    def forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.pop(id(connection), None)
            self._handling.discard(threading.current_thread())

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - given
        """Say nothing of clients that went away.

        Anything else is a mistake of ours and is printed.
        """
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()

    def hang_up(self) -> None:
        """End idle keep-alive connections, which would otherwise outlive the server."""
        with self._lock:
            connections = list(self._open.values())
            threads = list(self._handling)
        for connection in connections:
            _shut(connection)
        for thread in threads:
            thread.join(timeout=2)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.remember(self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        except OSError:
            self.close_connection = True  # a reset connection has nothing left to flush
        finally:
            self.server.forget(self.connection)

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            self.close_connection = True  # the client went away, as clients may
        except ValueError:
            if not self.wfile.closed:  # a reset of ours closes what http.server then wants to flush
                raise

    def do_GET(self) -> None:
        answer = self.server.answer(self._read_request())
        if answer.delay:
            self.server.stopping.wait(answer.delay)
        if answer.ending in (Ending.WHOLE, *_CUTS, *_TRICKLES):
            self._write(answer)
        else:
            self._break_off(answer)

    do_POST = do_GET  # noqa: N815 - the name http.server looks for

    def version_string(self) -> str:
        return self.server.name

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Keep quiet: requests are kept as values."""

    def _read_request(self) -> Request:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        params = parse_qsl(parts.query, keep_blank_values=True)
        kind = self.headers.get("Content-Type", "")
        if body and (not kind or kind.startswith("application/x-www-form-urlencoded")):
            params += parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(
            self.command, parts.path, tuple(params), headers, body, self.client_address[1]
        )

    def _write(self, answer: Answer) -> None:
        accepts_gzip = "gzip" in self.headers.get("Accept-Encoding", "")
        if (
            accepts_gzip
            and answer.body
            and not any(name == "Content-Encoding" for name, _ in answer.headers)
        ):
            answer = answer.pack()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.media_type)
        if answer.ending not in _UNSAID:
            self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers:
            self.send_header(name, value)
        self.close_connection = answer.ending is not Ending.WHOLE
        if answer.ending is Ending.TRICKLE_HEAD:
            wire = self.wfile
            self.wfile = io.BytesIO()
            self.end_headers()
            head = self.wfile.getvalue()
            self.wfile = wire
            self._trickle(head + answer.body)
            return
        self.end_headers()
        if answer.ending in _TRICKLES:
            self._trickle(answer.body)
        elif answer.ending in _CUTS:
            self.wfile.write(answer.body[: len(answer.body) // 2])
        else:
            self.wfile.write(answer.body)
        self.wfile.flush()

    def _trickle(self, data: bytes) -> None:
        self.wfile.flush()
        for byte in data:
            if self.server.stopping.wait(_POLL):
                return
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def _break_off(self, answer: Answer) -> None:
        self.close_connection = True
        if answer.ending is Ending.HANG:
            self._stay_silent(answer.patience)
        elif answer.ending is Ending.RESET:
            # Closing with a linger time of zero discards what is unsent and sends RST (socket(7));
            # the connection only closes with the last of its files.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()
            self.wfile.close()
            self.connection.close()
        else:
            _shut(self.connection)

    def _stay_silent(self, seconds: float) -> None:
        until = monotonic() + seconds
        while monotonic() < until and not self.server.stopping.is_set():
            if select.select([self.connection], [], [], _POLL)[0]:
                return


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # the other side was quicker
