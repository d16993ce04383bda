"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import format_datetime
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from digest.errors import TemplateError
from digest.render.cleaning import clean_markup, clean_text, shorten
from digest.render.contexts import (
    MailContext,
    MailTextContext,
    SubjectContext,
    WeeklyMailContext,
    WeeklyTextContext,
)
from digest.render.digest_view import group_papers, view_digest, view_papers, view_rest
from digest.render.fitting import BUDGET, STEPS, WEEKLY_STEPS, Fit, fit_papers
from digest.render.flowing import KEPT_LINES, flow_text, wrap_text
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
    from collections.abc import Sequence
    from datetime import datetime

    from digest.messages import Delivery, Digest, Links
    from digest.render.fragments import Fragments
    from digest.render.mail_forms import EncodedMail
    from digest.render.presentation import PaperView

_SUBJECT_TITLE = 60
_PREHEADER_TITLE = 90

_clean_line = lru_cache(KEPT_LINES)(clean_markup)


@dataclass(frozen=True, slots=True)
class MailIdentity:
    """Who a mail is from, and when it was made.

    Attributes:
        from_address: the sender's address.
        from_name: the sender's name, "" for none.
        domain: the right side of `Message-ID` and `List-Id`.
        date: frozen with the delivery: every attempt carries the same `Date`.
        idempotency_header: header that says again which mail this is, for a server that drops repetitions by
            it; "" for none.
    """

    from_address: str
    from_name: str
    domain: str
    date: datetime
    idempotency_header: str = ""


def render_mail_text(fragments: Fragments, digest: Digest, links: Links) -> MailText:
    """Render what the mail of a digest says.

    Raises:
        TemplateError: a template cannot be rendered, or takes more room than a mail has.
    """
    frame = _Frame(fragments, digest, links)
    html, fit = frame.fit()
    return MailText(write_subject(frame.render_subject()), flow_text(frame.render_text(fit)) + "\n", html)


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
    return wrap_text(_Frame(fragments, digest, links).render_text(Fit(digest.shown, None)))


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
    if identity.idempotency_header:
        fields.append((identity.idempotency_header, key))
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
    """A mail around its papers."""

    def __init__(self, fragments: Fragments, digest: Digest, links: Links) -> None:
        self._fragments, self._templates = fragments, fragments.templates
        self._digest, self._links = digest, links
        self._view, self._papers = view_digest(digest), view_papers(digest)
        self._top = choose_top(digest, self._papers)
        self._week = view_week(digest, self._papers) if digest.is_round_up else None

    def render_subject(self) -> str:
        """Render the subject."""
        top = next(iter(self._top), None)
        title = shorten(top.title, _SUBJECT_TITLE) if top else ""
        return clean_text(self._templates.render("email/subject.txt", SubjectContext(self._view, top, title)))

    def render_text(self, fit: Fit) -> str:
        """Render the text part, one line per paragraph."""
        shown = self._papers[: fit.papers]
        context = MailTextContext(
            digest=self._view,
            groups=group_papers(self._digest, shown),
            fragments={paper.number: self._fragments.make(paper, fit.abstract_limit).text for paper in shown},
            abstract_limit=fit.abstract_limit,
            rest=view_rest(self._papers[fit.papers :], self._links.web_view),
            links=self._links,
        )
        if self._week is not None:
            context = WeeklyTextContext(**as_fields(context), week=self._week)
        rendered = self._templates.render(choose_template("email/text.txt", self._digest), context)
        return "\n".join(map(_clean_line, rendered.split("\n")))

    def fit(self) -> tuple[str, Fit]:
        """Render the HTML part with as much as a mail has room for, and return how much that is.

        Raises:
            TemplateError: a template cannot be rendered, or takes more room than a mail has.
        """
        measured: dict[Fit, str] = {}

        def measure(fit: Fit) -> int:
            measured.clear()  # one of them is long enough
            measured[fit] = self._render_html(fit)
            return _size(measured[fit])

        steps = WEEKLY_STEPS if self._week is not None and not self._view.is_whole else STEPS
        fit = fit_papers(self._digest.shown, measure, steps=steps)
        html = measured.get(fit) or self._render_html(fit)
        if _size(html) > BUDGET:
            raise TemplateError(
                f"email/digest.html takes {_size(html):,} bytes before any paper; a mail has room for {BUDGET:,}",
                hint="Shorten the template or its style sheet: mail readers cut longer mails.",
            )
        return html, fit

    def _render_html(self, fit: Fit) -> str:
        shown = self._papers[: fit.papers]
        context = MailContext(
            digest=self._view,
            preheader=_write_preheader(self._top),
            groups=group_papers(self._digest, shown),
            fragments={paper.number: self._fragments.make(paper, fit.abstract_limit).html for paper in shown},
            rest=view_rest(self._papers[fit.papers :], self._links.web_view),
            links=self._links,
        )
        name = choose_template("email/digest.html", self._digest)
        if self._week is None:
            return self._templates.render(name, context)
        weekly = WeeklyMailContext(**as_fields(context), week=self._week)
        return self._fragments.inline_tags(self._templates.render(name, weekly))


def _write_preheader(papers: Sequence[PaperView]) -> str:
    """Return the titles that follow the count in a list of mails."""
    return "; ".join(shorten(paper.title, _PREHEADER_TITLE) for paper in papers[:3])


def _size(text: str) -> int:
    """Return bytes as a reader gets them: each line end counts two."""
    return len(text.encode("utf-8")) + text.count("\n")
