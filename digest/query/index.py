"""Papers read once, to be asked which of them each of many queries means.

    index = PaperIndex(papers)
    for numbers in index.find(queries): ...  # of the papers, from 0 on

Each word, name and value is listed with the papers that have it. A set of papers is an integer
whose bits are papers: AND, OR and NOT take hardly longer for thousands of papers than for one. What
a condition means is found once, however many queries have it. Phrases are checked only in papers
that have all of their words. The answer is that of `matches` for every query and paper.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import compress, count, islice
from operator import attrgetter, or_
from typing import Any, Final, TypeVar

from digest.model import taxonomy
from digest.model.papers import Paper
from digest.query.evaluation import (
    STEMMED,
    VALUES,
    PaperValues,
    Run,
    WordPattern,
    cut_begun,
    read_name,
)
from digest.query.names import PersonPattern, fold_umlauts, list_spellings
from digest.query.paper_words import (
    AGAIN,
    NEXT,
    TEXTS,
    IndexedPaper,
    WordReader,
    enclose,
    split,
    split_whole,
)
from digest.query.queries import Query
from digest.query.tree import (
    And,
    Condition,
    Node,
    Not,
    Or,
    Prefix,
    Shape,
    split_range,
    spread_condition,
)
from digest.query.words import stem

_Said = TypeVar("_Said")

_MOST: Final = 4_000
"""Papers on one shelf."""

_MARKS = bytes.maketrans(b"01", b"\0\1")

_ARCHIVE: Final = "archive"
_VALUES: Mapping[str, Callable[[PaperValues], Iterable[str]]] = {
    Prefix.CATEGORY: attrgetter("category_names"),
    _ARCHIVE: attrgetter("archives"),
    **VALUES,
}


class PaperIndex:
    """Papers, as far as a query can tell one from another; safe to share between threads.

    `papers`: the first has the number 0. They are not kept. One that comes with its words is not
    read again.
    """

    def __init__(self, papers: Iterable[Paper | IndexedPaper]) -> None:
        coming = iter(papers)
        shared: dict[object, Any] = {}
        self._shelves: list[_Batch] = []
        while some := list(islice(coming, _MOST)):
            self._shelves.append(_Batch(some, shared))

    def find(self, queries: Iterable[Query | Node]) -> Iterator[list[int]]:
        """Yield the numbers of the papers that each query means, in growing order."""
        searches = [_Search(shelf) for shelf in self._shelves]
        for query in queries:
            tree = query.tree if isinstance(query, Query) else query
            found: list[int] = []
            for place, search in enumerate(searches):
                first = place * _MOST
                found += [first + number for number in _list_bits(search.find(tree))]
            yield found

    def list_texts(self) -> Iterator[list[Sequence[str]]]:
        """Yield the words of each paper's title and abstract, as `read_word` gives them."""
        for shelf in self._shelves:
            titles = shelf.texts[Prefix.TITLE]
            abstracts = shelf.texts[Prefix.ABSTRACT]
            for title, abstract in zip(titles, abstracts, strict=True):
                yield [split_whole(title), split_whole(abstract)]

    def list_words(self, condition: Condition) -> list[str]:
        """Return in order the words of titles and abstracts that one word finds by its stem."""
        if condition.prefix not in (*STEMMED, Prefix.ALL):
            return []
        term = WordPattern.compile(condition, is_stemmed=True).word
        words: set[str] = set()
        for shelf in self._shelves:
            for prefix in STEMMED:
                words.update(shelf.fields[prefix].list_words(term))
        return sorted(words)


class _Batch:
    """Some papers, at most `_MOST`; what they share with other shelves is in memory once."""

    def __init__(self, papers: Iterable[Paper | IndexedPaper], shared: dict[object, Any]) -> None:
        read = list(map(WordReader().index, papers))
        values = list(map(PaperValues, read))
        self.size = len(read)
        self.minutes = [int(paper.submitted_minute) for paper in values]
        self.fields: dict[str, _Field] = {}
        for field, list_values in _VALUES.items():
            self.fields[field] = _Field(map(list_values, values), shared)
        self.texts: dict[str, list[str]] = {}
        for place, prefix in enumerate(TEXTS):
            texts = [paper.words.texts[place] for paper in read]
            spell = stem if prefix in STEMMED else None
            self.fields[prefix] = _Field(map(split, texts), shared, spell)
            self.texts[prefix] = texts
        self._list_names([paper.words.names for paper in read], shared)

    def _list_names(self, papers: Iterable[Iterable[str]], shared: dict[object, Any]) -> None:
        """List each reading of an author's name once, its parts, and whose papers it is on."""
        numbers: dict[str, int] = {}
        numbers_of: dict[str, list[int]] = {"": []}
        authors: list[list[int]] = []
        for names in papers:
            theirs: list[int] = []
            for name in names:
                if name not in numbers_of:
                    readings = name.split(AGAIN)
                    numbers_of[name] = [numbers.setdefault(one, len(numbers)) for one in readings]
                theirs += numbers_of[name]
            authors.append(theirs)
        self.names = list(numbers)
        papers_of = _list_places(authors, shared)
        self.papers_by = [papers_of[number] for number in range(len(numbers))]
        parts = (name.split(NEXT) for name in self.names)
        self.fields[Prefix.AUTHOR] = _Field(parts, shared, fold_umlauts)


def _stem_text(text: str) -> str:
    stemmed: list[str] = []
    for reading in text.split(AGAIN):
        words = reading[1:-1].split(NEXT)
        stemmed.append(enclose(map(stem, words)))
    return AGAIN.join(stemmed)


class _Field:
    """What is said in one field, and in which papers or names.

    `spell` gives the term that finds a word.
    """

    def __init__(
        self,
        said: Iterable[Iterable[str]],
        shared: dict[object, Any],
        spell: Callable[[str], str] | None = None,
    ) -> None:
        self.places = _list_places(said, shared)
        self._spell = spell
        self._words: dict[str, str] = {}
        if spell is None:
            return
        words: dict[str, str] = {}
        for word, term in zip(self.places, map(spell, self.places), strict=True):
            words[term] = f"{words[term]}{NEXT}{word}" if term in words else word
        for term, found in words.items():
            if found != term:
                self._words[shared.setdefault(term, term)] = found

    @cached_property
    def _ordered(self) -> tuple[list[str], list[str]]:
        return sorted(self.places), sorted(self._words)

    def find(self, term: str) -> bytes:
        """Return where a term is said, as packed numbers."""
        return self._gather(self.list_words(term))

    def list_words(self, term: str) -> Sequence[str]:
        if term in self._words:
            return self._words[term].split(NEXT)
        if term not in self.places:
            return ()
        is_own_term = self._spell is None or self._spell(term) == term
        return (term,) if is_own_term else ()

    def find_begun(self, beginning: str) -> bytes:
        """Return where a word is said that begins so, or whose term does; some places twice."""
        words, terms = (cut_begun(ordered, beginning) for ordered in self._ordered)
        found = list(words)
        for term in terms:
            found += self._words[term].split(NEXT)
        return self._gather(found)

    def _gather(self, words: Iterable[str]) -> bytes:
        return b"".join(map(self.places.__getitem__, words))


def _list_places(said: Iterable[Iterable[_Said]], shared: dict[object, Any]) -> dict[_Said, bytes]:
    """Return what is said -> the numbers of those that say it, packed."""
    places: defaultdict[_Said, list[int]] = defaultdict(list)
    for number, words in enumerate(said):
        for word in set(words):
            places[word].append(number)
    share = shared.setdefault
    packed_places: dict[_Said, bytes] = {}
    for word, numbers in places.items():
        packed = array("I", numbers).tobytes()
        packed_places[share(word, word)] = share(packed, packed)
    return packed_places


class _Search:
    """Finds which papers of a shelf some queries mean, as the bits of a number.

    It remembers every answer.
    """

    def __init__(self, shelf: _Batch) -> None:
        self._shelf = shelf
        self._fields = shelf.fields
        self._everywhere = (1 << shelf.size) - 1
        self._met: dict[Condition, int] = {}
        self._with_term: dict[tuple[str, str], int] = {}
        self._with_part: dict[str, set[int]] = {}
        self._stemmed: dict[tuple[str, int], str] = {}

    def find(self, node: Node) -> int:
        match node:
            case Condition():
                if node not in self._met:
                    parts = spread_condition(node)
                    self._met[node] = reduce(or_, map(self._find_part, parts))
                return self._met[node]
            case Not(operand):
                return self._everywhere ^ self.find(operand)
            case And(operands):
                return self._require(map(self.find, operands))
            case Or(operands):
                return reduce(or_, map(self.find, operands))

    def _require(self, every: Iterable[int]) -> int:
        found = self._everywhere
        for papers in every:
            found &= papers
            if not found:
                break
        return found

    def _find_part(self, condition: Condition) -> int:
        prefix = condition.prefix
        text = condition.text
        if prefix in TEXTS:
            return self._find_words(condition)
        if prefix in (Prefix.AUTHOR, Prefix.PERSON):
            return self._find_people(condition)
        if prefix is Prefix.SUBMITTED:
            return self._find_submitted(*map(int, split_range(text)))
        if condition.shape is Shape.BEGINNING:
            return _unpack(self._fields[prefix].find_begun(text.casefold()))
        if prefix is Prefix.CATEGORY and taxonomy.is_archive(text):
            return self._find_term(_ARCHIVE, text)
        return self._find_term(prefix, text.casefold())

    def _find_submitted(self, start: int, end: int) -> int:
        minutes = enumerate(self._shelf.minutes)
        return _join_bits(number for number, minute in minutes if start <= minute <= end)

    def _find_term(self, field: str, term: str) -> int:
        if (field, term) not in self._with_term:
            self._with_term[field, term] = _unpack(self._fields[field].find(term))
        return self._with_term[field, term]

    def _find_words(self, condition: Condition) -> int:
        prefix = condition.prefix
        pattern = WordPattern.compile(condition, is_stemmed=prefix in STEMMED)
        is_exact = pattern.is_exact
        found = self._everywhere
        for runs in pattern.clauses:
            found &= reduce(or_, [self._find_run(prefix, run, is_exact=is_exact) for run in runs])
            if not found:
                return found
        if pattern.beginning:
            found &= _unpack(self._fields[prefix].find_begun(pattern.beginning))
        return found

    def _find_run(self, prefix: Prefix, run: Run, *, is_exact: bool) -> int:
        if is_exact:
            places = self._fields[prefix].places
            found = self._require(_unpack(places.get(term, b"")) for term in run.terms)
        else:
            found = self._require(self._find_term(prefix, term) for term in run.terms)
        if not found or len(run.terms) == 1:
            return found
        has_run = _look_for(run)
        texts = self._shelf.texts[prefix]
        read = texts.__getitem__ if is_exact else partial(self._read, prefix)
        return _join_bits(number for number in _list_bits(found) if has_run(read(number)))

    def _read(self, prefix: Prefix, number: int) -> str:
        text = self._shelf.texts[prefix][number]
        if prefix not in STEMMED:
            return text
        if (prefix, number) not in self._stemmed:
            self._stemmed[prefix, number] = _stem_text(text)
        return self._stemmed[prefix, number]

    def _find_people(self, condition: Condition) -> int:
        pattern = read_name(condition)
        if isinstance(pattern, PersonPattern):
            found = set[int]().union(*map(self._find_names, pattern.endings))
        else:
            given = (part for part in pattern.given if len(part) > 1)
            parts = (*pattern.anywhere, *pattern.last, *given)
            found = set.intersection(*map(self._find_names, parts))
        if isinstance(pattern, PersonPattern) or pattern.last:  # it matters where each part is
            names = self._shelf.names
            found = {number for number in found if pattern.find_parts(names[number].split(NEXT))}
        return _unpack(b"".join(map(self._shelf.papers_by.__getitem__, found)))

    def _find_names(self, part: str) -> set[int]:
        """Return the names with a part; a star ends one that may go on."""
        if part not in self._with_part:
            names = self._fields[Prefix.AUTHOR]
            if part.endswith("*"):
                begun = list_spellings(part[:-1])
                packed = b"".join(map(names.find_begun, begun))
            else:
                packed = names.find(part)
            self._with_part[part] = set(memoryview(packed).cast("I"))
        return self._with_part[part]


def _list_bits(papers: int) -> Iterable[int]:
    """Return which bits of a number are set, in growing order."""
    if not papers:
        return ()
    lowest_first = f"{papers:b}"[::-1]
    return compress(count(), lowest_first.encode().translate(_MARKS))


def _join_bits(numbers: Iterable[int]) -> int:
    return reduce(or_, map((1).__lshift__, numbers), 0)


def _unpack(packed: bytes) -> int:
    return _join_bits(memoryview(packed).cast("I"))


def _look_for(run: Run) -> Callable[[str], bool]:
    """Return a check whether a text has the words of a run at their distances, in one reading."""
    if run.places[-1] == len(run.terms) - 1:
        side_by_side = enclose(run.terms)
        return lambda text: side_by_side in text
    (first, *others), (_, *distances) = run

    def is_met(text: str) -> bool:
        for reading in text.split(AGAIN):
            words = reading[1:-1].split(NEXT)
            starts = [place for place, word in enumerate(words) if word == first]
            for start in starts:
                places = [start + far for far in distances]
                if places[-1] < len(words) and [words[place] for place in places] == others:
                    return True
        return False

    return is_met
