"""A line between a program and its database.

It can be cut, and it can swallow what is sent over it.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from typing import Self

Address = tuple[str, int] | str
"""A host and a port, or the path of a Unix socket."""

_PIECE = 65_536


class Link:
    """Passes connections on, on 127.0.0.1, while its context lasts."""

    def __init__(self, upstream: Address) -> None:
        self._upstream = upstream
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._far: set[socket.socket] = set()
        self._swallows = self._mutes = self._cuts = self._is_over = False
        self._bell, self._rope = socket.socketpair()
        self._heeded = threading.Event()
        self._thread = threading.Thread(target=self._live, name="link", daemon=True)

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over = True
        self._rope.send(b"!")
        self._thread.join()
        for one in (self._listener, self._bell, self._rope):
            one.close()

    def swallow(self) -> None:
        """Acknowledge everything from now on, and pass nothing on: a black hole."""
        self._swallows = True
        self._rope.send(b"!")

    def mute(self) -> None:
        """Pass on what is sent, and swallow every answer."""
        self._mutes = True
        self._rope.send(b"!")

    def mend(self, *, cut: bool) -> None:
        """Pass on again. What was held back arrives late.

        With `cut`, what was open meanwhile is broken.
        """
        self._swallows = self._mutes = False
        self._cuts = self._cuts or cut
        self._rope.send(b"!")

    def cut(self) -> None:
        """Break what is open; new connections are passed on. It is broken when this returns."""
        self._heeded.clear()
        self._cuts = True
        self._rope.send(b"!")
        assert self._heeded.wait(10)

    def _live(self) -> None:
        while not self._is_over:
            for key, _ in self._selector.select():
                one = key.fileobj
                assert isinstance(one, socket.socket)
                if one is self._bell:
                    self._bell.recv(_PIECE)
                    self._heed()
                elif one is self._listener:
                    self._join()
                elif one in self._pairs:
                    self._pass_on(one)
        for one in list(self._pairs):
            self._part(one)
        self._selector.close()

    def _heed(self) -> None:
        """Do what the other thread asked for."""
        if self._cuts:
            self._cuts = False
            for one in list(self._pairs):
                self._part(one)
            self._heeded.set()
        wanted = {self._bell} if self._swallows else {self._bell, self._listener, *self._pairs}
        wanted -= self._far if self._mutes else set()
        watched = {key.fileobj for key in self._selector.get_map().values()}
        for gone in watched - wanted:
            self._selector.unregister(gone)
        for come in wanted - watched:
            self._selector.register(come, selectors.EVENT_READ)

    def _join(self) -> None:
        near, _ = self._listener.accept()
        far = socket.socket(socket.AF_UNIX if isinstance(self._upstream, str) else socket.AF_INET)
        try:
            far.connect(self._upstream)
        except OSError:
            near.close()
            far.close()
            return
        self._pairs |= {near: far, far: near}
        self._far.add(far)
        for one in (near,) if self._mutes else (near, far):
            self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, one: socket.socket) -> None:
        try:
            piece = one.recv(_PIECE)
            if piece:
                self._pairs[one].sendall(piece)
                return
        except OSError:
            pass  # either side has gone: the other one is told below
        self._part(one)

    def _part(self, one: socket.socket) -> None:
        other = self._pairs.pop(one, None)
        if other is None:
            return
        del self._pairs[other]
        for end in (one, other):
            self._far.discard(end)
            with contextlib.suppress(KeyError):  # it is not watched while the link swallows
                self._selector.unregister(end)
            end.close()
