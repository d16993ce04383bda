"""TeX-flavoured text cut into tokens, and which tokens belong together."""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple


class TokenKind(Enum):
    """What a token is; the order is that of the groups in the pattern below."""

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


DROPPED = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff"
"""Never printed: C0 and C1 controls apart from white space, bidirectional overrides and isolates (they can
turn the text around them), and the two non-characters XML forbids."""

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
_KINDS = (None, *TokenKind)
_PLAIN = re.compile(rf"([^{DROPPED}\ud800-\udfff]+)|([\ud800-\udfff])")
_NAMED_PAIR = re.compile(r"\s*\{\s*([A-Za-z]+\*?)\s*\}")
_BRACKETS = {"\\]": "\\[", "\\)": "\\("}


def split_tokens(text: str, most: int | None = None) -> list[Token]:
    """Cut `text` into tokens, or its first `most` ones; what is dropped from every output has none."""
    return [
        Token(kind, *match.span())
        for match in islice(_TOKEN.finditer(text), most)
        if (kind := _KINDS[match.lastindex or 0]) is not None
    ]


def is_one_run(text: str) -> bool:
    """Whether a text is one run of plain characters, as most names and titles are."""
    match = _TOKEN.match(text)
    return match is not None and match.lastindex == 1 and match.end() == len(text)


def split_rest(text: str, start: int) -> list[Token]:
    """Cut what stands behind `start` where something is dropped or replaced, and nowhere else."""
    return [
        Token(TokenKind.RUN if match.lastindex == 1 else TokenKind.SURROGATE, *match.span())
        for match in _PLAIN.finditer(text, start)
    ]


def find_partners(text: str, tokens: list[Token]) -> dict[int, int]:
    r"""Find which token closes which: braces, `\\[ \\]`, `\\( \\)` and `\\begin \\end` of one name.

    Returns:
        The index of the closing token under the index of the opening one. What has no partner is missing.
    """
    waiting: dict[str, list[int]] = {}
    partners: dict[int, int] = {}
    for index, (kind, start, end) in enumerate(tokens):
        if kind is TokenKind.RUN:
            continue
        if kind is TokenKind.OPEN:
            waiting.setdefault("{", []).append(index)
        elif kind is TokenKind.CLOSE:
            _pair(waiting.get("{"), index, partners)
        elif kind is TokenKind.ESCAPE:
            if text[start + 1] in "()[]":
                _match_bracket(text[start:end], index, waiting, partners)
        elif kind is TokenKind.NAME and text.startswith(("begin", "end"), start + 1):
            _match_environment(text, tokens[index], index, waiting, partners)
    return partners


def environment_name(text: str, token: Token) -> tuple[str, int] | None:
    r"""Read the name behind `\\begin` or `\\end`, and the offset behind its brace; None without one."""
    match = _NAMED_PAIR.match(text, token.end)
    return (match[1], match.end()) if match else None


def _match_bracket(written: str, index: int, waiting: dict[str, list[int]], partners: dict[int, int]) -> None:
    if written in _BRACKETS.values():
        waiting[written] = [index]
    elif written in _BRACKETS:
        _pair(waiting.get(_BRACKETS[written]), index, partners)


def _match_environment(
    text: str, token: Token, index: int, waiting: dict[str, list[int]], partners: dict[int, int]
) -> None:
    written = text[token.start : token.end]
    if written not in {"\\begin", "\\end"}:
        return
    named = environment_name(text, token)
    if named is None:
        return
    if written == "\\begin":
        waiting.setdefault(named[0], []).append(index)
    else:
        _pair(waiting.get(named[0]), index, partners)


def _pair(waiting: list[int] | None, index: int, partners: dict[int, int]) -> None:
    if waiting:
        partners[waiting.pop()] = index
