"""Posts once over HTTP: no redirects, no proxies, a last check before sending, an end in any case."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import httpx

from digest import __version__
from digest.arxiv.exchange import read_retry_after
from digest.model.errors import DeliveryError
from digest.model.messages import always_ours, require_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping
    from datetime import datetime
    from types import TracebackType

    from digest.model.messages import Message, Receipt
    from digest.model.subscriptions import Destination

T = TypeVar("T")


TIMEOUT_PING = 10.0
"""Seconds for connecting and for each read."""

_REFUSED = 400


def send_ping(url: str) -> None:
    """Ask the address once: no redirects, no proxy, and nothing of the answer counts but its status.

    Raises:
        DeliveryError: nobody answered, or with an error. The address, which may be a secret, is not repeated.
    """
    try:
        with httpx.stream("GET", url, timeout=TIMEOUT_PING, follow_redirects=False, trust_env=False) as answer:
            status = answer.status_code  # what follows is not waited for: it may never end
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DeliveryError(
            f"the ping address can't be reached ({type(error).__name__})",
            hint="Check alarms.ping_url; Digest tries again in a minute.",
        ) from error
    if status >= _REFUSED:
        raise DeliveryError(
            f"the ping address answered {status}",
            hint="Check whether alarms.ping_url is still right.",
        )


TIMEOUT = 15.0
"""Seconds for each read."""

_CONNECT_SECONDS = 10.0
_WHOLE = 4
"""So many times as long may the whole exchange take: an answer byte by byte never runs into the other limit."""

CLIENT_ERRORS = range(400, 500)
"""RFC 9110 §15.5. All but 408 and 429 say that the request was understood and refused."""
_REDIRECTIONS = range(300, 400)

# At INFO httpx logs addresses, and those of webhooks are secrets.
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back over HTTP.

    Attributes:
        status: HTTP status.
        headers: as received; names in any case.
        data: the JSON object, or whatever was found in its place.
    """

    status: int
    headers: Mapping[str, str]
    data: object

    def get(self, *path: str) -> object:
        """Return the value below nested keys, None where there is none."""
        value = self.data
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def text(self, *path: str) -> str:
        """Return the text below nested keys, "" where there is none."""
        value = self.get(*path)
        return value if isinstance(value, str) else ""

    def objects(self, *path: str) -> list[dict[str, object]]:
        """Return the objects of the list below nested keys."""
        values = self.get(*path)
        return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []

    def header(self, name: str) -> str:
        """Return a header's value, "" where it is missing."""
        return next((value for key, value in self.headers.items() if key.lower() == name.lower()), "")


class HttpSender:
    """Posts for one transport, each time over a connection of its own. Several threads use it at once.

    Args:
        timeout: seconds for connecting, at most ten, and for each read.
    """

    def __init__(self, timeout: float = TIMEOUT) -> None:
        self._timeout = timeout
        self._under_way: set[_Exchange] = set()
        self._lock = threading.Lock()

    def post(
        self,
        who: str,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        *,
        most: int,
        is_ours: Callable[[], bool] = always_ours,
        unread: Container[int] = (),
        is_change: bool = True,
    ) -> HttpAnswer:
        """Make one request and return its answer, whose data is its text.

        Args:
            who: names the other side in errors, which never repeat the address: it may be a secret.
            url: https or this machine, checked when it was configured.
            body: what is sent.
            headers: besides the usual ones.
            most: bytes of the answer that are read.
            is_ours: asked when the connection stands and the request is all that is left.
            unread: statuses that say all there is to know: what comes behind them is not waited for.
            is_change: whether the request changes anything where it is carried out.

        Raises:
            DeliveryError: the connection broke or was broken off, or the answer can't be read.
        """
        client = self._client
        with self._begin(is_ours) as exchange:
            try:
                with client.stream(
                    "POST", url, content=body, headers=headers, extensions={"trace": exchange.watch}
                ) as reply:
                    text = b"" if reply.status_code in unread else _read(reply, most)
                exchange.require_in_time()
                return HttpAnswer(
                    reply.status_code, reply.headers, {"text": text.decode("utf-8", "replace").strip()}
                )
            except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
                raise exchange.judge(who, error, is_change=is_change) from error

    def hang_up(self) -> None:
        """End every exchange at once, from another thread; a thread that waits on one wakes up and fails."""
        with self._lock:
            for exchange in self._under_way:
                exchange.break_off()

    @contextlib.contextmanager
    def _begin(self, is_ours: Callable[[], bool]) -> Iterator[_Exchange]:
        with _Exchange(is_ours, _WHOLE * self._timeout) as exchange:
            with self._lock:
                self._under_way.add(exchange)
            try:
                yield exchange
            finally:
                with self._lock:
                    self._under_way.remove(exchange)

    @cached_property
    def _client(self) -> httpx.Client:
        return httpx.Client(
            trust_env=False,
            verify=ssl.create_default_context(),
            timeout=httpx.Timeout(self._timeout, connect=min(self._timeout, _CONNECT_SECONDS)),
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={
                "User-Agent": f"preprint-digest/{__version__}",
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
        )


class _Exchange:
    """One request and its answer.

    Attributes:
        is_out: the request has begun to leave: from then on it may be carried out.
    """

    def __init__(self, is_ours: Callable[[], bool], seconds: float) -> None:
        self.is_out = False
        self._is_ours = is_ours
        self._is_broken_off = False
        self._is_late = False
        self._seconds = seconds
        self._socket: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._run_out)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._socket is not None:
            self._socket.close()

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Follow httpcore: its trace shows the socket first, and is the last place before the request leaves."""
        if event == "connection.connect_tcp.complete":
            # A handle of our own: what secures a socket with TLS takes it from its holder.
            stream = info["return_value"]
            self._socket = stream.get_extra_info("socket").dup()
            try:
                self._require_wanted()
            except OSError:
                stream.close()  # httpcore does not hold it yet
                raise
        elif event == "http11.send_request_headers.started":
            self._require_wanted()
            require_ours(self._is_ours)
            self.is_out = True

    def break_off(self) -> None:
        """End it, from any thread. A connection that does not stand yet is given up once it does."""
        self._is_broken_off = True
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it may have ended by itself just now
                self._socket.shutdown(socket.SHUT_RDWR)

    def require_in_time(self) -> None:
        """Go on only with a whole answer.

        Raises:
            TimeoutError: it was cut off for taking too long: what was read may be half of it.
        """
        if self._is_late:
            raise TimeoutError

    def judge(self, who: str, error: Exception, *, is_change: bool) -> DeliveryError:
        """Turn what ended it into an error: once the request is out, it may have been carried out."""
        if self.is_out:
            reason = str(error) or type(error).__name__
            if self._is_late:
                reason = f"no complete answer came within {self._seconds:g} s"
            return DeliveryError(
                f"the connection to {who} broke before its answer was read: {reason}", ambiguous=is_change
            )
        if self._is_broken_off and not self._is_late:
            return DeliveryError(f"{who} was not reached: this process stopped the request", whole_transport=True)
        return DeliveryError(
            f"{who} can't be reached: {'connecting took too long' if self._is_late else error}",
            whole_transport=True,
            hint="Check the network and the configured address.",
        )

    def _run_out(self) -> None:
        self._is_late = True
        self.break_off()

    def _require_wanted(self) -> None:
        if self._is_broken_off:
            raise ConnectionAbortedError


def _read(reply: httpx.Response, most: int) -> bytes:
    """Return the beginning of an answer's body."""
    body = b""
    for piece in reply.iter_raw():
        body += piece
        if len(body) >= most:
            break
    return body[:most]


def read_wish(answer: HttpAnswer) -> float | None:
    """Return the seconds an answer asks to wait, None where it says nothing usable."""
    return read_retry_after(answer.header("Retry-After"))


def judge_status(who: str, answer: HttpAnswer, *, is_post: bool) -> DeliveryError:
    """Turn an HTTP status into an error, whatever the body."""
    status = answer.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return DeliveryError(f"{who} asks us to wait (HTTP 429)", retry_after=read_wish(answer))
    if status in _REDIRECTIONS:
        return DeliveryError(
            f"{who} answers from another address (HTTP {status}); redirects are not followed",
            permanent=True,
            whole_transport=True,
            hint="Check the configured address.",
        )
    if status not in CLIENT_ERRORS or status == HTTPStatus.REQUEST_TIMEOUT:
        return DeliveryError(f"{who} had an error of its own (HTTP {status})", ambiguous=is_post)
    return DeliveryError(
        f"{who} refused the request itself (HTTP {status})",
        permanent=True,
        whole_transport=True,
        hint="Check the configured address, and any proxy on the way.",
    )


class HookPoster(Generic[T]):
    """Posts to webhooks, which only take, known by the names the configuration gives them.

    Args:
        hooks: name → address, and what else it takes to post there. They are secrets: they appear in no message
            and no log.
        timeout: seconds for connecting and for each read.
    """

    what: ClassVar[str]
    """What an error calls such a webhook, with {!r} for its name."""

    def __init__(self, *, hooks: Mapping[str, T], timeout: float = TIMEOUT) -> None:
        self._hooks = dict(hooks)
        self._sender = HttpSender(timeout)

    def resolve(self, destination: Destination) -> str:
        """Return "": the address itself says where messages go, and is a secret.

        Raises:
            DeliveryError: no such webhook is configured, or not all of it.
        """
        self._hook_of(destination)
        return ""

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:  # noqa: ARG002 - every transport is asked alike
        """Never tells: a webhook only takes.

        Raises:
            DeliveryError: always, permanent.
        """
        raise DeliveryError(
            "a webhook can't be asked which messages it took",
            permanent=True,
            hint="Check where it should be, then retry the delivery or mark it as sent.",
        )

    def close(self) -> None:
        """Break off what waits for an answer; each request has a connection of its own."""
        self._sender.hang_up()

    def _hook_of(self, destination: Destination) -> T:
        if destination.address not in self._hooks:
            raise DeliveryError(
                f"there is no {self.what.format(destination.address)}",
                permanent=True,
                whole_transport=True,  # the operator's to correct: it is held until then, not given up
                hint="`digest doctor --quick` says what it lacks, and which variable gives it.",
            )
        return self._hooks[destination.address]
