"""On which line of a TOML text each key stands, so that a mistake can be pointed at.

`tomllib` has read the text before: only texts it accepts are given here, so what is looked for is
where keys begin and how far values reach, nothing else (https://toml.io/en/v1.0.0).
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK_OR_COMMA = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[^"'.=\]\s]+)[ \t]*(\.?)""")
_STRING = re.compile(
    r'''"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'{3}.*?\'{3}(?:\'{0,2})|"(?:\\.|[^"\\])*"|'[^']*\'''', re.DOTALL
)
_BARE_VALUE = re.compile(r"[^,\]}#\n]*")


def find_lines(text: str) -> dict[Path, int]:
    """Return key path → line number, from 1; elements of arrays go by their index.

    Args:
        text: valid TOML.
    """
    return _Finder(text).find()


class _Finder:
    """Walks through a text from its beginning to its end, once."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._at = 0
        self._line_ends = [match.start() for match in re.finditer("\n", self._text)]
        self._counts: dict[Path, int] = {}
        self._lines: dict[Path, int] = {}

    def find(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._read_header()
            else:
                self._read_assignment(table)
            self._skip(_BLANK)
        return self._lines

    def _read_header(self) -> Path:
        is_element = self._text.startswith("[[", self._at)
        line = self._line()
        self._at += 2 if is_element else 1
        names = self._read_key()
        self._at += 2 if is_element else 1
        table: Path = ()
        for name in names[:-1]:
            table = self._enter((*table, name), line)
        table = (*table, names[-1])
        if is_element:
            self._lines.setdefault(table, line)
            self._counts[table] = self._counts.get(table, 0) + 1
        return self._enter(table, line)

    def _enter(self, table: Path, line: int) -> Path:
        """Step into a table, or into the newest element of an array of tables."""
        self._lines.setdefault(table, line)
        if table in self._counts:
            table = (*table, self._counts[table] - 1)
            self._lines.setdefault(table, line)
        return table

    def _read_assignment(self, table: Path) -> None:
        line = self._line()
        for name in self._read_key():
            table = (*table, name)
            self._lines.setdefault(table, line)
        self._at += 1  # the equals sign
        self._skip(_BLANK)
        self._skip_value(table)

    def _read_key(self) -> list[str]:
        names = []
        dot = "."
        while dot:
            match = _KEY.match(self._text, self._at)
            if match is None:
                raise AssertionError(f"no key at line {self._line()}")
            raw, dot = match.groups()
            names.append(next(iter(tomllib.loads(f"{raw} = 0"))) if raw[0] in "\"'" else raw)
            self._at = match.end()
        return names

    def _skip_value(self, path: Path) -> None:
        first = self._text[self._at]
        if first in "\"'":
            self._skip(_STRING)
        elif first == "[":
            self._skip_array(path)
        elif first == "{":
            self._skip_inline_table(path)
        else:
            self._skip(_BARE_VALUE)

    def _skip_array(self, path: Path) -> None:
        self._at += 1
        index = 0
        self._skip(_BLANK_OR_COMMA)
        while self._text[self._at] != "]":
            self._lines[(*path, index)] = self._line()
            self._skip_value((*path, index))
            index += 1
            self._skip(_BLANK_OR_COMMA)
        self._at += 1

    def _skip_inline_table(self, path: Path) -> None:
        self._at += 1
        self._skip(_BLANK_OR_COMMA)
        while self._text[self._at] != "}":
            self._read_assignment(path)
            self._skip(_BLANK_OR_COMMA)
        self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise AssertionError(f"line {self._line()} is not TOML")
        self._at = match.end()

    def _line(self) -> int:
        return bisect_right(self._line_ends, self._at - 1) + 1
