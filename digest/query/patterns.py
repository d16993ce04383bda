"""Words and phrases as they are looked for in a text: folded, stemmed where the field is, with gaps.

A query is read twice, as texts are: whole, and its words parted. Either reading may be met by either one of
a text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from digest.query.tree import Shape
from digest.query.words import STOP_WORDS, cut_words, fold_word, read_parted, read_word, stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from digest.query.analysis import WordText
    from digest.query.tree import Condition


class Run(NamedTuple):
    """Words looked for at fixed distances.

    Attributes:
        terms: folded words, or their stems.
        places: how far behind the first of them each stands.
    """

    terms: tuple[str, ...]
    places: tuple[int, ...]

    def stem(self) -> Run:
        """Return the same with the stems of its words."""
        return Run(tuple(map(stem, self.terms)), self.places)

    def is_in(self, numbers: Mapping[str, list[int]]) -> bool:
        """Tell whether a text has them, whose words have these numbers."""
        terms = self.terms
        return terms[0] in numbers if len(terms) == 1 else next(self.find(numbers), None) is not None

    def find(self, numbers: Mapping[str, list[int]]) -> Iterator[int]:
        """Yield the number of the first of them wherever a text has them all."""
        for term in self.terms:
            if term not in numbers:
                return
        others = [(numbers[term], place) for term, place in zip(self.terms[1:], self.places[1:], strict=True)]
        for first in numbers[self.terms[0]]:
            if all(first + place in found for found, place in others):
                yield first


@dataclass(frozen=True, slots=True)
class WordPattern:
    """What a condition looks for in a text of words.

    Attributes:
        clauses: each must be met, by any of its runs: by a word or phrase read whole, or parted.
        beginning: how one more word begins, "" for none; of a stemmed text, its stem may do so too.
    """

    clauses: tuple[tuple[Run, ...], ...]
    beginning: str = ""

    @classmethod
    def compile(cls, condition: Condition, *, is_stemmed: bool) -> WordPattern:
        """Prepare a condition for texts that are stemmed, or are not."""
        text, shape = condition.text, condition.shape
        if shape is Shape.WORD and text.isalnum() and text.isascii() and text.lower() not in STOP_WORDS:  # as most
            run = Run((text.lower(),), (0,))
            return cls(((run.stem() if is_stemmed else run,),))
        words = cut_words(text)
        beginning = fold_word(words.pop()) if shape is Shape.BEGINNING else ""
        phrases = [words] if shape is Shape.PHRASE else [[word] for word in words]
        pattern = cls(tuple(filter(None, map(_read_phrase, phrases))), beginning)
        return pattern.stem() if is_stemmed else pattern

    def stem(self) -> WordPattern:
        """Return the same for texts that are stemmed."""
        return WordPattern(tuple(tuple([run.stem() for run in runs]) for runs in self.clauses), self.beginning)

    @property
    def word(self) -> str:
        """The one term that is all it looks for, as it is for most; "" where it looks for more."""
        if len(self.clauses) != 1 or self.beginning:
            return ""
        terms = [term for run in self.clauses[0] for term in run.terms]
        return terms[0] if len(terms) == 1 else ""

    def is_met(self, text: WordText) -> bool:
        """Tell whether a text has what is looked for."""
        numbers = text.numbers
        for runs in self.clauses:
            if not any(run.is_in(numbers) for run in runs):
                return False
        return not self.beginning or next(text.find_beginnings(self.beginning), None) is not None

    def find(self, text: WordText) -> list[tuple[int, int]]:
        """Return every place that meets it, as raw code points, in order; none that lies within another."""
        if not self.is_met(text):
            return []
        numbers = text.numbers
        found = {
            (first, first + run.places[-1]) for runs in self.clauses for run in runs for first in run.find(numbers)
        }
        if self.beginning:
            found.update((number, number) for number in text.find_beginnings(self.beginning))
        places: list[tuple[int, int]] = []
        for start, end in sorted({text.find_words(*place) for place in found}, key=lambda one: (one[0], -one[1])):
            if not places or end > places[-1][1]:
                places.append((start, end))
        return places


def _read_phrase(words: Sequence[str]) -> tuple[Run, ...]:
    """Return what stands for words side by side: as they are read whole and, where any has parts, parted."""
    readings = (_read_run([read_word(word) for word in words]), _read_run(read_parted(words)))
    return tuple([run for run in readings if run.terms])


def _read_run(words: Sequence[str | None]) -> Run:
    kept = [place for place, word in enumerate(words) if word is not None]
    return Run(tuple([word for word in words if word is not None]), tuple([place - kept[0] for place in kept]))
