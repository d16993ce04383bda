"""Reads BibTeX. What is spoiled in one entry costs none of the others. Pure.

The time it takes grows as the text does. So each repetition in a pattern is possessive: what it
took, it never gives back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pybtex.database.input.bibtex import LowLevelParser, UndefinedMacro
from pybtex.scanner import Token
from pybtex.utils import CaseInsensitiveDict

from digest.interest.entries import MOST_ENTRIES, Entry, make_refusal
from digest.model.errors import ConfigurationError

START = re.compile(
    r"""
    (?:^|(?<=[})]))[ \t]*+@[ \t]*+(\w++)  # @article, @string
    (?:
        \s*+([{(])
        (  # {key,
            (?:(?:[^,={}"@]|(?<=[\w.-])@)*+,(?:[^,={}"@\n]*+,)*+)?+
            (?:[^,={}"@]*+(?=\}))?+
        )
        |([^,={}()"\n]*+)(?=,\s*+[\w-]++\s*+=)  # key, title = ... without a brace
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
"""An entry begins a line, or follows at once on the brace that ends another.

Its key or its brace may be missing.
"""

_FIELD_START = re.compile(r"^[ \t]*+,?[ \t]*+[\w-]++[ \t]*+=", re.MULTILINE)
_MARK = re.compile(r"[@{}\"]")

_BRACES = re.compile(
    r"(\$[^$]*+\$|\{\\[a-z]++[^{}]*+\}"
    r"|(?:\\[a-z]++\s*+|[_^])(?:\{(?:[^{}]++|\{[^{}]*+\})*+\})*+|\\.)|[{}]",
    re.IGNORECASE,
)
"""Braces that only keep capitals, as in {B}ayesian; what is TeX is in the group, and stays."""

_SWELLS = 10
"""How many times longer than the file all that its macros stand for may be."""


class _Parser(LowLevelParser):  # type: ignore[misc] # it says nothing of its types
    """A parser of one entry. Its time grows as the entry does, and its macros swell to an end."""

    text: str
    pos: int

    def skip_to(self, patterns: list[Any]) -> Token | None:
        """Go behind the next sign that is wanted: one search for all of them."""
        wanted = {pattern.description[1]: pattern for pattern in patterns}
        for mark in _MARK.finditer(self.text, self.pos):
            if pattern := wanted.get(mark[0]):
                skipped = self.text[self.pos : mark.end()]
                self.pos = mark.end()
                self.update_lineno(skipped)
                return Token(skipped, pattern)
        return None

    def substitute_macro(self, name: str) -> str:
        text: str = super().substitute_macro(name)
        self.macros[""] -= len(text)
        if self.macros[""] < 0:
            raise ConfigurationError(
                f"its macros (@string) expand to more than {_SWELLS} times its size",
                hint="Export the library again, with the texts in place of macros.",
            )
        return text


def read_bibtex(text: str) -> Iterator[Entry]:
    """Yield the entries of a BibTeX file.

    Raise `ConfigurationError`: there are too many, or macros expand to far more than the file
    holds.
    """
    macros: dict[str, Any] = CaseInsensitiveDict({"": _SWELLS * len(text)})
    line = 1
    counted = 0
    found = list(START.finditer(text))
    if len(found) > MOST_ENTRIES:
        raise make_refusal()
    ends = [one.start() for one in found[1:]]
    for one, end in zip(found, [*ends, len(text)], strict=True):
        line += text.count("\n", counted, one.start())
        counted = one.start()
        kind, opening, key, bare = one.groups("")
        faults: list[Exception] = []
        inside = text[one.end() : end].removeprefix(",")
        body = f"@{kind}{opening or '{'}{inside}"
        parser = _Parser(body, keyless_entries=True, macros=macros, handle_error=faults.append)
        nothing: tuple[str, Any] = ("comment", ())
        name, read = next(iter(parser), nothing)
        if name.lower() in ("comment", "preamble", "string"):
            continue
        is_sound = all(isinstance(fault, UndefinedMacro) for fault in faults)
        fault = ""
        if not opening:
            fault = "has no { before its key"
        elif not is_sound or _FIELD_START.search(body[parser.pos :]):
            spoiled = line + one[0].count("\n") + parser.lineno - 1
            fault = f"has a brace, a quote or a comma too many or too few by line {spoiled}"
        fields = {}
        for field, parts in read[1]:
            fields[field] = _BRACES.sub(r"\1", "".join(parts))
        named = key.strip(" \t\n,") if opening else f"{kind}{bare}"
        place = f"line {line}: the entry {named}"
        yield " ".join(place.split()), fields, fault
