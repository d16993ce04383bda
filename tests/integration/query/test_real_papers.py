"""Saved queries held against real papers, odd ones among them; skipped where there are none."""

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from digest.model.papers import ArxivId, Author, Paper, Span
from digest.query import AnalysedPaper, Query, analyse, find_reasons, matches, parse_query
from digest.query.arxiv_syntax import find_shorter_stems
from digest.query.names import has_several
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
    dois = doi.split() if isinstance(doi, str) else doi
    names = values["authors"] or ()
    month = f"{id_.month}01"  # some sources give no dates
    published = values["published"] or month
    updated = values["updated"] or month
    return Paper(
        id=id_,
        version=values.get("version") or 1,
        title=values["title"],
        abstract=values["abstract"] or "",
        authors=tuple(map(Author, names)),
        categories=tuple(values["categories"]),
        published=read_moment(published),
        updated=read_moment(updated),
        comment=values.get("comment") or "",
        journal_ref=values.get("journal_ref") or "",
        dois=tuple(dois),
        report_no=values.get("report_no") or "",
    )


def read_papers(*parts: str) -> list[Paper]:
    path = find_folder().joinpath(*parts)
    stored = path.read_bytes()
    if path.suffix == ".gz":
        stored = gzip.decompress(stored)
    lines = stored.decode().split("\n")
    return [read_paper(line) for line in lines if line.strip()]


@pytest.fixture(scope="module")
def seed() -> list[AnalysedPaper]:
    papers = read_papers("standin", "seed_papers.jsonl")
    return [analyse(paper) for paper in papers]


@pytest.fixture(scope="module")
def odd() -> list[AnalysedPaper]:
    papers = read_papers("data", "odd_papers.jsonl")
    return [analyse(paper) for paper in papers]


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
    assert count_found(text, seed) == count


def count_found(text: str, papers: Iterable[AnalysedPaper]) -> int:
    query = parse_query(text)
    return sum(matches(query, paper) for paper in papers)


def test_words_in_logy_and_bly_find_what_arxivs_stems_find() -> None:
    near = re.compile("topolog|technolog|possib", re.IGNORECASE)
    papers = read_papers("data", "papers_2016-08_09.jsonl.gz")
    ready = [analyse(paper) for paper in papers if near.search(paper.abstract)]
    assert count_found("abs:topology", ready) == 826
    assert count_found("abs:technological", ready) == 369
    assert count_found("abs:possibly", ready) == 1863


def own_queries(paper: AnalysedPaper) -> Iterator[str]:
    """Yield queries made from what a paper says of itself."""
    yield f"id:{paper.paper.id}"
    for category in paper.paper.categories:
        if re.fullmatch(r"[\w.-]+", category):
            yield f"cat:{category}"
    for doi in paper.paper.dois:
        if "/" in doi and "*" not in doi and '"' not in doi:
            yield f'doi:"{doi}"'
    for name in paper.names[:50]:
        if has_several(name.plain):
            continue  # arXiv's search gives some lines of authors as one name
        if name.parts and '"' not in name.plain:
            yield f'au:"{name.plain}"'
    for word in filter(is_typed, paper.title.surfaces):
        yield f'ti:"{word}"'
    for word in filter(is_typed, paper.abstract.surfaces):
        yield f'abs:"{word}"'


def is_typed(word: str) -> bool:
    """Whether people search for a word.

    Neither a stop word nor one with the edge of a formula marked.
    """
    return not is_stop_word(word) and EDGE not in word


def test_odd_papers_are_found_by_everything_they_say_of_themselves(
    odd: list[AnalysedPaper],
) -> None:
    lost = []
    for paper in odd:
        for text in own_queries(paper):
            query = parse_query(text)
            if not matches(query, paper):
                lost.append((str(paper.paper.id), text))
    assert lost == []


def show_marked(paper: Paper, span: Span) -> str:
    """Return what a reader sees marked in the title, the abstract or the comment."""
    text = getattr(paper, span.field)
    parts = to_segments(text, [(span.start, span.end)])
    marked = "".join(part.text for part in parts if part.is_marked)
    return " ".join(marked.split())


def list_pairs(text: str) -> list[tuple[str, str]]:
    """Return the words that stand side by side in a text in TeX, each pair once."""
    words = [word.text for word in split_words(to_plain(text))]
    pairs = set()
    for first, second in pairwise(words):
        if not is_stop_word(first) and not is_stop_word(second):
            pairs.add((first, second))
    return sorted(pairs)


def list_shown(paper: AnalysedPaper, query: Query) -> list[list[str]]:
    """Return the stems of the words in each place that is marked for a query."""
    shown = []
    for reason in find_reasons(query, paper):
        for span in reason.spans:
            words = split_words(show_marked(paper.paper, span))
            shown.append([stem(fold(word.text)) for word in words])
    return shown


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
            text = getattr(paper.paper, field)
            for pair in list_pairs(text)[::7]:
                phrase = " ".join(pair)
                query = parse_query(f'{prefix}:"{phrase}"')
                sought = [stem(fold(word)) for word in pair]
                shown = list_shown(paper, query)
                checked += len(shown)
                wider += sum(found != sought for found in shown)
                is_right = all(_holds(found, sought) for found in shown)
                if not shown or not is_right:
                    wrong.append((str(paper.paper.id), pair, shown))
    # A phrase is read with its formulas all joined or all apart: `b\bar b\to\gamma \gamma` mixes
    # both.
    assert wrong == [("1005.2809", ("bb̄", "γ"), [])]
    assert checked > 2_000
    assert wider < checked / 50


def _holds(found: list[str], sought: list[str]) -> bool:
    """Whether words stand side by side in others, or are one of them, as D and π are in Dπ."""
    if "".join(sought) in found:
        return True
    length = len(sought)
    return any(found[start : start + length] == sought for start in range(len(found)))


def test_no_real_word_is_lost_to_a_stem_shorter_than_its_beginning(
    odd: list[AnalysedPaper],
) -> None:
    """Whatever begins so here is asked for at arXiv, which compares beginnings with stems."""
    words = set()
    for paper in odd:
        surfaces = {*paper.title.surfaces, *paper.abstract.surfaces}
        words |= {word for word in surfaces if word.isalpha()}
    lost = []
    for word in sorted(words)[::4]:
        whole = stem(word)
        for length in range(2, len(word) + 1):
            beginning = word[:length]
            if whole.startswith(beginning):
                continue
            shorter = {stem(fold(one)) for one in find_shorter_stems(beginning)}
            if whole not in shorter:
                lost.append((word, beginning))
    assert len(words) > 5_000
    assert lost == []
