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
from digest.model.papers import Author, Field
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

LONGEST_TITLE = 300
_SHORT_TITLE = 90
LONGEST_NOTE = 240
_LONGEST_NAME = 80
_SHORT_NAME = 40
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
        """What it is near to, `like “Title”`; "" if nothing, or said by the dot or `why_first`."""
        near = self.entry.near
        if self.why_first or near is None or not near.title:
            return ""
        return say_near(near)

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
        if not show_plain(title):
            return (Segment(UNTITLED, is_marked=False),)
        return show_segments(title, find_marks(self.entry, Field.TITLE))

    @cached_property
    def all_authors(self) -> tuple[str, ...]:
        """Every author, none left out, each with their affiliations in full."""
        return tuple(map(_write_author, self.entry.paper.authors))

    @cached_property
    def categories(self) -> str:
        """The primary category, those that a query asked for, how many more: `quant-ph +2`."""
        all_names = self.entry.paper.categories
        met = find_matched(self.entry, Field.CATEGORIES)
        names = [name for at, name in enumerate(all_names) if at == 0 or at in met]
        said = " ".join(names)
        more = len(all_names) - len(names)
        if more:
            said += f" +{more}"
        return shorten(clean_text(said), _LONGEST_CATEGORIES)

    @cached_property
    def place(self) -> str:
        """The journal or conference, `accepted at PRB`; "" if unknown or said by `why_first`."""
        return "" if self.is_place_said else show_plain(find_place(self.entry.paper))

    @property
    def short_place(self) -> str:
        """`place` in 40 characters, without volume and page: `accepted at PRB`, `Phys. Rev. B`."""
        place = self.place
        journal = place.removeprefix("published in ")
        if journal != place:
            place = _VOLUME.split(journal)[0]
        return shorten(place, _SHORT_NAME)

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """What to open beside the PDF, by `label` and `url`: HTML, Code, Data, Project page."""
        return find_links(self.entry.paper)

    @property
    def all_categories(self) -> str:
        """Every category, the primary one first, separated by blanks."""
        return clean_text(" ".join(self.entry.paper.categories))

    @cached_property
    def short_authors(self) -> str:
        """Up to three authors, `Ann Lee, Bo Yu`; of more the last names, `Lee … Yu … Roe (12)`."""
        return self._join_authors(lambda name, _: name)

    @property
    def short_authors_html(self) -> Markup:
        """`short_authors` as HTML, with those a query asked for in `<mark>`."""
        return Markup(self._join_authors(_show_name_html))  # noqa: S704 - each name is escaped

    @property
    def short_authors_mrkdwn(self) -> Mrkdwn:
        """`short_authors` for Slack, with those a query asked for in bold."""
        return Mrkdwn(self._join_authors(_show_name_mrkdwn))

    def _join_authors(self, show: Callable[[str, bool], str]) -> str:
        authors = self.entry.paper.authors
        total = len(authors)
        met = find_matched(self.entry, Field.AUTHORS)
        if total <= _FEW:
            named = [show_plain(author.name) for author in authors]
            return ", ".join(
                show(shorten(name, _LONGEST_NAME), at in met) for at, name in enumerate(named)
            )
        shown = []
        for at in sorted({0, *sorted(met)[:_MOST_MATCHED], total - 1}):
            name = _find_last_name(authors[at])
            shown.append(show(shorten(name, _LONGEST_NAME), at in met))
        return f"{' … '.join(shown)} ({total:,})"

    @cached_property
    def last_names(self) -> str:
        """The last names, `Chubb & Flammia`, `Kim … Waks (4)`, and those a query asked for."""
        authors = self.entry.paper.authors
        total = len(authors)
        met = sorted(find_matched(self.entry, Field.AUTHORS))[:_MOST_MATCHED]
        chosen = {0, *met, total - 1}
        named = [author for at, author in enumerate(authors) if at in chosen]
        names = [shorten(name.last, _SHORT_NAME) for name in write_names(named)]
        is_pair = total == 2  # noqa: PLR2004 - two are a pair
        said = " & ".join(names) if is_pair else "\u00a0… ".join(names)
        return f"{said}\u00a0({total:,})" if total > len(names) else said

    @cached_property
    def snippet_parts(self) -> tuple[Segment, ...]:
        """What is shown of the abstract, in parts: a sentence of at most 200 characters, or two."""
        sentences = 2 if self.form is Form.TWO_SENTENCES else 1
        return self._choose_snippet(LONGEST_SNIPPET, sentences)

    def _choose_snippet(self, limit: int, sentences: int) -> tuple[Segment, ...]:
        paper = self.entry.paper
        spans = [find_reason_spans(one, Field.ABSTRACT) for one in self.entry.reasons]
        spans.append(find_marks(self.entry, Field.ABSTRACT))
        return choose_snippet(paper.title, paper.abstract, spans, sentences=sentences, limit=limit)

    @property
    def snippet(self) -> str:
        """What is shown of the abstract in plain Unicode: a sentence, or two, of 200 characters."""
        return "".join(segment.text for segment in self.snippet_parts)

    def style_snippet(self, columns: int) -> str:
        """Return one sentence for two lines of `columns` columns, with marks for what was met."""
        room = 2 * columns - 6  # lines are broken between words
        limit = min(room, LONGEST_SNIPPET)
        return style_parts(self._choose_snippet(limit, sentences=1))

    @property
    def abstract_parts(self) -> tuple[Segment, ...]:
        """The whole abstract in parts, those that were met apart."""
        return show_segments(self.entry.paper.abstract, find_marks(self.entry, Field.ABSTRACT))

    @cached_property
    def queries(self) -> str:
        """The saved queries that matched, `perf, gpu`; below one's heading others, `also gpu`."""
        if self.is_of_one_query:
            return ""
        others = [name for name in self.entry.queries if name != self.under]
        said = ", ".join(others)
        if self.under and others:
            said = f"also {said}"
        return shorten(clean_text(said), _LONGEST_CATEGORIES)

    def write_why(self, abstracts: Abstracts) -> str:
        """Return the queries, and what they met but is not shown.

        Such as `perf, gpu · mentions exoplanets, habitable`.
        """
        mentions = self.write_mentions(abstracts)
        return " · ".join(said for said in (self.queries, mentions) if said)

    def write_mentions(self, abstracts: Abstracts = Abstracts.NONE) -> str:
        """Return what was met, but is neither in the title nor in what is shown of the abstract."""
        seen = self._find_seen(abstracts)
        unseen = []
        for words, phrase in self._find_unshown(abstracts).items():
            if not seen.issuperset(words):
                unseen.append(phrase)
        if not unseen:
            return ""
        said = f"mentions {', '.join(unseen[:_MOST_WORDS])}"
        more = len(unseen) - _MOST_WORDS
        return f"{said} +{more}" if more > 0 else said

    def _find_seen(self, abstracts: Abstracts) -> set[str]:
        """Return the stems of the words that a reader sees marked."""
        parts = list(self.title_parts)
        if abstracts == Abstracts.SHORT:
            parts += self.snippet_parts
        stems: set[str] = set()
        for part in parts:
            if part.is_marked:
                stems.update(_stem_words(part.text))
        return stems

    def _find_unshown(self, abstracts: Abstracts) -> dict[tuple[str, ...], str]:
        """Return what was met in fields of which a reader sees a part at most: by its stems."""
        # To whom asks for `planet*`, "planetary" tells nothing.
        telling = tuple(one for one in self.entry.reasons if "*" not in one.clause)
        entry = replace(self.entry, reasons=telling)
        is_abstract_shown = abstracts == Abstracts.FULL
        phrases: dict[tuple[str, ...], str] = {}
        for field in _UNSEEN:
            if field is Field.ABSTRACT and is_abstract_shown:
                continue
            for phrase in _read_phrases(entry, field):
                phrases[_stem_words(phrase)] = shorten(phrase, _LONGEST_PHRASE)
        return phrases

    @cached_property
    def change(self) -> str:
        """What changed since the reader saw it: `v2: corrected Fig. 3; abstract +22 words`.

        Of a minor change it is what goes into brackets; of a withdrawn paper the reason. Of others
        it says what is not simply new: `cross-listed into cs.PF`, `first time here (v2)`,
        `replaced on …`; "" mostly.
        """
        if self.entry.is_withdrawn:
            return self._say_withdrawal()
        summary = join_summaries(self.revisions)
        if self.form is Form.MINOR:
            return shorten(summary, LONGEST_MINOR)
        said = [self._say_label(summary), self._say_replacement(summary)]
        return shorten("; ".join(one for one in said if one), LONGEST_NOTE)

    def _say_withdrawal(self) -> str:
        latest = self.entry.latest
        reason = find_withdrawal_reason(latest)
        return shorten(f"withdrawn{self._on_day} (v{latest.version}): {reason}", LONGEST_NOTE)

    def _say_label(self, summary: str) -> str:
        """Say what happened; of a version after one that the reader knows, also what it changed."""
        label = clean_text(self.entry.label)
        if self.entry.before:
            version = label.rpartition(" → ")[2]
            return f"{version}: {summary}"
        return label.partition(" into ")[0] if self.form is Form.TITLE else label

    def _say_replacement(self, summary: str) -> str:
        """Say that it was replaced since its announcement; "" if it was not."""
        if not self.entry.sequel:
            return ""
        said = f"replaced{self._on_day} (v{self.entry.latest.version})"
        is_brief = self.form is Form.TITLE
        return said if is_brief or self.entry.before else f"{said}: {summary}"

    @property
    def _on_day(self) -> str:
        """When it was replaced or withdrawn later: ` on Fri 20 Nov`; "" if it was not."""
        sequel = self.entry.sequel
        return f" on {write_day(sequel.day, self.entry.announced)}" if sequel else ""

    @cached_property
    def short_title(self) -> str:
        """The title in plain Unicode, at most 90 characters."""
        return shorten(self.full_title, _SHORT_TITLE)

    @cached_property
    def revisions(self) -> tuple[RevisionView, ...]:
        """What changed, part by part, since the reader saw it, or since it was announced."""
        before = self.entry.before
        sequel = self.entry.sequel
        paper = self.entry.paper
        if before is not None:
            return view_revisions(before.paper, paper)
        if sequel is not None:
            return view_revisions(sequel.before.paper, sequel.after.paper, shown=paper)
        return ()

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
        paper = self.entry.paper
        kind = self.entry.kind
        announced = self.entry.announced
        is_about_version = kind in (Kind.REPLACEMENT, Kind.WITHDRAWAL)
        latest = paper.updated.date()
        submitted = latest if is_about_version else paper.published.date()
        said = f"submitted {_write_past(submitted, announced)}"
        if self.is_first_digest or kind is Kind.KNOWN:
            if latest > submitted:
                said += f", v{paper.version} of {_write_past(latest, announced)}"
            return said
        if (announced - submitted).days <= _LATE_DAYS:
            return ""
        verb = _DATED.get(kind, "announced")
        return f"{said}, {verb} {write_day_of_month(announced)}"

    def show_abstract(self, abstracts: Abstracts = Abstracts.FULL) -> tuple[Markup, ...]:
        """Return as much of the abstract as the digest shows: paragraphs of HTML.

        What was met is in `<mark>`.
        """
        if abstracts is Abstracts.NONE:
            return ()
        if abstracts is Abstracts.SHORT:
            return (mark_parts(self.snippet_parts),) if self.snippet_parts else ()
        marks = find_marks(self.entry, Field.ABSTRACT)
        return show_paragraphs(self.entry.paper.abstract, marks)


def _write_author(author: Author) -> str:
    """Write an author with affiliations: `Ann Lee (Bergen; Oslo)`."""
    name = show_plain(author.name)
    if not author.affiliations:
        return name
    affiliations = "; ".join(map(show_plain, author.affiliations))
    return f"{name} ({affiliations})"


def _find_last_name(author: Author) -> str:
    name = show_plain(author.name)
    return cut_name(name).last if name else ""


def _show_name_html(name: str, is_met: bool) -> str:  # noqa: FBT001 - as all ways to show a name
    form = Markup("<mark>{}</mark>") if is_met else Markup("{}")
    return _isolate(form.format(name))


def _show_name_mrkdwn(name: str, is_met: bool) -> str:  # noqa: FBT001 - the same
    shown = escape_text(name)
    return f"*{shown}*" if is_met else shown


def _write_past(day: date, seen_from: date) -> str:
    """Write a day as `19 Nov`, with its year if that is another one."""
    said = write_day_of_month(day)
    return said if day.year == seen_from.year else f"{said} {day.year}"


def _isolate(text: Markup) -> Markup:
    """Keep text that runs from right to left from turning what is beside it."""
    return Markup("<bdi>{}</bdi>").format(text) if _RIGHT_TO_LEFT.search(text) else text


def find_marks(entry: DigestEntry, field: Field) -> Spans:
    """Return the places of a title or an abstract to mark.

    Those met a clause, or have the words of a place that did.
    """
    met: set[tuple[str, ...]] = set()
    for one in (Field.TITLE, Field.ABSTRACT):
        met.update(map(_stem_words, _read_phrases(entry, one)))
    met.discard(())
    text = str(getattr(entry.paper, field))
    words = list(split_words(text))
    stems = _stem_words(text)
    places = {*find_spans(entry, field)}
    for phrase in met:
        length = len(phrase)
        for first in range(len(stems) - length + 1):
            if stems[first : first + length] == phrase:
                last = first + length - 1
                places.add((words[first].start, words[last].end))
    return tuple(sorted(places))


def _stem_words(text: str) -> tuple[str, ...]:
    """Return a text as it is compared: `neural networks` and `Neural network` are one."""
    return tuple(stem(fold(word.text)) for word in split_words(text))


def find_matched(entry: DigestEntry, field: Field) -> frozenset[int]:
    """Return which authors or categories (0-based) a query asked for."""
    matched: set[int] = set()
    for reason in entry.reasons:
        matched.update(span.index for span in reason.spans if span.field is field)
    return frozenset(matched)


def _read_phrases(entry: DigestEntry, field: Field) -> tuple[str, ...]:
    """Return what was met in a field, as it shows: `10⁻³` for `$10^{-3}$`."""
    raw = str(getattr(entry.paper, field))
    segments = show_segments(raw, find_spans(entry, field))
    return tuple(clean_text(one.text) for one in segments if one.is_marked)


def mark_parts(parts: Iterable[Segment]) -> Markup:
    """Write parts of a text as HTML, with what was met in `<mark>`."""
    shown = Markup("")
    for text, is_marked in parts:
        form = Markup("<mark>{}</mark>") if is_marked else Markup("{}")
        shown += form.format(text)
    return shown


def write_mrkdwn(parts: Iterable[Segment]) -> Mrkdwn:
    """Write parts of a text for Slack, what was met in bold, as far as a section has room."""
    words = _fit_words(_split_words(parts), _LONGEST_SECTION)
    shown = []
    for is_met, run in groupby(words, key=lambda word: word[1]):
        text = escape_text(" ".join(word for word, _ in run))
        shown.append(f"*{text}*" if is_met else text)
    return Mrkdwn(" ".join(shown))


def star_parts(parts: Iterable[Segment]) -> str:
    """Write parts of a text in plain Unicode, with what was met between asterisks."""
    return clean_text("".join(f"*{one.text}*" if one.is_marked else one.text for one in parts))


def style_parts(parts: Iterable[Segment], usual: str = "") -> str:
    """Write parts of a text for a terminal, in a usual style, with marks for what was met."""
    shown = ""
    for part in parts:
        text = clean_part(part.text)
        style = "mark" if part.is_marked else usual
        shown += styled(text, style) if text and style else text
    return shown.strip()


def clean_part(text: str) -> str:
    """Clean a part of a text, with the blanks at its ends, which belong to the whole text."""
    return clean_text(f"|{text}|")[1:-1]


def _fit_words(words: Iterable[tuple[str, bool]], room: int) -> Iterator[tuple[str, bool]]:
    """Yield the first words that take at most `room` bytes as mrkdwn.

    After them comes an ellipsis if there are more.
    """
    for word, is_met in words:
        size = len(escape_text(word).encode())
        room -= size + len("** ")
        if room < 0:
            yield "…", False
            return
        yield word, is_met


def _split_words(parts: Iterable[Segment]) -> Iterator[tuple[str, bool]]:
    """Yield the words of a text, and whether any of its letters was met."""
    text = ""
    letters_met: list[bool] = []
    for part in parts:
        text += part.text
        letters_met += [part.is_marked] * len(part.text)
    for word in re.finditer(r"\S+", text):
        cleaned = clean_text(word[0])
        if cleaned:
            yield cleaned, any(letters_met[word.start() : word.end()])
