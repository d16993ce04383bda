"""A query as arXiv's index would decide it: the same conditions, with arXiv's rules in place of ours, one by one.

Each rule is a known way in which arXiv's index (arXiv/arxiv-search, `DocumentMapping.json` and the classic API)
tells papers apart otherwise than it is done here. Where a query decides about a paper as arXiv did once a rule is
put in place, that rule is the cause. None of this decides what a saved query matches.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from digest import taxonomy, tex
from digest.query.analysis import AnalysedPaper, NameText
from digest.query.evaluation import compile_condition
from digest.query.names import NamePattern
from digest.query.spreading import spread_condition
from digest.query.tree import And, Condition, Node, Not, Or, Prefix, Shape
from digest.query.words import fold, split_words, stem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from digest.papers import Paper

Rules = frozenset["Rule"]
"""Some of arXiv's rules, put in the place of ours."""


class Rule(StrEnum):
    """A rule of arXiv's index that is another one here.

    `ACCENTS`: titles, abstracts and comments keep their accents, so that o is not ö.
    `TEX`: of TeX only accents are resolved; commands and signs part words and are words.
    `STEMS`: a word's beginning is looked for among stems alone, not among words.
    `NAMES`: names are cut at blanks alone, and a first name asked for is how the whole name begins.
    `SUBMITTER`: who submitted a paper counts among its authors.
    `DOI`: capitals count in a DOI.
    `JOINED`: `all:` looks for its words in all fields joined, submitter, affiliations, category names among them.
    """

    ACCENTS = "accents"
    TEX = "TeX"
    STEMS = "stems"
    NAMES = "names"
    SUBMITTER = "submitter"
    DOI = "DOI"
    JOINED = "joined"


_WORDS: Final = (Prefix.TITLE, Prefix.ABSTRACT, Prefix.COMMENT, Prefix.JOURNAL_REF, Prefix.REPORT_NO)
_STEMMED: Final = (Prefix.TITLE, Prefix.ABSTRACT)
_COMMAND = re.compile(r"\\(?!(?:ss|ae|oe|aa|AE|OE|AA)\b)[A-Za-z]{2,}|\$")
_TEX_SIGNS = re.compile(r"[\\${}^~%]+")
_NAME_SIGNS = str.maketrans("", "", ".,;")


def is_met_by_rules(tree: Node, paper: Paper, rules: Rules, *, assumed: Condition | None = None) -> bool:
    """Tell whether a paper would be meant by a query if these rules of arXiv's were in place of ours.

    Args:
        tree: the query.
        paper: the paper.
        rules: those of arXiv's.
        assumed: a condition that is taken to be met by what arXiv knows and does not hand out; None for none.
    """
    reader = _Reader(paper, rules, assumed)
    return reader.is_met(tree)


class _Reader:
    def __init__(self, paper: Paper, rules: Rules, assumed: Condition | None) -> None:
        self._paper, self._rules, self._assumed = paper, rules, assumed
        self._ready = AnalysedPaper(_rewrite(paper, rules))

    def is_met(self, node: Node) -> bool:
        match node:
            case Condition():
                return node == self._assumed or self._has(node)
            case Not(operand):
                return not self.is_met(operand)
            case And(operands):
                return all(map(self.is_met, operands))
            case Or(operands):
                return any(map(self.is_met, operands))

    def _has(self, condition: Condition) -> bool:
        prefix, rules = condition.prefix, self._rules
        if prefix is Prefix.ALL:
            is_joined = Rule.JOINED in rules and is_in_joined_fields(condition.text, self._paper)
            return is_joined or any(map(self._has, spread_condition(condition)))
        if prefix is Prefix.AUTHOR:
            return self._has_author(condition)
        if prefix is Prefix.DOI and Rule.DOI in rules:
            return condition.text in self._paper.dois
        if prefix in _STEMMED and condition.shape is Shape.BEGINNING and Rule.STEMS in rules:
            return self._has_stem(condition)
        if prefix in _WORDS and Rule.ACCENTS in rules:
            condition = replace(condition, text=_keep_accents(condition.text))
        return compile_condition(condition)(self._ready)

    def _has_author(self, condition: Condition) -> bool:
        names = [author.name for author in self._paper.authors]
        if Rule.SUBMITTER in self._rules:
            names.append(self._paper.submitter)
        pattern = NamePattern.parse(condition.text + ("*" if condition.shape is Shape.BEGINNING else ""))
        if Rule.NAMES in self._rules:
            return any(_has_name(pattern, name) for name in names)
        return any(pattern.find_parts(NameText(name).parts) for name in names)

    def _has_stem(self, condition: Condition) -> bool:
        text = self._ready.title if condition.prefix is Prefix.TITLE else self._ready.abstract
        *others, last = [word.text for word in split_words(condition.text)]
        if Rule.ACCENTS in self._rules:
            last, others = _keep_accents(last), list(map(_keep_accents, others))
        is_begun = any(found.startswith(fold(last)) for found in text.numbers)
        return is_begun and all(stem(fold(word)) in text.numbers for word in others)


def _has_name(pattern: NamePattern, name: str) -> bool:
    folded = fold(tex.to_plain(name)).translate(_NAME_SIGNS)
    parts = folded.split()
    if pattern.last:
        return parts[-len(pattern.last) :] == list(pattern.last) and folded.startswith(" ".join(pattern.given))
    return all(
        any(part.startswith(wanted[:-1]) for part in parts) if wanted.endswith("*") else wanted in parts
        for wanted in pattern.anywhere
    )


def is_in_joined_fields(text: str, paper: Paper) -> bool:
    """Tell whether every word of a text, as it stands between blanks, is in one field or another of a paper."""
    joined = fold(" ".join(_list_fields(paper)))
    words = {*joined.split(), *(word.text for word in split_words(joined))}
    return all(word in words for word in fold(text).split())


def _list_fields(paper: Paper) -> Iterator[str]:
    yield from (tex.to_plain(text) for text in (paper.title, paper.abstract, paper.comment, paper.journal_ref))
    yield from (paper.report_no, paper.submitter, str(paper.id), *paper.dois)
    for author in paper.authors:
        yield from (author.name, *author.affiliations)
    for category in paper.categories:
        yield from (category, taxonomy.CATEGORIES.get(category, ""))


def _rewrite(paper: Paper, rules: Rules) -> Paper:
    """Return the paper with its texts as arXiv's index holds them, as far as these rules say."""
    if not rules & {Rule.TEX, Rule.ACCENTS}:
        return paper

    def write(text: str) -> str:
        raw = _leave_tex(text) if Rule.TEX in rules else text
        return _TEX_SIGNS.sub(" ", _keep_accents(tex.to_plain(raw))) if Rule.ACCENTS in rules else raw

    return replace(
        paper,
        title=write(paper.title),
        abstract=write(paper.abstract),
        comment=write(paper.comment),
        journal_ref=write(paper.journal_ref),
        report_no=write(paper.report_no),
    )


def _leave_tex(raw: str) -> str:
    """Return a text whose TeX commands are words like any, with accents alone resolved."""
    shown, place = [], 0
    for piece in tex.parse_tex(raw):
        written = raw[piece.start : piece.end]
        shown += [raw[place : piece.start], written if _COMMAND.search(written) else piece.text or written]
        place = max(place, piece.end)
    return _TEX_SIGNS.sub(" ", "".join((*shown, raw[place:])))


def _keep_accents(text: str) -> str:
    """Spell each letter that folding would change so that folding leaves it apart from the plain one."""
    return "".join(letter if fold(letter) == letter.lower() else f"q{ord(letter.lower()):x}q" for letter in text)
