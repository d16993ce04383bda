r"""Formulas set as plain text part by part: the same as the reader's, for those who read them by the thousand.

Most formulas are a few parts one behind the other, each of which means the same wherever it stands: `x`, `=`,
`\alpha`, `_{ij}`, `\mathbb{R}`. A part is read once, by the reader itself, and remembered; only the row of
them, which decides on blanks, is set for each formula anew. What is no such row is left to the reader.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from digest.tex.alphabets import MATH_ACCENTS
from digest.tex.cursor import Setting
from digest.tex.formulas import make_script
from digest.tex.mathematics import DIVIDERS, FORMULA_COMMANDS
from digest.tex.pieces import Kind
from digest.tex.reading import Reader, set_formula
from digest.tex.symbols import SYMBOLS
from digest.tex.tokens import DROPPED
from digest.tex.words import DECLARATIONS, TEXT_COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from digest.tex.pieces import Piece


_LONGEST: Final = 500
"""Within the longest run of plain characters that the reader takes for part of a formula."""

_ENTANGLED = re.compile(rf"--|''|\\(?:[()\[\]\\]|begin|end)|[$&~`{DROPPED}]")
"""What the reader looks around for, or what may reach beyond its part."""


def _name_any(names: Iterable[str]) -> str:
    return rf"\\(?:{'|'.join(sorted(names, key=len, reverse=True))})(?![A-Za-z])"


def _spell_group(deeper: str) -> str:
    return rf"\{{(?:[^{{}}\\]|\\.|{deeper})*+\}}"


_GROUP = _spell_group(_spell_group(_spell_group(r"(?!)")))
_SYMBOL = _name_any([*(SYMBOLS.keys() - {*TEXT_COMMANDS, *FORMULA_COMMANDS, *DECLARATIONS, *DIVIDERS})])
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

_SCRIPTS = {"_{": Kind.SUBSCRIPT, "^{": Kind.SUPERSCRIPT}


def write_formula(before: str, formula: str, behind: str) -> str | None:
    """Return what stands between a formula's delimiters as plain text; None where that takes the reader.

    Args:
        before: the character before the opening delimiter, "" for none.
        formula: without its delimiters.
        behind: the character behind the closing delimiter, "" for none.
    """
    if not formula.isascii() or len(formula) > _LONGEST or _ENTANGLED.search(formula):
        return None
    pieces = _read_parts(formula, 1)
    return None if pieces is None else "".join([piece.text for piece in set_formula(pieces, before, behind)])


def _read_parts(formula: str, depth: int) -> list[Piece] | None:
    """Return a formula, or what one has in braces, as pieces that are not yet in a row; None as above.

    Args:
        formula: what to read.
        depth: how many groups are around it for the reader.
    """
    parts = _PART.findall(formula)
    if sum(map(len, parts)) != len(formula):
        return None
    pieces: list[Piece] = []
    for part in parts:
        read = _read_part(part, depth)
        if read is None:
            return None
        pieces += read
    return pieces


@lru_cache(maxsize=2**14)
def _read_part(part: str, depth: int) -> Sequence[Piece] | None:
    kind = _SCRIPTS.get(part[:2])
    if kind and (inside := _read_parts(part[2:-1], depth + 1)) is not None:
        return make_script(kind, 0, len(part), inside)
    reader = Reader(part)
    reader.depth = depth
    pieces = reader.read(len(reader.tokens), Setting(is_formula=True))
    # What was printed as typed might be more than that with what follows it.
    return None if any("\\" in piece.text for piece in pieces) else pieces
