"""Conditional requests and codings, decided from header fields alone (RFC 9110 §8.8, §12.5.3, §13). All pure.

Tags are weak: the same feed travels plain or compressed, and one tag stands for both.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TAG = re.compile(r'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_CODING = re.compile(r"\s*([\w!#$%&'*+.^`|~-]+)\s*(?:;\s*q\s*=\s*([^,;\s]*)\s*)?", re.ASCII | re.IGNORECASE)
_WEIGHT = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?", re.ASCII)

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_LONG_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DATES = tuple(
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"(?:{'|'.join(_DAYS)}), (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} GMT",
        rf"(?:{'|'.join(_LONG_DAYS)}), (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} GMT",
        rf"(?:{'|'.join(_DAYS)}) {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
"""The date of today's senders, and the two obsolete ones that must be read (RFC 9110 §5.6.7)."""

_SHORT_YEARS, _TURN, _CENTURY = 100, 70, 2000


def make_etag(body: bytes) -> str:
    """Return the weak entity tag of a body: what it holds decides, nothing else."""
    return f'W/"sha256-{hashlib.sha256(body).hexdigest()}"'


def is_unmodified(
    etag: str, last_modified: datetime, *, if_none_match: str | None, if_modified_since: str | None
) -> bool:
    """Whether a GET or HEAD is answered with 304.

    Args:
        etag: of what would be sent.
        last_modified: when that last changed (UTC).
        if_none_match: the field's value, several joined by commas; None where it is missing. Where it is
            there, it alone counts.
        if_modified_since: the field's value; one that is no date is ignored.
    """
    if if_none_match is not None:
        if if_none_match == etag:  # as nearly all readers send it
            return True
        return if_none_match.strip() == "*" or _opaque(etag) in _read_tags(if_none_match)
    since = parse_http_date(if_modified_since) if if_modified_since is not None else None
    return since is not None and last_modified.replace(microsecond=0) <= since


def parse_http_date(text: str) -> datetime | None:
    """Read a date in one of the three forms of RFC 9110 §5.6.7; None for anything else."""
    for form in _DATES:
        if (found := form.fullmatch(text.strip())) is not None:
            year = int(found["year"])
            if year < _SHORT_YEARS:
                year += _CENTURY - (_SHORT_YEARS if year >= _TURN else 0)
            day, hour, minute, second = (int(found[name]) for name in ("day", "hour", "minute", "second"))
            try:
                return datetime(year, _MONTHS.index(found["month"]) + 1, day, hour, minute, second, tzinfo=UTC)
            except ValueError:
                return None  # a 31st of February
    return None


def write_http_date(moment: datetime) -> str:
    """Write a moment as `Fri, 20 Nov 2026 03:50:00 GMT`."""
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether an answer may be compressed, and its plain form is not preferred."""
    weights = dict(_read_codings(accept_encoding))
    anything = weights.get("*", 0.0)
    packed = max(weights.get("gzip", anything), weights.get("x-gzip", 0.0))
    return packed > 0 and packed >= weights.get("identity", 0.0)


def _opaque(etag: str) -> str:
    return etag.removeprefix("W/").strip('"')


def _read_tags(field: str) -> set[str]:
    return {found[1] for found in _TAG.finditer(field)}


def _read_codings(field: str) -> Iterator[tuple[str, float]]:
    for part in field.split(","):
        found = _CODING.fullmatch(part)
        if found is not None:
            weight = "1" if found[2] is None else found[2]
            yield found[1].lower(), float(weight) if _WEIGHT.fullmatch(weight) else 0.0
