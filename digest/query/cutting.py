r"""Texts cut into pieces no word goes across, their TeX resolved: by the thousand, and quickly.

Most TeX in titles and abstracts is formulas between dollars in otherwise plain sentences, and the same ones
come again and again: `$\alpha$`, `$z$`, `$10^{-3}$`. Where a text is of that kind, its formulas are read one by
one and remembered; every other text with TeX is read as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from digest.tex import parse_tex
from digest.tex.cursor import Setting
from digest.tex.dollars import find_formulas
from digest.tex.reading import Reader
from digest.tex.tokens import DROPPED, split_tokens

SIGNS: Final = "".join(chr(code) for code in range(33, 127) if not (chr(code).isalnum() or chr(code) == "_"))
"""None of these ASCII characters begins or ends a word."""

_JOINING = ".,;'"
"""The signs among them that may stand within one."""

_PARTED = {
    code: chr(code).lower() if chr(code).isalnum() or chr(code) in f"_{_JOINING}" else " " for code in range(128)
}
"""Signs that part words wherever they stand go; words are looked at in lower case anyhow."""

_MARK = "\x00"
_NEEDS_READING = re.compile(rf"[\\${DROPPED}]")
_PARTED_BUT_DOLLARS = _PARTED | {ord("$"): "$"}
_MARKED = _PARTED | {code: _MARK for code in range(128) if _NEEDS_READING.match(chr(code))}

_MOST_TOKENS: Final = 900
"""`parse_tex` leaves what follows more tokens as typed; texts that come near are left to it. Where the most they
can have is not too many, they need not be counted."""

_ACCENT = r"\\[\"'`^~=.](?:\{[A-Za-z]\}|[A-Za-z])"
_ISLAND = re.compile(
    rf"""
      (?<![\^_\\]) (?:
        {_ACCENT} | \{{ {_ACCENT} \}} | \\[cvuHkr]\{{[A-Za-z]\}}
      | \\[%&#,;\ ]
      | \{{\\(?!begin|end|left|right)[A-Za-z]+\}}
      | \\(?:emph|text(?:it|sl|bf|tt|rm|sf|sc)|cite[pt]?|ref) \{{[^{{}}\\$]*\}} (?![{{\[])
      | \{{\\(?:it|em|bf|sl|tt|sc|rm)\s[^{{}}\\$]*\}}
      )
    """,
    re.VERBOSE,
)
"""TeX between words that means the same whatever stands farther away than the next character."""

_ENTANGLED = re.compile(rf"[\\{{}}{DROPPED}]")
"""What beside formulas and islands makes a text more than sentences with some TeX in them."""

_ADJACENT = frozenset(("$", "\\", "{", "}"))
"""What may stand beside an island only where both are read together."""

_STRUCTURE = re.compile(rf"\\(?:[\[\]()]|begin|end)|\\\Z|[{DROPPED}]")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_AMOUNT = re.compile(r"\s?[0-9]")
_TEX = re.compile(r"[\\^_{}=<>]")


def cut(text: str) -> list[str]:
    """Return the pieces of a text: its words in order are theirs, once its TeX is resolved."""
    if text.isascii():
        parted = text.translate(_MARKED)
        if _MARK not in parted:
            # Words are numbered piece by piece: the fewer the same one comes with signs behind it, the better.
            return parted.replace(", ", " ").replace(". ", " ").split()
    elif not _NEEDS_READING.search(text):
        return text.split()
    return (_resolve_islands(text) or _resolve(text)).split()


def _resolve(text: str) -> str:
    return "".join(_part(piece.text) for piece in parse_tex(text))


def _part(plain: str) -> str:
    """Return a plain text, if it is ASCII, with blanks for signs that part words wherever they stand."""
    return plain.translate(_PARTED) if plain.isascii() else plain


def _resolve_islands(text: str) -> str:
    """Return a text of plain sentences with its formulas and other TeX resolved; "" where it is no such text."""
    outside = text.split("$")
    inside = outside[1::2]
    del outside[1::2]
    if len(outside) == len(inside):
        return ""
    formulas: list[_Resolved] = []
    for place, formula in enumerate(inside):
        before, after = _CLASSES[outside[place][-1:]], _CLASSES[outside[place + 1][:1]]
        resolved = _read_formula(before, formula, after)
        if resolved is None:
            return ""
        formulas.append(resolved)
    around = _resolve_around(outside)
    if around is None:
        return ""
    tokens = around.tokens + sum(formula.tokens for formula in formulas)
    if tokens > _MOST_TOKENS and len(split_tokens(text)) > _MOST_TOKENS:
        return ""
    is_amount = any(_AMOUNT.match(formula) and not _TEX.search(formula) for formula in inside)
    if is_amount and not _are_formulas(text, outside, inside):
        return ""
    parts = around.plain.split("$")
    for place, read in enumerate(formulas):
        parts[place] += read.plain
    return "".join(parts)


def _resolve_around(outside: list[str]) -> _Resolved | None:
    """Return what is around formulas resolved, with a dollar in the place of each; None for a closer look."""
    joined = "$".join(outside)
    if not _ENTANGLED.search(joined):
        return _keep(joined)
    last = len(outside) - 1
    found = [
        _resolve_plain("$" if place else "", plain, "$" if place < last else "")
        for place, plain in enumerate(outside)
    ]
    if None in found:
        return None
    return _Resolved("$".join([part.plain for part in found if part]), sum(part.tokens for part in found if part))


def _keep(plain: str) -> _Resolved:
    """Return a text without TeX as it is, but for signs between words; dollars stay."""
    if not plain.isascii():
        return _Resolved(plain, len(plain))
    parted = plain.translate(_PARTED_BUT_DOLLARS)
    parting = parted.count(" ") + parted.count("_") + parted.count("'") + parted.count("$")
    return _Resolved(parted, 1 + 2 * parting)


def _resolve_plain(before: str, text: str, behind: str) -> _Resolved | None:
    """Return a text without formulas, but with other TeX, resolved; None where that needs a closer look."""
    parts: list[str] = []
    tokens = place = 0
    for island in _ISLAND.finditer(text):
        start, end = island.span()
        left, right = text[start - 1 : start] or before, text[end : end + 1] or behind
        if left in _ADJACENT or right in _ADJACENT or _ENTANGLED.search(text, place, start):
            return None
        plain = _keep(text[place:start])
        read = _read_island(_CLASSES[left], island[0], _CLASSES[right])
        parts += plain.plain, read.plain
        tokens += plain.tokens + read.tokens
        place = end
    if _ENTANGLED.search(text, place):
        return None
    rest = _keep(text[place:])
    return _Resolved("".join((*parts, rest.plain)), tokens + rest.tokens)


def _are_formulas(text: str, outside: list[str], inside: list[str]) -> bool:
    """Tell whether the dollars of a text pair up one after the other, though some may be money."""
    place, expected = 0, {}
    for before, formula in zip(outside, inside, strict=False):
        opening = place + len(before)
        closing = opening + 1 + len(formula)
        expected[opening] = (closing, closing + 1)
        place = closing + 1
    return find_formulas(text) == expected


class _Classes(dict[str, str]):
    """Character -> one that formulas take for the same beside them."""

    def __missing__(self, character: str) -> str:
        self[character] = found = "a" if character.isalpha() else "1" if character.isalnum() else ""
        return found


_CLASSES = _Classes()


class _Resolved(NamedTuple):
    """A text with its TeX resolved, and the most tokens it can have had."""

    plain: str
    tokens: int


@lru_cache(maxsize=2**15)
def _read_formula(before: str, formula: str, behind: str) -> _Resolved | None:
    """Return a formula between two characters, resolved; None where what it is depends on more of the text."""
    if not formula or _STRUCTURE.search(formula) or not _is_balanced(formula):
        return None
    return _read_island(before, f"\\({formula}\\)", behind)  # which needs no search for dollars


@lru_cache(maxsize=2**12)
def _read_island(before: str, island: str, behind: str) -> _Resolved:
    """Return TeX between two characters, resolved."""
    reader = Reader(f"{before}{island}{behind}")
    tokens = len(reader.tokens)
    end = len(before) + len(island)
    pieces = [piece for piece in reader.read(tokens, Setting()) if len(before) <= piece.start < end]
    return _Resolved("".join(_part(piece.text) for piece in pieces), tokens)


def _is_balanced(formula: str) -> bool:
    """Tell whether every brace of a formula has its partner within it."""
    depth = 0
    for brace in _BRACE.findall(formula) if "{" in formula or "}" in formula else ():
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0
