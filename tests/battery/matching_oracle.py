"""SQLite's FTS5 as an oracle for the part of our query language it has, too.

It is handed tokens, not texts: words cut, folded and stemmed, each written as letters and digits
only, so that its own tokeniser changes nothing. From there on everything is its own: postings,
phrases, beginnings, AND, OR and NOT. Not shared are phrases with gaps, several parts of one name,
full names of a person, and dates.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from digest.model import taxonomy
from digest.model.papers import Paper
from digest.query import And, Condition, Node, Not, Or, Prefix, Shape
from digest.query.evaluation import PlainText, WordText
from digest.query.names import fold_umlauts, list_spellings, split_name, write_out
from digest.query.tree import spread_condition
from digest.query.words import (
    PLACE_HOLDERS,
    cut_words,
    fold,
    fold_word,
    read_named,
    read_parted,
    read_word,
    stem,
)

_STEMMED = {Prefix.TITLE: "ti", Prefix.ABSTRACT: "abs"}
_PLAIN = {
    Prefix.TITLE: "tiw",
    Prefix.ABSTRACT: "absw",
    Prefix.COMMENT: "co",
    Prefix.JOURNAL_REF: "jr",
    Prefix.REPORT_NO: "rn",
}
_COLUMNS = (
    "ti",
    "abs",
    "tiw",
    "absw",
    "co",
    "jr",
    "rn",
    "name",
    "cat",
    "archive",
    "paper",
    "doi",
    "every",
)
_STOP = "s"
_EVERY = "every : e"


class NotSharedError(Exception):
    """FTS5 has no way to ask this."""


class Oracle:
    """Papers in an FTS5 table in memory."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute(
            f"CREATE VIRTUAL TABLE papers USING fts5({', '.join(_COLUMNS)}, tokenize = 'ascii', detail = 'full')"
        )
        places = ", ".join("?" * (len(_COLUMNS) + 1))
        rows = [(index, *_describe(paper)) for index, paper in enumerate(papers)]
        self._connection.executemany(
            f"INSERT INTO papers (rowid, {', '.join(_COLUMNS)}) VALUES ({places})", rows
        )

    def find(self, question: str) -> list[int]:
        """Return the indexes of the papers that FTS5 finds, in growing order."""
        rows = self._connection.execute(
            "SELECT rowid FROM papers WHERE papers MATCH ? ORDER BY rowid", (question,)
        )
        return [index for (index,) in rows]


def _write(text: str) -> str:
    """Return a token of letters and digits for a text.

    Beginnings of the one are beginnings of the other.
    """
    return f"x{text.encode('utf-8', 'surrogatepass').hex()}"


def _write_all(texts: Iterable[str]) -> str:
    return " ".join(map(_write, texts))


def _describe(paper: Paper) -> tuple[str, ...]:
    categories = {name for category in paper.categories for name in taxonomy.names_of(category)}
    printed = (PlainText(author.name).plain for author in paper.authors)
    names = [spelling for name in printed for spelling in dict.fromkeys((name, write_out(name)))]
    id_ = str(paper.id).casefold()
    return (
        *(_write_words(text, is_stemmed=True) for text in (paper.title, paper.abstract)),
        *(
            _write_words(text, is_stemmed=False)
            for text in (
                paper.title,
                paper.abstract,
                paper.comment,
                paper.journal_ref,
                paper.report_no,
            )
        ),
        _write_all(
            text
            for name in names
            for part in split_name(name)
            for text in list_spellings(part.text)
        ),
        _write_all(name.casefold() for name in categories),
        _write_all(map(taxonomy.archive_of, categories)),
        _write_all((id_, f"{id_}v{paper.version}")),
        _write_all(doi.casefold() for doi in paper.dois),
        "e",
    )


def _write_words(raw: str, *, is_stemmed: bool) -> str:
    words = cut_words(WordText(raw, is_stemmed=is_stemmed).plain)
    both = (*map(read_word, words), None, *read_parted(words))
    return " ".join(
        _STOP
        if word is None or word in PLACE_HOLDERS
        else _write(stem(word) if is_stemmed else word)
        for word in both
    )


def translate(node: Node) -> str:
    """Return a tree in FTS5's own syntax.

    Raises:
        NotSharedError: it has no way to ask this.
    """
    match node:
        case Condition():
            return _join("OR", map(_translate_condition, spread_condition(node)))
        case Not(operand):
            return f"({_EVERY} NOT {translate(operand)})"
        case Or(operands):
            return _join("OR", map(translate, operands))
        case And(operands):
            return _join("AND", map(translate, operands))


def _join(operator: str, parts: Iterable[str]) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else f"({f' {operator} '.join(listed)})"


def _translate_condition(condition: Condition) -> str:
    match condition.prefix:
        case Prefix.AUTHOR:
            return _translate_author(condition)
        case Prefix.CATEGORY:
            return _translate_category(condition)
        case Prefix.ID:
            return f"paper : {_write(condition.text.casefold())}"
        case Prefix.DOI:
            return f"doi : {_write(condition.text.casefold())}"
        case prefix if prefix in _PLAIN:
            return _translate_words(condition)
        case prefix:
            raise NotSharedError(prefix)


def _translate_author(condition: Condition) -> str:
    if condition.shape is Shape.PHRASE or set(condition.text) & set(" ,*"):
        raise NotSharedError(condition.text)
    if condition.shape is Shape.BEGINNING:
        return _join(
            "OR", (f"name : {_write(text)} *" for text in list_spellings(fold(condition.text)))
        )
    return f"name : {_write(fold_umlauts(fold(condition.text)))}"


def _translate_category(condition: Condition) -> str:
    text = condition.text
    if condition.shape is Shape.BEGINNING:
        return f"cat : {_write(text.casefold())} *"
    if taxonomy.is_archive(text):
        return f"archive : {_write(text)}"
    return f"cat : {_write(text.casefold())}"


def _translate_words(condition: Condition) -> str:
    prefix = condition.prefix
    column = _STEMMED.get(prefix, _PLAIN[prefix])
    is_stemmed = prefix in _STEMMED
    if condition.shape is Shape.EXACT:
        raise NotSharedError(condition.text)
    words = cut_words(condition.text)
    beginning = fold_word(words.pop()) if condition.shape is Shape.BEGINNING else ""
    phrases = (
        [words]
        if condition.shape is Shape.PHRASE
        else [[word] for word in words if read_word(word) not in PLACE_HOLDERS]
    )
    parts = [_translate_phrase(column, phrase, is_stemmed=is_stemmed) for phrase in phrases]
    if beginning:
        columns = dict.fromkeys((column, _PLAIN[prefix]))
        parts.append(_join("OR", (f"{one} : {_write(beginning)} *" for one in columns)))
    return _join("AND", parts)


def _translate_phrase(column: str, words: Sequence[str], *, is_stemmed: bool) -> str:
    readings = []
    for reading in filter(None, ([*map(read_word, words)], read_parted(words), read_named(words))):
        kept = [word for word in reading if word not in PLACE_HOLDERS]
        if len(kept) < len(reading):
            raise NotSharedError(
                words
            )  # any word may stand in the gap, and FTS5 wants to know which
        readings.append(
            f"{column} : {' + '.join(_write(stem(word) if is_stemmed else word) for word in kept)}"
        )
    return _join("OR", readings)
