"""Makes one request to arXiv and says what it came to: a whole body, or a typed error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

from digest.arxiv.documents import TRY_AGAIN, check_body
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
from digest.model.said import Said, Saying, advise
from digest.wire import AnswerDamaged, AnswerTooLarge, ExchangeError, HttpAnswer, Wire

_CHECK_NETWORK = "Check the network and the addresses under [arxiv]. The next check tries again."
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}

_OK: Final = 200
_REFUSED: Final = 403
_THROTTLED: Final = frozenset({406, 429, 503})
_REDIRECTIONS: Final = range(300, 400)
_OURS: Final = range(400, 500)
_ABSENT: Final = frozenset({404, 405, 410})


@dataclass(frozen=True, slots=True)
class ArxivRequest:
    """One request to make.

    Attributes:
        url: the whole of it, as a GET would be written; also if a form is sent instead.
        name: in words, for people: "papers 0-99 of 'cat:cs.PF'".
        form: sent by POST to the address without its query, if the address would be too long.
    """

    url: str
    name: str
    read_seconds: float
    form: bytes | None = None

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.form is None else "POST"


class DeadlinePassed(ArxivUnreachable):
    """A request was not made, since the moment until which it might be begun has passed."""


def send_request(wire: Wire, asked: ArxivRequest, *, not_after: float) -> HttpAnswer:
    """Make one exchange.

    `not_after`: the moment, by `monotonic`, after which not a byte of the request may leave.
    """

    def require_in_time() -> None:
        if monotonic() > not_after:  # it may have taken long until here, or this process was paused
            raise DeadlinePassed(
                "the request could not start in time",
                hint="This machine was paused or too busy for half a minute. The next check tries "
                "again.",
            )

    is_form = asked.form is not None
    try:
        return wire.ask(
            asked.method,
            asked.url.partition("?")[0] if is_form else asked.url,
            silence=asked.read_seconds,
            body=asked.form,
            headers=_FORM if is_form else {},
            check=require_in_time,
        )
    except AnswerDamaged as error:
        raise ArxivTruncated(str(error), hint=TRY_AGAIN) from error
    except AnswerTooLarge as error:
        raise ArxivHostile(str(error), hint=TRY_AGAIN) from error
    except ExchangeError as error:
        host = urlsplit(asked.url).netloc  # with its port, if that is not the usual one
        what = Saying.NO_WHOLE_ANSWER if error.was_out else Saying.UNREACHABLE
        why = advise(error.said, Said.plain(error.hint))  # a run shows no hint
        raise ArxivUnreachable(Said.of(what, host, why), hint=_CHECK_NETWORK) from error


def check_status(
    answer: HttpAnswer,
    read: Callable[[bytes], object],
    *,
    place: str = "",
    url: str = "",
) -> None:
    """Refuse an answer that is no page, by its status and its first bytes.

    Args:
        read: reads a body of the kind asked for; an error page often says more than its status.
        place: the setting that names the address, and the address: nothing may be there any more.
        url: what was asked: a redirect may be written as seen from there.
    """
    _refuse_throttling(answer)
    status = answer.status
    if status == _OK:
        _check_content_type(answer)
    elif status == _REFUSED:
        raise ArxivRefused(
            "arXiv refuses to answer this client (403)",
            hint="Digest waits some hours. See https://info.arxiv.org/help/robots.html and check "
            "[arxiv] contact.",
        )
    elif status in _REDIRECTIONS:
        said = answer.headers.get("location")
        there = urljoin(url, said) if said else "an address it does not name"
        shown = there.partition("?")[0][:200]
        raise ArxivMoved(
            f"arXiv now answers at {shown} ({status})",
            hint=f"Correct {place or 'the address under [arxiv]'}: it has moved there.",
        )
    elif status in _OURS:
        reason = _find_reason(answer, read)
        if status in _ABSENT and place and not reason:
            raise ArxivRejected(
                f"arXiv rejects the request ({status}): nothing is at {place}",
                hint="Correct the address, or leave it out to use arXiv's own.",
            )
        raise ArxivRejected(
            f"arXiv rejects the request ({status}){reason}", hint="Asking again cannot help."
        )
    else:
        reason = _find_reason(answer, read)
        raise ArxivFaulted(f"arXiv had an error of its own ({status}){reason}", hint=TRY_AGAIN)


def gate_outcome(error: ArxivError | None) -> GateOutcome:
    """Return what the gate hears of a request that ended in this error, or in none."""
    if isinstance(error, ArxivThrottled):
        return GateOutcome(RequestOutcome.THROTTLED, error.retry_after)
    if isinstance(error, ArxivRefused):
        return GateOutcome(RequestOutcome.REFUSED)
    if error is None or isinstance(error, ArxivRejected):
        return GateOutcome(RequestOutcome.OK)
    return GateOutcome(RequestOutcome.FAILED)


def _refuse_throttling(answer: HttpAnswer) -> None:
    try:
        check_body(answer.body)
    except ArxivThrottled as error:
        error.retry_after = answer.retry_after
        raise
    except (ArxivUnreadable, ArxivHostile):
        pass  # what else the body may be is judged where it is read; here the status goes first
    if answer.status in _THROTTLED:
        raise ArxivThrottled(
            f"arXiv asked us to wait ({answer.status})",
            hint=TRY_AGAIN,
            retry_after=answer.retry_after,
        )


def _check_content_type(answer: HttpAnswer) -> None:
    content_type = answer.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type and not media_type.endswith("xml"):
        check_body(answer.body)
        raise ArxivUnreadable(f"the answer is {media_type[:60]}, not XML", hint=TRY_AGAIN)


def _find_reason(answer: HttpAnswer, read: Callable[[bytes], object]) -> str:
    try:
        read(answer.body)
    except (ArxivRejected, ArxivFaulted) as error:
        return f": {error.complaint or error.message}"
    except ArxivError:
        pass
    return ""
