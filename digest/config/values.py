"""Single values as they are written in TOML, checked one by one. Each reader says what it wanted instead."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, TypeVar

from digest.announcements import DELIVERABLE_KINDS, Kind
from digest.config.problems import suggest
from digest.errors import ConfigurationError
from digest.subscriptions import NAME, NAME_RULE, Cadence, Grouping, QuietDays, QuietHours, Replacements, Weekly

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

UNLIMITED = "none"
"""How the absence of a cap is written: TOML has no null."""

_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
    ((datetime, date, time), "a date or time"),
)
_LEAST_SECRET = 32
_MOST_DAYS = 365
_MOST_SECONDS = 86_400
_LEAST_POOL, _MOST_POOL = 4, 100
_MOST_CONNECTIONS = 50
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{1,60}", re.ASCII)
_OWN_HEADERS = frozenset(
    {
        *("date", "from", "to", "cc", "bcc", "subject", "sender", "reply-to", "message-id", "mime-version"),
        *("list-id", "list-unsubscribe", "list-unsubscribe-post"),
        *("auto-submitted", "precedence", "x-auto-response-suppress"),
    }
)
_MOST_PAPERS = 100_000
"""A mailing has about a thousand; databases keep the figure in 32 bits."""


def describe_type(value: object) -> str:
    """Name a TOML value's type in words."""
    return next((name for types, name in _TYPE_NAMES if isinstance(value, types)), type(value).__name__)


def read_line(value: object) -> str:
    """Read one line of text, without the blanks around it."""
    if not isinstance(value, str):
        raise ConfigurationError(f"must be text in quotes, not {describe_type(value)}")
    text = value.strip()
    if not text.isprintable():
        raise ConfigurationError("must be one line without control characters")
    return text


def read_long_secret(value: object) -> str:
    """Read a secret from which others are derived that people see: they must not be able to guess it."""
    secret = read_line(value)
    if len(secret) < _LEAST_SECRET:
        raise ConfigurationError(
            f"has fewer than {_LEAST_SECRET} characters: readers could find it from their own links",
            hint="Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'",
        )
    return secret


def read_query_text(value: object) -> str:
    """Read a saved query's text, as written: whether it can be understood is not asked here."""
    if not isinstance(value, str):
        raise ConfigurationError(
            f"must be a query in quotes, not {describe_type(value)}", hint='Write perf = "cat:cs.PF", for one.'
        )
    return value


def read_name(value: object) -> str:
    """Read the name of a saved query, subscription or webhook."""
    name = read_line(value)
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} can't be a name", hint=NAME_RULE)
    return name


def choose_from(*choices: str) -> Callable[[object], str]:
    """Return a reader that takes one of several words."""

    def read_choice(value: object) -> str:
        word = read_line(value)
        if word not in choices:
            raise ConfigurationError(f"{word!r} is none of {', '.join(choices)}")
        return word

    return read_choice


def may_be_empty(read: Callable[[object], T]) -> Callable[[object], T | str]:
    """Return a reader that takes "" for "not set"."""

    def read_optional(value: object) -> T | str:
        return "" if value == "" else read(value)

    return read_optional


def read_cadence(value: object) -> Cadence:
    """Read when digests are due."""
    return Cadence.parse(read_line(value))


def read_quiet_days(value: object) -> QuietDays:
    """Read what is done on a day without papers."""
    return QuietDays(choose_from(*QuietDays)(value))


def read_grouping(value: object) -> Grouping:
    """Read what the headings of digests are."""
    return Grouping(choose_from(*Grouping)(value))


def read_replacements(value: object) -> Replacements:
    """Read how much digests tell of what changed in a paper."""
    return Replacements(choose_from(*Replacements)(value))


def read_weekly(value: object) -> Weekly:
    """Read what comes where there is one day a week."""
    return Weekly(choose_from(*Weekly)(value))


def read_quiet_hours(value: object) -> QuietHours:
    """Read the hours in which nothing goes out."""
    return QuietHours.parse(read_line(value))


def read_kinds(value: object) -> tuple[Kind, ...]:
    """Read a list of kinds of announcement, into the order a digest shows them."""
    words = read_lines(value)
    for word in words:
        if word not in DELIVERABLE_KINDS:
            hint = suggest(word, map(str, DELIVERABLE_KINDS), "Kinds are")
            raise ConfigurationError(f"{word!r} is no kind of announcement", hint=hint)
    if not words:
        raise ConfigurationError(
            "names no kind of announcement", hint=f"Kinds are {', '.join(DELIVERABLE_KINDS)}."
        )
    return tuple(kind for kind in DELIVERABLE_KINDS if kind in words)


def read_lines(value: object) -> tuple[str, ...]:
    """Read a list of texts; one text alone counts as a list of one."""
    values = value if isinstance(value, list) else [value]
    return tuple(read_line(one) for one in values)


def read_cap(value: object) -> int | None:
    """Read how many papers a digest shows; None for all."""
    if value == UNLIMITED:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PAPERS:
        raise ConfigurationError(
            f'must be a whole number from 1 to {_MOST_PAPERS:,}, or "{UNLIMITED}" for all papers'
        )
    return value


def read_days(value: object) -> int:
    """Read a number of days, none or up to a year."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_DAYS:
        raise ConfigurationError(f"must be a number of days from 0 to {_MOST_DAYS}")
    return value


def read_seconds(value: object) -> timedelta:
    """Read a number of seconds, none or up to a day."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_SECONDS:
        raise ConfigurationError(f"must be a number of seconds from 0 to {_MOST_SECONDS}")
    return timedelta(seconds=value)


def read_pool(value: object) -> int:
    """Read a number of connections; with fewer than four a process would wait for itself."""
    if isinstance(value, bool) or not isinstance(value, int) or not _LEAST_POOL <= value <= _MOST_POOL:
        raise ConfigurationError(f"must be a number of connections from {_LEAST_POOL} to {_MOST_POOL}")
    return value


def read_connections(value: object) -> int:
    """Read a number of connections to a mail server: fifty is the most that Postfix takes from one machine."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_CONNECTIONS:
        raise ConfigurationError(f"must be a number of connections from 1 to {_MOST_CONNECTIONS}")
    return value


def read_header_name(value: object) -> str:
    """Read the name of a mail header that no mail has by itself."""
    name = read_line(value)
    if _HEADER_NAME.fullmatch(name) is None or name.lower() in _OWN_HEADERS or name.lower().startswith("content-"):
        raise ConfigurationError(
            f"{name!r} can't be such a header",
            hint="Write the name your mail provider's documentation gives, letters, digits and dashes, such as "
            "Resend-Idempotency-Key.",
        )
    return name


def split_text(text: str) -> object:
    """Turn a variable's text into a list, as it would be written in TOML."""
    return [part.strip() for part in text.split(",") if part.strip()]


def number_text(text: str) -> object:
    """Turn a variable's text into a number where it is one."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and digits.isascii() else digits
