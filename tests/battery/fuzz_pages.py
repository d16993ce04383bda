"""Small pages of arXiv's interfaces to mutate, each with what was asked for and what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.fakes.pages import (
    atom_author,
    atom_entry,
    atom_feed,
    error_feed,
    legacy_feed,
    oai_entry,
    oai_error,
    oai_page,
    raw_paper,
    raw_version,
)


@dataclass(frozen=True, slots=True)
class Seed:
    """A page as it comes undamaged.

    Attributes:
        interface: "atom" or "oai".
        body: the page.
        entries: how many it holds.
        start: with which paper of the search it begins; only the search knows such a thing.
        size: how many papers were asked for.
        token: the token of a harvest's next page, "" where none comes.
        verdict: what becomes of it undamaged, as the oracle says it.
    """

    interface: str
    body: bytes
    entries: int = 0
    start: int = 0
    size: int = 10
    token: str = ""
    verdict: str = "accepted"


_TOKEN = "verb%3DListRecords%26metadataPrefix%3DarXivRaw%26from%3D2026-11-19%26skip%3D2500"
_GONE_ON = _TOKEN.replace("2500", "5000")
_CONTINUED = b'<request verb="ListRecords" resumptionToken="' + _TOKEN.encode() + b'">'


def _continue(page: bytes) -> bytes:
    return page.replace(b'<request verb="ListRecords">', _CONTINUED)


_ENTRIES = (
    atom_entry(
        "2611.00001v1",
        authors=atom_author("Ö. One", "X & Y") + atom_author("The Slow Collaboration"),
    ),
    atom_entry(
        "hep-th/9901001v12",
        title="On $\\mu$ and <b>",
        extra="<arxiv:doi>10.1/a; 10.1/b</arxiv:doi>",
    ),
    atom_entry(
        "2611.00002v2",
        summary="First.\n  Second.",
        extra="<arxiv:comment>Withdrawn</arxiv:comment>",
    ),
)
_LISTED = (
    oai_entry(
        raw_paper("2611.00001", authors="A. One (1), B. Two (1 and 2) ((1) X, (2) Y)"),
        id_="2611.00001",
    ),
    oai_entry(
        raw_paper(
            "hep-th/9901001",
            versions=raw_version(
                1, "Fri, 1 Jan 1999 00:00:01 GMT", "<size>1kb</size><source_type>D</source_type>"
            )
            + raw_version(
                2, "Sun, 1 Nov 2026 10:00:00 GMT", "<size>0kb</size><source_type>I</source_type>"
            ),
            title="On Erd\\H{o}s $x^2$",
            authors='P\\i nar T\\"oz\\"un and B. Two, Jr., for the Slow Collaboration',
            extra="<comments>7 pages</comments><doi>10.1/a</doi><report-no>SLOW-1</report-no>",
        ),
        id_="hep-th/9901001",
    ),
    oai_entry(id_="2611.00009", status="deleted"),
)

SEEDS: Final = (
    Seed("atom", atom_feed(*_ENTRIES), 3),
    Seed("atom", atom_feed(*_ENTRIES, total=40, start=20, per_page=3), 3, start=20, size=3),
    Seed("atom", atom_feed(_ENTRIES[0], total=21, start=20), 1, start=20),
    Seed("atom", legacy_feed(), 1, start=20, size=20),
    Seed("atom", atom_feed(total=0)),
    Seed("atom", error_feed("incorrect id format for abc"), verdict="ArxivRejected"),
    Seed("oai", oai_page(*_LISTED, token=_TOKEN), 3, token=_TOKEN),
    Seed("oai", _continue(oai_page(*_LISTED[:2], token=_GONE_ON)), 2, token=_GONE_ON),
    Seed("oai", _continue(oai_page(*_LISTED, token="")), 3),
    Seed("oai", oai_page(*_LISTED[:2]), 2),
    Seed("oai", oai_page(_LISTED[0], verb="GetRecord"), 1),
    Seed("oai", oai_error("noRecordsMatch")),
    Seed("oai", oai_error("badResumptionToken"), verdict="TokenExpired"),
)
