"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING

from markupsafe import Markup

from digest.errors import TemplateError
from digest.render.cleaning import clean_markup, clean_text, shorten
from digest.render.contexts import (
    MailContext,
    MailPaperContext,
    MailTextContext,
    SubjectContext,
    WeeklyMailContext,
    WeeklyTextContext,
)
from digest.render.digest_view import group_papers, view_digest, view_papers, view_rest
from digest.render.fitting import BUDGET, Fit, fit_papers
from digest.render.flowing import flow_text, wrap_text
from digest.render.headers import (
    check_address,
    check_atom,
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
    from digest.render.environments import Templates
    from digest.render.mail_forms import EncodedMail
    from digest.render.presentation import PaperView

_SUBJECT_TITLE = 60
_PREHEADER_TITLE = 90
_PAPER_TAGS = ("<mark>", "<sup>", "<sub>")
"""Elements within a paper's own text that mail readers would style too loudly or not at all."""


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


def render_mail_text(templates: Templates, digest: Digest, links: Links) -> MailText:
    """Render what the mail of a digest says.

    Raises:
        TemplateError: a template cannot be rendered, or takes more room than a mail has.
    """
    html, fit = _render_html(templates, digest, links)
    plain = flow_text(_render_text(templates, digest, links, fit)) + "\n"
    return MailText(write_subject(_render_subject(templates, digest)), plain, html)


def write_digest_mail(
    said: EncodedMail, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> bytes:
    """Write the whole mail of a digest, given what it says.

    Raises:
        ConfigurationError: an address cannot be written into a header.
    """
    fields = _list_fields(said.subject, digest, delivery, links, identity)
    return join_mail(fields, delivery.idempotency_key, said.plain, said.html)


def write_digest_text(templates: Templates, digest: Digest, links: Links) -> str:
    """Write a digest as plain text in lines of at most 78 characters, with whole abstracts."""
    return wrap_text(_render_text(templates, digest, links, Fit(digest.shown, None)))


def _list_fields(
    subject: str, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> list[tuple[str, str]]:
    key, domain = check_atom(delivery.idempotency_key), check_atom(identity.domain)
    leave = [uri for uri in (links.unsubscribe, links.unsubscribe_mail) if uri]
    fields = [
        ("Date", format_datetime(identity.date)),
        ("From", write_mailbox(identity.from_name, identity.from_address, field="From")),
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
    return [
        *fields,
        ("Auto-Submitted", "auto-generated"),
        ("Precedence", "bulk"),
        ("X-Auto-Response-Suppress", "All"),
        ("Content-Language", "en"),
    ]


def _render_subject(templates: Templates, digest: Digest) -> str:
    top = next(iter(choose_top(digest, view_papers(digest))), None)
    title = shorten(top.title, _SUBJECT_TITLE) if top else ""
    return clean_text(templates.render("email/subject.txt", SubjectContext(view_digest(digest), top, title)))


def _render_text(templates: Templates, digest: Digest, links: Links, fit: Fit) -> str:
    papers = view_papers(digest)
    context = MailTextContext(
        digest=view_digest(digest),
        groups=group_papers(digest, papers[: fit.papers]),
        abstract_limit=fit.abstract_limit,
        rest=view_rest(papers[fit.papers :], links.web_view),
        links=links,
    )
    if digest.is_round_up:
        context = WeeklyTextContext(**as_fields(context), week=view_week(digest, papers))
    rendered = templates.render(choose_template("email/text.txt", digest), context)
    return "\n".join(clean_markup(line) for line in rendered.split("\n"))


def _render_html(templates: Templates, digest: Digest, links: Links) -> tuple[str, Fit]:
    frame = _Frame(templates, digest, links)
    fit = fit_papers(digest.shown, frame.measure)
    html = frame.render(fit, frame.render_fragments(fit))
    while _size(html) > BUDGET and fit.papers:
        fit = Fit(fit.papers - 1, fit.abstract_limit)
        html = frame.render(fit, frame.render_fragments(fit))
    if _size(html) > BUDGET:
        raise TemplateError(
            f"email/digest.html takes {_size(html):,} bytes before any paper; a mail has room for {BUDGET:,}",
            hint="Shorten the template or its style sheet: mail readers cut longer mails.",
        )
    return html, fit


class _Frame:
    """The HTML part around its papers, and the papers as fragments, each rendered once per step."""

    def __init__(self, templates: Templates, digest: Digest, links: Links) -> None:
        self._templates = templates
        self._digest = digest
        self._links = links
        self._view = view_digest(digest)
        self._papers = view_papers(digest)
        self._week = view_week(digest, self._papers) if digest.is_round_up else None
        self._tags = {tag: templates.inline_tag(tag) for tag in _PAPER_TAGS}
        self._fragments: dict[tuple[int, int | None], Markup] = {}

    def measure(self, fit: Fit) -> int:
        """Return the size of the whole part in bytes."""
        empty = dict.fromkeys(range(1, fit.papers + 1), Markup())
        return _size(self.render(fit, empty)) + sum(map(_size, self.render_fragments(fit).values()))

    def render_fragments(self, fit: Fit) -> dict[int, Markup]:
        """Render every shown paper, by number."""
        return {paper.number: self._render_paper(paper, fit) for paper in self._shown(fit)}

    def render(self, fit: Fit, fragments: dict[int, Markup]) -> str:
        """Render the whole part around fragments."""
        shown = self._shown(fit)
        context = MailContext(
            digest=self._view,
            preheader=_write_preheader(choose_top(self._digest, self._papers)),
            groups=group_papers(self._digest, shown),
            fragments=fragments,
            rest=view_rest(self._papers[fit.papers :], self._links.web_view),
            links=self._links,
        )
        if self._week is not None:
            context = WeeklyMailContext(**as_fields(context), week=self._week)
        return self._templates.render(choose_template("email/digest.html", self._digest), context)

    def _shown(self, fit: Fit) -> Sequence[PaperView]:
        return self._papers[: fit.papers]

    def _render_paper(self, paper: PaperView, fit: Fit) -> Markup:
        key = (paper.number, fit.abstract_limit)
        if key not in self._fragments:
            context = MailPaperContext(paper, paper.show_abstract(fit.abstract_limit))
            rendered = self._templates.render("email/paper.html", context)
            for tag, inlined in self._tags.items():
                rendered = rendered.replace(tag, inlined)
            self._fragments[key] = Markup(rendered)  # noqa: S704 - the output of an escaping template
        return self._fragments[key]


def _write_preheader(papers: Sequence[PaperView]) -> str:
    """Return the titles that follow the count in a list of mails."""
    return "; ".join(shorten(paper.title, _PREHEADER_TITLE) for paper in papers[:3])


def _size(text: str) -> int:
    """Return bytes as a reader gets them: each line end counts two."""
    return len(text.encode("utf-8")) + text.count("\n")
