r"""Joins texts by the thousand into one, their TeX resolved.

What isn't ASCII has a token in its place, so that all of it may be handled as ASCII, which takes a fraction of the
time.

Most TeX in titles and abstracts is formulas between dollars in otherwise plain sentences, and the same ones
come again and again: `$\alpha$`, `$z$`, `$10^{-3}$`. Where a text is of that kind, its formulas are read one by
one and remembered; every other text with TeX is read as a whole.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from digest.query.index.bitsets import list_runs, number_distinct
from digest.query.index.formulas import spell_formula
from digest.tex import parse_words
from digest.tex.formulas import allows_blank_before, allows_blank_behind
from digest.tex.parting import EDGE, is_edge, mark_edges
from digest.tex.reader import Reader
from digest.tex.tokens import DROPPED, Setting, find_formulas, split_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray


SEPARATOR: Final = "\x01"
"""A run of its own: it stands before each text."""

FENCE: Final = "\x00"
"""Stands around the number of what is not ASCII; pieces between blanks that have any are runs as they are."""

_LETTER, _DIGIT, _JOINS_LETTERS, _JOINS_DIGITS, _IN_WORD = 1, 2, 4, 8, 16
_TO_NEIGHBOURS = 2
"""How far to the right the bit of a sign that joins letters, or digits, has to go to be that of the neighbours."""

_CHUNK_BITS: Final = 3
_CHUNK: Final = 1 << _CHUNK_BITS
_MOST_CHUNKS: Final = 4
"""Words longer than so many chunks are too rare to be worth a pass."""

_BLOCK: Final = 1 << 18
"""Characters looked at together: what comes between stays in the processor's own memory, and the system need not
hand out more again and again."""

_MASKS = np.array([(1 << 8 * length) - 1 for length in range(_CHUNK + 1)], np.uint64)
"""Length -> what keeps so many characters of a chunk, the first of which is its lowest octet."""


def _classify(code: int) -> int:
    character = chr(code)
    if code < 128 and character.isalnum():  # noqa: PLR2004 - ASCII
        return _IN_WORD | (_DIGIT if character.isdigit() else _LETTER)
    if character in f"_{SEPARATOR}{FENCE}":
        return _IN_WORD
    return (character in ".'") * _JOINS_LETTERS | (character in ".,;'") * _JOINS_DIGITS


_CLASSES_WORD_RUNS = bytes(map(_classify, range(256)))


class Runs(NamedTuple):
    """The words of a text.

    Attributes:
        distinct: each of them once, as written.
        numbers: of each word in order, its index in `distinct`.
    """

    distinct: list[str]
    numbers: NDArray[np.int64]


def find_runs(text: str) -> Runs:
    """Find the words of an ASCII text that begins and ends with a blank, and has no other white space.

    The words of each block are told apart by themselves, then those that are different in some block.
    """
    octets = text.encode("ascii") + bytes(_CHUNK)
    starts, lengths, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    size = 0
    for start, end in _cut_into_blocks(octets):
        changes = np.flatnonzero(np.diff(_find_word_characters(octets[start:end]))) + (start + 1)
        words = changes[::2], changes[1::2] - changes[::2]
        firsts, found = _tell_apart(octets, *words)
        starts.append(words[0].take(firsts))
        lengths.append(words[1].take(firsts))
        numbers.append(found + size)
        size += len(firsts)
    words = np.concatenate(starts), np.concatenate(lengths)
    firsts, found = _tell_apart(octets, *words)
    begun, ends = words[0].take(firsts), (words[0] + words[1]).take(firsts)
    distinct = [text[start:end] for start, end in zip(begun.tolist(), ends.tolist(), strict=True)]
    return Runs(distinct, found.take(np.concatenate(numbers)))


def _cut_into_blocks(octets: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the blocks of a text begin and end: each with a blank, which two of them share."""
    start, last = 0, octets.rindex(b" ")
    while start < last:
        end = octets.rfind(b" ", start + 1, start + _BLOCK)
        if end < 0:
            end = octets.index(b" ", start + 1)
        yield start, end + 1
        start = end


def _find_word_characters(octets: bytes) -> NDArray[np.bool_]:
    """Return of each character whether it is part of a word."""
    classes = np.frombuffer(octets.translate(_CLASSES_WORD_RUNS), np.uint8)
    is_part = classes >= _IN_WORD
    signs = np.flatnonzero((classes & (_JOINS_LETTERS | _JOINS_DIGITS)) != 0)
    joined = classes[signs - 1] & classes[signs + 1] & (classes[signs] >> _TO_NEIGHBOURS)
    is_part[signs[joined != 0]] = True
    codes = np.frombuffer(octets, np.uint8)
    fences = np.flatnonzero(codes == ord(FENCE))
    if len(fences):
        blanks = np.flatnonzero(codes == ord(" "))
        behind = np.searchsorted(blanks, fences)
        behind = behind[np.diff(behind, prepend=-1) != 0]
        starts = blanks[behind - 1] + 1
        is_part[list_runs(starts, blanks[behind] - starts)] = True
    return is_part


def _tell_apart(
    octets: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number words of a text so that equal ones, and only these, have the same number.

    Returns:
        Of each number a word that has it; and of each word its number.
    """
    chunks = (lengths - 1) >> _CHUNK_BITS
    numbers = np.empty(len(starts), np.int64)
    firsts: list[NDArray[np.int64]] = []
    size = 0
    for count in range(_MOST_CHUNKS):
        members = np.flatnonzero(chunks == count)
        columns = _read_chunks(octets, starts.take(members), lengths.take(members), count + 1)
        first, found = number_distinct(columns)
        numbers[members] = found + size
        firsts.append(members.take(first))
        size += len(first)
    longer: dict[bytes, int] = {}
    for place in np.flatnonzero(chunks >= _MOST_CHUNKS).tolist():
        first_place = longer.setdefault(octets[starts[place] : starts[place] + lengths[place]], place)
        numbers[place] = size + len(longer) - 1 if first_place == place else numbers[first_place]
    return np.concatenate((*firsts, np.fromiter(longer.values(), np.int64, len(longer)))), numbers


def _read_chunks(
    octets: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64], count: int
) -> list[NDArray[np.uint64]]:
    """Return words of so many chunks as numbers: the first characters of each, those that follow, and so on."""
    everywhere = np.ndarray(len(octets) - _CHUNK, "<u8", octets, strides=(1,))
    chunks = [everywhere[starts + place] for place in range(0, _CHUNK * count, _CHUNK)]
    chunks[-1] &= _MASKS.take(lengths - _CHUNK * (count - 1))
    return chunks


_STRAY = "\x02"
"""What stands for the control characters of texts."""

_JOINING = ".,;'"
"""The signs that may stand within a word."""

_PARTED = {
    code: chr(code).lower() if chr(code).isalnum() or chr(code) in f"_{_JOINING}" else " " for code in range(128)
}
"""Signs that part words wherever they stand go; words are looked at in lower case anyhow."""
_PARTED |= {code: _STRAY for code in range(128) if re.match(rf"[{DROPPED}]", chr(code))}
_PARTED |= {ord(sign): sign for sign in (SEPARATOR, FENCE)}

_NEEDS_READING = re.compile(rf"[\\${DROPPED}]")
_DROPPED = re.compile(rf"[{DROPPED}]")

_MOST_TOKENS: Final = 650
"""`parse_words` leaves what follows more tokens as typed; texts that come near are left to it. Where the most they
can have is not too many, they need not be counted."""

_WITHIN_RUNS: Final = bytes(code for code in range(32, 127) if chr(code) not in "\\{}^$_&~`'-")
"""What never begins a token but the one after another, but for two blanks; of what is left, each is the start of
one."""

_ACCENT = r"\\[\"'`^~=.](?:\{[A-Za-z]\}|[A-Za-z])"
_ISLAND = re.compile(
    rf"""
      (?<![\^_\\]) (?:
        {_ACCENT} | \{{ {_ACCENT} \}} | \\[cvuHkr]\{{[A-Za-z]\}}
      | \\[%&#,;\ ]
      | \{{\\(?!begin|end|left|right)[A-Za-z]+\}}
      | \\(?:emph|text(?:it|sl|bf|tt|rm|sf|sc)|cite[pt]?|ref) \{{[^{{}}\\$]*\}} (?![{{\[])
      | \{{\\(?:it|em|bf|sl|tt|sc|rm)\s[^{{}}\\$]*\}}
      )
    """,
    re.VERBOSE,
)
"""TeX between words that means the same whatever stands farther away than the next character."""

_ENTANGLED = re.compile(r"[\\{}]")
"""What beside formulas and islands makes a text more than sentences with some TeX in them."""

_ADJACENT = frozenset(("\\", "{", "}"))
"""What may stand beside an island only where both are read together."""

_STRUCTURE = re.compile(rf"\\(?:[\[\]()]|begin|end)|\\\Z|[{DROPPED}]")
_REACHING = re.compile(r"\\(?:[A-Za-z]+\*?|.)\s*(?:\[[^\]]*\]?\s*)*\Z", re.DOTALL)
"""A command at the end, which may take what follows."""

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DOLLARS = re.compile(r"\$\$?")
_AMOUNT = re.compile(r"\s?[0-9]")
_TEX = re.compile(r"[\\^_{}=<>]")


class Joined(NamedTuple):
    """Texts as one text in ASCII, in lower case: its words, in order, are those of the texts.

    Attributes:
        text: of each text, `SEPARATOR` and what it is; between blanks, and with no other white space.
        fillings: what is not ASCII in them, a number between `FENCE`s in its place.
    """

    text: str
    fillings: Sequence[str]

    def fill(self, piece: str) -> str:
        """Return a part of the text with what is not ASCII in its place; it may have white space then."""
        if FENCE not in piece:
            return piece
        parts = piece.split(FENCE)
        parts[1::2] = [self.fillings[int(number)] for number in parts[1::2]]
        return "".join(parts)


def join_texts(texts: Sequence[str]) -> Joined:
    """Join texts, their TeX resolved."""
    together = "".join(texts)
    if SEPARATOR in together or FENCE in together:
        texts = [text.replace(SEPARATOR, _STRAY).replace(FENCE, _STRAY) for text in texts]
    fillings = _Fillings()
    spelled = list(map(fillings.spell, texts))
    joined = _join(spelled)
    if _STRAY in joined:
        for place, text in enumerate(joined.split(SEPARATOR)[1:]):
            if _STRAY in text:
                spelled[place] = fillings.spell_as_read(texts[place])
        joined = _join(spelled)
    return Joined(joined, list(fillings))


def _join(spelled: Iterable[str]) -> str:
    return f" {SEPARATOR} ".join(("", *spelled)).translate(_PARTED) + " "


class _Fillings(dict[str, str]):
    """What is not ASCII -> what stands in its place."""

    def __missing__(self, filling: str) -> str:
        self[filling] = place = f"{FENCE}{len(self)}{FENCE}"
        return place

    def spell(self, text: str) -> str:
        """Return a text as ASCII, its TeX resolved."""
        if text.isascii():
            if "$" not in text and "\\" not in text:
                return text
        elif not _NEEDS_READING.search(text):
            return self._spell_plain(text)
        elif _DROPPED.search(text):
            return self.spell_as_read(text)
        resolved = self._resolve_islands(text)
        return self.spell_as_read(text) if resolved is None else resolved

    def spell_as_read(self, text: str) -> str:
        """Return a text as ASCII, read as a whole: without the control characters it has."""
        return self._spell_plain(_resolve(text))

    def _spell_plain(self, text: str) -> str:
        """Return a text without TeX as ASCII."""
        if text.isascii():
            return text
        return " ".join([word if word.isascii() else self[word] for word in text.split()])

    def _put(self, plain: str) -> str:
        """Return what stands in the place of a text."""
        return plain if plain.isascii() else self[plain]

    def _resolve_islands(self, text: str) -> str | None:
        """Return a text of plain sentences, its formulas and other TeX resolved; None where it is no such text."""
        if _has_many_tokens(text):
            return None
        has_doubled = "$$" in text
        parts = _DOLLARS.split(text) if has_doubled else text.split("$")
        if not len(parts) % 2:
            return None
        last = len(parts) - 1
        is_unsure = has_doubled
        put = self._put if text.isascii() else str
        resolved = parts.copy()
        for place in range(1, last, 2):
            before, behind = _CLASSES[parts[place - 1][-1:]], _CLASSES[parts[place + 1][:1]]
            formula = _read_formula(before, parts[place], behind)
            if formula is None:
                return None
            is_unsure = is_unsure or formula.is_amount
            resolved[place] = formula.plain
            if formula.is_set_off:
                resolved[place] = _drop_blanks(parts[place - 1][-1:], formula.plain, parts[place + 1][:1])
        hides_edges = not all(resolved[1:last:2])  # what shows beside an empty one may be of another
        if hides_edges or (is_unsure and not _are_formulas(text)):
            return None
        for place in range(0, last + 1, 2):
            part = parts[place]
            if "\\" in part or "{" in part or "}" in part:
                plain = _resolve_part("$" if place else "", part, "$" if place < last else "", put)
                if plain is None or (place and plain[:1] == FENCE) or (place < last and plain[-1:] == FENCE):
                    return None  # what stands beside the formula is not seen
                resolved[place] = plain
        joined = _join_parts(resolved, put)
        return joined if put is not str else self._spell_plain(joined)


def _join_parts(parts: Sequence[str], put: Callable[[str], str]) -> str:
    """Join what stands outside of formulas and, put so, what stands within, in turn; edges are marked."""
    joined: list[str] = []
    last = " "
    was_within = is_within = True
    for part in parts:
        is_within = not is_within
        if part:
            if last != " " and (is_within or was_within) and is_edge(last, part[0]):
                joined.append(EDGE)
            joined.append(put(part) if is_within else part)
            last, was_within = part[-1], is_within
    return "".join(joined)


def _resolve(text: str) -> str:
    return "".join([piece.text for piece in parse_words(text)])


def _has_many_tokens(text: str) -> bool:
    """Tell whether a text has so many tokens that its end may be left as typed."""
    if len(text) <= _MOST_TOKENS:
        return False
    if text.isascii():
        signs = len(text.encode("ascii").translate(None, _WITHIN_RUNS)) + text.count("  ")
        if 2 * signs + 3 <= _MOST_TOKENS:  # a run before and behind each, and a blank at the end
            return False
    return len(split_tokens(text)) > _MOST_TOKENS


def _resolve_part(before: str, text: str, behind: str, put: Callable[[str], str]) -> str | None:
    """Return a text without formulas, but with other TeX, resolved; None where that needs a closer look.

    Args:
        before: the character before it, "" for none.
        text: what to resolve.
        behind: the character behind it.
        put: what to make of each bit of TeX resolved.
    """
    parts: list[str] = []
    place = 0
    for island in _ISLAND.finditer(text):
        start, end = island.span()
        left, right = text[start - 1 : start] or before, text[end : end + 1] or behind
        if left in _ADJACENT or right in _ADJACENT or _ENTANGLED.search(text, place, start):
            return _resolve_apart(before, text, behind, put)
        parts += text[place:start], put(_read_island(_CLASSES[left], island[0], _CLASSES[right]))
        place = end
    if _ENTANGLED.search(text, place):
        return _resolve_apart(before, text, behind, put)
    return "".join((*parts, text[place:]))


def _resolve_apart(before: str, text: str, behind: str, put: Callable[[str], str]) -> str | None:
    """Return a text as `_resolve_part` does, read by itself where nothing in it reaches beyond."""
    if _STRUCTURE.search(text) or _REACHING.search(text) or not _is_balanced(text):
        return None
    return put(_read_island(_CLASSES[before], text, _CLASSES[behind]))


def _are_formulas(text: str) -> bool:
    """Tell whether the dollars of a text pair up one after the other, though some may be money, or doubled."""
    dollars = [dollar.span() for dollar in _DOLLARS.finditer(text)]
    return find_formulas(text) == {
        opening[0]: closing for opening, closing in zip(dollars[::2], dollars[1::2], strict=True)
    }


class _Classes(dict[str, str]):
    """Character -> one that formulas take for the same beside them."""

    def __missing__(self, character: str) -> str:
        self[character] = found = "a" if character.isalpha() else "1" if character.isalnum() else ""
        return found


_CLASSES = _Classes()


class _Formula(NamedTuple):
    """A formula as plain text with its words.

    Attributes:
        plain: the text.
        is_amount: whether its dollars may be money.
        is_set_off: whether it begins or ends with a blank, which not every character beside it allows.
    """

    plain: str
    is_amount: bool
    is_set_off: bool


@lru_cache(maxsize=2**15)
def _read_formula(before: str, formula: str, behind: str) -> _Formula | None:
    """Return a formula between two characters, resolved; None where what it is depends on more of the text."""
    plain = spell_formula(before, formula, behind) if formula else None
    if plain is None:
        if not formula or _STRUCTURE.search(formula) or not _is_balanced(formula):
            return None
        plain = _read_island(before, f"\\({formula}\\)", behind)  # which needs no search for dollars
    is_amount = _AMOUNT.match(formula) is not None and not _TEX.search(formula)
    return _Formula(plain, is_amount, plain != plain.strip())


def _drop_blanks(before: str, plain: str, behind: str) -> str:
    """Return a formula as plain text without the blanks that the characters beside it do not allow."""
    if not allows_blank_behind(before):
        plain = plain.lstrip()
    return plain if allows_blank_before(behind) else plain.rstrip()


@lru_cache(maxsize=2**12)
def _read_island(before: str, island: str, behind: str) -> str:
    """Return TeX between two characters, resolved."""
    reader = Reader(f"{before}{island}{behind}")
    end = len(before) + len(island)
    pieces = reader.read(len(reader.tokens), Setting())
    within = [piece for piece in pieces if len(before) <= piece.start < end]
    return "".join([piece.text for piece in mark_edges(reader.text, within, reader.noted_formulas)])


def _is_balanced(formula: str) -> bool:
    """Tell whether every brace of a formula has its partner within it."""
    depth = 0
    for brace in _BRACE.findall(formula) if "{" in formula or "}" in formula else ():
        depth += (brace == "{") - (brace == "}")
        if depth < 0:
            return False
    return depth == 0
