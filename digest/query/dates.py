"""The range in `submittedDate:[… TO …]`, in arXiv's minutes (UTC)."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

_RANGE = re.compile(r"\s*(\S+)\s+TO\s+(\S+)\s*", re.IGNORECASE)
_MOMENT = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:\d\d)?)?)?)?)?", re.ASCII)
_OPEN = "*"


class UnreadableRange(ValueError):
    """The text is no range of dates; the message says why."""


def spell_range(text: str) -> str:
    """Return a range as `YYYYMMDDHHMM TO YYYYMMDDHHMM`, an open end as `*`.

    Shorter dates are filled as arXiv fills them: the start to the first, the end to the last minute.

    Raises:
        UnreadableRange: not two dates, no real date, or the end lies before the start.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UnreadableRange(f"{text.strip()!r} is no range")
    start, end = _spell_moment(found[1], is_end=False), _spell_moment(found[2], is_end=True)
    if start == end == _OPEN:
        raise UnreadableRange("A range open at both ends says nothing")
    if _OPEN not in (start, end) and start > end:
        raise UnreadableRange(f"{found[1]} lies after {found[2]}")
    return f"{start} TO {end}"


def _spell_moment(text: str, *, is_end: bool) -> str:
    if text == _OPEN:
        return _OPEN
    digits = re.sub(r"(?<=\d)[-:T](?=\d)|Z\Z", "", text)
    found = _MOMENT.fullmatch(digits)
    if found is None:
        raise UnreadableRange(f"{text!r} is no date")
    year = int(found[1])
    month = int(found[2] or (12 if is_end else 1))
    hour, minute = int(found[4] or (23 if is_end else 0)), int(found[5] or (59 if is_end else 0))
    try:
        day = date(year, month, int(found[3] or (monthrange(year, month)[1] if is_end else 1)))
    except ValueError as error:
        raise UnreadableRange(f"{text!r} is no date: {error}") from error
    if hour > 23 or minute > 59:  # noqa: PLR2004  # a clock's own figures
        raise UnreadableRange(f"{text!r} is no time of day")
    return f"{day:%Y%m%d}{hour:02}{minute:02}".rjust(12, "0")


def spell_minute(moment: datetime) -> str:
    """Return a moment (UTC) to the minute, as ranges are spelled: it sorts like the moment."""
    return f"{moment.year:04}{moment:%m%d%H%M}"


def split_range(spelling: str) -> tuple[str, str]:
    """Return the first and the last minute of a spelled range; open ends reach beyond every date."""
    start, _, end = spelling.partition(" TO ")
    return ("0" * 12 if start == _OPEN else start), ("9" * 12 if end == _OPEN else end)
