"""Libraries: papers that somebody keeps elsewhere, by which digests are put in order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from digest.model.errors import ConfigurationError
from digest.model.papers import ArxivId

ZOTERO = "zotero:"

_ZOTERO_SOURCE = re.compile(r"zotero:(group/)?(\d{1,12})(?:/(.+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LibraryPaper:
    """One paper of a library, as its source says.

    Attributes:
        title: plain or TeX, "" if only its id is known.
        doi: without `https://doi.org/`, in small letters; "" for none.
        collection: where in the library it is: a collection's path, such as `Thesis/Chapter 2`; ""
            for its top.
    """

    title: str
    abstract: str = ""
    arxiv_id: ArxivId | None = None
    doi: str = ""
    collection: str = ""


@dataclass(frozen=True, slots=True)
class LibraryReading:
    """What a source held when it was read.

    Attributes:
        troubles: what could not be read, one sentence each, with its line if there is one.
        version: tells this state of the source from another: a hash of the file, or Zotero's
            version.
    """

    papers: tuple[LibraryPaper, ...]
    troubles: tuple[str, ...] = ()
    version: str = ""


class Opinion(StrEnum):
    """What a person said of one paper: show more like it, or less."""

    MORE = "more"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Near:
    """How near a paper is to what somebody keeps and likes.

    Attributes:
        nearness: more is nearer; it compares papers for one subscription alone.
        is_top: it is in the top tenth of its announcement.
        title: of the nearest paper in the library; "" if only dislikes are known.
        words: the three shared words that count most, each with its share in percent; () unless it
            is explained.
        place: its place by nearness among the new papers of its announcement, from 1; 0 if that is
            not known.
        papers: how many new papers of that announcement are stored, so that `place` is one of them.
    """

    nearness: int
    is_top: bool
    title: str
    words: tuple[tuple[str, int], ...] = ()
    place: int = 0
    papers: int = 0


@dataclass(frozen=True, slots=True)
class ZoteroSource:
    """A library at Zotero: a person's or a group's, whole or one collection with those below it."""

    number: int
    is_group: bool = False
    collection: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `zotero:1234567`, `zotero:group/98765` or `zotero:1234567/Thesis/Chapter 2`."""
        found = _ZOTERO_SOURCE.fullmatch(text)
        if found is None:
            raise ConfigurationError(
                f"{text!r} names no library at Zotero",
                hint="Write zotero:1234567 (your user id), zotero:group/98765, or "
                "zotero:1234567/Collection.",
            )
        return cls(int(found[2]), is_group=bool(found[1]), collection=(found[3] or "").strip("/"))
