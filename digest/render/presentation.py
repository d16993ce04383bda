"""What templates see of one paper: every text readable, safe and of known length."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.announcements import Kind, latest_mailing
from digest.papers import Field
from digest.render.authors import list_authors, write_authors, write_authors_html
from digest.render.cleaning import clean_text, shorten
from digest.render.dates import write_day, write_day_of_month
from digest.render.marking import find_spans, show_beginning, show_html, show_paragraphs, show_plain, show_segments
from digest.render.reasons import summarise_reasons
from digest.render.revisions import RevisionView, join_summaries, quote_comment, view_revisions
from digest.render.terminal_styles import styled

if TYPE_CHECKING:
    from datetime import date

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

_DATED = {Kind.CROSS_LIST: "cross-listed", Kind.METADATA: "edited"}
"""What happened on the later of two dates, where that is not that a version was announced."""

LONGEST_TITLE = 300
UNTITLED = "(untitled)"
"""Where nothing of a title can be shown: a link needs words."""

LONGEST_NOTE = 240
_LONGEST_AUTHORS = 420
_LONGEST_CATEGORIES = 120
_MOST_AUTHORS = 6
_FEW_AUTHORS = 4
_SHORT_TITLE = 90
_NO_REASON = "the authors give no reason"
_LATE_DAYS = 5
"""A paper announced later than this after submission says both dates."""


@dataclass(frozen=True)
class PaperView:
    """One paper as templates see it.

    Attributes:
        entry: the frozen entry behind it (`entry.paper` is the paper as arXiv described it).
        number: its place in the digest, from 1.
        is_first_look: it comes in a look back, so nothing is said about when it was announced.
        under: the saved query it stands under; "" where the headings are kinds of announcement.
        is_whole: what changed is told whole, and the whole abstract shows it word by word.
    """

    entry: DigestEntry
    number: int
    is_first_look: bool = False
    under: str = ""
    is_whole: bool = False

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
        return show_plain(self.entry.paper.title) or UNTITLED

    @cached_property
    def title_html(self) -> Markup:
        """The whole title as HTML with what was met in `<mark>`."""
        shown = show_html(self.entry.paper.title, find_spans(self.entry, Field.TITLE))
        return shown if shown.striptags() else Markup.escape(UNTITLED)

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
        """Names of the saved queries that matched: `perf, gpu`; below a query's heading the others: `also gpu`."""
        others = [name for name in self.entry.queries if name != self.under]
        also = "also " if self.under and others else ""
        return shorten(clean_text(also + ", ".join(others)), _LONGEST_CATEGORIES)

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
        """What changed since the reader saw it, folded: `v1 → v2: “accepted at …”; abstract: 12 words changed`.

        For a paper that was withdrawn the authors' comment; "" for new papers of which nothing became since.
        """
        return "; ".join(filter(None, (shorten(self._whole_change, LONGEST_NOTE), self.sequel)))

    @cached_property
    def sequel(self) -> str:
        """What became of it after it was announced: `replaced on Thu 19 Nov (v1 → v2): …`; "" mostly."""
        sequel = self.entry.sequel
        if sequel is None:
            return ""
        before, after = sequel.before.paper, sequel.after.paper
        if sequel.kind is Kind.WITHDRAWAL:
            said = f"withdrawn on {write_day(sequel.day)} (v{after.version}): {quote_comment(after) or _NO_REASON}"
        else:
            told = join_summaries(self._revisions_since)
            said = f"replaced on {write_day(sequel.day)} (v{before.version} → v{after.version}): {told}"
        return shorten(said, LONGEST_NOTE)

    @property
    def is_withdrawn_since(self) -> bool:
        """Whether it was withdrawn after it was announced."""
        return self.entry.sequel is not None and self.entry.sequel.kind is Kind.WITHDRAWAL

    @cached_property
    def short_title(self) -> str:
        """The title in plain Unicode, at most 90 characters."""
        return shorten(self.full_title, _SHORT_TITLE)

    @cached_property
    def revisions(self) -> tuple[RevisionView, ...]:
        """What changed, part by part, to be unfolded: since the reader saw it, or since it was announced."""
        return self._revisions_before or self._revisions_since

    @cached_property
    def _revisions_before(self) -> tuple[RevisionView, ...]:
        before = self.entry.before
        return view_revisions(before.paper, self.entry.paper) if before is not None else ()

    @cached_property
    def _revisions_since(self) -> tuple[RevisionView, ...]:
        sequel = self.entry.sequel
        if sequel is None:
            return ()
        return view_revisions(sequel.before.paper, sequel.after.paper, shown=self.entry.paper)

    @cached_property
    def comment(self) -> str:
        """The authors' comment, "" where there is none."""
        return show_plain(self.entry.paper.comment)

    @cached_property
    def short_comment(self) -> str:
        """The authors' comment, at most 240 characters; "" where `change` tells it already."""
        is_told = self.comment in self.change or quote_comment(self.entry.paper) in self.change
        return "" if self.comment and is_told else shorten(self.comment, LONGEST_NOTE)

    @cached_property
    def comment_html(self) -> Markup:
        """The authors' comment as HTML with what was met in `<mark>`, "" where there is none."""
        return show_html(self.entry.paper.comment, find_spans(self.entry, Field.COMMENT))

    @cached_property
    def short_comment_html(self) -> Markup:
        """`short_comment` as HTML with what was met in `<mark>`."""
        if not self.short_comment:
            return Markup("")
        return show_beginning(self.entry.paper.comment, find_spans(self.entry, Field.COMMENT), LONGEST_NOTE)

    @cached_property
    def journal_ref(self) -> str:
        """The journal reference, "" where there is none."""
        return show_plain(self.entry.paper.journal_ref)

    @cached_property
    def journal_ref_html(self) -> Markup:
        """The journal reference as HTML with what was met in `<mark>`, "" where there is none."""
        return show_html(self.entry.paper.journal_ref, find_spans(self.entry, Field.JOURNAL_REF))

    @cached_property
    def short_journal_ref(self) -> str:
        """The journal reference, at most 240 characters; "" where there is none, or `change` tells it already."""
        return "" if self.journal_ref in self._whole_change else shorten(self.journal_ref, LONGEST_NOTE)

    @cached_property
    def short_journal_ref_html(self) -> Markup:
        """`short_journal_ref` as HTML with what was met in `<mark>`."""
        if not self.short_journal_ref:
            return Markup("")
        text, spans = self.entry.paper.journal_ref, find_spans(self.entry, Field.JOURNAL_REF)
        return show_beginning(text, spans, LONGEST_NOTE)

    @cached_property
    def abstract(self) -> str:
        """The whole abstract in plain Unicode on one line."""
        return show_plain(self.entry.paper.abstract)

    @cached_property
    def dates(self) -> str:
        """When it was submitted and announced, where these lie far apart; "" otherwise.

        Of a paper known from before nobody has seen when it was announced: it was found by a look back.
        """
        submitted, announced = self._submitted, latest_mailing(self.entry.found_at)
        if self.is_first_look or self.kind is Kind.KNOWN:
            latest = self.entry.paper.updated.date()
            version = (
                f", v{self.entry.paper.version} of {_write_past(latest, announced)}" if latest > submitted else ""
            )
            return f"submitted {_write_past(submitted, announced)}{version}"
        if (announced - submitted).days <= _LATE_DAYS:
            return ""
        verb = _DATED.get(self.kind, "announced")
        return f"submitted {_write_past(submitted, announced)}, {verb} {write_day_of_month(announced)}"

    def shorten_abstract(self, limit: int | None) -> str:
        """Return the abstract in plain Unicode, at most `limit` characters (None for all, 0 for none).

        The whole of one that changed shows the change where that is told whole: `[-gone-] {+come+}`.
        """
        if limit is None:
            revision = self._abstract_revision
            return revision.text if revision else self.abstract
        return shorten(self.abstract, limit) if limit else ""

    def show_abstract(self, limit: int | None = None) -> tuple[Markup, ...]:
        """Return the abstract's paragraphs as HTML with what was met in `<mark>`.

        Args:
            limit: at most so many characters, then as one paragraph; None for the whole, 0 for nothing. The
                whole of one that changed shows the change where that is told whole: `<del>`, `<ins>`.
        """
        text, spans = self.entry.paper.abstract, find_spans(self.entry, Field.ABSTRACT)
        if limit is None:
            revision = self._abstract_revision
            return (revision.html,) if revision else show_paragraphs(text, spans)
        return (show_beginning(text, spans, limit),) if limit and text else ()

    @property
    def _abstract_revision(self) -> RevisionView | None:
        """How the abstract changed to what is shown; None where it did not, or that is not told whole."""
        shown = self._revisions_before if self.is_whole else ()
        return next((revision for revision in shown if revision.name == "abstract"), None)

    @cached_property
    def _whole_change(self) -> str:
        entry, label = self.entry, clean_text(self.entry.label)
        if entry.kind is Kind.WITHDRAWAL:
            return f"{label}: {quote_comment(entry.paper) or _NO_REASON}" if label else ""
        if entry.before is None:  # of a paper never stored before, or in a digest of a release that kept no text
            return ": ".join(filter(None, (label, show_plain(entry.change_note))))
        is_named = label.startswith((f"v{entry.before.paper.version} →", "edited"))
        since = "" if is_named else f", since v{entry.before.paper.version}"
        return f"{label}{since}: {join_summaries(self._revisions_before)}"

    @property
    def _submitted(self) -> date:
        paper = self.entry.paper
        is_about_version = self.entry.kind in (Kind.REPLACEMENT, Kind.WITHDRAWAL)
        return (paper.updated if is_about_version else paper.published).date()


def _write_past(day: date, seen_from: date) -> str:
    return write_day_of_month(day) if day.year == seen_from.year else f"{write_day_of_month(day)} {day.year}"
