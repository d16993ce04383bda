"""Bodies from outside, made safe to read: told apart before parsing, then given out piece by piece.

Nothing is trusted: not the status, not the content type. A body is XML in UTF-8 without a document
type, of a bearable size, well-formed to its last byte, or it is an error of the `ArxivError` tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

from lxml import etree

from digest.errors import ArxivHostile, ArxivThrottled, ArxivTruncated, ArxivUnreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

BODY_LIMIT = 25_000_000
"""Bytes. The largest page arXiv is known to send, 2,500 papers with versions, has about 6 million."""

SNIPPET_LIMIT = 8_192
"""Bytes kept of a malformed entry: enough to see what is wrong with it."""

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
        snippet: its XML, at most `SNIPPET_LIMIT` bytes of it.
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
    """One XML document, read once: iterating gives its parts, and then `root` has everything else.

    Parts are let go of as soon as the next one is asked for, so memory holds one at a time.

    Args:
        body: the document.
        roots: qualified names the root element may have.
        parts: qualified names of the elements to give out.

    Raises (while iterating):
        ArxivThrottled, ArxivHostile, ArxivUnreadable: see `check_body`; or the root is another element.
        ArxivTruncated: it breaks off or is not well-formed.
    """

    def __init__(self, body: bytes, *, roots: Collection[str], parts: Collection[str]) -> None:
        self._body = body
        self._roots = roots
        self._parts = tuple(parts)
        self._root: etree._Element | None = None

    @property
    def root(self) -> etree._Element:
        """The root element, its parts taken out; only after all of them were given out."""
        if self._root is None:
            raise RuntimeError("the document has not been read to its end")
        return self._root

    def __iter__(self) -> Iterator[etree._Element]:
        check_body(self._body)
        events = etree.iterparse(
            BytesIO(self._body),
            events=("end",),
            tag=self._parts,
            resolve_entities=False,
            load_dtd=False,
            dtd_validation=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
            huge_tree=False,
        )
        done: etree._Element | None = None
        try:
            for _, element in events:
                if done is not None:
                    _take_out(done)
                yield element
                done = element
        except etree.XMLSyntaxError as error:
            raise ArxivTruncated(f"the XML breaks off or is damaged: {error.msg}", hint=TRY_AGAIN) from error
        root = events.root
        if root.tag not in self._roots:
            shown = str(root.tag)[:_SHOWN]
            raise ArxivUnreadable(f"the XML is something else: its root element is {shown}", hint=TRY_AGAIN)
        self._root = root


def quarantine(position: int, element: etree._Element, error: MalformedEntry) -> Quarantined:
    """Keep a malformed entry with the reason, to be looked at."""
    snippet = etree.tostring(element, encoding="utf-8", with_tail=False)[:SNIPPET_LIMIT]
    return Quarantined(position=position, snippet=snippet, error=str(error))


def read_text(element: etree._Element | None) -> str:
    """Return the text of an element and everything in it, "" for none."""
    if element is None:
        return ""
    if len(element) == 0:
        return element.text or ""
    return "".join(str(piece) for piece in element.itertext())


def _take_out(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
