"""How well papers are put in order by a library.

    python -m tests.bench.relevance FILE [--scores]
    python -m tests.bench.relevance --authors
    python -m tests.bench.relevance --speed

FILE is JSON, perhaps packed by gzip: `papers` (number -> title and abstract) and `people` (name -> `ratings` of
papers from 1 to 5, and `libraries` of their own papers). Of each two papers that a person rated, the difference of
the ratings counts if they are in the wrong order, and half of it if neither is nearer; the loss is the sum over
everybody divided by the sum of all differences, the mean over the libraries. Pairs are easy with one paper of at
least 4 and one of at most 2, and hard with two of at least 4. Words weigh by the real papers of the folder that
`DIGEST_REAL_DATA` names; without it, by the papers of FILE. `--scores` prints for each person and library, counted
from 0, how near each rated paper is.

`--authors` takes the first three papers of an author for a library and finds the later ones in the top tenth of
their day, among real papers; words weigh by the papers of the days before. An author is a name with a given name
written out and 5 to 20 papers of at most ten authors. Papers sent at the weekend belong to Monday.

`--speed` holds how long it takes to measure a day against a library, read and compared, with how long it takes to
match the day.
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

HIGH, LOW = 4, 2
KNOWN: Final = 3
FEWEST, MOST = 5, 20
_MOST_AUTHORS: Final = 10
_SMALLEST_DAY: Final = 50
_GIVEN_NAME = re.compile(r"[^\W\d]{2}")
_QUERIES, _LIBRARY = 300, 300


class Person(NamedTuple):
    """What somebody thinks of some papers, by number, and libraries of what they wrote."""

    ratings: Mapping[str, float]
    libraries: Sequence[Sequence[str]]


class Tally:
    """How much of what was judged is out of order."""

    def __init__(self) -> None:
        self._all = self._wrong = 0.0

    def add(self, by_rating: float, by_nearness: float, weight: float = 1) -> None:
        """Count two papers, by how far one is before the other."""
        self._all += weight
        self._wrong += weight * (0.5 if not by_nearness else (by_rating > 0) != (by_nearness > 0))

    @property
    def share(self) -> float:
        """The share that is out of order."""
        return self._wrong / self._all if self._all else 0.0


def read_rated(path: Path) -> tuple[dict[str, PaperText], dict[str, Person]]:
    """Read papers, and people who rated them; stop in words if that is not all there."""
    raw = path.read_bytes()
    told = json.loads(gzip.decompress(raw) if raw.startswith(b"\x1f\x8b") else raw)
    papers = {
        number: (title or "", abstract or "")
        for number, (title, abstract) in told["papers"].items()
    }
    people = {
        name: Person(one["ratings"], one["libraries"]) for name, one in told["people"].items()
    }
    named = {
        number
        for one in people.values()
        for some in (one.ratings, *one.libraries)
        for number in some
    }
    if missing := sorted(map(str, named - papers.keys())):
        sys.exit(
            f"{path}: `papers` lacks {len(missing)} that are rated or in a library, such as {missing[0]}"
        )
    if not any(one.ratings and one.libraries for one in people.values()):
        sys.exit(f"{path}: nobody has both ratings and a library")
    return papers, people


def measure_rated(
    weights: Weights, papers: Mapping[str, PaperText], people: Mapping[str, Person]
) -> Iterator[tuple[str, int, dict[str, int]]]:
    """Yield a person, the number of a library, and how near to it each paper is that the person rated."""
    for name, person in people.items():
        texts = Texts.read([papers[number] for number in person.ratings])
        for place, library in enumerate(person.libraries):
            measured = Interest(weights, [papers[number] for number in library]).measure(texts)
            yield name, place, dict(zip(person.ratings, measured, strict=True))


def judge(
    people: Mapping[str, Person], scores: Sequence[tuple[str, int, dict[str, int]]]
) -> tuple[float, ...]:
    """Return the loss, and the shares of easy and of hard pairs in the right order."""
    tallies: defaultdict[int, tuple[Tally, Tally, Tally]] = defaultdict(
        lambda: (Tally(), Tally(), Tally())
    )
    for name, place, near in scores:
        loss, easy, hard = tallies[place]
        for (one, rated), (other, less) in combinations(people[name].ratings.items(), 2):
            by_rating, by_nearness = rated - less, near[one] - near[other]
            if by_rating:
                loss.add(by_rating, by_nearness, abs(by_rating))
                if max(rated, less) >= HIGH and min(rated, less) <= LOW:
                    easy.add(by_rating, by_nearness)
                elif min(rated, less) >= HIGH:
                    hard.add(by_rating, by_nearness)
    losses, easy_wrong, hard_wrong = (
        sum(tally.share for tally in column) / len(column)
        for column in zip(*tallies.values(), strict=True)
    )
    return losses, 1 - easy_wrong, 1 - hard_wrong


def report_rated(path: Path, verdict: Verdict, *, tells_scores: bool) -> None:
    """Print the loss, or what it is made of."""
    papers, people = read_rated(path)
    made_of, stored = load_papers() if REAL else ("the papers of the file", [])
    weights = Weights().count(
        [(paper.title, paper.abstract) for paper in stored] or papers.values()
    )
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
    return sent + timedelta(days=max(0, 7 - sent.weekday()) if sent.weekday() > 4 else 0)


def find_authors(papers: Sequence[Paper]) -> list[list[int]]:
    """Return the numbers of each author's papers, in order."""
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for number, paper in enumerate(papers):
        if len(paper.authors) <= _MOST_AUTHORS:
            for name in dict.fromkeys(author.name for author in paper.authors):
                by_name[name].append(number)
    return [
        found
        for name, found in by_name.items()
        if FEWEST <= len(found) <= MOST and _GIVEN_NAME.match(name)
    ]


def report_authors(verdict: Verdict) -> None:
    """Print how many of an author's later papers are in the top tenth of their day."""
    papers = sorted(load_papers()[1], key=lambda paper: (find_day(paper), paper.id))
    texts = [(paper.title, paper.abstract) for paper in papers]
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    authors = find_authors(papers)
    for author, numbers in enumerate(authors):
        for number in numbers[KNOWN:]:
            wanted[number].append(author)
    weights, found = Weights(), list[tuple[int, bool]]()
    for _, numbered in groupby(range(len(papers)), key=lambda number: find_day(papers[number])):
        day = list(numbered)
        read = Texts.read(texts[number] for number in day)
        for number in day if len(day) >= _SMALLEST_DAY else ():
            for author in wanted[number]:
                measured = Interest(
                    weights, [texts[one] for one in authors[author][:KNOWN]]
                ).measure(read)
                found.append((author, measured[number - day[0]] >= find_least(measured)))
        weights = weights.count(texts[number] for number in day)
    say(
        f"{len({author for author, _ in found})} authors, {len(found)} later papers, {len(papers):,} papers"
    )
    share = sum(is_top for _, is_top in found) / len(found)
    verdict.tell(
        "later papers in the top tenth of their day", share, "of 1", LEAST_FOUND, at_most=False
    )


def report_speed(verdict: Verdict) -> None:
    """Print how long measuring takes, against matching."""
    made_of, day, others = load_day()
    day, library = day[:PAPERS], [(paper.title, paper.abstract) for paper in others[:_LIBRARY]]
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
    say(
        f"a library of {len(library)}: {measuring:,.0f} ms more to measure them, {len(counted):,} bytes of counts"
    )
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
