"""Makes one HTTP request to arXiv: a whole body or a typed error, an end in any case.

Three limits hold for every exchange: seconds until connected and between two pieces of the answer, the
bytes of a body once unpacked, and the seconds the whole of it may take, however slowly it drips.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import re
import socket
import threading
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import httpx

from digest.arxiv.documents import BODY_LIMIT, TRY_AGAIN, check_body
from digest.model.clock import GateOutcome, RequestOutcome, monotonic
from digest.model.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivHostile,
    ArxivMoved,
    ArxivRefused,
    ArxivRejected,
    ArxivThrottled,
    ArxivTruncated,
    ArxivUnreachable,
    ArxivUnreadable,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime


CONNECT_SECONDS = 10.0
_POOL_SECONDS = 5.0
_KEPT_ALIVE_SECONDS = 60.0
_CHECK_NETWORK = "Check the network and the addresses under [arxiv]. The next check tries again."


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """One request to make.

    Attributes:
        url: the whole of it, as a GET would be written; also where a form is sent instead.
        name: in words, for people: "papers 0-99 of 'cat:cs.PF'".
        read_seconds: how long arXiv may be silent.
        form: sent by POST to the address without its query, where the address would be too long.
    """

    url: str
    name: str
    read_seconds: float
    form: bytes | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.form is None else "POST"


@dataclass(frozen=True, slots=True)
class ArxivAnswer:
    """What came back; `headers` by lower-case name, `body` unpacked and whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TooLate(Exception):
    """A request was not made, since the moment until which it might be begun has passed."""


class Line:
    """The one connection to arXiv.

    Args:
        user_agent: says who asks and how to reach them.
        deadline: seconds an exchange may take in all.
        body_limit: bytes a body may have, unpacked.
    """

    def __init__(self, user_agent: str, *, deadline: float, body_limit: int = BODY_LIMIT) -> None:
        self._deadline = deadline
        self._body_limit = body_limit
        self._client = httpx.Client(
            http1=True,
            http2=False,
            follow_redirects=False,
            headers={"User-Agent": user_agent, "Accept": "application/xml, */*;q=0.1", "Accept-Encoding": "gzip"},
            limits=httpx.Limits(
                max_connections=1, max_keepalive_connections=1, keepalive_expiry=_KEPT_ALIVE_SECONDS
            ),
            trust_env=False,  # whom arXiv sees asking is no matter of the environment
            verify=_load_authorities(),
        )
        self._socket: socket.socket | None = None
        self._not_after = math.inf
        self._has_ended = False

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def ask(self, asked: AskedRequest, *, not_after: float = math.inf) -> ArxivAnswer:
        """Make one exchange.

        Args:
            asked: what is asked.
            not_after: the moment, by `monotonic`, after which not a byte of the request may leave.

        Raises:
            TooLate: that moment has passed; nothing was sent.
            ArxivUnreachable: no connection, no answer in time, or the connection broke.
            ArxivTruncated: the packed body is damaged.
            ArxivHostile: the body is too large.
        """
        self._not_after, self._has_ended = not_after, False
        timer = threading.Timer(self._deadline, self._end)
        timer.daemon = True
        timer.start()
        try:
            answer = self._exchange(asked)
        except httpx.DecodingError as error:
            raise ArxivTruncated(f"the packed body is damaged: {error}", hint=TRY_AGAIN) from error
        except httpx.HTTPError as error:
            self._refuse_late(asked)
            raise _describe_failure(error, asked) from error
        finally:
            timer.cancel()
        self._refuse_late(asked)  # a body without a length ends well even where it was cut off
        return answer

    def _end(self) -> None:
        self._has_ended = True
        self.hang_up()

    def _refuse_late(self, asked: AskedRequest) -> None:
        if self._has_ended:
            host = httpx.URL(asked.url).netloc.decode()  # with its port, where that is not the usual one
            message = f"{host} took longer than {self._deadline:g} seconds to answer"
            raise ArxivUnreachable(message, hint=_CHECK_NETWORK)

    def hang_up(self) -> None:
        """End the connection in use at once, from another thread; a thread that waits on it wakes up."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it may have ended by itself just now
                self._socket.shutdown(socket.SHUT_RDWR)

    def _exchange(self, asked: AskedRequest) -> ArxivAnswer:
        timeout = httpx.Timeout(asked.read_seconds, connect=CONNECT_SECONDS, pool=_POOL_SECONDS)
        form = None if asked.form is None else {"Content-Type": "application/x-www-form-urlencoded"}
        url = asked.url if asked.form is None else asked.url.partition("?")[0]
        with self._client.stream(
            asked.method,
            url,
            content=asked.form,
            headers=form,
            timeout=timeout,
            extensions={"trace": self._watch_steps},
        ) as response:
            body = _gather(response.iter_bytes(), self._body_limit)
            return ArxivAnswer(response.status_code, dict(response.headers), body)

    def _watch_steps(self, event: str, info: Mapping[str, Any]) -> None:
        # httpcore's trace hook is where a socket shows before its first answer has come, and the last place
        # before a request is written: it may have taken long until here, or this process was paused.
        if event in {"connection.connect_tcp.complete", "connection.start_tls.complete"}:
            self._socket = info["return_value"].get_extra_info("socket")
        elif event == "http11.send_request_headers.started" and monotonic() > self._not_after:
            raise TooLate


@cache
def _load_authorities() -> ssl.SSLContext:
    # Reading all authorities takes longer than most answers; once is enough for all clients of a process.
    return httpx.create_ssl_context()


def _gather(pieces: Iterator[bytes], limit: int) -> bytes:
    gathered = bytearray()
    for piece in pieces:
        gathered += piece
        if len(gathered) > limit:
            raise ArxivHostile(f"the body has more than {limit:,} bytes", hint=TRY_AGAIN)
    return bytes(gathered)


def _describe_failure(error: httpx.HTTPError, asked: AskedRequest) -> ArxivUnreachable:
    host = httpx.URL(asked.url).netloc.decode()  # with its port, where that is not the usual one
    if isinstance(error, httpx.ConnectTimeout):
        message = f"{host} can't be reached: no connection within {CONNECT_SECONDS:g} seconds"
    elif isinstance(error, httpx.TimeoutException):
        message = f"{host} said nothing for {asked.read_seconds:g} seconds"
    elif isinstance(error, (httpx.ConnectError, httpx.ProxyError)):
        reason = re.sub(r"^\[Errno -?\d+\] ", "", str(error))
        message = f"{host} can't be reached: {reason}"
    else:
        message = f"the connection to {host} broke: {error}"
    return ArxivUnreachable(message, hint=_CHECK_NETWORK)


@dataclass(frozen=True, slots=True)
class RequestLog:
    """One request as it went, for the operator.

    Attributes:
        at: when it was made (UTC).
        method: `GET` or `POST`.
        url: the whole of it, a form's fields included.
        status: HTTP status, None where no whole answer came.
        milliseconds: from the request to the end of the answer.
        size: bytes of the body, unpacked.
        sha256: of the body, hex; "" where there is none.
        outcome: what the gate heard.
        detail: what was wrong; "" for a good page.
    """

    at: datetime
    method: str
    url: str
    status: int | None
    milliseconds: int
    size: int
    sha256: str
    outcome: RequestOutcome
    detail: str


def describe_request(  # noqa: PLR0917 - what a request comes to
    asked: AskedRequest,
    answer: ArxivAnswer | None,
    at: datetime,
    milliseconds: int,
    outcome: GateOutcome,
    detail: str,
) -> RequestLog:
    """Return a request as it went; without an answer none came whole."""
    body = answer.body if answer else b""
    return RequestLog(
        at=at,
        method=asked.method,
        url=asked.url,
        status=answer.status if answer else None,
        milliseconds=milliseconds,
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest() if body else "",
        outcome=outcome.outcome,
        detail=detail,
    )


_OK: Final = 200
_REFUSED: Final = 403
_THROTTLED: Final = frozenset({406, 429, 503})
_REDIRECTIONS: Final = range(300, 400)
_OURS: Final = range(400, 500)
_ABSENT: Final = frozenset({404, 405, 410})


def judge_status(answer: ArxivAnswer, read: Callable[[bytes], object], *, place: str = "") -> None:
    """Refuse an answer that is no page, by its status and its first bytes.

    Args:
        answer: what came.
        read: reads a body of the kind asked for; an error page often says more than its status.
        place: the setting that names the address and the address, for where nothing is there.

    Raises:
        ArxivThrottled: 429, 406, 503, or "Rate exceeded." under any status.
        ArxivRefused, ArxivMoved, ArxivRejected, ArxivFaulted: see there.
        ArxivUnreadable: a page is promised, but the content type says that it is none.
    """
    _refuse_throttling(answer)
    status = answer.status
    if status == _OK:
        _check_content_type(answer)
    elif status == _REFUSED:
        raise ArxivRefused(
            "arXiv refuses to answer this client (403)",
            hint="Digest waits some hours. See https://info.arxiv.org/help/robots.html and check [arxiv] contact.",
        )
    elif status in _REDIRECTIONS:
        place = answer.headers.get("location", "another address, which it does not name")[:200]
        raise ArxivMoved(
            f"arXiv now answers at {place} ({status})",
            hint=f"Set the address under [arxiv] in digest.toml to {place}, without what follows a question mark.",
        )
    elif status in _OURS:
        reason = _find_reason(answer, read)
        if status in _ABSENT and place and not reason:
            raise ArxivRejected(
                f"arXiv rejects the request ({status}): nothing is at {place}",
                hint="Correct the address, or leave it out to use arXiv's own.",
            )
        raise ArxivRejected(f"arXiv rejects the request ({status}){reason}", hint="Asking again cannot help.")
    else:
        raise ArxivFaulted(f"arXiv had an error of its own ({status}){_find_reason(answer, read)}", hint=TRY_AGAIN)


def read_retry_after(text: str) -> float | None:
    """Read a `Retry-After` header in seconds, the only form arXiv sends; None where it says nothing usable.

    Less than a second is no wish to wait but a cache's default, and counts as nothing.
    """
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 1 else None


def gate_outcome(error: ArxivError | None) -> GateOutcome:
    """Return what the gate hears of a request that ended in this error, or in none."""
    if isinstance(error, ArxivThrottled):
        return GateOutcome(RequestOutcome.THROTTLED, error.retry_after)
    if isinstance(error, ArxivRefused):
        return GateOutcome(RequestOutcome.REFUSED)
    if error is None or isinstance(error, ArxivRejected):
        return GateOutcome(RequestOutcome.OK)
    return GateOutcome(RequestOutcome.FAILED)


def _refuse_throttling(answer: ArxivAnswer) -> None:
    retry_after = read_retry_after(answer.headers.get("retry-after", ""))
    try:
        check_body(answer.body)
    except ArxivThrottled as error:
        error.retry_after = retry_after
        raise
    except (ArxivUnreadable, ArxivHostile):
        pass  # what else the body may be is judged where it is read; here the status goes first
    if answer.status in _THROTTLED:
        raise ArxivThrottled(
            f"arXiv asks for no requests for a while ({answer.status})", hint=TRY_AGAIN, retry_after=retry_after
        )


def _check_content_type(answer: ArxivAnswer) -> None:
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type and not media_type.endswith("xml"):
        check_body(answer.body)
        raise ArxivUnreadable(f"the answer is {media_type[:60]}, not XML", hint=TRY_AGAIN)


def _find_reason(answer: ArxivAnswer, read: Callable[[bytes], object]) -> str:
    try:
        read(answer.body)
    except (ArxivRejected, ArxivFaulted) as error:
        return f": {error.message.partition(': ')[2] or error.message}"
    except ArxivError:
        return ""
    return ""
