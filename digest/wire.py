"""Makes one exchange over HTTP: it ends in any case, and its error tells whether the request was out.

Three limits hold: seconds of silence, seconds for the whole, however slowly an answer drips, and bytes of a
body once unpacked. Each exchange has a connection of its own. Redirects are not followed, and no proxy of the
environment is asked.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import socket
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Container, Mapping

    import httpx

CONNECT_SECONDS = 10.0
"""The most that connecting may take."""

# At INFO httpx logs addresses, and those of webhooks are secrets.
logging.getLogger("httpx").setLevel(logging.WARNING)


class ExchangeError(Exception):
    """No whole answer came: nobody could be reached, it took too long, or the connection broke.

    Attributes:
        was_out: the request had begun to leave: it may have been carried out.
    """

    def __init__(self, reason: str, *, was_out: bool) -> None:
        super().__init__(reason)
        self.was_out = was_out


class AnswerTooLarge(ExchangeError):
    """The body is larger than it may be."""


class AnswerDamaged(ExchangeError):
    """The body can't be unpacked."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back; `headers` by lower-case name, `body` unpacked and whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def text(self) -> str:
        """The body, if it is text."""
        return self.body.decode("utf-8", "replace").strip()

    @property
    def retry_after(self) -> float | None:
        """Seconds the other side asks to wait, None if it says nothing usable."""
        return read_retry_after(self.headers.get("retry-after", ""))


class Wire:
    """Makes exchanges for one caller. Several threads use it at once.

    Args:
        headers: of every request, beside the usual ones.
        deadline: seconds a whole exchange may take.
        limit: bytes a body may have, unpacked.
    """

    def __init__(self, headers: Mapping[str, str], *, deadline: float, limit: int) -> None:
        self._headers = {"Accept-Encoding": "gzip", "Connection": "close", **headers}
        self._deadline = deadline
        self._limit = limit
        self._under_way: set[_Exchange] = set()
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        url: str,
        *,
        silence: float,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        check: Callable[[], None] = lambda: None,
        unread: Container[int] = (),
    ) -> HttpAnswer:
        """Make one request and return its answer, whatever its status.

        Args:
            method: `GET` or `POST`.
            silence: seconds until connected, at most ten, and between two pieces of the answer.
            headers: besides those of every request.
            check: called when the connection stands and the request is all that is left. If it raises, not a
                byte has left, and its error is the caller's.
            unread: statuses that say all there is to know. The body that follows one may never end.

        Raises:
            ExchangeError: no whole answer came, or none that can be used.
        """
        import httpx  # noqa: PLC0415 - most runs ask nobody

        authorities = load_authorities()
        exchange = _Exchange(check, self._deadline)
        with self._lock:
            self._under_way.add(exchange)
        try:
            with (
                httpx.Client(trust_env=False, verify=authorities, follow_redirects=False) as client,
                client.stream(
                    method,
                    url,
                    content=body,
                    headers={**self._headers, **(headers or {})},
                    timeout=httpx.Timeout(silence, connect=min(silence, CONNECT_SECONDS)),
                    extensions={"trace": exchange.watch},
                ) as reply,
            ):
                read = b"" if reply.status_code in unread else _gather(reply, self._limit)
            exchange.require_going_on()  # a body without a length ends well even if it was cut off
            return HttpAnswer(reply.status_code, dict(reply.headers), read)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise exchange.judge(error, silence) from error
        finally:
            exchange.close()
            with self._lock:
                self._under_way.discard(exchange)

    def hang_up(self) -> None:
        """End all that is under way, from another thread; a thread that waits on it wakes up and fails."""
        with self._lock:
            for exchange in self._under_way:
                exchange.break_off("this process stopped the request")


def ask_status(url: str, *, silence: float) -> int:
    """Ask an address once, and return the status of its answer. What follows the status is not read.

    Raises:
        ExchangeError: nobody answered.
    """
    wire = Wire({}, deadline=silence, limit=0)
    return wire.ask("GET", url, silence=silence, unread=range(1000)).status


class _Exchange:
    """One request on its way, and what becomes of it."""

    def __init__(self, check: Callable[[], None], deadline: float) -> None:
        self._check = check
        self._was_out = False
        self._cut_for = ""
        self._socket: socket.socket | None = None
        late = f"no complete answer came within {deadline:g} seconds"
        self._timer = threading.Timer(deadline, self.break_off, (late,))
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
        """Let go of the connection, which has ended."""
        self._timer.cancel()
        if self._socket is not None:
            self._socket.close()

    def break_off(self, reason: str) -> None:
        """End it, from any thread. A request that has not left does not leave any more."""
        self._cut_for = self._cut_for or reason
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it may have ended by itself just now
                self._socket.shutdown(socket.SHUT_RDWR)

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow httpcore: its trace shows the socket first, and is the last place before the request leaves."""
        if event == "connection.connect_tcp.complete":
            # A handle of our own: what secures a socket with TLS takes it from its holder.
            self._socket = info["return_value"].get_extra_info("socket").dup()
        elif event == "http11.send_request_headers.started":
            self._check()
            self.require_going_on()  # also where it was broken off during the check
            self._was_out = True

    def require_going_on(self) -> None:
        """Go on only if nobody has broken it off.

        Raises:
            ConnectionAbortedError: somebody has.
        """
        if self._cut_for:
            raise ConnectionAbortedError

    def judge(self, error: Exception, silence: float) -> ExchangeError:
        """Say what an error of httpx, or of the system, comes to."""
        import httpx  # noqa: PLC0415 - it is there by now

        if isinstance(error, httpx.DecodingError):
            return AnswerDamaged(f"the packed body is damaged: {error}", was_out=True)
        reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
        if self._cut_for:
            reason = self._cut_for
        elif isinstance(error, httpx.ConnectTimeout):
            reason = f"no connection within {min(silence, CONNECT_SECONDS):g} seconds"
        elif isinstance(error, httpx.TimeoutException):
            reason = f"nothing came for {silence:g} seconds"
        return ExchangeError(reason, was_out=self._was_out)


def _gather(reply: httpx.Response, limit: int) -> bytes:
    if "," in reply.headers.get("content-encoding", ""):  # a kilobyte packed twice may hold a gigabyte
        raise AnswerDamaged("the body is packed more than once", was_out=True)
    gathered = bytearray()
    for piece in reply.iter_bytes():
        gathered += piece
        if len(gathered) > limit:
            raise AnswerTooLarge(f"the body has more than {limit:,} bytes", was_out=True)
    return bytes(gathered)


@cache
def load_authorities() -> ssl.SSLContext:
    """Return the one TLS context: it trusts the machine's authorities and those that come with httpx.

    Reading all of them takes longer than most answers: once is enough for a process.
    """
    import httpx  # noqa: PLC0415 - most runs ask nobody

    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


def read_retry_after(text: str) -> float | None:
    """Read a `Retry-After` header in seconds; None if it says nothing usable, as a date does.

    Less than a second is no wish to wait but a cache's default, and counts as nothing.
    """
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 1 else None
