"""Names that real papers bear, one a line, and words of their titles: neither is taken for the other."""

import gzip
import random
from functools import cache
from itertools import islice

import pytest

from digest.model.errors import QueryError
from digest.model.papers import Paper
from digest.query import NoteKind, parse_query
from tests.integration.query.test_real_papers import find_folder, read_paper

LISTS = 1_000
PAPERS = 4_000


@cache
def read_papers() -> tuple[Paper, ...]:
    with gzip.open(find_folder() / "data" / "papers_2016-08_09.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(read_paper(line) for line in islice(lines, PAPERS))


def read_lines(lines: list[str]) -> str:
    """Return what becomes of lines: `names`, `words`, or `refused`."""
    try:
        notes = parse_query("\n".join(lines)).notes
    except QueryError:
        return "refused"
    is_list = any(note.kind is NoteKind.READ_AS and "of whom any will do" in note.message for note in notes)
    return "names" if is_list else "words"


@pytest.mark.parametrize(("length", "at_least"), [(2, 0.85), (3, 0.97), (6, 0.96)])
def test_authors_one_a_line_are_read_or_refused_and_next_to_never_taken_for_words(
    length: int, at_least: float
) -> None:
    draw = random.Random(length)  # noqa: S311  # the same lists each time
    names = [author.name for paper in read_papers() for author in paper.authors]
    became = [read_lines(draw.sample(names, length)) for _ in range(LISTS)]
    assert became.count("names") >= at_least * LISTS
    assert became.count("words") <= 0.003 * LISTS  # a surname that is an operator, a name in small letters


@pytest.mark.parametrize("length", [2, 3, 6])
def test_words_of_titles_with_capitals_are_next_to_never_taken_for_names(length: int) -> None:
    draw = random.Random(length)  # noqa: S311  # the same lists each time
    titles = [words for paper in read_papers() if len(words := paper.title.split()) > 3]
    pairs = [" ".join(words[1:3]).title() for words in titles]
    became = [read_lines(draw.sample(pairs, length)) for _ in range(LISTS)]
    assert became.count("names") <= 0.02 * LISTS
