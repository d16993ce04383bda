"""A small mail server on 127.0.0.1 that keeps what it is given."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any, Self

from aiosmtpd.controller import Controller

from digest.demo.server import LOOPBACK

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine
    from types import TracebackType

    from aiosmtpd.smtp import SMTP, Envelope, Session


class DemoMail:
    """A mail server on a free port, while its context lasts. `mails` are the bytes it took, oldest first."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self._controller = _Controller(self, socket.create_server((LOOPBACK, 0)))

    def __enter__(self) -> Self:
        self._controller.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._controller.stop()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"smtp://{LOOPBACK}:{self._controller.port}"

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd looks for
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Keep a message."""
        self.mails.append(envelope.original_content or b"")
        return "250 2.0.0 OK"


class _Controller(Controller):
    """Serves on a socket that is bound already, so that its port is a free one."""

    def __init__(self, handler: DemoMail, listening: socket.socket) -> None:
        super().__init__(handler, LOOPBACK, listening.getsockname()[1])
        self._listening = listening

    def _create_server(self) -> Coroutine[Any, Any, asyncio.AbstractServer]:
        return self.loop.create_server(self._factory_invoker, sock=self._listening)
