"""A list of names, one a line, told from a query that only goes over several lines.

A list has nothing of a query in it (operators, prefixes, quotation marks, parentheses, `*`), every line looks
like a name, and at least one surely, or there are three. Numbers and bullets before names count for nothing. Where
a line among names is none, and where lines may be names or words, the text is refused: read wrongly, `any of
these people` would become `all of these words`.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from digest.errors import QueryError
from digest.query.composing import Composer, Letter
from digest.query.name_looks import Look, find_last_initials, is_group, is_known_given_name, look_at
from digest.query.names import spell_name
from digest.query.people import Person, UnclearPerson
from digest.query.tokens import CURLY_QUOTES, MAX_TERMS
from digest.query.tree import Prefix

if TYPE_CHECKING:
    from digest.query.composing import Pasted

_SEPARATORS = (
    re.compile(r"\s*(?:[,;]\s*(?:and\s|&)?|\sand\s|&)\s*"),
    re.compile(r"\s*;\s*"),
    re.compile(r"[\s;]+and\s+|\s*&\s*"),
)
"""What stands between names on one line: first where each is `Keiko Lindquell`, then also `Lindquell, Keiko`."""

_QUERY = re.compile(
    rf'["{CURLY_QUOTES}()*\\$]|(?<!\S)(?:and|or|not|andnot)(?!\S)|(?<!\S)(?<!\.\s)-(?=\w)(?!\w\.)'
    rf"|(?<!\S)(?:[a-z_]+:(?=\S)|(?:{'|'.join(Prefix)}):)",
    re.IGNORECASE,
)
"""What a query has and a list of names has not."""

_LINE = re.compile(r"[^\n\r\x0b\x0c\x85\u2028\u2029]+")
_INVISIBLE = "\ufeff\u200b\u200e\u200f\u2060"
_NUMBERED = re.compile(
    rf"[\s{_INVISIBLE}]*(?:(?:[(\[]?\d{{1,3}}[.):\]]\)?|[-–—+*])[ \t\u00a0]+|[•·▪‣◦●○]\s*)?[\s{_INVISIBLE}]*"
)
"""What stands before a name: blanks, a number or a bullet."""

_TITLE = re.compile(r"(?:(?:Dr|Prof)\.?\s+)+(?=\S+[\s,]+\S)", re.IGNORECASE)
_BEHIND = re.compile(r"(?<=\S)(?:\s+\([^()]*\)|\s+<[^<>\s]*@[^<>\s]*>|,?\s+Ph\.?\s?D\.?)+\Z", re.IGNORECASE)
"""What lists have beside names: titles, and behind them where somebody works, or a mail address."""

_UNPARTED = re.compile(r"(?<![^\W\d_])([^\W\d_]\.)(?=[^\W\d_]{2})")
"""An initial with a last name right behind it: `J.Smith`."""

_SPELLED_AT_ARXIV = re.compile(r"[^\W\d_]+(?:['’\-_][^\W\d_]+)*_[^\W\d_]")

_ENDINGS = f"{string.whitespace}\u00a0,;{_INVISIBLE}"
_ARTICLE = re.compile(r"the\s+", re.IGNORECASE)
_FEWEST_NAMES, _ENOUGH_NAMES, _LONGEST_QUOTED = 2, 3, 40
_WORDS_HINT = "to look for words, write them all on one line"


class _Line(NamedTuple):
    name: str
    place: int
    look: Look


def read_name_list(text: str) -> Pasted | None:
    """Return the query for papers by any of the people listed; None where the text is no such list.

    Raises:
        QueryError: it is one, but a line of it is no name, or it has more names than a query may have terms;
            or its lines may be names as well as words.
    """
    lines = _split_lines(text)
    if len(lines) < _FEWEST_NAMES or not _is_list(lines, text):
        return None
    if len(lines) > MAX_TERMS:
        refuse_length(len(lines), text, lines[MAX_TERMS].place)
    query, seen = Composer(), set[str]()
    are_inverted = all("," in line.name or find_last_initials(line.name) > 0 for line in lines)
    for name, place, _ in lines:
        parted = _UNPARTED.sub(r"\1 ", name)
        written = _invert(parted) if are_inverted or not is_known_given_name(parted.split()[0]) else parted
        clause = write_author(written)
        if spell_author(clause) in seen:
            continue
        seen.add(spell_author(clause))
        query.join("OR", place)
        if name not in clause:
            query.write(clause, place)
            continue
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
    pasted = query.finish(described, len(text))
    if all(line.look is Look.SURE for line in lines):
        return pasted
    return pasted._replace(message=f"{pasted.message}; {_WORDS_HINT}")


def _is_list(lines: list[_Line], text: str) -> bool:
    """Tell whether lines are names.

    Raises:
        QueryError: some are and others not, or nothing tells whether they are.
    """
    best, strange = max(line.look for line in lines), [line for line in lines if line.look < Look.POSSIBLE]
    if not strange and (best > Look.POSSIBLE or len(lines) >= _ENOUGH_NAMES):
        return True
    crowded = next((line for line in strange if line.look is Look.NONE and _part_names(line.name)), None)
    if crowded:
        _refuse(text, crowded, "This line names several people", f"Write one a line; {_WORDS_HINT}.")
    if best is Look.SURE:
        message = f"{_quote(strange[0].name)} is not understood as a name, and other lines are names"
        _refuse(text, strange[0], message, f'Write people like "Lindquell, Keiko", one a line; {_WORDS_HINT}.')
    worst = min(line.look for line in lines)
    if worst > Look.LONE or (worst is Look.LONE and best > Look.WORDS):
        message = "These lines may be names of people, or words to look for"
        written = 'author:"Keiko Lindquell" OR …, or each like "Lindquell, Keiko"'
        if not strange:
            written = " OR ".join(write_author(line.name) for line in lines)
        _refuse(text, lines[0], message, f"For people write {written}; {_WORDS_HINT}.")
    return False


def _quote(name: str) -> str:
    return f'"{name if len(name) <= _LONGEST_QUOTED else name[: _LONGEST_QUOTED - 1] + "…"}"'


def _refuse(text: str, line: _Line, message: str, hint: str) -> NoReturn:
    raise QueryError(message, text=text, position=line.place, hint=hint)


def _invert(name: str) -> str:
    """Return a name that ends with initials, `Smith J`, as `Smith, J`; a group without its article."""
    start = find_last_initials(name)
    if start > 0:
        return f"{name[:start].rstrip()}, {name[start:]}"
    return _ARTICLE.sub("", name, count=1) if is_group(name) else name


def _split_lines(text: str) -> list[_Line]:
    """Return the names on the lines, without what stands before and behind, and where; [] where it is a query."""
    lines: list[tuple[str, int]] = []
    written = list(_LINE.finditer(text))
    for found in written if len(written) >= _FEWEST_NAMES else ():
        begun = _NUMBERED.match(found[0])
        start = begun.end() if begun else 0
        titled = _TITLE.match(found[0], start)
        start = titled.end() if titled else start
        name = _BEHIND.sub("", found[0][start:].rstrip(_ENDINGS)).rstrip(_ENDINGS)
        if _QUERY.search(name):
            return []
        if name:
            lines.append((name, found.start() + start))
    return [_Line(name, place, _look_at(name)) for name, place in lines] if len(lines) >= _FEWEST_NAMES else []


def _look_at(name: str) -> Look:
    """Tell how much a line of several looks like a name; by itself, `alpha_s` is hardly one."""
    return Look.LIKELY if _SPELLED_AT_ARXIV.fullmatch(name) else look_at(_UNPARTED.sub(r"\1 ", name))


def _part_names(line: str) -> list[str]:
    """Return the names on one line; [] where they are not several, or not surely."""
    for separator in _SEPARATORS:
        names = [name for name in separator.split(" ".join(line.split())) if name]
        if (
            len(names) >= _FEWEST_NAMES
            and all(look_at(name) >= Look.POSSIBLE for name in names)
            and any(map(is_clearly_name, names))
        ):
            return names
    return []


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
    """Return the clause that follows a name: one person's where it is a full one, else whatever is called so."""
    try:
        Person.parse(name)
    except UnclearPerson:
        return f'au:"{name}"'
    return f'au:"{name}"' if is_group(name) else f'author:"{name}"'


def spell_author(clause: str) -> str:
    """Return what `write_author` wrote, the same for every spelling of one person's name."""
    prefix, _, name = clause.partition(":")
    return Person.parse(name.strip('"')).text if prefix == Prefix.PERSON else f"{prefix}:{spell_name(name)}"


def is_clearly_name(text: str) -> bool:
    """Tell whether a line is a person's name and can hardly be anything else."""
    return look_at(text) is Look.SURE
