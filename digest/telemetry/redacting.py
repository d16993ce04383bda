"""Secrets and people's addresses, masked before a log line is written anywhere.

slack_sdk logs whole bodies and webhook URLs at DEBUG, httpx each URL at INFO, and any library may put
an address into an exception: so what is masked is the finished text, whoever wrote it.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Mapping

MASK = "***"

_END = r"\s/?#\"'<>,:;)\]}"
"""What ends a part of an address."""

_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), mask)
    for pattern, mask in (
        (
            r"(?<=://)(?:[^\s/@:]*:[^\s\"'<>]*|[^\s/?#\"'<>@]*)@(?=[^\s/])",
            f"{MASK}@",
        ),  # who logs in, and with what
        (r"\b(hooks\.slack(?:-gov)?\.com/\w+/)[^\s\"'<>,:;)\]}]+", rf"\g<1>{MASK}"),
        (r"(?<=/services/)[a-z0-9]+/[a-z0-9]+/\w+", MASK),
        (r"\b(x(?:ox[a-z]|app))-[\w.-]+", rf"\g<1>-{MASK}"),
        (r"\b(bearer|basic)\s+[\w.~+/=-]+", rf"\g<1> {MASK}"),
        (r"\b(password|secret|token)=[^\s&\"']+", rf"\g<1>={MASK}"),
        (rf"/([fucdm])/[^{_END}]+", rf"/\g<1>/{MASK}"),  # feed, leave, confirm, digest, manage
        (rf"[^{_END}(@\[{{=&*]+(?:@|%40)[^{_END}(@\[{{=&]+", f"{MASK}@{MASK}"),
    )
)

_SECRET_NAMES = re.compile(r"(?i)password|secret|token|authori[sz]ation|webhook")


def redact(text: str) -> str:
    """Return a text with Slack tokens, webhook URLs, secret addresses, passwords and mail addresses masked."""
    for pattern, mask in _PATTERNS:
        text = pattern.sub(mask, text)
    return text


def redact_field(name: str, value: object) -> object:
    """Return a field's value fit for a log line: numbers and truth values as they are, all else as masked text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if _SECRET_NAMES.search(name):
        return MASK
    if isinstance(value, Mapping):
        return {str(key): redact_field(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_field(name, inner) for inner in value]
    return redact(str(value))


class RedactionFilter(logging.Filter):
    """Masks a record in place: message, fields, exception and stack. It lets every record through."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask whatever of the record could be printed."""
        record.msg, record.args = redact(_read_message(record)), None
        fields = getattr(record, "fields", None)
        if isinstance(fields, Mapping):
            record.fields = {name: redact_field(name, value) for name, value in fields.items()}
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            record.exc_info = None
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def _read_message(record: logging.LogRecord) -> str:
    """Return the message with its arguments; both side by side where they do not fit each other."""
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a library's slip in a log call must never stop the work
        return f"{record.msg} {record.args}"
