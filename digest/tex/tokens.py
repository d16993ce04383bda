"""Cuts TeX-flavoured text into tokens, finds which belong together; and what a piece is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple

MOST_TOKENS = 700
"""What follows this many tokens is printed as typed; real abstracts have 600 at most."""

_OPTION = re.compile(r"\s*\[([^\[\]{}$\\]{0,80})\]")
_NEXT = re.compile(r"\s*(.?)", re.DOTALL)

DROPPED = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff"
"""Never printed: controls apart from white space, and the two non-characters that XML forbids.

Nor are bidirectional overrides and isolates, which can turn the text around them.
"""

_TOKEN = re.compile(
    rf"""
      ((?:[^\\{{}}$^_&~`'\-\s\ud800-\udfff{DROPPED}]++ | -(?!-) | '(?!') | `(?!`) | [ ](?=\S))++)
    | (\\[A-Za-z]+)
    | (\\[^A-Za-z{DROPPED}\ud800-\udfff])
    | (\{{) | (\}}) | (\$) | (\^) | (_) | (&) | (~)
    | (-{{2,3}}|``|'')
    | (\s+)
    | ([\ud800-\udfff])
    | (\\)
    | [{DROPPED}]+
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(rf"([^{DROPPED}\ud800-\udfff]+)|([\ud800-\udfff])")
_NAMED_PAIR = re.compile(r"\s*\{\s*([A-Za-z]+\*?)\s*\}")
_BRACKETS = {"\\]": "\\[", "\\)": "\\("}

_DOLLAR = re.compile(
    # A formula within words within a formula; an escape; a dollar.
    r"\\(?:text[a-z]*|[mhf]box|emph)\s*\{[^{}$]*\$[^{}]*\}|\\.|(\$\$?)",
    re.DOTALL,
)
_INNER_PAIR = re.compile(r"\$[^$]*\$")
_PROSE = re.compile(r"\s[a-z]{3,}(?=[\s,.;:])")
_SENTENCE_END = re.compile(r"[.;?!]\s+[A-Z][a-z]")
_TEX = re.compile(r"[\\^_{}=<>]")
_CURRENCY = re.compile(r"\s[A-Z]{1,3}\Z")
_AMOUNT = re.compile(r"\s?[0-9]")

Tags = tuple[str, ...]
"""HTML elements around a text, outermost first: `("b", "i")`."""


class PieceKind(Enum):
    """What a piece is, and so how it is written and how a highlight cuts it."""

    __hash__ = object.__hash__  # that of Enum is Python code, called for every piece

    TEXT = auto()
    """Characters exactly as in the raw text: `text == raw[start:end]`, may be cut anywhere."""
    SYMBOL = auto()
    """Characters standing for the raw text as a whole."""
    BLANK = auto()
    """White space."""
    SUPERSCRIPT = auto()
    """`inside`, raised; `text` is its plain form, such as `⁻³` or `^(3/2)`."""
    SUBSCRIPT = auto()
    """`inside`, lowered; `text` is its plain form, such as `₂` or `_(g,n)`."""
    FRACTION = auto()
    """A fraction not yet set in its formula; never part of what `parse_tex` returns."""


class Role(Enum):
    """What a piece does in a formula; it decides the blanks around it."""

    __hash__ = object.__hash__  # that of Enum is Python code, called for every piece

    WORD = auto()
    VARIABLE = auto()
    NUMBER = auto()
    NAME = auto()
    BIG = auto()
    INFIX = auto()
    """A sign between two operands, set off by blanks as typed."""
    RELATION = auto()
    """A named relation or arrow between two operands, always set off by blanks."""
    OPEN = auto()
    CLOSE = auto()
    BAR = auto()
    PUNCTUATION = auto()
    SCRIPT = auto()
    """Raised, lowered or a prime: part of what is before it."""
    LOOSE = auto()
    """A blank typed between the parts of a formula, which TeX would ignore."""


class TexPiece(NamedTuple):
    """A part of the text.

    Attributes:
        start: the first code point of the raw text it stands for.
        end: one after the last; equal to `start` for a blank the raw text does not have.
        text: its plain Unicode form.
        inside: what is raised or lowered, for scripts.
    """

    start: int
    end: int
    kind: PieceKind
    text: str
    tags: Tags = ()
    role: Role = Role.WORD
    inside: tuple[TexPiece, ...] = ()


def join_text(pieces: Iterable[TexPiece]) -> list[TexPiece]:
    """Join text that continues text, so that a word is one piece however its tokens were cut."""
    joined: list[TexPiece] = []
    for piece in pieces:
        if joined and _continues(joined[-1], piece):
            last = joined[-1]
            text = last.text + piece.text
            joined[-1] = TexPiece(last.start, piece.end, PieceKind.TEXT, text, last.tags, last.role)
        else:
            joined.append(piece)
    return joined


def _continues(last: TexPiece, piece: TexPiece) -> bool:
    if last.kind is not PieceKind.TEXT or piece.kind is not PieceKind.TEXT:
        return False
    return last.end == piece.start and last.tags == piece.tags


def print_pieces(pieces: Iterable[TexPiece] | None) -> str:
    """Return what pieces print as plain Unicode."""
    return "".join([piece.text for piece in pieces or ()])


class Segment(NamedTuple):
    """Plain Unicode that is highlighted as a whole or not at all."""

    text: str
    is_marked: bool


class TokenKind(Enum):
    """What a token is; the order is that of the groups in the pattern below."""

    __hash__ = object.__hash__  # that of Enum is Python code, called for every piece

    RUN = auto()
    NAME = auto()
    ESCAPE = auto()
    OPEN = auto()
    CLOSE = auto()
    DOLLAR = auto()
    RAISE = auto()
    LOWER = auto()
    CELL = auto()
    TIE = auto()
    LIGATURE = auto()
    BLANK = auto()
    SURROGATE = auto()
    LONE_BACKSLASH = auto()


class Token(NamedTuple):
    """A token and its place in the raw text."""

    kind: TokenKind
    start: int
    end: int

    def symbol(self, text: str, setting: TexSetting, role: Role = Role.WORD) -> TexPiece:
        """A symbol that stands for it."""
        return TexPiece(self.start, self.end, PieceKind.SYMBOL, text, setting.tags, role)

    def blank(self, setting: TexSetting, text: str = " ", role: Role = Role.WORD) -> TexPiece:
        """White space that stands for it."""
        return TexPiece(self.start, self.end, PieceKind.BLANK, text, setting.tags, role)


_KINDS = (None, *TokenKind)


class TexSetting(NamedTuple):
    """How the text that is read is set.

    Attributes:
        tags: the HTML elements around it.
        face: the letters of a formula: "" for italics, "upright", "bold", "blackboard",
            "calligraphic", "fraktur".
        row_break: what stands for the end of a row of a table, "" outside of tables.
    """

    is_formula: bool = False
    tags: Tags = ()
    face: str = ""
    row_break: str = ""

    def with_tag(self, tag: str) -> TexSetting:
        """The same with one more element around it, unless `tag` is "" or there already."""
        if not tag or tag in self.tags:
            return self
        return self._replace(tags=(*self.tags, tag))

    def symbol(self, start: int, end: int, text: str, role: Role = Role.WORD) -> TexPiece:
        """A symbol that stands for a part of the raw text."""
        return TexPiece(start, end, PieceKind.SYMBOL, text, self.tags, role)


def split_tokens(text: str) -> list[Token]:
    """Cut the beginning of a text into tokens; what is dropped from every output has none."""
    tokens: list[Token] = []
    for found in islice(_TOKEN.finditer(text), MOST_TOKENS):
        kind = _KINDS[found.lastindex or 0]
        if kind is not None:
            tokens.append(Token(kind, found.start(), found.end()))
    return tokens


def is_one_run(text: str) -> bool:
    """Whether a text is one run of plain characters, as most names and titles are."""
    found = _TOKEN.match(text)
    if found is None or found.end() != len(text):
        return False
    return _KINDS[found.lastindex or 0] is TokenKind.RUN


def find_partners(text: str, tokens: list[Token]) -> dict[int, int]:
    r"""Find which token closes which: braces, `\[ \]`, `\( \)` and `\begin \end` of one name.

    Returns:
        Index of the opening token -> index of the closing one. What has no partner is missing.
    """
    waiting: dict[str, list[int]] = {}
    partners: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.kind is TokenKind.RUN:  # as most are
            continue
        opened, closed = _find_ends(text, token)
        if opened in _BRACKETS.values():
            waiting[opened] = [index]
        elif opened:
            waiting.setdefault(opened, []).append(index)
        elif waiting.get(closed):
            partners[waiting[closed].pop()] = index
    return partners


def _find_ends(text: str, token: Token) -> tuple[str, str]:
    """Name what a token opens, and what it closes; "" for nothing."""
    if token.kind is TokenKind.OPEN:
        return "{", ""
    if token.kind is TokenKind.CLOSE:
        return "", "{"
    if token.kind not in (TokenKind.ESCAPE, TokenKind.NAME):
        return "", ""
    written = text[token.start : token.end]
    if written in ("\\begin", "\\end"):
        named = environment_name(text, token)
        if named is not None:
            name, _ = named
            return (name, "") if written == "\\begin" else ("", name)
    opened = written if written in _BRACKETS.values() else ""
    return opened, _BRACKETS.get(written, "")


def environment_name(text: str, token: Token) -> tuple[str, int] | None:
    r"""Read the name after `\begin` or `\end`, and the offset after its brace; None without one."""
    match = _NAMED_PAIR.match(text, token.end)
    return (match[1], match.end()) if match else None


class TokenCursor:
    """A place in a list of tokens; `end` closes the group that is being read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = split_tokens(text)
        self.partners = find_partners(text, self.tokens)
        self.formulas = find_formulas(text) if "$" in text else {}
        self.noted_formulas: list[tuple[int, int]] = []
        self.at = 0
        self.end = len(self.tokens)
        self.depth = 0
        self.open_quotes = 0

    @property
    def offset(self) -> int:
        """Where the next token starts in the raw text."""
        if self.at >= len(self.tokens):
            return len(self.text)
        return self.tokens[self.at].start

    def written(self, token: Token) -> str:
        """The raw text of a token."""
        return self.text[token.start : token.end]

    def peek(self) -> Token | None:
        """The next token of the group, None at its end."""
        return self.tokens[self.at] if self.at < self.end else None

    def peek_character(self) -> str:
        """The next character that is no blank, "" at the end."""
        match = _NEXT.match(self.text, self.offset)
        return match[1] if match and self.at < self.end else ""

    def has_blank(self) -> bool:
        """Whether a blank comes next."""
        return self.at < self.end and self.text[self.offset].isspace()

    def closing(self) -> int | None:
        """The index of the brace that closes the next one; None if none comes, or it stays open."""
        token = self.peek()
        if token is None or token.kind is not TokenKind.OPEN:
            return None
        partner = self.partners.get(self.at, self.end)
        return partner if partner < self.end else None

    def skip_blanks(self) -> None:
        """Move past blanks."""
        while self.has_blank():
            self.skip_to(self.offset + 1)

    def skip_to(self, offset: int) -> None:
        """Move to a place in the raw text; a run of characters is cut there."""
        while self.at < self.end:
            kind, start, end = self.tokens[self.at]
            if end > offset:
                if start < offset:
                    self.tokens[self.at] = Token(kind, offset, end)
                return
            self.at += 1

    def skip_character(self, characters: str) -> bool:
        """Move past the next character if it is one of these."""
        token = self.peek()
        if token is None or token.kind is not TokenKind.RUN:
            return False
        if self.text[token.start] not in characters:
            return False
        self.skip_to(token.start + 1)
        return True

    def take_option(self) -> str | None:
        """Take an argument in brackets; None if there is none."""
        match = _OPTION.match(self.text, self.offset) if self.at < self.end else None
        if match is None:
            return None
        self.skip_to(match.end())
        return match[1]

    def take_raw(self, tags: Tags = ()) -> list[TexPiece] | None:
        """Take an argument in braces without reading it; None if there is none."""
        if self.peek_character() != "{":
            return None
        self.skip_blanks()
        closing = self.closing()
        if closing is None:
            return None
        pieces = self.as_typed(self.at + 1, closing, tags)
        self.at = closing + 1
        return pieces

    def typed(self, token: Token, tags: Tags = ()) -> TexPiece:
        """A token as it was typed; half a surrogate pair, which no encoding takes, as U+FFFD."""
        if token.kind is TokenKind.SURROGATE:
            return TexPiece(token.start, token.end, PieceKind.SYMBOL, "\ufffd", tags)
        return TexPiece(token.start, token.end, PieceKind.TEXT, self.written(token), tags)

    def rest_as_typed(self) -> list[TexPiece]:
        """What comes after the last token, as it was typed, without what is never printed."""
        start = self.tokens[-1].end if self.tokens else 0
        pieces: list[TexPiece] = []
        for found in _PLAIN.finditer(self.text, start):
            kind = TokenKind.RUN if found[1] is not None else TokenKind.SURROGATE
            pieces.append(self.typed(Token(kind, found.start(), found.end())))
        return join_text(pieces)

    def enclose(
        self,
        token: Token,
        setting: TexSetting,
        signs: tuple[str, str],
        pieces: Iterable[TexPiece],
        roles: tuple[Role, Role] = (Role.OPEN, Role.CLOSE),
    ) -> list[TexPiece]:
        """The pieces of an argument between one sign for its command and one for its end."""
        before, after = signs
        role_before, role_after = roles
        end = self.offset
        first = token.symbol(before, setting, role_before)
        last = setting.symbol(max(token.end, end - 1), end, after, role_after)
        return [first, *pieces, last]

    def as_typed(self, first: int, last: int, tags: Tags = ()) -> list[TexPiece]:
        """The tokens from `first` to before `last`, as they were typed."""
        return join_text(self.typed(token, tags) for token in self.tokens[first:last])


class _Dollar(NamedTuple):
    start: int
    end: int


def find_formulas(text: str) -> dict[int, tuple[int, int]]:
    """Find the formulas between dollar signs.

    Returns:
        Offset of each opening `$` or `$$` -> the offsets of the start and the end of its closing
        one.
    """
    formulas: dict[int, tuple[int, int]] = {}
    dollars: list[_Dollar] = []
    for match in _DOLLAR.finditer(text):
        if match[1]:
            dollars.append(_Dollar(match.start(), match.end()))
        elif len(match[0]) > 2:  # noqa: PLR2004 - longer than an escape: words with dollars inside
            pairs_inside = _INNER_PAIR.finditer(text, match.start(), match.end())
            formulas |= {pair.start(): (pair.end() - 1, pair.end()) for pair in pairs_inside}
    return formulas | _pair_dollars(text, dollars)


def _pair_dollars(text: str, dollars: list[_Dollar]) -> dict[int, tuple[int, int]]:
    """Pair each dollar with the next one if what is between them reads as a formula.

    Others are printed.
    """
    formulas: dict[int, tuple[int, int]] = {}
    opening: _Dollar | None = None
    for dollar in dollars:
        start, end = dollar
        if opening is None or not _is_formula(text, opening.end, start):
            opening = dollar
        elif end - start == opening.end - opening.start:
            formulas[opening.start] = dollar
            opening = None
        elif end - start > 1:  # `$a$$b$`: one ends here, and another begins
            formulas[opening.start] = (start, start + 1)
            opening = _Dollar(start + 1, end)
        else:
            opening = dollar
    return formulas


def _is_formula(text: str, start: int, end: int) -> bool:
    """Whether what is between two dollars is a formula: neither nothing, nor money, nor prose.

    With TeX in it, it is one.
    """
    if _TEX.search(text, start, end):
        return True
    content = text[start:end]
    if not content.strip() or _SENTENCE_END.search(content):
        return False
    is_prose = len(_PROSE.findall(content)) > 1
    return not is_prose and not _is_money(text, start, end)


def _is_money(text: str, start: int, end: int) -> bool:
    """Tell `$5 and $6` and `$5-$10`: a figure after both dollars, or words up to the second."""
    if not _AMOUNT.match(text, start):
        return False
    if text[end - 1].isspace() or text[end + 1 : end + 2].isdigit():
        return True
    # `R$ 5 or R$ 6` names a currency before the second dollar; `$5$ 6` is a formula and a figure.
    if not _CURRENCY.search(text[start:end]):
        return False
    return _AMOUNT.match(text, end + 1) is not None
