"""Words as arXiv's index sees them: cut, lower-cased, stripped of accents, stemmed.

The steps follow the `english` and `standard` analysers arXiv searches with (arXiv/arxiv-search,
`DocumentMapping.json`): words are cut as in Unicode Standard Annex 29, a possessive 's goes, 33
words are too common to count but keep their place in a phrase, and titles and abstracts are stemmed
after Porter. Two steps are ours: accents are folded, so that `Schrodinger` finds `Schrödinger`, and
Greek letters are spelled by their names.

A text is read twice, since words are beside formulas: whole, and with its words parted at each `_`,
at raised and lowered signs and around Greek letters. So `ΛCDM` is `lambdacdm`, and `lambda` before
`cdm`.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import Stemmer  # type: ignore[import-not-found, unused-ignore]  # PyStemmer ships no types

from digest.tex.reader import ALONE, EDGE, GREEK, LEVELS, STAND_INS

_STOP_WORDS = """
a an and are as at be but by for if in into is it no not of on or such that the their then there
these they this to was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())

_SIGNS = dict(zip(sorted(STOP_WORDS), "ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&()", strict=True))
PLACE_HOLDERS = frozenset(_SIGNS.values())
"""What stop words are compared by: one sign each, which no word has. Only `=the` finds one."""

_IDEOGRAPHS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
"""Scripts written without blanks: each character is a word."""

_FORMATS = "\u00ad\u200c\u200d\u2060\ufeff"
"""Invisible characters (soft hyphen, joiners) that neither part words nor count."""

_BLOCKS_WITH_MARKS = (
    (0x300, 0x3100),
    (0xA000, 0xAC00),
    (0xFB00, 0x12000),
    (0x16A00, 0x17000),
    (0x1BC00, 0x1E960),
)
"""The parts of Unicode that hold combining marks, ideographs and Hangul left out."""

_ASCII_WORD = re.compile(
    # What follows a _ is no new start: else each of many in a row would search through all of them.
    r"""
    (?<!_)(?!_+(?!\w))
    \w+
    (?:
        (?:
            (?<![\d_])[.'](?=[A-Za-z])      # e.g, don't
            | (?<=\d)[.,;'](?=\d)           # 1,2-dichloroethane, 3.14
        )
        \w+
    )*
    """,
    re.ASCII | re.VERBOSE,
)

_JOINING = ".,;'’·"
"""The signs that may be within a word."""

_PARTING = f"{EDGE}·"
"""Those that part it if it is not read whole; units are written with the second: `V·s`."""

_POSSESSIVE = re.compile(r"(?:['’]s){1,4}\Z")
_WRITTEN_POSSESSIVE = re.compile(rf"(?:['’][sS][{_FORMATS}]*){{1,4}}\Z")
_NAMES_OF_LETTERS = str.maketrans(
    GREEK | {letter: GREEK[meant] for letter, meant in STAND_INS.items()}
)
_NAMES = frozenset(GREEK.values())
_LONG = "|".join(name for name in GREEK.values() if len(name) >= len("zeta"))
_SHORT = "|".join(name for name in GREEK.values() if len(name) < len("zeta"))
_NAMES_FIRST = re.compile(rf"({_LONG})(.+)|({_SHORT})([^aeiouy]+)")
_NAMES_LAST = re.compile(rf"(.+)({_LONG})|([^aeiouy]+)({_SHORT})")
"""A word that begins or ends with a Greek letter's name.

With a short name it is parted only if no vowel is left: `musr` is, `music` is not.
"""

_WITHOUT_FORMATS = str.maketrans("", "", _FORMATS)
_LETTERS_WITHOUT_PARTS = str.maketrans(
    dict(zip("øłđðħ\u0131ŧ’", "olddhit'", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"}
)
"""Letters that Unicode does not take apart into a letter and an accent."""

_SHORTEST_STEMMED = 3
"""Porter's published program leaves shorter words alone."""

_AMENDED = re.compile(r"(log|bl)(?:[iy](?:ed|ing)?s?|ies)\Z")
"""How a word ends that has -logi or -bli after Porter's first step.

His published program, and so arXiv's index, makes these -log and -ble; PyStemmer does not.
"""

_MEASURE = re.compile(r"[aeiou][^aeiou]|(?:[^aeiouy]|^y)y[^aeiou]")
"""A vowel with a consonant after it: what Porter asks of the letters before such an ending."""


def _find_mark_ranges() -> Iterator[str]:
    for first, end in _BLOCKS_WITH_MARKS:
        marks = [code for code in range(first, end) if _is_mark(chr(code))]
        # Marks in a row have numbers that grow as their places do.
        runs = itertools.groupby(enumerate(marks), lambda numbered: numbered[1] - numbered[0])
        for _, run in runs:
            signs = [chr(code) for _, code in run]
            yield f"{signs[0]}-{signs[-1]}"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


@cache
def list_marks() -> str:
    """Return combining marks and invisible characters, to be put between brackets in a pattern.

    Wherever a word may be written with accents apart, these go on with it; they never begin one.
    """
    return "".join(_find_mark_ranges()) + _FORMATS


@cache
def _word_pattern() -> re.Pattern[str]:
    """Return the pattern of a word in any script; compiled when the first such text comes."""
    marks = list_marks()
    letter = rf"[^\W{_IDEOGRAPHS}]"
    run = rf"{letter}+(?:[{marks}]+{letter}*)*"
    before_letter = rf"(?<![\d_{_FORMATS}])[.'’·](?=(?![\d_]){letter})"
    before_figure = r"(?<=\d)[.,;'’](?=\d)"
    join = f"(?:{before_letter}|{before_figure})"
    return re.compile(rf"[{_IDEOGRAPHS}][{marks}]*|(?<!_)(?!_+(?!{letter})){run}(?:{join}{run})*")


_porter = Stemmer.Stemmer("porter")
_porter.maxCacheSize = 0  # `stem` keeps the cache, bounded and shared


class Word(NamedTuple):
    """One word of a text, or part of a word, at code points `start` to `end` (exclusive).

    Words are lower-cased, accents kept; parts are folded.
    """

    text: str
    start: int
    end: int


def split_words(text: str) -> Iterator[Word]:
    """Cut a plain text into its words, in order; stop words too, because they hold a place."""
    for found in _find_pattern(text).finditer(text):
        yield Word(spell_word(found[0]), found.start(), found.end())


def place_words(text: str) -> list[tuple[int, int]]:
    """Return where the words of a plain text are, as code points (end exclusive)."""
    return [found.span() for found in _find_pattern(text).finditer(text)]


def cut_words(text: str) -> list[str]:
    """Return the words of a plain text as written: those `split_words` yields, not yet spelled."""
    found: list[str] = _find_pattern(text).findall(text)
    return found


def _find_pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _word_pattern()


@lru_cache(maxsize=2**14)
def spell_word(raw: str) -> str:
    """Return a word as written in its one spelling: in lower case, without a possessive 's."""
    word = raw.lower()
    if not word.isascii():
        word = unicodedata.normalize("NFC", word.translate(_WITHOUT_FORMATS))
    return _POSSESSIVE.sub("", word) if word.endswith("s") else word


@lru_cache(maxsize=2**14)
def read_word(written: str) -> str:
    """Return a word as it is compared if it is read whole, not yet stemmed; its sign if too common.

    No stem leaves a part out: `beta_s` is no plural, so it ends in a sign that Porter leaves alone.
    """
    word = spell_word(written)
    if is_stop_word(word):
        return _SIGNS[word.strip(EDGE)]
    if word.isascii() and EDGE not in word:  # as most are
        return word
    parts = part_word(written)
    if not parts:
        return fold_word(written)
    whole = "".join(parts) if set(word).isdisjoint(_JOINING) else fold_word(written)
    last = parts[-1]
    is_left_out = last.isalpha() and len(stem(whole)) <= len(whole.removesuffix(last))
    return whole + EDGE if is_left_out else whole


def part_word(written: str) -> tuple[str, ...]:
    """Return a word's parts as they are compared, not yet stemmed; () if it is not parted."""
    return _part_word(written) if _may_have_parts(written) else ()


def _may_have_parts(written: str) -> bool:
    return EDGE in written or not written.isascii()


@lru_cache(maxsize=2**14)
def _part_word(written: str) -> tuple[str, ...]:
    return tuple([part.text for part in split_parts(written)])


def read_parted(words: Sequence[str]) -> list[str]:
    """Return words as they are compared if they are parted; [] if none has parts."""
    parted = list(map(part_word, words))
    if not any(parted):
        return []
    reading: list[str] = []
    for word, parts in zip(words, parted, strict=True):
        reading += parts or (read_word(word),)
    return reading


def read_named(words: Sequence[str]) -> list[str]:
    """Return a query's words parted from names of Greek letters; [] if none has one.

    `lambdacdm` may be `Λ-CDM`.
    """
    named: list[str] = []
    for word in words:
        named += part_names(fold_word(word))
    return list(map(read_word, named)) if len(named) > len(words) else []


def part_names(word: str) -> list[str]:
    """Return a word parted from the names of Greek letters that it begins or ends with."""
    if word in _NAMES:
        return [word]
    found = _NAMES_FIRST.fullmatch(word) or _NAMES_LAST.fullmatch(word)
    if found is None:
        return [word]
    parts: list[str] = []
    for run in filter(None, found.groups()):
        parts += part_names(run)
    return parts


def split_parts(written: str) -> Sequence[Word]:
    """Cut a word into its parts, each folded, with its place in the word; () if it is not parted.

    None of them is a stop word: the `a` of `x_a` counts.
    """
    if not _may_have_parts(written):  # as most have none
        return ()
    parts: list[Word] = []
    for start, end in _place_parts(written):
        text = fold_word(written[start:end])
        if text:
            parts.append(Word(text, start, end))
    return parts if len(parts) > 1 else ()


def _place_parts(written: str) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a word begin and end, signs that only joined them left out."""
    possessive = _WRITTEN_POSSESSIVE.search(written)
    last = possessive.start() if possessive else len(written)
    start = 0
    level = EDGE
    for place, character in enumerate(f"{written[:last]}{EDGE}"):
        here = EDGE if character in _PARTING else LEVELS[character]
        is_same_part = here == level and here != ALONE
        if is_same_part or _goes_on(character):
            continue
        if level != EDGE:
            part = written[start:place]
            end = start + len(part.rstrip(_JOINING))
            yield end - len(part.strip(_JOINING)), end
        start = place
        level = here


def _goes_on(character: str) -> bool:
    """Tell whether a character goes on with the one before it, as an accent does."""
    if character.isascii():
        return False
    return character in _FORMATS or _is_mark(character)


def fold_word(written: str) -> str:
    """Return a word folded, Greek letters spelled by their names, without what only parts it."""
    word = fold(spell_word(written)).replace(EDGE, "")
    return word if word.isascii() else word.translate(_NAMES_OF_LETTERS)


def is_stop_word(word: str) -> bool:
    """Tell whether a lower-case word is among the 33 that only hold a place."""
    return word.strip(EDGE) in STOP_WORDS


def fold(text: str) -> str:
    """Return the text in lower case, compatibility forms resolved, without accents."""
    if text.isascii():
        return text.lower()
    return _fold_accents(text)


@lru_cache(maxsize=2**14)
def _fold_accents(text: str) -> str:
    lower = unicodedata.normalize("NFKD", text).casefold()
    decomposed = unicodedata.normalize("NFKD", lower)
    letters = "".join([char for char in decomposed if not unicodedata.combining(char)])
    return letters.translate(_LETTERS_WITHOUT_PARTS).translate(_WITHOUT_FORMATS)


@lru_cache(maxsize=2**15)  # as many as a day's papers have
def stem(word: str) -> str:
    """Return Porter's stem of a folded word: `generative` and `generation` share `gener`."""
    if len(word) < _SHORTEST_STEMMED:
        return word
    found = str(_porter.stemWord(word))
    ending = _AMENDED.search(word) if found.endswith(("logi", "bli")) else None
    if ending and _MEASURE.search(word, 0, ending.start()):
        return str(_porter.stemWord(f"{word[: ending.end(1)]}e"))  # -loge becomes -log as well
    return found
