"""Single values as they are written: text, numbers, words, lists. Readers say what they want."""

from __future__ import annotations

import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from typing import TypeVar

from digest.model import taxonomy
from digest.model.announcements import DELIVERABLE_KINDS, Kind
from digest.model.cadences import Cadence, QuietHours
from digest.model.destinations import DestinationKind
from digest.model.errors import ConfigurationError, UsageError
from digest.model.libraries import ZOTERO, ZoteroSource
from digest.model.papers import ArxivId
from digest.model.subscriptions import NAME, NAME_RULE

T = TypeVar("T")
Word = TypeVar("Word", bound=str)

ALL = "all"
"""How it is written that a message shows all papers."""

_TYPE_NAMES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a decimal number"),
    (str, "text"),
    (list, "a list"),
    (dict, "a table"),
    ((datetime, date, time), "a date or time"),
)
_EDGE = re.compile("^[\\s\ufeff\u200b\u200e\u200f\u2060]+|[\\s\ufeff\u200b\u200e\u200f\u2060]+$")
"""What editors and web pages leave around a text: blanks, byte-order marks, signs of no width."""

_CONTROLS = {"\t": "tab", "\n": "line break", "\r": "carriage return"}

_MOST_PAPERS = 100_000
"""An announcement has about a thousand; databases keep the figure in 32 bits."""

_LONGEST_TEXT = 500
"""So long may a query without a name be: the database finds it by its text."""

_DAYS = re.compile(r"(\d{1,3}) days?")
_MOST_DAYS = 365

_PREFIXES = "|".join([*DestinationKind, "zotero"])
_FROM_VARIABLE = re.compile(
    rf"\s*(?P<prefix>(?i:(?:{_PREFIXES}):)?)\$(?P<name>[A-Z][A-Z0-9_]*)\s*", re.ASCII
)

_KEY_PREFIX = "whsec_"
_SHORTEST_KEY = 24
_LONGEST_KEY = 64
"""Bytes of a webhook's key (https://www.standardwebhooks.com, "Signature scheme")."""

STATE_KEY_BYTES = 32
"""AES-256."""


def find_variable(text: object) -> tuple[str, str] | None:
    """Return what stands before `$NAME`, as `mailto:`, and NAME, if a text is that alone.

    Any other `$` is TeX.
    """
    match = _FROM_VARIABLE.fullmatch(text) if isinstance(text, str) else None
    return (match["prefix"], match["name"]) if match else None


def describe_type(value: object) -> str:
    """Name a TOML value's type in words."""
    for types, name in _TYPE_NAMES:
        if isinstance(value, types):
            return name
    return type(value).__name__


def suggest(word: str, known: Iterable[str], what: str) -> str:
    """Return a hint that names the nearest known word; if none is near, all, after `what`."""
    words = list(map(str, known))
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"{what} {', '.join(words)}." if words and what else ""


def refuse_repeats(texts: Iterable[str]) -> None:
    """Refuse a list that names something twice."""
    seen: set[str] = set()
    for text in texts:
        if text in seen:
            raise ConfigurationError(f"names {text!r} twice", hint="Name it once.")
        seen.add(text)


def read_line(value: object) -> str:
    """Read one line of text, without the blanks and unseen signs around it."""
    if not isinstance(value, str):
        raise ConfigurationError(f"must be text in quotes, not {describe_type(value)}")
    text = _EDGE.sub("", value)
    for letter in text:
        if not letter.isprintable():
            code = f"control character U+{ord(letter):04X}"
            name = _CONTROLS.get(letter) or unicodedata.name(letter, "").lower() or code
            raise ConfigurationError(f"must be one line of text, but has a {name} inside")
    return text


def read_lines(value: object) -> tuple[str, ...]:
    """Read a list of texts; one text alone counts as a list of one."""
    values = value if isinstance(value, list) else [value]
    return tuple(read_line(one) for one in values)


def read_each(value: object, read: Callable[[str], T]) -> tuple[T, ...]:
    """Read a list of texts one by one; one error names all that are wrong."""
    found = []
    wrong = []
    for text in read_lines(value):
        try:
            found.append(read(text))
        except ConfigurationError as error:
            wrong.append(error)
    if wrong:
        messages = "; ".join(error.message for error in wrong)
        hints = dict.fromkeys(error.hint for error in wrong)
        raise ConfigurationError(messages, hint=" ".join(hints))
    return tuple(found)


def number(least: int, most: int, unit: str) -> Callable[[object], int]:
    """Return a reader of whole numbers in these bounds."""

    def read_number(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ConfigurationError(f"must be a number of {unit} from {least} to {most:,}")
        return value

    return read_number


def read_flag(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"must be true or false, not {describe_type(value)}")
    return value


def read_seconds(value: object) -> timedelta:
    """Read a time span of up to a day."""
    return timedelta(seconds=number(0, 86_400, "seconds")(value))


def read_days(value: object) -> int:
    """Read a time span in days: `7 days`."""
    days = _DAYS.fullmatch(read_line(value)) if isinstance(value, str) else None
    if days is None or int(days[1]) > _MOST_DAYS:
        raise ConfigurationError(
            f"must be a time of 0 to {_MOST_DAYS} days", hint='Write for example "7 days".'
        )
    return int(days[1])


def read_retention(value: object) -> int:
    """Read a time span in days, 0 for `never`."""
    return 0 if str(value) in ("never", "0") else read_days(value)


def choose_from(choices: Iterable[Word]) -> Callable[[object], Word]:
    """Return a reader that takes one of several words."""
    words = {str(word): word for word in choices}

    def read_choice(value: object) -> Word:
        text = read_line(value)
        if text not in words:
            raise ConfigurationError(
                f"{text!r} is not one of {', '.join(words)}", hint=suggest(text, words, "")
            )
        return words[text]

    return read_choice


def read_show(value: object) -> int | None:
    """Read how many papers a digest shows; None for all."""
    if value == ALL:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _MOST_PAPERS:
        raise ConfigurationError(
            f'must be a whole number from 1 to {_MOST_PAPERS:,}, or "{ALL}" for all papers'
        )
    return value


def read_name(value: object) -> str:
    """Read the name of a saved query, subscription or webhook."""
    name = read_line(value)
    if not NAME.fullmatch(name):
        raise ConfigurationError(f"{name!r} can't be a name", hint=NAME_RULE)
    return name


def read_query_text(value: object) -> str:
    """Read a saved query's text, as written: whether it can be understood is not asked here."""
    if not isinstance(value, str):
        raise ConfigurationError(
            f"must be a query in quotes, not {describe_type(value)}",
            hint='Write for example perf = "cat:cs.PF".',
        )
    return value


def read_queries(value: object) -> tuple[str, ...]:
    """Read queries, each on one line; like a saved query's, their texts are not judged here."""
    texts = tuple(" ".join(text.split()) for text in read_lines(value))
    if not all(texts):
        raise ConfigurationError("holds an empty query", hint='Write for example "cat:math.CO".')
    refuse_repeats(texts)
    return texts


def read_paper_ids(value: object) -> tuple[ArxivId, ...]:
    """Read papers by id, in any spelling; a version written after it counts for nothing."""
    try:
        ids = tuple(ArxivId.parse(text) for text in read_lines(value))
    except UsageError as error:
        raise ConfigurationError(error.message, hint=error.hint) from error
    refuse_repeats(str(id_) for id_ in ids)
    return ids


def read_followed(value: object) -> tuple[str, ...]:
    """Read names and texts of queries; whether there is such a name is asked once all are known."""
    followed = read_queries(value)
    if not followed:
        raise ConfigurationError(
            "follows nothing", hint='Write for example follow = "cat:cs.PF AND abs:GPU".'
        )
    for text in followed:
        if len(text) > _LONGEST_TEXT:
            raise ConfigurationError(
                f"holds a query of more than {_LONGEST_TEXT} characters",
                hint='Give it a name: [queries] NAME = "…", and follow = "NAME".',
            )
    return followed


def read_sources(value: object) -> tuple[str, ...]:
    """Read sources of libraries: paths, and libraries at Zotero."""
    sources = read_lines(value)
    for source in sources:
        if source.lower().startswith(ZOTERO):
            ZoteroSource.parse(source)
    refuse_repeats(sources)
    return sources


def complete_word(text: str) -> str:
    """Return the query that a category or a word alone means; "" if a text is more than that."""
    name = text.rstrip(".").removeprefix("cat.")
    is_archive = name.endswith(".*") and taxonomy.is_archive(name[:-2])
    if is_archive or taxonomy.is_category(name):
        return f"cat:{name}"
    is_word = re.fullmatch(r"[\w.][\w.'’-]*\*?[+#]*", text)  # C++, transf*, Erdős
    return f"all:{text}" if is_word else ""


def read_cadence(value: object) -> Cadence:
    """Read when digests are due."""
    return Cadence.parse(read_line(value))


def read_quiet_hours(value: object) -> QuietHours:
    """Read the hours in which nothing goes out."""
    return QuietHours.parse(read_line(value))


def read_kinds(value: object) -> tuple[Kind, ...]:
    """Read a list of kinds of announcement, into the order a digest shows them."""
    words = read_each(value, choose_from(DELIVERABLE_KINDS))
    if not words:
        raise ConfigurationError(
            "names no kind of announcement", hint=f"Kinds are {', '.join(DELIVERABLE_KINDS)}."
        )
    return tuple(kind for kind in DELIVERABLE_KINDS if kind in words)


def read_signing_key(value: object) -> bytes:
    """Return the key that a webhook's secret is for: `whsec_` and base64. No message repeats it."""
    text = read_line(value)
    hint = "`digest webhook secret` makes one."
    if not text.startswith(_KEY_PREFIX):
        raise ConfigurationError(
            f"is not a webhook's secret: those begin with {_KEY_PREFIX}", hint=hint
        )
    try:
        key = b64decode(text.removeprefix(_KEY_PREFIX), validate=True)
    except ValueError:
        raise ConfigurationError(f"is not base64 after {_KEY_PREFIX}", hint=hint) from None
    if not _SHORTEST_KEY <= len(key) <= _LONGEST_KEY:
        raise ConfigurationError(
            f"holds {len(key)} bytes, but must hold {_SHORTEST_KEY} to {_LONGEST_KEY}", hint=hint
        )
    return key


def read_state_key(value: object) -> bytes:
    """Return the key of a state on a branch: 32 bytes in base64. No message repeats it."""
    try:
        key = b64decode(read_line(value), validate=True)
    except ValueError:
        key = b""
    if len(key) != STATE_KEY_BYTES:
        raise ConfigurationError(
            f"is not {STATE_KEY_BYTES} bytes in base64",
            hint="`digest init --start github` makes one, `digest db rotate-key` another.",
        )
    return key


def write_signing_key(key: bytes) -> str:
    """Return the secret that is for a key: what `read_signing_key` reads."""
    return _KEY_PREFIX + b64encode(key).decode("ascii")
