"""What BibTeX and RIS share: the key of a paper, its authors' names in parts, its month, its DOI."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from digest.query.names import is_generation
from digest.query.people import PARTICLES
from digest.query.words import fold
from digest.render.marking import show_plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from digest.papers import ArxivId, Author, Paper

_DOI = re.compile(r"10\.[0-9]{4,9}/[!-~]+")
"""What can stand in an address: printable ASCII without blanks."""

_NO_DOI = re.compile(r'["%<>\\^`{|}]')
_EAST_ASIAN = re.compile(
    r"[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af]+"
)
"""Chinese, Japanese and Korean in their own scripts, in which the last name is written first."""

_GROUPS = frozenset(("collaboration", "collaborations", "consortium", "group", "team"))
"""How an author's name ends that is no person's."""

_GROUP_STARTS = frozenset(("the", "on", "for"))


@dataclass(frozen=True, slots=True)
class WrittenName:
    """An author's name in plain Unicode, cut as reference managers want it.

    Attributes:
        last: the last name with its particles; a group's whole name.
        given: given names and initials as printed, "" for a group or a single name.
        generation: such as `Jr.`, "" for none.
        is_group: whether it names a collaboration.
    """

    last: str
    given: str = ""
    generation: str = ""
    is_group: bool = False


def write_names(authors: Iterable[Author]) -> list[WrittenName]:
    """Cut the authors' names, in order; names without any character to show are left out."""
    names = (show_plain(author.name) for author in authors)
    return [cut_name(name) for name in names if name]


def cut_name(name: str) -> WrittenName:
    """Cut a plain name as printed, `Ludwig van Beethoven`, `Beethoven, Ludwig` or `李 明`, into its parts."""
    words = name.split()
    if fold(words[-1].strip(".,:;()")) in _GROUPS:
        return WrittenName(name, is_group=True)
    pieces = [piece.strip() for piece in name.split(",") if piece.strip()]
    generation = next((piece for piece in pieces[1:] if is_generation(piece)), "")
    pieces = [piece for piece in pieces if piece != generation]
    if not pieces:
        return WrittenName(name, is_group=True)
    if len(pieces) > 1:
        return WrittenName(pieces[0], " ".join(pieces[1:]), generation)
    words = pieces[0].split()
    if len(words) > 1 and all(map(_EAST_ASIAN.fullmatch, words)):
        return WrittenName(words[0], " ".join(words[1:]), generation)
    while len(words) > 1 and is_generation(words[-1]):
        generation = words.pop()
    start = len(words) - 1
    while start > 1 and fold(words[start - 1].strip(".")) in PARTICLES:
        start -= 1
    return WrittenName(" ".join(words[start:]), " ".join(words[:start]), generation)


def make_key(paper: Paper) -> str:
    """Return a paper's citation key, `Lindquell2026-2611.14886`: first author, year of version 1, id.

    The id makes it unique. A new version changes it only where it has another first author.
    """
    names = write_names(paper.authors[:1])
    name = _spell_ascii(names[0]) if names else ""
    return f"{name or 'arXiv'}{paper.published.year}-{str(paper.id).replace('/', '.')}"


def _spell_ascii(name: WrittenName) -> str:
    words = name.last.split()
    if name.is_group:
        words = [word for word in words if fold(word) not in _GROUP_STARTS][:1]
    folded = ((fold(letter), letter.isupper()) for letter in "".join(words))
    letters = "".join(text.capitalize() if is_upper else text for text, is_upper in folded)
    return "".join(letter for letter in letters if letter.isascii() and letter.isalpha())


def find_doi(paper: Paper) -> str:
    """Return the first DOI that can be written as it is, "" where there is none."""
    return next((doi for doi in paper.dois if _DOI.fullmatch(doi) and not _NO_DOI.search(doi)), "")


def drop_repeated(papers: Iterable[Paper]) -> list[Paper]:
    """Return every paper once, as it came first: a key must not stand for two."""
    first: dict[ArxivId, Paper] = {}
    for paper in papers:
        first.setdefault(paper.id, paper)
    return list(first.values())
