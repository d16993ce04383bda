"""Makes one exchange over HTTP: it ends in any case; its error says if the request was out.

Three limits hold: seconds of silence, seconds for the whole, however slowly an answer drips, and
bytes of a body once unpacked. Each exchange has a connection of its own. Redirects are not
followed. A proxy is asked if one is named, and certificates are checked against one store, for
every server.
"""

from __future__ import annotations

import contextlib
import logging
import math
import re
import socket
import ssl
import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from digest.config.addresses import ChooseProxy, Proxy
from digest.model.clock import SystemClock, read_rfc_date
from digest.model.errors import ConfigurationError
from digest.model.said import Said, Saying

if TYPE_CHECKING:
    import httpx

read_clock = SystemClock().now

CONNECT_SECONDS = 10.0
"""The most that connecting may take."""

# At INFO httpx logs addresses, and those of webhooks are secrets.
logging.getLogger("httpx").setLevel(logging.WARNING)

TRUST_HINT = (
    "Does a company's own authority vouch for it? "
    "Name its certificate (a PEM file) in SSL_CERT_FILE."
)


class ExchangeError(Exception):
    """No whole answer came: nobody could be reached, it took too long, or the connection broke.

    Attributes:
        was_out: the request had begun to leave: it may have been carried out.
        hint: what to check, if that is no matter of who was asked; "" else.
    """

    def __init__(self, reason: str | Said, *, was_out: bool, hint: str = "") -> None:
        super().__init__(str(reason))
        self.said = reason if isinstance(reason, Said) else Said.plain(reason)
        self.was_out = was_out
        self.hint = hint


class AnswerTooLarge(ExchangeError):
    """The body is larger than it may be."""


class AnswerDamaged(ExchangeError):
    """The body can't be unpacked."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back: `headers` by lower-case name, `body` unpacked and whole.

    `came_at` says when, if the answer asks to wait.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    came_at: datetime | None = None

    @property
    def text(self) -> str:
        """The body, if it is text."""
        return self.body.decode("utf-8", "replace").strip()

    @property
    def retry_after(self) -> float | None:
        """Seconds the other side asks to wait, None if it says nothing usable."""
        now = _read_date(self.headers.get("date", "")) or self.came_at
        return read_retry_after(self.headers.get("retry-after", ""), now)


class Wire:
    """Makes exchanges for one caller. Several threads use it at once.

    Args:
        headers: of every request, beside the usual ones.
        deadline: seconds a whole exchange may take.
        limit: bytes a body may have, unpacked.
        now: the time, for a server that does not say it.
    """

    def __init__(
        self,
        headers: Mapping[str, str],
        *,
        deadline: float,
        limit: int,
        choose_proxy: ChooseProxy = lambda _: None,
        now: Callable[[], datetime] = read_clock,
    ) -> None:
        self._headers = {"Accept-Encoding": "gzip", "Connection": "close", **headers}
        self._deadline = deadline
        self._limit = limit
        self._choose_proxy = choose_proxy
        self._now = now
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
            silence: seconds until connected, at most ten, and between two pieces of the answer.
            check: called when the connection is made and the request is all that is left. If it
                raises, not a byte has left, and its error is the caller's.
            unread: statuses that say all there is to know. The body that follows one may never end.

        Raise `ExchangeError`: no whole answer came, or none that can be used.
        """
        import httpx  # noqa: PLC0415 - most runs ask nobody

        try:
            proxy = self._choose_proxy(url)
        except ConfigurationError as error:
            raise ExchangeError(error.message, was_out=False, hint=error.hint) from error
        authorities = load_authorities()
        securing = authorities if proxy and proxy.url.lower().startswith("https:") else None
        through = httpx.Proxy(proxy.url, ssl_context=securing) if proxy else None
        exchange = _Exchange(check, self._deadline, proxy)
        with self._lock:
            self._under_way.add(exchange)
        try:
            with (
                httpx.Client(
                    trust_env=False, verify=authorities, proxy=through, follow_redirects=False
                ) as client,
                client.stream(
                    method,
                    url,
                    content=body,
                    headers={**self._headers, **(headers or {})},
                    timeout=httpx.Timeout(silence, connect=min(silence, CONNECT_SECONDS)),
                    extensions={"trace": exchange.watch},
                ) as reply,
            ):
                if proxy and reply.status_code == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
                    raise httpx.ProxyError(f"{reply.status_code} {reply.reason_phrase}")
                read = b"" if reply.status_code in unread else _gather(reply, self._limit)
            exchange.require_going_on()  # a body without a length ends well even if it was cut off
            came_at = self._now() if "retry-after" in reply.headers else None
            return HttpAnswer(reply.status_code, dict(reply.headers), read, came_at)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            raise exchange.judge(error, silence) from error
        finally:
            exchange.close()
            with self._lock:
                self._under_way.discard(exchange)

    def hang_up(self) -> None:
        """End all that is under way, from another thread.

        A thread that waits on it wakes up and fails.
        """
        with self._lock:
            for exchange in self._under_way:
                exchange.break_off("this process stopped the request")


def ask_status(url: str, *, silence: float, choose_proxy: ChooseProxy = lambda _: None) -> int:
    """Ask an address once, and return the status of its answer; what follows is not read."""
    wire = Wire({}, deadline=silence, limit=0, choose_proxy=choose_proxy)
    return wire.ask("GET", url, silence=silence, unread=range(1000)).status


class _Exchange:
    """One request on its way, and what becomes of it."""

    def __init__(self, check: Callable[[], None], deadline: float, proxy: Proxy | None) -> None:
        self._check = check
        self._proxy = proxy
        self._is_connected = False
        self._was_out = False
        self._cut_for = ""
        self._socket: socket.socket | None = None
        late = f"no complete answer came within {deadline:g} seconds"
        self._timer = threading.Timer(deadline, self.break_off, (late,))
        self._timer.daemon = True
        self._timer.start()

    def close(self) -> None:
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
        """Follow httpcore's trace.

        It shows the socket first, and is the last place before the request leaves.
        """
        if event == "connection.connect_tcp.complete":
            # A handle of our own: what secures a socket with TLS takes it from its holder.
            self._socket = info["return_value"].get_extra_info("socket").dup()
        elif event == "http11.send_request_headers.started":
            self._is_connected = True
            if info["request"].method == b"CONNECT":
                # The request itself follows on the way the proxy opens.
                return
            self._check()
            self.require_going_on()  # also if it was broken off during the check
            self._was_out = True

    def require_going_on(self) -> None:
        """Raise `ConnectionAbortedError` if somebody has broken it off."""
        if self._cut_for:
            raise ConnectionAbortedError

    def judge(self, error: Exception, silence: float) -> ExchangeError:
        import httpx  # noqa: PLC0415 - it is there by now

        if isinstance(error, httpx.DecodingError):
            return AnswerDamaged(f"the packed body is damaged: {error}", was_out=True)
        distrust = _find_distrust(error)
        said = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
        reason = said or type(error).__name__
        hint = f"The request goes through {self._proxy}. Check that proxy." if self._proxy else ""
        if self._cut_for:
            reason = self._cut_for
        elif isinstance(error, httpx.ProxyError):
            wish = "407, it wants a name and a password:"
            reason = f"the proxy refuses: {reason.replace('407', wish)}"
        elif distrust is not None:
            reason = f"the certificate can't be trusted: {distrust.verify_message}"
            hint = f"{TRUST_HINT} {hint}".strip()
        elif isinstance(error, httpx.ConnectTimeout):
            reason = f"no connection within {min(silence, CONNECT_SECONDS):g} seconds"
        elif isinstance(error, httpx.TimeoutException):
            reason = f"nothing came for {silence:g} seconds"
        if self._proxy and not self._is_connected:
            cause = Said.of(Saying.UNREACHABLE, "the proxy", reason)
        else:
            cause = Said.plain(reason)
        was_out = self._was_out and not isinstance(error, httpx.ProxyError)
        return ExchangeError(cause, was_out=was_out, hint=hint)


def _find_distrust(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    """Return what checking a certificate came to, if an error of httpx goes back to that."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error


def _gather(reply: httpx.Response, limit: int) -> bytes:
    packings = reply.headers.get("content-encoding", "")
    if "," in packings:  # a kilobyte packed twice may hold a gigabyte
        raise AnswerDamaged("the body is packed more than once", was_out=True)
    gathered = bytearray()
    for piece in reply.iter_bytes():
        gathered += piece
        if len(gathered) > limit:
            raise AnswerTooLarge(f"the body has more than {limit:,} bytes", was_out=True)
    return bytes(gathered)


@cache
def load_authorities(ca_file: Path | None = None) -> ssl.SSLContext:
    """Return the one TLS context: it trusts the system's authorities and those of httpx.

    The system's are those of SSL_CERT_FILE and SSL_CERT_DIR, if they are set. Reading all of them
    takes longer than most answers: once is enough for a process.

    `ca_file`: certificates (PEM) to trust besides.
    """
    import httpx  # noqa: PLC0415 - most runs ask nobody

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


def read_retry_after(text: str, now: datetime | None) -> float | None:
    """Read a `Retry-After` header in seconds; None if it says nothing usable.

    It holds seconds or a date (RFC 9110 §10.2.3). Less than a second is no wish to wait but a
    cache's default, and counts as nothing. How long a wish may be is up to who is asked to wait.

    `now`: what a date counts from: the time of who wrote it, else ours.
    """
    try:
        seconds = float(text)
    except ValueError:
        until = _read_date(text)
        seconds = (until - now).total_seconds() if until and now else 0.0
    return seconds if math.isfinite(seconds) and seconds >= 1 else None


def _read_date(text: str) -> datetime | None:
    try:
        return read_rfc_date(text)
    except ValueError:
        return None
