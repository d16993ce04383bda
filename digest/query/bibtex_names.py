r"""The people named in one field of a `.bib` file, each as one would write the name alone.

Names are parted by `and`, and written `First von Last`, `von Last, First` or `von Last, Jr, First`; what stands
in braces is not taken apart, and accents are TeX's (Patashnik, BibTeXing, 1988). biblatex's own manual has
`given=Hans, family=Weiß` besides. `;` and `&` part names, too, as people write it. Where commas part them nobody
can tell which words belong together: such a field is refused, not guessed at.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple

from digest.query.name_looks import are_two_names
from digest.query.names import is_generation
from digest.tex import to_plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANKS = re.compile(r"[\s~]+")
_PIECE = re.compile(r"\\[A-Za-z]+\s*|\\.|\\|[^\\]", re.DOTALL)
_ENTITY = re.compile(r"&(?:#\w{1,8}|[A-Za-z]{1,12});")
_NAME_PART = re.compile(r"\s*(?:given|family|prefix|suffix)(?:-i)?\s*=", re.IGNORECASE)
_OTHERS = re.compile(r"(?:^|[\s,]+)(?:others|et\.?\s+al\.?)$", re.IGNORECASE)
_SIGNS = str.maketrans("", "", '{}"\\*$')
_FEWEST_WORDS = 2


class UnclearNames(ValueError):
    """Nobody can tell which people a field names; the message goes on behind the field's name."""


class BibtexName(NamedTuple):
    """A name, plain; `is_group` where braces around the whole of it say that it is nobody's own."""

    text: str
    is_group: bool


def read_names(value: str) -> tuple[BibtexName, ...]:
    """Return the people a field names, each once, `others` left out.

    Raises:
        UnclearNames: commas part them, or an `&` stands where it may belong to a name.
    """
    groups = list(_split_groups(html.unescape(value) if _ENTITY.search(value) else value))
    names = [_read_name(words, is_alone=len(groups) == 1) for words in groups]
    return tuple(dict.fromkeys(name for name in names if name.text))


def _split_groups(value: str) -> Iterator[list[str]]:
    """Yield each name as its words; commas are words, and braces are kept around what they hold together."""
    words: list[str] = []
    for word in (*_split_words(value), "and"):
        if word != ";" and word.lower() != "and":
            words.append(word)
            continue
        yield from (part for part in _split_at_ampersand(words) if part)
        words = []


def _split_at_ampersand(words: list[str]) -> Iterator[list[str]]:
    """Yield the names between two `&`, which may be part of a firm's name, too: `Turm & Sons`."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in ("&", "\\&"):
            parts.append([])
        else:
            parts[-1].append(word)
    if len(parts) > 1 and any(len(set(part) - {","}) < _FEWEST_WORDS for part in parts):
        raise UnclearNames("has a & where no two full names stand beside it; write and, or braces around a group")
    yield from parts


def _split_words(value: str) -> Iterator[str]:
    word: list[str] = []
    depth = 0
    for found in _PIECE.finditer(value):
        sign = found[0]
        depth = max(0, depth + (sign == "{") - (sign == "}"))
        if depth == 0 and (sign in ",;~" or sign.isspace()):
            if word:
                yield "".join(word)
            if sign in ",;":
                yield sign
            word = []
        else:
            word.append(sign)
    if word:
        yield "".join(word)


def _read_name(words: list[str], *, is_alone: bool) -> BibtexName:
    if _NAME_PART.match(" ".join(words[:2])):
        return BibtexName(_read_name_parts(words), is_group=False)
    parts = [[_resolve(word) for word in part] for part in _split_at_commas(words)]
    parts[-1:] = [_drop_others(parts[-1])]
    filled = [part for number, part in enumerate(parts) if part and not (number and _are_generations(part))]
    if len(filled) > _FEWEST_WORDS or (is_alone and len(filled) > 1 and are_two_names(*map(" ".join, filled))):
        raise UnclearNames("names several people with commas between; write and between them")
    if len(filled) > 1:
        return BibtexName(", ".join(" ".join(part) for part in filled), is_group=False)
    name = " ".join(filled[0]) if filled else ""
    if filled and len(filled[0]) > 1 and " " in filled[0][-1]:
        name = f"{filled[0][-1]}, {' '.join(filled[0][:-1])}"
    return BibtexName(name, is_group=len(words) == 1 and " " in name)


def _split_at_commas(words: Sequence[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _drop_others(part: list[str]) -> list[str]:
    """Return the last words of a name without `others` and `et al.` at their end."""
    text = " ".join(part)
    kept = _OTHERS.sub("", text)
    return part if kept == text else kept.split()


def _are_generations(part: list[str]) -> bool:
    return all(map(is_generation, part))


def _read_name_parts(words: list[str]) -> str:
    """Return a name that biblatex is told part by part: `prefix=von, family=Weiß, given=Hans`."""
    told = [" ".join(part).partition("=") for part in _split_at_commas(words) if part]
    parts = {key.strip().lower(): _resolve(value) for key, _, value in told}
    family = " ".join(filter(None, (parts.get("prefix"), parts.get("family"))))
    given = parts.get("given") or parts.get("given-i") or ""
    if not parts.get("family") or not all(sign for _, sign, _ in told):
        raise UnclearNames("tells a name part by part, and not its family=")
    return f"{family}, {given}" if given else family


def _resolve(word: str) -> str:
    """Return a word with its accents, its braces taken away."""
    plain = to_plain(word)
    return " ".join(_BLANKS.sub(" ", plain.translate(_SIGNS)).split())
