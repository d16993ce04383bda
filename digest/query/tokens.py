# ruff: noqa: RUF001 - some of these signs look like others
"""A query's text cut into tokens that know where they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from digest.model.errors import QueryError
from digest.query.tree import Prefix

WILDCARDS: Final = "a * may only end a word, and no other sign stands for letters"
"""What is said of a sign in a place where it cannot be."""

MAX_LENGTH = 40_000
"""Code points a query may have: enough for as many names of people as it may have terms."""

MAX_TERMS = 500
"""Words, phrases and ranges a query may have."""

PREFIXES = {prefix.casefold(): prefix for prefix in Prefix} | {
    "title": Prefix.TITLE,
    "abstract": Prefix.ABSTRACT,
    "arxiv": Prefix.ID,
    "lastupdateddate": Prefix.SUBMITTED,
}
"""What may be written before a colon, in any case -> what it means."""

_LIKELY_MEANT = {
    **PREFIXES,
    "auth": Prefix.AUTHOR,
    "author": Prefix.AUTHOR,
    "comment": Prefix.COMMENT,
    "journal": Prefix.JOURNAL_REF,
    "category": Prefix.CATEGORY,
    "report": Prefix.REPORT_NO,
    "date": Prefix.SUBMITTED,
}

CURLY_QUOTES = "“”„‟«»‹›「」『』《》〈〉⟨⟩【】〔〕〖〗〝〞"
"""Quotation marks of word processors and web pages: read as a " wherever one may be."""

_END = rf"\s\x00-\x1f\x7f()\"{CURLY_QUOTES}"
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]*")
_BARE = re.compile(rf"[^{_END}]+")
_WORD = re.compile(rf"[^{_END}]*")
_BARE_DOI = re.compile(rf"(?:[^{_END}]|\([^{_END}]*\))+")
"""Publishers number with parentheses: `10.1016/0370-2693(93)90001-T`."""
_PREFIX = re.compile(r"([^\W\d_][\w.-]{0,60}+)(\s*+):")
PREFIX_WITHIN = re.compile(
    rf"(?<![^\W\d_])({'|'.join(PREFIXES)})(?::+(?=[^\s:)])|(?:=+|;)(?=[\w\"{CURLY_QUOTES}]))",
    re.IGNORECASE,
)
"""A prefix within a word, or one with a sign beside the colon's key."""
_TEXT = re.compile(rf"(?:(?!\b(?:AND|OR|ANDNOT|NOT)\b)[^()\n\"{CURLY_QUOTES}])+")
"""Up to an operator in capitals: in a title, small ones are words."""
_VALUE = re.compile(r"\s*[^\s)]")
_NEGATION = re.compile(
    r"""
    (?<![^\s\x00-\x1f\x7f(!-])
    (?:
        -(?=[^\s\x00-\x1f\x7f)>-])      # a -b, (-b
        | !(?=\s*[^\s)])                # a ! b
    )
    | !(?=[^\s\x00-\x1f\x7f)])          # a!b
    """,
    re.VERBOSE,
)
_NEGATED_VALUE = re.compile(rf"[-!](\w[^{_END}]*|[({CURLY_QUOTES}\"].*)")
BETWEEN_WORDS = re.compile(r"(?<=[^\W\d_][^\W\d_])[+,;/&](?=[^\W\d_][^\W\d_])")
"""These part words as blanks do if no field is asked for: else all parts would be in one field."""
_QUOTED = re.compile(rf'"([^"]*)"|[{CURLY_QUOTES}]([^"{CURLY_QUOTES}]*)["{CURLY_QUOTES}]')
_OPENING = f'"{CURLY_QUOTES}'
_FULL_NAME = re.compile(rf'["{CURLY_QUOTES}][^"{CURLY_QUOTES}]*\w\s+\w|[^\s()]*[,_]')
_WEB = ("http", "https", "ftp")
_NO_WORD = re.compile(rf"[({_OPENING}]|=+(?=[^{_END}=]|[{_OPENING}]|\()")
"""How a value begins that is no mere word.

A = is before a word, a phrase or, to be refused, a group.
"""
_EQUAL = re.compile(r"=+\s*")
_RANGE = re.compile(r"\[([^\[\]\"()]*)\]")


class NoteKind(StrEnum):
    """What a remark is about.

    `MISSING_OPERATOR`: read as AND. `LEFT_OUT`: says nothing by itself, such as a stop word.
    `UNKNOWN_CATEGORY`, `RETIRED_CATEGORY`: no, or only old, papers carry it. `READ_AS`: not what
    the words might suggest, or what was made of something pasted. `LICENCE`: only harvested papers
    can meet it.
    """

    MISSING_OPERATOR = "missing operator"
    LEFT_OUT = "left out"
    UNKNOWN_CATEGORY = "unknown category"
    RETIRED_CATEGORY = "retired category"
    READ_AS = "read as"
    LICENCE = "licence"


@dataclass(frozen=True, slots=True)
class Note:
    """One remark: what was understood, and where, in code points of the query from 0."""

    kind: NoteKind
    position: int
    message: str


@dataclass(frozen=True, slots=True)
class QuerySource:
    """The text being read, the remarks collected on the way, and the one way to refuse it."""

    text: str
    notes: list[Note] = field(default_factory=list)

    def note(self, kind: NoteKind, position: int, message: str) -> None:
        """Remember a remark."""
        self.notes.append(Note(kind, position, message))

    def fail(
        self, position: int, message: str, hint: str = "", *, instead: str = "", form: str = ""
    ) -> NoReturn:
        """Refuse the query: raise a QueryError."""
        raise QueryError(
            message, text=self.text, position=position, hint=hint, instead=instead, form=form
        )


class Operator(StrEnum):
    """The words between conditions."""

    AND = "AND"
    OR = "OR"
    ANDNOT = "ANDNOT"
    NOT = "NOT"


class OperatorToken(NamedTuple):
    """An operator; a `-` before a word is a NOT."""

    operator: Operator
    position: int


class OpenToken(NamedTuple):
    """An opening parenthesis, with the prefix written before it."""

    prefix: Prefix | None
    position: int


class CloseToken(NamedTuple):
    """A closing parenthesis."""

    position: int


class TermToken(NamedTuple):
    """A word, phrase or range.

    `value` is without `=`, quotes or brackets and begins at `value_position`.
    """

    prefix: Prefix | None
    value: str
    is_quoted: bool
    position: int
    value_position: int
    is_exact: bool = False


class EndToken(NamedTuple):
    """The end of the text."""

    position: int


Token = OperatorToken | OpenToken | CloseToken | TermToken | EndToken


class Scanner:
    """Walks over a query's text, one token at a time.

    `scan_tokens` ends with an `EndToken`. Every method raises QueryError if the text can't be cut:
    a quote or bracket left open, an unknown prefix, one without a value, too long, too many terms.
    """

    def __init__(self, source: QuerySource) -> None:
        self._source = source
        self._text = source.text
        self._place = 0

    def scan_tokens(self) -> Iterator[Token]:
        """Yield all tokens from left to right."""
        hint = "Split it into several saved queries."
        if len(self._text) > MAX_LENGTH:
            message = f"The query is longer than {MAX_LENGTH:,} characters"
            self._source.fail(MAX_LENGTH, message, hint)
        terms = 0
        while self._skip_blanks() < len(self._text):
            token = self._scan_token()
            if isinstance(token, TermToken):
                terms += 1
            if terms > MAX_TERMS:
                message = f"The query has more than {MAX_TERMS} terms"
                self._source.fail(token.position, message, hint)
            yield token
        yield EndToken(self._place)

    def _skip_blanks(self) -> int:
        blanks = _BLANKS.match(self._text, self._place)
        self._place = blanks.end() if blanks else self._place
        return self._place

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Match a pattern here; callers saw that the next character fits."""
        return pattern.match(self._text, self._place)  # type: ignore[return-value]  # it fits

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _scan_token(self) -> Token:
        start = self._place
        match self._next():
            case ")":
                self._place += 1
                return CloseToken(start)
            case "-" | "!" if _NEGATION.match(self._text, start):
                self._place += 1
                return OperatorToken(Operator.NOT, start)
            case _ if _NO_WORD.match(self._text, start):
                return self._scan_value(None, start)
            case _:
                return self._scan_word(start)

    def _scan_word(self, start: int) -> Token:
        prefix = self._scan_prefix(start)
        if prefix is not None:
            return self._scan_value(prefix, start)
        word = self._take_bare()
        if operator := Operator.__members__.get(word.upper()):
            return OperatorToken(operator, start)
        return TermToken(None, word, is_quoted=False, position=start, value_position=start)

    def _take_bare(self, prefix: Prefix = Prefix.ALL) -> str:
        is_doi = self._text.startswith("10.", self._place)
        pattern = _BARE_DOI if is_doi else _BARE
        word = self._match(pattern)[0]
        kept = word
        if prefix is Prefix.ALL and not is_doi and not word.isalnum():  # most words have no sign
            sign = BETWEEN_WORDS.search(word)
            if sign is not None:
                word = word[: sign.end()]
                kept = word.rstrip("+/&")
        self._place += len(word)
        return kept

    def _scan_prefix(self, start: int) -> Prefix | None:
        written = _PREFIX.match(self._text, start)
        if written is None:
            return None
        whole = written[0]
        word = written[1]
        end = written.end()
        name = unicodedata.normalize("NFKC", word).casefold()
        known = PREFIXES.get(name)
        if known is None:
            if _VALUE.match(self._text, end):
                self._refuse_prefix(word, start, self._text[end:])
            return None
        self._place = end
        has_blank = self._skip_blanks() > end
        has_no_value = self._next() in ("", ")")
        if has_no_value or (has_blank and self._begins_anew()):
            hint = f"Write a word directly after it: {known}:word."
            self._source.fail(start, f"{whole} has nothing to search for", hint)
        if word in ("Ti", "Co", "Au") and not has_blank:
            message = f"{whole} is read as {known}:, not as an element; quote that"
            self._source.note(NoteKind.READ_AS, start, message)
        if name == "lastupdateddate":
            message = (
                "arXiv cannot search by date of update: "
                "it reads lastUpdatedDate as submittedDate, as Digest does"
            )
            self._source.note(NoteKind.READ_AS, start, message)
        return known

    def _begins_anew(self) -> bool:
        """Whether an operator or another prefix is here, which the prefix before can't mean."""
        word = self._match(_WORD)[0]
        if word.startswith("-") or word.upper() in Operator.__members__:
            return True
        prefix = _PREFIX.match(word)
        return prefix is not None and prefix[1].casefold() in PREFIXES

    def _refuse_prefix(self, name: str, start: int, behind: str) -> NoReturn:
        folded = name.casefold()
        if folded in _WEB and behind.startswith("//"):
            hint = "Paste an address of arXiv's, or write the query itself."
            self._source.fail(start, "Only addresses at arXiv are understood", hint)
        form = ""
        guess = ""
        close = get_close_matches(folded, _LIKELY_MEANT, n=1, cutoff=0.65)
        if close:
            meant = _LIKELY_MEANT[close[0]]
            if meant is Prefix.AUTHOR and _FULL_NAME.match(behind):
                meant = Prefix.PERSON
            form = f"{meant}:"
            guess = f"Did you mean {form}? "
        words = _TEXT.match(self._text, start)
        quoted = words[0].strip() if words else f"{name}:"
        known = " ".join(Prefix)
        hint = f'{guess}Known prefixes: {known}. As words of a text, write "{quoted}".'
        self._source.fail(start, f"{name}: is not a known prefix", hint, form=form)

    def _scan_value(self, prefix: Prefix | None, start: int) -> Token:
        if prefix is Prefix.SUBMITTED:
            return self._scan_closed(prefix, start)
        match self._next():
            case "(":
                self._place += 1
                return OpenToken(prefix, self._place - 1)
            case "=":
                return self._scan_exact(prefix, start)
            case sign if sign in _OPENING:
                return self._scan_closed(prefix, start)
            case sign:
                place = self._place
                negated = _NEGATED_VALUE.match(self._text, place)
                if negated is not None:
                    form = f"NOT {prefix}:{negated[1]}"
                    message = f"{sign} means NOT only before a prefix"
                    self._source.fail(place, message, f"Write {form}.", form=form)
                value = self._take_bare(prefix or Prefix.ALL)
                return TermToken(
                    prefix, value, is_quoted=False, position=start, value_position=place
                )

    def _scan_exact(self, prefix: Prefix | None, start: int) -> Token:
        """Scan what comes after a `=`: a word or a phrase."""
        sign = self._place
        written = f"{prefix}:" if prefix else ""
        self._place = self._match(_EQUAL).end()
        named = _PREFIX.match(self._text, self._place)
        if named and named[1].casefold() in PREFIXES:
            prefix = PREFIXES[named[1].casefold()]
            self._place = named.end()
        self._skip_blanks()
        if self._next() in ("", "(", ")"):
            hint = f"Write {written}=word, and = before each word of a group."
            self._source.fail(sign, "= goes directly before one word or phrase", hint)
        token = self._scan_value(prefix or Prefix.ALL, start)
        if isinstance(token, TermToken):
            return token._replace(prefix=prefix, is_exact=True)
        return token

    def _scan_closed(self, prefix: Prefix | None, start: int) -> TermToken:
        """Scan what is between two quotation marks, or a range in square brackets."""
        opening = self._place
        is_range = prefix is Prefix.SUBMITTED
        pattern = _RANGE if is_range else _QUOTED
        found = pattern.match(self._text, opening)
        if found is None and is_range:
            hint = "Write submittedDate:[20260301 TO 20260331]."
            self._source.fail(opening, "submittedDate: needs a range in square brackets", hint)
        if found is None:
            hint = 'A phrase is between two ": "like this".'
            self._source.fail(opening, "This quotation mark is never closed", hint)
        self._place = found.end()
        value = found[found.lastindex or 0]
        return TermToken(
            prefix, value, is_quoted=not is_range, position=start, value_position=opening + 1
        )
