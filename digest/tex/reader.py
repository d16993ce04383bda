# ruff: noqa: RUF001 - Greek letters look like others
"""Reads TeX-flavoured text into pieces, as they show or as searches for words need them.

People type into the forms of arXiv: words with a few commands, formulas between dollars, commands
of packages that are not loaded, and plain text that only looks like TeX. What is not understood is
printed as it was typed.

`$N$body` shows as one word, though two were meant. So `parse_words` puts a `_` between a letter or
digit of a formula and one right beside the formula: searches take that sign for the end of a word.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final

from digest.tex.commands import (
    DECLARATIONS,
    DIVIDERS,
    FORMULA_COMMANDS,
    TEXT_COMMANDS,
    WITH_ARGUMENTS,
)
from digest.tex.formulas import (
    NO_BLANK_AFTER,
    NO_BLANK_BEFORE,
    arrange,
    find_requested_blank,
    make_script,
)
from digest.tex.signs import read_escape, read_ligature, read_tie
from digest.tex.symbols import (
    BLACKBOARD,
    BLANK_SWALLOWING,
    BOLD,
    CALLIGRAPHIC,
    CHARACTER_ROLES,
    FRAKTUR,
    SYMBOLS,
    SYMBOLS_IN_TEXT,
    set_in,
)
from digest.tex.tokens import (
    PieceKind,
    Role,
    Tags,
    TexPiece,
    TexSetting,
    Token,
    TokenCursor,
    TokenKind,
    is_one_run,
    join_text,
)

_DEEPEST = 10
"""Groups nested deeper than this are printed as typed; real abstracts have five at most."""

_BARE_ARGUMENT = 3
"""How much deeper an argument without braces counts: `\\hat\\hat\\hat…` is no formula."""

_LONGEST_RUN = 600
"""Longer runs of plain characters within a formula are no formula, but printed as typed."""

_LONE_LETTER = re.compile(r"\\(?:cal|frak)\s*[A-Za-z](?![A-Za-z])")
_FACES = {
    "blackboard": BLACKBOARD,
    "calligraphic": CALLIGRAPHIC,
    "fraktur": FRAKTUR,
    "bold": BOLD,
}
_FORMULA_PART = re.compile(
    r"""
    (?P<letters>[A-Za-z]+)
    | (?P<figures>[0-9]+(?:[.,][0-9]+)*)        # 1,000.5
    | (?P<blanks>\s+)
    | (?P<primes>'+)
    | (?P<sign>->|:=|.)
    """,
    re.DOTALL | re.VERBOSE,
)
_MINUS = "−"
_REPLACED = {"-": _MINUS, "*": "∗", "->": "→"}
_COMPOUND = re.compile(r"(?<=[A-Za-z]{3})-(?=[A-Za-z]{3})")
_PRIMES = ("", "\N{PRIME}", "\N{DOUBLE PRIME}", "\N{TRIPLE PRIME}", "\N{QUADRUPLE PRIME}")

EDGE: Final = "_"
"""Parts two words of which at least one is in a formula."""

_TABLE = """
α alpha β beta γ gamma δ delta ε epsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu
ξ xi ο omicron π pi ρ rho σ sigma τ tau υ upsilon φ phi χ chi ψ psi ω omega
"""
_NAMED = _TABLE.split()
GREEK: Final = dict(zip(_NAMED[::2], _NAMED[1::2], strict=True))
"""Greek letters, small, without accents -> their names, as TeX has them."""

STAND_INS: Final = {"ɑ": "α", "ɛ": "ε"}
"""Latin letters -> the Greek ones that they stand for, as Unicode raises only these: `xᵅ`, `xᵋ`."""

ALONE: Final = "alone"
"""The level of a Greek letter: each is a part by itself."""


class Reader(TokenCursor):
    """Reads tokens into pieces, group by group."""

    def read(self, end: int, setting: TexSetting) -> list[TexPiece]:
        """Read the tokens up to `end` (an index)."""
        if self.depth >= _DEEPEST:
            first = self.at
            self.at = end
            return self.as_typed(first, end)
        outer = self.end
        self.end = end
        self.depth += 1
        was_formula = setting.is_formula
        pieces: list[TexPiece] = []
        while self.at < end:
            token = self.tokens[self.at]
            self.at += 1
            if token.kind is TokenKind.NAME:
                name = self.text[token.start + 1 : token.end]
                if not setting.is_formula and self._has_argument(token):
                    name = WITH_ARGUMENTS.get(name, name)
                if name in DECLARATIONS:
                    setting = self._declare(name, setting)
                elif name in DIVIDERS and setting.is_formula:
                    pieces = DIVIDERS[name](self, token, pieces, setting)
                else:
                    pieces += self._read_command(token, name, setting)
            else:
                pieces += self._by_kind[token.kind](self, token, setting)
        self.end = outer
        self.depth -= 1
        return pieces if setting.is_formula is was_formula else arrange(pieces)

    def read_argument(self, setting: TexSetting) -> list[TexPiece] | None:
        """Read what TeX takes for an argument: a group, a command or a character; None for none."""
        self.skip_blanks()
        token = self.peek()
        closing = self.closing()
        if token is None:
            return None
        if closing is not None:
            self.at += 1
            pieces = self.read(closing, setting)
            self.at = closing + 1
            return pieces
        if token.kind is TokenKind.RUN:
            self.skip_to(token.start + 1)
            return self._read_run(Token(token.kind, token.start, token.start + 1), setting)
        if token.kind in (TokenKind.NAME, TokenKind.ESCAPE):
            return self._read_command_as_argument(token, setting)
        return None

    def print_command(self, token: Token) -> list[TexPiece]:
        """Print a command, and what directly follows it in braces, as typed."""
        first = self.at - 1
        end = token.end
        while self.offset == end and (closing := self.closing()) is not None:
            self.at = closing + 1
            end = self.tokens[closing].end
        return self.as_typed(first, self.at)

    def _has_argument(self, token: Token) -> bool:
        if self.closing() is not None:
            return True
        return _LONE_LETTER.match(self.text, token.start) is not None

    def _declare(self, name: str, setting: TexSetting) -> TexSetting:
        if not setting.is_formula:
            self.skip_blanks()
            if self.depth == 1:
                return setting  # a stray `\bf` must not make the rest of an abstract bold
        return DECLARATIONS[name](setting)

    def _read_command_as_argument(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        self.at += 1
        if self.depth >= _DEEPEST:
            return [self.typed(token)]
        self.depth += _BARE_ARGUMENT
        name = self.text[token.start + 1 : token.end]
        if name in DECLARATIONS:
            pieces = self.read_argument(DECLARATIONS[name](setting)) or []
        elif token.kind is TokenKind.NAME:
            pieces = self._read_command(token, name, setting)
        else:
            pieces = read_escape(self, token, setting)
        self.depth -= _BARE_ARGUMENT
        return pieces

    def _read_command(self, token: Token, name: str, setting: TexSetting) -> list[TexPiece]:
        if command := TEXT_COMMANDS.get(name):
            return command(self, token, setting)
        command = FORMULA_COMMANDS.get(name)
        if command is None:
            return self._read_symbol(token, name, setting)
        if setting.is_formula:
            return command(self, token, setting)
        pieces = command(self, token, setting._replace(is_formula=True))
        self._note_formula(token.start, self.offset)
        return arrange(pieces, followed_by=self.text[self.offset : self.offset + 1])

    def _read_symbol(self, token: Token, name: str, setting: TexSetting) -> list[TexPiece]:
        symbol = (SYMBOLS if setting.is_formula else SYMBOLS_IN_TEXT).get(name)
        if symbol is None:
            return self.print_command(token)
        text, role = symbol
        if setting.is_formula and setting.face == "bold":
            text = set_in(text, BOLD)
        if not setting.is_formula and name in BLANK_SWALLOWING:
            self.skip_blanks()
        if self.closing() == self.at + 1:
            self.at += 2
        return [token.symbol(text, setting, role)]

    def _read_run(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        if setting.is_formula and token.end - token.start <= _LONGEST_RUN:
            return self._read_formula_run(token, setting)
        return [self.typed(token, setting.tags)]

    def _read_formula_run(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        pieces: list[TexPiece] = []
        tags = setting.tags
        for part in _FORMULA_PART.finditer(self.text, token.start, token.end):
            start, end = part.span()
            written = part[0]
            match part.lastgroup:
                case "letters":
                    piece = _set_letters(start, end, written, setting)
                case "figures":
                    piece = _set_digits(start, end, written, setting)
                case "blanks":
                    piece = TexPiece(start, end, PieceKind.BLANK, " ", tags, Role.LOOSE)
                case "primes":
                    printed = _PRIMES[min(end - start, len(_PRIMES) - 1)]
                    piece = setting.symbol(start, end, printed, Role.SCRIPT)
                case _ if _COMPOUND.match(self.text, start, token.end):
                    piece = TexPiece(start, end, PieceKind.TEXT, "-", tags, Role.INFIX)
                case _:
                    piece = _set_sign(start, end, written, setting)
            pieces.append(piece)
        return pieces

    def _read_group(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        self.at -= 1
        closing = self.closing()
        self.at += 1
        if closing is None:
            return [self.typed(token)]
        is_printed = not setting.is_formula and not self._starts_with_command()
        pieces = self.read(closing, setting)
        self.at = closing + 1
        if not is_printed:
            return pieces
        brace = self.tokens[closing]
        return [
            TexPiece(token.start, token.end, PieceKind.TEXT, "{", setting.tags),
            *pieces,
            TexPiece(brace.start, brace.end, PieceKind.TEXT, "}", setting.tags),
        ]

    def _starts_with_command(self) -> bool:
        r"""Whether the group just opened is TeX: `{\it x}`, `{\AA}`.

        `{1,2}` and `_{\rm b}` are text.
        """
        if self.at > 1:
            before = self.tokens[self.at - 2]
            if before.kind in (TokenKind.RAISE, TokenKind.LOWER):
                return False
        return self.peek_character() == "\\"

    def _read_dollar(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        if token.start not in self.formulas:
            return [self.typed(token)]
        start, end = self.formulas[token.start]
        closing = self.at
        while closing < self.end and self.tokens[closing].start < start:
            closing += 1
        if closing >= self.end or self.tokens[closing].start != start:
            return [self.typed(token)]
        self.at += end - start - 1
        pieces = self.read_formula(closing, setting, token.start, end)
        self.at = closing + (end - start)
        return pieces

    def read_formula(
        self, closing: int, setting: TexSetting, start: int, end: int
    ) -> list[TexPiece]:
        """Read the formula before the token `closing`; it is `start` to `end`, delimiters too."""
        pieces = self.read(closing, TexSetting(is_formula=True, tags=setting.tags))
        if setting.is_formula:
            return pieces
        self._note_formula(start, end)
        before = self.text[max(0, start - 1) : start]
        after = self.text[end : end + 1]
        return _set_formula(pieces, before, after)

    def _note_formula(self, start: int, end: int) -> None:
        """Note the place of a formula; one in words within it is a part of it."""
        while self.noted_formulas and self.noted_formulas[-1][0] >= start:
            self.noted_formulas.pop()
        self.noted_formulas.append((start, end))

    def _read_script(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        if setting.is_formula:
            kind = PieceKind.SUPERSCRIPT if token.kind is TokenKind.RAISE else PieceKind.SUBSCRIPT
            inside = self.read_argument(setting)
            if inside is not None:
                return make_script(kind, token.start, self.offset, inside)
        return self._print_token(token, setting)

    def _read_cell(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        if not setting.is_formula:
            return self._print_token(token, setting)
        role = Role.WORD if setting.row_break else Role.LOOSE
        return [token.blank(setting, role=role)]

    def _read_blank(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        written = "\n" if "\n" in self.written(token) else " "
        role = Role.LOOSE if setting.is_formula else Role.WORD
        return [token.blank(setting, written, role)]

    def _print_token(self, token: Token, setting: TexSetting) -> list[TexPiece]:
        return [self.typed(token, setting.tags)]

    _by_kind: ClassVar[dict[TokenKind, Callable[[Reader, Token, TexSetting], list[TexPiece]]]] = {
        TokenKind.RUN: _read_run,
        TokenKind.ESCAPE: read_escape,
        TokenKind.OPEN: _read_group,
        TokenKind.CLOSE: _print_token,
        TokenKind.DOLLAR: _read_dollar,
        TokenKind.RAISE: _read_script,
        TokenKind.LOWER: _read_script,
        TokenKind.CELL: _read_cell,
        TokenKind.TIE: read_tie,
        TokenKind.LIGATURE: read_ligature,
        TokenKind.BLANK: _read_blank,
        TokenKind.SURROGATE: _print_token,
        TokenKind.LONE_BACKSLASH: _print_token,
    }


def _set_letters(start: int, end: int, letters: str, setting: TexSetting) -> TexPiece:
    face = setting.face
    is_single = len(letters) == 1
    if face in _FACES and (is_single or face != "bold"):
        return setting.symbol(start, end, set_in(letters, _FACES[face]), Role.VARIABLE)
    if face:
        return TexPiece(start, end, PieceKind.TEXT, letters, _tag_upright(setting), Role.WORD)
    role = Role.VARIABLE if is_single else Role.WORD
    return TexPiece(start, end, PieceKind.TEXT, letters, setting.with_tag("i").tags, role)


def _tag_upright(setting: TexSetting) -> Tags:
    return setting.with_tag("b").tags if setting.face == "bold" else setting.tags


def _set_digits(start: int, end: int, digits: str, setting: TexSetting) -> TexPiece:
    if setting.face == "blackboard":
        return setting.symbol(start, end, set_in(digits, BLACKBOARD), Role.NUMBER)
    return TexPiece(start, end, PieceKind.TEXT, digits, _tag_upright(setting), Role.NUMBER)


def _set_sign(start: int, end: int, sign: str, setting: TexSetting) -> TexPiece:
    replaced = _REPLACED.get(sign, sign)
    kind = PieceKind.TEXT if replaced == sign else PieceKind.SYMBOL
    role = CHARACTER_ROLES.get(replaced, Role.VARIABLE)
    return TexPiece(start, end, kind, replaced, setting.tags, role)


def _set_formula(pieces: Sequence[TexPiece], before: str, after: str) -> list[TexPiece]:
    r"""Set the pieces of a formula, between the characters before and after its delimiters.

    A blank that is asked for at its edge is kept, as one within it is: `$9\,$TeV`, `RX$~$J1713.7`.
    """
    first: TexPiece | None = None
    if before not in NO_BLANK_AFTER and not before.isspace():
        first = find_requested_blank(pieces)
    last: TexPiece | None = None
    if after not in NO_BLANK_BEFORE and not after.isspace():
        last = find_requested_blank(reversed(pieces))
    row = arrange(pieces, followed_by="" if last else after)
    if not row:
        return [last] if first and last else []
    is_before_word = last is None and after.isalpha()
    has_left_part = len(row) > 1 or before.isalpha()
    if is_before_word and has_left_part and row[-1].text == _MINUS:
        # A formula that ends in a minus before a word, as in `$p-$adic`, means a hyphen.
        row[-1] = row[-1]._replace(text="-")
    if first is not None:
        row.insert(0, first)
    if last is not None:
        row.append(last)
    return row


def parse_tex(text: str) -> tuple[TexPiece, ...]:
    """Read TeX-flavoured text into pieces, in reading order.

    It never raises, and takes time in proportion. Each piece says which code points of `text` it
    stands for; a `TEXT` piece is exactly those. All characters outside formulas and commands are
    there, in their order. `^` and `_` raise and lower inside formulas only.
    """
    if is_one_run(text):
        return (TexPiece(0, len(text), PieceKind.TEXT, text),)
    return tuple(join_text(_read_all(Reader(text))))


def parse_words(text: str) -> Sequence[TexPiece]:
    """Read text as `parse_tex` does, with an `EDGE` between words that only a formula parts."""
    if is_one_run(text):
        return (TexPiece(0, len(text), PieceKind.TEXT, text),)
    reader = Reader(text)
    return join_text(_mark_edges(text, _read_all(reader), reader.noted_formulas))


def _read_all(reader: Reader) -> list[TexPiece]:
    count = len(reader.tokens)
    pieces = reader.read(count, TexSetting())
    return [*pieces, *reader.as_typed(reader.at, count), *reader.rest_as_typed()]


class _Levels(dict[str, str]):
    """Character -> its level: neighbours in a word are in two parts if their levels differ."""

    def __missing__(self, character: str) -> str:
        letter = unicodedata.normalize("NFKD", character).casefold()[:1]
        if STAND_INS.get(letter, letter) in GREEK:
            found = ALONE
        else:
            shape = unicodedata.decomposition(character).partition(" ")[0]
            found = shape if shape in {"<super>", "<sub>"} else ""
        self[character] = found
        return found


LEVELS: Final = _Levels()


def _is_edge(before: str, after: str) -> bool:
    """Whether an edge has to be marked between two characters, "" for none.

    Both belong to words. Greek letters, and raised and lowered signs, part words by themselves.
    """
    if not after.isalnum():
        return False
    if not before.isalnum() and not (before > "\x7f" and unicodedata.combining(before)):
        return False
    return not LEVELS[before] and not LEVELS[after]


def _write_part(piece: TexPiece) -> str:
    """Return a piece's plain form, with edges within a script that Unicode can't raise or lower."""
    text = piece.text
    if len(piece.inside) <= 1 or text[0] not in "^_":  # an edge is between two
        return text
    inside = ""
    for part in filter(None, map(_write_part, piece.inside)):
        if _is_edge(inside[-1:], part[0]):
            inside += EDGE
        inside += part
    inside = inside.strip()
    return f"{text[0]}({inside})" if text[1] == "(" else text[0] + inside


def _mark_edges(
    text: str, pieces: Iterable[TexPiece], formulas: Sequence[tuple[int, int]]
) -> list[TexPiece]:
    r"""Return the pieces of a text that show, and those that mark edges.

    Outside of formulas a blank after a letter's command shows, but TeX ignores it: `\Lambda CDM`.
    It is an edge.
    """
    starts = [start for start, _ in formulas]
    marked: list[TexPiece] = []
    was_within = False
    for piece in pieces:
        if not piece.text:
            continue
        place = bisect_right(starts, piece.start) - 1
        is_within = place >= 0 and piece.start < formulas[place][1]
        shown = piece._replace(text=_write_part(piece)) if piece.inside else piece
        if marked:
            last = marked[-1]
            if (is_within or was_within) and _is_edge(last.text[-1], piece.text[0]):
                marked.append(_mark(piece.start))
            elif not is_within and not was_within and _is_ignored_blank(text, last, piece):
                marked.append(_mark(piece.start))
                shown = piece._replace(start=piece.start + 1, text=piece.text[1:])
        if shown.text:
            marked.append(shown)
        was_within = is_within
    return marked


def _mark(place: int) -> TexPiece:
    return TexPiece(place, place, PieceKind.SYMBOL, EDGE)


def _is_ignored_blank(text: str, command: TexPiece, blank: TexPiece) -> bool:
    """Whether a piece begins with a blank that only ends a command that prints a letter."""
    is_blank = blank.text[0].isspace() and text[blank.start : blank.start + 1].isspace()
    if not is_blank or command.end != blank.start or command.kind is not PieceKind.SYMBOL:
        return False
    if len(command.text) != 1 or not command.text.isalnum():
        return False
    return text[command.start] == "\\" and text[command.start + 1 : command.end].isalpha()
