r"""Texts joined into one, their TeX resolved: by the thousand, and quickly.

What isn't ASCII has a token in its place, so that all of it may be handled as ASCII, which takes a fraction of the
time.

Most TeX in titles and abstracts is formulas between dollars in otherwise plain sentences, and the same ones
come again and again: `$\alpha$`, `$z$`, `$10^{-3}$`. Where a text is of that kind, its formulas are read one by
one and remembered; every other text with TeX is read as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from digest.query.formula_words import spell_formula
from digest.query.word_runs import FENCE, SEPARATOR
from digest.tex import parse_words
from digest.tex.cursor import Setting
from digest.tex.dollars import find_formulas
from digest.tex.formulas import allows_blank_before, allows_blank_behind
from digest.tex.parting import EDGE, is_edge, mark_edges
from digest.tex.reading import Reader
from digest.tex.tokens import DROPPED, split_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_STRAY = "\x02"
"""What stands for the control characters of texts."""

_JOINING = ".,;'"
"""The signs that may stand within a word."""

_PARTED = {
    code: chr(code).lower() if chr(code).isalnum() or chr(code) in f"_{_JOINING}" else " " for code in range(128)
}
"""Signs that part words wherever they stand go; words are looked at in lower case anyhow."""
_PARTED |= {code: _STRAY for code in range(128) if re.match(rf"[{DROPPED}]", chr(code))}
_PARTED |= {ord(sign): sign for sign in (SEPARATOR, FENCE)}

_NEEDS_READING = re.compile(rf"[\\${DROPPED}]")
_DROPPED = re.compile(rf"[{DROPPED}]")

_MOST_TOKENS: Final = 650
"""`parse_words` leaves what follows more tokens as typed; texts that come near are left to it. Where the most they
can have is not too many, they need not be counted."""

_WITHIN_RUNS: Final = bytes(code for code in range(32, 127) if chr(code) not in "\\{}^$_&~`'-")
"""What never begins a token but the one after another, but for two blanks; of what is left, each is the start of
one."""

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
_AMOUNT = re.compile(r"\s?[0-9]")
_TEX = re.compile(r"[\\^_{}=<>]")


class Joined(NamedTuple):
    """Texts as one text in ASCII, in lower case: its words, in order, are those of the texts.

    Attributes:
        text: of each text, `SEPARATOR` and what it is; between blanks, and with no other white space.
        fillings: what is not ASCII in them, a number between `FENCE`s in its place.
    """

    text: str
    fillings: Sequence[str]

    def fill(self, piece: str) -> str:
        """Return a part of the text with what is not ASCII in its place; it may have white space then."""
        if FENCE not in piece:
            return piece
        parts = piece.split(FENCE)
        parts[1::2] = [self.fillings[int(number)] for number in parts[1::2]]
        return "".join(parts)


def join_texts(texts: Sequence[str]) -> Joined:
    """Join texts, their TeX resolved."""
    together = "".join(texts)
    if SEPARATOR in together or FENCE in together:
        texts = [text.replace(SEPARATOR, _STRAY).replace(FENCE, _STRAY) for text in texts]
    fillings = _Fillings()
    spelled = list(map(fillings.spell, texts))
    joined = _join(spelled)
    if _STRAY in joined:
        for place, text in enumerate(joined.split(SEPARATOR)[1:]):
            if _STRAY in text:
                spelled[place] = fillings.spell_as_read(texts[place])
        joined = _join(spelled)
    return Joined(joined, list(fillings))


def _join(spelled: Iterable[str]) -> str:
    return f" {SEPARATOR} ".join(("", *spelled)).translate(_PARTED) + " "


class _Fillings(dict[str, str]):
    """What is not ASCII -> what stands in its place."""

    def __missing__(self, filling: str) -> str:
        self[filling] = place = f"{FENCE}{len(self)}{FENCE}"
        return place

    def spell(self, text: str) -> str:
        """Return a text as ASCII, its TeX resolved."""
        if text.isascii():
            if "$" not in text and "\\" not in text:
                return text
        elif not _NEEDS_READING.search(text):
            return self._spell_plain(text)
        elif _DROPPED.search(text):
            return self.spell_as_read(text)
        resolved = self._resolve_islands(text)
        return self.spell_as_read(text) if resolved is None else resolved

    def spell_as_read(self, text: str) -> str:
        """Return a text as ASCII, read as a whole: without the control characters it has."""
        return self._spell_plain(_resolve(text))

    def _spell_plain(self, text: str) -> str:
        """Return a text without TeX as ASCII."""
        if text.isascii():
            return text
        return " ".join([word if word.isascii() else self[word] for word in text.split()])

    def _put(self, plain: str) -> str:
        """Return what stands in the place of a text."""
        return plain if plain.isascii() else self[plain]

    def _resolve_islands(self, text: str) -> str | None:
        """Return a text of plain sentences, its formulas and other TeX resolved; None where it is no such text."""
        if _has_many_tokens(text):
            return None
        has_doubled = "$$" in text
        parts = _DOLLARS.split(text) if has_doubled else text.split("$")
        if not len(parts) % 2:
            return None
        last = len(parts) - 1
        is_unsure = has_doubled
        put = self._put if text.isascii() else str
        resolved = parts.copy()
        for place in range(1, last, 2):
            before, behind = _CLASSES[parts[place - 1][-1:]], _CLASSES[parts[place + 1][:1]]
            formula = _read_formula(before, parts[place], behind)
            if formula is None:
                return None
            is_unsure = is_unsure or formula.is_amount
            resolved[place] = formula.plain
            if formula.is_set_off:
                resolved[place] = _drop_blanks(parts[place - 1][-1:], formula.plain, parts[place + 1][:1])
        hides_edges = not all(resolved[1:last:2])  # what shows beside an empty one may be of another
        if hides_edges or (is_unsure and not _are_formulas(text)):
            return None
        for place in range(0, last + 1, 2):
            part = parts[place]
            if "\\" in part or "{" in part or "}" in part:
                plain = _resolve_part("$" if place else "", part, "$" if place < last else "", put)
                if plain is None or (place and plain[:1] == FENCE) or (place < last and plain[-1:] == FENCE):
                    return None  # what stands beside the formula is not seen
                resolved[place] = plain
        joined = _join_parts(resolved, put)
        return joined if put is not str else self._spell_plain(joined)


def _join_parts(parts: Sequence[str], put: Callable[[str], str]) -> str:
    """Join what stands outside of formulas and, put so, what stands within, in turn; edges are marked."""
    joined: list[str] = []
    last = " "
    was_within = is_within = True
    for part in parts:
        is_within = not is_within
        if part:
            if last != " " and (is_within or was_within) and is_edge(last, part[0]):
                joined.append(EDGE)
            joined.append(put(part) if is_within else part)
            last, was_within = part[-1], is_within
    return "".join(joined)


def _resolve(text: str) -> str:
    return "".join([piece.text for piece in parse_words(text)])


def _has_many_tokens(text: str) -> bool:
    """Tell whether a text has so many tokens that its end may be left as typed."""
    if len(text) <= _MOST_TOKENS:
        return False
    if text.isascii():
        signs = len(text.encode("ascii").translate(None, _WITHIN_RUNS)) + text.count("  ")
        if 2 * signs + 3 <= _MOST_TOKENS:  # a run before and behind each, and a blank at the end
            return False
    return len(split_tokens(text)) > _MOST_TOKENS


def _resolve_part(before: str, text: str, behind: str, put: Callable[[str], str]) -> str | None:
    """Return a text without formulas, but with other TeX, resolved; None where that needs a closer look.

    Args:
        before: the character before it, "" for none.
        text: what to resolve.
        behind: the character behind it.
        put: what to make of each bit of TeX resolved.
    """
    parts: list[str] = []
    place = 0
    for island in _ISLAND.finditer(text):
        start, end = island.span()
        left, right = text[start - 1 : start] or before, text[end : end + 1] or behind
        if left in _ADJACENT or right in _ADJACENT or _ENTANGLED.search(text, place, start):
            return _resolve_apart(before, text, behind, put)
        parts += text[place:start], put(_read_island(_CLASSES[left], island[0], _CLASSES[right]))
        place = end
    if _ENTANGLED.search(text, place):
        return _resolve_apart(before, text, behind, put)
    return "".join((*parts, text[place:]))


def _resolve_apart(before: str, text: str, behind: str, put: Callable[[str], str]) -> str | None:
    """Return a text as `_resolve_part` does, read by itself where nothing in it reaches beyond."""
    if _STRUCTURE.search(text) or _REACHING.search(text) or not _is_balanced(text):
        return None
    return put(_read_island(_CLASSES[before], text, _CLASSES[behind]))


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


class _Formula(NamedTuple):
    """A formula as plain text with its words.

    Attributes:
        plain: the text.
        is_amount: whether its dollars may be money.
        is_set_off: whether it begins or ends with a blank, which not every character beside it allows.
    """

    plain: str
    is_amount: bool
    is_set_off: bool


@lru_cache(maxsize=2**15)
def _read_formula(before: str, formula: str, behind: str) -> _Formula | None:
    """Return a formula between two characters, resolved; None where what it is depends on more of the text."""
    plain = spell_formula(before, formula, behind) if formula else None
    if plain is None:
        if not formula or _STRUCTURE.search(formula) or not _is_balanced(formula):
            return None
        plain = _read_island(before, f"\\({formula}\\)", behind)  # which needs no search for dollars
    is_amount = _AMOUNT.match(formula) is not None and not _TEX.search(formula)
    return _Formula(plain, is_amount, plain != plain.strip())


def _drop_blanks(before: str, plain: str, behind: str) -> str:
    """Return a formula as plain text without the blanks that the characters beside it do not allow."""
    if not allows_blank_behind(before):
        plain = plain.lstrip()
    return plain if allows_blank_before(behind) else plain.rstrip()


@lru_cache(maxsize=2**12)
def _read_island(before: str, island: str, behind: str) -> str:
    """Return TeX between two characters, resolved."""
    reader = Reader(f"{before}{island}{behind}")
    end = len(before) + len(island)
    pieces = reader.read(len(reader.tokens), Setting())
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
