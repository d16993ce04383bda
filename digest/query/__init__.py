"""Saved queries: read, printed in one form, held against papers, explained, and written for arXiv.

    query = parse_query('cat:cs.PF AND abs:"tail latency"')
    ready = analyse(paper)  # once a paper, for any number of queries
    matches(query, ready)
    find_reasons(query, ready)

Fields are `ti abs au author co jr cat rn id doi all` and `submittedDate:[… TO …]`; a bare word is `all:`.
"""

from digest.query.analysis import AnalysedPaper, analyse
from digest.query.arxiv_syntax import to_arxiv
from digest.query.confining import confine_queries
from digest.query.linting import lint_query, offer_beginnings
from digest.query.notes import Note, NoteKind
from digest.query.parsing import parse_query
from digest.query.queries import Query, matches
from digest.query.reasons import find_reasons
from digest.query.standing import StandingQueries
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

__all__ = [
    "AnalysedPaper",
    "And",
    "Condition",
    "Node",
    "Not",
    "Note",
    "NoteKind",
    "Or",
    "Prefix",
    "Query",
    "Shape",
    "StandingQueries",
    "analyse",
    "confine_queries",
    "find_reasons",
    "lint_query",
    "matches",
    "offer_beginnings",
    "parse_query",
    "to_arxiv",
]
