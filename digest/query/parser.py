"""Parses a query: tokens to a tree of conditions, or a clear refusal at its place."""

from __future__ import annotations

import re
from dataclasses import replace
from operator import attrgetter
from typing import NoReturn, TypeGuard

from digest.model.errors import QueryError
from digest.query.canonical import measure_nesting, print_canonical, print_tree
from digest.query.conditions import PHRASED, read_condition
from digest.query.dialects import refuse_foreign
from digest.query.pasted import normalise_quotes, normalise_signs, read_pasted
from digest.query.queries import Query
from digest.query.tokens import (
    MAX_LENGTH,
    CloseToken,
    EndToken,
    Note,
    NoteKind,
    OpenToken,
    Operator,
    OperatorToken,
    QuerySource,
    Scanner,
    TermToken,
    Token,
)
from digest.query.tree import And, Node, Not, Or, Prefix

_PLAIN_WORD = re.compile(r"'?\w[\w.'’+-]*")
_LONGEST_PHRASE = 8
_SAID_OF_ORDER = "goes before OR"

MAX_NESTING = 64
"""Parentheses that may be open at one place, as written and as printed."""


def parse_query(text: str) -> Query:
    """Read a saved query's text, or one made of an address of arXiv's or a part of one.

    Raise `QueryError`: it can't be read; `position` says where, `hint` what to do.
    """
    written = normalise_quotes(normalise_signs(text))
    pasted = read_pasted(written) if len(written) <= MAX_LENGTH else None
    source = QuerySource(pasted[0] if pasted else written)
    if pasted:
        source.note(NoteKind.READ_AS, 0, pasted[1])
    if len(source.text) <= MAX_LENGTH:
        refuse_foreign(source, _has_remarks)
    tree = _Parser(source).parse()
    pasted_as = "" if source.text == text else source.text
    notes = tuple(sorted(source.notes, key=attrgetter("position")))
    query = Query(text, tree, notes, pasted_as)
    has_unknown = any(note.kind is NoteKind.UNKNOWN_CATEGORY for note in notes)
    if has_unknown or not query.futility:
        return query
    futile = Note(NoteKind.READ_AS, 0, f"this brings nothing: {query.futility}")
    return replace(query, notes=(futile, *notes))


def _has_remarks(text: str) -> bool:
    """Whether there is a remark on a text without forms of other tools, or it can't be read."""
    try:
        return bool(parse_query(text).notes)
    except QueryError:
        return True


class _Parser:
    """Reads the tokens of one query; None is for what was left out."""

    def __init__(self, source: QuerySource) -> None:
        self._source = source
        self._tokens = list(Scanner(source).scan_tokens())
        self._index = 0
        self._deepest = (0, 0)

    def parse(self) -> Node:
        tree = None
        if isinstance(self._token, EndToken):
            hint = "Write what to search for, such as cat:cs.PF AND abs:GPU."
            self._source.fail(0, "The query is empty", hint)
        if not isinstance(self._token, CloseToken):
            tree = self._read_alternatives(None, depth=0)
        if isinstance(self._token, CloseToken):
            hint = "Remove it, or add a ( before it."
            self._source.fail(self._token.position, "This parenthesis closes nothing", hint)
        if tree is None:
            hint = (
                'Every word in it is too common or has no letter. ="to be" finds even such words.'
            )
            self._source.fail(0, "Nothing is left to search for", hint)
        self._measure(tree)
        return tree

    def _measure(self, tree: Node) -> None:
        """Refuse a tree that could not be read again from its canonical text.

        The store keeps that text.
        """
        canonical = print_canonical(tree)
        nesting = max(measure_nesting(print_tree(tree)), measure_nesting(canonical))
        if nesting > MAX_NESTING:
            _, position = self._deepest
            self._refuse_depth(position)
        if len(canonical) > MAX_LENGTH:
            message = f"The query is longer than {MAX_LENGTH:,} characters, each prefix written out"
            self._source.fail(0, message, "Split it into several saved queries.")

    @property
    def _token(self) -> Token:
        return self._tokens[self._index]

    def _take(self, *operators: Operator) -> OperatorToken | None:
        token = self._tokens[self._index]
        if isinstance(token, OperatorToken) and token.operator in operators:
            self._index += 1
            return token
        return None

    def _read_alternatives(self, prefix: Prefix | None, depth: int) -> Node | None:
        start = self._token.position
        has_negation = isinstance(self._token, OperatorToken)
        rows = [self._read_conjunction(prefix, depth)]
        while operator := self._take(Operator.OR):
            has_negation = has_negation or isinstance(self._token, OperatorToken)
            rows.append(self._read_conjunction(prefix, depth, operator))
        tree = _join(Or, [_join(And, row) for row in rows])
        has_order = has_negation or _has_several(rows)
        if tree is not None and len(rows) > 1 and has_order:
            self._note_order(start, tree, rows)
        return tree

    def _read_conjunction(
        self, prefix: Prefix | None, depth: int, before: OperatorToken | None = None
    ) -> list[Node | None]:
        operands: list[Node | None] = []
        operator = before or self._take(Operator.ANDNOT)
        while True:
            node = self._read_factor(prefix, depth, operator)
            is_excluded = operator is not None and operator.operator is Operator.ANDNOT
            operands.append(_negate(node) if is_excluded else node)
            if self._is_at_end_of_conjunction():
                return operands
            operator = self._take(Operator.AND, Operator.ANDNOT)
            self._note_missing_operator(operator)

    def _note_order(self, start: int, tree: Node, rows: list[list[Node | None]]) -> None:
        """Say once how operators were read that no parentheses order, and what else is meant."""
        if any(_SAID_OF_ORDER in note.message for note in self._source.notes):
            return
        otherwise = _read_otherwise(tree, rows)
        if otherwise is None or otherwise == tree:
            return
        operator = "AND" if _has_several(rows) else "NOT"
        message = (
            f"{operator} {_SAID_OF_ORDER}: read as {print_tree(tree)}"
            f"; write {print_tree(otherwise)} if that is meant"
        )
        self._source.note(NoteKind.READ_AS, start, message)

    def _is_at_end_of_conjunction(self) -> bool:
        token = self._tokens[self._index]
        if isinstance(token, OperatorToken):
            return token.operator is Operator.OR
        return isinstance(token, (CloseToken, EndToken))

    def _note_missing_operator(self, operator: OperatorToken | None) -> None:
        if operator is not None or isinstance(self._token, OperatorToken):
            return
        said: list[str] = []
        is_noted = any(note.kind is NoteKind.MISSING_OPERATOR for note in self._source.notes)
        if not is_noted:
            said.append("all parts must match, as with AND (on arXiv any part is enough)")
        as_one = self._find_formula() or self._find_phrase()
        if as_one:
            said.append(as_one)
        if said:
            position = self._token.position
            self._source.note(NoteKind.MISSING_OPERATOR, position, "; ".join(said))

    def _find_formula(self) -> str:
        """Return how to search for a formula such as `SU(2)`, at its parenthesis; else ""."""
        match self._tokens[self._index - 1 : self._index + 3]:
            case [
                TermToken(is_quoted=False) as name,
                OpenToken() as opening,
                TermToken() as inner,
                CloseToken(),
            ]:
                end = name.value_position + len(name.value)
                if opening.position != end:
                    return ""
                prefix = f"{name.prefix}:" if name.prefix else ""
                return f'{prefix}"{name.value}({inner.value})" finds it as one'
            case _:
                return ""

    def _find_phrase(self) -> str:
        """Return how to search for words in a row side by side, at the second of them; else ""."""
        words = self._list_row()
        if not 1 < len(words) <= _LONGEST_PHRASE:
            return ""
        first = words[0]
        prefix = f"{first.prefix}:" if first.prefix else ""
        if first.is_exact:
            prefix += "="
        alone = "in quotes, "
        if prefix:
            alone = f"{prefix} goes with {first.value.rstrip(',')} alone, and "
        phrase = " ".join(word.value.strip("'") for word in words).rstrip(".,;")
        is_name = first.prefix is Prefix.AUTHOR
        found = "people who have all these names" if is_name else "the words side by side"
        return f'{alone}{prefix}"{phrase}" finds {found}'

    def _list_row(self) -> list[TermToken]:
        """Return the plain words in a row, at the second of them; [] at a later one."""
        *earlier, first = self._tokens[max(0, self._index - 2) : self._index]
        if not _is_plain_word(first) or _ends_row(first):
            return []
        if first.prefix is None and any(map(_goes_on, earlier)):
            return []
        words = [first]
        for token in self._tokens[self._index :]:
            if not _is_plain_word(token) or token.prefix is not None or token.is_exact:
                break
            words.append(token)
            if _ends_row(token):
                break
        return words

    def _read_factor(
        self, prefix: Prefix | None, depth: int, before: OperatorToken | None
    ) -> Node | None:
        is_negated = False
        while negation := self._take(Operator.NOT):
            is_negated = not is_negated
            before = negation
        node = self._read_operand(prefix, depth, before)
        excludes = before is not None and before.operator in (Operator.NOT, Operator.ANDNOT)
        while node is None and excludes and isinstance(self._token, TermToken):
            node = self._read_operand(prefix, depth, before)  # `NOT a survey`
        return _negate(node) if is_negated else node

    def _read_operand(
        self, prefix: Prefix | None, depth: int, before: OperatorToken | None
    ) -> Node | None:
        match self._tokens[self._index]:
            case TermToken() as term:
                self._index += 1
                return read_condition(self._source, term, prefix)
            case OpenToken() as opening:
                return self._read_group(opening, opening.prefix or prefix, depth + 1)
            case token:
                return self._refuse(token, before)

    def _read_group(self, opening: OpenToken, prefix: Prefix | None, depth: int) -> Node | None:
        start = opening.position
        if depth > MAX_NESTING:
            self._refuse_depth(start)
        self._deepest = max(self._deepest, (depth, start))
        self._index += 1
        if isinstance(self._token, CloseToken):
            message = "There is nothing between these parentheses"
            self._source.fail(start, message, "Put a word there.")
        node = None
        if not isinstance(self._token, EndToken):
            node = self._read_alternatives(prefix, depth)
        if not isinstance(self._token, CloseToken):
            hint = "Add a ) where its group ends."
            self._source.fail(start, "This parenthesis is never closed", hint)
        self._index += 1
        return node

    def _refuse_depth(self, position: int) -> NoReturn:
        message = f"More than {MAX_NESTING} parentheses are open here"
        hint = "Use fewer parentheses, or split it into several saved queries."
        self._source.fail(position, message, hint)

    def _refuse(self, token: Token, before: OperatorToken | None) -> NoReturn:
        if not isinstance(token, OperatorToken):
            last = before or token
            said = before.operator if before else "This"
            hint = "Write a word or a group after it, or leave it out."
            self._source.fail(last.position, f"{said} has nothing after it", hint)
        word = f'to search for the word, quote it: "{token.operator.lower()}".'
        if before is not None:
            message = f"{token.operator} can't follow {before.operator}"
            self._source.fail(token.position, message, f"Leave one of the two out; {word}")
        message = f"{token.operator} has nothing before it"
        hint = f"Write a word or a group before it, or leave it out; {word}"
        self._source.fail(token.position, message, hint)


def _is_plain_word(token: Token | None) -> TypeGuard[TermToken]:
    if not isinstance(token, TermToken) or token.is_quoted or token.prefix not in PHRASED:
        return False
    return _PLAIN_WORD.fullmatch(token.value.rstrip(",;")) is not None


def _ends_row(token: TermToken) -> bool:
    """Tell whether a comma ends words in a row here; in a name it parts the last name off."""
    return token.value.endswith((",", ";")) and token.prefix is not Prefix.AUTHOR


def _goes_on(token: Token) -> bool:
    return _is_plain_word(token) and not _ends_row(token)


def _has_several(rows: list[list[Node | None]]) -> bool:
    """Tell whether an AND is in any of the operands of an OR."""
    return any(len(row) > 1 for row in rows)


def _read_otherwise(tree: Node, rows: list[list[Node | None]]) -> Node | None:
    """Return the tree if OR went before AND or, where that is the same, before NOT."""
    chains: list[list[Node | None]] = [[]]
    for first, *others in rows:
        if isinstance(first, Not) and chains[0]:
            chains.append([])  # `a OR NOT b` is seldom meant: it finds nearly everything
        chains[-1].append(first)
        chains.extend([other] for other in others)
    otherwise = _join(And, [_join(Or, row) for row in chains])
    first, *others = chains[0]
    if otherwise == tree and isinstance(first, Not):
        return _negate(_join(Or, [first.operand, *others]))
    return otherwise


def _negate(node: Node | None) -> Node | None:
    return None if node is None else Not(node)


def _join(kind: type[And | Or], operands: list[Node | None]) -> Node | None:
    present = [operand for operand in operands if operand is not None]
    if len(present) > 1:
        return kind(tuple(present))
    return present[0] if present else None
