"""People's names: cut into their parts, and compared as arXiv's author search does.

A name's parts are its words in lower case without accents; hyphens and apostrophes hold together, dots
and commas part (`J.-P. Serre` → `j-p`, `serre`). Several words must all be parts of one name, in any
order; `Last, F` compares the last name and how the first ones begin.

An e that only spells an umlaut doesn't count: Mueller, Müller and Muller are one. See `fold_umlauts`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from digest.query.words import fold, list_marks

if TYPE_CHECKING:
    from collections.abc import Sequence

_HYPHENS = "-\u2010\u2011\u2012\u2013"
_APOSTROPHES = "'’`\u02bc\u00b4"
_ONE_SPELLING = str.maketrans(dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_APOSTROPHES, "'"))
"""Before a name is cut: some apostrophes are letters to Unicode, but none begins or ends a part."""


@cache
def _part_pattern(ending: str = "") -> re.Pattern[str]:
    """Return the pattern of one part of a name, and what may stand behind it."""
    run = rf"[\w{list_marks()}]+"
    return re.compile(rf"(?=\w){run}(?:(?:\.?[{_HYPHENS}]|[{_APOSTROPHES}]){run})*{ending}")


_ASCII_PART = re.compile(r"\w+(?:(?:\.?-|')\w+)*", re.ASCII)
"""The same for names in ASCII, which most are."""

_UMLAUTS = re.compile(r"(?<![aeiouqxy])([aou])e(?!l\b)(?=[bcdfghjklmnpqrstuvwxz])")

_EVERY_UMLAUT = re.compile(r"([ao]|(?<![aeiouqy])u)e")
_DOUBLED = re.compile(r"(a)[ao]|(o)o")

_WRITTEN_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Ø": "Oe"}
)

GENERATIONS = frozenset(("jr", "sr", "ii", "iii", "iv"))
"""What may stand behind a last name without being one."""


def is_generation(word: str) -> bool:
    """Tell whether a word stands behind a last name without being one: `Jr.`, `III`."""
    return fold(word.strip(".")) in GENERATIONS


@dataclass(frozen=True, slots=True)
class NamePart:
    """One part of a name: folded, at code points `start` to `end` (exclusive) of the plain name."""

    text: str
    start: int
    end: int


def split_name(name: str) -> tuple[NamePart, ...]:
    """Cut a plain name into its parts, in order."""
    return tuple(
        NamePart(fold(match[0].replace(".", "")), match.start(), match.end())
        for match in _part_pattern().finditer(name.translate(_ONE_SPELLING))
    )


def list_parts(name: str) -> list[str]:
    """Return the folded parts of a plain name, in order: those of `split_name`, without their places."""
    found = (_ASCII_PART if name.isascii() else _part_pattern()).findall(name.translate(_ONE_SPELLING))
    return [fold(part.replace(".", "")) for part in found]


def list_readings(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the folded parts of a plain name, and beside them those with its umlauts written out."""
    return tuple(dict.fromkeys((tuple(list_parts(name)), tuple(list_parts(write_out(name))))))


@lru_cache(maxsize=2**17)
def fold_umlauts(part: str) -> str:
    """Return a folded part of a name with ae, oe and ue as a, o and u: the one spelling of ä, ö and ü.

    arXiv's index does so wherever they stand, and makes Xue one with Xu, Michael one with Michal. Here a
    consonant or u must follow (not `Xue`), no vowel, q, x or y stand before (not `Bauer`), and a last -el stays.
    """
    return _UMLAUTS.sub(r"\1", part)


def write_out(name: str) -> str:
    """Return a name with its ä, ö, ü and ø written out: who is printed so is called so under both spellings."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_WRITTEN_OUT)


def fold_as_arxiv(part: str) -> str:
    """Return a folded part as arXiv's index spells it: Germans' ae, oe and ue, Scandinavians' aa, ao and oo."""
    return _DOUBLED.sub(r"\1\2", _EVERY_UMLAUT.sub(r"\1", part))


def list_spellings(part: str) -> tuple[str, ...]:
    """Return a folded part, and beside it how `fold_umlauts` spells it: a beginning is looked for in both."""
    return tuple(dict.fromkeys((part, fold_umlauts(part))))


def spell_name(text: str) -> str:
    """Return a name as written in a query in its one spelling, `""` where no part is left.

    Lower case with accents, parts separated by blanks; `smith_j` and `Smith,J` become `smith, j`.
    """
    last, comma, given = text.replace("_", " ").partition(",")
    last_parts, given_parts = spell_parts(last), spell_parts(given.partition(",")[0])
    if not comma and "_" in text and len(last_parts) > 1 and len(last_parts[-1]) == 1:
        given_parts = [last_parts.pop()]
    both = (" ".join(last_parts), " ".join(given_parts))
    return ", ".join(both) if all(both) else "".join(both)


def spell_parts(text: str) -> list[str]:
    """Return a name's parts in lower case with accents, in order; one may end with a `*`."""
    found = _part_pattern(r"\*?").finditer(text.lower().translate(_ONE_SPELLING))
    return [unicodedata.normalize("NFC", match[0].replace(".", "")) for match in found]


@dataclass(frozen=True, slots=True)
class NamePattern:
    """What a query says of one author, from the spelling `spell_name` gives.

    Attributes:
        anywhere: parts the name must have, in any order; a trailing `*` stands for any ending. Whole parts are
            spelled by `fold_umlauts`, here as in the rest.
        last: parts the last name must end with.
        given: how the first names must begin, one after the other: an initial, or a whole name.
    """

    anywhere: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @classmethod
    def parse(cls, spelling: str) -> NamePattern:
        """Read a name as `spell_name` writes it."""
        last, comma, given = spelling.partition(",")
        parts = tuple(map(_read_part, last.split()))
        return cls(last=parts, given=tuple(map(_read_part, given.split()))) if comma else cls(anywhere=parts)

    def find_parts(self, name: Sequence[str]) -> tuple[int, ...]:
        """Return which parts of a folded name are meant, () where the name is another one."""
        return self._find_last_and_given(name) if self.last else self._find_anywhere(name)

    def _find_anywhere(self, name: Sequence[str]) -> tuple[int, ...]:
        found: set[int] = set()
        for wanted in self.anywhere:
            met = [index for index, part in enumerate(name) if _meets(part, wanted)]
            if not met:
                return ()
            found.update(met)
        return tuple(sorted(found))

    def _find_last_and_given(self, name: Sequence[str]) -> tuple[int, ...]:
        end = len(name)
        while end > 1 and name[end - 1] in GENERATIONS:
            end -= 1
        start = end - len(self.last)
        if start < len(self.given) or not all(map(_meets, name[start:end], self.last)):
            return ()
        if not all(map(_begins, name, self.given)):
            return ()
        return (*range(len(self.given)), *range(start, end))


def _read_part(text: str) -> str:
    part = fold(text)
    return part if part.endswith("*") else fold_umlauts(part)


def _meets(part: str, wanted: str) -> bool:
    if wanted.endswith("*"):
        begun = list_spellings(wanted[:-1])
        return any(spelling.startswith(begun) for spelling in list_spellings(part))
    return fold_umlauts(part) == wanted


def _begins(part: str, wanted: str) -> bool:
    return part.startswith(wanted) if len(wanted) == 1 else _meets(part, wanted)
