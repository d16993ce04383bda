"""Bodies from outside, made safe to read: told apart before parsing, then given out piece by piece.

Nothing is trusted: not the status, not the content type. A body is XML in UTF-8 without a document
type, of a bearable size, well-formed to its last byte, or it is an error of the `ArxivError` tree.
The parser is Python's own expat, fed in small pieces: of the ways tried it is the fastest to get from
bytes to values, and the one that needs the least memory.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast
from xml.etree.ElementTree import ParseError, XMLPullParser
from xml.parsers import expat

from digest.arxiv.quarantine import quote_entries
from digest.errors import ArxivHostile, ArxivThrottled, ArxivTruncated, ArxivUnreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from xml.etree.ElementTree import Element

    from digest.arxiv.quarantine import Quarantined

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
