"""Papers and their ids: what arXiv says of a paper, as values without behaviour of their own.

Identifier forms follow https://info.arxiv.org/help/arxiv_identifier.html: `YYMM.number` since April
2007 (four digits until 2014, five since), `archive/YYMMNNN` before. Ids are given out in order when
a paper is announced, so `ArxivId.announcement_order` sorts by announcement; no date of a paper
does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Self

from digest.model.errors import UsageError

_NEW_STYLE = re.compile(r"(?P<yymm>\d{2}(?:0[1-9]|1[0-2]))\.(?P<number>\d{4,5})", re.ASCII)
_OLD_STYLE = re.compile(
    r"""
    (?P<archive>[a-z]+(?:-[a-z]+)?)(?:\.[A-Za-z-]{2,})?       # hep-th, or math.CO: its subject
    /(?P<yymm>\d{2}(?:0[1-9]|1[0-2]))(?P<number>\d{3})        # /9901001
    """,
    re.ASCII | re.VERBOSE,
)
_VERSION = re.compile(r"v([1-9]\d{0,4})\Z", re.ASCII)
_ADDRESS = re.compile(
    r"""
    (?:
        (?:(?:https?://)?(?:[\w-]+\.)*(?:arxiv|alphaxiv)\.org/)?    # https://www.arxiv.org/
        (?:abs|pdf|html|format)/                                    # abs/2603.10026
        | (?:(?:https?://)?(?:dx\.)?doi\.org/|doi:\s*)?             # https://doi.org/, doi:
        10\.48550/                                                  # 10.48550/arXiv.2603.10026
    )
    (?P<id>[^?#]*?)(?:\.pdf)?/?(?:[?#].*)?                          # 2603.10026v2.pdf#page=3
    """,
    re.IGNORECASE | re.VERBOSE,
)
_FIRST_YEAR_OF_CENTURY = 91
"""arXiv began in August 1991: two-digit years from 91 on are of the last century."""

_NEW_STYLE_SINCE = 200704
FIVE_DIGITS_SINCE = 201501
"""The months from which on ids are written `YYMM.number`, and numbers have five digits."""


@dataclass(frozen=True, slots=True, order=True)
class ArxivId:
    """A paper's identifier without version, in arXiv's canonical spelling.

    Ordering of instances is by announcement: year and month, then number, then archive.

    Attributes:
        month: year and month as `YYYYMM`.
        number: the running number within the month (of the archive, for old ids).
        archive: the archive of an old-style id, `""` for a new-style one.
    """

    month: int
    number: int
    archive: str = ""
    digits: int = 5

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an id in any spelling people paste: bare, `arXiv:…`, with version, or an address."""
        return cls.parse_versioned(text)[0]

    @classmethod
    def parse_versioned(cls, text: str) -> tuple[Self, int | None]:
        """Read an id and the version written after it, None if there is none."""
        bare = text.strip().removesuffix(".pdf")
        address = _ADDRESS.fullmatch(bare)
        if address:
            bare = address["id"]
        if bare[:6].lower() in ("arxiv:", "arxiv."):
            bare = bare[6:].strip()
        version = _VERSION.search(bare)
        if version:
            bare = bare[: version.start()]
        match = _NEW_STYLE.fullmatch(bare) or _OLD_STYLE.fullmatch(bare)
        if match is None:
            raise UsageError(
                f"{text.strip()[:80]!r} is not an arXiv identifier",
                hint="Identifiers look like 2603.10026, 2603.10026v2 or hep-th/9901001.",
            )
        year_of_century = int(match["yymm"][:2])
        century = 1900 if year_of_century >= _FIRST_YEAR_OF_CENTURY else 2000
        id_ = cls(
            month=century * 100 + int(match["yymm"]),
            number=int(match["number"]),
            archive=match.groupdict().get("archive") or "",
            digits=len(match["number"]),
        )
        return id_, int(version[1]) if version else None

    @property
    def is_possible(self) -> bool:
        """Whether arXiv could have given it out: it counts from 1 on, in the form of its time."""
        is_old_style = bool(self.archive)
        if self.number < 1 or is_old_style != (self.month < _NEW_STYLE_SINCE):
            return False
        digits = 5 if self.month >= FIVE_DIGITS_SINCE else 4
        return is_old_style or self.digits == digits

    @property
    def announcement_order(self) -> tuple[int, int]:
        """Month and number: a paper with a larger pair was announced later (within one archive)."""
        return (self.month, self.number)

    @property
    def url(self) -> str:
        """The abstract page of the current version."""
        return f"https://arxiv.org/abs/{self}"

    def __str__(self) -> str:
        yymm = str(self.month % 10_000).zfill(4)
        number = str(self.number).zfill(self.digits)
        return f"{self.archive}/{yymm}{number}" if self.archive else f"{yymm}.{number}"


class Field(StrEnum):
    """The parts of a paper a query can look into and a reason can point into."""

    __hash__ = str.__hash__  # that of Enum is Python code, called for every place of every reason

    TITLE = "title"
    ABSTRACT = "abstract"
    AUTHORS = "authors"
    COMMENT = "comment"
    JOURNAL_REF = "journal_ref"
    CATEGORIES = "categories"
    REPORT_NO = "report_no"
    ID = "id"
    DOIS = "dois"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a paper's raw text: code points `start` to `end` (exclusive) of `field`.

    For fields with several values (authors, categories, DOIs), `index` says which value; an
    author's text is the name.
    """

    field: Field
    start: int
    end: int
    index: int = 0


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a paper matched: one clause of one saved query, and where in the paper it was met.

    Attributes:
        clause: the clause as canonical text, such as `abs:"tail latency"`.
        spans: the places that met it, in order; empty for a clause met by an absence.
        query: the saved query's name; "" until a digest is planned.
    """

    clause: str
    spans: tuple[Span, ...] = ()
    query: str = ""


@dataclass(frozen=True, slots=True)
class Author:
    """One author as the paper names them; `affiliations` as given, in order, often none."""

    name: str
    affiliations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Paper:
    r"""A paper at one version, as one of arXiv's interfaces described it.

    Texts are kept raw (with TeX as written), white space folded to single blanks, except that blank
    lines between an abstract's paragraphs stay as "\\n". Dates are submission times in UTC:
    `published` is that of version 1, `updated` that of this version. No field says when a paper was
    announced; only the order of ids does.

    Attributes:
        title: raw, never empty in practice, but "0" is a real one.
        categories: primary first, then cross-lists in arXiv's order.
        dois: every DOI, trimmed of stray punctuation.
        report_no: only OAI-PMH has it; "" otherwise.
        license: address of the licence; only OAI-PMH has it; "" otherwise.
        is_withdrawn: arXiv marks it withdrawn (OAI), or this version's comment says so.
        datestamp: UTC day on which arXiv last touched what it holds on the paper, from the OAI-PMH
            header; None if the source does not say. It is about arXiv's handling, not about the
            paper.
    """

    id: ArxivId
    version: int
    title: str
    abstract: str
    authors: tuple[Author, ...]
    categories: tuple[str, ...]
    published: datetime
    updated: datetime
    comment: str = ""
    journal_ref: str = ""
    dois: tuple[str, ...] = ()
    report_no: str = ""
    license: str = ""
    is_withdrawn: bool = False
    datestamp: date | None = None

    @property
    def primary_category(self) -> str:
        """The first category, "" for a record that names none."""
        return self.categories[0] if self.categories else ""

    @property
    def url(self) -> str:
        """The abstract page of exactly this version."""
        return f"https://arxiv.org/abs/{self.id}v{self.version}"

    @property
    def pdf_url(self) -> str:
        """The PDF of exactly this version."""
        return f"https://arxiv.org/pdf/{self.id}v{self.version}"
