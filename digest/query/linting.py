"""What the author of a query should know before it is saved: where it means less, more or else than it seems.

Nothing here refuses a query. Each remark names one place and says in a sentence what was found there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from digest import taxonomy
from digest.query.arxiv_reading import READ, read_as_arxiv
from digest.query.confining import list_members
from digest.query.contradictions import find_dead_clauses, is_always_met
from digest.query.dates import spell_minute, split_range
from digest.query.name_lists import find_names, write_author
from digest.query.notes import Note, NoteKind
from digest.query.parsing import Term, open_source, read_terms
from digest.query.people import Person
from digest.query.printing import print_canonical, print_tree
from digest.query.term_remarks import remark_on_term
from digest.query.tree import And, Condition, Not, Or, Prefix, walk_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime

    from digest.query.contradictions import DeadClause
    from digest.query.queries import Query
    from digest.query.tree import Node

_LONGEST_READING: Final = 300
_MOST_REASONS: Final = 3
_DAYS_OF_WEEK: Final = 7
_MOST_NAMES: Final = 2
_SEARCH_INTERFACE = re.compile(r"/api/query/?\?")


def lint_query(
    query: Query, *, now: datetime | None = None, daily_papers: Mapping[str, float] | None = None
) -> tuple[Note, ...]:
    """Return all remarks on a query, those of its reading among them, in the order of their places.

    Args:
        query: as `parse_query` gave it.
        now: the present (UTC), to tell ranges that are over from those to come; None to say nothing of it.
        daily_papers: category -> how many papers a day carry it, cross-lists among them, as the store counts.
    """
    terms = read_terms(query.text)
    dead = find_dead_clauses(query.tree)
    notes = [*query.notes, *_compare_readings(query, terms), *_tell_dead_clauses(dead, terms)]
    if not any(clause.is_whole for clause in dead):
        notes += [*_tell_ended_ranges(terms, now), *_tell_volume(query.tree, daily_papers or {})]
    notes += [] if query.pasted_as else _ask_for_names(query.text)
    notes += _tell_initials(terms)
    for term in terms:
        notes += remark_on_term(term)
    is_known_there = not _is_ours_alone(query)
    kept = [note for note in notes if is_known_there or note.kind is not NoteKind.ARXIV_DIFFERS]
    return tuple(sorted(dict.fromkeys(kept), key=lambda note: note.position))


def find_slips(query: Query) -> tuple[Note, ...]:
    """Return the remarks that matter wherever a query is used: of its reading, and of what no paper can meet."""
    is_misspelt = any(note.kind is NoteKind.UNKNOWN_CATEGORY for note in query.notes)
    dead = [
        clause
        for clause in find_dead_clauses(query.tree)
        if not (is_misspelt and [one.prefix for one in clause.conditions] == [Prefix.CATEGORY])  # told already
    ]
    notes = (*query.notes, *_tell_dead_clauses(dead, read_terms(query.text)))
    return tuple(sorted(dict.fromkeys(notes), key=lambda note: note.position))


def _ask_for_names(text: str) -> Iterator[Note]:
    """Yield how to write names of people where a text looks like some and was read as words."""
    names = find_names(text)
    if not names:
        return
    if len(names) == 1:
        message = f"If this is a person's name, write {write_author(names[0])}"
    else:
        more = " OR …" if len(names) > _MOST_NAMES else ""
        written = " OR ".join(map(write_author, names[:_MOST_NAMES]))
        message = f"If these are names of people, write one a line, or {written}{more}"
    yield Note(NoteKind.READ_AS, len(text) - len(text.lstrip()), message)


def _tell_initials(terms: list[Term]) -> Iterator[Note]:
    """Yield, once, that a person named by initials alone is anybody whom they fit."""
    vague: dict[str, Term] = {}
    for term in terms:
        condition = term.condition
        if condition is None or condition.prefix is not Prefix.PERSON:
            continue
        if Person.parse(condition.text).has_initials_alone:
            vague.setdefault(condition.text, term)
    if not vague:
        return
    first, *others = vague.values()
    more = f"; {len(others):,} more such here" if others else ""
    message = (
        f"{first.token.value} is everybody of that last name whose first name an initial fits{more}: write it out,"
        " or add a co-author or a category; digest query author tells them apart"
    )
    yield Note(NoteKind.READ_AS, first.position, message)


def _is_ours_alone(query: Query) -> bool:
    """Tell whether arXiv was never asked in these words: they are ours, for a page or a list that was pasted."""
    return bool(query.pasted_as) and not _SEARCH_INTERFACE.search(query.text)


def _compare_readings(query: Query, terms: list[Term]) -> Iterator[Note]:
    """Yield how arXiv would read the query, where that is something else."""
    if _is_ours_alone(query):
        return
    persons = [term for term in terms if term.token.prefix is Prefix.PERSON]
    if persons:
        message = "author: is known here alone; arXiv is asked for names like it"
        yield Note(NoteKind.ARXIV_DIFFERS, persons[0].position, message)
        return
    theirs = read_as_arxiv(query.expression)
    place = min((quirk.position for quirk in theirs.quirks), default=0)
    position = open_source(query.text).locate(place)
    if theirs.status != READ:
        message = f"arXiv itself would answer this with an error {theirs.status}: {theirs.problem}"
        yield Note(NoteKind.ARXIV_DIFFERS, position, message)
        return
    reasons = list(dict.fromkeys(quirk.message for quirk in theirs.quirks))[:_MOST_REASONS]
    why = f" ({'; '.join(reasons)})" if reasons else ""
    if theirs.tree is None:
        yield Note(NoteKind.ARXIV_DIFFERS, position, f"arXiv itself would read this otherwise{why}")
    elif print_canonical(theirs.tree) != query.canonical:
        ours, other = _shorten(print_tree(query.tree)), _shorten(print_tree(theirs.tree))
        message = f"arXiv itself would read this as {other}{why}; here it is {ours}"
        yield Note(NoteKind.ARXIV_DIFFERS, position, message)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_READING else f"{text[: _LONGEST_READING - 1]}…"


def _tell_dead_clauses(dead: list[DeadClause], terms: list[Term]) -> Iterator[Note]:
    places = {term.condition: term.position for term in reversed(terms)}
    for clause in dead:
        position = min(places.get(condition, 0) for condition in clause.conditions)
        begun = "No paper can match" if clause.is_whole else "A part of it can't match"
        yield Note(NoteKind.NEVER_MATCHES, position, f"{begun}: {clause.why}")


def _tell_ended_ranges(terms: list[Term], now: datetime | None) -> Iterator[Note]:
    for term in terms:
        condition = term.condition
        if now is None or condition is None or condition.prefix is not Prefix.SUBMITTED:
            continue
        start, end = split_range(condition.text)
        if end < spell_minute(now):
            message = f"This range is over since {_write_day(end)}: only papers that arXiv announces late can come"
            yield Note(NoteKind.NEVER_MATCHES, term.position, message)
        elif start > spell_minute(now):
            message = f"This range begins on {_write_day(start)}: nothing can match before"
            yield Note(NoteKind.NEVER_MATCHES, term.position, message)


def _write_day(minute: str) -> str:
    return f"{minute[:4]}-{minute[4:6]}-{minute[6:8]}"


def _tell_volume(tree: Node, daily_papers: Mapping[str, float]) -> Iterator[Note]:
    """Yield how much comes of a query that looks at no words at all."""
    if _holds(tree, lambda _: False):
        everything = is_always_met(tree)
        message = (
            "Every paper of arXiv matches"
            if everything
            else "It only excludes: nearly all of arXiv matches, whatever it is about"
        )
        yield Note(NoteKind.VOLUME, 0, message)
        return
    conditions = list(walk_conditions(tree))
    if not all(one.prefix is Prefix.CATEGORY and list_members(one) for one in conditions):
        return
    counted = _count(tree, daily_papers)
    if counted is None:
        message = "It names categories alone: every paper of them matches, whatever it is about"
    else:
        message = f"{_write_volume(counted)}: it names categories alone"
        is_exact = isinstance(tree, Condition) and len(_list_subjects(tree)) == 1
        message = message if is_exact else f"at most {message}"
    yield Note(NoteKind.VOLUME, 0, message)


def _holds(node: Node, is_met: Callable[[Condition], bool]) -> bool:
    match node:
        case Condition():
            return is_met(node)
        case Not(operand):
            return not _holds(operand, is_met)
        case And(operands):
            return all(_holds(operand, is_met) for operand in operands)
        case Or(operands):
            return any(_holds(operand, is_met) for operand in operands)


def _count(node: Node, daily_papers: Mapping[str, float]) -> float | None:
    """Return how many papers a day match at most; None where that is not known."""
    match node:
        case Condition():
            known = [_count_subject(subject, daily_papers) for subject in _list_subjects(node)]
            return sum(known) if known and any(daily_papers.values()) else None
        case And(operands):
            counts = [_count(part, daily_papers) for part in operands if not isinstance(part, Not)]
            return min((count for count in counts if count is not None), default=None)
        case Or(operands):
            parts = [_count(part, daily_papers) for part in operands]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case Not():
            return None


def _list_subjects(condition: Condition) -> set[str]:
    return {taxonomy.canonical_category(name) for name in list_members(condition)}


def _count_subject(subject: str, daily_papers: Mapping[str, float]) -> float:
    return max((daily_papers.get(name, 0.0) for name in taxonomy.names_of(subject)), default=0.0)


def _write_volume(papers: float) -> str:
    if papers >= 1:
        return f"about {_pluralise(round(papers))} a day"
    weekly = round(papers * _DAYS_OF_WEEK)
    return f"about {_pluralise(weekly)} a week" if weekly else "less than one paper a week"


def _pluralise(papers: int) -> str:
    return f"{papers:,} paper{'' if papers == 1 else 's'}"
