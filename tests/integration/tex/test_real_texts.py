"""Real titles and abstracts read without fault, where `DIGEST_REAL_DATA` names a folder that has them.

What must appear is found by a reader that knows next to nothing of TeX: it takes out what stands between
dollars or brackets, and commands with their arguments, and wants all that is left, letter by letter, in order.
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
    r"\$\$.*?\$\$|(?<!\\)\$.*?(?<!\\)\$|\\\[.*?\\\]|\\\(.*?\\\)|\\begin\{([A-Za-z]+\*?)\}.*?\\end\{\1\}",
    re.DOTALL,
)
WORDS = r"\\(?:emph|text[a-z]{2}|textnormal|text|mbox|url|footnote)(?![A-Za-z])\s*"
"""What their arguments say is there; of other commands it may become another sign, or nothing."""
COMMANDS = re.compile(
    rf"{WORDS}(?=\{{)|\\[A-Za-z]+\*?(?:\s*\[[^\]]*\])*(?:\s*\{{(?:[^{{}}]|\{{[^{{}}]*\}})*\}})*|\\.",
    re.DOTALL,
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
    for path in (
        folder / "data" / "odd_papers.jsonl",
        *sorted((folder / "standin").glob("*.jsonl")),
    ):
        papers += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for paper in papers:
        yield from (paper["title"], paper["abstract"])


@cache
def texts() -> tuple[str, ...]:
    return tuple(read_texts())


def leave_words(text: str) -> str:
    """Return what of a text is neither mathematics nor a command.

    Of one with an odd dollar only the ends.
    """
    if len(re.findall(r"(?<!\\)\$", text)) % 2:
        text = f"{text[: text.find('$')]} {text[text.rfind('$') + 1 :]}"
    text = COMMANDS.sub(" ", FACES.sub(" ", MATHEMATICS.sub(" ", text)))
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(
        sign
        for sign in decomposed
        if not sign.isspace()
        and sign not in TURNED
        and not unicodedata.category(sign).startswith("C")
    )


def find_missing(wanted: str, shown: str) -> str:
    """Return what comes behind the first letter that is not there in its order; "" where all are."""
    signs = iter(unicodedata.normalize("NFD", shown))
    return next((wanted[place:] for place, sign in enumerate(wanted) if sign not in signs), "")


@pytest.mark.timeout(900)
def test_real_titles_and_abstracts_become_plain_text_segments_and_html() -> None:
    missing = []
    for text in texts():
        plain = to_plain(text)
        marked = to_html(text, [(3, 9), (20, 44)])
        assert plain == "".join(segment.text for segment in to_segments(text, [(3, 9), (20, 44)]))
        lxml.etree.fromstring(f"<p>{marked}</p>")
        wanted = leave_words(text)
        both = (plain, html.unescape(re.sub(r"<[^>]+>", "", marked)))
        missing += [
            (lost[:40], text[:80]) for shown in both if (lost := find_missing(wanted, shown))
        ]
    assert not missing
    assert len(texts()) > 39_000 // EVERY


def test_the_reader_of_words_misses_what_is_left_out_or_turned_round() -> None:
    text = r"On $\alpha$-decay of \emph{small} Erd\H{o}s graphs"
    wanted = leave_words(text)
    assert wanted == "OndecayofsmallErdsgraphs"
    assert find_missing(wanted, to_plain(text)) == ""
    assert find_missing(wanted, to_plain(text).replace("small", "")) != ""
    assert find_missing(wanted, to_plain(text).replace("small", "lamsl")) != ""
