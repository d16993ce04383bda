"""Words and phrases as they are looked for in a text: folded, stemmed where the field is, with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.query.tree import Shape
from digest.query.words import STOP_WORDS, cut_words, fold, spell_word, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.query.analysis import WordText
    from digest.query.tree import Condition


@dataclass(frozen=True, slots=True)
class WordPattern:
    """What a condition looks for in a text of words.

    Attributes:
        terms: folded words, or their stems; all must occur.
        places: of a phrase, how far behind its first word each term stands; () where any place will do.
        beginning: how one more word begins, "" for none; of a stemmed text, its stem may do so too.
    """

    terms: tuple[str, ...]
    places: tuple[int, ...] = ()
    beginning: str = ""

    @classmethod
    def compile(cls, condition: Condition, *, is_stemmed: bool) -> WordPattern:
        """Prepare a condition for texts that are stemmed, or are not."""
        text = condition.text
        is_word = text.isalnum() and text.isascii()
        words = [text.lower()] if is_word else list(map(spell_word, cut_words(text)))
        if is_word and condition.shape is Shape.WORD and words[0] not in STOP_WORDS:  # as most are
            return cls((stem(words[0]),) if is_stemmed else (words[0],))
        beginning = fold(words.pop()) if condition.shape is Shape.BEGINNING else ""
        kept = [number for number, word in enumerate(words) if word not in STOP_WORDS]
        folded = [fold(words[number]) for number in kept]
        is_phrase = condition.shape is Shape.PHRASE and len(kept) > 1
        return cls(
            terms=tuple(map(stem, folded)) if is_stemmed else tuple(folded),
            places=tuple([number - kept[0] for number in kept]) if is_phrase else (),
            beginning=beginning,
        )

    def is_met(self, text: WordText) -> bool:
        """Tell whether a text has what is looked for."""
        numbers = text.numbers
        for term in self.terms:
            if term not in numbers:
                return False
        if self.places:
            return next(self._find_phrases(text), None) is not None
        return not self.beginning or next(text.find_beginnings(self.beginning), None) is not None

    def find(self, text: WordText) -> list[tuple[int, int]]:
        """Return the numbers of the first and last word of every place that meets it, in order."""
        if not self.is_met(text):
            return []
        if self.places:
            length = self.places[-1]
            return [(first, first + length) for first in self._find_phrases(text)]
        found = {number for term in self.terms for number in text.numbers[term]}
        if self.beginning:
            found.update(text.find_beginnings(self.beginning))
        return [(number, number) for number in sorted(found)]

    def _find_phrases(self, text: WordText) -> Iterator[int]:
        others = [(text.numbers[term], place) for term, place in zip(self.terms[1:], self.places[1:], strict=True)]
        for first in text.numbers[self.terms[0]]:
            if all(first + place in numbers for numbers, place in others):
                yield first
