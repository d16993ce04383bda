"""A list of authors, one a line, told from a query that only goes over several lines.

A query broken over lines must never be taken for names. So every line has to show by itself that it is a
name: by a comma (`Lindquell, Keiko`), by an initial with its dot (`K. Lindquell`), or by a given name that
many people bear (`John Lindquell`). Operators, colons, quotation marks, parentheses, figures and words in
small letters but `van`, `de` and their like occur in no name.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from digest.errors import QueryError
from digest.query.composing import Composer, Letter
from digest.query.given_names import GIVEN_NAMES
from digest.query.names import spell_name
from digest.query.people import PARTICLES, Person, UnclearPerson
from digest.query.tokens import MAX_TERMS, Operator
from digest.query.tree import Prefix
from digest.query.words import fold

if TYPE_CHECKING:
    from digest.query.composing import Pasted

_WORD = re.compile(r"(?:[^\W\d_]+(?:['’\-\u2010][^\W\d_]+)*|[^\W\d_](?:\.[-\u2010]?[^\W\d_])*)\.?")
_INITIALS = re.compile(r"[^\W\d_](?:\.[-\u2010]?[^\W\d_])*\.")
_TOPIC = re.compile(r"(?:tion|sion|ment|ness|ity|ics|ing|ism|logy|work|works|ency|ance|ence|ory|ical|ous)s?\Z")
"""How words for things end. Some names do, too: their list must be written with prefixes."""

_SEPARATORS = (
    re.compile(r"\s*(?:[,;]\s*(?:and\s|&)?|\sand\s|&)\s*"),
    re.compile(r"\s*;\s*"),
    re.compile(r"[\s;]+and\s+|\s*&\s*"),
)
"""What stands between names on one line: first where each is `Keiko Lindquell`, then also `Lindquell, Keiko`."""

_LISTED = re.compile(r"\S\s+\S.*,\s*\S+\s+\S")
"""Several words on both sides of a comma: two names rather than one."""

_ENDINGS = f"{string.whitespace},;"
_LONGEST_NAME, _MOST_WORDS, _FEWEST_NAMES = 80, 6, 2


class _Line(NamedTuple):
    name: str
    place: int


def read_name_list(text: str) -> Pasted | None:
    """Return the query for papers by any of the people listed; None where the text is no such list.

    Raises:
        QueryError: it is one, of more names than a query may have terms.
    """
    lines = _split_lines(text)
    if len(lines) < _FEWEST_NAMES or not all(is_clearly_name(line.name) for line in lines):
        return None
    if len(lines) > MAX_TERMS:
        refuse_length(len(lines), text, lines[MAX_TERMS].place)
    query, seen = Composer(), set[str]()
    for name, place in lines:
        clause = write_author(name)
        if spell_author(clause) in seen:
            continue
        seen.add(spell_author(clause))
        query.join("OR", place)
        before, behind = clause.split(name)
        query.write(before, place)
        query.copy(Letter(char, place + number) for number, char in enumerate(name))
        query.write(behind, place)
    twice = f" ({len(lines) - len(seen)} named again)" if len(seen) < len(lines) else ""
    described = (
        "one author, named again"
        if len(seen) == 1
        else f"a list of {len(seen)} authors{twice}, of whom any will do"
    )
    return query.finish(described, len(text))


def _split_lines(text: str) -> list[_Line]:
    """Return what stands on each line, without commas at its end, and where; empty lines left out."""
    lines, place = [], 0
    for line in text.split("\n"):
        begun = line.lstrip()
        lines.append(_Line(begun.rstrip(_ENDINGS), place + len(line) - len(begun)))
        place += len(line) + 1
    return [line for line in lines if line.name]


def find_names(text: str) -> list[str]:
    """Return the names that a text taken for a query may be meant for; [] where it looks like none.

    Several lines that each might be one; else one name alone, or several with commas, semicolons or `and`
    between. On one line a name must be clear by itself: two words with capitals are no name yet.
    """
    lines = [line.name for line in _split_lines(text)]
    if len(lines) != 1:
        return lines if lines and all(map(_may_be_name, lines)) else []
    if is_clearly_name(lines[0]) and not _LISTED.search(lines[0]):
        return lines
    for separator in _SEPARATORS:
        names = [name for name in separator.split(lines[0]) if name]
        if len(names) >= _FEWEST_NAMES and all(map(_may_be_name, names)) and any(map(is_clearly_name, names)):
            return names
    return []


def _may_be_name(text: str) -> bool:
    return _is_sound(tuple(text.replace(",", " ").split()), text)


def refuse_length(count: int, text: str = "", position: int = 0) -> NoReturn:
    """Refuse a list of too many authors.

    Raises:
        QueryError: always.
    """
    raise QueryError(
        f"The list names {count:,} authors, and a query may have {MAX_TERMS} terms",
        text=text,
        position=position,
        hint="Split it into several saved queries.",
    )


def write_author(name: str) -> str:
    """Return the clause that follows a name: one person's where it is a full one, else whoever is called so."""
    try:
        Person.parse(name)
    except UnclearPerson:
        return f'au:"{name}"'
    return f'author:"{name}"'


def spell_author(clause: str) -> str:
    """Return what `write_author` wrote, the same for every spelling of one person's name."""
    prefix, _, name = clause.partition(":")
    return Person.parse(name.strip('"')).text if prefix == Prefix.PERSON else f"{prefix}:{spell_name(name)}"


def is_clearly_name(text: str) -> bool:
    """Tell whether a line is a person's name and can hardly be anything else."""
    last, comma, given = text.partition(",")
    words = tuple(last.split()), tuple(given.split())
    every = (*words[0], *words[1])
    if not _is_sound(every, text) or bool(comma) != bool(words[1]):
        return False
    if comma:
        return any(word[0].isupper() for word in words[1])
    return any(map(_INITIALS.fullmatch, every[:-1])) or fold(every[0]) in GIVEN_NAMES


def _is_sound(words: tuple[str, ...], text: str) -> bool:
    """Tell whether words can all be parts of one name, and are at least two."""
    if not (1 < len(words) <= _MOST_WORDS and len(text) <= _LONGEST_NAME):
        return False
    return all(map(_is_part, words)) and sum(len(word.rstrip(".")) > 1 for word in words) > 0


def _is_part(word: str) -> bool:
    if not _WORD.fullmatch(word) or word.upper() in Operator.__members__:
        return False
    if _TOPIC.search(word) and fold(word) not in GIVEN_NAMES:
        return False
    return not word[0].islower() or fold(word) in PARTICLES
