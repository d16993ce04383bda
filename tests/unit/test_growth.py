"""What reads a stranger's text takes about twice as long for twice as much.

Patterns aside, see `test_patterns`.

Lists that are searched again and again, texts that grow by a piece at a time, and loops that decode
once more are quadratic as well. Each function gets texts that repeat what it looks for.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from digest.arxiv.authors import parse_authors
from digest.arxiv.documents import fold_paragraphs, is_withdrawal_comment
from digest.cli.output import fold, settle, table
from digest.deliver.rules import refuses_us
from digest.deliver.transports.smtp_connection import Stage, classify_reply
from digest.inspect.findings import Finding, Verdict, hide_private
from digest.inspect.trial import view_problem
from digest.model.errors import QueryError
from digest.model.secrets import redact
from digest.query import parse_query
from digest.query.queries import find_reasons
from digest.render.mime import flow_text
from digest.render.references import write_bibtex, write_ris
from digest.render.revisions import compare_words
from digest.render.sentences import choose_snippet
from digest.render.terminal import lay_out_lines
from digest.tex import parse_words, to_html
from digest.tex.places import find_links, find_place
from tests.patterns import GROWTH, fill, measure_growth
from tests.unit.made_up import make_paper

ASKED = parse_query('all:gpu OR ti:"tail latency" OR au:lindquell OR author:"Keiko Lindquell"')

PIECES = (
    *("a", " ", "\n", "a ", "a. ", "A. ", "x,y;", "(a) ", "((", "{\\it ", "\\frac", "x^{", "$"),
    *("$a$ ", "漢", "a\u0301", "a\u00ad", "'s", '"a" ', "-", "=", "NOT ", "a OR ", "cs.PF "),
    *("%25", "&amp;", "http://a.b/c ", "a@b.c ", "accepted at ICML. ", "and ", "\x1b[31m", "``"),
)
TEXTS = [
    *(("", piece, "\x01") for piece in PIECES),
    *((before, piece, '"') for before in ('"', 'au:"') for piece in ("a%d ", "漢", "x, ")),
    *(
        (before, "25", end)
        for before, end in (("%", "41"), ("https%", "3A"), ("search_query=%", "22"))
    ),
]

pytestmark = pytest.mark.timeout(
    600
)  # seconds of processor time count, but others may take most of these


def read_query(text: str) -> None:
    try:
        parse_query(text)
    except QueryError as error:
        view_problem(error)


def refer(text: str) -> None:
    papers = [make_paper(title=text, comment=text, journal_ref=text, authors=(text,))]
    write_bibtex(papers, with_abstracts=True)
    write_ris(papers, with_abstracts=True)


READERS: dict[str, Callable[[str], object]] = {
    "a query": read_query,
    "TeX as HTML": to_html,
    "TeX as words": parse_words,
    "authors": parse_authors,
    "paragraphs": fold_paragraphs,
    "a withdrawal": is_withdrawal_comment,
    "a place": lambda text: find_place(make_paper(comment=text)),
    "links": lambda text: find_links(make_paper(comment=text)),
    "sentences": lambda text: choose_snippet("GPUs", text, sentences=2),
    "a revision": lambda text: compare_words(text, f"new {text}"),
    "references": refer,
    "reasons": lambda text: find_reasons(
        ASKED, make_paper(title=text, abstract=text, authors=(text,))
    ),
    "lines of a mail": flow_text,
    "lines of a terminal": lambda text: lay_out_lines(text, 80, color=True),
    "a table": lambda text: table(("a", "b"), [(text, text)], empty=""),
    "sentences of a screen": lambda text: fold(settle(text), 80),
    "a log line": redact,
    "a finding": lambda text: hide_private(
        Finding(Verdict.OK, "configuration", text, text), {"gpu": "…"}
    ),
    "a refusal": lambda text: (
        refuses_us(550, text, has_read=False),
        classify_reply(Stage.RECIPIENT, 550, text),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_reader_takes_about_twice_as_long_for_a_text_twice_as_long(reader: str) -> None:
    growths = {text: measure_growth(text, READERS[reader]) for text in TEXTS}
    assert {text: growth for text, growth in growths.items() if growth > GROWTH} == {}


@pytest.mark.parametrize("repeated", ["(", "NOT ", "NOT (", "-", "!", "ti:(", "=", '"'])
def test_no_query_is_too_deep_to_be_read_or_refused(repeated: str) -> None:
    for size in (64, 1_000, 39_000):
        read_query(fill(("", repeated, "a"), size))
