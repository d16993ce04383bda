"""People's names: cut into their parts, and compared as arXiv's author search does.

A name's parts are its words in lower case without accents; hyphens and apostrophes hold together,
dots and commas part (`J.-P. Serre` → `j-p`, `serre`). Several words must all be parts of one name,
in any order; `Last, F` compares the last name and how the first ones begin.

An e that only spells an umlaut doesn't count: Mueller, Müller and Muller are one. See
`fold_umlauts`.
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

_PARTICLES = """
af av da das de dei del della den der des di do dos du het la las le lo los
ten ter van vande vanden vander vom von zu zum zur
"""
PARTICLES = frozenset(_PARTICLES.split())
"""What begins a last name of several words; `ben`, `bin` and `al` are given names as often."""

_FIRST_IDEOGRAPH = "\u2e80"
"""From here on one sign is a whole name, not the first letter of one."""

SEVERAL = re.compile(
    r"""
    ;
    | \s(?:and|&)\s                                     # Lindquell and Serre
    | \bet\.?[ ]al\b                                    # Lindquell et al
    | \b[/+|&]\b                                        # Lindquell/Serre
    | (?:,(?!\s*(?:[js]r|i+v?)\b)\s*\w[^,]*){2,}        # Lindquell, Keiko, Serre; but: Smith, J, Jr
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What may be between two names or after one, and within none but a group's."""

_GROUP = re.compile(r"\b(?:collaborations?|consortium|group|team)\b", re.IGNORECASE)

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
    parts: list[NamePart] = []
    for found in _part_pattern().finditer(name.translate(_ONE_SPELLING)):
        text = fold(found[0].replace(".", ""))
        parts.append(NamePart(text, found.start(), found.end()))
    return tuple(parts)


def list_parts(name: str) -> list[str]:
    """Return the folded parts of a plain name, in order: those of `split_name` without places."""
    return [part.text for part in split_name(name)]


def list_readings(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the folded parts of a plain name, and those with its umlauts written out."""
    as_printed = tuple(list_parts(name))
    written_out = write_out(name)
    if written_out == name:
        return (as_printed,)
    parts = tuple(list_parts(written_out))
    return (as_printed,) if parts == as_printed else (as_printed, parts)


@lru_cache(maxsize=2**14)
def fold_umlauts(part: str) -> str:
    """Return a folded part of a name with ae, oe and ue as a, o and u.

    That is the one spelling of ä, ö and ü.

    arXiv's index does so in any place, and makes Xue one with Xu, Michael one with Michal. Here a
    consonant or u must follow (not `Xue`), no vowel, q, x or y precede (not `Bauer`), and a last
    -el or -ez stays (`Páez`).
    """
    return _UMLAUTS.sub(r"\1", part)


def write_out(name: str) -> str:
    """Return a name with its ä, ö, ü and ø written out.

    Who is printed with an umlaut is called so under both spellings.
    """
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", name).translate(_WRITTEN_OUT)


def fold_as_arxiv(part: str) -> str:
    """Return a folded part as arXiv's index spells it.

    It shortens Germans' ae, oe and ue, and Scandinavians' aa, ao and oo.
    """
    without_e = _EVERY_UMLAUT.sub(r"\1", part)
    return _DOUBLED.sub(r"\1\2", without_e)


def list_spellings(part: str) -> tuple[str, ...]:
    """Return a folded part, and how `fold_umlauts` spells it: a beginning is searched in both."""
    return tuple(dict.fromkeys((part, fold_umlauts(part))))


def spell_name(text: str) -> str:
    """Return a name as written in a query in its one spelling, `""` if no part is left.

    Lower case with accents, parts separated by blanks; `smith_j` and `Smith,J` become `smith, j`.
    """
    pieces = [spell_parts(piece) for piece in text.replace("_", " ").split(",")]
    if len(pieces) > 1:
        # `Smith, Jr., J` is `Smith, J`; if all pieces are generations, one must be the name.
        pieces = [piece for piece in pieces if not is_generation("".join(piece))] or pieces
    last_parts = pieces[0]
    given_parts = pieces[1] if len(pieces) > 1 else []
    is_arxiv_form = "_" in text and "," not in text
    if is_arxiv_form and len(last_parts) > 1 and len(last_parts[-1]) == 1:
        given_parts = [last_parts.pop()]
    names = (" ".join(last_parts), " ".join(given_parts))
    return ", ".join(names) if all(names) else "".join(names)


def spell_parts(text: str) -> list[str]:
    """Return a name's parts in lower case with accents, in order; one may end with a `*`."""
    written = text.lower().translate(_ONE_SPELLING)
    parts: list[str] = []
    for found in _part_pattern(r"\*?").finditer(written):
        part = found[0].replace(".", "")
        parts.append(unicodedata.normalize("NFC", part))
    return parts


@dataclass(frozen=True, slots=True)
class NamePattern:
    """What a query says of one author, from the spelling `spell_name` gives.

    Attributes:
        anywhere: parts the name must have, in any order; a trailing `*` is for any ending. Whole
            parts are spelled by `fold_umlauts`, here as in the other parts.
        last: parts the last name must end with.
        given: how the first names must begin, one after the other: an initial, or a whole name.
    """

    anywhere: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @classmethod
    def parse(cls, spelling: str) -> NamePattern:
        """Read a name as `spell_name` writes it."""
        before, comma, after = spelling.partition(",")
        parts = tuple(map(_read_part, before.split()))
        if not comma:
            return cls(anywhere=parts)
        given = tuple(map(_read_part, after.split()))
        return cls(last=parts, given=given)

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
    """A person's name as a query spells it: in lower case, particles with the last name."""

    given: tuple[str, ...]
    last: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `Keiko M. Lindquell`, `Lindquell, Keiko M.` or arXiv's `Lindquell_K`.

        Without a comma the last word is the last name, and particles before it belong to it; the
        comma is for last names of several words, or of one letter: `García Márquez, Gabriel`;
        `E, Weinan`.
        """
        _refuse_unclear(text)
        pieces: list[list[str]] = []
        for piece in text.replace("_", " ").split(","):
            parts = list(_drop_generation(spell_parts(piece)))
            if parts:
                pieces.append(parts)
        match pieces:
            case [[_]] | []:
                raise UnclearPerson(f"{text.strip()!r} is not a full name")
            case [parts]:
                given, last = _part_name(parts, is_arxiv_form="_" in text)
            case [last, given]:
                last, given = _move_particles(last, given)
                if not given:
                    raise UnclearPerson(f"{text.strip()!r} is not a full name")
                if not _is_initial(fold(given[0])):
                    return cls(tuple(given), tuple(last))
            case _:
                raise UnclearPerson(f"{text.strip()!r} is more than one name")
        if _is_one_letter(last):
            letter = last[0].upper()
            others = " ".join(given).title()
            raise UnclearPerson(
                f"{last[0]!r} needs a comma to be a last name: "
                f"{others}, {letter} or {letter}, {others}"
            )
        return cls(tuple(given), tuple(last))

    @property
    def text(self) -> str:
        """The one spelling: as printed if that is read back as the same person."""
        parts = [*self.given, *self.last]
        is_read_back = _find_last_name(parts) == len(self.given)
        if is_read_back and not _is_one_letter(self.last):
            return " ".join(parts)
        last = " ".join(self.last)
        given = " ".join(self.given)
        return f"{last}, {given}"


def has_several(text: str) -> bool:
    """Whether a text is more than one name; `Fermi/LAT Collaboration` is one."""
    parted = text.replace("/", " ") if _GROUP.search(text) else text
    return SEVERAL.search(parted) is not None


def _refuse_unclear(text: str) -> None:
    """Refuse a text whose signs show that it is not one full name."""
    word = text.strip()
    if "*" in word:
        raise UnclearPerson("A full name cannot have a *")
    if has_several(text):
        raise UnclearPerson(f"{word!r} is more than one name")
    is_of_ideographs = all(letter >= _FIRST_IDEOGRAPH for letter in word)
    if len(word) > 1 and word.isalpha() and is_of_ideographs:
        raise UnclearPerson(f"{word!r} needs a space between given and last name")


def _part_name(parts: list[str], *, is_arxiv_form: bool) -> tuple[list[str], list[str]]:
    """Return the given names and the last name of a name without a comma."""
    before = list(_drop_generation(parts[:-1]))
    if is_arxiv_form and before and _is_initial(fold(parts[-1])):  # `Lindquell_K`
        return parts[-1:], before
    start = _find_last_name(parts)
    return parts[:start], parts[start:]


def _is_one_letter(last: Sequence[str]) -> bool:
    return len(last) == 1 and _is_initial(fold(last[0]))


def _drop_generation(name: Sequence[str]) -> Sequence[str]:
    end = len(name)
    while end and fold(name[end - 1]) in GENERATIONS:
        end -= 1
    return name[:end]


def _move_particles(last: list[str], given: list[str]) -> tuple[list[str], list[str]]:
    """Return last and given names, particles after the given ones moved to the last.

    As in `Gogh, Vincent van`.
    """
    while len(given) > 1 and fold(given[-1]) in PARTICLES:
        last = [given[-1], *last]
        given = list(_drop_generation(given[:-1]))
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
        last_names: the last name under each form it may have: parts with blanks and hyphens
            between, spelled by `fold_umlauts`.
        swapped_names: given names, spelled so too, that may follow the last name; none if only
            initials are known.
    """

    __slots__ = ("given", "initial", "last_names", "swapped_names")

    def __init__(self, person: Person) -> None:
        self.given = tuple(map(fold, person.given))
        self.initial = self.given[0][:1]
        last = tuple(map(fold, person.last))
        words_of_last = tuple(_split_hyphens(last))
        self.last_names = frozenset(map(_spell, (last, *_tie(words_of_last))))
        self.swapped_names = self._list_swapped_names()

    def _list_swapped_names(self) -> frozenset[tuple[str, ...]]:
        if _is_initial(self.given[0]):
            return frozenset()
        written_out = tuple(part for part in self.given if not _is_initial(part))
        words = tuple(_split_hyphens(written_out))
        forms = (written_out, words, ("-".join(words),), ("".join(words),))
        return frozenset(map(_spell, forms))

    @classmethod
    def parse(cls, spelling: str) -> Self:
        """Read a name as `Person.text` writes it."""
        return cls(Person.parse(spelling))

    @property
    def endings(self) -> frozenset[str]:
        """Parts of which every form of the name has one: only texts with these can have it."""
        return frozenset(last[-1] for last in self.last_names)

    def find_parts(self, name: Sequence[str]) -> tuple[int, ...]:
        """Return which parts of a folded name are meant, () if the name is somebody else's."""
        parts = tuple(_drop_generation(name))
        return tuple(range(len(parts))) if self._is_meant(parts) else ()

    def _is_meant(self, parts: tuple[str, ...]) -> bool:
        whole = _spell(parts)
        for last in self.last_names:
            given = parts[: -len(last)]
            if not given or whole[len(given) :] != last:
                continue
            has_particle = len(given) > 1 and given[-1] in PARTICLES
            if not has_particle and are_compatible(self.given, given):
                return True
        return self._is_swapped(whole)

    def _is_swapped(self, whole: tuple[str, ...]) -> bool:
        """Tell whether a name is printed with the last name first."""
        for last in self.last_names:
            end = len(last)
            if whole[:end] == last and whole[end:] in self.swapped_names:
                return True
        return False


def _spell(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(fold_umlauts, parts))


def _tie(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield every way to tie words by hyphens: `a b`, `a-b`; for long names only all or none."""
    if len(parts) > _MOST_TIED:
        yield parts
        yield ("-".join(parts),)
        return
    first, *others = parts
    for signs in itertools.product(" -", repeat=len(others)):
        tied = first
        for sign, part in zip(signs, others, strict=True):
            tied += sign + part
        yield tuple(tied.split(" "))


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
    """Return every way to count given names: hyphenated as one or several, `jp` as `j`, `p`."""
    as_one = [_take_as_one(part) for part in parts]
    parted: list[_Given] = []
    spread: list[_Given] = []
    for part, name in zip(parts, as_one, strict=True):
        first, *others = part.split("-")
        parted.append(_Given(fold_umlauts(first)))
        parted += [_Given(fold_umlauts(word), begins=False) for word in others]
        spread += _spread_initials(name)
    readings: set[_Reading] = {tuple(as_one), tuple(parted), tuple(spread)}
    has_initial = any(_is_initial(name.text) for name in as_one)
    if not has_initial:
        joined = "".join(parts).replace("-", "")
        readings.add((_Given(fold_umlauts(joined), is_joined=True),))
    return frozenset(readings)


def _take_as_one(part: str) -> _Given:
    words = part.split("-")
    is_joined = len(words) > 1
    are_initials = is_joined and all(map(_is_initial, words))
    text = fold_umlauts("".join(words))
    return _Given(text, is_joined=is_joined, are_initials=are_initials)


def _spread_initials(name: _Given) -> _Reading:
    is_run = not name.is_joined and _are_initials(name.text)
    return tuple(map(_Given, name.text)) if is_run else (name,)


def _are_initials(part: str) -> bool:
    """Tell whether a part is initials without their dots, such as `jp`: nobody is called so."""
    is_plain = part.isalpha() and part.isascii()
    return is_plain and len(part) <= _MOST_INITIALS and _VOWELS.isdisjoint(part)


def are_compatible(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two folded lists of given names may be one person's."""
    pairs = itertools.product(_read_given(one), _read_given(other))
    return any(itertools.starmap(_is_compatible, pairs))


def _is_compatible(one: _Reading, other: _Reading) -> bool:
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    if len(longer) > len(shorter):
        last = shorter[-1]
        counterpart = longer[len(shorter) - 1]
        surplus = longer[len(shorter)]
        if not surplus.begins or (last.is_joined and _is_initial(counterpart.text)):
            return False  # J. M. is no Jean-Pierre
    return all(map(_is_same, shorter, longer))


def _is_same(one: _Given, other: _Given) -> bool:
    if _is_initial(one.text) or _is_initial(other.text):
        return one.text[:1] == other.text[:1]
    return one.text == other.text or _abbreviates(one, other) or _abbreviates(other, one)


def _abbreviates(short: _Given, long: _Given) -> bool:
    """Whether hyphenated initials may stand for one word: `x-m` for `xiaoming`, not for `xiao`."""
    if not short.are_initials or short.text[:1] != long.text[:1]:
        return False
    letters = iter(long.text)
    return all(letter in letters for letter in short.text)
