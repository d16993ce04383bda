"""Opens bodies from outside safely: tells errors from answers before parsing, and sets bad entries aside.

Nothing is trusted: not the status, not the content type. A body is XML in UTF-8 without a document
type, of a bearable size, well-formed to its last byte, or it is an error of the `ArxivError` tree.
The parser is Python's own expat, fed in small pieces: of the ways tried it is the fastest to get from
bytes to values, and the one that needs the least memory.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, cast
from xml.etree.ElementTree import ParseError, XMLPullParser
from xml.parsers import expat

from digest.model.errors import ArxivHostile, ArxivThrottled, ArxivTruncated, ArxivUnreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from xml.etree.ElementTree import Element


BODY_LIMIT = 25_000_000
"""Bytes. The largest page arXiv is known to send, 2,500 papers with versions, has about 6 million."""

MOST_ELEMENTS = 1_500_000
"""What a page at the limit may have if it lists nothing but authors; arXiv's pages have 60,000."""

DEEPEST = 200
"""So many elements may be open where a piece ends. arXiv nests five deep."""

_MOST_BESIDE = 1_000
"""So many elements may stand beside the entries. arXiv has ten there."""

_PIECE = 16_384
"""Bytes given to the parser at a time: what comes of them stays in the processor's cache."""

_MARK_OF_ORDER = b"\xef\xbb\xbf"
_RATE_EXCEEDED = b"rate exceeded"
_PROLOG = re.compile(rb"(?:\s++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
_DECLARED = re.compile(rb"<\?xml\s")
_DECLARATION = re.compile(
    rb"""<\?xml \s+ version \s*=\s* (?:"1\.[0-9]+"|'1\.[0-9]+')
    (?: \s+ encoding \s*=\s* (?: "(?P<double>[\w.-]+)" | '(?P<single>[\w.-]+)' ) )?
    (?: \s+ standalone \s*=\s* (?:"(?:yes|no)"|'(?:yes|no)') )? \s* \?>""",
    re.VERBOSE,
)
_READABLE_ENCODINGS = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})
_SHOWN = 60

TRY_AGAIN = "Nothing was stored from it and nothing is lost: the next poll asks again."


def check_body(body: bytes) -> None:
    """Tell whether a body may be given to the XML parser.

    Raises:
        ArxivThrottled: it is the text "Rate exceeded.", which comes under any status.
        ArxivHostile: it is too large, or has a document type and with it, perhaps, entities.
        ArxivTruncated: it is empty.
        ArxivUnreadable: it is a web page, plain text, or in another encoding than UTF-8.
    """
    if len(body) > BODY_LIMIT:
        raise ArxivHostile(f"the body has more than {BODY_LIMIT:,} bytes", hint=TRY_AGAIN)
    text = body[:4096].removeprefix(_MARK_OF_ORDER).lstrip()
    if not text:
        raise ArxivTruncated("the body is empty", hint=TRY_AGAIN)
    if text[: len(_RATE_EXCEEDED)].lower() == _RATE_EXCEEDED:
        raise ArxivThrottled("arXiv says that its rate is exceeded", hint=TRY_AGAIN)
    if b"\0" in text[:64] or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ArxivUnreadable("the body is not in UTF-8", hint=TRY_AGAIN)
    if not text.startswith(b"<"):
        shown = text[:_SHOWN].decode("utf-8", "replace")
        raise ArxivUnreadable(f"the body is no XML but a text: {shown!r}", hint=TRY_AGAIN)
    _check_prolog(body)


def _check_prolog(body: bytes) -> None:
    start = _find_start(body)
    prolog = _PROLOG.match(body, start)
    after = body[prolog.end() if prolog else start :][:64].lower()
    if after.startswith((b"<!doctype html", b"<html")):
        raise ArxivUnreadable("a web page came instead of XML", hint=TRY_AGAIN)
    if after.startswith(b"<!doctype"):
        raise ArxivHostile("the body has a document type, which arXiv never sends", hint=TRY_AGAIN)


def _find_start(body: bytes) -> int:
    """Return where a body goes on behind its mark of order and its declaration, which is judged here.

    Raises:
        ArxivTruncated: the declaration is damaged.
        ArxivUnreadable: it declares another encoding than UTF-8.
    """
    start = len(_MARK_OF_ORDER) if body.startswith(_MARK_OF_ORDER) else 0
    if not _DECLARED.match(body, start):
        return start
    declaration = _DECLARATION.match(body, start)
    if declaration is None:
        raise ArxivTruncated("the XML begins with a damaged declaration", hint=TRY_AGAIN)
    encoding = declaration["double"] or declaration["single"]
    if encoding and encoding.lower() not in _READABLE_ENCODINGS:
        raise ArxivUnreadable("the body declares another encoding than UTF-8", hint=TRY_AGAIN)
    return declaration.end()


class Document:
    """One XML document, read once: iterating gives its entries, and then `root` has everything else.

    Entries are let go of soon after they were given out, so memory holds a handful at a time.

    Args:
        body: the document.
        roots: the qualified names the root element may have; under each, those of the children of the
            root that hold the entries. None are named where the root itself holds them.
        entries: qualified names of the elements to give out.

    Raises (while iterating):
        ArxivThrottled, ArxivHostile, ArxivUnreadable: see `check_body`; or the root is another element,
            or there is an entry where none belongs, text between entries, or far too much of something.
        ArxivTruncated: it breaks off or is not well-formed.
    """

    def __init__(self, body: bytes, *, roots: Mapping[str, Collection[str]], entries: Collection[str]) -> None:
        self._body = body
        self._roots = roots
        self._names = frozenset(entries)
        self._root: Element | None = None
        self._is_read = False
        self._elements = self._entries = self._given = 0

    @property
    def root(self) -> Element:
        """The root element, its entries taken out; only after all of them were given out."""
        if self._root is None or not self._is_read:
            raise RuntimeError("the document has not been read to its end")
        return self._root

    def __iter__(self) -> Iterator[Element]:
        check_body(self._body)
        try:
            yield from self._parse(memoryview(self._body)[_find_start(self._body) :])
        except ParseError as error:
            reason = expat.ErrorString(error.code)
            raise ArxivTruncated(f"the XML breaks off or is damaged: {reason}", hint=TRY_AGAIN) from error
        if self._given != self._entries:
            raise ArxivUnreadable("an entry stands where none belongs", hint=TRY_AGAIN)
        self._is_read = True

    def quarantine(self, faults: Mapping[int, str]) -> tuple[Quarantined, ...]:
        """Keep malformed entries, found under their positions, with what is wrong with them."""
        return quote_entries(self._body, self._names, faults) if faults else ()

    def _parse(self, body: memoryview) -> Iterator[Element]:
        parser: XMLPullParser[Element] = XMLPullParser(events=("start",))
        parser.feed(b"\n")  # from here on nothing is a declaration any more
        start, size = 0, _PIECE
        while start < len(body):
            parser.feed(body[start : start + size])
            start += size
            # A tag is read from its beginning until it ends: while none does, pieces grow with it.
            size = _PIECE if self._note(parser) else size * 2
            yield from self._take_entries(is_end=False)
            self._check_depth()
        parser.close()
        self._note(parser)
        yield from self._take_entries(is_end=True)
        holder = self._find_holder(self._root) if self._root is not None else None
        if holder is not None and holder.text and not holder.text.isspace():
            raise ArxivUnreadable("there is text before the entries", hint=TRY_AGAIN)

    def _note(self, parser: XMLPullParser[Element]) -> int:
        """Count the elements that have begun, and judge the root when it has; return how many they are."""
        begun = [element for _, element in cast("Iterator[tuple[str, Element]]", parser.read_events())]
        if self._root is None and begun:
            self._root = begun[0]
            if self._root.tag not in self._roots:
                shown = self._root.tag[:_SHOWN]
                raise ArxivUnreadable(f"the XML is something else: its root element is {shown}", hint=TRY_AGAIN)
        names = [element.tag for element in begun]
        self._elements += len(names)
        self._entries += sum(names.count(name) for name in self._names)
        if self._elements > MOST_ELEMENTS:
            raise ArxivHostile(f"the body has more than {MOST_ELEMENTS:,} elements", hint=TRY_AGAIN)
        return len(names)

    def _take_entries(self, *, is_end: bool) -> Iterator[Element]:
        """Give out the entries that are complete: all but the last, unless this is the end."""
        root = self._root
        if root is None:
            return
        holder = self._find_holder(root)
        if holder is None:
            return
        children = holder[:] if is_end else holder[:-1]
        beside = []
        for child in children:
            if child.tag in self._names:
                self._given += 1
                yield child
            else:
                beside.append(child)
            if child.tail and not child.tail.isspace():
                raise ArxivUnreadable("there is text between the entries", hint=TRY_AGAIN)
        holder[: len(children)] = beside
        if len(beside) > _MOST_BESIDE:
            raise ArxivHostile("the body has more beside its entries than any page has", hint=TRY_AGAIN)

    def _find_holder(self, root: Element) -> Element | None:
        """Return the element that holds the entries, None where it has not begun."""
        names = self._roots[root.tag]
        if not names:
            return root
        if len(root) > _MOST_BESIDE:
            raise ArxivHostile("the body has more beside its list than any page has", hint=TRY_AGAIN)
        lists = [child for child in root if child.tag in names]
        if len(lists) > 1:
            raise ArxivUnreadable("there is more than one list of entries", hint=TRY_AGAIN)
        return lists[0] if lists else None

    def _check_depth(self) -> None:
        element, depth = self._root, 0
        while element is not None and len(element):
            element, depth = element[-1], depth + 1
            if depth > DEEPEST:
                raise ArxivTruncated(f"the XML is damaged: more than {DEEPEST} elements are open", hint=TRY_AGAIN)


def read_text(element: Element | None) -> str:
    """Return the text of an element and everything in it, "" for none."""
    if element is None:
        return ""
    return "".join(element.itertext()) if len(element) else element.text or ""


_OPENING = re.compile(rb"<([^\s/>]+)")
_CLOSING = re.compile(rb"</([^\s>]+)\s*>")

SNIPPET_LIMIT = 8_192
"""Bytes kept of a malformed entry: enough to see what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A malformed entry among good ones.

    Attributes:
        position: which entry of its page it was, from 0.
        snippet: its XML as it came, at most `SNIPPET_LIMIT` bytes of it.
        error: what is wrong with it.
    """

    position: int
    snippet: bytes
    error: str


class MalformedEntry(ValueError):
    """One entry of a page cannot be read; its page may be fine."""


def quote_entries(body: bytes, names: Collection[str], faults: Mapping[int, str]) -> tuple[Quarantined, ...]:
    """Return the entries of a well-formed page that have faults, in order.

    Args:
        body: the page.
        names: the entries' qualified names.
        faults: what is wrong with an entry, under its position in the page.
    """
    wanted = {name.removeprefix("{") for name in names}
    parser = expat.ParserCreate(encoding="utf-8", namespace_separator="}")
    begins: list[int] = []
    ends: list[int] = []

    def note_begin(name: str, _: object) -> None:
        if name in wanted:
            begins.append(parser.CurrentByteIndex)

    def note_end(name: str) -> None:
        if name in wanted:
            at = parser.CurrentByteIndex  # before the closing tag, but behind an element that has none
            opening, closing = _OPENING.match(body, begins[-1]), _CLOSING.match(body, at)
            ends.append(closing.end() if opening and closing and opening[1] == closing[1] else at)

    parser.StartElementHandler = note_begin
    parser.EndElementHandler = note_end
    parser.Parse(body, True)  # noqa: FBT003 - the parser's own way to say that this is all
    return tuple(
        Quarantined(position, body[begins[position] : ends[position]][:SNIPPET_LIMIT], error)
        for position, error in sorted(faults.items())
    )


_UNWANTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")
"""Control characters, and the marks that turn the direction of a line around: neither is text."""

_PARAGRAPH = re.compile(r"\r?\n(?:[ \t]*\r?\n)+[ \t]*|\r?\n[ \t]+")
_PARAGRAPH_MARKS = ("\n ", "\n\n", "\n\t", "\r")
"""Every new paragraph has one of these at its beginning."""

_DOI_PREFIX = re.compile(r"\A(?:doi:|(?:https?://)?(?:dx\.)?doi\.org/)", re.IGNORECASE)
_WITHDRAWN = re.compile(
    r"\A\W*withdrawn\b|\bwithdrawn by\b|"
    r"\b(?:this|paper|submission|article|manuscript|preprint|work|note|and) (?:has|is|was)"
    r"(?: (?:been|now|hereby|therefore|temporarily))* withdrawn\b",
    re.IGNORECASE,
)
_NOT_THIS_VERSION = re.compile(
    r"\b(?:versions?|v\d+|which|that|replac\w+|supersed\w+|instead of)\b[^.;]*\Z", re.IGNORECASE
)
_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}
_RFC_DATE = re.compile(
    r"(?:[A-Z][a-z]{2},\s+)?(?P<day>\d{1,2})\s+(?P<month>[A-Z][a-z]{2})\s+(?P<year>\d{4})\s+"
    r"(?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})\s+(?:GMT|UTC?|(?P<sign>[+-])(?P<zone>\d{4}))",
    re.ASCII,
)

_DATESTAMP = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}:\d{2}Z)?", re.ASCII)


def clean(text: str) -> str:
    """Return text in NFC without control characters; white space is left as it is."""
    # Two plain passes that settle nearly every text are ten times faster than the expression.
    kept = text if text.replace("\n", " ").isprintable() else _UNWANTED.sub("", text)
    return kept if kept.isascii() else unicodedata.normalize("NFC", kept)


def fold_line(text: str) -> str:
    """Return text as one line: cleaned, each run of white space one blank, none at the ends."""
    if not text.isprintable():
        return " ".join(clean(text).split())
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    # Most texts come folded already: among printable characters the blank is the only white space.
    return " ".join(text.split()) if "  " in text or text[:1] == " " or text[-1:] == " " else text


def fold_paragraphs(text: str) -> str:
    r"""Return text cleaned and folded, its paragraphs separated by one "\n"."""
    if "\n" not in text:
        return fold_line(text)
    cleaned = clean(text).strip()
    if not any(mark in cleaned for mark in _PARAGRAPH_MARKS):
        return " ".join(cleaned.split())
    paragraphs = (" ".join(part.split()) for part in _PARAGRAPH.split(cleaned))
    return "\n".join(part for part in paragraphs if part)


def split_dois(*texts: str) -> tuple[str, ...]:
    """Return every DOI in arXiv's DOI fields, in order, without prefixes and stray punctuation.

    The field is one line of authors' making: two DOIs are parted by a blank, a comma or "; ".
    """
    if not texts:
        return ()
    parts = (_DOI_PREFIX.sub("", part.strip(";,")) for text in texts for part in clean(text).split())
    return tuple(dict.fromkeys(part for part in parts if part))


def says_withdrawn(comment: str) -> bool:
    """Whether a folded comment says that this very version withdraws the paper.

    Conservative: a comment that speaks of another version, or of the paper it replaces, does not count.
    """
    if comment.isascii() and "withdrawn" not in comment.lower():
        return False
    found = _WITHDRAWN.search(comment)
    return found is not None and _NOT_THIS_VERSION.search(comment[: found.start()]) is None


def read_iso_date(text: str) -> datetime:
    """Read an RFC 3339 moment; return it in UTC.

    Raises:
        ValueError: it is none, or lies outside of what can be computed with.
    """
    moment = datetime.fromisoformat(text.strip())
    return _to_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def read_day(text: str) -> date:
    """Read a UTC day as OAI-PMH writes datestamps, whether or not a time of that day follows.

    Raises:
        ValueError: it is none.
    """
    match = _DATESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()[:40]!r} is no day")
    return date(int(match[1]), int(match[2]), int(match[3]))


def read_rfc_date(text: str) -> datetime:
    """Read a moment as mail headers write it (RFC 5322 §3.3, with seconds); return it in UTC.

    Raises:
        ValueError: it is none, or lies outside of what can be computed with.
    """
    match = _RFC_DATE.fullmatch(text.strip())
    if match is None or match["month"] not in _MONTHS:
        raise ValueError(f"{text.strip()[:40]!r} is no date")
    day, month, year, hour, minute, second, sign, zone = match.groups()
    return _to_utc(
        datetime(
            int(year),
            _MONTHS[month],
            int(day),
            int(hour),
            int(minute),
            int(second),
            tzinfo=UTC if zone is None else _read_zone(sign, zone),
        )
    )


def _read_zone(sign: str, digits: str) -> timezone:
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if sign == "-" else offset)


def _to_utc(moment: datetime) -> datetime:
    if moment.tzinfo is UTC:
        return moment
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{moment.isoformat()} is out of range") from error
