"""How well papers are put in order by a library.

    python -m tests.bench.relevance FILE [--scores]
    python -m tests.bench.relevance --authors
    python -m tests.bench.relevance --speed

FILE is JSON, perhaps packed by gzip: `papers` (number -> title and abstract) and `people` (name ->
`ratings` of papers from 1 to 5, and `libraries` of their own papers). Of each two papers that a
person rated, the difference of the ratings counts if they are in the wrong order, and half of it if
neither is nearer; the loss is the sum over everybody divided by the sum of all differences, the
mean over the libraries. Pairs are easy with one paper of at least 4 and one of at most 2, and hard
with two of at least 4. Words weigh by the real papers of the folder that `DIGEST_REAL_DATA` names;
without it, by the papers of FILE. `--scores` prints for each person and library, counted from 0,
how near each rated paper is.

`--authors` takes the first three papers of an author for a library and finds the later ones in the
top tenth of their day, among real papers; words weigh by the papers of the days before. An author
is a name with a given name written out and 5 to 20 papers of at most ten authors. Papers sent at
the weekend belong to Monday.

`--speed` holds how long it takes to measure a day against a library, read and compared, with how
long it takes to match the day.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import combinations, groupby, islice
from pathlib import Path
from statistics import fmean
from typing import Final, NamedTuple

from digest.interest.nearness import Interest, PaperText, Texts, Weights, find_least
from digest.model.papers import Paper
from digest.query import PaperIndex, parse_query
from tests.bench.installations import Verdict, measure_in_turns, say
from tests.bench.matching import PAPERS, ROUNDS, forget
from tests.bench.pages import REAL
from tests.bench.papers import load_day, load_papers
from tests.querying import QueryWriter, read_queries

MOST_LOSS: Final = 0.265
LEAST_FOUND: Final = 0.76
MOST_TIME: Final = 1 / 3

HIGH = 4
LOW = 2
KNOWN: Final = 3
FEWEST = 5
MOST = 20
_MOST_AUTHORS: Final = 10
_SMALLEST_DAY: Final = 50
_GIVEN_NAME = re.compile(r"[^\W\d]{2}")
_QUERIES = 300
_LIBRARY = 300


class Person(NamedTuple):
    """What somebody thinks of some papers, by number, and libraries of what they wrote."""

    ratings: Mapping[str, float]
    libraries: Sequence[Sequence[str]]


class Tally:
    """How much of what was judged is out of order."""

    def __init__(self) -> None:
        self._all = 0.0
        self._wrong = 0.0

    def add(self, by_rating: float, by_nearness: float, weight: float = 1) -> None:
        """Count two papers, by how far one is before the other."""
        self._all += weight
        if not by_nearness:
            self._wrong += weight / 2
        elif (by_rating > 0) != (by_nearness > 0):
            self._wrong += weight

    @property
    def share(self) -> float:
        """The share that is out of order."""
        return self._wrong / self._all if self._all else 0.0


def read_rated(path: Path) -> tuple[dict[str, PaperText], dict[str, Person]]:
    """Read papers, and people who rated them; stop in words if that is not all there."""
    raw = path.read_bytes()
    is_packed = raw.startswith(b"\x1f\x8b")
    content = json.loads(gzip.decompress(raw) if is_packed else raw)
    papers = {}
    for number, (title, abstract) in content["papers"].items():
        papers[number] = (title or "", abstract or "")
    people = {}
    named: set[str] = set()
    for name, one in content["people"].items():
        people[name] = Person(one["ratings"], one["libraries"])
        named.update(one["ratings"], *one["libraries"])
    missing = sorted(map(str, named - papers.keys()))
    if missing:
        lacks = f"{len(missing)} that are rated or in a library, such as {missing[0]}"
        sys.exit(f"{path}: `papers` lacks {lacks}")
    if not any(one.ratings and one.libraries for one in people.values()):
        sys.exit(f"{path}: nobody has both ratings and a library")
    return papers, people


def measure_rated(
    weights: Weights, papers: Mapping[str, PaperText], people: Mapping[str, Person]
) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Yield a person, a library's number, and how near to it each paper they rated is."""
    for name, person in people.items():
        texts = Texts.read([papers[number] for number in person.ratings])
        for place, library in enumerate(person.libraries):
            measured = Interest(weights, [papers[number] for number in library]).measure(texts)
            yield name, place, dict(zip(person.ratings, measured, strict=True))


class Tallies(NamedTuple):
    """What one library of everybody came to: all pairs, the easy ones and the hard ones."""

    loss: Tally
    easy: Tally
    hard: Tally


def judge(
    people: Mapping[str, Person], scores: Sequence[tuple[str, int, dict[str, int]]]
) -> tuple[float, ...]:
    """Return the loss, and the shares of easy and of hard pairs in the right order."""
    tallies: defaultdict[int, Tallies] = defaultdict(lambda: Tallies(Tally(), Tally(), Tally()))
    for name, place, near in scores:
        tally = tallies[place]
        for (one, rated), (other, less) in combinations(people[name].ratings.items(), 2):
            by_rating = rated - less
            by_nearness = near[one] - near[other]
            if not by_rating:
                continue
            tally.loss.add(by_rating, by_nearness, abs(by_rating))
            if max(rated, less) >= HIGH and min(rated, less) <= LOW:
                tally.easy.add(by_rating, by_nearness)
            elif min(rated, less) >= HIGH:
                tally.hard.add(by_rating, by_nearness)
    losses = fmean(tally.loss.share for tally in tallies.values())
    easy_wrong = fmean(tally.easy.share for tally in tallies.values())
    hard_wrong = fmean(tally.hard.share for tally in tallies.values())
    return losses, 1 - easy_wrong, 1 - hard_wrong


def report_rated(path: Path, verdict: Verdict, *, tells_scores: bool) -> None:
    """Print the loss, or what it is made of."""
    papers, people = read_rated(path)
    made_of, stored = load_papers() if REAL else ("the papers of the file", [])
    texts = [(paper.title, paper.abstract) for paper in stored]
    weights = Weights().count(texts or papers.values())
    scores = measure_rated(weights, papers, people)
    if tells_scores:
        for name, place, near in scores:
            say(json.dumps({"person": name, "library": place, "scores": near}))
        return
    say(f"{len(people)} people; words weigh by {made_of}, {weights.papers:,} papers")
    loss, easy, hard = judge(people, list(scores))
    told = verdict.judge(loss, MOST_LOSS, at_most=True)
    say(f"loss {loss:.4f}{told}; easy pairs {easy:.3f}, hard pairs {hard:.3f} in the right order")


def find_day(paper: Paper) -> date:
    """Return the working day on which a paper was sent, or the next one."""
    sent = paper.published.date()
    is_weekend = sent.weekday() > 4
    return sent + timedelta(days=7 - sent.weekday()) if is_weekend else sent


def find_authors(papers: Sequence[Paper]) -> list[list[int]]:
    """Return the numbers of each author's papers, in order."""
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for number, paper in enumerate(papers):
        if len(paper.authors) <= _MOST_AUTHORS:
            for name in dict.fromkeys(author.name for author in paper.authors):
                by_name[name].append(number)
    authors = []
    for name, found in by_name.items():
        if FEWEST <= len(found) <= MOST and _GIVEN_NAME.match(name):
            authors.append(found)
    return authors


def report_authors(verdict: Verdict) -> None:
    """Print how many of an author's later papers are in the top tenth of their day."""
    papers = sorted(load_papers()[1], key=lambda paper: (find_day(paper), paper.id))
    texts = [(paper.title, paper.abstract) for paper in papers]
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    authors = find_authors(papers)
    for author, numbers in enumerate(authors):
        for number in numbers[KNOWN:]:
            wanted[number].append(author)
    weights = Weights()
    found: list[tuple[int, bool]] = []
    for _, numbered in groupby(range(len(papers)), key=lambda number: find_day(papers[number])):
        day = list(numbered)
        read = Texts.read(texts[number] for number in day)
        for number in day if len(day) >= _SMALLEST_DAY else ():
            for author in wanted[number]:
                library = [texts[one] for one in authors[author][:KNOWN]]
                measured = Interest(weights, library).measure(read)
                is_top = measured[number - day[0]] >= find_least(measured)
                found.append((author, is_top))
        weights = weights.count(texts[number] for number in day)
    writers = {author for author, _ in found}
    say(f"{len(writers)} authors, {len(found)} later papers, {len(papers):,} papers")
    share = sum(is_top for _, is_top in found) / len(found)
    verdict.tell(
        "later papers in the top tenth of their day", share, "of 1", LEAST_FOUND, at_most=False
    )


def report_speed(verdict: Verdict) -> None:
    """Print how long measuring takes, against matching."""
    made_of, whole_day, others = load_day()
    day = whole_day[:PAPERS]
    library = [(paper.title, paper.abstract) for paper in others[:_LIBRARY]]
    drawn = read_queries(QueryWriter(others, 1).write_realistic)
    queries = [query.text for query in islice(drawn, _QUERIES)]
    counted = Weights().count((paper.title, paper.abstract) for paper in others).to_bytes()

    def match() -> PaperIndex:
        index = PaperIndex(day)
        list(index.find(map(parse_query, queries)))
        return index

    def match_and_measure() -> None:
        Interest(Weights.from_bytes(counted), library).measure(Texts(match().list_texts()))

    times = measure_in_turns(
        {"match": match, "both": match_and_measure}, ROUNDS, lambda _: forget()
    )
    measuring = times["both"] - times["match"]
    say(f"{len(day):,} {made_of}, {_QUERIES} queries: {times['match']:,.0f} ms to match them")
    more = f"{measuring:,.0f} ms more to measure them"
    say(f"a library of {len(library)}: {more}, {len(counted):,} bytes of counts")
    verdict.tell(
        "measuring takes", measuring / times["match"], "of matching", MOST_TIME, at_most=True
    )


def main(arguments: Sequence[str]) -> int:
    """Measure what is asked for; return 1 where a goal was missed."""
    verdict = Verdict()
    files = [Path(argument) for argument in arguments if not argument.startswith("--")]
    if "--authors" in arguments:
        report_authors(verdict)
    elif "--speed" in arguments:
        report_speed(verdict)
    elif not files:
        sys.exit(__doc__)
    else:
        report_rated(files[0], verdict, tells_scores="--scores" in arguments)
    return 0 if verdict.is_met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
