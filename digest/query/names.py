"""People's names: cut into their parts, and compared as arXiv's author search does.

A name's parts are its words in lower case without accents; hyphens and apostrophes hold together, dots
and commas part (`J.-P. Serre` → `j-p`, `serre`). Several words must all be parts of one name, in any
order; `Last, F` compares the last name and how the first ones begin.

An e that only spells an umlaut doesn't count: Mueller, Müller and Muller are one. See `fold_umlauts`.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, Self

from digest.query.words import fold, list_marks

_HYPHENS = "-\u2010\u2011\u2012\u2013"
_APOSTROPHES = "'’`\u02bc\u00b4"
_ONE_SPELLING = str.maketrans(dict.fromkeys(_HYPHENS, "-") | dict.fromkeys(_APOSTROPHES, "'"))
"""Before a name is cut: some apostrophes are letters to Unicode, but none begins or ends a part."""

_UMLAUTS = re.compile(r"(?<![aeiouqxy])([aou])e(?![lz]\b)(?=[bcdfghjklmnpqrstuvwxz])")

_EVERY_UMLAUT = re.compile(r"([ao]|(?<![aeiouqy])u)e")
_DOUBLED = re.compile(r"(a)[ao]|(o)o")

_WRITTEN_OUT = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "Ø": "Oe"}
)

GENERATIONS = frozenset(("jr", "sr", "ii", "iii", "iv"))
"""What may follow a last name without being one."""

PARTICLES = frozenset(
    "af av da das de dei del della den der des di do dos du het la las le lo los "  # noqa: SIM905  # thirty quoted words read worse
    "ten ter van vande vanden vander vom von zu zum zur".split()
)
"""What begins a last name of several words; `ben`, `bin` and `al` do not, being given names as often."""

_FIRST_IDEOGRAPH = "\u2e80"
"""From here on one sign is a whole name, not the first letter of one."""

SEVERAL = re.compile(
    r"(?i);|\s(?:and|&)\s|\bet\.? al\b|\b[/+|&]\b|(?:,(?!\s*(?:[js]r|i+v?)\b)\s*\w[^,]*){2,}"
)
"""What may be between two names or after one, and within none."""

_VOWELS = frozenset("aeiouyäöü")
_MOST_INITIALS = 3
_MOST_TIED = 5


@cache
def _part_pattern(ending: str = "") -> re.Pattern[str]:
    run = rf"[\w{list_marks()}]+"
    return re.compile(rf"(?=\w){run}(?:(?:\.?[{_HYPHENS}]|[{_APOSTROPHES}]){run})*{ending}")


def is_generation(word: str) -> bool:
    """Whether a word may follow a last name without being one: `Jr.`, `III`."""
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
    return [part.text for part in split_name(name)]


def list_readings(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the folded parts of a plain name, and beside them those with its umlauts written out."""
    return tuple(
        dict.fromkeys(
            tuple(list_parts(spelling)) for spelling in dict.fromkeys((name, write_out(name)))
        )
    )


@lru_cache(maxsize=2**14)
def fold_umlauts(part: str) -> str:
    """Return a folded part of a name with ae, oe and ue as a, o and u: the one spelling of ä, ö and ü.

    arXiv's index does so in any place, and makes Xue one with Xu, Michael one with Michal. Here a
    consonant or u must follow (not `Xue`), no vowel, q, x or y precede (not `Bauer`), and a last -el or
    -ez stays (`Páez`).
    """
    return _UMLAUTS.sub(r"\1", part)


def write_out(name: str) -> str:
    """Return a name with its ä, ö, ü and ø written out: who is printed so is called so under both spellings."""
    return name if name.isascii() else unicodedata.normalize("NFC", name).translate(_WRITTEN_OUT)


def fold_as_arxiv(part: str) -> str:
    """Return a folded part as arXiv's index spells it: Germans' ae, oe and ue, Scandinavians' aa, ao and oo."""
    return _DOUBLED.sub(r"\1\2", _EVERY_UMLAUT.sub(r"\1", part))


def list_spellings(part: str) -> tuple[str, ...]:
    """Return a folded part, and beside it how `fold_umlauts` spells it: a beginning is searched for in both."""
    return tuple(dict.fromkeys((part, fold_umlauts(part))))


def spell_name(text: str) -> str:
    """Return a name as written in a query in its one spelling, `""` if no part is left.

    Lower case with accents, parts separated by blanks; `smith_j` and `Smith,J` become `smith, j`.
    """
    every = list(map(spell_parts, text.replace("_", " ").split(",")))
    pieces = [
        parts for parts in every if len(every) == 1 or not is_generation("".join(parts))
    ] or every
    last_parts, given_parts = (*pieces, [], [])[:2]
    if "," not in text and "_" in text and len(last_parts) > 1 and len(last_parts[-1]) == 1:
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
        anywhere: parts the name must have, in any order; a trailing `*` is for any ending. Whole parts are
            spelled by `fold_umlauts`, here as in the other parts.
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
        return (
            cls(last=parts, given=tuple(map(_read_part, given.split())))
            if comma
            else cls(anywhere=parts)
        )

    def find_parts(self, name: Sequence[str]) -> tuple[int, ...]:
        """Return which parts of a folded name are meant, () if the name is another one."""
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
        end = len(_drop_generation(name))
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


class UnclearPerson(ValueError):
    """The text is not a full name of one person; the message says why."""


@dataclass(frozen=True, slots=True)
class Person:
    """A person's name as a query spells it: lower case with accents, particles with the last name."""

    given: tuple[str, ...]
    last: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `Keiko M. Lindquell`, `Lindquell, Keiko M.` or arXiv's `Lindquell_K`.

        Without a comma the last word is the last name, and particles before it belong to it; the comma
        is for last names of several words, or of one letter: `García Márquez, Gabriel`; `E, Weinan`.
        """
        _refuse_unclear(text)
        pieces = [
            list(_drop_generation(spell_parts(piece)))
            for piece in text.replace("_", " ").split(",")
        ]
        match [piece for piece in pieces if piece]:
            case [[_]] | []:
                raise UnclearPerson(f"{text.strip()!r} is not a full name")
            case [parts] if (
                "_" in text and _is_initial(fold(parts[-1])) and _drop_generation(parts[:-1])
            ):
                given, last = parts[-1:], list(_drop_generation(parts[:-1]))
            case [parts]:
                start = _find_last_name(parts)
                given, last = parts[:start], parts[start:]
            case [last, given]:
                last, given = _move_particles(last, given)
                if not given:
                    raise UnclearPerson(f"{text.strip()!r} is not a full name")
                if not _is_initial(fold(given[0])):
                    return cls(tuple(given), tuple(last))
            case _:
                raise UnclearPerson(f"{text.strip()!r} is more than one name")
        if len(last) == 1 and _is_initial(fold(last[0])):
            letter, others = last[0].upper(), " ".join(given).title()
            raise UnclearPerson(
                f"{last[0]!r} needs a comma to be a last name: {others}, {letter} or {letter}, {others}"
            )
        return cls(tuple(given), tuple(last))

    @property
    def text(self) -> str:
        """The one spelling: as printed if that is read back as the same person, else `last, given`."""
        parts = [*self.given, *self.last]
        is_short = len(self.last) == 1 and _is_initial(fold(self.last[0]))
        if _find_last_name(parts) == len(self.given) and not is_short:
            return " ".join(parts)
        return f"{' '.join(self.last)}, {' '.join(self.given)}"


def _refuse_unclear(text: str) -> None:
    """Refuse a text whose signs show that it is not one full name."""
    word = text.strip()
    if "*" in word:
        raise UnclearPerson("A full name cannot have a *")
    if SEVERAL.search(text):
        raise UnclearPerson(f"{word!r} is more than one name")
    if len(word) > 1 and word.isalpha() and all(letter >= _FIRST_IDEOGRAPH for letter in word):
        raise UnclearPerson(f"{word!r} needs a space between given and last name")


def _drop_generation(name: Sequence[str]) -> Sequence[str]:
    end = len(name)
    while end and fold(name[end - 1]) in GENERATIONS:
        end -= 1
    return name[:end]


def _move_particles(last: list[str], given: list[str]) -> tuple[list[str], list[str]]:
    """Return last and given names, particles after the given ones moved to the last: `Gogh, Vincent van`."""
    while len(given) > 1 and fold(given[-1]) in PARTICLES:
        last, given = [given[-1], *last], list(_drop_generation(given[:-1]))
    return last, given


def _find_last_name(parts: Sequence[str]) -> int:
    """Return where the last name of a name as printed begins; one part at least is before it."""
    start = len(parts) - 1
    while start > 1 and fold(parts[start - 1]) in PARTICLES:
        start -= 1
    return start


class PersonPattern:
    """What a query says of one person, held against names as papers print them.

    Attributes:
        given: given names and initials, folded.
        initial: how the first given name begins, folded.
        last_names: the last name under each form it may have: parts with blanks and hyphens between, spelled
            by `fold_umlauts`.
        swapped_names: given names, spelled so too, that may follow the last name; none if only initials are
            known.
    """

    __slots__ = ("given", "initial", "last_names", "swapped_names")

    def __init__(self, person: Person) -> None:
        self.given = given = tuple(map(fold, person.given))
        self.initial = given[0][:1]
        last = tuple(map(fold, person.last))
        self.last_names = frozenset(map(_spell, (last, *_tie(tuple(_split_hyphens(last))))))
        written_out = tuple(part for part in given if not _is_initial(part))
        words = tuple(_split_hyphens(written_out))
        forms = (written_out, words, ("-".join(words),), ("".join(words),))
        self.swapped_names = frozenset(() if _is_initial(given[0]) else map(_spell, forms))

    @classmethod
    def parse(cls, spelling: str) -> Self:
        """Read a name as `Person.text` writes it."""
        return cls(Person.parse(spelling))

    @property
    def endings(self) -> frozenset[str]:
        """Parts one of which every form of the name has: only texts with these can have the name."""
        return frozenset(last[-1] for last in self.last_names)

    def find_parts(self, name: Sequence[str]) -> tuple[int, ...]:
        """Return which parts of a folded name are meant, () if the name is somebody else's."""
        parts = tuple(_drop_generation(name))
        return tuple(range(len(parts))) if self._is_meant(parts) else ()

    def _is_meant(self, parts: tuple[str, ...]) -> bool:
        whole = _spell(parts)
        for last in self.last_names:
            given = parts[: -len(last)]
            is_last = whole[len(given) :] == last and not (
                len(given) > 1 and given[-1] in PARTICLES
            )
            if given and is_last and are_compatible(self.given, given):
                return True
        return any(
            whole[: len(last)] == last and whole[len(last) :] in self.swapped_names
            for last in self.last_names
        )


def _spell(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(fold_umlauts, parts))


def _tie(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every way to tie words by hyphens: `a b`, `a-b`; of very long names only all or none."""
    if len(parts) > _MOST_TIED:
        yield from (parts, ("-".join(parts),))
        return
    for ties in itertools.product(" -", repeat=len(parts) - 1):
        yield tuple("".join(map("".join, zip(parts, (*ties, ""), strict=True))).split(" "))


def _split_hyphens(parts: Iterable[str]) -> Iterator[str]:
    for part in parts:
        yield from part.split("-")


def _is_initial(part: str) -> bool:
    return len(part) == 1 and part < _FIRST_IDEOGRAPH


class _Given(NamedTuple):
    """One given name of a reading, folded; `begins` is false within a hyphenated name."""

    text: str
    begins: bool = True
    is_joined: bool = False
    are_initials: bool = False


_Reading = tuple[_Given, ...]


@lru_cache(maxsize=2**12)
def _read_given(parts: tuple[str, ...]) -> frozenset[_Reading]:
    """Return every way to count given names: hyphenated ones as one or several, `jp` as `j`, `p`."""
    as_one = list(map(_take_as_one, parts))
    parted = [
        _Given(fold_umlauts(word), begins=index == 0)
        for part in parts
        for index, word in enumerate(part.split("-"))
    ]
    spread = [one for name in as_one for one in _spread_initials(name)]
    readings: set[_Reading] = {tuple(as_one), tuple(parted), tuple(spread)}
    if not any(_is_initial(name.text) for name in as_one):
        readings.add((_Given(fold_umlauts("".join(parts).replace("-", "")), is_joined=True),))
    return frozenset(readings)


def _take_as_one(part: str) -> _Given:
    words = part.split("-")
    is_joined = len(words) > 1
    return _Given(
        fold_umlauts("".join(words)),
        is_joined=is_joined,
        are_initials=is_joined and all(map(_is_initial, words)),
    )


def _spread_initials(name: _Given) -> _Reading:
    is_run = not name.is_joined and _are_initials(name.text)
    return tuple(map(_Given, name.text)) if is_run else (name,)


def _are_initials(part: str) -> bool:
    """Tell whether a part is initials without their dots, such as `jp`: nobody is called so."""
    return (
        part.isalpha()
        and part.isascii()
        and len(part) <= _MOST_INITIALS
        and not _VOWELS & set(part)
    )


def are_compatible(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two folded lists of given names may be one person's."""
    return any(
        _is_compatible(mine, theirs) for mine in _read_given(one) for theirs in _read_given(other)
    )


def _is_compatible(one: _Reading, other: _Reading) -> bool:
    shorter, longer = sorted((one, other), key=len)
    if len(longer) > len(shorter):
        last, counterpart, surplus = shorter[-1], longer[len(shorter) - 1], longer[len(shorter)]
        if not surplus.begins or (last.is_joined and _is_initial(counterpart.text)):
            return False  # J. M. is no Jean-Pierre
    return all(_is_same(mine, theirs) for mine, theirs in zip(shorter, longer, strict=False))


def _is_same(one: _Given, other: _Given) -> bool:
    if _is_initial(one.text) or _is_initial(other.text):
        return one.text[:1] == other.text[:1]
    return one.text == other.text or _abbreviates(one, other) or _abbreviates(other, one)


def _abbreviates(short: _Given, long: _Given) -> bool:
    """Whether hyphenated initials may stand for a name in one word: `x-m` for `xiaoming`, not for `xiao`."""
    if not short.are_initials or short.text[:1] != long.text[:1]:
        return False
    letters = iter(long.text)
    return all(letter in letters for letter in short.text)
