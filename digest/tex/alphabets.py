# ruff: noqa: RUF001 - mathematical letters are look-alikes by design
"""Mathematical letters, raised and lowered characters, and accents in Unicode.

The letters are the block Mathematical Alphanumeric Symbols (U+1D400 ff.) with the holes Unicode left where
a letter existed before (https://www.unicode.org/charts/PDF/U1D400.pdf); the raised and lowered ones are
scattered over eight blocks.
"""

from __future__ import annotations

import unicodedata

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_DIGITS = "0123456789"
_GREEK_UPPER = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇"
_GREEK_LOWER = "αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ"


def _block(characters: str, first: int, exceptions: str = "") -> dict[str, str]:
    block = {character: chr(first + place) for place, character in enumerate(characters)}
    return block | dict(zip(exceptions[::2], exceptions[1::2], strict=True))


def _shifted(characters: str, others: str) -> dict[str, str]:
    return dict(zip(characters, others, strict=True))


CALLIGRAPHIC = _block(_UPPER, 0x1D49C, "BℬEℰFℱHℋIℐLℒMℳRℛ") | _block(_LOWER, 0x1D4B6, "eℯgℊoℴ")
FRAKTUR = _block(_UPPER, 0x1D504, "CℭHℌIℑRℜZℨ") | _block(_LOWER, 0x1D51E)
BLACKBOARD = _block(_UPPER, 0x1D538, "CℂHℍNℕPℙQℚRℝZℤ") | _block(_LOWER, 0x1D552) | _block(_DIGITS, 0x1D7D8)
BOLD = (
    _block(_UPPER, 0x1D400)
    | _block(_LOWER, 0x1D41A)
    | _block(_DIGITS, 0x1D7CE)
    | _block(_GREEK_UPPER, 0x1D6A8)
    | _block(_GREEK_LOWER, 0x1D6C2)
)

RAISED = _shifted(
    "0123456789+−-=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεϵθφϕχ",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᵋᶿᵠᶲᵡ",
)
LOWERED = _shifted(
    "0123456789+−-=()aehijklmnoprstuvxβγρφϕχ",
    "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵩᵪ",
)

RAISED_BY_NATURE = {"*": "*", "∗": "*", "′": "′", "∘": "°", "°": "°", "†": "†", "‡": "‡", "″": "″"}
"""Signs whose glyph stands high already: `C^*` is `C*`, `90^\\circ` is `90°`."""
LOWERED_BY_CUSTOM = frozenset("⊙⊕☉")
"""Sun and Earth, read as an index without being lowered: `M⊙`."""

TEXT_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
    "b": "\u0331",
    "t": "\u0361",
}
"""Accents of text mode: the control sequence's name and the combining character."""

MATH_ACCENTS = {
    "grave": "\u0300",
    "acute": "\u0301",
    "hat": "\u0302",
    "widehat": "\u0302",
    "Hat": "\u0302",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "bar": "\u0304",
    "overline": "\u0305",
    "breve": "\u0306",
    "dot": "\u0307",
    "ddot": "\u0308",
    "mathring": "\u030a",
    "check": "\u030c",
    "widecheck": "\u030c",
    "underline": "\u0332",
    "underbar": "\u0332",
    "not": "\u0338",
    "vec": "\u20d7",
    "overrightarrow": "\u20d7",
    "overleftarrow": "\u20d6",
    "dddot": "\u20db",
    "overleftrightarrow": "\u20e1",
}
"""Accents of formulas."""

_BELOW = frozenset("\u0323\u0327\u0328\u0331\u0332")
_WITH_DOT = str.maketrans("ıȷ", "ij")


def compose(text: str, accent: str) -> str:
    """Put a combining character on the first character of `text`; the result is in NFC.

    A dotless letter gets its dot back under an accent from above, where Unicode expects it.
    """
    first = text[0] if accent in _BELOW else text[0].translate(_WITH_DOT)
    rest = text[1:]
    while rest and unicodedata.combining(rest[0]):
        first, rest = first + rest[0], rest[1:]
    return unicodedata.normalize("NFC", first + accent) + rest


def set_in(text: str, alphabet: dict[str, str]) -> str:
    """Write `text` in the letters of an alphabet; what it does not have stays."""
    return "".join([alphabet.get(character, character) for character in text])


def shift(text: str, table: dict[str, str]) -> str | None:
    """Raise or lower `text`, None where a character of it has no such form."""
    shifted = [table.get(character, "") for character in text]
    return "".join(shifted) if all(shifted) else None
