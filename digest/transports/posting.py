"""HTTP requests that are sent once: no redirects, no proxy to this machine, a last look before they go."""

from __future__ import annotations

import http.client
import threading
import urllib.request
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from digest.clock import LOOPBACK_HOSTS
from digest.transports.answers import UNREADABLE, Answer, judge_break
from digest.transports.dialling import Call, CalledOff
from digest.transports.fence import always_ours, require_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator
    from email.message import Message

TIMEOUT = 15.0
"""Seconds for connecting and for each read."""

_WHOLE = 4
"""So many times as long may the whole exchange take: an answer byte by byte never runs into the other limit."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect as the answer it is."""

    def http_error_302(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message
    ) -> None:
        """Follow nothing, and read no address: it may be none."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class _Exchange(Call):
    """One request and its answer.

    Attributes:
        is_late: it has taken too long.
    """

    def __init__(self) -> None:
        super().__init__()
        self.is_late = False

    def end(self) -> None:
        """Break it off for taking too long."""
        self.is_late = True
        self.break_off()


class Lines:
    """The connections on which somebody waits; they can be broken off from another thread."""

    def __init__(self) -> None:
        self._open: dict[int, _Exchange] = {}
        self._lock = threading.Lock()

    @contextmanager
    def exchange(self, timeout: float) -> Iterator[None]:
        """Hold the connection that this thread opens until the exchange is over, or has taken too long.

        Args:
            timeout: seconds for connecting and for each read.

        Raises:
            TimeoutError: it took several times as long, and the request may have been carried out.
        """
        thread, limit, this = threading.get_ident(), _WHOLE * timeout, _Exchange()
        with self._lock:
            self._open[thread] = this
        watch = threading.Timer(limit, this.end)
        watch.daemon = True
        watch.start()
        is_late = TimeoutError(f"there was no whole answer within {limit:g} s")
        try:
            yield
        except URLError:
            raise  # up to there nothing was carried out
        except Exception as error:
            if this.is_late:
                raise is_late from error
            raise
        else:
            if this.is_late:  # what was read may be half of it
                raise is_late
        finally:
            watch.cancel()
            with self._lock:
                del self._open[thread]
            this.close()

    @contextmanager
    def opening(self) -> Iterator[Call]:
        """Give this thread's exchange to be connected, and secured, within the block.

        Raises:
            CalledOff: somebody has hung up.
            TimeoutError: it took all the time there was.
            OSError: nobody answers, or not as it should.
        """
        with self._lock:
            this = self._open[threading.get_ident()]
        try:
            yield this
            this.require()
        except OSError as error:
            if this.is_late:
                raise TimeoutError("connecting took too long") from error
            if this.is_broken_off:
                raise CalledOff from error
            raise

    def hang_up(self) -> None:
        """End every exchange at once, connected or not yet: whoever waits on one is woken, and fails."""
        with self._lock:
            for this in self._open.values():
                this.break_off()


def is_loopback(url: str) -> bool:
    """Tell whether the address is this machine's own."""
    return urlsplit(url).hostname in LOOPBACK_HOSTS


class _FencedConnection(http.client.HTTPConnection):
    """Asks once more whether to go on, when the connection stands and the request is all that is left."""

    def __init__(self, *args: Any, is_ours: Callable[[], bool], lines: Lines, **options: Any) -> None:  # noqa: ANN401 - http.client's own
        super().__init__(*args, **options)
        self._is_ours, self._lines = is_ours, lines

    def connect(self) -> None:
        with self._lines.opening() as call:
            # Where http.client keeps what it connects with, for others to put theirs in its place.
            self._create_connection = lambda place, timeout, _source: call.dial(place[0], place[1], timeout)
            super().connect()
        require_ours(self._is_ours)


class _FencedSecureConnection(_FencedConnection, http.client.HTTPSConnection):
    """The same over TLS."""


class _FencedHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens fenced connections."""

    def __init__(self, is_ours: Callable[[], bool], lines: Lines) -> None:
        super().__init__()
        self._given: dict[str, Any] = {"is_ours": is_ours, "lines": lines}

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_FencedConnection, **self._given), request)

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_FencedSecureConnection, **self._given), request)


def build_opener(
    url: str, is_ours: Callable[[], bool] = always_ours, lines: Lines | None = None
) -> urllib.request.OpenerDirector:
    """Return an opener for `url` that follows no redirect, and uses no proxy to reach this machine.

    `is_ours` is asked before each request goes out over its connection, which `lines` holds from then on.
    """
    proxies = urllib.request.ProxyHandler({}) if is_loopback(url) else urllib.request.ProxyHandler()
    return urllib.request.build_opener(proxies, _NoRedirects, _FencedHandler(is_ours, lines or Lines()))


def post_once(
    request: urllib.request.Request,
    who: str,
    *,
    is_ours: Callable[[], bool],
    lines: Lines,
    timeout: float,
    most: int,
    unread: Container[int] = (),
) -> Answer:
    """Make a request and return its answer, whose data is its text.

    Args:
        request: to https or this machine, checked when it was configured.
        who: names the other side in errors.
        is_ours: asked right before it goes out.
        lines: holds the connection while it lasts.
        timeout: seconds for connecting and for each read.
        most: bytes of the body that are read.
        unread: statuses that say all there is to know: what comes behind them is not waited for.

    Raises:
        DeliveryError: the connection broke or was broken off, or the answer can't be read.
    """
    try:
        opener = build_opener(request.full_url, is_ours, lines)
        with lines.exchange(timeout):
            try:
                reply = opener.open(request, timeout=timeout)
            except HTTPError as refusal:
                reply = refusal
            with reply:
                body = b"" if reply.status in unread else reply.read(most)
                return Answer(reply.status, dict(reply.headers), {"text": body.decode("utf-8", "replace").strip()})
    except (OSError, http.client.HTTPException, *UNREADABLE) as error:
        raise judge_break(who, error, is_post=True) from error
