"""Saved queries: read, printed in one form, held against papers, explained, and written for arXiv.

    query = parse_query('cat:cs.PF AND abs:"tail latency"')
    ready = analyse(paper)  # once a paper, for any number of queries
    matches(query, ready)
    find_reasons(query, ready)

Fields are `ti abs au author co jr cat rn id doi all` and `submittedDate:[… TO …]`; a bare word is
`all:`.
"""

from digest.query.arxiv_syntax import to_arxiv
from digest.query.evaluation import AnalysedPaper, analyse
from digest.query.index import PaperIndex
from digest.query.paper_words import IndexedPaper
from digest.query.parser import parse_query
from digest.query.queries import Query, find_reasons, matches
from digest.query.tokens import Note, NoteKind
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape

__all__ = [
    "AnalysedPaper",
    "And",
    "Condition",
    "IndexedPaper",
    "Node",
    "Not",
    "Note",
    "NoteKind",
    "Or",
    "PaperIndex",
    "Prefix",
    "Query",
    "Shape",
    "analyse",
    "find_reasons",
    "matches",
    "parse_query",
    "to_arxiv",
]
