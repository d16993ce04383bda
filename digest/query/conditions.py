"""From a term as written to a condition in its one spelling, or to nothing, or to a clear refusal."""

from __future__ import annotations

import re
import unicodedata
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from digest import taxonomy, tex
from digest.errors import UsageError
from digest.papers import ArxivId
from digest.query.dates import UnreadableRange, spell_range
from digest.query.fragments import read_fragment
from digest.query.names import spell_name
from digest.query.notes import WILDCARDS, NoteKind
from digest.query.people import Person, UnclearPerson
from digest.query.spreading import is_doi, spell_id, spread_keyword
from digest.query.tree import Condition, Prefix, Shape, intern_condition
from digest.query.words import is_stop_word, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from digest.query.notes import Source
    from digest.query.tokens import TermToken
    from digest.query.words import Word

_WILDCARD = re.compile(r"[*?]")
_WILDCARD_IN_NAME = re.compile(r"(?<![\w.])\*|\*(?![\s,_*]|\Z)|\?")
_WILDCARD_IN_QUOTES = re.compile(r"(?<=\w)\?(?=\w)")
"""Elsewhere between quotes signs are mere signs: "is it all you need?"."""
_WILD_WORD = re.compile(r"([^\s,*?]*)[*?]+([^\s,]*)")
_NAMES_BEHIND = re.compile(r"(?:[ ]+(?!(?:AND|OR|ANDNOT|NOT)\b)\w[\w.'’-]*(?=[\s)]|\Z)){1,3}", re.IGNORECASE)
"""What goes on with a name without quotes: `author:Percy Liang`."""
_CATEGORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
_MOST_GUESSED, _MOST_MEANT = 4, 12
_NOT_IN_QUOTES = re.compile(r'["$\\]|\w\?\w')
_NOT_IN_WORDS = re.compile(r'[\s"$\\()*?]')
"""Signs that would be read otherwise, or as TeX, if a value that holds them were printed."""

_NOT_FROM_TEX = str.maketrans("%+", "  ")
"""So would these where TeX wrote them: as signs of an address. They part words as blanks do."""


def read_condition(source: Source, term: TermToken, inherited: Prefix | None) -> Condition | None:
    """Return what a term asks for; None where it says nothing by itself and is left out, with a note.

    Args:
        source: takes the notes.
        term: the term as scanned.
        inherited: the prefix of the group it stands in.

    Raises:
        QueryError: the field can't be asked like that.
    """
    prefix = term.prefix or inherited or Prefix.ALL
    return _READERS[prefix](source, term, prefix)


class _Reading(NamedTuple):
    """A value after its `*` was taken off."""

    value: str
    has_star: bool


def _read_star(source: Source, term: TermToken) -> _Reading:
    """Take a trailing `*` off an unquoted value; between quotes it is a mere sign, as it is at arXiv."""
    if term.is_quoted:
        _refuse_wildcard(source, term, _WILDCARD_IN_QUOTES.search(term.value))
        return _Reading(term.value, has_star=False)
    value = term.value.rstrip("*")
    _refuse_wildcard(source, term, _WILDCARD.search(value))
    if not value:
        source.fail(term.value_position, "* needs the beginning of a word before it", "Write it like transf*.")
    return _Reading(value, has_star=value != term.value)


def _refuse_wildcard(
    source: Source, term: TermToken, found: re.Match[str] | None, *, is_name: bool = False
) -> None:
    """Refuse a `*` or `?` that stands for letters elsewhere than at the end of a word, with what comes nearest."""
    if found is None:
        return
    nearest = _WILD_WORD.sub(_find_nearest, term.value).strip()
    if " " in nearest:
        nearest = f'"{nearest}"' if is_name else f"({' AND '.join(nearest.split())})"
    prefix = Prefix.AUTHOR if is_name else term.prefix
    written = f"{prefix}:{nearest}" if prefix else nearest
    hint = f"The nearest that works is {written}." if any(map(str.isalnum, nearest)) else "Write it like transf*."
    meant = None if term.prefix else _name_meant(term.value)
    sign = f"{found[0]} can't stand here: {WILDCARDS}"
    source.fail(term.value_position + found.start(), sign, meant or hint)


def _find_nearest(word: re.Match[str]) -> str:
    beginning, behind = word.groups()
    if beginning and (behind or word[0].endswith("*")):
        return f"{beginning}*"
    return _WILDCARD.sub("", word[0])


def _read_words(source: Source, term: TermToken, prefix: Prefix) -> Condition | None:
    value, has_star = _read_star(source, term)
    plain = _resolve_tex(value).translate(_NOT_FROM_TEX) if "\\" in value or "$" in value else value
    words = list(split_words(plain))
    if not words:
        _leave_out_sign(source, term)
        return None
    if has_star and words[-1].end < len(plain):
        message = "* needs the beginning of a word right before it"
        nearest = f"{term.prefix}:" * bool(term.prefix) + f"{words[-1].text}*"
        source.fail(term.value_position + len(value), message, f"The nearest that works is {nearest}.")
    kept = [word for word in words if not is_stop_word(word.text) or (has_star and word is words[-1])]
    if not kept:
        message = f"{term.value!r} is too common to search for and was left out"
        source.note(NoteKind.LEFT_OUT, term.position, message)
        return None
    shape = Shape.BEGINNING if has_star else Shape.PHRASE if term.is_quoted and len(kept) > 1 else Shape.WORD
    if prefix is Prefix.ALL:
        return _name_everywhere(plain, words, kept, shape)
    return intern_condition(prefix, shape, _join_words(words, kept, shape))


def _resolve_tex(value: str) -> str:
    """Return a value with its TeX as it shows, edges of formulas marked as they are in texts."""
    marked = "".join(piece.text for piece in tex.parse_words(value))
    return unicodedata.normalize("NFC", " ".join(marked.split()))


def _join_words(words: list[Word], kept: list[Word], shape: Shape) -> str:
    """Return words as one text; in a phrase, stop words between others keep their places."""
    if shape is not Shape.PHRASE:
        return "-".join(word.text for word in kept)
    return " ".join(word.text for word in words[words.index(kept[0]) : words.index(kept[-1]) + 1])


def _name_everywhere(plain: str, words: list[Word], kept: list[Word], shape: Shape) -> Condition:
    """Return an `all:` condition. Its text keeps its signs: names, categories and DOIs need them."""
    keyword = plain.strip().rstrip(".,;").rstrip()
    if shape is not Shape.BEGINNING and spread_keyword(keyword):
        shape = Shape.PHRASE if "(" in keyword else shape
        return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(keyword))
    whole = " ".join(plain[kept[0].start : kept[-1].end].split())
    text = unicodedata.normalize("NFC", whole.lower())
    is_phrase = shape is Shape.PHRASE
    is_printable = not (_NOT_IN_QUOTES if is_phrase else _NOT_IN_WORDS).search(text)
    if len(kept) == 1 or not is_printable or read_fragment(f'all:"{text}"' if is_phrase else f"all:{text}"):
        text = _join_words(words, kept, shape)
    return intern_condition(Prefix.ALL, shape, taxonomy.spell_name(text))


def _leave_out_sign(source: Source, term: TermToken) -> None:
    if term.prefix is not None or term.is_quoted:
        source.fail(
            term.value_position, f"There is no word in {term.value!r}", "Signs alone are not searched for."
        )
    source.note(NoteKind.LEFT_OUT, term.position, f"{term.value!r} holds no word and was left out")


def _read_author(source: Source, term: TermToken, prefix: Prefix) -> Condition | None:
    _refuse_wildcard(source, term, _WILDCARD_IN_NAME.search(term.value), is_name=True)
    name = spell_name(term.value)
    if not name:
        _leave_out_sign(source, term)
        return None
    if name.endswith("*") and " " not in name:
        return intern_condition(prefix, Shape.BEGINNING, name[:-1])
    return intern_condition(prefix, Shape.PHRASE if " " in name else Shape.WORD, name)


def _read_person(source: Source, term: TermToken, prefix: Prefix) -> Condition:
    _refuse_wildcard(source, term, _WILDCARD.search(term.value), is_name=True)
    try:
        return intern_condition(prefix, Shape.PHRASE, Person.parse(term.value).text)
    except UnclearPerson as error:
        hint = 'Write author:"Keiko Lindquell" for one person; au:lindquell is everybody of that name.'
        behind = _NAMES_BEHIND.match(source.text, term.value_position + len(term.value))
        if behind and not term.is_quoted:
            hint = f'Write author:"{term.value}{behind[0]}".'
        source.fail(term.value_position, str(error), hint)


def _read_category(source: Source, term: TermToken, prefix: Prefix) -> Condition:
    value = term.value.strip()
    base = value.rstrip("*")
    if not _CATEGORY.fullmatch(base):
        hint = _name_meant(value) or "Write cat:cs.PF for one, cat:cs or cat:cs.* for a whole archive."
        source.fail(term.value_position, f"{value!r} can't be the name of a category", hint)
    name = base.rstrip(".")
    if base == value or (base != name and taxonomy.is_archive(name)):
        return _name_category(source, term, prefix, name)
    return intern_condition(prefix, Shape.BEGINNING, _spell_beginning(base))


def _name_meant(value: str) -> str:
    """Return the categories to write for `cs.?V`, "" where there are none, or too many."""
    meant = [id_ for id_ in taxonomy.CATEGORIES if fnmatchcase(id_.casefold(), value.casefold())]
    if not 0 < len(meant) <= _MOST_MEANT:
        return ""
    return f"Write cat:({' OR '.join(meant)})." if len(meant) > 1 else f"Write cat:{meant[0]}."


def _name_category(source: Source, term: TermToken, prefix: Prefix, name: str) -> Condition:
    if taxonomy.is_archive(name):
        return intern_condition(prefix, Shape.WORD, taxonomy.spell_name(name))
    canonical = taxonomy.canonical_category(name)
    if not taxonomy.is_category(name):
        nearest = taxonomy.nearest_category(name)
        near = " or ".join((nearest,) if nearest else taxonomy.list_subjects(name)[:_MOST_GUESSED])
        guess = f"; did you mean {near}?" if near else ""
        message = f"{name!r} is no category of arXiv{guess}"
        source.note(NoteKind.UNKNOWN_CATEGORY, term.value_position, message)
    elif taxonomy.spell_name(name) in taxonomy.RETIRED:
        message = f"{name} is no longer in use and read as {canonical}"
        source.note(NoteKind.RETIRED_CATEGORY, term.value_position, message)
    return intern_condition(prefix, Shape.WORD, canonical)


def _spell_beginning(base: str) -> str:
    folded = base.casefold()
    known = (id_[: len(base)] for id_ in taxonomy.CATEGORIES if id_.casefold().startswith(folded))
    return next(known, base)


def _read_id(source: Source, term: TermToken, prefix: Prefix) -> Condition:
    try:
        id_, version = ArxivId.parse_versioned(term.value)
    except UsageError as error:
        source.fail(term.value_position, error.message, error.hint)
    return intern_condition(prefix, Shape.WORD, spell_id(id_, version))


def _read_doi(source: Source, term: TermToken, prefix: Prefix) -> Condition:
    value = term.value.strip()
    doi = value[max(value.find("10."), 0) :]
    if not is_doi(doi):
        source.fail(
            term.value_position, f"{value!r} is no DOI", "A DOI looks like 10.1103/PhysRevLett.116.061102."
        )
    return intern_condition(prefix, Shape.WORD, doi)


def _read_range(source: Source, term: TermToken, prefix: Prefix) -> Condition:
    try:
        return intern_condition(prefix, Shape.RANGE, spell_range(term.value))
    except UnreadableRange as error:
        source.fail(
            term.value_position,
            str(error),
            "Write submittedDate:[20260301 TO 20260331]: year, month, day, and hour and minute if you like.",
        )


_READERS: Mapping[Prefix, Callable[[Source, TermToken, Prefix], Condition | None]] = {
    Prefix.TITLE: _read_words,
    Prefix.ABSTRACT: _read_words,
    Prefix.COMMENT: _read_words,
    Prefix.JOURNAL_REF: _read_words,
    Prefix.REPORT_NO: _read_words,
    Prefix.ALL: _read_words,
    Prefix.AUTHOR: _read_author,
    Prefix.PERSON: _read_person,
    Prefix.CATEGORY: _read_category,
    Prefix.ID: _read_id,
    Prefix.DOI: _read_doi,
    Prefix.SUBMITTED: _read_range,
}
