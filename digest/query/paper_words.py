"""What queries compare of a paper: the words of its texts, its authors' names, a few values.

Reading words is most of the work of an index. So `PaperWords` can be packed and kept, with `RULES`,
the version of the rules by which they were read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, Self

from digest.model.papers import ArxivId, Paper
from digest.query.names import list_readings
from digest.query.tree import Prefix
from digest.query.words import STOP_WORDS, cut_words, part_word, read_parted, read_word
from digest.tex import parse_tex, parse_words
from digest.tex.tokens import DROPPED

RULES: Final = 1
"""The version of the rules that read words and names.

Raise it whenever a text or a name is read otherwise: then what is kept is read anew.
"""

TEXTS: Mapping[Prefix, str] = {
    Prefix.TITLE: "title",
    Prefix.ABSTRACT: "abstract",
    Prefix.COMMENT: "comment",
    Prefix.JOURNAL_REF: "journal_ref",
    Prefix.REPORT_NO: "report_no",
}
"""The prefixes that search words -> the attribute of an AnalysedPaper, and of a Paper, for each."""

# What is kept of a text; none of these is in a word or a part of a name.
NEXT = "\t"
"""Around words, and between the parts of a name."""
AGAIN = "\n"
"""Between the readings of a text or a name."""
_NOTHING = "\v"
"""Instead of what has no word."""
_END = "\f"
"""Between texts and names that are packed."""

_HAS_TEX = re.compile(rf"[\\${DROPPED}]")
_NAME_HAS_TEX = re.compile(rf"[\\${DROPPED}]|--")
"""A dash typed as two hyphens holds the parts of a name together."""

_ASCII = [chr(code) for code in range(128)]
_COMPARED = [sign.lower() if sign.isalnum() or sign in "_.,;'" else " " for sign in _ASCII]
_BLANKS = "".join(_COMPARED).encode().ljust(256)
"""ASCII in lower case; a sign that no word goes on after is a blank."""


@dataclass(frozen=True, slots=True)
class PaperWords:
    """The words of a paper's texts and the parts of its authors' names, as they are compared.

    Attributes:
        texts: in the order of `TEXTS`; the words of each, not stemmed, have `NEXT` around them. A
            text that has words with parts is there twice, with `AGAIN` between.
        names: of each author all readings, their parts with `NEXT` between.
    """

    texts: tuple[str, ...]
    names: tuple[str, ...]

    def pack(self) -> bytes:
        """Return them as few bytes."""
        return zlib.compress(_END.join((*self.texts, *self.names)).encode())

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """Return what was packed."""
        kept = zlib.decompress(packed).decode().split(_END)
        return cls(tuple(kept[: len(TEXTS)]), tuple(kept[len(TEXTS) :]))

    def list_texts(self) -> list[Sequence[str]]:
        """Return the words of title and abstract, as `read_word` gives them."""
        title, abstract, *_ = self.texts
        return [split_whole(title), split_whole(abstract)]


@dataclass(frozen=True, slots=True)
class IndexedPaper:
    """A paper as far as queries can tell it from another; its fields are those of a Paper."""

    id: ArxivId
    version: int
    categories: tuple[str, ...]
    published: datetime
    dois: tuple[str, ...]
    license: str
    words: PaperWords


class WordReader(dict[str, str]):
    """Reads the words of papers: what several have between blanks is read once.

    It maps what is between blanks to its words as they are compared, not stemmed.
    """

    def __init__(self) -> None:
        super().__init__()
        self._parted: dict[str, str] = {}

    def __missing__(self, piece: str) -> str:
        found = self._read_piece(piece)
        self[piece] = found
        return found

    def _read_piece(self, piece: str) -> str:
        if piece.isalnum() and piece.isascii():  # as most
            word = piece.lower()
            return read_word(word) if word in STOP_WORDS else word
        words = cut_words(piece)
        if any(map(part_word, words)):
            self._parted[piece] = NEXT.join(read_parted(words))
        return NEXT.join(map(read_word, words)) if words else _NOTHING

    def read_text(self, raw: str) -> str:
        """Return a text's words, `NEXT` around each: read whole and, if any has parts, parted."""
        plain = raw
        if _HAS_TEX.search(raw):
            plain = "".join([piece.text for piece in parse_words(raw)])
        if plain.isascii():
            plain = plain.encode().translate(_BLANKS).decode()
            plain = plain.replace(". ", " ").replace(", ", " ")
        pieces = plain.split()
        whole = enclose(map(self.__getitem__, pieces)) if pieces else ""
        if self._parted.keys().isdisjoint(pieces):
            return whole
        parted = [self._parted.get(piece) or self[piece] for piece in pieces]
        return whole + AGAIN + enclose(parted)

    def read(self, paper: Paper) -> PaperWords:
        """Return the words of a paper."""
        texts = [self.read_text(getattr(paper, name)) for name in TEXTS.values()]
        names = [_read_name(author.name) for author in paper.authors]
        return PaperWords(tuple(texts), tuple(names))

    def index(self, paper: Paper | IndexedPaper) -> IndexedPaper:
        """Return a paper with its words; one that has them comes back as it is."""
        if isinstance(paper, IndexedPaper):
            return paper
        return IndexedPaper(
            id=paper.id,
            version=paper.version,
            categories=paper.categories,
            published=paper.published,
            dois=paper.dois,
            license=paper.license,
            words=self.read(paper),
        )


@lru_cache(maxsize=2**14)
def _read_name(name: str) -> str:
    plain = name
    if _NAME_HAS_TEX.search(name):
        plain = "".join([piece.text for piece in parse_tex(name)])
    return AGAIN.join([NEXT.join(parts) for parts in list_readings(plain) if parts])


def enclose(words: Iterable[str]) -> str:
    """Return words as one text, with `NEXT` around each; "" for none."""
    text = f"{NEXT}{NEXT.join(words)}{NEXT}".replace(f"{_NOTHING}{NEXT}", "")
    return text if len(text) > 1 else ""


def split(text: str) -> Sequence[str]:
    """Return the words of a text, of all its readings."""
    if not text:
        return ()
    as_one = text[1:-1].replace(f"{NEXT}{AGAIN}{NEXT}", NEXT)
    return as_one.split(NEXT)


def split_whole(text: str) -> Sequence[str]:
    """Return the words of a text as it is read whole."""
    whole, _, _ = text.partition(AGAIN)
    return whole[1:-1].split(NEXT) if whole else ()


def read_words(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """Yield the words of each raw text in order, as `read_word` gives them."""
    return map(split_whole, map(WordReader().read_text, texts))
