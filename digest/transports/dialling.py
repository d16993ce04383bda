"""A call to another host that any thread can break off, at every moment from looking up its name to its end.

`socket.create_connection` gives its socket away only once that stands, which may take a whole time-out, and
what secures a socket with TLS takes it from whoever held it: nobody could end either from outside. Only libraries
of asyncio's can, and neither smtplib nor the Slack SDK is built on these.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

_Place = tuple[int, int, int, str, Any]
"""What `socket.getaddrinfo` lists: the family, kind and protocol of a socket, and where to connect it to."""


class CalledOff(OSError):
    """This side broke the call off before anything was said."""

    def __init__(self) -> None:
        super().__init__("it was broken off on this side")


class Call:
    """One connection, from looking up the other side's name to its end.

    Attributes:
        is_broken_off: somebody has ended it from outside.
    """

    def __init__(self) -> None:
        self.is_broken_off = False
        self._changed = threading.Condition()
        self._found: Sequence[_Place] | OSError | None = None
        self._handle: socket.socket | None = None

    def dial(self, host: str, port: int, timeout: float | None) -> socket.socket:
        """Connect to the first address of a host that answers, as `socket.create_connection` does.

        Args:
            host: its name or address.
            port: where it listens.
            timeout: seconds for its name, for each of its addresses, and for whatever is done with the socket.

        Raises:
            CalledOff: this was broken off meanwhile.
            OSError: the name is not known, or nobody answers.
        """
        failure = OSError(f"{host} has no address")
        for place in self._look_up(host, port, timeout):
            try:
                return self._connect(place, timeout)
            except CalledOff:
                raise
            except OSError as error:
                failure = error
        raise failure

    def require(self) -> None:
        """Go on only while nobody has broken it off.

        Raises:
            CalledOff: somebody has.
        """
        if self.is_broken_off:
            raise CalledOff

    def break_off(self) -> None:
        """End it at once, from any thread: whoever waits on it is woken, and fails. Harmless when done twice."""
        with self._changed:
            self.is_broken_off = True
            if self._handle is not None:
                with suppress(OSError):  # it may have ended by itself just now
                    self._handle.shutdown(socket.SHUT_RDWR)
            self._changed.notify_all()

    def close(self) -> None:
        """Let go of it: from now on there is nothing to break off. Harmless when done twice."""
        with self._changed:
            if self._handle is not None:
                self._handle.close()
                self._handle = None

    def _look_up(self, host: str, port: int, timeout: float | None) -> Sequence[_Place]:
        """Return the addresses of a host. No resolver can be broken off: one that hangs is left to itself."""
        threading.Thread(target=self._resolve, args=(host, port), name="look-up", daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: self._found is not None or self.is_broken_off, timeout)
            self.require()
            if self._found is None:
                raise TimeoutError(f"the name {host} was not found out in time")
            if isinstance(self._found, OSError):
                raise self._found
            return self._found

    def _resolve(self, host: str, port: int) -> None:
        try:
            found: Sequence[_Place] | OSError = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM)
        except OSError as error:
            found = error
        except ValueError as error:  # an empty or endless label, as of a mistyped name
            found = socket.gaierror(socket.EAI_NONAME, f"{host!r} is no name of a host: {error}")
        with self._changed:
            self._found = found
            self._changed.notify_all()

    def _connect(self, place: _Place, timeout: float | None) -> socket.socket:
        family, kind, protocol, _, address = place
        line = socket.socket(family, kind, protocol)
        try:
            line.settimeout(timeout)
            self._hold(line)
            line.connect(address)
            self.require()
        except OSError as error:
            line.close()
            self.close()
            if self.is_broken_off:
                raise CalledOff from error
            raise
        return line

    def _hold(self, line: socket.socket) -> None:
        """Keep a handle of our own on a socket: closing or securing the other one takes nothing from it."""
        with self._changed:
            self.require()
            self._handle = line.dup()
