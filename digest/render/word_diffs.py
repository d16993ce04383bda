"""What differs between two texts, word by word: what is kept, what is gone, what has come.

Kept and gone pieces joined are the text before, kept and come pieces the text after, letter by letter. Texts of
any size take a bounded time: what is too long to be compared, or shares too little, is gone and come as a whole.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ONE_BY_ONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no blanks between words: each letter counts as one."""

_WORD = rf"(?:(?![{_ONE_BY_ONE}])\w)+"
_TOKEN = re.compile(rf"\s*(?:[{_ONE_BY_ONE}]|{_WORD}(?:[-'’.]{_WORD})*|[^\w\s])|\s+")
"""A word or a sign, with the blanks before it."""

_MOST_TOKENS = 2_000
_MOST_PAIRS = 20_000
"""Of texts beyond it nothing is compared: words of the one, and how often one stands in both, times each other."""

_LEAST_KEPT = 0.25
"""Of the longer text's words at least so many are kept, else it is written anew and reads better whole."""

_SHORTEST_KEPT = 4
"""A word shorter than this alone between two changes belongs to them."""

_KEPT_TEXTS = 1_024


class Part(StrEnum):
    """What became of a piece of text."""

    KEPT = "kept"
    GONE = "gone"
    COME = "come"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of two texts: in both, in the one before only, or in the one after only."""

    part: Part
    text: str


@lru_cache(_KEPT_TEXTS)
def compare_words(before: str, after: str) -> tuple[Piece, ...]:
    """Return the pieces of two texts, in order; of two neighbours what is gone comes first."""
    # A blank before the first word lets it be compared with words that have one.
    return _join(_compare(_TOKEN.findall(f" {before}"), _TOKEN.findall(f" {after}")), " ")


def compare_lists(before: Sequence[str], after: Sequence[str], separator: str = ", ") -> tuple[Piece, ...]:
    """Return the pieces of two lists of names, name by name, `separator` between them."""
    old, new = ([f"{separator}{name}" for name in names] for names in (before, after))
    return _join(_compare(old, new), separator)


def count_words(pieces: Iterable[Piece], part: Part) -> int:
    """Return how many words are in the pieces of one part; signs do not count."""
    return sum(
        any(letter.isalnum() for letter in token)
        for piece in pieces
        if piece.part is part
        for token in _TOKEN.findall(piece.text)
    )


def _compare(before: Sequence[str], after: Sequence[str]) -> list[tuple[Part, list[str]]]:
    """Return runs of tokens by what became of them."""
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    runs: list[tuple[Part, list[str]]] = [(Part.KEPT, list(before[:start]))]
    runs += _match(old, new)
    runs.append((Part.KEPT, list(before[len(before) - end :])))
    folded = _fold_islands([run for run in runs if run[1]])
    kept = sum(len(tokens) for part, tokens in folded if part is Part.KEPT)
    if kept < _LEAST_KEPT * max(len(before), len(after)):
        folded = [(Part.GONE, list(before)), (Part.COME, list(after))]
    return [run for run in folded if run[1]]


def _match(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Part, list[str]]]:
    counts = Counter(new)
    pairs = sum(counts[token] for token in old)
    if max(len(old), len(new)) > _MOST_TOKENS or pairs > _MOST_PAIRS:
        yield Part.GONE, list(old)
        yield Part.COME, list(new)
        return
    for tag, first, last, begin, behind in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield Part.KEPT, list(old[first:last])
        else:
            yield Part.GONE, list(old[first:last])
            yield Part.COME, list(new[begin:behind])


def _fold_islands(runs: list[tuple[Part, list[str]]]) -> list[tuple[Part, list[str]]]:
    """Let a short word alone between two changes be one with them, and neighbours of one part be one run."""
    folded: list[tuple[Part, list[str]]] = []
    gone: list[str] = []
    come: list[str] = []
    for place, (part, tokens) in enumerate(runs):
        following = runs[place + 1][1] if place + 1 < len(runs) else []
        if part is Part.GONE:
            gone += tokens
        elif part is Part.COME:
            come += tokens
        elif _is_island(tokens) and _has_words([*gone, *come]) and _has_words(following):
            gone += tokens
            come += tokens
        else:
            folded += [(Part.GONE, gone), (Part.COME, come), (Part.KEPT, tokens)]
            gone, come = [], []
    folded += [(Part.GONE, gone), (Part.COME, come)]
    return [run for run in folded if run[1]]


def _is_island(tokens: list[str]) -> bool:
    return len(tokens) == 1 and len(tokens[0].strip()) < _SHORTEST_KEPT


def _has_words(tokens: Iterable[str]) -> bool:
    return any(letter.isalnum() for token in tokens for letter in token)


def _join(runs: list[tuple[Part, list[str]]], lead: str) -> tuple[Piece, ...]:
    """Make pieces of runs, and take back the `lead` that was put before the first token of both texts."""
    texts = [(part, "".join(tokens)) for part, tokens in runs]
    if not texts:
        return ()
    (part, text), *rest = texts
    text = text[len(lead) :]
    if part is not Part.KEPT and rest:
        second, first_kept = rest[0]
        rest[0] = second, first_kept[len(lead) :]
        # Where one text only begins with it, what separates it from the other's beginning stands behind it.
        text += lead if second is Part.KEPT else ""
    return tuple(Piece(part, text) for part, text in ((part, text), *rest) if text)
