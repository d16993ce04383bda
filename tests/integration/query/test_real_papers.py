"""Saved queries held against real papers, odd ones among them; skipped where there are none."""

import gzip
import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from digest.model.papers import ArxivId, Author, Paper, Span
from digest.query import AnalysedPaper, analyse, find_reasons, matches, parse_query
from digest.query.arxiv_syntax import find_shorter_stems
from digest.query.words import fold, is_stop_word, split_words, stem
from digest.tex import to_plain, to_segments
from digest.tex.reader import EDGE


def find_folder() -> Path:
    folder = os.environ.get("DIGEST_REAL_DATA")
    if not folder:
        pytest.skip("DIGEST_REAL_DATA names no folder of real papers")
    return Path(folder)


def read_moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read_paper(line: str) -> Paper:
    values: dict[str, Any] = json.loads(line)
    doi = values.get("doi") or ()
    id_ = ArxivId.parse(values["id"])
    month = f"{id_.month}01"  # some sources give no dates
    return Paper(
        id=id_,
        version=values.get("version") or 1,
        title=values["title"],
        abstract=values["abstract"] or "",
        authors=tuple(map(Author, values["authors"] or ())),
        categories=tuple(values["categories"]),
        published=read_moment(values["published"] or month),
        updated=read_moment(values["updated"] or month),
        comment=values.get("comment") or "",
        journal_ref=values.get("journal_ref") or "",
        dois=tuple(doi.split() if isinstance(doi, str) else doi),
        report_no=values.get("report_no") or "",
    )


def read_papers(*parts: str) -> list[Paper]:
    path = find_folder().joinpath(*parts)
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [read_paper(line) for line in text.decode().split("\n") if line.strip()]


@pytest.fixture(scope="module")
def seed() -> list[AnalysedPaper]:
    return [analyse(paper) for paper in read_papers("standin", "seed_papers.jsonl")]


@pytest.fixture(scope="module")
def odd() -> list[AnalysedPaper]:
    return [analyse(paper) for paper in read_papers("data", "odd_papers.jsonl")]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("cat:cs.PF", 15),
        ("cat:cs", 15),
        ("NOT cat:cs.PF", 0),
        ("cat:cs.PF AND abs:GPU", 5),
        ("submittedDate:[20260219 TO 20260228]", 11),
        ("id:2603.10026", 1),
        ('au:"Pınar Tözün"', 1),
        ("au:tozun", 1),
        ("au:sagbili", 1),
        ('au:"Dai, D"', 3),
        ('au:"nathan tallent"', 2),
        ('ti:"parallel file system"', 2),
    ],
)
def test_a_query_means_this_many_of_the_fifteen(
    text: str, count: int, seed: list[AnalysedPaper]
) -> None:
    query = parse_query(text)
    assert sum(matches(query, paper) for paper in seed) == count


def test_words_in_logy_and_bly_find_what_arxivs_stems_find() -> None:
    near = re.compile("topolog|technolog|possib", re.IGNORECASE)
    papers = read_papers("data", "papers_2016-08_09.jsonl.gz")
    ready = [analyse(paper) for paper in papers if near.search(paper.abstract)]
    queries = [parse_query(f"abs:{word}") for word in ("topology", "technological", "possibly")]
    assert [sum(matches(query, paper) for paper in ready) for query in queries] == [826, 369, 1863]


def own_queries(paper: AnalysedPaper) -> Iterator[str]:
    """Yield queries made from what a paper says of itself."""
    yield f"id:{paper.paper.id}"
    yield from (
        f"cat:{category}"
        for category in paper.paper.categories
        if re.fullmatch(r"[\w.-]+", category)
    )
    yield from (
        f'doi:"{doi}"'
        for doi in paper.paper.dois
        if "/" in doi and "*" not in doi and '"' not in doi
    )
    yield from (
        f'au:"{name.plain}"' for name in paper.names[:50] if name.parts and '"' not in name.plain
    )
    yield from (f'ti:"{word}"' for word in paper.title.surfaces if is_typed(word))
    yield from (f'abs:"{word}"' for word in paper.abstract.surfaces if is_typed(word))


def is_typed(word: str) -> bool:
    """Whether people search for a word.

    Neither a stop word nor one with the edge of a formula marked.
    """
    return not is_stop_word(word) and EDGE not in word


def test_odd_papers_are_found_by_everything_they_say_of_themselves(
    odd: list[AnalysedPaper],
) -> None:
    lost = [
        (str(paper.paper.id), text)
        for paper in odd
        for text in own_queries(paper)
        if not matches(parse_query(text), paper)
    ]
    assert lost == []


def show_marked(paper: Paper, span: Span) -> str:
    """Return what a reader sees marked in the title, the abstract or the comment."""
    parts = to_segments(getattr(paper, span.field), [(span.start, span.end)])
    return " ".join("".join(part.text for part in parts if part.is_marked).split())


def test_what_is_marked_in_real_tex_is_what_was_asked_for(odd: list[AnalysedPaper]) -> None:
    """Words side by side are asked for as a phrase, across line ends, formulas and accents.

    Where two words are one thing to TeX, such as a formula, all of it is marked: then it must hold
    the phrase.
    """
    wrong = []
    checked = 0
    wider = 0
    for paper in odd:
        for field, prefix in (("title", "ti"), ("abstract", "abs")):
            words = [word.text for word in split_words(to_plain(getattr(paper.paper, field)))]
            pairs = [pair for pair in pairwise(words) if not any(map(is_stop_word, pair))]
            for pair in sorted({*pairs})[::7]:
                query = parse_query(f'{prefix}:"{" ".join(pair)}"')
                sought = [stem(fold(word)) for word in pair]
                spans = [span for reason in find_reasons(query, paper) for span in reason.spans]
                shown = [
                    [stem(fold(word.text)) for word in split_words(show_marked(paper.paper, s))]
                    for s in spans
                ]
                checked += len(spans)
                wider += sum(found != sought for found in shown)
                if not spans or any(not _holds(found, sought) for found in shown):
                    wrong.append((str(paper.paper.id), pair, shown))
    # A phrase is read with its formulas all joined or all apart: `b\bar b\to\gamma \gamma` mixes
    # both.
    assert wrong == [("1005.2809", ("bb̄", "γ"), [])]
    assert checked > 2_000
    assert wider < checked / 50


def _holds(found: list[str], sought: list[str]) -> bool:
    """Whether words stand side by side in others, or are one of them, as D and π are in Dπ."""
    return "".join(sought) in found or any(
        found[start : start + len(sought)] == sought for start in range(len(found))
    )


def test_no_real_word_is_lost_to_a_stem_shorter_than_its_beginning(
    odd: list[AnalysedPaper],
) -> None:
    """Whatever begins so here is asked for at arXiv, which compares beginnings with stems."""
    words = {
        word
        for paper in odd
        for word in (*paper.title.surfaces, *paper.abstract.surfaces)
        if word.isalpha()
    }
    lost = [
        (word, word[:length])
        for word in sorted(words)[::4]
        for length in range(2, len(word) + 1)
        if not stem(word).startswith(word[:length])
        and stem(word) not in {stem(fold(one)) for one in find_shorter_stems(word[:length])}
    ]
    assert len(words) > 5_000
    assert lost == []
