"""Real titles and abstracts are read without fault, if `DIGEST_REAL_DATA` names their folder.

What must appear is found by a reader that knows next to nothing of TeX: it takes out what stands
between dollars or brackets, and commands with their arguments, and wants all that is left, letter
by letter, in order.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import lxml.etree
import pytest

from digest.tex import to_html, to_plain, to_segments
from tests.conftest import IS_NIGHTLY

FOLDER = os.environ.get("DIGEST_REAL_DATA", "")
EVERY = 1 if IS_NIGHTLY else 60
"""By day one paper in so many, or the suite would wait; by night all of them."""

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="DIGEST_REAL_DATA names no folder of real papers"
)

MATHEMATICS = re.compile(
    r"""
      \$\$ .*? \$\$                                 # $$x^2$$
    | (?<!\\)\$ .*? (?<!\\)\$                       # $x^2$
    | \\\[ .*? \\\]                                 # \[x^2\]
    | \\\( .*? \\\)                                 # \(x^2\)
    | \\begin\{([A-Za-z]+\*?)\} .*? \\end\{\1\}     # \begin{align*}x^2\end{align*}
    """,
    re.DOTALL | re.VERBOSE,
)
WORDS = r"\\(?:emph|text[a-z]{2}|textnormal|text|mbox|url|footnote)(?![A-Za-z])\s*"
"""What their arguments say is there; of other commands it may become another sign, or nothing."""
COMMANDS = re.compile(
    rf"""
      {WORDS} (?=\{{)                                   # \emph before its brace
    | \\[A-Za-z]+\*?                                    # \sqrt, \section*
      (?: \s*\[[^\]]*\] )*                              # [3], what may be left out
      (?: \s*\{{ (?: [^{{}}] | \{{[^{{}}]*\}} )* \}} )* # {{x}}, {{\bar{{x}}}}
    | \\.                                               # \%
    """,
    re.DOTALL | re.VERBOSE,
)
FACES = re.compile(
    r"\{\s*\\(?:cal|frak|bf|rm)(?![A-Za-z])[^{}]*\}|\\(?:math[a-z]+|boldsymbol)\s+[A-Za-z]"
)
TURNED = frozenset("{}~`'-")
"""Braces, ties, quotation marks and dashes, which are typed otherwise than they are read."""


def read_texts() -> Iterator[str]:
    folder = Path(FOLDER)
    with gzip.open(folder / "data" / "papers_2016-08_09.jsonl.gz", "rt", encoding="utf-8") as lines:
        papers = [json.loads(line) for number, line in enumerate(lines) if number % EVERY == 0]
    standins = sorted((folder / "standin").glob("*.jsonl"))
    for path in (folder / "data" / "odd_papers.jsonl", *standins):
        lines_of_file = path.read_text(encoding="utf-8").splitlines()
        papers += map(json.loads, lines_of_file)
    for paper in papers:
        yield from (paper["title"], paper["abstract"])


@cache
def texts() -> tuple[str, ...]:
    return tuple(read_texts())


def leave_words(text: str) -> str:
    """Return what of a text is neither mathematics nor a command.

    Of one with an odd dollar only the ends.
    """
    dollars = re.findall(r"(?<!\\)\$", text)
    if len(dollars) % 2:
        before, _, _ = text.partition("$")
        _, _, after = text.rpartition("$")
        text = f"{before} {after}"
    for left_out in (MATHEMATICS, FACES, COMMANDS):
        text = left_out.sub(" ", text)
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(filter(_is_shown, decomposed))


def _is_shown(sign: str) -> bool:
    """Whether a sign must appear as it is typed."""
    if sign.isspace() or sign in TURNED:
        return False
    return not unicodedata.category(sign).startswith("C")


def find_missing(wanted: str, shown: str) -> str:
    """Return the rest from the first letter on that is not shown in its order, or ""."""
    signs = iter(unicodedata.normalize("NFD", shown))
    for place, sign in enumerate(wanted):
        if sign not in signs:
            return wanted[place:]
    return ""


@pytest.mark.timeout(900)
def test_real_titles_and_abstracts_become_plain_text_segments_and_html() -> None:
    missing = []
    for text in texts():
        plain = to_plain(text)
        spans = [(3, 9), (20, 44)]
        marked = to_html(text, spans)
        segments = to_segments(text, spans)
        assert plain == "".join(segment.text for segment in segments)
        lxml.etree.fromstring(f"<p>{marked}</p>")
        wanted = leave_words(text)
        without_tags = re.sub(r"<[^>]+>", "", marked)
        for shown in (plain, html.unescape(without_tags)):
            lost = find_missing(wanted, shown)
            if lost:
                missing.append((lost[:40], text[:80]))
    assert not missing
    assert len(texts()) > 39_000 // EVERY


def test_the_reader_of_words_misses_what_is_left_out_or_turned_round() -> None:
    text = r"On $\alpha$-decay of \emph{small} Erd\H{o}s graphs"
    wanted = leave_words(text)
    assert wanted == "OndecayofsmallErdsgraphs"
    assert find_missing(wanted, to_plain(text)) == ""
    assert find_missing(wanted, to_plain(text).replace("small", "")) != ""
    assert find_missing(wanted, to_plain(text).replace("small", "lamsl")) != ""
