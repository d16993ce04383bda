"""A query as arXiv's index would decide it: the same conditions, with arXiv's rules in place of ours, one by one.

Each rule is a known way in which arXiv's index (arXiv/arxiv-search, `DocumentMapping.json` and the classic API)
tells papers apart otherwise than it is done here. Where a query decides about a paper as arXiv did once a rule is
put in place, that rule is the cause. None of this decides what a saved query matches.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from digest import tex
from digest.query.evaluation import AnalysedPaper, NameText, WordText, compile_condition
from digest.query.names import NamePattern, fold_as_arxiv
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape, spread_condition, walk_conditions
from digest.query.words import fold, read_word, spell_word, split_words
from digest.tex.parting import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from digest.model.papers import Paper

Rules = frozenset["Rule"]
"""Some of arXiv's rules, put in the place of ours."""


class Rule(StrEnum):
    """A rule of arXiv's index that is another one here.

    `TEX`: TeX that is left in a text is text like any: its signs part words, its commands are words.
    `ACCENTS`: titles, abstracts and comments keep their accents, so that o is not ö.
    `COLONS`: letters on both sides of a colon are one word, as in I:C (Unicode Standard Annex 29 until 2023).
    `STEMS`: a word's beginning is searched for among stems alone, not among words.
    `NAMES`: names are cut at blanks alone, Xue is Xu and Moore is More, and a first name asked for is how the
        whole name begins.
    `UMLAUTS`: Müller is Muller, but not Mueller (the stand-in alone is so; arXiv folds ue as well).
    `DOI`: capitals count in a DOI.
    """

    TEX = "TeX"
    ACCENTS = "accents"
    COLONS = "colons"
    STEMS = "beginnings of words"
    NAMES = "names"
    UMLAUTS = "umlauts"
    DOI = "DOI"


_WORDS: Final = (Prefix.TITLE, Prefix.ABSTRACT, Prefix.COMMENT, Prefix.JOURNAL_REF, Prefix.REPORT_NO)
_STEMMED: Final = (Prefix.TITLE, Prefix.ABSTRACT)
_CONCERNED: Final = {
    Rule.TEX: frozenset((*_WORDS, Prefix.AUTHOR, Prefix.ALL)),
    Rule.ACCENTS: frozenset((*_WORDS, Prefix.ALL)),
    Rule.COLONS: frozenset((*_WORDS, Prefix.ALL)),
    Rule.STEMS: frozenset((*_STEMMED, Prefix.ALL)),
    Rule.NAMES: frozenset((Prefix.AUTHOR, Prefix.ALL)),
    Rule.UMLAUTS: frozenset((Prefix.AUTHOR, Prefix.ALL)),
    Rule.DOI: frozenset((Prefix.DOI, Prefix.ALL)),
}
"""The conditions that each rule may decide otherwise."""

_OF_WORDS: Final = frozenset((Rule.TEX, Rule.ACCENTS, Rule.COLONS, Rule.STEMS))
_LONE_LINE: Final = re.compile(r"(?<!\w)_(?!\w)")
_COLON: Final = len("a:b")
_NAME_SIGNS = str.maketrans("", "", ".,;")


def list_rules(tree: Node) -> tuple[Rule, ...]:
    """Return the rules that can make a query decide otherwise."""
    conditions = list(walk_conditions(tree))
    concerned = {condition.prefix for condition in conditions}
    has_beginning = any(condition.shape is Shape.BEGINNING for condition in conditions)
    return tuple(
        rule
        for rule, prefixes in _CONCERNED.items()
        if prefixes & concerned and (rule is not Rule.STEMS or has_beginning)
    )


def is_met_by_rules(tree: Node, paper: Paper, rules: Rules) -> bool:
    """Tell whether a paper would be meant by a query if these rules of arXiv's were in place of ours."""
    return _Reader(paper, rules).is_met(tree)


class _IndexedText(WordText):
    """A text of words as arXiv's index holds it, as far as some rules say."""

    def __init__(self, raw: str, rules: Rules, *, is_stemmed: bool) -> None:
        self._rules = rules
        self._is_by_stems = is_stemmed and Rule.STEMS in rules
        super().__init__(raw, is_stemmed=is_stemmed)

    def _parse(self, raw: str) -> Iterable[tex.TexPiece]:
        if Rule.TEX not in self._rules:
            return super()._parse(raw)
        held = _LONE_LINE.sub("_0", raw)  # a word to arXiv that holds a place, as in CO$_{2}$
        return (tex.TexPiece(0, len(held), tex.PieceKind.TEXT, held),)

    def _read(self, words: Sequence[str]) -> None:
        cut = _join_at_colons(self.plain) if Rule.COLONS in self._rules else map(spell_word, words)
        spelled = [_spell(word, self._rules) for word in cut]
        if Rule.TEX in self._rules:
            self._number((word if "_" in word else read_word(word) for word in spelled), 0)
        else:
            super()._read(spelled)

    def find_beginnings(self, beginning: str) -> Iterator[int]:
        """Yield the numbers of the words that begin so, or whose stems do; where rules say so, of stems alone."""
        if not self._is_by_stems:
            yield from super().find_beginnings(beginning)
            return
        for term, numbers in self.numbers.items():
            if term.startswith(beginning):
                yield from numbers


def _join_at_colons(text: str) -> Iterator[str]:
    joined = ""
    for word, following in pairwise((*split_words(text), None)):
        if word is None:
            break
        joined += word.text
        between = text[word.end - 1 : following.start + 1] if following else ""
        if len(between) == _COLON and between[1] == ":" and between[0].isalpha() and between[2].isalpha():
            joined += ":"
        else:
            yield joined
            joined = ""


class _IndexedPaper(AnalysedPaper):
    """A paper whose texts are as arXiv's index holds them."""

    def __init__(self, paper: Paper, rules: Rules) -> None:
        super().__init__(paper)
        self._rules = rules

    @cached_property
    def title(self) -> WordText:
        return _IndexedText(self.paper.title, self._rules, is_stemmed=True)

    @cached_property
    def abstract(self) -> WordText:
        return _IndexedText(self.paper.abstract, self._rules, is_stemmed=True)

    @cached_property
    def comment(self) -> WordText:
        return _IndexedText(self.paper.comment, self._rules, is_stemmed=False)

    @cached_property
    def journal_ref(self) -> WordText:
        return _IndexedText(self.paper.journal_ref, self._rules, is_stemmed=False)

    @cached_property
    def report_no(self) -> WordText:
        return _IndexedText(self.paper.report_no, self._rules, is_stemmed=False)


class _Reader:
    """Decides a query about one paper by some rules."""

    def __init__(self, paper: Paper, rules: Rules) -> None:
        self._paper, self._rules = paper, rules
        self._ready = _IndexedPaper(paper, rules) if rules & _OF_WORDS else AnalysedPaper(paper)

    def is_met(self, node: Node) -> bool:
        match node:
            case Condition():
                return self._has(node)
            case Not(operand):
                return not self.is_met(operand)
            case And(operands):
                return all(map(self.is_met, operands))
            case Or(operands):
                return any(map(self.is_met, operands))

    def _has(self, condition: Condition) -> bool:
        prefix, rules = condition.prefix, self._rules
        if prefix is Prefix.ALL:
            return any(map(self._has, spread_condition(condition)))
        if prefix is Prefix.AUTHOR:
            return self._has_author(condition)
        if prefix is Prefix.DOI and Rule.DOI in rules:
            return condition.text in self._paper.dois
        if prefix in _WORDS and Rule.ACCENTS in rules:
            condition = replace(condition, text=_spell(condition.text, rules))
        return compile_condition(condition)(self._ready)

    def _has_author(self, condition: Condition) -> bool:
        names = [author.name for author in self._paper.authors]
        pattern = NamePattern.parse(condition.text + ("*" if condition.shape is Shape.BEGINNING else ""))
        if {Rule.NAMES, Rule.UMLAUTS} & self._rules:
            plain = names if Rule.TEX in self._rules else map(tex.to_plain, names)
            spell = str if Rule.UMLAUTS in self._rules else fold_as_arxiv
            return any(_has_name(pattern, name, spell) for name in plain)
        return any(pattern.find_parts(NameText(name).parts) for name in names)


def _spell(text: str, rules: Rules) -> str:
    """Return a text; where accents count, with what folding would change spelled so that it stays apart."""
    if Rule.ACCENTS not in rules:
        return text
    return "".join(letter if _is_kept(letter) else f"q{ord(letter):x}q" for letter in text.lower())


def _is_kept(letter: str) -> bool:
    return fold(letter) == letter or bool(LEVELS[letter])


def _has_name(pattern: NamePattern, name: str, spell: Callable[[str], str]) -> bool:
    folded = spell(fold(name).translate(_NAME_SIGNS))
    parts = folded.split()
    anywhere, last, given = (list(map(spell, part)) for part in (pattern.anywhere, pattern.last, pattern.given))
    if last:
        return parts[-len(last) :] == last and folded.startswith(" ".join(given))
    return all(
        any(part.startswith(wanted[:-1]) for part in parts) if wanted.endswith("*") else wanted in parts
        for wanted in anywhere
    )
