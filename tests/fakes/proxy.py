"""A small forward proxy on 127.0.0.1.

It leads every name to 127.0.0.1 and keeps what it was asked for.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Self
from urllib.parse import urlsplit

from tests.fakes.loopback import LOOPBACK


class ForwardProxy(ThreadingTCPServer):
    """Passes on what it is asked to.

    With a `refusal`, such as `403 Forbidden`, it answers that instead.
    """

    daemon_threads = True

    def __init__(self, *, refusal: str = "", tls: ssl.SSLContext | None = None) -> None:
        super().__init__((LOOPBACK, 0), _Handler)
        self.refusal = refusal
        self.asked: list[str] = []
        self.logins: list[str] = []
        self.url = f"{'https' if tls else 'http'}://{LOOPBACK}:{self.server_address[1]}"
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that do not trust its certificate."""


class _Handler(StreamRequestHandler):
    server: ForwardProxy

    def handle(self) -> None:
        asked, *headers = [line.decode().strip() for line in iter(self.rfile.readline, b"\r\n")]
        method, url, _ = asked.split()
        self.server.asked.append(f"{method} {url}")
        self.server.logins += [
            line.split()[-1] for line in headers if line.startswith("Proxy-Authorization")
        ]
        if self.server.refusal:
            self.wfile.write(
                f"HTTP/1.1 {self.server.refusal}\r\nContent-Length: 0\r\n\r\n".encode()
            )
            return
        parts = urlsplit(url if "//" in url else f"//{url}")
        with socket.create_connection((LOOPBACK, parts.port or 80), timeout=10) as there:
            if method == "CONNECT":
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                target = parts._replace(scheme="", netloc="").geturl()
                head = "\r\n".join([f"{method} {target} HTTP/1.1", *headers, "", ""])
                there.sendall(head.encode())
            with contextlib.suppress(OSError):
                self._carry({self.connection: there, there: self.connection})

    def _carry(self, ends: dict[socket.socket, socket.socket]) -> None:
        while True:
            for end in select.select([*ends], [], [], 10)[0]:
                data = end.recv(65_536)
                if not data:
                    return
                ends[end].sendall(data)
