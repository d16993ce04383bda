"""Bodies from outside, made safe to read: told apart before parsing, then given out piece by piece.

Nothing is trusted: not the status, not the content type. A body is XML in UTF-8 without a document
type, of a bearable size, well-formed to its last byte, or it is an error of the `ArxivError` tree.
The parser is Python's own expat, fed in small pieces: of the ways tried it is the fastest to get from
bytes to values, and the one that needs the least memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError, XMLPullParser  # noqa: S405 - no body with a document type gets here
from xml.parsers import expat  # noqa: S407 - the same

from digest.errors import ArxivHostile, ArxivThrottled, ArxivTruncated, ArxivUnreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from xml.etree.ElementTree import Element  # noqa: S405 - the same

BODY_LIMIT = 25_000_000
"""Bytes. The largest page arXiv is known to send, 2,500 papers with versions, has about 6 million."""

SNIPPET_LIMIT = 8_192
"""Bytes kept of a malformed entry: enough to see what is wrong with it."""

DEEPEST = 200
"""So many elements may be open at once where a piece ends. arXiv nests five deep."""

MOST_HELD = 250_000
"""So many elements may come without an entry among them that can be let go of; a paper by 3,000 has 10,000."""

_PIECE = 16_384
"""Bytes given to the parser at a time: small enough for the processor's cache, which halves the time."""

_MARK_OF_ORDER = b"\xef\xbb\xbf"
_RATE_EXCEEDED = b"rate exceeded"
_PROLOG = re.compile(rb"(?:\s++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
_DECLARED_ENCODING = re.compile(rb"""\A<\?xml\s[^>]*?encoding\s*=\s*["']([^"']*)["']""")
_READABLE_ENCODINGS = frozenset({b"utf-8", b"utf8", b"us-ascii", b"ascii"})
_SHOWN = 60

TRY_AGAIN = "Nothing was stored from it and nothing is lost: the next poll asks again."


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
    declared = _DECLARED_ENCODING.match(body.removeprefix(_MARK_OF_ORDER).lstrip()[:256])
    if declared and declared[1].strip().lower() not in _READABLE_ENCODINGS:
        raise ArxivUnreadable("the body declares another encoding than UTF-8", hint=TRY_AGAIN)
    start = len(_MARK_OF_ORDER) if body.startswith(_MARK_OF_ORDER) else 0
    prolog = _PROLOG.match(body, start)
    after = body[prolog.end() if prolog else start :][:64].lower()
    if after.startswith((b"<!doctype html", b"<html")):
        raise ArxivUnreadable("a web page came instead of XML", hint=TRY_AGAIN)
    if after.startswith(b"<!doctype"):
        raise ArxivHostile("the body has a document type, which arXiv never sends", hint=TRY_AGAIN)


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
            or an entry stands where none belongs.
        ArxivTruncated: it breaks off or is not well-formed.
    """

    def __init__(self, body: bytes, *, roots: Mapping[str, Collection[str]], entries: Collection[str]) -> None:
        self._body = body
        self._roots = roots
        self._names = frozenset(entries)
        self._started = 0
        self._given = 0
        self._root: Element | None = None
        self._is_read = False

    @property
    def root(self) -> Element:
        """The root element, its entries taken out; only after all of them were given out."""
        if self._root is None or not self._is_read:
            raise RuntimeError("the document has not been read to its end")
        return self._root

    def __iter__(self) -> Iterator[Element]:
        check_body(self._body)
        body = memoryview(self._body)
        parser = XMLPullParser(events=("start",))
        start, size, held = 0, _PIECE, 0
        try:
            while start < len(body):
                parser.feed(body[start : start + size])
                start += size
                come = self._note_started(parser)
                # A tag that does not end is read from its beginning with each piece: let those grow with it.
                size = _PIECE if come else size * 2
                given = self._given
                yield from self._take_entries(is_last=False)
                held = come if self._given > given else held + come
                self._check_shape(held)
            parser.close()
            self._note_started(parser)
        except ParseError as error:
            raise ArxivTruncated(f"the XML breaks off or is damaged: {error.msg}", hint=TRY_AGAIN) from error
        yield from self._take_entries(is_last=True)
        if self._given != self._started:
            raise ArxivUnreadable("an entry stands where none belongs", hint=TRY_AGAIN)
        self._is_read = True
