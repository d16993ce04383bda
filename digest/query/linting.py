"""What the author of a query should know before it is saved: where it means less, more or else than it seems.

Nothing here refuses a query. Each remark names one place and says in a sentence what was found there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest.query.arxiv_reading import READ, read_as_arxiv
from digest.query.notes import Note, NoteKind
from digest.query.parsing import Term, read_terms
from digest.query.printing import measure_nesting, print_canonical, print_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from digest.query.queries import Query

_LONGEST_READING: Final = 300
_QUOTED_OPERATOR = re.compile(r"\S\s+(AND|OR|ANDNOT|NOT)\s+\S")
_MOST_NESTED = 100
"""Deeper readings are only told, not shown."""


def lint_query(
    query: Query, *, now: datetime | None = None, daily_papers: Mapping[str, float] | None = None
) -> tuple[Note, ...]:
    """Return all remarks on a query, those of its reading among them, in the order of their places.

    Args:
        query: as `parse_query` gave it.
        now: the present (UTC), to tell ranges that are over.
        daily_papers: category -> how many papers a day carry it, on average, as the store counts them.
    """
    terms = read_terms(query.text)
    notes = [*query.notes, *_compare_readings(query)]
    for term in terms:
        notes += _look_at_term(term)
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: note.position))


def _compare_readings(query: Query) -> Iterator[Note]:
    """Yield how arXiv would read the query, where that is something else."""
    theirs = read_as_arxiv(query.expression)
    position = min((quirk.position for quirk in theirs.quirks), default=0)
    if theirs.status != READ:
        yield Note(
            NoteKind.ARXIV_DIFFERS,
            position,
            f"arXiv itself would answer this with {theirs.status}: {theirs.problem}",
        )
    elif theirs.tree is None or measure_nesting(theirs.tree) > _MOST_NESTED:
        yield Note(NoteKind.ARXIV_DIFFERS, position, "arXiv itself would read this otherwise")
    elif print_canonical(theirs.tree) != query.canonical:
        ours, other = _shorten(print_tree(query.tree)), _shorten(print_tree(theirs.tree))
        message = f"arXiv itself would read this otherwise: here {ours}; there {other}"
        yield Note(NoteKind.ARXIV_DIFFERS, position, message)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_READING else f"{text[: _LONGEST_READING - 1]}…"


def _look_at_term(term: Term) -> Iterator[Note]:
    quoted = _QUOTED_OPERATOR.search(term.token.value) if term.token.is_quoted else None
    if quoted:
        message = f"{quoted[1]} is a word to look for here, between quotes it joins nothing"
        yield Note(NoteKind.QUOTED_OPERATOR, term.position, message)
