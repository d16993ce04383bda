"""Opens bodies from outside safely: errors are found before parsing, bad entries are set aside.

Nothing is trusted: not the status, not the content type. A body is XML in UTF-8 without a document
type, of a bearable size, well-formed to its last byte, or it is an error of the `ArxivError` tree.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from html import unescape
from io import BytesIO
from typing import TypeVar
from xml.etree.ElementTree import Element, ParseError, iterparse, tostring

from digest.model.clock import to_utc
from digest.model.errors import (
    ArxivHostile,
    ArxivThrottled,
    ArxivTruncated,
    ArxivUnreadable,
    UsageError,
)
from digest.model.said import Said, Saying

T = TypeVar("T")

BODY_LIMIT = 25_000_000
"""Bytes. The largest known page of arXiv, 2,500 papers with versions, has about 6 million."""

_BEGINNING = 4_096
"""Within that many bytes a body says what it is."""

_DEEPEST = 200
"""arXiv nests five elements deep."""

_MARK_OF_ORDER = b"\xef\xbb\xbf"
_RATE_EXCEEDED = b"rate exceeded"
_DECLARED = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([^"']*)["']""")
_READABLE_ENCODINGS = frozenset({b"utf-8", b"us-ascii", b"ascii"})
_WEB_PAGE = re.compile(rb"<!doctype html|<html", re.IGNORECASE)
_DOCUMENT_TYPE = re.compile(rb"<!doctype", re.IGNORECASE)
_NAMESPACE = re.compile(rb"(?:(?<=<)|(?<=</))ns\d+:")
_SHOWN = 60

_CONTROLS = bytes(sorted(set(range(32)) - set(b"\t\n\r")))
_NO_CHARACTER = re.compile(
    rb"\xed[\xa0-\xbf][\x80-\xbf]|\xef\xbf[\xbe\xbf]|&#(x[\da-fA-F]{1,10}|\d{1,10});"
)
"""Halves of surrogate pairs, U+FFFE, U+FFFF; and any character by its number, which may be one."""

TRY_AGAIN = Said.of(Saying.NEXT_CHECK_ASKS)

SAME_FAULT = 5
"""That many malformed entries and no good one are no accident: the format has changed."""

SNIPPET_LIMIT = 8_192
"""Bytes kept of a malformed entry: enough to see what is wrong with it."""

_UNWANTED = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+"
)
"""Control characters, and the marks that turn the direction of a line around: neither is text."""

_PARAGRAPH = re.compile(r"\r?\n(?:[ \t]*\r?\n)+[ \t]*|\r?\n[ \t]+")
_DOI_PREFIX = re.compile(r"\A(?:doi:|(?:https?://)?(?:dx\.)?doi\.org/)", re.IGNORECASE)
_PAPER = "(?:paper|submission|article|manuscript|preprint|work|note)"
_IS = r"(?:has|is|was)(?:\ (?:been|being|now|hereby|therefore|temporarily))*\ "
_WITHDRAWN = re.compile(
    rf"""
    (?:
        # (Withdrawn)
        \A\W*

        # The present paper has been withdrawn
        | (?: \A\W* | [.;]\s+ | \b(?:this|the|our|my)\ (?:(?:present|current|above)\ )?)
          {_PAPER}\ (?:{_IS})?

        # This paper contains an error and is therefore withdrawn
        | \bthis\ (?:{_PAPER}\ (?:(?!\ to\ )[^.;]){{0,120}}?\band\ )?{_IS}

        # We would like to withdraw this paper
        | \b(?:we|i|authors?)(?:\ (?!not\b|never\b)\w+){{0,5}}
          \ (?=withdraw\ (?:this|the|our|my)\ {_PAPER}\b)

        # withdrawn by the author
        | (?<!not\ )(?<!previously\ )
          (?=withdrawn\ by\ (?:\w+\ ){{0,2}}(?:author|submitter|arxiv|us\b|me\b))
    )
    (?:withdrawn?|retracted|removed(?=\ by\ arxiv))\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOT_THIS_VERSION = re.compile(
    r"\b(?:versions?|v\d+|which|that|replac\w+|supersed\w+|instead of)\b[^.;]*\Z", re.IGNORECASE
)
_FROM_ELSEWHERE = re.compile(
    rf"""
    (?:\ (?:this|the|our|my)\ {_PAPER})?                                    # our paper
    (?:,?\ \(?by\ (?:\w+\ ){{0,2}}(?:author\(s\)|authors?|us|me)\)?,?)?     # by the author(s)
    (?:\ \w+ly)?                                                            # voluntarily
    \ (?:
        from\ (?!(?:the\ )?(?:arxiv|archive))                               # from Physical Review
        | (?:as\ a\ )?submission                                            # as a submission
        | by\ (?:the\ )?(?:journal|publisher|editor)                        # by the journal
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What comes after "withdrawn" if a journal or a conference loses the paper, and not arXiv."""


def check_body(body: bytes) -> None:
    """Tell whether a body may be given to the XML parser."""
    if len(body) > BODY_LIMIT:
        raise ArxivHostile(f"the body has more than {BODY_LIMIT:,} bytes", hint=TRY_AGAIN)
    text = body[:_BEGINNING].removeprefix(_MARK_OF_ORDER).lstrip()
    if not text:
        raise ArxivTruncated("the body is empty", hint=TRY_AGAIN)
    if text[: len(_RATE_EXCEEDED)].lower() == _RATE_EXCEEDED:
        raise ArxivThrottled("arXiv says that it gets too many requests", hint=TRY_AGAIN)
    if b"\0" in text[:64] or body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ArxivUnreadable("the body is not in UTF-8", hint=TRY_AGAIN)
    if not text.startswith(b"<"):
        shown = text[:_SHOWN].decode("utf-8", "replace")
        raise ArxivUnreadable(f"the body is text instead of XML: {shown!r}", hint=TRY_AGAIN)
    if _WEB_PAGE.search(text):
        raise ArxivUnreadable("a web page came instead of XML", hint=TRY_AGAIN)
    if _DOCUMENT_TYPE.search(text):
        raise ArxivHostile("the body has a document type, which arXiv never sends", hint=TRY_AGAIN)
    declared = _DECLARED.match(text)
    if declared and declared[1].lower() not in _READABLE_ENCODINGS:
        raise ArxivUnreadable("the body declares another encoding than UTF-8", hint=TRY_AGAIN)


def drop_forbidden(body: bytes) -> bytes:
    """Return a body without what XML 1.0 forbids (§2.2): one character would cost a page."""
    without_controls = body.translate(None, _CONTROLS)
    return _NO_CHARACTER.sub(lambda found: _keep_allowed(found[0]), without_controls)


@lru_cache(4_096)  # a page may write a million characters by their numbers
def _keep_allowed(written: bytes) -> bytes:
    if not written.startswith(b"&"):
        return b""
    # HTML reads a number that is no character as none, as U+FFFD, or as a form feed.
    meant = unescape(written.decode()).strip("\ufffd\f")
    return written if meant else b""


class Document:
    """One XML document, read once: a loop gets its entries, and then `root` has all else.

    An entry is emptied after it was given out, so memory holds a handful at a time.

    `body` is what is read: without what XML forbids.

    Args:
        root: the qualified name the root element must have.
        entry: that of the elements to give out.
        depth: how many elements are around each of them.
    """

    root: Element

    def __init__(self, body: bytes, *, root: str, entry: str, depth: int) -> None:
        check_body(body)
        self.body = drop_forbidden(body)
        check_body(self.body)  # again: what was dropped may have hidden something
        self._root = root
        self._entry = entry
        self._depth = depth

    def __iter__(self) -> Iterator[Element]:
        # ValueError and LookupError come from encodings that nobody knows.
        try:
            yield from self._read()
        except (ParseError, ValueError, LookupError) as error:
            raise ArxivTruncated(
                f"the XML breaks off or is damaged: {error}", hint=TRY_AGAIN
            ) from error

    def _read(self) -> Iterator[Element]:
        open_elements: list[Element] = []
        events = iterparse(BytesIO(self.body), ("start", "end"))  # noqa: S314 - see `check_body`
        for event, element in events:
            if event == "start":
                if not open_elements:
                    self._begin(element)
                open_elements.append(element)
                if len(open_elements) > _DEEPEST:
                    raise ArxivTruncated(f"more than {_DEEPEST} elements are open", hint=TRY_AGAIN)
                continue
            open_elements.pop()
            if element.tag == self._entry:
                if len(open_elements) != self._depth:
                    raise ArxivUnreadable(
                        "there is an entry in a place where none belongs", hint=TRY_AGAIN
                    )
                yield element
                del element[:]
            elif len(open_elements) < self._depth:
                _refuse_text(element, self._entry)

    def _begin(self, root: Element) -> None:
        self.root = root
        if root.tag != self._root:
            name = root.tag[:_SHOWN]
            raise ArxivUnreadable(
                f"the XML is of another kind: its root element is {name}", hint=TRY_AGAIN
            )


def _refuse_text(holder: Element, entry: str) -> None:
    """Refuse text beside entries: there may be entries that something hides."""
    if not any(child.tag == entry for child in holder):
        return
    texts = [holder.text, *(child.tail for child in holder)]
    if any(text and not text.isspace() for text in texts):
        raise ArxivUnreadable("there is text between the entries", hint=TRY_AGAIN)


def read_text(element: Element | None) -> str:
    """Return the text of an element and everything in it, "" for none."""
    if element is None:
        return ""
    return "".join(element.itertext()) if len(element) else element.text or ""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A malformed entry among good ones: its place on the page, from 0, and its first XML."""

    position: int
    snippet: bytes
    error: str


class MalformedEntry(Exception):
    """One entry of a page cannot be read; its page may be fine."""


def require(text: str, name: str) -> str:
    """Return a text of an entry; raise `MalformedEntry` if it is empty."""
    if not text:
        raise MalformedEntry(f"it has no {name}")
    return text


def read_value(read: Callable[[str], T], text: str, name: str) -> T:
    """Return what a text of an entry says; raise `MalformedEntry` if it can't be read."""
    try:
        return read(text)
    except (ValueError, UsageError) as error:
        raise MalformedEntry(f"its {name} cannot be read: {error}") from error


def quarantine(position: int, entry: Element, error: MalformedEntry) -> Quarantined:
    """Keep a malformed entry with what is wrong with it."""
    written = _NAMESPACE.sub(b"", tostring(entry, "utf-8"))
    return Quarantined(position, written[:SNIPPET_LIMIT], str(error))


def clean(text: str) -> str:
    """Return text in NFC without control characters; white space is left as it is."""
    # A plain pass that settles nearly every text is ten times faster than the expression.
    kept = text if text.replace("\n", " ").isprintable() else _UNWANTED.sub("", text)
    return kept if kept.isascii() else unicodedata.normalize("NFC", kept)


def fold_line(text: str) -> str:
    """Return text as one line: cleaned, each run of white space one blank, none at the ends."""
    return " ".join(clean(text).split())


def fold_paragraphs(text: str) -> str:
    r"""Return text cleaned and folded, its paragraphs separated by one "\n"."""
    parts = _PARAGRAPH.split(clean(text).strip())
    paragraphs = (" ".join(part.split()) for part in parts)
    return "\n".join(paragraph for paragraph in paragraphs if paragraph)


def split_dois(*texts: str) -> tuple[str, ...]:
    """Return every DOI in arXiv's DOI fields, in order, without prefixes and stray punctuation.

    The field is one line of authors' making: two DOIs are parted by a blank, a comma or "; ".
    """
    dois: dict[str, None] = {}
    for text in texts:
        for part in clean(text).split():
            doi = _DOI_PREFIX.sub("", part.strip(";,"))
            if doi:
                dois[doi] = None
    return tuple(dois)


def is_withdrawal_comment(comment: str) -> bool:
    """Whether a folded comment says that this very version withdraws the paper.

    Conservative: a comment does not count that speaks of another version, of the paper it replaces,
    or of a journal or conference that the paper is withdrawn from.
    """
    for found in _WITHDRAWN.finditer(comment):
        is_another = _NOT_THIS_VERSION.search(comment[: found.start()])
        if not is_another and not _FROM_ELSEWHERE.match(comment, found.end()):
            return True
    return False


def read_iso_date(text: str) -> datetime:
    """Read an RFC 3339 moment; return it in UTC."""
    moment = datetime.fromisoformat(text.strip())
    return to_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
