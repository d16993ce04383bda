"""What an answer of arXiv means before its body is read, and what the gate is told of it.

Reactions follow what is known of arXiv's front: https://info.arxiv.org/help/api/tou.html asks for
patience, and 429, 406 and 503 are all used to shed load, mostly without a word on how long.
"""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from digest.arxiv.documents import TRY_AGAIN, check_body
from digest.errors import (
    ArxivError,
    ArxivFaulted,
    ArxivHostile,
    ArxivMoved,
    ArxivRefused,
    ArxivRejected,
    ArxivThrottled,
    ArxivUnreadable,
)
from digest.pace import GateOutcome, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from digest.arxiv.exchange import Answer

_OK: Final = 200
_REFUSED: Final = 403
_THROTTLED: Final = frozenset({406, 429, 503})
_REDIRECTIONS: Final = range(300, 400)
_OURS: Final = range(400, 500)
_ABSENT: Final = frozenset({404, 405, 410})


def judge_status(answer: Answer, read: Callable[[bytes], object], now: datetime, *, place: str = "") -> None:
    """Refuse an answer that is no page, by its status and its first bytes.

    Args:
        answer: what came.
        read: reads a body of the kind asked for; an error page often says more than its status.
        now: for a `Retry-After` that is a date, where the answer itself has none.
        place: the setting that names the address and the address, for where nothing is there.

    Raises:
        ArxivThrottled: 429, 406, 503, or "Rate exceeded." under any status.
        ArxivRefused, ArxivMoved, ArxivRejected, ArxivFaulted: see there.
        ArxivUnreadable: a page is promised, but the content type says that it is none.
    """
    _refuse_throttling(answer, now)
    status = answer.status
    if status == _OK:
        _check_content_type(answer)
    elif status == _REFUSED:
        raise ArxivRefused(
            "arXiv refuses to answer this client (403)",
            hint="Requests stop for hours. See https://info.arxiv.org/help/robots.html and check [arxiv] contact.",
        )
    elif status in _REDIRECTIONS:
        place = answer.headers.get("location", "an address it does not name")[:200]
        raise ArxivMoved(
            f"arXiv answers at {place} now ({status})",
            hint=f"Set the address under [arxiv] in digest.toml to {place}, without what follows a question mark.",
        )
    elif status in _OURS:
        reason = _find_reason(answer, read)
        if status in _ABSENT and place and not reason:
            raise ArxivRejected(
                f"arXiv rejects the request ({status}): nothing is at {place}",
                hint="Mend the address, or leave it out: then arXiv's own is asked.",
            )
        raise ArxivRejected(f"arXiv rejects the request ({status}){reason}", hint="Asking again cannot help.")
    else:
        raise ArxivFaulted(f"arXiv failed inside ({status}){_find_reason(answer, read)}", hint=TRY_AGAIN)


def read_retry_after(text: str, now: datetime) -> float | None:
    """Read a `Retry-After` header (RFC 9110 §10.2.3): seconds from now, None where it says nothing usable.

    Less than a second is no wish to wait but a cache's default, and counts as nothing.
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(text) - now).total_seconds()
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 1 else None


def gate_outcome(error: ArxivError | None) -> GateOutcome:
    """Return what the gate is told of a request that ended in this error, or in none."""
    if isinstance(error, ArxivThrottled):
        return GateOutcome(Outcome.THROTTLED, error.retry_after)
    if isinstance(error, ArxivRefused):
        return GateOutcome(Outcome.REFUSED)
    if error is None or isinstance(error, ArxivRejected):
        return GateOutcome(Outcome.OK)
    return GateOutcome(Outcome.FAILED)


def _refuse_throttling(answer: Answer, now: datetime) -> None:
    retry_after = read_retry_after(answer.headers.get("retry-after", ""), _server_time(answer, now))
    try:
        check_body(answer.body)
    except ArxivThrottled as error:
        error.retry_after = retry_after
        raise
    except (ArxivUnreadable, ArxivHostile):
        pass  # what else the body may be is judged where it is read; here the status goes first
    if answer.status in _THROTTLED:
        raise ArxivThrottled(
            f"arXiv asks to be spared for a while ({answer.status})", hint=TRY_AGAIN, retry_after=retry_after
        )


def _server_time(answer: Answer, now: datetime) -> datetime:
    try:
        return parsedate_to_datetime(answer.headers.get("date", ""))
    except (ValueError, TypeError):
        return now


def _check_content_type(answer: Answer) -> None:
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type and not media_type.endswith("xml"):
        check_body(answer.body)
        raise ArxivUnreadable(f"the answer is {media_type[:60]}, not XML", hint=TRY_AGAIN)


def _find_reason(answer: Answer, read: Callable[[bytes], object]) -> str:
    try:
        read(answer.body)
    except (ArxivRejected, ArxivFaulted) as error:
        return f": {error.message.partition(': ')[2] or error.message}"
    except ArxivError:
        return ""
    return ""
