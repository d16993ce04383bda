r"""The people named in a `.bib` file: enough of BibTeX to find them, and no more.

An entry is `@kind{key, field = value, …}`; a value is `{…}` or `"…"`, in which braces balance, a figure,
or the name of an `@string`, several of them joined by `#` (BibTeX's own manual: Patashnik, BibTeXing, 1988).
Names are parted by `and`, and written `First von Last`, `von Last, First` or `von Last, Jr, First`; what
stands in braces is not taken apart. Accents are TeX's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from digest.tex import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*[{(]")
_KEY = re.compile(r"\s*[^\s,={}()\"#]*\s*,")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w+:.-]*)\s*=")
_WORD = re.compile(r"[^\s#,{}()\"]+")
_BLANKS = re.compile(r"[\s~]+")
_PIECE = re.compile(r"\\[A-Za-z]+\s*|\\.|\\|[^\\]", re.DOTALL)
_BOUND = re.compile(r'[{}"]|\\.', re.DOTALL)
_JOINED = re.compile(r"\s*#")
_SIGNS = str.maketrans("", "", '{}"\\*$')


class BibtexName(NamedTuple):
    """A name, plain; `is_group` where braces around the whole of it say that it is nobody's own."""

    text: str
    is_group: bool


def read_bibtex_names(text: str) -> list[BibtexName]:
    """Return everybody named as an author, or as an editor of what has no author, each once, in order.

    What is no entry is passed over, as BibTeX does.
    """
    strings: dict[str, str] = {}
    names: dict[BibtexName, None] = {}
    for kind, fields in _read_entries(text, strings):
        if kind == "string":
            strings.update(fields)
        else:
            names.update(dict.fromkeys(_split_names(fields.get("author") or fields.get("editor") or "")))
    return list(names)


def _read_entries(text: str, strings: dict[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
    place = 0
    while entry := _ENTRY.search(text, place):
        place, kind = entry.end(), entry[1].lower()
        if kind in ("comment", "preamble"):
            continue
        key = _KEY.match(text, place) if kind != "string" else None
        fields: dict[str, str] = {}
        place = key.end() if key else place
        while field := _FIELD.match(text, place):
            value, place = _read_value(text, field.end(), strings)
            fields.setdefault(field[1].lower(), value)
        yield kind, fields


def _read_value(text: str, place: int, strings: dict[str, str]) -> tuple[str, int]:
    parts = []
    while True:
        while text[place : place + 1].isspace():
            place += 1
        match text[place : place + 1]:
            case "{":
                end = _find_end(text, place + 1, "}")
                parts.append(text[place + 1 : end])
                place = end + 1
            case '"':
                end = _find_end(text, place + 1, '"')
                parts.append(text[place + 1 : end])
                place = end + 1
            case _:
                word = _WORD.match(text, place)
                parts.append(strings.get(word[0].lower(), "") if word else "")
                place = word.end() if word else place
        joined = _JOINED.match(text, place)
        if joined is None:
            return "".join(parts), place
        place = joined.end()


def _find_end(text: str, place: int, closing: str) -> int:
    """Return where a value ends: at the closing sign outside all braces, or with the text."""
    depth = 0
    for found in _BOUND.finditer(text, place):
        sign = found[0]
        if depth == 0 and sign == closing:
            return found.start()
        depth += (sign == "{") - (sign == "}")
    return len(text)


def _split_names(value: str) -> Iterator[BibtexName]:
    for words in _split_at_and(value):
        name = _write_name(words)
        if name and name.lower() != "others":
            yield BibtexName(name, is_group=len(words) == 1 and " " in name)


def _split_at_and(value: str) -> Iterator[list[str]]:
    """Yield each name as its words; commas are words, and braces are kept around what they hold together."""
    words: list[str] = []
    for word in _split_words(value):
        if word.lower() == "and":
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _split_words(value: str) -> Iterator[str]:
    word, depth = "", 0
    for found in _PIECE.finditer(value):
        sign = found[0]
        depth = max(0, depth + (sign == "{") - (sign == "}"))
        if depth == 0 and (sign in ",~" or sign.isspace()):
            if word:
                yield word
            if sign == ",":
                yield sign
            word = ""
        else:
            word += sign
    if word:
        yield word


def _write_name(words: list[str]) -> str:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ",":
            parts.append([])
        else:
            parts[-1].append(_resolve(word))
    filled = [part for part in parts if part]
    if not filled:
        return ""
    if len(filled) > 1:
        return f"{' '.join(filled[0])}, {' '.join(filled[-1])}"
    (alone,) = filled
    if len(alone) > 1 and " " in alone[-1]:
        return f"{alone[-1]}, {' '.join(alone[:-1])}"
    return " ".join(alone)


def _resolve(word: str) -> str:
    """Return a word with its accents, its braces taken away."""
    plain = to_plain(word)
    return " ".join(_BLANKS.sub(" ", plain.translate(_SIGNS)).split())
