"""Papers as parts of a mail, each made once, however many digests and readers it goes to.

What a part shows is decided by the entry, by what the digest makes of it (a look back, a heading, changes told
whole), and by how much of the abstract is shown; by the paper's number in the digest only where an
operator's template asks for it. Nothing that belongs to a reader stands in one.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, fields
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.render.cleaning import clean_markup
from digest.render.contexts import MailPaperContext, MailPaperTextContext
from digest.render.flowing import flow_text
from digest.render.mail_forms import KEPT_LINES, encode_part
from digest.render.mime import quote_printable
from digest.render.presentation import PaperView

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from digest.messages import DigestEntry
    from digest.render.environments import Templates
    from digest.render.mail_forms import Part

KEPT = 2_048
"""Papers at hand, each with a step of its abstract: several days of a large installation. About 12 KB each."""

_MARK = "\x00"
_PLACE = re.compile(f"{_MARK}([0-9]+){_MARK}")

_HTML, _TEXT = "email/paper.html", "email/paper.txt"
_see_otherwise = attrgetter(*(field.name for field in fields(PaperView) if field.name not in ("entry", "number")))
"""Returns what else a paper's view is made of, besides its entry and its number."""

_PAPER_TAGS = ("<mark>", "<sup>", "<sub>", "<ins>", "<del>")
"""Elements within a paper's own text that mail readers would style too loudly or not at all."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One paper in a mail.

    Attributes:
        html: in the HTML part.
        text: in the text part, one line per paragraph, from its title on.
        encoded_html: `html` as it is sent.
        encoded_rest: `text`, flowed, as it is sent, but for its first line, which has a number before it; None for
            a text of one line.
    """

    html: Markup
    text: str
    encoded_html: bytes
    encoded_rest: bytes | None


def hold_place(number: int) -> Markup:
    """Return what stands for a paper while what is around it is rendered: nothing that a cleaned text can hold."""
    return Markup(f"{_MARK}{number}{_MARK}")  # noqa: S704 - a digit or more


def measure_whole(rendered: str, papers: Mapping[int, Fragment]) -> int:
    """Return how many bytes an HTML part takes as it is sent, with the papers in their places."""
    return len(encode_part(fill_html(rendered, papers)))


def fill_html(rendered: str, papers: Mapping[int, Fragment]) -> Part:
    """Return an HTML part with the papers in their places."""
    pieces: list[str | bytes] = []
    lines: list[str] = []
    for line in rendered.split("\n"):
        held = _PLACE.fullmatch(line) if _MARK in line else None
        if held is None:
            lines.append(_PLACE.sub(lambda held: papers[int(held[1])].html, line) if _MARK in line else line)
            continue
        if lines:
            pieces.append("\n".join(lines))
            lines.clear()
        pieces.append(papers[int(held[1])].encoded_html)
    return (*pieces, "\n".join(lines)) if lines else tuple(pieces)


def fill_text(rendered: str, papers: Mapping[int, Fragment]) -> Part:
    """Return a text part with the papers in their places, all of it cleaned and flowed."""
    pieces: list[str | bytes] = []
    lines: list[str] = []
    for line in rendered.split("\n"):
        held = _PLACE.search(line) if _MARK in line else None
        if held is None or held.end() < len(line):
            lines.append(_PLACE.sub(lambda held: papers[int(held[1])].text, line) if held else line)
            continue
        paper = papers[int(held[1])]
        lines.append(line[: held.start()] + paper.text.partition("\n")[0])
        if paper.encoded_rest is not None:
            pieces += [_flow(lines), paper.encoded_rest]
            lines.clear()
    return (*pieces, _flow(lines)) if lines else tuple(pieces)


def _flow(lines: Sequence[str]) -> str:
    return "\n".join(flow for line in lines for flow in map(_flow_line, line.split("\n")))


@lru_cache(KEPT_LINES)
def _flow_line(line: str) -> str:
    return flow_text(clean_markup(line))


def clean_lines(text: str) -> str:
    """Take out of each line what must not be shown."""
    return "\n".join(map(clean_markup, text.split("\n")))


class Fragments:
    """Makes papers' parts of mails and keeps them, for several threads.

    Args:
        templates: what they are made of.
        most: how many are kept; those not asked for longest go first.
    """

    def __init__(self, templates: Templates, most: int = KEPT) -> None:
        self.templates, self._most = templates, most
        self._lock = threading.Lock()
        self._kept: dict[Hashable, tuple[DigestEntry, Fragment]] = {}
        self._shows_number: bool | None = None

    def make(self, paper: PaperView, limit: int | None) -> Fragment:
        """Return a paper's parts with at most `limit` characters of its abstract (None for all, 0 for none).

        Raises:
            TemplateError: a template cannot be rendered.
        """
        entry = paper.entry
        # What tells entries apart as a rule, and is quickly hashed; whether it is the same one is asked below.
        key = (
            *(entry.paper.id, entry.paper.version, entry.kind, entry.change_id, entry.queries),
            *(tuple(reason.clause for reason in entry.reasons), limit),
            _see_otherwise(paper),
            paper.number if self._is_number_shown() else 0,
        )
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept and (kept[0] is entry or kept[0] == entry):
                self._kept[key] = kept
                return kept[1]
        fragment = self._render(paper, limit)
        with self._lock:
            self._kept[key] = (entry, fragment)
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return fragment

    def _is_number_shown(self) -> bool:
        if self._shows_number is None:
            self._shows_number = any(self.templates.is_mentioned("number", name) for name in (_HTML, _TEXT))
        return self._shows_number

    def inline_tags(self, html: str) -> str:
        """Write styles into the elements within papers' own text, which no template has."""
        for tag in _PAPER_TAGS:
            html = html.replace(tag, self.templates.inline_tag(tag))
        return html

    def _render(self, paper: PaperView, limit: int | None) -> Fragment:
        html = self.inline_tags(self.templates.render(_HTML, MailPaperContext(paper, paper.show_abstract(limit))))
        text = self.templates.render(_TEXT, MailPaperTextContext(paper, paper.shorten_abstract(limit)))
        lines = clean_lines(text.strip("\n"))
        _, has_more, rest = lines.partition("\n")
        return Fragment(
            html=Markup(html),  # noqa: S704 - the output of an escaping template
            text=lines,
            encoded_html=quote_printable(html),
            encoded_rest=quote_printable(flow_text(rest)) if has_more else None,
        )
