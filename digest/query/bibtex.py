"""The people named in a `.bib` file: enough of BibTeX to find them, and no more.

An entry is `@kind{key, field = value, …}`; a value is `{…}` or `"…"`, in which braces balance, a figure,
or the name of an `@string`, several of them joined by `#` (BibTeX's own manual: Patashnik, BibTeXing, 1988).

An entry whose braces or quotation marks are never closed, or that names people so that nobody can tell them
apart, is not guessed at: reading goes on with the next line that begins one. However broken a file is, each of its
letters is read a few times at most.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import NamedTuple

from digest.query.bibtex_names import BibtexName, UnclearNames, read_names

_ENTRY = re.compile(r"@\s*([A-Za-z]+)\s*[{(]")
_KEY = re.compile(r"""([^,={}"@]*)(?:,|(?=[})]))""")
_FIELD = re.compile(r"""(?:[\s,]|%[^\n]*+)*+([A-Za-z_][^\s=,{}()"#%]*)\s*=""")
_WORD = re.compile(r"[^\s#,{}()\"]+")
_BLANK = re.compile(r"\s*")
_BOUND = re.compile(r'[{}"]|\\.', re.DOTALL)
_BEGUN = re.compile(r"(?<=[\n\r])[ \t]*@[ \t]*[A-Za-z]+[ \t]*[{(]")
_REST = re.compile(r"(?:[\s,]|%[^\n]*+)*+(.?)", re.DOTALL)
_JOINED = re.compile(r"\s*#")

_LONGEST_VALUE = 1_000_000
"""Letters a value may have: each `@string` may stand in the next one twice, and double it."""


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


def read_bibtex_entries(text: str) -> tuple[list[BibtexEntry], list[BrokenEntry]]:
    """Return the entries that can be read and those that can't, in order.

    What is no entry is passed over, as BibTeX does.
    """
    strings: dict[str, str] = {}
    entries: list[BibtexEntry] = []
    broken: list[BrokenEntry] = []
    begins = [*(begun.start() for begun in _BEGUN.finditer(text)), len(text)]
    place = line = counted = 0
    while found := _ENTRY.search(text, place):
        reader = _EntryReader(text, found, begins[bisect_left(begins, found.end())], strings)
        kind, why = found[1].lower(), ""
        if kind not in ("comment", "preamble"):
            why = reader.read()
            if not why and kind == "string":
                strings.update(reader.fields)
            elif not why:
                try:
                    entries.append(BibtexEntry(reader.key, reader.read_authors()))
                except UnclearNames as unclear:
                    why = str(unclear)
        place = reader.place
        if why:
            line, counted = line + text.count("\n", counted, found.start()), found.start()
            broken.append(BrokenEntry(f"@{found[1]}{{{reader.key or '…'}", line + 1, why))
    return entries, broken


class _EntryReader:
    """Reads one entry.

    Attributes:
        key: what it is called.
        fields: name in small letters -> value.
        place: where it has come to.
    """

    def __init__(self, text: str, begun: re.Match[str], end: int, strings: dict[str, str]) -> None:
        self._text, self._end, self._strings = text, end, strings
        self.key, self.place = "", begun.end()
        self.fields: dict[str, str] = {}
        self._is_string = begun[1].lower() == "string"

    def read(self) -> str:
        """Read its fields; return why it can't be read, "" where it can."""
        key = None if self._is_string else _KEY.match(self._text, self.place, self._end)
        if key:
            self.key, self.place = " ".join(key[1].split()), key.end()
        behind = "its key" if key else "its beginning"
        while field := _FIELD.match(self._text, self.place, self._end):
            behind = f"its {field[1]}"
            self.place = field.end()
            value = self._read_value()
            if value is None:
                return f"{behind} is never closed"
            if len(value) > _LONGEST_VALUE:
                return f"{behind} is too long"
            self.fields.setdefault(field[1].lower(), value)
        rest = _REST.match(self._text, self.place, self._end)
        if rest and rest[1] in ("", "@"):
            self.place = rest.start(1)
            return "it is never closed"
        return "" if rest and rest[1] in "})" else f"what stands behind {behind} is not understood"

    def read_authors(self) -> tuple[BibtexName, ...]:
        """Return who wrote it, or edited what nobody wrote.

        Raises:
            UnclearNames: nobody can tell.
        """
        kind = next((kind for kind in ("author", "editor") if self.fields.get(kind)), "")
        try:
            return read_names(self.fields.get(kind, ""))
        except UnclearNames as unclear:
            raise UnclearNames(f"its {kind} {unclear}") from unclear

    def _read_value(self) -> str | None:
        """Return a value; None where it is never closed."""
        value = ""
        while True:
            self._skip(_BLANK)
            opening = self._text[self.place : min(self.place + 1, self._end)]
            if opening in ("{", '"'):
                start, is_closed = self.place + 1, self._find_end("}" if opening == "{" else '"')
                if not is_closed:
                    return None
                value += self._text[start : self.place - 1]
            elif word := _WORD.match(self._text, self.place, self._end):
                value += self._strings.get(word[0].lower(), "")
                self.place = word.end()
            if len(value) > _LONGEST_VALUE or not self._skip(_JOINED):
                return value

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self.place, self._end)
        self.place = found.end() if found else self.place
        return found is not None

    def _find_end(self, closing: str) -> bool:
        """Go behind the sign that closes a value outside all braces; tell whether there is one.

        An entry that ends before a quotation mark does is left behind its end.
        """
        depth = 0
        for found in _BOUND.finditer(self._text, self.place + 1, self._end):
            sign = found[0]
            self.place = found.end()
            if depth == 0 and sign in (closing, "}"):
                return sign == closing
            depth += (sign == "{") - (sign == "}")
        self.place = self._end
        return False
