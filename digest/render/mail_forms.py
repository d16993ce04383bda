"""Renders the mails of one digest once; they differ by their readers' own link alone.

A digest's mail is rendered for a link that is nobody's, and each reader's own is put in its place. Both have as
many letters: links of another length may break lines elsewhere, and have a form of their own.
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


class MailForms:
    """Writes what mails say, for several threads.

    Args:
        render: says it for a digest and links.
    """

    def __init__(self, render: Callable[[Digest, Links], MailText]) -> None:
        self._render = render
        self._lock = threading.Lock()
        self._known: dict[tuple[int, Links], tuple[Digest, str, PartForm, PartForm]] = {}
        """By the digest itself, which is kept, as another may else stand at the same place."""

    def write(self, digest: Digest, links: Links) -> EncodedMail:
        """Return what a mail of a digest says to the reader whose links these are.

        Raises:
            TemplateError: a template cannot be rendered, or takes more room than a mail has.
        """
        nobody = replace(links, unsubscribe=_blank(links.unsubscribe))
        key = (id(digest), nobody)
        form = self._known.get(key)
        if form is None:
            text, link = self._render(digest, nobody), nobody.unsubscribe
            form = (digest, text.subject, PartForm(text.plain, link), PartForm(text.html, link))
            with self._lock:
                self._known[key] = form
                while len(self._known) > KEPT:
                    del self._known[next(iter(self._known))]
        _, subject, plain, html = form
        return EncodedMail(subject, plain.fill(links.unsubscribe), html.fill(links.unsubscribe))


def _blank(link: str) -> str:
    """Return a link as long as this one that is nobody's."""
    place, _, token = link.rpartition("/")
    return f"{place}/{'x' * len(token)}" if link else ""
