"""Shows one paper: authors, places, reasons, labels and links, in each medium's marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import groupby

from markupsafe import Markup

from digest.model.announcements import Kind
from digest.model.clock import write_day
from digest.model.messages import DigestEntry, Form
from digest.model.papers import Field
from digest.model.subscriptions import Abstracts
from digest.query.words import fold, split_words, stem
from digest.render.precedence import explain_dot, say_near
from digest.render.references import cut_name, write_names
from digest.render.revisions import (
    LONGEST_MINOR,
    RevisionView,
    find_withdrawal_reason,
    join_summaries,
    view_revisions,
)
from digest.render.sentences import LONGEST_SNIPPET, choose_snippet
from digest.render.text import (
    Mrkdwn,
    Spans,
    clean_text,
    escape_text,
    find_reason_spans,
    find_spans,
    shorten,
    show_html,
    show_paragraphs,
    show_plain,
    show_segments,
    styled,
    write_day_of_month,
)
from digest.tex import Segment
from digest.tex.places import Link, find_links, find_place

_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and the other scripts written from right to left."""

_VOLUME = re.compile(r"[,:]?(?<![\s(])[\s(]+(?:vol\w*\W+)?\d", re.IGNORECASE)
_DATED = {Kind.CROSS_LIST: "cross-listed", Kind.METADATA: "edited"}
"""What happened on the later of two dates, if no version was announced then."""

_UNSEEN = (Field.ABSTRACT, Field.COMMENT, Field.JOURNAL_REF, Field.REPORT_NO)
"""The fields of which a reader sees no more than a part."""

UNTITLED = "(untitled)"
"""Said if nothing of a title can be shown: a link needs words."""

LONGEST_TITLE, _SHORT_TITLE = 300, 90
LONGEST_NOTE = 240
_LONGEST_NAME, _SHORT_NAME = 80, 40
_LONGEST_CATEGORIES = 120
_LONGEST_PHRASE = 48
_LONGEST_SECTION = 2_900
"""Bytes of an abstract in one section of Slack's."""

_FEW = 3
"""Authors who are all named."""

_MOST_MATCHED = 3
_MOST_WORDS = 3
_LATE_DAYS = 5
"""A paper announced later than this after submission says both dates."""


@dataclass(frozen=True)
class PaperView:
    """One paper as templates see it.

    Attributes:
        entry: its frozen entry in the digest (`entry.paper` is the paper as arXiv described it).
        number: its place in the digest, from 1.
        is_first_digest: it comes in a first digest, so the day of its announcement is not said.
        under: the saved query of its heading; "" if the headings are kinds of announcement.
        is_of_one_query: its digest has one saved query, which need not be named at every paper.
        form: how much is said of it: `two sentences`, `one sentence`, `title`, `change` or `minor`.
        why_first: why it comes before the others, in words; "" if it does not.
        is_place_said: `why_first` says where it appears.
        heading: the heading above it.
    """

    entry: DigestEntry
    number: int
    is_first_digest: bool = False
    under: str = ""
    is_of_one_query: bool = False
    form: Form = Form.SENTENCE
    why_first: str = ""
    heading: str = ""
    is_place_said: bool = False

    @property
    def dot(self) -> str:
        """What the dot before its title means: `near your library`; "" if it has none."""
        return explain_dot(self.entry.near)

    @property
    def near(self) -> str:
        """What it is near to, `like “Title”`; "" for nothing, or if the dot or `why_first` says it."""
        is_said = self.why_first or not (self.entry.near and self.entry.near.title)
        return "" if is_said else say_near(self.entry.near)

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
        shown = show_html(self.entry.paper.title, find_marks(self.entry, Field.TITLE))
        return shown if shown.striptags() else Markup.escape(UNTITLED)

    @property
    def title_parts(self) -> tuple[Segment, ...]:
        """The whole title in parts, those that were met apart: for filters such as `|starred`."""
        title = self.entry.paper.title
        return (
            show_segments(title, find_marks(self.entry, Field.TITLE))
            if show_plain(title)
            else (Segment(UNTITLED, is_marked=False),)
        )

    @cached_property
    def all_authors(self) -> tuple[str, ...]:
        """Every author, none left out, each with their affiliations in full."""
        return tuple(
            show_plain(author.name)
            + (f" ({'; '.join(map(show_plain, author.affiliations))})" * bool(author.affiliations))
            for author in self.entry.paper.authors
        )

    @cached_property
    def categories(self) -> str:
        """The primary category, cross-lists that a query asked for, and how many more: `quant-ph +2`."""
        met = find_matched(self.entry, Field.CATEGORIES)
        names = [
            name
            for index, name in enumerate(self.entry.paper.categories)
            if not index or index in met
        ]
        more = len(self.entry.paper.categories) - len(names)
        return shorten(clean_text(" ".join(names) + f" +{more}" * bool(more)), _LONGEST_CATEGORIES)

    @cached_property
    def place(self) -> str:
        """The journal or conference in plain Unicode: `accepted at PRB`; "" if unknown or said by `why_first`."""
        return "" if self.is_place_said else show_plain(find_place(self.entry.paper))

    @property
    def short_place(self) -> str:
        """`place` in at most 40 characters, without volume and page: `accepted at PRB`, `Phys. Rev. B`."""
        journal = self.place.removeprefix("published in ")
        return shorten(
            self.place if journal == self.place else _VOLUME.split(journal)[0], _SHORT_NAME
        )

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """What there is to open beside the PDF, each with `label` and `url`: HTML, Code, Data, Project page."""
        return find_links(self.entry.paper)

    @property
    def all_categories(self) -> str:
        """Every category, the primary one first, separated by blanks."""
        return clean_text(" ".join(self.entry.paper.categories))

    @cached_property
    def short_authors(self) -> str:
        """Up to three authors, `Ann Lee, Bo Yu`, or of more the last names: `Lee … Yu … Roe (12)`."""
        return self._join_authors(lambda name, _: name)

    @property
    def short_authors_html(self) -> Markup:
        """`short_authors` as HTML, with those a query asked for in `<mark>`."""
        forms = (Markup("{}"), Markup("<mark>{}</mark>"))
        return Markup(self._join_authors(lambda name, is_met: _isolate(forms[is_met].format(name))))  # noqa: S704

    @property
    def short_authors_mrkdwn(self) -> Mrkdwn:
        """`short_authors` for Slack, with those a query asked for in bold."""
        return Mrkdwn(
            self._join_authors(lambda name, is_met: "*" * is_met + escape_text(name) + "*" * is_met)
        )

    def _join_authors(self, show: Callable[[str, bool], str]) -> str:
        authors, met = self.entry.paper.authors, find_matched(self.entry, Field.AUTHORS)
        few = (
            range(len(authors))
            if len(authors) <= _FEW
            else (0, *sorted(met)[:_MOST_MATCHED], len(authors) - 1)
        )
        written = {one: show_plain(authors[one].name) for one in few}
        if len(authors) > _FEW:
            written = {one: cut_name(name).last if name else name for one, name in written.items()}
        names = [show(shorten(name, _LONGEST_NAME), one in met) for one, name in written.items()]
        return (
            f"{' … '.join(names)} ({len(authors):,})" if len(authors) > _FEW else ", ".join(names)
        )

    @cached_property
    def last_names(self) -> str:
        """The authors' last names: `Piani`, `Chubb & Flammia`, `Kim … Waks (4)`, and those a query asked for."""
        authors = self.entry.paper.authors
        met = sorted(find_matched(self.entry, Field.AUTHORS))[:_MOST_MATCHED]
        chosen = {0, *met, len(authors) - 1}
        named = [author for at, author in enumerate(authors) if at in chosen]
        names = [shorten(name.last, _SHORT_NAME) for name in write_names(named)]
        more = f"\u00a0({len(authors):,})" if len(authors) > len(names) else ""
        return (" & " if len(authors) == 2 else "\u00a0… ").join(names) + more  # noqa: PLR2004 - two are a pair

    @cached_property
    def snippet_parts(self) -> tuple[Segment, ...]:
        """What is shown of the abstract, in parts: a sentence of at most 200 characters, or two."""
        return self._choose_snippet(LONGEST_SNIPPET, 2 if self.form is Form.TWO_SENTENCES else 1)

    def _choose_snippet(self, limit: int, sentences: int) -> tuple[Segment, ...]:
        spans = [
            *(find_reason_spans(one, Field.ABSTRACT) for one in self.entry.reasons),
            find_marks(self.entry, Field.ABSTRACT),
        ]
        paper = self.entry.paper
        return choose_snippet(paper.title, paper.abstract, spans, sentences=sentences, limit=limit)

    @property
    def snippet(self) -> str:
        """What is shown of the abstract, in plain Unicode: a sentence of at most 200 characters, or two."""
        return "".join(segment.text for segment in self.snippet_parts)

    def style_snippet(self, columns: int) -> str:
        """Return one sentence for two lines of `columns` columns, with marks for what was met."""
        room = 2 * columns - 6  # lines are broken between words
        return style_parts(self._choose_snippet(min(room, LONGEST_SNIPPET), sentences=1))

    @property
    def abstract_parts(self) -> tuple[Segment, ...]:
        """The whole abstract in parts, those that were met apart."""
        return show_segments(self.entry.paper.abstract, find_marks(self.entry, Field.ABSTRACT))

    @cached_property
    def queries(self) -> str:
        """Names of the saved queries that matched: `perf, gpu`; under a query's heading the others: `also gpu`."""
        others = [
            name for name in self.entry.queries if name != self.under and not self.is_of_one_query
        ]
        also = "also " if self.under and others else ""
        return shorten(clean_text(also + ", ".join(others)), _LONGEST_CATEGORIES)

    def write_why(self, abstracts: Abstracts) -> str:
        """Return the queries, and what they met but is not shown: `perf, gpu · mentions exoplanets, habitable`."""
        return " · ".join(filter(None, (self.queries, self.write_mentions(abstracts))))

    def write_mentions(self, abstracts: Abstracts = Abstracts.NONE) -> str:
        """Return what was met, but is neither in the title nor in what is shown of the abstract."""
        seen = (*self.title_parts, *(self.snippet_parts if abstracts == Abstracts.SHORT else ()))
        stems = {
            word for segment in seen if segment.is_marked for word in _stem_words(segment.text)
        }
        # To whom asks for `planet*`, "planetary" tells nothing.
        entry = replace(
            self.entry, reasons=tuple(one for one in self.entry.reasons if "*" not in one.clause)
        )
        words = {
            _stem_words(phrase): shorten(phrase, _LONGEST_PHRASE)
            for field in _UNSEEN[abstracts == Abstracts.FULL :]
            for phrase in _read_phrases(entry, field)
        }
        unseen = [phrase for key, phrase in words.items() if not stems.issuperset(key)]
        more = f" +{len(unseen) - _MOST_WORDS}" * (len(unseen) > _MOST_WORDS)
        return f"mentions {', '.join(unseen[:_MOST_WORDS])}{more}" * bool(unseen)

    @cached_property
    def change(self) -> str:
        """What changed since the reader saw it, in a line or two: `v2: corrected Fig. 3; abstract +22 words`.

        Of a minor change it is what goes into brackets; of a withdrawn paper the reason. Of others it says what is
        not simply new: `cross-listed into cs.PF`, `first time here (v2)`, `replaced on …`; "" mostly.
        """
        entry, sequel, is_brief = self.entry, self.entry.sequel, self.form is Form.TITLE
        on = f" on {write_day(sequel.day, entry.announced)}" if sequel else ""
        version = f"(v{entry.latest.version})"
        if entry.is_withdrawn:
            return shorten(
                f"withdrawn{on} {version}: {find_withdrawal_reason(entry.latest)}", LONGEST_NOTE
            )
        said, summary = clean_text(entry.label), join_summaries(self.revisions)
        if self.form is Form.MINOR:
            return shorten(summary, LONGEST_MINOR)
        if entry.before:
            said = f"{said.rpartition(' → ')[2]}: {summary}"
        elif is_brief:
            said = said.partition(" into ")[0]
        since = f"replaced{on} {version}" if sequel else ""
        if since and not is_brief and not entry.before:
            since = f"{since}: {summary}"
        return shorten("; ".join(filter(None, (said, since))), LONGEST_NOTE)

    @cached_property
    def short_title(self) -> str:
        """The title in plain Unicode, at most 90 characters."""
        return shorten(self.full_title, _SHORT_TITLE)

    @cached_property
    def revisions(self) -> tuple[RevisionView, ...]:
        """What changed, part by part, since the reader saw it, or since it was announced."""
        before, sequel = self.entry.before, self.entry.sequel
        if before is None and sequel is not None:
            return view_revisions(sequel.before.paper, sequel.after.paper, shown=self.entry.paper)
        return view_revisions(before.paper, self.entry.paper) if before is not None else ()

    @cached_property
    def comment(self) -> str:
        """The authors' comment; "" if there is none."""
        return show_plain(self.entry.paper.comment)

    @cached_property
    def comment_html(self) -> Markup:
        """The authors' comment as HTML with what was met in `<mark>`; "" if there is none."""
        return show_html(self.entry.paper.comment, find_spans(self.entry, Field.COMMENT))

    @cached_property
    def journal_ref_html(self) -> Markup:
        """The journal reference as HTML with what was met in `<mark>`; "" if there is none."""
        return show_html(self.entry.paper.journal_ref, find_spans(self.entry, Field.JOURNAL_REF))

    @cached_property
    def abstract(self) -> str:
        """The whole abstract in plain Unicode on one line."""
        return show_plain(self.entry.paper.abstract)

    @cached_property
    def dates(self) -> str:
        """The dates of submission and announcement, if they lie far apart; "" otherwise.

        The announcement of a paper that was found for a first digest is not known.
        """
        paper, announced, kind = self.entry.paper, self.entry.announced, self.entry.kind
        is_about_version = kind in (Kind.REPLACEMENT, Kind.WITHDRAWAL)
        submitted = (paper.updated if is_about_version else paper.published).date()
        if self.is_first_digest or kind is Kind.KNOWN:
            latest = paper.updated.date()
            version = (
                f", v{paper.version} of {_write_past(latest, announced)}"
                if latest > submitted
                else ""
            )
            return f"submitted {_write_past(submitted, announced)}{version}"
        if (announced - submitted).days <= _LATE_DAYS:
            return ""
        verb = _DATED.get(kind, "announced")
        return (
            f"submitted {_write_past(submitted, announced)}, {verb} {write_day_of_month(announced)}"
        )

    def show_abstract(self, abstracts: Abstracts = Abstracts.FULL) -> tuple[Markup, ...]:
        """Return as much of the abstract as the digest shows: paragraphs of HTML with what was met in `<mark>`."""
        if abstracts is Abstracts.NONE:
            return ()
        if abstracts is Abstracts.SHORT:
            return (mark_parts(self.snippet_parts),) if self.snippet_parts else ()
        return show_paragraphs(self.entry.paper.abstract, find_marks(self.entry, Field.ABSTRACT))


def _write_past(day: date, seen_from: date) -> str:
    return (
        write_day_of_month(day)
        if day.year == seen_from.year
        else f"{write_day_of_month(day)} {day.year}"
    )


def _isolate(text: Markup) -> Markup:
    """Keep text that runs from right to left from turning what is beside it."""
    return Markup("<bdi>{}</bdi>").format(text) if _RIGHT_TO_LEFT.search(text) else text


def find_marks(entry: DigestEntry, field: Field) -> Spans:
    """Return the places of a title or an abstract that met a clause, or that have the words of such a place."""
    text = str(getattr(entry.paper, field))
    places = [(word.start, word.end) for word in split_words(text)]
    stems = _stem_words(text)
    met = {
        _stem_words(phrase)
        for one in (Field.TITLE, Field.ABSTRACT)
        for phrase in _read_phrases(entry, one)
    } - {()}
    return tuple(
        sorted(
            {*find_spans(entry, field)}.union(
                (places[first][0], places[first + len(phrase) - 1][1])
                for phrase in met
                for first in range(len(stems) - len(phrase) + 1)
                if stems[first : first + len(phrase)] == phrase
            )
        )
    )


def _stem_words(text: str) -> tuple[str, ...]:
    """Return a text as it is compared: `neural networks` and `Neural network` are one."""
    return tuple(stem(fold(word.text)) for word in split_words(text))


def find_matched(entry: DigestEntry, field: Field) -> frozenset[int]:
    """Return which authors or categories (0-based) a query asked for."""
    return frozenset(
        span.index for reason in entry.reasons for span in reason.spans if span.field is field
    )


def _read_phrases(entry: DigestEntry, field: Field) -> tuple[str, ...]:
    """Return what was met in a field, as it shows: `10⁻³` for `$10^{-3}$`."""
    segments = show_segments(str(getattr(entry.paper, field)), find_spans(entry, field))
    return tuple(clean_text(one.text) for one in segments if one.is_marked)


def mark_parts(parts: Iterable[Segment]) -> Markup:
    """Write parts of a text as HTML, with what was met in `<mark>`."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(text) if is_marked else Markup.escape(text)
        for text, is_marked in parts
    )


def write_mrkdwn(parts: Iterable[Segment]) -> Mrkdwn:
    """Write parts of a text for Slack, the words that were met in bold, as far as a section has room."""
    runs = groupby(_fit_words(_split_words(parts), _LONGEST_SECTION), key=lambda word: word[1])
    said = ((escape_text(" ".join(word for word, _ in run)), is_met) for is_met, run in runs)
    return Mrkdwn(" ".join(f"*{text}*" if is_met else text for text, is_met in said))


def star_parts(parts: Iterable[Segment]) -> str:
    """Write parts of a text in plain Unicode, with what was met between asterisks."""
    return clean_text("".join(f"*{one.text}*" if one.is_marked else one.text for one in parts))


def style_parts(parts: Iterable[Segment], usual: str = "") -> str:
    """Write parts of a text for a terminal, in a usual style, with marks for what was met."""
    found = [
        (clean_text(f"|{one.text}|")[1:-1], "mark" if one.is_marked else usual) for one in parts
    ]
    return "".join(styled(text, style) if text and style else text for text, style in found).strip()


def _fit_words(words: Iterable[tuple[str, bool]], room: int) -> Iterator[tuple[str, bool]]:
    """Yield the first words that take at most `room` bytes as mrkdwn, and an ellipsis if there are more."""
    for word, is_met in words:
        room -= len(escape_text(word).encode()) + len("** ")
        if room < 0:
            yield "…", False
            return
        yield word, is_met


def _split_words(segments: Iterable[Segment]) -> Iterator[tuple[str, bool]]:
    parts = list(segments)
    met = [part.is_marked for part in parts for _ in part.text]
    for word in re.finditer(r"\S+", "".join(part.text for part in parts)):
        if cleaned := clean_text(word[0]):
            yield cleaned, any(met[slice(*word.span())])
