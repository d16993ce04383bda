"""Pieces and the raw text they stand for."""

from __future__ import annotations

from digest.tex import PieceKind, TexPiece, parse_tex


def found(text: str, part: str) -> TexPiece:
    """The piece that prints `part`."""
    return next(piece for piece in parse_tex(text) if piece.text == part)


def raw(text: str, part: str) -> str:
    """The raw text of the piece that prints `part`."""
    piece = found(text, part)
    return text[piece.start : piece.end]


def test_plain_text_is_one_piece() -> None:
    text = "Plain words, 10^-3 and a_b: {1} & more"
    assert parse_tex(text) == (TexPiece(0, len(text), PieceKind.TEXT, text),)


def test_a_symbol_stands_for_its_command() -> None:
    assert raw(r"the $\alpha$ decay", "α") == r"\alpha"


def test_an_accented_letter_stands_for_the_accent_and_its_argument() -> None:
    assert raw(r"Erd\H{o}s", "ő") == r"\H{o}"
    assert raw(r"R\'enyi", "é") == r"\'e"


def test_a_script_stands_for_its_sign_and_argument() -> None:
    assert raw(r"$x^{10}_2$", "¹⁰") == "^{10}"
    assert raw(r"$x^{10}_2$", "₂") == "_2"


def test_the_parts_of_a_script_are_inside_it() -> None:
    piece = found(r"$x^{3/2}$", "^(3/2)")
    assert piece.kind is PieceKind.SUPERSCRIPT
    assert [part.text for part in piece.inside] == ["3", "/", "2"]


def test_the_parts_of_a_fraction_stand_for_its_arguments() -> None:
    text = r"$\frac{1+n}{2}$"
    assert [
        text[piece.start : piece.end] for piece in parse_tex(text) if piece.text in "1+n/2"
    ] == [
        "1+",
        "n",
        "}{",
        "2",
    ]


def test_unknown_commands_are_text() -> None:
    text = r"the \civ{a} line"
    assert parse_tex(text) == (TexPiece(0, len(text), PieceKind.TEXT, text),)


def test_variables_are_set_in_italics_and_function_names_are_not() -> None:
    assert found(r"$\log x$", "x").tags == ("i",)
    assert found(r"$\log x$", "log").tags == ()


def test_what_is_nested_too_deep_is_printed_as_typed() -> None:
    text = "$" + 30 * "{x" + 30 * "}" + "$"
    assert "{x{x{x" in "".join(piece.text for piece in parse_tex(text))


def test_what_is_too_long_for_any_abstract_is_printed_as_typed() -> None:
    assert parse_tex(5_000 * r"\alpha ")[-1].text.endswith(r"\alpha ")
