"""What came back over HTTP, and what a status or a broken connection means for a delivery, whoever answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.error import URLError

from digest.errors import DeliveryError
from digest.transports.dialling import CalledOff

if TYPE_CHECKING:
    from collections.abc import Mapping

CLIENT_ERRORS = range(400, 500)
"""RFC 9110 §15.5. All but 408 and 429 say that the request was understood and refused."""
_REDIRECTIONS = range(300, 400)

UNREADABLE = (ValueError, LookupError, RecursionError, AttributeError)
"""What reading an answer may end in that makes no sense: no text, an unknown encoding, lists in lists in lists."""


@dataclass(frozen=True, slots=True)
class Answer:
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


def read_retry_after(answer: Answer) -> float | None:
    """Return the seconds `Retry-After` asks for, None where it says nothing usable.

    Whole or broken seconds, or a date (RFC 9110 §10.2.3), which is taken relative to the answer's own
    `Date` so that no clock of ours matters.
    """
    text = answer.header("Retry-After").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            until, since = parsedate_to_datetime(text), parsedate_to_datetime(answer.header("Date"))
            seconds = (until - since).total_seconds()
        except (ValueError, TypeError, LookupError, ArithmeticError):  # TypeError: only one date has a zone
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def judge_status(who: str, answer: Answer, *, is_post: bool) -> DeliveryError:
    """Turn an HTTP status into an error, whatever the body."""
    status = answer.status
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return DeliveryError(f"{who} asks to wait (HTTP 429)", retry_after=read_retry_after(answer))
    if status in _REDIRECTIONS:
        return DeliveryError(
            f"{who} answers from another address (HTTP {status}); redirects are not followed",
            permanent=True,
            whole_transport=True,
            hint="Check the configured address.",
        )
    if status not in CLIENT_ERRORS or status == HTTPStatus.REQUEST_TIMEOUT:
        return DeliveryError(f"{who} failed inside (HTTP {status})", ambiguous=is_post)
    return DeliveryError(
        f"{who} refused the request itself (HTTP {status})",
        permanent=True,
        whole_transport=True,
        hint="Check the configured address, and any proxy on the way.",
    )


def judge_break(who: str, error: Exception, *, is_post: bool) -> DeliveryError:
    """Turn a broken connection into an error.

    urllib wraps what happens up to the last byte of the request in `URLError`: nothing was stored.
    What happens later comes bare: the request may have been carried out.
    """
    if isinstance(error, URLError):
        reason = error.reason
        if isinstance(reason, CalledOff):
            return DeliveryError(f"{who} was not reached: {reason}", whole_transport=True)
        return DeliveryError(
            f"{who} can't be reached: {reason}",
            whole_transport=True,
            hint="Check the network, the configured address and any proxy on the way.",
        )
    return DeliveryError(
        f"the connection to {who} broke before its answer was read: {str(error) or type(error).__name__}",
        ambiguous=is_post,
    )
