"""What templates see of one paper: every text readable, safe and of known length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from digest.announcements import Kind, latest_mailing
from digest.papers import Field
from digest.render.authors import list_authors, write_authors, write_authors_html
from digest.render.cleaning import clean_text, shorten
from digest.render.dates import write_day_of_month
from digest.render.marking import find_spans, show_beginning, show_html, show_paragraphs, show_plain, show_segments
from digest.render.reasons import summarise_reasons
from digest.render.terminal_styles import styled

if TYPE_CHECKING:
    from datetime import date

    from markupsafe import Markup

    from digest.messages import DigestEntry

KIND_TITLES = {
    Kind.NEW: "New",
    Kind.CROSS_LIST: "Cross-listed",
    Kind.REPLACEMENT: "Replaced",
    Kind.WITHDRAWAL: "Withdrawn",
    Kind.METADATA: "Edited",
    Kind.KNOWN: "Earlier",
}
"""Headings of a digest's groups."""

LONGEST_TITLE = 300
LONGEST_NOTE = 240
_LONGEST_AUTHORS = 420
_LONGEST_CATEGORIES = 120
_MOST_AUTHORS = 6
_FEW_AUTHORS = 4
_LATE_DAYS = 5
"""A paper announced later than this after submission says both dates."""


@dataclass(frozen=True)
class PaperView:
    """One paper as templates see it.

    Attributes:
        entry: the frozen entry behind it (`entry.paper` is the paper as arXiv described it).
        number: its place in the digest, from 1.
        is_first_look: it comes from a look back, so nothing is said about when it was announced.
    """

    entry: DigestEntry
    number: int
    is_first_look: bool = False

    @property
    def kind(self) -> Kind:
        """What was announced: new, cross-list, replacement, withdrawal, metadata."""
        return self.entry.kind

    @property
    def id(self) -> str:
        """ArXiv's identifier without version."""
        return str(self.entry.paper.id)

    @property
    def url(self) -> str:
        """The abstract page of this version."""
        return self.entry.paper.url

    @property
    def pdf_url(self) -> str:
        """The PDF of this version."""
        return self.entry.paper.pdf_url

    @cached_property
    def title(self) -> str:
        """The title in plain Unicode, at most 300 characters."""
        return shorten(self.full_title, LONGEST_TITLE)

    @cached_property
    def full_title(self) -> str:
        """The title in plain Unicode, whole."""
        return show_plain(self.entry.paper.title)

    @cached_property
    def title_html(self) -> Markup:
        """The whole title as HTML with what was met in `<mark>`."""
        return show_html(self.entry.paper.title, find_spans(self.entry, Field.TITLE))

    @cached_property
    def title_styled(self) -> str:
        """The whole title for a terminal, with marks for what was met."""
        segments = show_segments(self.entry.paper.title, find_spans(self.entry, Field.TITLE))
        parts = [(clean_text(f"|{segment.text}|")[1:-1], segment.is_marked) for segment in segments]
        return "".join(styled(text, "mark") if is_marked else text for text, is_marked in parts).strip()

    @cached_property
    def authors(self) -> str:
        """Up to seven authors with affiliations on one line; more are counted."""
        return shorten(write_authors(self.entry, _MOST_AUTHORS), _LONGEST_AUTHORS)

    @cached_property
    def few_authors(self) -> str:
        """Up to five authors with affiliations on one line; more are counted."""
        return shorten(write_authors(self.entry, _FEW_AUTHORS), _LONGEST_AUTHORS)

    @cached_property
    def authors_html(self) -> Markup:
        """The same line as HTML, with whom a query asked for in `<mark>`."""
        return write_authors_html(self.entry, _MOST_AUTHORS)

    @cached_property
    def all_authors(self) -> tuple[str, ...]:
        """Every author with their affiliations."""
        return list_authors(self.entry)

    @property
    def has_all_authors(self) -> bool:
        """Whether `authors` names everyone."""
        return len(self.entry.paper.authors) <= _MOST_AUTHORS + 1

    @cached_property
    def categories(self) -> str:
        """Categories, the primary one first, separated by blanks."""
        return shorten(clean_text(" ".join(self.entry.paper.categories)), _LONGEST_CATEGORIES)

    @cached_property
    def queries(self) -> str:
        """Names of the saved queries that matched: `perf, gpu`."""
        return shorten(clean_text(", ".join(self.entry.queries)), _LONGEST_CATEGORIES)

    @cached_property
    def reasons(self) -> str:
        """What was met and where, in words; "" where only an absence was."""
        return shorten(summarise_reasons(self.entry), LONGEST_NOTE)

    @cached_property
    def why(self) -> str:
        """Queries and reasons in one line: `perf, gpu · "GPU" in title`."""
        return " · ".join(filter(None, (self.queries, self.reasons)))

    @cached_property
    def change(self) -> str:
        """What changed since the reader saw it: `v1 → v2: comment "accepted at …"`; "" for new papers."""
        return shorten(self._whole_change, LONGEST_NOTE)

    @cached_property
    def comment(self) -> str:
        """The authors' comment, "" where there is none."""
        return show_plain(self.entry.paper.comment)

    @cached_property
    def short_comment(self) -> str:
        """The authors' comment, at most 240 characters; "" where `change` tells it already."""
        return "" if self.comment and self.comment in self._whole_change else shorten(self.comment, LONGEST_NOTE)

    @cached_property
    def journal_ref(self) -> str:
        """The journal reference, "" where there is none."""
        return show_plain(self.entry.paper.journal_ref)

    @cached_property
    def abstract(self) -> str:
        """The whole abstract in plain Unicode on one line."""
        return show_plain(self.entry.paper.abstract)

    @cached_property
    def dates(self) -> str:
        """When it was submitted and announced, where these lie far apart; "" otherwise."""
        submitted, announced = self._submitted, latest_mailing(self.entry.found_at)
        if self.is_first_look:
            latest = self.entry.paper.updated.date()
            version = (
                f", v{self.entry.paper.version} of {_write_past(latest, announced)}" if latest > submitted else ""
            )
            return f"submitted {_write_past(submitted, announced)}{version}"
        if (announced - submitted).days <= _LATE_DAYS:
            return ""
        verb = "cross-listed" if self.kind is Kind.CROSS_LIST else "announced"
        return f"submitted {_write_past(submitted, announced)}, {verb} {write_day_of_month(announced)}"

    def shorten_abstract(self, limit: int | None) -> str:
        """Return the abstract in plain Unicode, at most `limit` characters (None for all, 0 for none)."""
        if limit is None:
            return self.abstract
        return shorten(self.abstract, limit) if limit else ""

    def show_abstract(self, limit: int | None = None) -> tuple[Markup, ...]:
        """Return the abstract's paragraphs as HTML with what was met in `<mark>`.

        Args:
            limit: at most so many characters, then as one paragraph; None for the whole, 0 for nothing.
        """
        text, spans = self.entry.paper.abstract, find_spans(self.entry, Field.ABSTRACT)
        if limit is None:
            return show_paragraphs(text, spans)
        return (show_beginning(text, spans, limit),) if limit and text else ()

    @cached_property
    def _whole_change(self) -> str:
        return ": ".join(filter(None, (clean_text(self.entry.label), show_plain(self.entry.change_note))))

    @property
    def _submitted(self) -> date:
        paper = self.entry.paper
        is_about_version = self.entry.kind in (Kind.REPLACEMENT, Kind.WITHDRAWAL)
        return (paper.updated if is_about_version else paper.published).date()


def _write_past(day: date, seen_from: date) -> str:
    return write_day_of_month(day) if day.year == seen_from.year else f"{write_day_of_month(day)} {day.year}"
