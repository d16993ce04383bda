"""What a line looks like: surely somebody's name, perhaps one, words with capitals, or neither.

A name has two words or more, each beginning with a capital (or in a script without them), but `van`, `de` and
their like; or one comma, as in `Lindquell, Keiko`. A given name that many people bear, an initial with its dot, a
comma, `Jr.` and a script that titles at arXiv don't use make it sure. Groups that end with `Collaboration` are
called like people.
"""

from __future__ import annotations

import re
import unicodedata
from enum import IntEnum
from typing import Final

from digest.query.given_names import GIVEN_NAMES
from digest.query.names import GENERATIONS
from digest.query.people import PARTICLES, has_no_blanks
from digest.query.tokens import Operator
from digest.query.words import fold

_WORD = re.compile(
    r"['’]t|(?:[^\W\d_]+(?:['’`\u02bc\-\u2010\u2011][^\W\d_]+)*|[^\W\d_](?:\.[-\u2010\u2011]?[^\W\d_])*)\.?"
)
_INITIALS = re.compile(r"[^\W\d_](?:\.[-\u2010\u2011]?[^\W\d_])*\.")
_ELIDED = re.compile(r"[^\W\d_]{1,2}['’`\u02bc\-\u2010\u2011][^\W\d_]")
_GROUP = re.compile(r"(?:(?:of|for|the) |[^\W_a-z][^\s,;]* )+(?:[Cc]ollaborations?|[Cc]onsortium)")
_TOPIC = re.compile(r"(?:tion|sion|ment|ness|ity|ics|ing|ism|logy|work|works|ency|ance|ence|ory|ical|ous)s?\Z")
"""How words for things end. Some names do, too: they need a given name that is known, or an initial."""

_WORDS = """
algebra algorithm analysis architecture atom bayes big black boson brain cancer cell chain channel circuit class
cloud cluster code cold complex computer control convex cosmic dark data deep detector diffusion dynamic edge
effect electron energy equation error fast fermion field fluid force fourier function galaxy game gas gate gauge
gene general geometry graph group hepatitis high hole image inverse language large laser lattice law level light
limit linear local loop low machine magnetic manifold map market mass matrix matter measure memory method metric
mobile mode model molecular monte multi natural network neural neutron new noise nuclear number open optical
optimal order parallel particle path phase photon plasma point polynomial power prime probe problem process
program protein quantum query random rate real regime ring risk robot sample scale science search self semi
sequence series set shift signal single smart solar solid source space sparse spectral speech spin state
stochastic string strong structure super surface survey symmetric system tail tensor test theorem time
topological transfer transform transformer tree type universal vector vision vitamin wave weak web white zero
"""
_THINGS: Final = frozenset(_WORDS.split())
"""Words of titles: with one of them, two capitals alone are no sign of a name."""

_TYING: Final = PARTICLES | frozenset(("abu", "al", "ben", "bin", "e", "el", "i", "ibn", "st", "y"))
_ROMAN: Final = frozenset(("ii", "iii", "iv"))
_LATIN = ("LATIN", "GREEK", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT", "BLACK-LETTER", "FULLWIDTH", "MODIFIER")
_LONGEST_NAME, _MOST_WORDS, _MOST_PIECES = 80, 6, 2
_LONGEST_SHORTENED, _LONGEST_UNPARTED, _MOST_CAPITALS = 3, 5, 3


class Look(IntEnum):
    """How much a line looks like a name: the more, the higher.

    `LONE` is one word with a capital, `WORDS` several of which one is a word for things.
    """

    NONE = 0
    LONE = 1
    WORDS = 2
    POSSIBLE = 3
    LIKELY = 4
    SURE = 5


def look_at(text: str) -> Look:
    """Tell how much a line looks like the name of one person or group."""
    plain = strip_marks(text) if len(text) <= _LONGEST_NAME else ""
    if is_group(plain) or (has_no_blanks(plain) and len(plain) <= _LONGEST_UNPARTED):
        return Look.LIKELY
    pieces = [piece.split() for piece in plain.split(",")]
    named = [piece for number, piece in enumerate(pieces) if not (number and _are_generations(piece))]
    words = [word for piece in named for word in piece]
    if not (all(named) and len(named) <= _MOST_PIECES and _are_parts(words)):
        return Look.NONE
    if len(named) == _MOST_PIECES:
        return _look_at_both(*named)
    if len(words) == 1:
        return Look.LONE if words[0][0].isupper() else Look.NONE
    if _is_evident(words, words[0]) or len(pieces) > 1:
        return Look.SURE
    return Look.WORDS if any(map(_is_thing, words)) else _look_at_ending(words)


def _look_at_both(last: list[str], given: list[str]) -> Look:
    """Tell how much words before and behind a comma look like a name."""
    if given[0][0].islower() or _may_be_two(last, given):
        return Look.NONE
    words = [*last, *given]
    return Look.SURE if _is_evident(words, given[0]) or not any(map(_is_thing, words)) else Look.WORDS


def _look_at_ending(words: list[str]) -> Look:
    """Tell what the end of a name without comma says: `Smith J` is likely one; `Smith JA` may be."""
    ending = words[-1]
    if len(ending) == 1 or fold(ending) in _ROMAN:
        return Look.LIKELY
    is_short = len(ending) <= _MOST_CAPITALS and ending.isupper() and not all(map(str.isupper, words))
    return Look.WORDS if is_short else Look.POSSIBLE


def is_group(text: str) -> bool:
    """Tell whether a name is that of a collaboration."""
    return _GROUP.fullmatch(text) is not None


def is_known_given_name(word: str) -> bool:
    """Tell whether a word is a given name that many people bear."""
    return fold(word) in GIVEN_NAMES


def strip_marks(text: str) -> str:
    """Return a text whose letters and accents are one sign each, without further marks and invisible signs."""
    composed = unicodedata.normalize("NFC", text)
    if composed.isascii():
        return composed
    return "".join(sign for sign in composed if unicodedata.category(sign) not in ("Mn", "Mc", "Me", "Cf"))


def find_last_initials(text: str) -> int:
    """Return where the initials begin with which a name ends, as `Smith J.` does; -1 where there are none."""
    words = list(re.finditer(r"\S+", text))
    initials = [len(word[0].rstrip(".")) == 1 or _INITIALS.fullmatch(word[0]) is not None for word in words]
    if "," in text or not initials or not initials[-1] or any(has_no_blanks(word[0]) for word in words):
        return -1
    first = initials.index(True)
    return words[first].start() if first and all(initials[first:]) and words[-1][0][0].isupper() else -1


def _is_evident(words: list[str], given: str) -> bool:
    """Tell whether a name's parts say by themselves that they are somebody's."""
    if any(map(_INITIALS.fullmatch, words)) or is_known_given_name(given):
        return True
    return any(map(_is_foreign, words)) or any(fold(word.rstrip(".")) in ("jr", "sr") for word in words[1:])


def _is_foreign(word: str) -> bool:
    letters = [letter for letter in word if letter.isalpha()]
    return len(letters) > 0 and not any(unicodedata.name(letter, "LATIN").startswith(_LATIN) for letter in letters)


def are_two_names(last: str, given: str) -> bool:
    """Tell whether a comma parts two people, `John Smith, Jane Doe`, rather than one's last and given names."""
    left, right = last.split(), given.split()
    return _are_full(left, right) and is_known_given_name(left[0]) and is_known_given_name(right[0])


def _may_be_two(left: list[str], right: list[str]) -> bool:
    """Tell whether a comma may part two people: not where only behind it stands a given name that is known."""
    return _are_full(left, right) and (is_known_given_name(left[0]) or not is_known_given_name(right[0]))


def _are_full(left: list[str], right: list[str]) -> bool:
    are_several = min(len(left), len(right)) > 1
    return are_several and fold(left[0]) not in _TYING and not any(len(word.rstrip(".")) == 1 for word in right)


def _are_generations(words: list[str]) -> bool:
    return bool(words) and all(fold(word.rstrip(".")) in GENERATIONS for word in words)


def _are_parts(words: list[str]) -> bool:
    """Tell whether words can all be parts of one name, which is no mere initials."""
    is_more = any(len(word.rstrip(".")) > 1 or has_no_blanks(word * 2) for word in words)
    return is_more and len(words) <= _MOST_WORDS and all(map(_is_part, words))


def _is_part(word: str) -> bool:
    if not _WORD.fullmatch(word) or word.upper() in Operator.__members__:
        return False
    if word.endswith(".") and len(word) > _LONGEST_SHORTENED + 1 and not _INITIALS.fullmatch(word):
        return False
    if not word[0].islower():
        return True
    begun, _, rest = re.sub("[\\-\u2010\u2011]", "-", word).partition("-")
    return fold(begun) in _TYING or bool(_ELIDED.match(word) and any(map(str.isupper, rest or word)))


def _is_thing(word: str) -> bool:
    folded = fold(word)
    if folded in GIVEN_NAMES:
        return False
    parts = re.split("[\\-\u2010\u2011]", folded)
    return bool(_TOPIC.search(folded)) or any({part, part.removesuffix("s")} & _THINGS for part in parts)
