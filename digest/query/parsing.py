"""From text to a query: conventional precedence, errors where they are.

    query    = conjunction { OR conjunction }
    conjunction = [ANDNOT] factor { (AND | ANDNOT | nothing) factor }
    factor   = { NOT } ( term | [prefix:] "(" query ")" )

NOT binds tightest, then AND, ANDNOT and a missing operator (which is AND), then OR; chains read from the
left. arXiv itself knows no precedence and reads from the right (see `arxiv_syntax`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeGuard

from digest.query.addresses import read_address
from digest.query.conditions import read_condition
from digest.query.fragments import read_fragment
from digest.query.notes import NoteKind, Source
from digest.query.printing import canonicalise, measure_nesting, print_tree
from digest.query.queries import Query
from digest.query.tokens import (
    MAX_LENGTH,
    CloseToken,
    EndToken,
    OpenToken,
    Operator,
    OperatorToken,
    Scanner,
    TermToken,
    Token,
)
from digest.query.tree import And, Node, Not, Or, Prefix

if TYPE_CHECKING:
    from digest.query.tree import Condition

_OF_VALUES = frozenset((Prefix.PERSON, Prefix.CATEGORY, Prefix.ID, Prefix.DOI, Prefix.SUBMITTED))
_PHRASED = frozenset((None, *Prefix)) - _OF_VALUES
"""What may stand before words that are meant side by side, or as one name."""

_PLAIN_WORD = re.compile(r"'?\w[\w.'’+-]*")
_LONGEST_PHRASE = 8

MAX_NESTING = 64
"""Parentheses that may be open at one place, as written and as printed."""


def parse_query(text: str) -> Query:
    """Read a saved query's text, or one made of an address of arXiv's or a part of one.

    Raises:
        QueryError: it can't be read; `position` says where, `hint` what to do.
    """
    source = open_source(text)
    tree = _Parser(source).parse()
    notes = tuple(sorted(source.notes, key=lambda note: note.position))
    return Query(text, tree, notes, source.text if source.written else "")


def open_source(text: str) -> Source:
    """Return what is to be read: the text itself, or the query made of something pasted.

    Raises:
        QueryError: what was pasted can't be read as a query.
    """
    pasted = (read_address(text) or read_fragment(text)) if len(text) <= MAX_LENGTH else None
    if pasted is None:
        return Source(text)
    source = Source(pasted.text, written=text, places=pasted.places)
    source.note(NoteKind.READ_AS, 0, pasted.message)
    return source


@dataclass(frozen=True, slots=True)
class Term:
    """A word, phrase or range of a query, as written and as read.

    Attributes:
        token: as written, at its place in the query's `expression`.
        position: where it stands in the query's text.
        condition: what it asks for; None where it was left out.
    """

    token: TermToken
    position: int
    condition: Condition | None


def read_terms(text: str) -> list[Term]:
    """Return the terms of a query that can be read, in order.

    Raises:
        QueryError: as `parse_query` does.
    """
    parser = _Parser(open_source(text))
    parser.parse()
    return parser.terms


class _Parser:
    """Reads the tokens of one query; None stands for what was left out."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = list(Scanner(source).scan_tokens())
        self._index = 0
        self._deepest = (0, 0)
        self.terms: list[Term] = []

    def parse(self) -> Node:
        if isinstance(self._token, EndToken):
            self._source.fail(0, "The query is empty", "Write what to look for, such as cat:cs.PF AND abs:GPU.")
        tree = None if isinstance(self._token, CloseToken) else self._read_alternatives(None, depth=0)
        if isinstance(self._token, CloseToken):
            self._source.fail(
                self._token.position, "This parenthesis closes nothing", "Remove it, or open one before."
            )
        if tree is None:
            self._source.fail(
                0, "Nothing is left to look for", "Every word of it is too common or holds no letter."
            )
        self._measure(tree)
        return tree

    def _measure(self, tree: Node) -> None:
        """Refuse a tree that could not be read again from its canonical text, which is what the store keeps.

        In one order, with every prefix and all parentheses, a text of up to a few terms is never so much larger.
        """
        nesting = measure_nesting(tree)
        if 2 * nesting < MAX_NESTING and 4 * len(self._source.text) < MAX_LENGTH:
            return
        canonical = canonicalise(tree)
        if max(nesting, measure_nesting(canonical)) > MAX_NESTING:
            self._refuse_depth(self._deepest[1])
        if len(print_tree(canonical)) > MAX_LENGTH:
            message = f"The query is longer than {MAX_LENGTH:,} characters, each prefix written out"
            self._source.fail(0, message, "Split it into several saved queries.")

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _take(self, *operators: Operator) -> OperatorToken | None:
        token = self._token
        if isinstance(token, OperatorToken) and token.operator in operators:
            self._index += 1
            return token
        return None

    def _read_alternatives(self, prefix: Prefix | None, depth: int) -> Node | None:
        operands = [self._read_conjunction(prefix, depth)]
        while operator := self._take(Operator.OR):
            operands.append(self._read_conjunction(prefix, depth, operator))
        return _join(Or, operands)

    def _read_conjunction(
        self, prefix: Prefix | None, depth: int, before: OperatorToken | None = None
    ) -> Node | None:
        if before is None and (before := self._take(Operator.ANDNOT)):
            operands = [_negate(self._read_factor(prefix, depth, before))]
        else:
            operands = [self._read_factor(prefix, depth, before)]
        while not self._is_at_end_of_conjunction():
            if operator := self._take(Operator.ANDNOT):
                operands.append(_negate(self._read_factor(prefix, depth, operator)))
            else:
                operator = self._take(Operator.AND)
                self._note_missing_operator(operator)
                operands.append(self._read_factor(prefix, depth, operator))
        return _join(And, operands)

    def _is_at_end_of_conjunction(self) -> bool:
        token = self._token
        return isinstance(token, CloseToken | EndToken) or (
            isinstance(token, OperatorToken) and token.operator is Operator.OR
        )

    def _note_missing_operator(self, operator: OperatorToken | None) -> None:
        if operator is not None or isinstance(self._token, OperatorToken):
            return
        is_noted = any(note.kind is NoteKind.MISSING_OPERATOR for note in self._source.notes)
        said = ["no operator: read as AND, where arXiv reads OR"] * (not is_noted)
        if phrase := self._find_formula() or self._find_phrase():
            said.append(phrase)
        if said:
            self._source.note(NoteKind.MISSING_OPERATOR, self._token.position, "; ".join(said))

    def _find_formula(self) -> str:
        """Return how to look for a formula such as `SU(2)`, where its parenthesis stands; else ""."""
        match self._tokens[self._index - 1 : self._index + 3]:
            case [TermToken(is_quoted=False) as name, OpenToken() as opening, TermToken() as inner, CloseToken()]:
                prefix = f"{name.prefix}:" if name.prefix else ""
                is_one = opening.position == name.value_position + len(name.value)
                return f'{prefix}"{name.value}({inner.value})" finds it as one' if is_one else ""
            case _:
                return ""

    def _find_phrase(self) -> str:
        """Return how to look for words in a row side by side, where the second of them stands; else ""."""
        *earlier, first = self._tokens[max(0, self._index - 2) : self._index]
        if not _is_plain_word(first) or _ends_row(first):
            return ""
        if first.prefix is None and any(_is_plain_word(token) and not _ends_row(token) for token in earlier):
            return ""
        words = [first]
        for token in self._tokens[self._index :]:
            if not _is_plain_word(token) or token.prefix is not None:
                break
            words.append(token)
            if _ends_row(token):
                break
        if not 1 < len(words) <= _LONGEST_PHRASE:
            return ""
        prefix = f"{first.prefix}:" if first.prefix else ""
        alone = f"{prefix} goes with {first.value.rstrip(',')} alone, and " if prefix else ""
        phrase = " ".join(word.value.strip("'") for word in words).rstrip(",;")
        found = "whoever has all these names" if first.prefix is Prefix.AUTHOR else "the words side by side"
        return f'{alone}{prefix}"{phrase}" finds {found}'

    def _read_factor(self, prefix: Prefix | None, depth: int, before: OperatorToken | None) -> Node | None:
        is_negated = False
        while negation := self._take(Operator.NOT):
            is_negated, before = not is_negated, negation
        node = self._read_operand(prefix, depth, before)
        return _negate(node) if is_negated else node

    def _read_operand(self, prefix: Prefix | None, depth: int, before: OperatorToken | None) -> Node | None:
        match self._token:
            case TermToken() as term:
                self._index += 1
                condition = read_condition(self._source, term, prefix)
                self.terms.append(Term(term, self._source.locate(term.position), condition))
                return condition
            case OpenToken() as opening:
                return self._read_group(opening, opening.prefix or prefix, depth + 1)
            case token:
                return self._refuse(token, before)

    def _read_group(self, opening: OpenToken, prefix: Prefix | None, depth: int) -> Node | None:
        if depth > MAX_NESTING:
            self._refuse_depth(opening.position)
        self._deepest = max(self._deepest, (depth, opening.position))
        self._index += 1
        if isinstance(self._token, CloseToken):
            self._source.fail(opening.position, "There is nothing between these parentheses", "Put a word there.")
        node = None if isinstance(self._token, EndToken) else self._read_alternatives(prefix, depth)
        if not isinstance(self._token, CloseToken):
            self._source.fail(
                opening.position, "This parenthesis is never closed", "Add a ) where its group ends."
            )
        self._index += 1
        return node

    def _refuse_depth(self, position: int) -> NoReturn:
        message = f"More than {MAX_NESTING} parentheses are open here"
        self._source.fail(position, message, "Nest less deeply, or split it into several saved queries.")

    def _refuse(self, token: Token, before: OperatorToken | None) -> NoReturn:
        if not isinstance(token, OperatorToken) and before is not None:
            message = f"{before.operator} has nothing behind it"
            self._source.fail(before.position, message, "Write a word or a group behind it, or leave it out.")
        if not isinstance(token, OperatorToken):
            self._source.fail(token.position, "This has nothing before it", "Write a word or a group before it.")
        word = f'to look for the word, quote it: "{token.operator.lower()}".'
        if before is not None:
            message = f"{token.operator} can't follow {before.operator}"
            self._source.fail(token.position, message, f"Leave one of the two out; {word}")
        message = f"{token.operator} has nothing before it"
        self._source.fail(token.position, message, f"Write a word or a group before it, or leave it out; {word}")


def _is_plain_word(token: Token | None) -> TypeGuard[TermToken]:
    """Tell whether a token is a word that could be one of a phrase."""
    if not isinstance(token, TermToken) or token.is_quoted or token.prefix not in _PHRASED:
        return False
    return _PLAIN_WORD.fullmatch(token.value.rstrip(",;")) is not None


def _ends_row(token: TermToken) -> bool:
    """Tell whether a comma ends words in a row here; in a name it parts the last one from the others."""
    return token.value.endswith((",", ";")) and token.prefix is not Prefix.AUTHOR


def _negate(node: Node | None) -> Node | None:
    return None if node is None else Not(node)


def _join(kind: type[And | Or], operands: list[Node | None]) -> Node | None:
    present = [operand for operand in operands if operand is not None]
    if len(present) > 1:
        return kind(tuple(present))
    return present[0] if present else None
