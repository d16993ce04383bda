"""The web server, inside this process: a socket bound before anything else begins, and a thread of its own."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import uvicorn

from digest.errors import ConfigurationError
from digest.web.connections import PATIENCE, Connections, count_room

if TYPE_CHECKING:
    from starlette.types import ASGIApp

GOODBYE = 3
"""Seconds in which answers under way may end."""

_WAITING = 128
"""Connections that wait to be accepted: some event loops accept all of them before any can be closed."""


class WebServer:
    """Serves an application until it is stopped.

    Args:
        app: the application.
        host: an address of this machine, or a name for one.
        port: 0 for any free one.
        room: connections at once; as many as there are descriptors for where none is given.

    Raises:
        ConfigurationError: nothing can be served there.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, *, room: int | None = None) -> None:
        self._socket = _bind(host, port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                http=Connections(room or count_room()).make,  # type: ignore[arg-type]  # called like a class
                backlog=_WAITING,
                log_config=None,
                log_level="error",  # its warnings are of clients: each could write as many as it likes
                access_log=False,
                server_header=False,
                proxy_headers=False,
                lifespan="on",
                ws="none",
                timeout_keep_alive=PATIENCE,
                timeout_graceful_shutdown=GOODBYE,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="web", daemon=True
        )

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def is_alive(self) -> bool:
        """Whether it still serves."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to serve; requests that came since the socket was bound are answered first."""
        self._thread.start()

    def ask_to_stop(self) -> None:
        """Take no more requests from now on, without waiting for those under way."""
        self._server.should_exit = True

    def stop(self) -> None:
        """Take no more requests, let those under way end, and close."""
        self.ask_to_stop()
        if self._thread.ident is not None:
            self._thread.join(GOODBYE + 1)
        self._socket.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_WAITING)
    except OSError as error:
        raise ConfigurationError(
            f"nothing can be served at {host}:{port}: {error.strerror or error}",
            hint="Free the port, or choose another under [web]; `digest serve --no-web` needs none.",
        ) from error
