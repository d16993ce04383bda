"""What arXiv's search makes of a text, as far as it is known: the same words, other rules.

    expression = operand { operator operand }    read from the RIGHT, no operator before another
    operand    = [ANDNOT] term | [prefix:] "(" expression ")"

The search (arXiv/arxiv-search, classic API, since November 2025) mends what it is given before it reads:
a missing operator becomes OR, of two operators in a row the last one counts, NOT is ANDNOT, a quotation
mark left open is dropped, and so is a prefix without a value. Operators are capitals and prefixes small
letters; anything else is a word for `all:`. A chain is then read from its end: `a AND b OR c` asks for
a and one of b and c, `a ANDNOT b ANDNOT c` brings c back.

Terms keep the meaning they have here, but where arXiv takes them for other words. It is a picture of another
program, good for showing where a text means two things; what is sent there (`arxiv_syntax`) avoids them all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from digest.errors import QueryError
from digest.query.conditions import read_condition
from digest.query.notes import Source
from digest.query.printing import measure_nesting
from digest.query.tokens import Operator, TermToken
from digest.query.tree import And, Condition, Not, Or, Prefix, Shape, intern_condition

if TYPE_CHECKING:
    from digest.query.tree import Node

READ, REFUSED, FAILED = 200, 400, 500
"""The statuses of arXiv's answers: it was read, it is no query, the server could not run it."""

DEEPEST = 64
"""As many parentheses as a query of ours may have; read from its end, a long chain has one for each operator."""

EVERYTHING = Condition(Prefix.SUBMITTED, Shape.RANGE, "* TO *")
"""What `au:""` asks for at arXiv: each of its papers."""

_NAMES = {prefix.value: prefix for prefix in Prefix if prefix is not Prefix.PERSON} | {
    "title": Prefix.TITLE,
    "lastUpdatedDate": Prefix.SUBMITTED,
}
_TOKEN = re.compile(
    r"(?P<range>(?:submittedDate|lastUpdatedDate):\[(?P<dates>\d{4,14} TO \d{4,14})\])"
    r'|(?:(?P<group>[^\s()":]+):)?(?P<open>\()'
    r"|(?P<close>\))"
    r'|(?:(?P<field>[^\s()":]+):)?"(?P<quoted>[^"]*)"'
    r'|(?P<word>[^\s()"]+)'
)


@dataclass(frozen=True, slots=True)
class Quirk:
    """One reason why arXiv reads a text its own way, and where (0-based, in code points)."""

    position: int
    message: str


@dataclass(frozen=True, slots=True)
class ArxivReading:
    """What arXiv makes of a text.

    Attributes:
        tree: what it looks for; None where it refuses or fails, and where a long chain lies in more
            parentheses than `DEEPEST`.
        status: of its answer: 200, 400 for no query, 500 where its server fails.
        problem: why it is not 200, "" where it is.
        repaired: the text after its repairs, as the title of its answer shows it.
        quirks: where it went its own way, in order.
    """

    tree: Node | None
    status: int = READ
    problem: str = ""
    repaired: str = ""
    quirks: tuple[Quirk, ...] = ()


class _RefusalError(Exception):
    """ArXiv gives no papers for this text."""

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


def read_as_arxiv(text: str) -> ArxivReading:
    """Return what arXiv would make of a text sent to it as it is."""
    reader = _Reader(text)
    try:
        tree = reader.read()
    except _RefusalError as refusal:
        return ArxivReading(None, refusal.status, str(refusal), reader.repaired, tuple(reader.quirks))
    shown = tree if tree is not None and measure_nesting(tree) <= DEEPEST else None
    return ArxivReading(shown, READ, "", reader.repaired, tuple(reader.quirks))


@dataclass(slots=True)
class _Group:
    """What was read between two parentheses so far: operands, and the operators between them."""

    prefix: Prefix | None = None
    operands: list[Node | None] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    pending: Operator | None = None
    position: int = 0
    is_negated: bool = False

    def close(self, quirks: list[Quirk]) -> Node | None:
        """Read the chain from its end and return what it asks for; None where nothing is left."""
        kinds = set(self.operators)
        if len(self.operators) > 1 and (len(kinds) > 1 or Operator.ANDNOT in kinds):
            quirks.append(Quirk(self.position, "it knows no precedence and reads a chain from its end"))
        chain = self.operands[-1]
        for operator, operand in zip(self.operators[::-1], self.operands[-2::-1], strict=True):
            chain = _combine(operator, operand, chain)
        return chain


def _combine(operator: Operator, left: Node | None, right: Node | None) -> Node | None:
    if operator is Operator.ANDNOT:
        right = None if right is None else Not(right)
    if left is None or right is None:
        return right if left is None else left
    kind = Or if operator is Operator.OR else And
    behind = right.operands if isinstance(right, kind) else (right,)
    return kind((left, *behind))


class _Reader:
    """Reads one text from left to right, groups on a stack of its own."""

    def __init__(self, text: str) -> None:
        self._text = _drop_open_quote(text)
        self._groups = [_Group()]
        self._mended: list[str] = []
        self._failures: list[str] = []
        self.quirks: list[Quirk] = []

    @property
    def repaired(self) -> str:
        """The text as mended so far."""
        return " ".join(self._mended).replace("( ", "(").replace(" )", ")")

    def read(self) -> Node | None:
        """Return what is looked for; a text that is no query is refused before a server fails over it."""
        for token in _TOKEN.finditer(self._text):
            self._read_token(token)
        if len(self._groups) > 1:
            raise _RefusalError(REFUSED, "a parenthesis is never closed")
        if not self._groups[0].operands:
            raise _RefusalError(REFUSED, "there is nothing to look for")
        tree = self._close_group()
        if self._failures:
            raise _RefusalError(FAILED, f"its server fails where {self._failures[0]}")
        return tree

    def _read_token(self, token: re.Match[str]) -> None:
        word = token["word"]
        if token["open"]:
            self._open_group(token)
        elif token["close"]:
            self._end_group()
        elif word in Operator.__members__:
            self._take_operator(Operator[word])
        elif token["range"]:
            self._take_term(Prefix.SUBMITTED, token["dates"], token)
        elif token["quoted"] is not None:
            self._take_named(token["field"], token["quoted"], token)
        else:
            self._read_word(word, token)

    def _read_word(self, word: str, token: re.Match[str]) -> None:
        name, colon, value = word.partition(":")
        if colon and name in _NAMES and not value:
            self.quirks.append(Quirk(token.start(), f"it drops {word}, which has nothing to look for"))
            return
        if word.upper() in Operator.__members__:
            self.quirks.append(Quirk(token.start(), f"{word!r} is a word to look for: operators are capitals"))
        if word.startswith("-") and len(word) > 1:
            self.quirks.append(Quirk(token.start(), "a - before a word excludes nothing"))
        if colon and name in _NAMES:
            self._take_term(_NAMES[name], value, token)
        else:
            self._take_unnamed(name if colon else "", word, token)

    def _take_named(self, name: str | None, value: str, token: re.Match[str]) -> None:
        if name is None or name in _NAMES:
            self._take_term(_NAMES[name] if name else None, value, token)
        else:
            self._take_unnamed(name, f"{name} {value}", token)

    def _take_unnamed(self, name: str, value: str, token: re.Match[str]) -> None:
        if name.lower() in _NAMES or name.casefold() == "submitteddate":
            self.quirks.append(Quirk(token.start(), f"{name}: is no prefix: prefixes are small letters"))
        self._take_term(Prefix.ALL if name else None, value, token)

    def _open_group(self, token: re.Match[str]) -> None:
        name = token["group"]
        if name and name not in _NAMES:
            self._read_word(name, token)
        group = self._groups[-1]
        self._join(token.start())
        self._groups.append(_Group(_NAMES.get(name or "") or group.prefix, position=token.start()))
        self._mended.append("(")

    def _end_group(self) -> None:
        if len(self._groups) == 1:
            raise _RefusalError(REFUSED, "a parenthesis closes nothing")
        if not self._groups[-1].operands:
            raise _RefusalError(REFUSED, "there is nothing between two parentheses")
        node = self._close_group()
        self._groups.pop()
        self._take_operand(node)
        self._mended.append(")")

    def _close_group(self) -> Node | None:
        group = self._groups[-1]
        if group.pending is not None:
            raise _RefusalError(REFUSED, f"{group.pending} has nothing behind it")
        if group.is_negated and group.operators:
            self._failures.append("more than one term stands behind an ANDNOT that begins")
        return group.close(self.quirks)

    def _take_operand(self, node: Node | None) -> None:
        """Add an operand; an ANDNOT that begins takes all behind it, and the server can negate one term alone."""
        group = self._groups[-1]
        if group.is_negated and not group.operands:
            if isinstance(node, And | Or | Not):
                self._failures.append("a group stands behind an ANDNOT that begins")
            node = None if node is None else Not(node)
        group.operands.append(node)

    def _take_operator(self, operator: Operator) -> None:
        self._groups[-1].pending = Operator.ANDNOT if operator is Operator.NOT else operator

    def _join(self, position: int) -> None:
        """Put an operator before an operand."""
        group, operator = self._groups[-1], self._groups[-1].pending
        group.pending = None
        if group.operands:
            if operator is None:
                self.quirks.append(Quirk(position, "a missing operator is OR"))
            group.operators.append(operator or Operator.OR)
            self._mended.append(group.operators[-1])
        elif operator is Operator.ANDNOT:
            group.is_negated = True
            self._mended.append(operator)
        elif operator is not None:
            raise _RefusalError(REFUSED, f"{operator} has nothing before it")

    def _take_term(self, named: Prefix | None, value: str, token: re.Match[str]) -> None:
        prefix = named or self._groups[-1].prefix or Prefix.ALL
        is_first = not self._mended
        self._join(token.start())
        is_quoted = token["quoted"] is not None
        self._mended.append(f'{prefix}:"{value}"' if is_quoted else f"{prefix}:{value}")
        if value.startswith(("*", "?")) and not is_quoted:
            self._failures.append("a * or ? begins a word")
        if prefix is Prefix.SUBMITTED and not token["range"]:
            self._failures.append("a range is not two dates of digits: [2024 TO 2025]")
        self._take_operand(self._read_term(prefix, value, token, is_first=is_first))

    def _read_term(self, prefix: Prefix, value: str, token: re.Match[str], *, is_first: bool) -> Node | None:
        is_quoted = token["quoted"] is not None
        if prefix is Prefix.AUTHOR:
            if not value.strip():
                return EVERYTHING
            value = self._read_name(value, token, is_first=is_first)
            if "_" in value:
                return intern_condition(prefix, Shape.WORD, value.lower())
        if value.lower() in ("and", "or", "not", "andnot"):
            return intern_condition(prefix, Shape.WORD, value.lower())
        source = Source(value)
        try:
            return read_condition(source, TermToken(prefix, value, is_quoted, 0, 0), None)
        except QueryError:
            return intern_condition(prefix, Shape.PHRASE if is_quoted else Shape.WORD, value.lower())

    def _read_name(self, value: str, token: re.Match[str], *, is_first: bool) -> str:
        position = token.start()
        if token["quoted"] is not None and "," in value:
            self.quirks.append(
                Quirk(position, "between quotes it drops the comma of a name, and knows no initials")
            )
            return value.replace(",", " ")
        if "_" not in value or token["quoted"] is not None:
            return value
        if is_first:
            return value.replace("_", " ").replace(",", " ")
        self.quirks.append(
            Quirk(position, f"it looks for {value} letter by letter where that is not the first word of all")
        )
        return value


def _drop_open_quote(text: str) -> str:
    if text.count('"') % 2 == 0:
        return text
    last = text.rindex('"')
    return text[:last] + text[last + 1 :]
