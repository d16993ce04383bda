"""A paper made ready for many queries: each text cut into words once, and each word's raw place kept."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from digest import taxonomy, tex
from digest.query.dates import spell_minute
from digest.query.names import fold_umlauts, list_readings, split_name
from digest.query.words import cut_words, place_words, read_parted, read_word, split_parts, stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from digest.papers import Paper
    from digest.query.names import NamePart, NamePattern
    from digest.query.people import PersonPattern

_BETWEEN_READINGS: Final = 2**16
"""How far the numbers of a text's second reading are from the first: farther than any phrase goes."""


class PlainText:
    """A raw text with its TeX resolved, which remembers where each character came from.

    Attributes:
        plain: what a reader sees.
    """

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._pieces = [piece for piece in self._parse(raw) if piece.text]
        self.plain = "".join([piece.text for piece in self._pieces])

    def _parse(self, raw: str) -> Iterable[tex.Piece]:
        return tex.parse_tex(raw)

    @cached_property
    def _shift(self) -> int | None:
        """How far behind its plain place each character stands in the raw text; None where that varies."""
        first = self._pieces[0]
        is_whole = len(self._pieces) == 1 and first.text == self._raw[first.start : first.end]
        return first.start if is_whole else None

    @cached_property
    def _starts(self) -> list[int]:
        starts, place = [], 0
        for piece in self._pieces:
            starts.append(place)
            place += len(piece.text)
        return starts

    def find_raw(self, start: int, end: int) -> tuple[int, int]:
        """Return the raw code points (end exclusive) that show as `start` to `end` of the plain text."""
        if self._shift is not None:  # no TeX in it, as in most
            return start + self._shift, end + self._shift
        return self._find_raw(start)[0], self._find_raw(end - 1)[1]

    def _find_raw(self, place: int) -> tuple[int, int]:
        index = bisect_right(self._starts, place) - 1
        piece = self._pieces[index]
        if piece.text != self._raw[piece.start : piece.end]:
            return piece.start, piece.end
        start = piece.start + place - self._starts[index]
        return start, start + 1


class WordText(PlainText):
    """A text searched by words; its plain text has the edges of formulas marked.

    Words are numbered from 0 as they are read whole; stop words take a number too, so that phrases keep their
    gaps. Where any word has parts, the text is numbered a second time from far behind, each part by itself.

    Attributes:
        numbers: term -> the numbers of its words; terms are stems where the field is stemmed.
        surfaces: the same for folded, unstemmed words; stop words are in neither.
    """

    def __init__(self, raw: str, *, is_stemmed: bool) -> None:
        super().__init__(raw)
        self.surfaces: dict[str, list[int]] = {}
        self._read(cut_words(self.plain))
        self.numbers = self._stem_surfaces() if is_stemmed else self.surfaces

    def _parse(self, raw: str) -> Iterable[tex.Piece]:
        return tex.parse_words(raw)

    def _read(self, words: Sequence[str]) -> None:
        self._number(map(read_word, words), 0)
        self._number(read_parted(words), len(words) + _BETWEEN_READINGS)

    def _number(self, words: Iterable[str | None], first: int) -> None:
        surfaces = self.surfaces
        for number, word in enumerate(words, first):
            if word is not None:
                surfaces.setdefault(word, []).append(number)

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        return place_words(self.plain)

    @cached_property
    def _parted_places(self) -> list[tuple[int, int]]:
        places: list[tuple[int, int]] = []
        for start, end in self._places:
            parts = split_parts(self.plain[start:end])
            places += [(start + part.start, start + part.end) for part in parts] or [(start, end)]
        return places

    def _stem_surfaces(self) -> dict[str, list[int]]:
        numbers: dict[str, list[int]] = {}
        for surface, found in self.surfaces.items():
            term = stem(surface)
            numbers[term] = sorted(numbers[term] + found) if term in numbers else found
        return numbers

    @cached_property
    def _vocabularies(self) -> list[tuple[list[str], dict[str, list[int]]]]:
        distinct = [self.surfaces] if self.numbers is self.surfaces else [self.surfaces, self.numbers]
        return [(sorted(words), words) for words in distinct]

    def find_beginnings(self, beginning: str) -> Iterator[int]:
        """Yield the numbers of the words that begin so, or whose terms do; some perhaps twice."""
        for ordered, numbers in self._vocabularies:
            for place in range(bisect_left(ordered, beginning), len(ordered)):
                word = ordered[place]
                if not word.startswith(beginning):
                    break
                yield from numbers[word]

    def find_words(self, first: int, last: int) -> tuple[int, int]:
        """Return the raw code points from the first numbered word to the end of the last."""
        before = len(self._places) + _BETWEEN_READINGS
        if first < before:
            return self.find_raw(self._places[first][0], self._places[last][1])
        return self.find_raw(self._parted_places[first - before][0], self._parted_places[last - before][1])


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
        """Return which parts a pattern means under either spelling, () where it means somebody else."""
        return next(filter(None, map(pattern.find_parts, self.spellings)), ())

    @cached_property
    def _name(self) -> tuple[NamePart, ...]:
        return split_name(self.plain)

    def find_parts(self, first: int, last: int) -> tuple[int, int]:
        """Return the raw code points from one part to the end of another."""
        return self.find_raw(self._name[first].start, self._name[last].end)


class AnalysedPaper:
    """A paper with everything conditions look at, each made when first asked for and then kept.

    Pass one along when a paper is held against many queries.
    """

    def __init__(self, paper: Paper) -> None:
        self.paper = paper

    @cached_property
    def title(self) -> WordText:
        """The title's words, stemmed."""
        return WordText(self.paper.title, is_stemmed=True)

    @cached_property
    def abstract(self) -> WordText:
        """The abstract's words, stemmed."""
        return WordText(self.paper.abstract, is_stemmed=True)

    @cached_property
    def comment(self) -> WordText:
        """The comment's words, as they are."""
        return WordText(self.paper.comment, is_stemmed=False)

    @cached_property
    def journal_ref(self) -> WordText:
        """The journal reference's words, as they are."""
        return WordText(self.paper.journal_ref, is_stemmed=False)

    @cached_property
    def report_no(self) -> WordText:
        """The report number's words, as they are."""
        return WordText(self.paper.report_no, is_stemmed=False)

    @cached_property
    def names(self) -> tuple[NameText, ...]:
        """The authors' names, in order."""
        return tuple([NameText(author.name) for author in self.paper.authors])

    @cached_property
    def name_parts(self) -> dict[str, list[int]]:
        """Name part, spelled by `fold_umlauts` -> the indexes of the authors who have it."""
        found: dict[str, list[int]] = {}
        for index, name in enumerate(self.names):
            for part in set(map(fold_umlauts, chain.from_iterable(name.spellings))):
                found.setdefault(part, []).append(index)
        return found

    @cached_property
    def category_names(self) -> dict[str, list[int]]:
        """Every name of every category, in lower case -> the indexes of the categories it names."""
        found: dict[str, list[int]] = {}
        for index, category in enumerate(self.paper.categories):
            for name in taxonomy.names_of(category):
                found.setdefault(name.casefold(), []).append(index)
        return found

    @cached_property
    def archives(self) -> dict[str, list[int]]:
        """Every archive its categories belong to under any of their names -> the categories' indexes."""
        found: dict[str, list[int]] = {}
        for index, category in enumerate(self.paper.categories):
            for archive in {taxonomy.archive_of(name) for name in taxonomy.names_of(category)}:
                found.setdefault(archive, []).append(index)
        return found

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


def analyse(paper: Paper | AnalysedPaper) -> AnalysedPaper:
    """Return the paper ready for matching; one that is ready already comes back as it is."""
    return paper if isinstance(paper, AnalysedPaper) else AnalysedPaper(paper)
