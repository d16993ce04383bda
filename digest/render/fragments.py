"""Papers as parts of a mail, each made once, however many digests and readers it goes to.

What a part shows is decided by the entry, by what the digest makes of it (a look back, a heading, changes told
whole), and by how much of the abstract is shown; by the paper's number in the digest only where an
operator's template asks for it. Nothing that belongs to a reader stands in one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.render.cleaning import clean_markup
from digest.render.contexts import MailPaperContext, MailPaperTextContext
from digest.render.presentation import PaperView

if TYPE_CHECKING:
    from collections.abc import Hashable

    from digest.messages import DigestEntry
    from digest.render.environments import Templates

KEPT = 2_048
"""Papers at hand, each with a step of its abstract: several days of a large installation. About 10 KB each."""

_HTML, _TEXT = "email/paper.html", "email/paper.txt"
_OTHERWISE = tuple(field.name for field in fields(PaperView) if field.name not in ("entry", "number"))
"""What else a paper's view is made of, besides its entry and its number."""

_PAPER_TAGS = ("<mark>", "<sup>", "<sub>", "<ins>", "<del>")
"""Elements within a paper's own text that mail readers would style too loudly or not at all."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """One paper in a mail.

    Attributes:
        html: in the HTML part.
        text: in the text part, one line per paragraph, from its title on.
    """

    html: Markup
    text: str


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
            *(getattr(paper, name) for name in _OTHERWISE),
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
        lines = "\n".join(map(clean_markup, text.strip("\n").split("\n")))
        return Fragment(Markup(html), lines)  # noqa: S704 - the output of an escaping template
