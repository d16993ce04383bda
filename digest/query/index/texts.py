r"""Resolves the TeX of texts by the thousand, as their words are searched for.

Most TeX in titles and abstracts is formulas between dollars in otherwise plain sentences, and the same ones
come again and again: `$\alpha$`, `$z$`, `$10^{-3}$`. Where a text is of that kind, its formulas are read one by
one and remembered; every other text with TeX is read as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from digest.tex import parse_words
from digest.tex.parting import EDGE, is_edge, join_parts, mark_edges
from digest.tex.reader import Reader, set_formula
from digest.tex.tokens import DROPPED, TexSetting, find_formulas, split_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


_SETTING = TexSetting(is_formula=True)
_NEEDS_READING = re.compile(rf"[\\${DROPPED}]")
_DROPPED = re.compile(rf"[{DROPPED}]")

_MOST_TOKENS: Final = 650
"""`parse_words` leaves what follows more tokens as typed; texts that come near are left to it."""

_SIGNS: Final = "\\{}^$_&~`'-\n"
"""Of printable characters and line feeds these begin tokens, but for two blanks; others go on with a run."""

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

_ENTANGLED = re.compile(r"[\\{}]")
"""What beside formulas and islands makes a text more than sentences with some TeX in them."""

_ADJACENT = frozenset(("\\", "{", "}"))
"""What may stand beside an island only where both are read together."""

_STRUCTURE = re.compile(rf"\\(?:[\[\]()]|begin|end)|\\\Z|[{DROPPED}]")
_REACHING = re.compile(r"\\(?:[A-Za-z]+\*?|.)\s*(?:\[[^\]]*\]?\s*)*\Z", re.DOTALL)
"""A command at the end, which may take what follows."""

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DOLLARS = re.compile(r"\$\$?")
_AMOUNT = re.compile(r"\s?[0-9][^\\^_{}=<>]*")


def resolve_text(text: str) -> str:
    """Return a text as `parse_words` shows it."""
    if not _NEEDS_READING.search(text):
        return text
    resolved = _resolve_formulas(text)
    return "".join([piece.text for piece in parse_words(text)]) if resolved is None else resolved


def _resolve_formulas(text: str) -> str | None:
    """Return a text of plain sentences, its formulas and other TeX resolved; None where it is no such text."""
    parts = text.split("$")
    if "$$" in text or not len(parts) % 2 or _DROPPED.search(text) or _has_many_tokens(text):
        return None
    last = len(parts) - 1
    resolved = parts.copy()
    for place in range(1, last, 2):
        before, behind = _CLASSES[parts[place - 1][-1:]], _CLASSES[parts[place + 1][:1]]
        formula = _read_formula(before, parts[place], behind)
        if not formula:  # what shows beside an empty one may be of another
            return None
        resolved[place] = formula
    if any(map(_AMOUNT.fullmatch, parts[1:last:2])) and not _are_formulas(text):
        return None
    for place in range(0, last + 1, 2):
        part = parts[place]
        if "\\" in part or "{" in part or "}" in part:
            plain = _resolve_part("$" if place else "", part, "$" if place < last else "")
            if plain is None:
                return None
            resolved[place] = plain
    return _join_parts(resolved)


def _join_parts(parts: Sequence[str]) -> str:
    """Join what stands outside of formulas and what stands within, in turn; edges are marked."""
    joined: list[str] = []
    last = " "
    was_within = is_within = True
    for part in parts:
        is_within = not is_within
        if part:
            if last != " " and (is_within or was_within) and is_edge(last, part[0]):
                joined.append(EDGE)
            joined.append(part)
            last, was_within = part[-1], is_within
    return "".join(joined)


def _has_many_tokens(text: str) -> bool:
    """Tell whether a text has so many tokens that its end may be left as typed."""
    if len(text) <= _MOST_TOKENS:
        return False
    signs = sum(map(text.count, _SIGNS)) + text.count("  ")
    if 2 * signs + 1 <= _MOST_TOKENS and text.replace("\n", "").isprintable():  # a run before and behind each
        return False
    return len(split_tokens(text)) > _MOST_TOKENS


def _resolve_part(before: str, text: str, behind: str) -> str | None:
    """Return a text without formulas, but with other TeX, resolved; None where that needs a full reading.

    Args:
        before: the character before it, "" for none.
        text: what to resolve.
        behind: the character behind it.
    """
    parts: list[str] = []
    place = 0
    for island in _ISLAND.finditer(text):
        start, end = island.span()
        left, right = text[start - 1 : start] or before, text[end : end + 1] or behind
        if left in _ADJACENT or right in _ADJACENT or _ENTANGLED.search(text, place, start):
            return _resolve_apart(before, text, behind)
        parts += text[place:start], _read_island(_CLASSES[left], island[0], _CLASSES[right])
        place = end
    if _ENTANGLED.search(text, place):
        return _resolve_apart(before, text, behind)
    return "".join((*parts, text[place:]))


def _resolve_apart(before: str, text: str, behind: str) -> str | None:
    """Return a text as `_resolve_part` does, read by itself where nothing in it reaches beyond."""
    if _STRUCTURE.search(text) or _REACHING.search(text) or not _is_balanced(text):
        return None
    return _read_island(_CLASSES[before], text, _CLASSES[behind])


def _are_formulas(text: str) -> bool:
    """Tell whether the dollars of a text pair up one after the other, though some may be money, or doubled."""
    dollars = [dollar.span() for dollar in _DOLLARS.finditer(text)]
    return find_formulas(text) == {
        opening[0]: closing for opening, closing in zip(dollars[::2], dollars[1::2], strict=True)
    }


class _Classes(dict[str, str]):
    """Character -> one that formulas take for the same beside them."""

    def __missing__(self, character: str) -> str:
        self[character] = found = "a" if character.isalpha() else "1" if character.isalnum() else ""
        return found


_CLASSES = _Classes()


@lru_cache(maxsize=2**15)
def _read_formula(before: str, formula: str, behind: str) -> str | None:
    """Return a formula between two characters, resolved; None where what it is depends on more of the text."""
    if not formula or _STRUCTURE.search(formula) or not _is_balanced(formula):
        return None
    reader = Reader(formula)
    reader.depth = 1  # as between its delimiters
    plain = join_parts(set_formula(reader.read(len(reader.tokens), _SETTING), before, behind))
    return plain if plain == plain.strip() else None  # not every character beside it allows a blank at its edge


@lru_cache(maxsize=2**12)
def _read_island(before: str, island: str, behind: str) -> str:
    """Return TeX between two characters, resolved."""
    reader = Reader(f"{before}{island}{behind}")
    end = len(before) + len(island)
    pieces = reader.read(len(reader.tokens), TexSetting())
    within = [piece for piece in pieces if len(before) <= piece.start < end]
    return "".join([piece.text for piece in mark_edges(reader.text, within, reader.noted_formulas)])


def _is_balanced(formula: str) -> bool:
    """Tell whether every brace of a formula has its partner within it."""
    depth = 0
    for brace in _BRACE.findall(formula) if "{" in formula or "}" in formula else ():
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0
