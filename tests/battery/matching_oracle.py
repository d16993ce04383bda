"""SQLite's FTS5 as an oracle for the part of our query language it has, too.

It is handed tokens, not texts: words cut, folded and stemmed, each written as letters and digits
only, so that its own tokeniser changes nothing. From there on everything is its own: postings,
phrases, beginnings, AND, OR and NOT. Not shared are phrases with gaps, several parts of one name,
full names of a person, and dates.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

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
        columns = ", ".join(_COLUMNS)
        options = "tokenize = 'ascii', detail = 'full'"
        self._connection.execute(f"CREATE VIRTUAL TABLE papers USING fts5({columns}, {options})")
        places = ", ".join(["?"] * (len(_COLUMNS) + 1))
        rows = [(index, *_describe(paper)) for index, paper in enumerate(papers)]
        insert = f"INSERT INTO papers (rowid, {columns}) VALUES ({places})"
        self._connection.executemany(insert, rows)

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
    """Return the texts of a paper's columns."""
    categories: set[str] = set()
    for category in paper.categories:
        categories.update(taxonomy.names_of(category))
    id_ = str(paper.id).casefold()
    stemmed = (paper.title, paper.abstract)
    plain = (*stemmed, paper.comment, paper.journal_ref, paper.report_no)
    return (
        *(_write_words(text, is_stemmed=True) for text in stemmed),
        *(_write_words(text, is_stemmed=False) for text in plain),
        _write_all(_spell_names(paper)),
        _write_all(name.casefold() for name in categories),
        _write_all(map(taxonomy.archive_of, categories)),
        _write_all((id_, f"{id_}v{paper.version}")),
        _write_all(doi.casefold() for doi in paper.dois),
        "e",
    )


def _spell_names(paper: Paper) -> Iterator[str]:
    """Yield every spelling of every part of the authors' names, as printed and written out."""
    for author in paper.authors:
        printed = PlainText(author.name).plain
        for name in dict.fromkeys((printed, write_out(printed))):
            for part in split_name(name):
                yield from list_spellings(part.text)


def _write_words(raw: str, *, is_stemmed: bool) -> str:
    words = cut_words(WordText(raw, is_stemmed=is_stemmed).plain)
    tokens = []
    for word in (*map(read_word, words), None, *read_parted(words)):
        if word is None or word in PLACE_HOLDERS:
            tokens.append(_STOP)
        else:
            tokens.append(_write_word(word, is_stemmed=is_stemmed))
    return " ".join(tokens)


def _write_word(word: str, *, is_stemmed: bool) -> str:
    return _write(stem(word) if is_stemmed else word)


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
        spellings = list_spellings(fold(condition.text))
        return _join("OR", (f"name : {_write(text)} *" for text in spellings))
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
    phrases = [words]
    if condition.shape is not Shape.PHRASE:
        phrases = [[word] for word in words if read_word(word) not in PLACE_HOLDERS]
    parts = [_translate_phrase(column, phrase, is_stemmed=is_stemmed) for phrase in phrases]
    if beginning:
        columns = dict.fromkeys((column, _PLAIN[prefix]))
        parts.append(_join("OR", (f"{one} : {_write(beginning)} *" for one in columns)))
    return _join("AND", parts)


def _translate_phrase(column: str, words: Sequence[str], *, is_stemmed: bool) -> str:
    readings = []
    plain = [read_word(word) for word in words]
    for reading in filter(None, (plain, read_parted(words), read_named(words))):
        if not PLACE_HOLDERS.isdisjoint(reading):
            # Any word may stand in the gap, and FTS5 wants to know which.
            raise NotSharedError(words)
        written = [_write_word(word, is_stemmed=is_stemmed) for word in reading]
        readings.append(f"{column} : {' + '.join(written)}")
    return _join("OR", readings)
