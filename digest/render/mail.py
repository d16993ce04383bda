"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, fields
from email.utils import format_datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from markupsafe import Markup

from digest.model.errors import TemplateError
from digest.render.contexts import (
    MailContext,
    MailPaperContext,
    MailPaperTextContext,
    MailTextContext,
    SubjectContext,
    WeeklyMailContext,
    WeeklyTextContext,
)
from digest.render.digests import (
    as_fields,
    choose_template,
    choose_top,
    group_papers,
    view_digest,
    view_papers,
    view_rest,
    view_week,
)
from digest.render.mail_forms import KEPT_LINES, MailText, encode_part
from digest.render.mime import (
    check_address,
    check_atom,
    join_mail,
    quote_printable,
    write_feedback_id,
    write_list_id,
    write_mailbox,
    write_subject,
    write_uris,
)
from digest.render.papers import PaperView
from digest.render.text import clean_markup, clean_text, flow_text, shorten, wrap_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from datetime import datetime

    from digest.model.messages import Delivery, Digest, DigestEntry, Links
    from digest.render.digests import GroupView
    from digest.render.environments import Templates
    from digest.render.mail_forms import EncodedMail, Part


BUDGET = 100_000
"""Bytes an HTML part may take as it is sent, styles inlined, quoted-printable."""

STEPS: tuple[int | None, ...] = (None, 400, 200, 0)
"""Abstracts: whole, 400 characters, 200, none."""

WEEKLY_STEPS = STEPS[1:]
"""A week is skimmed: its abstracts begin with 400 characters."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What is shown: the first `papers` ones, each abstract up to `abstract_limit` (None for whole)."""

    papers: int
    abstract_limit: int | None


def fit_papers(
    most: int, measure: Callable[[Fit], int], budget: int = BUDGET, *, steps: Sequence[int | None] = STEPS
) -> Fit:
    """Choose the fullest abstracts at which all of `most` papers fit; else as many as fit without any.

    Args:
        most: how many papers are to be shown.
        measure: the size of the whole part in bytes for a choice.
        budget: bytes it may take.
        steps: how abstracts shorten.
    """
    for step in steps:
        if measure(Fit(most, step)) <= budget:
            return Fit(most, step)
    fewest, above = 0, most
    while above - fewest > 1:
        middle = (fewest + above) // 2
        if measure(Fit(middle, 0)) <= budget:
            fewest = middle
        else:
            above = middle
    return Fit(fewest, 0)


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


_SUBJECT_TITLE = 60
_SUBJECT_NAME = 24


@dataclass(frozen=True, slots=True)
class MailIdentity:
    """Who a mail is from, and when it was made.

    Attributes:
        from_address: the sender's address.
        from_name: the sender's name, "" for none.
        domain: the right side of `Message-ID` and `List-Id`.
        date: frozen with the delivery: every attempt carries the same `Date`.
    """

    from_address: str
    from_name: str
    domain: str
    date: datetime


def render_mail_text(fragments: Fragments, digest: Digest, links: Links) -> MailText:
    """Render what the mail of a digest says.

    Raises:
        TemplateError: a template cannot be rendered, or takes more room than a mail has.
    """
    frame = _Frame(fragments, digest, links)
    html, fit = frame.fit()
    text = frame.render_text(fit)
    papers = frame.list_papers(fit)
    return MailText(
        subject=write_subject(frame.render_subject()),
        plain=fill_text(text + "\n", papers),
        html=fill_html(html, papers),
    )


def write_digest_mail(
    said: EncodedMail, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> bytes:
    """Write the whole mail of a digest, given what it says.

    Raises:
        ConfigurationError: an address cannot be written into a header.
    """
    fields = _list_fields(said.subject, digest, delivery, links, identity)
    return join_mail(fields, delivery.idempotency_key, said.plain, said.html)


def write_digest_text(fragments: Fragments, digest: Digest, links: Links) -> str:
    """Write a digest as plain text in lines of at most 78 characters, with whole abstracts."""
    rendered = _Frame(fragments, digest, links, holds_places=False).render_text(Fit(digest.shown, None))
    return wrap_text(clean_lines(rendered))


def _list_fields(
    subject: str, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> list[tuple[str, str]]:
    key, domain = check_atom(delivery.idempotency_key), check_atom(identity.domain)
    leave = [uri for uri in (links.unsubscribe, links.unsubscribe_mail) if uri]
    sender, read_by = check_address(identity.from_address), _find_reading_address(links)
    fields = [
        ("Date", format_datetime(identity.date)),
        ("From", write_mailbox(identity.from_name, sender, field="From")),
        *([("Reply-To", read_by)] if read_by and read_by != sender else ()),
        ("To", check_address(delivery.destination.address)),
        ("Subject", subject),
        ("Message-ID", f"<{key}@{domain}>"),
        ("List-Id", write_list_id(digest.title, digest.subscription, domain)),
    ]
    if leave:
        fields.append(("List-Unsubscribe", write_uris(leave)))
    if links.unsubscribe.startswith("https://"):
        fields.append(("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"))
    for name, link in (("List-Help", links.home), ("List-Archive", links.web_view)):
        if link:
            fields.append((name, write_uris([link])))
    return [
        *fields,
        ("Auto-Submitted", "auto-generated"),
        ("Precedence", "bulk"),
        ("X-Auto-Response-Suppress", "All"),
        ("Feedback-ID", write_feedback_id(digest.occasion, domain)),
        ("Content-Language", "en"),
    ]


def _find_reading_address(links: Links) -> str:
    """Return the address where mails of people who want to leave are read, and so replies are too; "" for none."""
    link = links.unsubscribe_mail
    return check_address(unquote(urlsplit(link).path)) if link else ""


class _Frame:
    """A mail around its papers.

    Where its templates only print them, papers are held a place and put in when all around them is encoded.
    """

    def __init__(self, fragments: Fragments, digest: Digest, links: Links, *, holds_places: bool = True) -> None:
        self._fragments, self._templates = fragments, fragments.templates
        self._digest, self._links, self._holds_places = digest, links, holds_places
        self._view, self._papers = view_digest(digest), view_papers(digest)
        self._top = choose_top(digest, self._papers)
        self._week = view_week(digest, self._papers) if digest.is_round_up else None
        self._made: dict[Fit, dict[int, Fragment]] = {}
        self._groups: dict[int, tuple[GroupView, ...]] = {}

    def list_papers(self, fit: Fit) -> Mapping[int, Fragment]:
        """Return the papers shown, by number."""
        if fit not in self._made:
            self._made[fit] = {
                paper.number: self._fragments.make(paper, fit.abstract_limit)
                for paper in self._papers[: fit.papers]
            }
        return self._made[fit]

    def render_subject(self) -> str:
        """Render the subject."""
        top = next(iter(self._top), None)
        name = shorten(self._view.title, _SUBJECT_NAME) if self._view.title != self._view.subscription else ""
        title = shorten(top.title, _SUBJECT_TITLE - len(name)) if top else ""
        return clean_text(
            self._templates.render("email/subject.txt", SubjectContext(self._view, top, title, name))
        )

    def render_text(self, fit: Fit) -> str:
        """Render the text part, one line per paragraph."""
        name = choose_template("email/text.txt", self._digest)
        papers = self.list_papers(fit)
        context = MailTextContext(
            digest=self._view,
            groups=self._group(fit.papers),
            fragments={number: hold_place(number) for number in papers}
            if self._are_held(name)
            else {number: paper.text for number, paper in papers.items()},
            abstract_limit=fit.abstract_limit,
            rest=view_rest(self._papers[fit.papers :], self._links.web_view),
            links=self._links,
        )
        if self._week is not None:
            context = WeeklyTextContext(**as_fields(context), week=self._week)
        return self._templates.render(name, context)

    def fit(self) -> tuple[str, Fit]:
        """Render the HTML part with as much as a mail has room for, and return how much that is.

        Raises:
            TemplateError: a template cannot be rendered, or takes more room than a mail has.
        """
        rendered: dict[Fit, str] = {}

        def measure(fit: Fit) -> int:
            if fit not in rendered:
                rendered[fit] = self._render_html(fit)
            return measure_whole(rendered[fit], self.list_papers(fit))

        steps = WEEKLY_STEPS if self._week is not None and not self._view.is_whole else STEPS
        fit = fit_papers(self._digest.shown, measure, steps=steps)
        if (size := measure(fit)) > BUDGET:
            name = choose_template("email/digest.html", self._digest)
            raise TemplateError(
                f"{name} takes {size:,} bytes before any paper: {size - BUDGET:,} more than the {BUDGET:,} that a"
                " mail has room for",
                hint="Shorten the template or its style sheet: mail readers cut longer mails.",
            )
        return rendered[fit], fit

    def _render_html(self, fit: Fit) -> str:
        name = choose_template("email/digest.html", self._digest)
        papers = self.list_papers(fit)
        context = MailContext(
            digest=self._view,
            groups=self._group(fit.papers),
            fragments={number: hold_place(number) for number in papers}
            if self._are_held(name)
            else {number: paper.html for number, paper in papers.items()},
            rest=view_rest(self._papers[fit.papers :], self._links.web_view),
            links=self._links,
        )
        if self._week is None:
            return self._templates.render(name, context)
        weekly = WeeklyMailContext(**as_fields(context), week=self._week)
        return self._fragments.inline_tags(self._templates.render(name, weekly))

    def _are_held(self, name: str) -> bool:
        return self._holds_places and self._templates.is_only_printed("fragments", name)

    def _group(self, papers: int) -> tuple[GroupView, ...]:
        if papers not in self._groups:
            self._groups[papers] = group_papers(self._digest, self._papers[:papers])
        return self._groups[papers]
