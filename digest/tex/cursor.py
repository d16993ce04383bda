"""A place in a list of tokens, and the moves from it that need no understanding of TeX's commands."""

from __future__ import annotations

import re
from typing import NamedTuple

from digest.tex.dollars import find_formulas
from digest.tex.pieces import Kind, Piece, Tags, join_text
from digest.tex.tokens import Token, TokenKind, find_partners, split_rest, split_tokens

MOST_TOKENS = 700
"""What follows so many tokens is printed as typed; real abstracts have 600 at most."""

_OPTION = re.compile(r"\s*\[([^\[\]{}$\\]{0,80})\]")
_NEXT = re.compile(r"\s*(.?)", re.DOTALL)


class Setting(NamedTuple):
    """How what is read is to be set.

    Attributes:
        is_formula: whether this is inside a formula.
        tags: the HTML elements around it.
        face: the letters of a formula: "" for italics, else a name of `reading.FACES`.
        row_break: what stands for the end of a row of a table, "" outside of tables.
    """

    is_formula: bool = False
    tags: Tags = ()
    face: str = ""
    row_break: str = ""

    def with_tag(self, tag: str) -> Setting:
        """The same with one more element around it."""
        return self._replace(tags=self.list_tags(tag))

    def list_tags(self, tag: str) -> Tags:
        """The elements around it, and one more."""
        return self.tags if tag in self.tags else (*self.tags, tag)


class Cursor:
    """A place in a list of tokens; `end` closes the group that is being read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = split_tokens(text, MOST_TOKENS)
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
        return self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)

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
        """The index of the brace that closes the one coming next; None if none comes, or it stays open."""
        token = self.peek()
        if token is None or token.kind is not TokenKind.OPEN:
            return None
        partner = self.partners.get(self.at, self.end)
        return partner if partner < self.end else None

    def skip_blanks(self) -> None:
        """Move behind blanks."""
        while self.has_blank():
            self.skip_to(self.offset + 1)

    def skip_to(self, offset: int) -> None:
        """Move to a place in the raw text; a run of characters is cut there."""
        while self.at < self.end and self.tokens[self.at].end <= offset:
            self.at += 1
        if self.at < self.end and self.tokens[self.at].start < offset:
            kind, _, end = self.tokens[self.at]
            self.tokens[self.at] = Token(kind, offset, end)

    def skip_character(self, characters: str) -> bool:
        """Move behind the next character if it is one of these."""
        token = self.peek()
        if token is None or token.kind is not TokenKind.RUN or self.text[token.start] not in characters:
            return False
        self.skip_to(token.start + 1)
        return True

    def take_option(self) -> str | None:
        """Take an argument in brackets, None where there is none."""
        match = _OPTION.match(self.text, self.offset) if self.at < self.end else None
        if match is None:
            return None
        self.skip_to(match.end())
        return match[1]

    def take_raw(self) -> list[Piece] | None:
        """Take an argument in braces without reading it; None where there is none."""
        self.skip_blanks()
        closing = self.closing()
        if closing is None:
            return None
        pieces = self.as_typed(self.at + 1, closing)
        self.at = closing + 1
        return pieces

    def typed(self, token: Token, tags: Tags = ()) -> Piece:
        """A token as it was typed; half a surrogate pair, which no encoding takes, as the replacement sign."""
        if token.kind is TokenKind.SURROGATE:
            return Piece(token.start, token.end, Kind.SYMBOL, "\ufffd", tags)
        return Piece(token.start, token.end, Kind.TEXT, self.written(token), tags)

    def rest_as_typed(self) -> list[Piece]:
        """What stands behind the last token, as it was typed."""
        return join_text(map(self.typed, split_rest(self.text, self.tokens[-1].end if self.tokens else 0)))

    def as_typed(self, first: int, last: int) -> list[Piece]:
        """The tokens from `first` to before `last`, as they were typed."""
        return join_text(self.typed(token) for token in self.tokens[first:last])
