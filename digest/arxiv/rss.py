"""Reads the daily listings of rss.arxiv.org, in RSS 2.0 and in Atom: a witness of what was announced.

Source: https://info.arxiv.org/help/rss.html. A listing holds one mailing of the subjects asked for and
is empty on days without one. It is judged by its ids alone: its dates do not prove that it is fresh.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from digest.arxiv.documents import TRY_AGAIN, Document, read_text
from digest.arxiv.quarantine import MalformedEntry, Quarantined
from digest.arxiv.texts import fold_line, read_iso_date, read_rfc_date
from digest.errors import ArxivRejected, ArxivUnreadable, UsageError
from digest.papers import ArxivId

if TYPE_CHECKING:
    from datetime import datetime
    from xml.etree.ElementTree import Element

LISTING_LIMIT = 2_000
"""arXiv cuts a longer listing, and what it leaves out first is the new papers."""

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_ARXIV: Final = "{http://arxiv.org/schemas/atom}"
_OF_ENTRIES: Final = (_ARXIV + "announce_type", "guid")
_OAI_ID = re.compile(r"oai:arXiv\.org:", re.IGNORECASE)
_REFUSAL = "Feed error for query"


@dataclass(frozen=True, slots=True)
class Announced:
    """One line of a listing.

    Attributes:
        id: the paper.
        version: the version announced.
        announce_type: arXiv's word: `new`, `cross`, `replace` or `replace-cross`, as seen from the
            subjects asked for.
        categories: primary first.
        announced: the mailing, as midnight Eastern time of the morning after, in UTC.
    """

    id: ArxivId
    version: int
    announce_type: str
    categories: tuple[str, ...]
    announced: datetime


@dataclass(frozen=True, slots=True)
class Listing:
    """One mailing as a listing shows it. `built` is when arXiv wrote it (UTC)."""

    title: str
    built: datetime
    entries: tuple[Announced, ...]
    quarantined: tuple[Quarantined, ...] = ()

    @property
    def is_cut(self) -> bool:
        """Whether it may have lost papers to arXiv's limit."""
        return len(self.entries) + len(self.quarantined) >= LISTING_LIMIT


def parse_rss(body: bytes) -> Listing:
    """Read a listing in either format.

    Raises:
        ArxivRejected: it is an error feed: a subject does not exist.
        ArxivThrottled: the body is "Rate exceeded.".
        ArxivTruncated, ArxivHostile, ArxivUnreadable: the body is no whole listing.
    """
    document = Document(body, roots={"rss": ("channel",), _ATOM + "feed": ()}, entries=("item", _ATOM + "entry"))
    entries: list[Announced] = []
    faults: dict[int, str] = {}
    for position, entry in enumerate(document):
        try:
            entries.append(_read_entry(entry))
        except MalformedEntry as error:
            faults[position] = str(error)
    root = document.root
    feed = root.find("channel") if root.tag == "rss" else root
    if feed is None:
        raise ArxivUnreadable("the listing has no channel", hint=TRY_AGAIN)
    if any(child.find(name) is not None for child in feed for name in _OF_ENTRIES):
        raise ArxivUnreadable("the listing holds an entry under another name", hint=TRY_AGAIN)
    title = fold_line(_find_text(feed, "title"))
    if title.startswith(_REFUSAL):
        reason = fold_line(_find_text(feed, "description", "subtitle"))
        raise ArxivRejected(f"arXiv rejects the listing asked for: {reason}", hint="Mend the list of subjects.")
    return Listing(title, _read_built(feed), tuple(entries), document.quarantine(faults))


def _read_built(feed: Element) -> datetime:
    try:
        return _read_date(_find_text(feed, "lastBuildDate", "updated"))
    except ValueError as error:
        raise ArxivUnreadable(f"the listing does not say when it was made: {error}", hint=TRY_AGAIN) from error


def _read_entry(entry: Element) -> Announced:
    text = _OAI_ID.sub("", fold_line(_find_text(entry, "guid", "id")), count=1)
    try:
        id_, version = ArxivId.parse_versioned(text)
        announced = _read_date(_find_text(entry, "pubDate", "published"))
    except (UsageError, ValueError) as error:
        raise MalformedEntry(str(error)) from error
    announce_type = fold_line(entry.findtext(_ARXIV + "announce_type") or "")
    if version is None or not announce_type:
        raise MalformedEntry(f"{text[:80]!r} comes without a version or an announcement type")
    return Announced(id_, version, announce_type, _read_categories(entry), announced)


def _read_categories(entry: Element) -> tuple[str, ...]:
    plain = (fold_line(read_text(child)) for child in entry.iterfind("category"))
    terms = (child.get("term", "").strip() for child in entry.iterfind(_ATOM + "category"))
    return tuple(dict.fromkeys(name for name in (*plain, *terms) if name))


def _find_text(element: Element, *names: str) -> str:
    """Return the text of the first of the named children, in either format's namespace."""
    for name in names:
        for tag in (name, _ATOM + name):
            child = element.find(tag)
            if child is not None:
                return read_text(child)
    return ""


def _read_date(text: str) -> datetime:
    try:
        return read_rfc_date(text)
    except ValueError:
        return read_iso_date(text)
