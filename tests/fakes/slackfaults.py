"""The ways Slack's answers have been seen to go wrong, before and after a message is stored."""

from __future__ import annotations

from tests.fakes.faults import Fault
from tests.fakes.loopback import Answer, Ending, answer_json

BEFORE = (
    "drop_before",
    "reset",
    "hang",
    "ratelimited",
    "html_503",
    "html_200",
    "internal_error",
    "fatal_error",
)
AFTER = ("drop_after", "reset_after", "hang_after", "500_after_store")
"""Faults that strike before, and after, the message is stored."""

_ENDINGS = {
    "drop_before": Ending.DROP,
    "drop_after": Ending.DROP,
    "reset": Ending.RESET,
    "reset_after": Ending.RESET,
    "hang": Ending.HANG,
    "hang_after": Ending.HANG,
}
_HTML = b"<!DOCTYPE html><html><body><h1>Something went wrong</h1></body></html>"
_HTML_TYPE = "text/html; charset=utf-8"


def limit_rate(retry_after: str, *, is_webhook: bool) -> Answer:
    """Return a 429, with `Retry-After` unless it is ""."""
    headers = (("Retry-After", retry_after),) if retry_after else ()
    if is_webhook:
        return Answer(b"rate_limited", 429, headers=headers)
    return answer_json({"ok": False, "error": "ratelimited"}, 429, headers)


def spoil_answer(fault: Fault, *, is_webhook: bool) -> Answer:
    """Return what a fault leaves of an answer."""
    if fault.kind in _ENDINGS:
        return Answer(status=0, ending=_ENDINGS[fault.kind], patience=fault.seconds)
    if fault.kind == "ratelimited":
        return limit_rate(str(fault.retry_after), is_webhook=is_webhook)
    if fault.kind in ("internal_error", "fatal_error"):
        return answer_json({"ok": False, "error": fault.kind})
    status = {"html_503": 503, "html_200": 200, "500_after_store": 500}[fault.kind]
    return Answer(_HTML, status, _HTML_TYPE)
