"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import format_datetime
from functools import cache, lru_cache
from urllib.parse import unquote, urlsplit

from markupsafe import Markup, escape

from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Form, Links
from digest.model.subscriptions import Abstracts
from digest.render.contexts import MailContext, MailPaperContext
from digest.render.digests import find_most, group_papers, view_digest, view_papers, view_rest
from digest.render.mime import (
    check_address,
    check_atom,
    flow_text,
    wrap_text,
    write_feedback_id,
    write_list_id,
    write_mail,
    write_mailbox,
    write_subject,
    write_uris,
)
from digest.render.papers import LONGEST_TITLE, PaperView
from digest.render.templates import Templates
from digest.render.text import clean_markup, clean_text, shorten

BUDGET = 95_000
"""Bytes an HTML part may take, styles inlined. Gmail cuts what is longer than about 102,000."""

_HTML = "email/digest.html"
_SUBJECT_TITLE = 72
_USUAL_NAME = "Digest"
_TITLED = 250
"""This many papers are named by their titles, even if these must be cut."""

_KEPT = 512
"""Papers at hand, each with a step of its abstract: those of a busy day. About 12 KB each."""


@dataclass(frozen=True, slots=True)
class MailText:
    """What a mail says: its subject in one line, its plain part, already flowed, and its HTML part."""

    subject: str
    plain: str
    html: str


@dataclass(frozen=True, slots=True)
class Fit:
    """What is shown: how many papers, and how much of each abstract.

    `letters`: how many letters of a title without an abstract, and no names; 0 for the whole title
        and names.
    """

    papers: int
    abstracts: Abstracts
    letters: int = 0


class MailPapers:
    """Renders papers for mails: each once, however many digests hold it."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self._render = lru_cache(_KEPT)(self._render_anew)

    def render(
        self, paper: PaperView, abstracts: Abstracts, page: str = "", letters: int = 0
    ) -> tuple[Markup, str]:
        """Return a paper's HTML and text; see `Fit`. `page` is the digest's page, to which `#paper` leads."""
        html, text = self._render(replace(paper, number=0, heading=""), abstracts, letters)
        url = escape(f"{page}#paper-{paper.number}" if page else paper.url)
        return Markup(html.replace('"#paper"', f'"{url}"')), text  # noqa: S704 - escaped by its template

    def _render_anew(self, paper: PaperView, abstracts: Abstracts, letters: int) -> tuple[str, str]:
        context = MailPaperContext(paper, abstracts, letters)
        name = "title" if paper.form is Form.TITLE else "paper"
        html = self.templates.render(f"email/{name}.html", context).strip()
        return html, self.templates.render(f"email/{name}.txt", context).strip("\n")


@dataclass(frozen=True, slots=True)
class MailIdentity:
    """Who a mail is from, and when it was made.

    Attributes:
        domain: the right side of `Message-ID` and `List-Id`.
        date: frozen with the delivery: every attempt carries the same `Date`.
    """

    from_address: str
    from_name: str
    domain: str
    date: datetime


def render_mail_text(papers: MailPapers, digest: Digest, links: Links) -> MailText:
    """Render what the mail of a digest says."""
    frame = _Frame(papers, digest, links)
    html, fit = frame.fit()
    text = flow_text(clean_markup(frame.render("email/text.txt", fit) + "\n"))
    return MailText(clean_text(frame.render("email/subject.txt", fit)), text, html)


def write_digest_mail(
    papers: MailPapers, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> bytes:
    """Write the whole mail of a digest."""
    said = render_mail_text(papers, digest, links)
    fields = _list_fields(said.subject, digest, delivery, links, identity)
    return write_mail(fields, delivery.idempotency_key, said.plain, said.html)


def write_digest_text(papers: MailPapers, digest: Digest, links: Links) -> str:
    """Write a digest as plain text in lines of at most 78 characters."""
    whole = Fit(digest.shown, digest.abstracts)
    return wrap_text(clean_markup(_Frame(papers, digest, links).render("email/text.txt", whole)))


def write_head(
    identity: MailIdentity, name: str, to: str, subject: str, key: str
) -> list[tuple[str, str]]:
    """Return the fields of every mail: `name` is the sender's, `key` is unique to the mail."""
    return [
        ("Date", format_datetime(identity.date)),
        ("From", write_mailbox(name, identity.from_address)),
        ("To", check_address(to)),
        ("Subject", write_subject(subject)),
        ("Message-ID", f"<{check_atom(key)}@{check_atom(identity.domain)}>"),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
    ]


def _list_fields(
    subject: str, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> list[tuple[str, str]]:
    title, name, domain = digest.title, identity.from_name, identity.domain
    link = (
        links.unsubscribe_mail or links.ask
    )  # who reads requests to unsubscribe reads replies, too
    read_by = check_address(unquote(urlsplit(link).path)) if link else ""
    whose = title if name in (title, _USUAL_NAME) else f"{title} ({name})"
    one_click = "List-Unsubscribe=One-Click" if links.unsubscribe.startswith("https://") else ""
    of_list = [
        ("Reply-To", "" if read_by == identity.from_address else read_by),
        ("List-Id", write_list_id(digest.title, digest.subscription, domain)),
        ("List-Unsubscribe", write_uris(links.unsubscribe, links.unsubscribe_mail)),
        ("List-Unsubscribe-Post", one_click),
        ("List-Help", write_uris(links.home)),
        ("List-Archive", write_uris(links.web_view)),
        ("Precedence", "bulk"),
        ("Feedback-ID", write_feedback_id(digest.occasion, domain)),
    ]
    head = write_head(
        identity, whose, delivery.destination.address, subject, delivery.idempotency_key
    )
    return [*head, *((field, value) for field, value in of_list if value)]


class _Frame:
    def __init__(self, papers: MailPapers, digest: Digest, links: Links) -> None:
        self._render_paper, self._templates = papers.render, papers.templates
        self._digest, self._links = digest, links
        self._view, self._papers = view_digest(digest), view_papers(digest)

    def render(self, name: str, fit: Fit) -> str:
        """Render the subject or the text part, one line per paragraph."""
        return self._templates.render(name, self._fill(fit, 1))

    def fit(self) -> tuple[str, Fit]:
        """Render the HTML part with as much as a mail has room for, and return how much that is.

        If there is no room for all whole abstracts, the papers are shown as planned. If that is
        still too much, long digests lose names and the ends of long titles. Then the last papers
        are left out.
        """
        render = cache(self._render_html)

        def measure(fit: Fit) -> int:
            html = render(fit)
            return len(html.encode()) + html.count(
                "\n"
            )  # the lines of a mail end in two characters

        wanted = Fit(self._digest.shown, self._digest.abstracts)
        if wanted.abstracts is Abstracts.FULL and measure(wanted) > BUDGET:
            wanted = replace(wanted, abstracts=Abstracts.SHORT)
        many = replace(wanted, papers=min(wanted.papers, _TITLED))
        if measure(many) > BUDGET:
            most = find_most(
                LONGEST_TITLE, lambda letters: measure(replace(many, letters=letters)) <= BUDGET
            )
            wanted = replace(wanted, letters=most)
        most = find_most(
            wanted.papers, lambda papers: measure(replace(wanted, papers=papers)) <= BUDGET
        )
        fit = replace(wanted, papers=most)
        if (size := measure(fit)) > BUDGET:
            raise TemplateError(
                f"{_HTML} takes {size:,} bytes before any paper: {size - BUDGET:,} more than the {BUDGET:,} that a"
                " mail has room for",
                hint="Shorten the template or its style sheet: mail readers cut longer mails.",
            )
        return render(fit), fit

    def _render_html(self, fit: Fit) -> str:
        return self._templates.inline_styles(self._templates.render(_HTML, self._fill(fit, 0)))

    def _fill(self, fit: Fit, part: int) -> MailContext:
        """Return what the frame of the HTML part (0) or the text part (1) sees."""
        shown = self._papers[: fit.papers]
        if fit.abstracts is Abstracts.FULL:  # of titles, too
            shown = tuple(
                replace(one, form=Form.SENTENCE) if one.form is Form.TITLE else one for one in shown
            )
        page = self._links.web_view
        return MailContext(
            digest=self._view,
            groups=group_papers(self._digest, shown),
            fragments={
                one.number: self._render_paper(one, fit.abstracts, page, fit.letters)[part]
                for one in shown
            },
            rest=view_rest(self._papers[fit.papers :], page),
            links=self._links,
            top_title=shorten(self._papers[0].title, _SUBJECT_TITLE) if self._papers else "",
        )
