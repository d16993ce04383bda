"""Reads BibTeX. What is spoiled in one entry costs none of the others. Pure.

The time it takes grows as the text does. So each repetition in a pattern is possessive: what it took, it never
gives back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from digest.interest.entries import Entry
from digest.model.errors import ConfigurationError

START = re.compile(
    r"(?:^|(?<=[})]))[ \t]*+@[ \t]*+(\w++)"
    r"(?:\s*+([{(])|([^,={}()\"\n]*+)(?=,\s*+[\w-]++\s*+=))",
    re.MULTILINE,
)
"""An entry begins a line, or follows at once on the brace that ends another; its own brace may be missing."""

_KEY = re.compile(r"[^={}\"]*+")
_FIELD = re.compile(r"\s*+(,?)\s*+([\w.:+/*!&?-]++)\s*+=")
_FIELD_ON_A_LINE = re.compile(r"^[ \t]*+,?[ \t]*+[\w-]++[ \t]*+=", re.MULTILINE)
_PIECE = re.compile(r"\s*+(?:([{\"])|([^\s,#{}()=\"]++))")
_MARK = re.compile(r"[{}\"]")
_JOINT = re.compile(r"\s*+#")
_NOTHING = re.compile(r"\s*+\Z")
_END = re.compile(r"\s*+,?\s*+[})]")

_BRACES = re.compile(
    r"(\$[^$]*+\$|\{\\[a-z]++[^{}]*+\}"
    r"|(?:\\[a-z]++\s*+|[_^])(?:\{(?:[^{}]++|\{[^{}]*+\})*+\})*+|\\.)|[{}]",
    re.IGNORECASE,
)
"""Braces that only keep capitals, as in {B}ayesian; what is TeX is in the group, and stays."""

_SWELLS = 10
"""How many times longer than the file all that its macros stand for may be."""


@dataclass
class _Macros:
    """The texts that `@string` names. `left`: how many letters they may still add."""

    left: int
    texts: dict[str, str] = field(default_factory=dict)

    def expand(self, name: str) -> str:
        text = name if name.isdecimal() else self.texts.get(name.lower(), "")
        self.left -= len(text)
        if self.left < 0:
            raise ConfigurationError(
                f"its macros (@string) expand to more than {_SWELLS} times its size",
                hint="Export the library again, with the texts in place of macros.",
            )
        return text


@dataclass
class _Body:
    """One entry's text after its opening brace. Reading moves `at`; `fault` is where it is spoiled."""

    text: str
    macros: _Macros
    at: int = 0
    fault: int | None = None
    fields: dict[str, str] = field(default_factory=dict)

    def read_key(self) -> str:
        """Read what stands before the first field: it may hold commas and blanks."""
        ahead = _KEY.match(self.text)
        written = ahead[0] if ahead else ""
        self.at = len(written)
        if self.text.startswith("=", self.at):
            name = written.rstrip()
            self.at = 1 + max(name.rfind(sign) for sign in ", \t\n")
        return written[: self.at].strip(" \t\n,")

    def read_fields(self) -> None:
        """Read fields up to the brace that ends the entry, or to the first that nobody can read."""
        while found := _FIELD.match(self.text, self.at):
            if self.fields and not found[1]:
                self._note_fault(found.start(2))
            value = self._read_value(found.end())
            if value is None:
                self._note_fault(found.end())
                return
            self.fields[found[2].lower()] = _BRACES.sub(r"\1", value)
        end = _END.match(self.text, self.at)
        self.at = end.end() if end else self.at
        if end is None or _FIELD_ON_A_LINE.search(self.text, self.at):
            self._note_fault(self.at)

    def _note_fault(self, place: int) -> None:
        self.fault = place if self.fault is None else self.fault

    def _read_value(self, begun: int) -> str | None:
        """Read texts, numbers and macros, joined by #; None if one of them does not end."""
        pieces = []
        end = begun
        while found := _PIECE.match(self.text, end):
            if found[2]:
                pieces.append(self.macros.expand(found[2]))
                self.at = found.end()
            else:
                end = self._find_end(found.end(), found[1])
                lost = self._find_lost_end(found.end(), end)
                if lost is None and not end:
                    return None
                self.at = end if lost is None else lost
                text = self.text[found.end() : self.at]
                pieces.append(text[:-1] if lost is None else text.rstrip(" \t\n,"))
            joint = _JOINT.match(self.text, self.at)
            if joint is None:
                return "".join(pieces)
            end = joint.end()
        return None

    def _find_lost_end(self, begun: int, end: int) -> int | None:
        """Return where the next field begins, if a text took all that is left of its entry; only once."""
        if self.fault is not None or (end and not _NOTHING.match(self.text, end)):
            return None
        after = _FIELD_ON_A_LINE.search(self.text, begun)
        self._note_fault(begun)
        return after.start() if after else None

    def _find_end(self, begun: int, opening: str) -> int:
        """Return where a text in braces or quotes has ended; 0 if it never does."""
        depth = 0
        for mark in _MARK.finditer(self.text, begun):
            if depth == 0 and mark[0] == ('"' if opening == '"' else "}"):
                return mark.end()
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth < 0:
                break
        return 0


def read_bibtex(text: str) -> Iterator[Entry]:
    """Yield the entries of a BibTeX file.

    Raise `ConfigurationError`: its macros expand to far more than the file holds.
    """
    macros = _Macros(_SWELLS * len(text))
    line = 1
    counted = 0
    found = list(START.finditer(text))
    ends = [*(one.start() for one in found[1:]), len(text)]
    for one, end in zip(found, ends, strict=True):
        line += text.count("\n", counted, one.start())
        counted = one.start()
        kind, opening, bare = one.groups("")
        if kind.lower() in ("comment", "preamble"):
            continue
        body = _Body(text[one.end() : end], macros)
        key = body.read_key()
        body.read_fields()
        if kind.lower() == "string":
            macros.texts |= body.fields
            continue
        fault = ""
        if not opening:
            fault = "has no { before its key"
        elif body.fault is not None:
            spoiled = line + text.count("\n", counted, one.end() + body.fault)
            fault = f"has a brace, a quote or a comma too many or too few by line {spoiled}"
        name = key if opening else f"{kind}{bare}"
        yield f"line {line}: the entry {name.strip()}".rstrip(), body.fields, fault
