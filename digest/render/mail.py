"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from digest.errors import TemplateError
from digest.render.cleaning import clean_text, shorten
from digest.render.contexts import (
    MailContext,
    MailTextContext,
    SubjectContext,
    WeeklyMailContext,
    WeeklyTextContext,
)
from digest.render.digest_view import group_papers, view_digest, view_papers, view_rest
from digest.render.fitting import BUDGET, STEPS, WEEKLY_STEPS, Fit, fit_papers
from digest.render.flowing import wrap_text
from digest.render.fragments import clean_lines, fill_html, fill_text, hold_place, measure_whole
from digest.render.headers import (
    check_address,
    check_atom,
    write_feedback_id,
    write_list_id,
    write_mailbox,
    write_subject,
    write_uris,
)
from digest.render.mail_forms import MailText
from digest.render.mime import join_mail
from digest.render.weekly import as_fields, choose_template, choose_top, view_week

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from digest.messages import Delivery, Digest, Links
    from digest.render.digest_view import GroupView
    from digest.render.fragments import Fragment, Fragments
    from digest.render.mail_forms import EncodedMail

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
