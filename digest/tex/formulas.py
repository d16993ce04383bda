"""Sets the parts of a formula in a row, with the blanks and parentheses that a reader needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from digest.tex.symbols import LOWERED, LOWERED_BY_CUSTOM, RAISED, RAISED_BY_NATURE, shift
from digest.tex.tokens import PieceKind, Role, TexPiece

_OPERANDS = frozenset({Role.WORD, Role.VARIABLE, Role.NUMBER, Role.NAME, Role.BIG})
_FACTORS = frozenset({Role.WORD, Role.VARIABLE, Role.NUMBER, Role.NAME, Role.CLOSE})
_FACTORS_AFTER = _OPERANDS | {Role.OPEN, Role.SCRIPT}
_INFIX = frozenset({Role.INFIX, Role.RELATION})
_OF_SUMS = _INFIX | {Role.NAME}
_NO_LEFT_OPERAND = _INFIX | {Role.OPEN, Role.PUNCTUATION, Role.NAME, Role.BIG}
_SETTLED = frozenset({PieceKind.TEXT, PieceKind.SYMBOL})
_APART = frozenset({PieceKind.BLANK, PieceKind.FRACTION})
_STANDING_OFF = frozenset({Role.RELATION, Role.NAME})
"""Without any of these kinds and roles, there is nothing to decide about blanks."""

NO_BLANK_AFTER = frozenset("([{~-–/“‘`")  # noqa: RUF001 - the quotation mark is meant
NO_BLANK_BEFORE = frozenset(")]}~-–/”’'.,;:!?")
"""Characters beside a formula that no blank parts from it."""

_PARENTHESISED = re.compile(r"([\^_])\((.+)\)", re.DOTALL)
_DIFFERENTIAL = re.compile(r"d\w")


def arrange(
    pieces: Sequence[TexPiece], *, is_script: bool = False, followed_by: str = ""
) -> list[TexPiece]:
    """Set a formula; one that is raised or lowered (`is_script`) keeps blanks between words only.

    An operator keeps the blanks it was typed with, on both sides or on neither. One without a left
    operand is a sign and gets none. A blank parts the name of a function from what it is applied
    to. `followed_by` is the character after the formula, which an index must not run into.
    """
    if not pieces or (len(pieces) == 1 and pieces[0].kind in _SETTLED):
        return list(pieces)
    kinds = [piece.kind for piece in pieces]
    if _APART.isdisjoint(kinds) and _STANDING_OFF.isdisjoint([piece.role for piece in pieces]):
        return _settle_scripts(list(pieces), followed_by)
    row = _Row(is_script=is_script)
    if PieceKind.FRACTION in kinds:
        pieces = _expand_fractions(pieces, is_script=is_script)
        kinds = [piece.kind for piece in pieces]
    for piece, after in zip(pieces, (*kinds[1:], None), strict=True):
        if piece.kind is not PieceKind.BLANK:
            row.add(piece, is_last=after is None, has_blank_after=after is PieceKind.BLANK)
        elif row.blank is None or row.blank.role is Role.LOOSE:
            row.blank = piece  # one that the author asked for outweighs one that was merely typed
    return _settle_scripts(row.pieces, followed_by)


def find_requested_blank(pieces: Iterable[TexPiece]) -> TexPiece | None:
    r"""Return the blank that the first pieces ask for, as `\,` or `~` does, or None."""
    for piece in pieces:
        if piece.kind is not PieceKind.BLANK:
            return None
        if piece.role is not Role.LOOSE:
            return piece._replace(text=" ")
    return None


def make_script(
    kind: PieceKind, start: int, end: int, pieces: Sequence[TexPiece]
) -> list[TexPiece]:
    """Raise or lower `pieces`: in Unicode if each character has such a form, else `^(…)`, `_(…)`.

    What is lowered within nothing but a lowered part, as in `s_{_{NN}}`, is set smaller and means
    the same.
    """
    others = [piece for piece in pieces if piece.kind is not PieceKind.BLANK]
    if len(others) == 1 and others[0].kind is kind:
        return [others[0]._replace(start=start, end=end)]
    inside = tuple(arrange(pieces, is_script=True))
    text = "".join([piece.text for piece in inside]).strip()
    if not text:
        return []
    if kind is not PieceKind.SUPERSCRIPT:
        if text in LOWERED_BY_CUSTOM:
            return [TexPiece(start, end, PieceKind.SYMBOL, text, role=Role.SCRIPT)]
        plain = shift(text, LOWERED) or f"_({text})"
    elif RAISED_BY_NATURE.keys() >= set(text):
        primes = "".join([RAISED_BY_NATURE[character] for character in text])
        raised = primes.replace("\N{PRIME}\N{PRIME}", "\N{DOUBLE PRIME}")
        return [TexPiece(start, end, PieceKind.SYMBOL, raised, role=Role.SCRIPT)]
    else:
        text = text.replace("∗", "*")
        plain = shift(text, RAISED) or f"^({text})"
    return [TexPiece(start, end, kind, plain, role=Role.SCRIPT, inside=inside)]


def make_fraction(
    start: int, end: int, above: Sequence[TexPiece], below: Sequence[TexPiece]
) -> TexPiece:
    """Make a fraction of two parts; `arrange` sets it when it knows what is beside it."""
    over: Sequence[TexPiece] = arrange(above)
    under: Sequence[TexPiece] = arrange(below)
    slash_start = over[-1].end if over else start
    slash_end = under[0].start if under else end
    slash = TexPiece(slash_start, slash_end, PieceKind.SYMBOL, "/", role=Role.BAR)
    if _is_sum(over):
        over = _enclose(over, start, slash_start)
    if _is_sum(under) or _is_product(under):
        under = _enclose(under, slash_end, end)
    inside = (*over, slash, *under)
    return TexPiece(start, end, PieceKind.FRACTION, "", role=Role.NUMBER, inside=inside)


def _enclose(pieces: Sequence[TexPiece], start: int, end: int) -> Sequence[TexPiece]:
    """Put pieces between parentheses."""
    first = max(start, pieces[0].start)
    last = min(pieces[-1].end, end)
    opening = TexPiece(start, first, PieceKind.SYMBOL, "(", role=Role.OPEN)
    closing = TexPiece(last, end, PieceKind.SYMBOL, ")", role=Role.CLOSE)
    return (opening, *pieces, closing)


def _is_sum(pieces: Sequence[TexPiece]) -> bool:
    """Whether a slash beside the pieces would take hold of a part of them only."""
    return any(piece.role in _OF_SUMS or piece.text == "/" for piece in pieces[1:])


def _is_product(pieces: Sequence[TexPiece]) -> bool:
    printed = [piece for piece in pieces if piece.kind is not PieceKind.BLANK]
    factors = [piece for piece in printed if piece.role is not Role.SCRIPT]
    if not factors:
        return False
    first = factors[0]
    if len(factors) == 1:
        return is_several_letters(first) and not _DIFFERENTIAL.fullmatch(first.text)
    is_enclosed = first.role is Role.OPEN and factors[-1].role is Role.CLOSE
    return not is_enclosed


def is_several_letters(piece: TexPiece) -> bool:
    """Whether a piece is letters in italics, each a variable of its own, and no upright word."""
    is_in_italics = piece.tags[-1:] == ("i",)
    return is_in_italics and len(piece.text) > 1


def _expand_fractions(pieces: Sequence[TexPiece], *, is_script: bool) -> list[TexPiece]:
    expanded: list[TexPiece] = []
    for place, piece in enumerate(pieces):
        if piece.kind is not PieceKind.FRACTION:
            expanded.append(piece)
        elif _has_factor_beside(pieces, place, is_script=is_script):
            expanded += _enclose(piece.inside, piece.start, piece.end)
        else:
            expanded += piece.inside
    return expanded


def _has_factor_beside(pieces: Sequence[TexPiece], place: int, *, is_script: bool) -> bool:
    left = _find_printed(reversed(pieces[max(0, place - 2) : place]))
    if left is not None and (left.role in _FACTORS or left.role is Role.SCRIPT):
        return True
    right = _find_printed(pieces[place + 1 : place + 3])
    if right is None:
        return False
    if right.role is Role.WORD and not is_several_letters(right):
        # An upright word after a blank is no factor but a unit or a remark: `3/2 GeV`, `1/2 if`.
        is_beside = is_script or right is pieces[place + 1]
        return is_beside and right.text[:1].isalpha()
    return right.role in _FACTORS_AFTER


def _find_printed(pieces: Iterable[TexPiece]) -> TexPiece | None:
    for piece in pieces:
        if piece.kind is not PieceKind.BLANK:
            return piece
    return None


def _settle_scripts(pieces: list[TexPiece], followed_by: str) -> list[TexPiece]:
    """Drop the parentheses of each script that is one sign, or a word that nothing runs into."""
    for place, piece in enumerate(pieces):
        bracketed = _PARENTHESISED.fullmatch(piece.text) if piece.inside else None
        if bracketed is None:
            continue
        after = followed_by
        if place + 1 < len(pieces):
            following = pieces[place + 1]
            after = "" if following.role is Role.SCRIPT else following.text[:1]
        sign, inner = bracketed.groups()
        # Letters of a script within the script go on as if they were its own: `x^(yᶻ)`, `x_(iⱼ)`.
        has_script = any(part.role is Role.SCRIPT for part in piece.inside)
        is_word = inner.isalpha() and not after.isalnum() and not has_script
        is_one_sign = len(inner) == 1 and not inner.isalnum()
        if is_word or is_one_sign:
            pieces[place] = piece._replace(text=sign + inner)
    return pieces


class _Row:
    """The pieces set so far, and what has to be remembered to set the next one."""

    def __init__(self, *, is_script: bool) -> None:
        self.pieces: list[TexPiece] = []
        self.is_script = is_script
        self.left_role = Role.OPEN
        self.left_is_symbol = False
        self.left_is_sign = False
        self.left_is_spaced = False
        self.blank: TexPiece | None = None

    def add(self, piece: TexPiece, *, is_last: bool, has_blank_after: bool) -> None:
        role = piece.role
        starts_operand = self.left_role in _INFIX and self.blank is not None  # as in `- ^1P_1`
        if role is not Role.SCRIPT or starts_operand:
            is_infix = role in _INFIX
            is_sign = is_infix and self.left_role in _NO_LEFT_OPERAND
            is_typed = has_blank_after or self.blank is not None
            is_spaced = not is_last and (is_typed or role is Role.RELATION)
            is_operator = is_infix and not is_sign
            if self.pieces and self._wants_blank(piece, is_infix=is_operator, is_spaced=is_spaced):
                self._add_blank(piece.start)
            self.left_role = Role.OPEN if role is Role.SCRIPT else role
            self.left_is_symbol = piece.kind is not PieceKind.TEXT
            self.left_is_sign = is_sign
            self.left_is_spaced = is_spaced
        self.pieces.append(piece)
        self.blank = None

    def _add_blank(self, place: int) -> None:
        """Add the blank that was typed, or one that was not."""
        if self.blank is not None:
            self.pieces.append(self.blank._replace(text=" "))
        else:
            self.pieces.append(TexPiece(place, place, PieceKind.BLANK, " ", role=Role.LOOSE))

    def _wants_blank(self, piece: TexPiece, *, is_infix: bool, is_spaced: bool) -> bool:
        if piece.role in (Role.CLOSE, Role.PUNCTUATION):
            return False
        if self.is_script:
            return self._wants_blank_in_script(piece)
        if self.left_role in _INFIX:
            return self.left_is_spaced and not self.left_is_sign
        if is_infix:
            return is_spaced
        return self._wants_blank_between(piece)

    def _wants_blank_in_script(self, piece: TexPiece) -> bool:
        left_role = self.left_role
        if Role.NAME in (left_role, piece.role):
            return self._wants_blank_between(piece)
        are_words = left_role is Role.WORD and piece.role is Role.WORD
        return are_words and self.blank is not None

    def _wants_blank_between(self, piece: TexPiece) -> bool:
        if self.left_role is Role.OPEN:
            return False
        if self.left_role is Role.NAME and piece.role in _OPERANDS:
            return True
        if piece.role is Role.NAME and self.left_role in _FACTORS:
            return True
        if self.blank is not None and self.blank.role is Role.LOOSE and self._is_glued_to(piece):
            return False
        return self.blank is not None

    def _is_glued_to(self, piece: TexPiece) -> bool:
        r"""Whether TeX would ignore the blank and a reader does not miss it.

        `2 \pi`, `K \pi`, `f (x)`.
        """
        left_role = self.left_role
        if left_role is Role.VARIABLE and piece.role in (Role.VARIABLE, Role.OPEN):
            return True
        if left_role is Role.VARIABLE and self.left_is_symbol:
            return piece.role in (Role.WORD, Role.NUMBER)
        is_symbol = piece.role is Role.VARIABLE and piece.kind is not PieceKind.TEXT
        return is_symbol and left_role in (Role.WORD, Role.NUMBER)
