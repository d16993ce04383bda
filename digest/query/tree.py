"""A query as a tree: conditions at the leaves, AND, OR and NOT above; dates and `all:` spelled out.

A condition is kept as text in one spelling (lower case, blanks folded, aliases resolved), never as
stems: it is what reasons show and what is sent to arXiv. Equal conditions compare equal, and the
parser makes one object of them, so that an index can share their work.

`a ANDNOT b` is `And(a, Not(b))`; chains of one operator are one node with many operands.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from digest.model import taxonomy
from digest.model.errors import UsageError
from digest.model.papers import ArxivId
from digest.query.names import fold_umlauts, list_parts, write_out

_RANGE = re.compile(r"\s*(\S+)\s+TO\s+(\S+)\s*", re.IGNORECASE)
_MOMENT = re.compile(r"(\d{4})(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:(\d\d)(?:\d\d)?)?)?)?)?", re.ASCII)
_OPEN = "*"

_LICENCE = re.compile(r"/(licenses|publicdomain)/([a-z\d-]+)")
LICENCES = (
    "arxiv",
    "publicdomain",
    "cc0",
    "cc-by",
    "cc-by-sa",
    "cc-by-nc",
    "cc-by-nc-sa",
    "cc-by-nc-nd",
    "cc-by-nd",
)
"""What `lic:` takes, in any version: what arXiv offers now and offered once.

See https://info.arxiv.org/help/license.
"""

_DOI = re.compile(r"10\.[\d.]+/[^\s\x00-\x1f\x7f\"*?\\$\[\]]+")


class UnreadableRange(ValueError):
    """The text is not a range of dates; the message says why."""


def spell_range(text: str) -> str:
    """Return a range as `YYYYMMDDHHMM TO YYYYMMDDHHMM`, an open end as `*`.

    Shorter dates are filled as arXiv fills them: to the first minute, or at the end to the last.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise UnreadableRange(f"{text.strip()!r} is not a range")
    start = _spell_moment(found[1], is_end=False)
    end = _spell_moment(found[2], is_end=True)
    if start == end == _OPEN:
        raise UnreadableRange("A range needs a beginning or an end")
    if _OPEN not in (start, end) and start > end:
        raise UnreadableRange(f"{found[1]} is after {found[2]}")
    return f"{start} TO {end}"


def _spell_moment(text: str, *, is_end: bool) -> str:
    if text == _OPEN:
        return _OPEN
    digits = re.sub(r"(?<=\d)[-:T](?=\d)|Z\Z", "", text)
    found = _MOMENT.fullmatch(digits)
    if found is None:
        raise UnreadableRange(f"{text!r} is not a date")
    year, month, day, hour, minute = found.groups()
    if is_end:
        month = month or "12"
        hour = hour or "23"
        minute = minute or "59"
    try:
        if is_end and day is None:
            _, last_day = monthrange(int(year), int(month))
            day = str(last_day)
        whole_day = date(int(year), int(month or 1), int(day or 1))
    except ValueError as error:
        raise UnreadableRange(f"{text!r} is not a date: {error}") from error
    at = f"{hour or '00'}{minute or '00'}"
    if at[:2] > "23" or at[2:] > "59":
        raise UnreadableRange(f"{text!r} is not a time of day")
    return f"{whole_day:%Y%m%d}{at}".rjust(12, "0")


def spell_minute(moment: datetime) -> str:
    """Return a moment (UTC) to the minute, as ranges are spelled: it sorts like the moment."""
    return f"{moment.year:04}{moment:%m%d%H%M}"


def split_range(spelling: str) -> tuple[str, str]:
    """Return the first and the last minute of a spelled range.

    Open ends reach beyond every date.
    """
    start, _, end = spelling.partition(" TO ")
    if start == _OPEN:
        start = "000000000000"
    if end == _OPEN:
        end = "999999999999"
    return start, end


class Prefix(StrEnum):
    """The part of a paper that a condition searches, as written before the colon."""

    __hash__ = str.__hash__  # that of Enum is Python code, called whenever a condition is looked up

    TITLE = "ti"
    ABSTRACT = "abs"
    AUTHOR = "au"
    PERSON = "author"
    COMMENT = "co"
    JOURNAL_REF = "jr"
    CATEGORY = "cat"
    REPORT_NO = "rn"
    ID = "id"
    DOI = "doi"
    LICENCE = "lic"
    SUBMITTED = "submittedDate"
    ALL = "all"


def spell_licence(address: str) -> str:
    """Return which of `LICENCES` is at an address that OAI-PMH gives; "" for another, or none."""
    found = _LICENCE.search(address)
    if found is None:
        return ""
    kind, name = found.groups()
    if name in ("nonexclusive-distrib", "assumed-1991-2003"):
        return "arxiv"
    if "publicdomain" in (kind, name):
        return "cc0" if name == "zero" else "publicdomain"
    licence = f"cc-{name}"
    return licence if licence in LICENCES else ""


class Shape(StrEnum):
    """How a condition's text is meant.

    `WORD`: all its words, anywhere in the field (one word as a rule, several if punctuation parts
    them, as in `self-supervised`); for identifiers and categories the whole value.
    `PHRASE`: its words one after the other; for authors, several words about one name.
    `EXACT`: its words one after the other as written, none stemmed, none too common: `=news`.
    `BEGINNING`: as `WORD`, but the last word may go on: `transf*`. `RANGE`: from … TO ….
    """

    __hash__ = str.__hash__  # as above

    WORD = "word"
    PHRASE = "phrase"
    EXACT = "exact"
    BEGINNING = "beginning"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class Condition:
    """A leaf: one thing one field must hold.

    `text` is in the one spelling that its field has, and never empty.
    """

    prefix: Prefix
    shape: Shape
    text: str


@dataclass(frozen=True, slots=True)
class And:
    """Every operand must be met; at least two."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """One operand at least must be met; at least two."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The operand must not be met."""

    operand: Node


Node: TypeAlias = Condition | And | Or | Not


@lru_cache(maxsize=2**16)
def intern_condition(prefix: Prefix, shape: Shape, text: str) -> Condition:
    """Return the condition, the same object for the same values."""
    return Condition(prefix, shape, text)


def walk_conditions(node: Node) -> Iterator[Condition]:
    """Yield every leaf from left to right, repeated ones as often as they occur."""
    match node:
        case Condition():
            yield node
        case Not(operand):
            yield from walk_conditions(operand)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from walk_conditions(operand)


WORD_PREFIXES = (
    Prefix.TITLE,
    Prefix.ABSTRACT,
    Prefix.COMMENT,
    Prefix.JOURNAL_REF,
    Prefix.REPORT_NO,
)


def spread_condition(condition: Condition) -> tuple[Condition, ...]:
    """Return the conditions an `all:` condition is the union of; any other is for itself."""
    if condition.prefix in (Prefix.AUTHOR, Prefix.PERSON):
        return _spell_both(condition)
    if condition.prefix is not Prefix.ALL:
        return (condition,)
    shape = condition.shape
    text = condition.text
    words = (intern_condition(prefix, shape, text) for prefix in WORD_PREFIXES)
    keywords = () if shape is Shape.BEGINNING else spread_keyword(text)
    return (*words, *_spread_name(shape, text), *keywords)


def _spell_both(condition: Condition) -> tuple[Condition, ...]:
    """Return a condition on authors, and one with umlauts written out if that is another."""
    text = condition.text
    written_out = write_out(text)
    if written_out == text or _spell_parts(written_out) == _spell_parts(text):
        return (condition,)
    return condition, intern_condition(condition.prefix, condition.shape, written_out)


def _spell_parts(name: str) -> list[str]:
    return [fold_umlauts(part) for part in list_parts(name)]


def _spread_name(shape: Shape, text: str) -> tuple[Condition, ...]:
    names = _name_part(shape, text)
    written_out = write_out(text)
    if written_out == text:
        return names
    return tuple(dict.fromkeys((*names, *_name_part(shape, written_out))))


def _name_part(shape: Shape, text: str) -> tuple[Condition, ...]:
    name = " ".join(list_parts(text))
    has_several_parts = " " in name
    if not name or "_" in name:  # names have no underscore; in a query it is for a blank
        return ()
    if shape is not Shape.BEGINNING:
        shape = Shape.PHRASE if has_several_parts else Shape.WORD
    elif has_several_parts:
        return (intern_condition(Prefix.AUTHOR, Shape.PHRASE, f"{name}*"),)
    return (intern_condition(Prefix.AUTHOR, shape, name),)


def spread_keyword(text: str) -> tuple[Condition, ...]:
    """Return the conditions on category, id or DOI that a whole text amounts to; often none."""
    if taxonomy.is_category(text):
        category = taxonomy.canonical_category(text)
        return (intern_condition(Prefix.CATEGORY, Shape.WORD, category),)
    if is_doi(text):
        return (intern_condition(Prefix.DOI, Shape.WORD, text),)
    if not text[-1:].isdigit():  # most texts are words
        return ()
    try:
        id_, version = ArxivId.parse_versioned(text)
    except UsageError:
        return ()
    return (intern_condition(Prefix.ID, Shape.WORD, spell_id(id_, version)),)


def is_doi(text: str) -> bool:
    """Return whether a text looks like a DOI: `10.`, a registrant, `/`, and what can be quoted."""
    return _DOI.fullmatch(text) is not None


def spell_id(id_: ArxivId, version: int | None) -> str:
    """Return an id as conditions keep it: `2603.10026`, or `2603.10026v2` with a version."""
    return f"{id_}v{version}" if version else str(id_)
