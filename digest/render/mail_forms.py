"""Renders the mails of one digest once; they differ by their readers' own link alone.

A template may cut that link, or turn it round, so nobody knows beforehand where it stands. The first two
mails are therefore rendered in full. Where the second is the first with the other link put in, letter by
letter, every further one is made the same way; where it is not, each is rendered by itself. Links of
another length may break lines elsewhere: these have a form of their own. What a template decides by single
letters of a link goes unseen where the first two agree on it: links are random, so nothing should.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from digest.render.mime import quote_printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from digest.model.messages import Digest, Links

KEPT = 8
"""Digests whose forms are at hand: those of one digest mostly go out one after the other."""


_KEPT_LINES = 8_192
"""Lines at hand as they are sent, such as a paper's title with its number. About 4 MB where all are taken."""

_encode_line = lru_cache(_KEPT_LINES)(quote_printable)


def encode_part(part: str) -> bytes:
    """Encode a part as quoted-printable: line by line, since mails have many lines in common."""
    return b"\r\n".join(map(_encode_line, part.split("\n")))


@dataclass(frozen=True, slots=True)
class MailText:
    """What a mail says.

    Attributes:
        subject: as it stands in the header.
        plain: the plain part, already flowed.
        html: the HTML part.
    """

    subject: str
    plain: str
    html: str

    def put_in(self, link: str, another: str) -> MailText:
        """Return the same with another link wherever one stands."""
        if not link:
            return self
        return MailText(*(text.replace(link, another) for text in (self.subject, self.plain, self.html)))


@dataclass(frozen=True, slots=True)
class EncodedMail:
    """What a mail says, its parts as quoted-printable."""

    subject: str
    plain: bytes
    html: bytes


class PartForm:
    """A part of a mail that is encoded but for the lines with a link.

    Args:
        part: the part.
        link: the link in it; "" for none.
    """

    def __init__(self, part: str, link: str) -> None:
        self._link = link
        lines = groupby(part.split("\n"), key=lambda line: link != "" and link in line)
        self._pieces = ["\n".join(run) if has_link else encode_part("\n".join(run)) for has_link, run in lines]
        """Encoded lines, and those to be encoded with another link in them."""

    def fill(self, link: str) -> bytes:
        """Return the part with another link, encoded."""
        return b"\r\n".join(
            quote_printable(piece.replace(self._link, link)) if isinstance(piece, str) else piece
            for piece in self._pieces
        )


@dataclass(frozen=True, slots=True)
class _First:
    """A digest's first mail, and its reader's link."""

    link: str
    text: MailText


@dataclass(frozen=True, slots=True)
class _Form:
    """What all mails of a digest have in common."""

    subject: str
    plain: PartForm
    html: PartForm


_Known = _First | _Form | None
"""What is known of a digest's mails; None where they have no form."""


class MailForms:
    """Writes what mails say, for several threads.

    Args:
        render: says it for a digest and links.
        most: digests whose forms are kept at once; the one that came first goes.
    """

    def __init__(self, render: Callable[[Digest, Links], MailText], most: int = KEPT) -> None:
        self._render, self._most = render, most
        self._lock = threading.Lock()
        self._known: dict[tuple[int, int, Links], tuple[Digest, _Known]] = {}
        """By the digest itself, which is kept, as another may else stand at the same place."""

    def write(self, digest: Digest, links: Links) -> EncodedMail:
        """Return what a mail of a digest says to the reader whose links these are.

        Raises:
            TemplateError: a template cannot be rendered, or takes more room than a mail has.
        """
        key = (id(digest), len(links.unsubscribe), replace(links, unsubscribe=""))
        _, known = self._known.get(key, (digest, None))
        if isinstance(known, _Form):
            link = links.unsubscribe
            return EncodedMail(known.subject, known.plain.fill(link), known.html.fill(link))
        text = self._render(digest, links)
        with self._lock:
            self._learn(key, digest, _First(links.unsubscribe, text))
        return EncodedMail(text.subject, encode_part(text.plain), encode_part(text.html))

    def _learn(self, key: tuple[int, int, Links], digest: Digest, seen: _First) -> None:
        if key not in self._known:
            self._known[key] = (digest, seen)
            while len(self._known) > self._most:
                del self._known[next(iter(self._known))]
            return
        known = self._known[key][1]
        if isinstance(known, _First):
            self._known[key] = (digest, _make_form(known, seen))


def _make_form(first: _First, second: _First) -> _Form | _First | None:
    """Make a form of two mails; the first again where both went to one reader, None where they are not alike."""
    if first.link == second.link != "":
        return first
    if first.text.put_in(first.link, second.link) != second.text:
        return None
    text, link = first.text, first.link
    return _Form(text.subject, PartForm(text.plain, link), PartForm(text.html, link))
