"""Holds a query against one paper: true if it is meant, with the places that match.

Each condition becomes a closure over what it searches for, each operator a closure over its
operands, so that a query costs about a microsecond a paper once both are prepared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import ClassVar, Final, NamedTuple, TypeAlias

from digest import tex
from digest.model import taxonomy
from digest.model.papers import Paper
from digest.query.names import (
    NamePart,
    NamePattern,
    PersonPattern,
    fold_umlauts,
    list_readings,
    split_name,
)
from digest.query.paper_words import TEXTS, IndexedPaper
from digest.query.tree import (
    And,
    Condition,
    Node,
    Not,
    Or,
    Prefix,
    Shape,
    spell_licence,
    spell_minute,
    split_range,
    spread_condition,
)
from digest.query.words import (
    PLACE_HOLDERS,
    STOP_WORDS,
    cut_words,
    fold_word,
    place_words,
    read_named,
    read_parted,
    read_word,
    split_parts,
    stem,
)

_BETWEEN_READINGS: Final = 2**16
"""How far the numbers of a text's second reading are from the first: farther than a phrase goes."""

STEMMED = frozenset((Prefix.TITLE, Prefix.ABSTRACT))


class PlainText:
    """A raw text with its TeX resolved (`plain`); it remembers where each character came from."""

    _parse: ClassVar[staticmethod[[str], Sequence[tex.TexPiece]]] = staticmethod(tex.parse_tex)

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._pieces = [piece for piece in self._parse(raw) if piece.text]
        self.plain = "".join([piece.text for piece in self._pieces])

    @cached_property
    def _starts(self) -> list[int]:
        lengths = (len(piece.text) for piece in self._pieces)
        return list(accumulate(lengths, initial=0))

    def find_raw(self, start: int, end: int) -> tuple[int, int]:
        """Return the raw code points (end exclusive) that show as `start` to `end` of `plain`."""
        raw_start, _ = self._find_raw(start)
        _, raw_end = self._find_raw(end - 1)
        return raw_start, raw_end

    def _find_raw(self, place: int) -> tuple[int, int]:
        index = bisect_right(self._starts, place) - 1
        piece = self._pieces[index]
        if piece.text != self._raw[piece.start : piece.end]:
            return piece.start, piece.end
        start = piece.start + place - self._starts[index]
        return start, start + 1


class WordText(PlainText):
    """A text searched by words; its plain text has the edges of formulas marked.

    Words are numbered from 0 as they are read whole; stop words take a number too, so that phrases
    keep their gaps. If any word has parts, the text is numbered a second time with far larger
    numbers, each part by itself.

    Attributes:
        numbers: term -> the numbers of its words; terms are stems if the field is stemmed.
        surfaces: the same for folded, unstemmed words; stop words are in neither.
    """

    _parse = staticmethod(tex.parse_words)

    def __init__(self, raw: str, *, is_stemmed: bool) -> None:
        super().__init__(raw)
        self.surfaces = _number_words(cut_words(self.plain), PLACE_HOLDERS)
        self.numbers = self._stem_surfaces() if is_stemmed else self.surfaces

    @cached_property
    def written(self) -> dict[str, list[int]]:
        """As `surfaces`, with stop words."""
        return _number_words(cut_words(self.plain), ())

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return place_words(self.plain)

    @cached_property
    def _parted_places(self) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        for start, end in self._places:
            parts = split_parts(self.plain[start:end])
            if parts:
                places += [(start + part.start, start + part.end) for part in parts]
            else:
                places.append((start, end))
        return places

    def _stem_surfaces(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for surface, found in self.surfaces.items():
            term = stem(surface)
            numbers[term] = sorted(numbers[term] + found) if term in numbers else found
        return numbers

    @cached_property
    def _vocabularies(self) -> list[tuple[list[str], dict[str, list[int]]]]:
        vocabularies = [(sorted(self.surfaces), self.surfaces)]
        if self.numbers is not self.surfaces:
            vocabularies.append((sorted(self.numbers), self.numbers))
        return vocabularies

    def find_beginnings(self, beginning: str) -> Iterator[int]:
        """Yield the numbers of the words that begin so, or whose terms do; some perhaps twice."""
        for ordered, numbers in self._vocabularies:
            for word in cut_begun(ordered, beginning):
                yield from numbers[word]

    def find_words(self, first: int, last: int) -> tuple[int, int]:
        """Return the raw code points from the first numbered word to the end of the last."""
        places = self._places
        before = len(places) + _BETWEEN_READINGS
        if first >= before:
            places = self._parted_places
            first -= before
            last -= before
        start, _ = places[first]
        _, end = places[last]
        return self.find_raw(start, end)


def cut_begun(ordered: Sequence[str], beginning: str) -> Sequence[str]:
    """Return those of some words in order that begin so."""

    def is_past(word: str) -> bool:
        return not word.startswith(beginning)

    first = bisect_left(ordered, beginning)
    last = bisect_left(ordered, 1, first, key=is_past)
    return ordered[first:last]


def _number_words(words: Sequence[str], left_out: Collection[str]) -> dict[str, list[int]]:
    """Return each word, as it is read whole and parted, with its numbers."""
    numbers: dict[str, list[int]] = {}
    whole = map(read_word, words)
    parted = read_parted(words)
    for first, reading in ((0, whole), (len(words) + _BETWEEN_READINGS, parted)):
        for number, word in enumerate(reading, first):
            if word not in left_out:
                numbers.setdefault(word, []).append(number)
    return numbers


class NameText(PlainText):
    """One author's name.

    Attributes:
        parts: its folded parts, in order.
        spellings: those parts, and beside them the same with umlauts written out.
    """

    def __init__(self, raw: str) -> None:
        super().__init__(raw)
        self.spellings = list_readings(self.plain)
        self.parts = self.spellings[0]

    def find_meant(self, pattern: NamePattern | PersonPattern) -> tuple[int, ...]:
        """Return the numbers of the parts that a pattern means; () if it means another name.

        The name may be spelled either way.
        """
        return next(filter(None, map(pattern.find_parts, self.spellings)), ())

    @cached_property
    def _name(self) -> tuple[NamePart, ...]:
        return split_name(self.plain)

    def find_raw_parts(self, first: int, last: int) -> tuple[int, int]:
        """Return the raw code points from one part to the end of another."""
        return self.find_raw(self._name[first].start, self._name[last].end)


class PaperValues:
    """What conditions on values need of a paper, each made when first needed and then kept."""

    def __init__(self, paper: Paper | IndexedPaper) -> None:
        self.paper = paper

    @cached_property
    def category_names(self) -> dict[str, list[int]]:
        """Every name of every category, in lower case -> the indexes of the categories it names."""
        every = map(taxonomy.names_of, self.paper.categories)
        return _list_indexes(map(str.casefold, names) for names in every)

    @cached_property
    def archives(self) -> dict[str, list[int]]:
        """Every archive of its categories, under any of their names -> the categories' indexes."""
        every = map(taxonomy.names_of, self.paper.categories)
        return _list_indexes(set(map(taxonomy.archive_of, names)) for names in every)

    @cached_property
    def ids(self) -> frozenset[str]:
        """The id in lower case, without and with version."""
        id_ = str(self.paper.id).casefold()
        return frozenset((id_, f"{id_}v{self.paper.version}"))

    @cached_property
    def dois(self) -> dict[str, int]:
        """DOI in lower case -> its index."""
        return {doi.casefold(): index for index, doi in enumerate(self.paper.dois)}

    @cached_property
    def submitted_minute(self) -> str:
        """When version 1 was submitted (UTC), as ranges are spelled."""
        return spell_minute(self.paper.published)


class AnalysedPaper(PaperValues):
    """A paper with everything that conditions need, each made when first needed and then kept.

    Pass one along when a paper is held against many queries. Five fields are searched by words: see
    `TEXTS`.
    """

    paper: Paper

    title = cached_property(lambda self: WordText(self.paper.title, is_stemmed=True))
    abstract = cached_property(lambda self: WordText(self.paper.abstract, is_stemmed=True))
    comment = cached_property(lambda self: WordText(self.paper.comment, is_stemmed=False))
    journal_ref = cached_property(lambda self: WordText(self.paper.journal_ref, is_stemmed=False))
    report_no = cached_property(lambda self: WordText(self.paper.report_no, is_stemmed=False))

    @cached_property
    def names(self) -> tuple[NameText, ...]:
        """The authors' names, in order."""
        return tuple([NameText(author.name) for author in self.paper.authors])

    @cached_property
    def name_parts(self) -> dict[str, list[int]]:
        """Name part, spelled by `fold_umlauts` -> the indexes of the authors who have it."""
        every = (chain.from_iterable(name.spellings) for name in self.names)
        return _list_indexes(set(map(fold_umlauts, parts)) for parts in every)


def _list_indexes(said: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Return each text -> the indexes of those who say it."""
    found: dict[str, list[int]] = {}
    for index, texts in enumerate(said):
        for text in texts:
            found.setdefault(text, []).append(index)
    return found


def analyse(paper: Paper | AnalysedPaper) -> AnalysedPaper:
    """Return the paper ready for matching; one that is ready already comes back as it is."""
    return paper if isinstance(paper, AnalysedPaper) else AnalysedPaper(paper)


class Run(NamedTuple):
    """Words, or their stems, each searched for that many places after the first."""

    terms: tuple[str, ...]
    places: tuple[int, ...]

    def stem(self) -> Run:
        """Return the same with the stems of its words."""
        return Run(tuple(map(stem, self.terms)), self.places)

    def is_in(self, numbers: Mapping[str, list[int]]) -> bool:
        """Tell whether a text has them, whose words have these numbers."""
        if len(self.terms) == 1:
            return self.terms[0] in numbers
        return next(self.find(numbers), None) is not None

    def find(self, numbers: Mapping[str, list[int]]) -> Iterator[int]:
        """Yield the number of the first of them wherever a text has them all."""
        found: list[list[int]] = []
        for term in self.terms:
            if term not in numbers:
                return
            found.append(numbers[term])
        others = list(zip(found[1:], self.places[1:], strict=True))
        for first in found[0]:
            if all(first + place in theirs for theirs, place in others):
                yield first


@dataclass(frozen=True, slots=True)
class WordPattern:
    """What a condition searches for in a text of words.

    Attributes:
        clauses: each must be met, by any of its runs: by a word or phrase read whole, or parted.
        beginning: how one more word begins, "" for none; of a stemmed text, its stem may do so too.
        is_exact: whether the runs are of words as written, of a stemmed text too.
    """

    clauses: tuple[tuple[Run, ...], ...]
    beginning: str = ""
    is_exact: bool = False

    @classmethod
    def compile(cls, condition: Condition, *, is_stemmed: bool) -> WordPattern:
        """Prepare a condition for texts that are stemmed, or are not."""
        text = condition.text
        shape = condition.shape
        if shape is Shape.WORD and _is_one_plain_word(text):  # as most
            run = Run((text.lower(),), (0,))
            return cls(((run.stem() if is_stemmed else run,),))
        words = cut_words(text)
        if shape is Shape.EXACT:
            return cls((_read_phrase(words, is_exact=True),), is_exact=True)
        beginning = fold_word(words.pop()) if shape is Shape.BEGINNING else ""
        phrases = [words] if shape is Shape.PHRASE else [[word] for word in words]
        clauses = tuple(filter(None, map(_read_phrase, phrases)))
        pattern = cls(clauses, beginning)
        return pattern.stem() if is_stemmed else pattern

    def stem(self) -> WordPattern:
        """Return the same for texts that are stemmed."""
        clauses = [tuple(map(Run.stem, runs)) for runs in self.clauses]
        return WordPattern(tuple(clauses), self.beginning)

    @property
    def word(self) -> str:
        """The one term that it searches for; "" if it searches for more, or a word as written."""
        if len(self.clauses) != 1 or self.beginning or self.is_exact:
            return ""
        terms: list[str] = []
        for run in self.clauses[0]:
            terms += run.terms
        return terms[0] if len(terms) == 1 else ""

    def is_met(self, text: WordText) -> bool:
        """Tell whether a text has what is searched for."""
        numbers = text.written if self.is_exact else text.numbers
        for runs in self.clauses:
            if not any(run.is_in(numbers) for run in runs):
                return False
        return not self.beginning or next(text.find_beginnings(self.beginning), None) is not None

    def find(self, text: WordText) -> list[tuple[int, int]]:
        """Return every place that meets it, as raw code points, in order; none within another."""
        if not self.is_met(text):
            return []
        places: list[tuple[int, int]] = []
        for start, end in sorted(self._find_all(text), key=_by_start_and_length):
            if not places or end > places[-1][1]:
                places.append((start, end))
        return places

    def _find_all(self, text: WordText) -> set[tuple[int, int]]:
        numbers = text.written if self.is_exact else text.numbers
        found: set[tuple[int, int]] = set()
        for run in chain.from_iterable(self.clauses):
            length = run.places[-1]
            found.update((first, first + length) for first in run.find(numbers))
        if self.beginning:
            found.update((number, number) for number in text.find_beginnings(self.beginning))
        return {text.find_words(first, last) for first, last in found}


def _is_one_plain_word(text: str) -> bool:
    """Tell whether a text is one word that is read in one way only."""
    if not text.isalnum() or not text.isascii() or text.lower() in STOP_WORDS:
        return False
    return not read_named((text,))


def _by_start_and_length(place: tuple[int, int]) -> tuple[int, int]:
    start, end = place
    return start, -end


def _read_phrase(words: Sequence[str], *, is_exact: bool = False) -> tuple[Run, ...]:
    """Return what is for words side by side: as they are read whole, parted, and named."""
    left_out: Collection[str] = () if is_exact else PLACE_HOLDERS
    whole = list(map(read_word, words))
    readings = (whole, read_parted(words), read_named(words))
    runs = [_read_run(reading, left_out) for reading in readings]
    return tuple([run for run in runs if run.terms])


def _read_run(words: Sequence[str], left_out: Collection[str]) -> Run:
    terms: list[str] = []
    places: list[int] = []
    for place, word in enumerate(words):
        if word not in left_out:
            terms.append(word)
            places.append(place)
    return Run(tuple(terms), tuple([place - places[0] for place in places]))


Test: TypeAlias = Callable[[AnalysedPaper], bool]

VALUES: Mapping[str, Callable[[PaperValues], Collection[str]]] = {
    Prefix.ID: lambda paper: paper.ids,
    Prefix.DOI: lambda paper: paper.dois,
    Prefix.LICENCE: lambda paper: (spell_licence(paper.paper.license),),
}
"""The prefixes that take one whole value -> the values that a paper has, in lower case."""


def compile_tree(node: Node) -> Test:
    """Return a function that says whether a paper meets the tree."""
    match node:
        case Condition():
            tests = [_compile_part(part) for part in spread_condition(node)]
            return tests[0] if len(tests) == 1 else _meet_any(tests)
        case Not(operand):
            denied = compile_tree(operand)
            return lambda paper: not denied(paper)
        case And(operands):
            every = [compile_tree(operand) for operand in operands]
            return lambda paper: all(test(paper) for test in every)
        case Or(operands):
            return _meet_any([compile_tree(operand) for operand in operands])


def _meet_any(tests: Sequence[Test]) -> Test:
    return lambda paper: any(test(paper) for test in tests)


def _compile_part(condition: Condition) -> Test:
    """Return a function that says whether a paper meets a condition on one field."""
    match condition.prefix:
        case Prefix.AUTHOR | Prefix.PERSON:
            return _compile_name(read_name(condition))
        case Prefix.CATEGORY:
            return lambda paper: bool(find_categories(condition, paper))
        case Prefix.SUBMITTED:
            start, end = split_range(condition.text)
            return lambda paper: start <= paper.submitted_minute <= end
        case prefix if prefix in VALUES:
            value = condition.text.casefold()
            list_values = VALUES[prefix]
            return lambda paper: value in list_values(paper)
        case prefix:
            field = TEXTS[prefix]
            pattern = WordPattern.compile(condition, is_stemmed=prefix in STEMMED)
            return lambda paper: pattern.is_met(getattr(paper, field))


def _compile_name(pattern: NamePattern | PersonPattern) -> Test:
    def has_author(paper: AnalysedPaper) -> bool:
        candidates = narrow_names(pattern, paper)
        return any(paper.names[index].find_meant(pattern) for index in candidates)

    return has_author


def read_name(condition: Condition) -> NamePattern | PersonPattern:
    """Return what a condition on authors says of a name."""
    text = condition.text
    if condition.prefix is Prefix.PERSON:
        return PersonPattern.parse(text)
    return NamePattern.parse(f"{text}*" if condition.shape is Shape.BEGINNING else text)


def narrow_names(pattern: NamePattern | PersonPattern, paper: AnalysedPaper) -> Iterable[int]:
    """Return in order the indexes of the authors who may be meant: all if a part may go on."""
    parts: Collection[str]
    if isinstance(pattern, PersonPattern):
        parts = pattern.endings
    else:
        parts = (pattern.anywhere or pattern.last)[:1]
    if any(part.endswith("*") for part in parts):
        return range(len(paper.names))
    indexes: set[int] = set()
    for part in parts:
        indexes.update(paper.name_parts.get(part, ()))
    return sorted(indexes)


def find_categories(condition: Condition, paper: AnalysedPaper) -> Sequence[int]:
    """Return which of a paper's categories meet a condition, as their indexes."""
    text = condition.text.casefold()
    if condition.shape is Shape.BEGINNING:
        found: set[int] = set()
        for name, indexes in paper.category_names.items():
            if name.startswith(text):
                found.update(indexes)
        return sorted(found)
    if taxonomy.is_archive(condition.text):
        return paper.archives.get(condition.text, ())
    return paper.category_names.get(text, ())
