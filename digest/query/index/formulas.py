"""Reads common formulas as the TeX reader does, at a fraction of the price.

Edges between the parts of a formula are marked (`tex.parting`).

How a formula is set is a matter of blanks, and few of them part words: `x = 1` and `x=1` have the same ones.
So the parts of a formula, each read once, are put one behind the other as they are, unless a blank stands
between two that words might go across, or something else asks for a closer look.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from digest.query.words import cut_words
from digest.tex.commands import DECLARATIONS, TEXT_COMMANDS
from digest.tex.formulas import make_script, settle_script
from digest.tex.mathematics import DIVIDERS, FORMULA_COMMANDS
from digest.tex.parting import join_parts, join_texts, write_part
from digest.tex.reader import Reader, set_digits, set_formula, set_letters, set_sign
from digest.tex.symbols import MATH_ACCENTS, SYMBOLS
from digest.tex.tokens import DROPPED, Kind, Piece, Role, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_WORDY, _SCRIPT, _ENCLOSED, _SIGN, _OPERATOR, _POINT, _BLANK, _ASKED, _OTHER = "wseor, ~?"
"""What a piece is: `_SIGN`s and `_OPERATOR`s part words wherever they stand, and the first three may not. Of
`_ENCLOSED` scripts what follows decides whether they keep their parentheses. An `_OPERATOR` may stand off from
what follows its script, too. A `_POINT` keeps a blank behind it, and none before. A blank that was `_ASKED` for
may stand at an edge of the formula, where a `_BLANK` merely typed goes."""

_NEEDS_SETTING = re.compile(r"[wse][ ~]+[wse,]|ew|r[ ~]*[se]|\?|\A *~|~ *\Z")


def spell_formula(before: str, formula: str, behind: str) -> str | None:
    """Return plain text that has, between the same characters, the words of a formula; None as `set_parts`.

    Args:
        before: the character before the opening delimiter, "" for none.
        formula: without its delimiters.
        behind: the character behind the closing delimiter, "" for none.
    """
    parts = split_formula(formula)
    if not parts:
        return None if parts is None else ""
    texts, kinds = zip(*map(_spell_part, parts), strict=True)
    marks = "".join(kinds)
    if _NEEDS_SETTING.search(marks) or (behind.isalnum() and marks.rstrip().endswith(_ENCLOSED)):
        pieces = set_parts(before, formula, behind)
        return None if pieces is None else join_parts(pieces)
    return join_texts(chain.from_iterable(texts)).strip()


@lru_cache(maxsize=2**14)
def _spell_part(part: str) -> tuple[Sequence[str], str]:
    """Return the plain form of each piece of a part, and what each of them is."""
    pieces = read_part(part)
    if pieces is None:
        return (), _OTHER
    spelled = list(map(_spell_piece, pieces))
    return tuple([text for text, _ in spelled]), "".join([mark for _, mark in spelled])


def _spell_piece(piece: Piece) -> tuple[str, str]:
    if piece.kind is Kind.BLANK:
        return " ", _BLANK if piece.role is Role.LOOSE else _ASKED
    settled = settle_script(piece)
    if piece.kind is Kind.FRACTION or piece.role is Role.NAME or piece.text != piece.text.strip():
        return settled.text, _OTHER
    return write_part(settled), _classify(piece) if settled is piece else _ENCLOSED


def _classify(piece: Piece) -> str:
    if _is_sign(piece.text):
        return _OPERATOR if piece.role in (Role.INFIX, Role.RELATION) else _SIGN
    if piece.role is Role.PUNCTUATION:
        return _POINT
    return _SCRIPT if piece.role is Role.SCRIPT else _WORDY


def _is_sign(text: str) -> bool:
    """Tell whether words end before a text and begin behind it, whatever stands there."""
    return not text.isalnum() and all(cut_words(f"{beside}{text}{beside}") == [beside, beside] for beside in "a1")


_LONGEST: Final = 500
"""Within the longest run of plain characters that the reader takes for part of a formula."""

_ENTANGLED = re.compile(rf"--|''|\\(?:[()\[\]\\]|begin|end)|[$&~`{DROPPED}]")
"""What the reader looks around for, or what may reach beyond its part."""


def _name_any(names: Iterable[str]) -> str:
    """Return a pattern of any of some commands, by their first letters: branches are tried one by one."""
    by_letter = groupby(sorted(names), itemgetter(0))
    branches = (f"{letter}(?:{'|'.join(name[1:] for name in some)})" for letter, some in by_letter)
    return rf"\\(?:{'|'.join(branches)})(?![A-Za-z])"


def _spell_group(deeper: str) -> str:
    return rf"\{{(?:[^{{}}\\]|\\.|{deeper})*+\}}"


_GROUP = _spell_group(_spell_group(_spell_group(r"(?!)")))
_PLAIN_SYMBOLS = SYMBOLS.keys() - {*TEXT_COMMANDS, *FORMULA_COMMANDS, *DECLARATIONS, *DIVIDERS}
_SYMBOL = _name_any(_PLAIN_SYMBOLS)
_FACE = _name_any(
    "mathrm mathup mathsf mathtt mathnormal mathit mathbf boldsymbol bm pmb mathbb Bbb mathds mathbbm "  # noqa: SIM905 - as quoted words they read worse
    "mathcal mathscr mathfrak text textrm textit textbf mbox operatorname".split()
)
_ACCENT = _name_any([name for name in MATH_ACCENTS if name != "not"])
_FRACTION = _name_any(["frac", "dfrac", "tfrac"])
_MOVE = _name_any(
    "big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr displaystyle limits quad qquad".split()  # noqa: SIM905 - as above
)
_ARGUMENT = rf"\s?(?:{_GROUP}|[A-Za-z0-9]|{_SYMBOL})"
_PART = re.compile(
    rf"""
      [A-Za-z]+ | [0-9]+(?:[.,][0-9]+)* | \s+ | -> | :=
    | (?!(?<=[A-Za-z]{{3}})-[A-Za-z]{{3}}) [^\\{{}}^_\s]
    | {_SYMBOL}(?:\{{\}})?
    | [_^](?:\s?(?:{_GROUP}|[A-Za-z0-9*+-]|{_SYMBOL}|(?:{_FACE}|{_ACCENT}){_ARGUMENT}))
    | (?:{_FACE}|{_ACCENT}|\\sqrt(?![A-Za-z])){_ARGUMENT}
    | {_FRACTION}{_ARGUMENT}{_ARGUMENT}
    | \\(?:left|right)(?:[.()\[\]|<>/]|\\[{{}}|])
    | {_MOVE}
    | \\[,;:!>|{{}}%#_/\s]
    | {_GROUP}
    """,
    re.VERBOSE,
)

_SCRIPTS = {"_": Kind.SUBSCRIPT, "^": Kind.SUPERSCRIPT}
_SETTING = Setting(is_formula=True)


def set_parts(before: str, formula: str, behind: str) -> list[Piece] | None:
    """Return what stands between a formula's delimiters as pieces in a row; None where that takes the reader.

    Args:
        before: the character before the opening delimiter, "" for none.
        formula: without its delimiters.
        behind: the character behind the closing delimiter, "" for none.
    """
    parts = split_formula(formula)
    pieces = None if parts is None else _read_all(parts, 1)
    return None if pieces is None else set_formula(pieces, before, behind)


def split_formula(formula: str) -> list[str] | None:
    """Return a formula without its delimiters as its parts; None where that takes the reader."""
    if not formula.isascii() or len(formula) > _LONGEST or _ENTANGLED.search(formula):
        return None
    return _split(formula)


def _split(formula: str) -> list[str] | None:
    parts: list[str] = _PART.findall(formula)
    return parts if sum(map(len, parts)) == len(formula) else None


def _read_all(parts: Iterable[str], depth: int) -> list[Piece] | None:
    """Return parts as pieces that are not yet in a row; None as above.

    Args:
        parts: of a formula, or of what one has in braces.
        depth: how many groups are around them for the reader.
    """
    pieces: list[Piece] = []
    for part in parts:
        read = read_part(part, depth)
        if read is None:
            return None
        pieces += read
    return pieces


@lru_cache(maxsize=2**14)
def read_part(part: str, depth: int = 1) -> Sequence[Piece] | None:
    """Return a part as pieces that are not yet in a row; None where that takes the reader.

    Args:
        part: what to read.
        depth: how many groups are around it for the reader.
    """
    plain = _read_plain_part(part)
    if plain is not None:
        return (plain,)
    kind = _SCRIPTS.get(part[0])
    if kind is not None and (inside := _read_script(part[1:], depth)) is not None:
        return make_script(kind, 0, len(part), inside)
    reader = Reader(part)
    reader.depth = depth
    pieces = reader.read(len(reader.tokens), _SETTING)
    # What was printed as typed might be more than that with what follows it.
    return None if any("\\" in piece.text for piece in pieces) else pieces


def _read_script(script: str, depth: int) -> Sequence[Piece] | None:
    """Return what is raised or lowered, read; None where the reader has to."""
    if script[0] == "{":
        parts = _split(script[1:-1])
        return None if parts is None else _read_all(parts, depth + 1)
    plain = _read_plain_part(script)
    return plain and (plain,)


def _read_plain_part(part: str) -> Piece | None:
    """Return letters, a number, a sign, a symbol or a blank as a piece; None where a part is more than that."""
    end = len(part)
    if part.isalpha():
        return set_letters(0, end, part, _SETTING)
    if part[0].isdigit():
        return set_digits(0, end, part, _SETTING)
    if part[0] == "\\":
        symbol = SYMBOLS.get(part[1:]) if part[1:] in _PLAIN_SYMBOLS else None
        return symbol and Piece(0, end, Kind.SYMBOL, *symbol[:1], role=symbol[1])
    if part.isspace():
        return Piece(0, end, Kind.BLANK, "\n" if "\n" in part and end > 1 else " ", role=Role.LOOSE)
    is_sign = (end == 1 and part not in "'{}^_") or part in {"->", ":="}
    return set_sign(0, end, part, _SETTING) if is_sign else None
