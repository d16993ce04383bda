r"""The people named in a `.bib` file: enough of BibTeX to find them, and no more.

An entry is `@kind{key, field = value, …}`; a value is `{…}` or `"…"`, in which braces balance, a figure,
or the name of an `@string`, several of them joined by `#` (BibTeX's own manual: Patashnik, BibTeXing, 1988).
Names are parted by `and`, and written `First von Last`, `von Last, First` or `von Last, Jr, First`; what
stands in braces is not taken apart. Accents are TeX's.

An entry whose braces or quotation marks are never closed is not guessed at: reading goes on with the next line
that begins one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from digest.tex import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*[{(]")
_KEY = re.compile(r"\s*([^\s,={}()\"#]*)\s*,")
_FIELD = re.compile(r"[\s,]*([A-Za-z][\w+:.-]*)\s*=")
_WORD = re.compile(r"[^\s#,{}()\"]+")
_BLANKS = re.compile(r"[\s~]+")
_PIECE = re.compile(r"\\[A-Za-z]+\s*|\\.|\\|[^\\]", re.DOTALL)
_BOUND = re.compile(r'[{}"]|\\.', re.DOTALL)
_BEGUN = re.compile(r"(?<=\n)[ \t]*@[ \t]*[A-Za-z]+[ \t]*[{(]")
_REST = re.compile(r"[\s,]*(.?)", re.DOTALL)
_JOINED = re.compile(r"\s*#")
_SIGNS = str.maketrans("", "", '{}"\\*$')


class BrokenEntry(NamedTuple):
    """An entry that can't be read: what it begins with, the line (from 1) it stands on, and why."""

    text: str
    line: int
    why: str

    @property
    def message(self) -> str:
        """All of it in a sentence."""
        return f"{self.text}, …}} on line {self.line} can't be read: {self.why}"


class BibtexEntry(NamedTuple):
    """An entry: its key, "" where it has none, and its authors, or the editors of what has no author."""

    key: str
    names: tuple[BibtexName, ...]


class BibtexName(NamedTuple):
    """A name, plain; `is_group` where braces around the whole of it say that it is nobody's own."""

    text: str
    is_group: bool


def read_bibtex_entries(text: str) -> tuple[list[BibtexEntry], list[BrokenEntry]]:
    """Return the entries that can be read and those that can't, in order.

    What is no entry is passed over, as BibTeX does.
    """
    strings: dict[str, str] = {}
    entries: list[BibtexEntry] = []
    broken: list[BrokenEntry] = []
    place = 0
    while found := _ENTRY.search(text, place):
        reader = _EntryReader(text, found, strings)
        kind, why = found[1].lower(), ""
        if kind not in ("comment", "preamble"):
            why = reader.read()
        place = reader.place
        if why:
            key = reader.key or "…"
            broken.append(BrokenEntry(f"@{found[1]}{{{key}", text.count("\n", 0, found.start()) + 1, why))
            begun = _BEGUN.search(text, found.end())
            place = begun.start() if begun else len(text)
        elif kind == "string":
            strings.update(reader.fields)
        elif kind not in ("comment", "preamble"):
            named = reader.fields.get("author") or reader.fields.get("editor") or ""
            entries.append(BibtexEntry(reader.key, tuple(dict.fromkeys(_split_names(named)))))
    return entries, broken


class _EntryReader:
    """Reads one entry.

    Attributes:
        key: what it is called.
        fields: name in small letters -> value.
        place: where it has come to.
    """

    def __init__(self, text: str, begun: re.Match[str], strings: dict[str, str]) -> None:
        self._text, self._strings = text, strings
        self.key, self.place = "", begun.end()
        self.fields: dict[str, str] = {}
        self._is_string = begun[1].lower() == "string"

    def read(self) -> str:
        """Read its fields; return why it can't be read, "" where it can."""
        key = None if self._is_string else _KEY.match(self._text, self.place)
        if key:
            self.key, self.place = key[1], key.end()
        while field := _FIELD.match(self._text, self.place):
            start = self.place = field.end()
            value = self._read_value()
            if value is None or _BEGUN.search(self._text, start, self.place):
                return f"its {field[1]} is never closed"
            self.fields.setdefault(field[1].lower(), value)
        rest = _REST.match(self._text, self.place)
        return "it is never closed" if rest and rest[1] in ("", "@") else ""

    def _read_value(self) -> str | None:
        """Return a value; None where it is never closed."""
        parts = []
        while True:
            while self._text[self.place : self.place + 1].isspace():
                self.place += 1
            opening = self._text[self.place : self.place + 1]
            if opening in ("{", '"') and opening:
                end = _find_end(self._text, self.place + 1, "}" if opening == "{" else '"')
                if end == len(self._text):
                    return None
                parts.append(self._text[self.place + 1 : end])
                self.place = end + 1
            elif word := _WORD.match(self._text, self.place):
                parts.append(self._strings.get(word[0].lower(), ""))
                self.place = word.end()
            joined = _JOINED.match(self._text, self.place)
            if joined is None:
                return "".join(parts)
            self.place = joined.end()


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
