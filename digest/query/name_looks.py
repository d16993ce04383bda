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
from digest.query.names import is_generation
from digest.query.people import PARTICLES, has_no_blanks
from digest.query.tokens import Operator
from digest.query.words import fold

_WORD = re.compile(
    r"['’]t|(?:[^\W\d_]+(?:['’`\u02bc\-\u2010\u2011][^\W\d_]+)*"
    r"|[\-\u2010\u2011]?[^\W\d_](?:\.[-\u2010\u2011]?[^\W\d_])*)\.?"
)
_INITIALS = re.compile(r"[\-\u2010\u2011]?[^\W\d_](?:\.[-\u2010\u2011]?[^\W\d_])*\.")
_ELIDED = re.compile(r"[^\W\d_]{1,2}['’`\u02bc\-\u2010\u2011][^\W\d_]")
_GROUP = re.compile(r"(?:(?:of|for|the) |[^\W_a-z][^\s,;]* )+(?:[Cc]ollaborations?|[Cc]onsortium)")
_TOPIC = re.compile(r"(?:tion|sion|ment|ness|ity|ics|ism|logy|work|ency|ance|ence|ical|ous)s?\Z")
"""How words for things end. Some names do, too: they need a given name that is known, or an initial."""

_WORDS = """
about after against aging algebra algorithm analysis and annealing architecture are as at atom bargaining bayes
be between beyond big binding black bonding boson brain braking branching breaking broadcasting by caching cancer
category cell chain channel circuit class cloud cluster clustering code coding cold complex computer computing
control convex cooling cosmic counting coupling covering crossing damping dark data decoding deep detecting
detector diffusion doping driving during dynamic dynamical edge effect electron embedding encoding energy
engineering equation error estimating factory fast fermion field filtering fluid folding for force forecasting
fourier from function galaxy game gas gate gauge gene general geometry graph group hashing heating hedging
hepatitis high history hole image imaging in into inventory inverse is its labeling laboratory language large
laser lasing lattice law learning lensing level light limit linear local localizing loop low machine magnetic
manifold manufacturing map mapping market mass matching matrix matter measure memory method metric mining mixing
mobile mode model modeling modelling molecular monitoring monte moving multi natural navigating nesting network
networking neural neutron new noise nuclear number observatory of on open optical optimal order ordering our over
packing pairing parallel parsing particle path percolating phase phasing photon planning plasma point polynomial
power pricing prime probe problem process processing profiling program programming protein pruning pumping
quantum quenching query random ranking rate reading real reasoning regime rendering ring risk robot rotating
routing sample sampling scale scaling scattering scheduling science screening search searching segmenting self
semi sensing sequence series set sharing shearing shift signal signaling single smart smoothing solar solid
sorting source space spacing spanning sparse spectral speech spin splitting spreading squeezing state steering
stochastic stopping storing streaming stretching string strong structure super surface surfing survey swapping
switching symmetric synthesizing system tagging tail tensor territory test testing the their theorem theory
thinking this thresholding tiling time timing to topological toward towards tracking training trajectory transfer
transform transformer trapping tree tuning tunneling tunnelling type under understanding universal using vector
via vision vitamin wave weak web white with within without zero
"""
_THINGS: Final = frozenset(_WORDS.split())
"""Words of titles: with one of them, two capitals alone are no sign of a name."""

_TYING: Final = PARTICLES | frozenset(("abu", "al", "ben", "bin", "e", "el", "i", "ibn", "st", "y"))
_ARTICLES: Final = frozenset("AI")
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
    return Look.WORDS if any(map(_is_thing, words)) else _look_at_ends(words)


def _look_at_both(last: list[str], given: list[str]) -> Look:
    """Tell how much words before and behind a comma look like a name."""
    if given[0][0].islower() or _may_be_two(last, given):
        return Look.NONE
    words = [*last, *given]
    return Look.SURE if _is_evident(words, given[0]) or not any(map(_is_thing, words)) else Look.WORDS


def _look_at_ends(words: list[str]) -> Look:
    """Tell what the ends of a name without comma say: `Smith J`, `J Smith` are likely one; `Smith JA` may be."""
    ending = words[-1]
    if len(ending) == 1 or fold(ending) in _ROMAN or (len(words[0]) == 1 and words[0] not in _ARTICLES):
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
    return bool(words) and all(map(is_generation, words))


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
