"""Notes for whoever writes a query: where it may mean something else than it seems.

Nothing here refuses a query. Each note names one place and says in a sentence what was found there. Of arXiv's
own search only what is known is told: a missing operator is OR there, and `all:` is wider.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest.model import taxonomy
from digest.model.errors import count
from digest.query.arxiv_syntax import list_members
from digest.query.canonical import print_condition
from digest.query.evaluation import TEXTS
from digest.query.parser import read_terms
from digest.query.tokens import Note, NoteKind
from digest.query.tree import Condition, Prefix, Shape, spread_keyword
from digest.query.words import is_stop_word, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from digest.query.parser import Term
    from digest.query.queries import Query
    from digest.query.tree import Node

_DAYS_OF_WEEK: Final = 7
_MANY_PAPERS: Final = 3
_MOST_LOOKED_UP: Final = 20

_OPERATOR = re.compile(r"(?<!\S)(AND|OR|ANDNOT|NOT)(?!\S)")
_STARRED = re.compile(r"\w+\*(?=\s|\Z)")
_LETTERS = re.compile(r"[a-z]{4,}")
_WORDED = frozenset((*TEXTS, Prefix.ALL))


def lint_query(query: Query, *, daily_papers: Mapping[str, float] | None = None) -> tuple[Note, ...]:
    """Return all notes on a query, those of its reading among them, in the order of their places.

    Args:
        query: as `parse_query` gave it.
        daily_papers: category -> how many papers a day carry it, cross-lists among them, as the store counts.
    """
    terms = read_terms(query.text)
    notes = [*query.notes, *_tell_volume(query.tree, daily_papers or {}), *_tell_width(terms)]
    for term in terms:
        notes += (Note(kind, term.position, message) for kind, message in _remark_on_term(term))
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: note.position))


def offer_beginnings(query: Query, find_texts: Callable[[Sequence[str], str], Iterable[str]]) -> tuple[Note, ...]:
    """Return a note for each word that no stored paper has, but many begin with: `dequantiz`, which needs a `*`.

    Args:
        query: as `parse_query` gave it.
        find_texts: given fields of papers and some letters, returns the texts there that hold these letters.
    """
    return tuple(
        Note(NoteKind.WILDCARD, term.position, message)
        for term in read_terms(query.text)[:_MOST_LOOKED_UP]
        if (message := _offer_beginning(term, find_texts))
    )


def _offer_beginning(term: Term, find_texts: Callable[[Sequence[str], str], Iterable[str]]) -> str:
    condition = term.condition
    if condition is None or condition.prefix not in _WORDED or condition.shape is not Shape.WORD:
        return ""
    word = condition.text
    if not _LETTERS.fullmatch(word):
        return ""
    fields = (
        (TEXTS[Prefix.TITLE], TEXTS[Prefix.ABSTRACT])
        if condition.prefix is Prefix.ALL
        else (TEXTS[condition.prefix],)
    )
    continued, papers = re.compile(rf"\b{word}(\w*)", re.IGNORECASE), 0
    for text in find_texts(fields, word):
        endings = continued.findall(text)
        if "" in endings:
            return ""
        papers += bool(endings)
    if papers < _MANY_PAPERS:
        return ""
    written = f"{term.token.prefix}:{word}*" if term.token.prefix else f"{word}*"
    return f"no stored paper has the word {word}, and {papers:,} have words that begin so: {written} finds them"


def _tell_width(terms: list[Term]) -> Iterator[Note]:
    """Yield, once, that `all:` is another thing at arXiv."""
    wide = (term for term in terms if term.condition is not None and term.condition.prefix is Prefix.ALL)
    for term in wide:
        said = "all: is wider at arXiv: there it" if term.token.prefix else "no prefix is all:, which at arXiv"
        message = f"{said} also holds names of categories and years"
        yield Note(NoteKind.ALL, term.position, message)
        return


def _remark_on_term(term: Term) -> Iterator[tuple[NoteKind, str]]:
    written, condition = term.token.value.strip(), term.condition
    operator = _OPERATOR.search(written) if term.token.is_quoted else None
    if operator and operator[0] != written:
        message = f"{operator[1]} is a word to look for here: between quotes it joins nothing"
        yield NoteKind.QUOTED_OPERATOR, message
    if condition is None or condition.prefix not in _WORDED:
        return
    if keywords := spread_keyword(condition.text):
        if condition.prefix is Prefix.ALL and term.token.prefix is None:
            meant = "the category" if keywords[0].prefix is Prefix.CATEGORY else "the paper"
            message = f"{written} is looked for in every field; {print_condition(keywords[0])} finds {meant} alone"
            yield NoteKind.READ_AS, message
        return
    stars = _STARRED.findall(written) if term.token.is_quoted else []
    if stars:
        beginning = f"{condition.prefix}:{stars[-1]}"
        yield NoteKind.WILDCARD, f"between quotes a * is left out; without them {beginning} finds beginnings"
    words = [word.text for word in split_words(condition.text)]
    kept = [word for word in words if not is_stop_word(word)]
    if condition.shape is not Shape.PHRASE and len(kept) > 1:
        together = " and ".join(kept) + ("*" if condition.shape is Shape.BEGINNING else "")
        quoted = f'{condition.prefix}:"{" ".join(words)}"'
        yield NoteKind.PHRASE, f"{together} may stand anywhere in the field; {quoted} finds them side by side"


def _tell_volume(tree: Node, daily_papers: Mapping[str, float]) -> Iterator[Note]:
    """Yield how much comes of a query that is one category alone."""
    if not isinstance(tree, Condition) or tree.prefix is not Prefix.CATEGORY or not list_members(tree):
        return
    subjects = {taxonomy.canonical_category(name) for name in list_members(tree)}
    if len(subjects) == 1 and any(daily_papers.values()):
        counted = max(daily_papers.get(name, 0.0) for name in taxonomy.names_of(*subjects))
        message = f"{_write_volume(counted)}: it names a category alone"
    else:
        message = "It names a category alone: every paper of it matches, whatever it is about"
    yield Note(NoteKind.VOLUME, 0, message)


def _write_volume(papers: float) -> str:
    if papers >= 1:
        return f"about {count(round(papers), 'paper')} a day"
    weekly = round(papers * _DAYS_OF_WEEK)
    return f"about {count(weekly, 'paper')} a week" if weekly else "less than one paper a week"
