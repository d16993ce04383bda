"""Words and phrases beside formulas, chosen from real papers, against a plain split of the texts.

The split knows nothing of TeX: it parts a text at blanks and at each dollar, brace, underscore,
circumflex and backslash. Whatever it finds has to be found, by the evaluator and by the index.
`pytest -s` prints what was chosen.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from digest.query import PaperIndex, analyse, matches, parse_query
from digest.query.words import STOP_WORDS
from digest.tex.reader import GREEK
from tests.integration.query.test_real_papers import read_papers

if TYPE_CHECKING:
    from collections.abc import Iterator

    Words = tuple[str, ...]

CHOSEN = 20
FEWEST_PAPERS = 3
"""How many words, and how many phrases.

And in how many papers each stands beside a formula, at least.
"""

NO_TEXT = re.compile(
    r"\\(?:begin|end|label|eqref|ref|cite[a-z]*|hspace|vspace)\*?\{[^}]*\}|\S*\\[\"'`^~=.]\S*"
)
"""What a reader never sees, and words with accents, which the split would part, too."""

TOKEN = re.compile(r"[^\s${}_^\\]+")
EDGE = re.compile(r"[$_]")
PLAIN = re.compile(r"[a-z]+|[0-9]+")


def split(text: str) -> list[tuple[str, str]]:
    """Return the tokens of a text, and the signs before each.

    The tokens are in small letters, without stops at their ends.
    """
    found = []
    end = 0
    for token in TOKEN.finditer(text):
        word = token[0].strip(".,;:!?()[]\"'`")
        signs_before = text[end : token.start()]
        found.append((word.lower(), signs_before))
        end = token.end()
    return found


def list_beside_formulas(text: str) -> Iterator[Words]:
    """Yield the words that touch a dollar or an index, and the pairs of tokens around one."""
    for (token, before), (following, between) in pairwise([*split(text), ("", "")]):
        is_behind = EDGE.search(before) and not re.search(r"\s", before)
        is_before = EDGE.search(between) and not between[0].isspace()
        if len(token) > 2 and token.isalpha() and (is_behind or is_before):
            yield (token,)
        if EDGE.search(between) and PLAIN.fullmatch(token) and PLAIN.fullmatch(following):
            yield token, following


def choose(texts: list[str]) -> list[Words]:
    """Return words and pairs of tokens that stand beside formulas.

    None is a command, or only holds a place.
    """
    papers: defaultdict[Words, int] = defaultdict(int)
    for text in texts:
        for words in set(list_beside_formulas(text)):
            papers[words] += 1
    commands: set[str] = set()
    for text in texts:
        commands.update(name.lower() for name in re.findall(r"\\([A-Za-z]+)", text))
    unusable = STOP_WORDS | (commands - set(GREEK.values()))
    usable = []
    for words, count in sorted(papers.items()):
        if count >= FEWEST_PAPERS and unusable.isdisjoint(words):
            usable.append(words)
    draw = random.Random(40)  # noqa: S311 - the same ones every time
    singles = [words for words in usable if len(words) == 1]
    pairs = [words for words in usable if len(words) == 2]
    return [*draw.sample(singles, CHOSEN), *draw.sample(pairs, CHOSEN)]


def find_by_split(chosen: list[Words], texts: list[str]) -> dict[Words, set[int]]:
    """Return where each word, or pair of tokens side by side, stands by the plain split."""
    found: dict[Words, set[int]] = {words: set() for words in chosen}
    for place, text in enumerate(texts):
        tokens = [token for token, _ in split(text)]
        for words in {*zip(tokens, strict=True), *pairwise(tokens)} & found.keys():
            found[words].add(place)
    return found


@pytest.mark.timeout(900)
def test_whatever_a_plain_split_finds_beside_formulas_is_found() -> None:
    papers = read_papers("data", "papers_2016-08_09.jsonl.gz")
    texts = [NO_TEXT.sub(" ", paper.abstract) for paper in papers]
    expected = find_by_split(choose(texts), texts)
    queries = {}
    for words in expected:
        phrase = " ".join(words)
        queries[words] = parse_query(f'abs:"{phrase}"')
    answers = PaperIndex(papers).find(queries.values())
    by_index = dict(zip(queries, map(set, answers), strict=True))
    found = set().union(*expected.values(), *by_index.values())
    ready = {place: analyse(papers[place]) for place in found}
    for words, query in queries.items():
        met = {place for place, paper in ready.items() if matches(query, paper)}
        by_split = expected[words]
        print(  # noqa: T201 - it is asked for
            f"{query.text:36}{len(by_split):6,} papers by a plain split,{len(met):6,} found"
        )
        lost = sorted(by_split - met)
        assert [str(papers[place].id) for place in lost] == [], query.text
        assert by_index[words] == met
    assert len(queries) == 2 * CHOSEN
