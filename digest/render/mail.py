"""A digest as a mail: subject, text and HTML from templates, within what mail readers show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    """What a mail says: its subject in one line, its plain part, already flowed, and its HTML."""

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


@dataclass(frozen=True, slots=True)
class RenderedPaper:
    """A paper as the HTML part and as the text part of a mail show it."""

    html: str
    text: str


class MailPapers:
    """Renders papers for mails: each once, however many digests hold it."""

    def __init__(self, templates: Templates) -> None:
        self.templates = templates
        self._render = lru_cache(_KEPT)(self._render_anew)

    def render(
        self, paper: PaperView, abstracts: Abstracts, page: str = "", letters: int = 0
    ) -> RenderedPaper:
        """Render a paper; see `Fit`. `page` is the digest's page, to which `#paper` leads."""
        anywhere = replace(paper, number=0, heading="")
        rendered = self._render(anywhere, abstracts, letters)
        url = f"{page}#paper-{paper.number}" if page else paper.url
        html = rendered.html.replace('"#paper"', f'"{escape(url)}"')
        return replace(rendered, html=Markup(html))  # noqa: S704 - escaped by its template

    def _render_anew(self, paper: PaperView, abstracts: Abstracts, letters: int) -> RenderedPaper:
        context = MailPaperContext(paper, abstracts, letters)
        name = "title" if paper.form is Form.TITLE else "paper"
        html = self.templates.render(f"email/{name}.html", context)
        text = self.templates.render(f"email/{name}.txt", context)
        return RenderedPaper(html.strip(), text.strip("\n"))


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
    subject = frame.render("email/subject.txt", fit)
    text = frame.render("email/text.txt", fit)
    plain = flow_text(clean_markup(f"{text}\n"))
    return MailText(clean_text(subject), plain, html)


def write_digest_mail(
    papers: MailPapers, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> bytes:
    """Write the whole mail of a digest."""
    said = render_mail_text(papers, digest, links)
    fields = _list_fields(said.subject, digest, delivery, links, identity)
    return write_mail(fields, delivery.idempotency_key, said.plain, said.html)


def write_digest_text(papers: MailPapers, digest: Digest, links: Links) -> str:
    """Write a digest as plain text in lines of at most 78 characters."""
    frame = _Frame(papers, digest, links)
    whole = Fit(digest.shown, digest.abstracts)
    text = frame.render("email/text.txt", whole)
    return wrap_text(clean_markup(text))


def write_head(
    identity: MailIdentity, name: str, to: str, subject: str, key: str
) -> list[tuple[str, str]]:
    """Return the fields of every mail: `name` is the sender's, `key` is unique to the mail."""
    message_id = f"<{check_atom(key)}@{check_atom(identity.domain)}>"
    return [
        ("Date", format_datetime(identity.date)),
        ("From", write_mailbox(name, identity.from_address)),
        ("To", check_address(to)),
        ("Subject", write_subject(subject)),
        ("Message-ID", message_id),
        ("Auto-Submitted", "auto-generated"),
        ("X-Auto-Response-Suppress", "All"),
    ]


def _list_fields(
    subject: str, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
) -> list[tuple[str, str]]:
    to = delivery.destination.address
    sender = _name_sender(digest.title, identity.from_name)
    fields = write_head(identity, sender, to, subject, delivery.idempotency_key)

    def add(name: str, value: str) -> None:
        if value:
            fields.append((name, value))

    reply_to = _find_reader_of_replies(links)
    if reply_to != identity.from_address:
        add("Reply-To", reply_to)
    add("List-Id", write_list_id(digest.title, digest.subscription, identity.domain))
    add("List-Unsubscribe", write_uris(links.unsubscribe, links.unsubscribe_mail))
    if links.unsubscribe.startswith("https://"):
        add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
    add("List-Help", write_uris(links.home))
    add("List-Archive", write_uris(links.web_view))
    add("Precedence", "bulk")
    add("Feedback-ID", write_feedback_id(digest.occasion, identity.domain))
    return fields


def _name_sender(title: str, name: str) -> str:
    """Return whose mail it is: `Title (Name)`, or the title alone if the name says nothing more."""
    return title if name in (title, _USUAL_NAME) else f"{title} ({name})"


def _find_reader_of_replies(links: Links) -> str:
    """Return the address of who reads requests to unsubscribe: they read replies, too."""
    link = links.unsubscribe_mail or links.ask
    if not link:
        return ""
    path = urlsplit(link).path
    return check_address(unquote(path))


class _Frame:
    def __init__(self, papers: MailPapers, digest: Digest, links: Links) -> None:
        self._render_paper = papers.render
        self._templates = papers.templates
        self._digest = digest
        self._links = links
        self._view = view_digest(digest)
        self._papers = view_papers(digest)

    def render(self, name: str, fit: Fit) -> str:
        """Render the subject or the text part, one line per paragraph."""
        shown = self._choose_papers(fit)
        fragments = {one.number: self._render_fragment(one, fit).text for one in shown}
        return self._templates.render(name, self._fill(fit, shown, fragments))

    def fit(self) -> tuple[str, Fit]:
        """Render the HTML part with as much as a mail has room for, and return how much that is.

        If there is no room for all whole abstracts, the papers are shown as planned. If that is
        still too much, long digests lose names and the ends of long titles. Then the last papers
        are left out.
        """
        render = cache(self._render_html)

        def measure(fit: Fit) -> int:
            html = render(fit)
            lines = html.count("\n")  # the lines of a mail end in two characters
            return len(html.encode()) + lines

        def has_room(fit: Fit) -> bool:
            return measure(fit) <= BUDGET

        wanted = Fit(self._digest.shown, self._digest.abstracts)
        if wanted.abstracts is Abstracts.FULL and not has_room(wanted):
            wanted = replace(wanted, abstracts=Abstracts.SHORT)
        many = replace(wanted, papers=min(wanted.papers, _TITLED))
        if not has_room(many):
            letters = find_most(LONGEST_TITLE, lambda most: has_room(replace(many, letters=most)))
            wanted = replace(wanted, letters=letters)
        papers = find_most(wanted.papers, lambda most: has_room(replace(wanted, papers=most)))
        fit = replace(wanted, papers=papers)
        size = measure(fit)
        if size > BUDGET:
            raise TemplateError(
                f"{_HTML} takes {size:,} bytes before any paper: {size - BUDGET:,} more than the"
                f" {BUDGET:,} that a mail has room for",
                hint="Shorten the template or its style sheet: mail readers cut longer mails.",
            )
        return render(fit), fit

    def _render_html(self, fit: Fit) -> str:
        shown = self._choose_papers(fit)
        fragments = {one.number: self._render_fragment(one, fit).html for one in shown}
        html = self._templates.render(_HTML, self._fill(fit, shown, fragments))
        return self._templates.inline_styles(html)

    def _choose_papers(self, fit: Fit) -> Sequence[PaperView]:
        """Return the papers that are shown; with full abstracts, titles have theirs, too."""
        shown = self._papers[: fit.papers]
        if fit.abstracts is not Abstracts.FULL:
            return shown
        whole = []
        for one in shown:
            is_title = one.form is Form.TITLE
            whole.append(replace(one, form=Form.SENTENCE) if is_title else one)
        return whole

    def _render_fragment(self, paper: PaperView, fit: Fit) -> RenderedPaper:
        return self._render_paper(paper, fit.abstracts, self._links.web_view, fit.letters)

    def _fill(
        self, fit: Fit, shown: Sequence[PaperView], fragments: Mapping[int, str]
    ) -> MailContext:
        """Return what the frame of the subject, of the text part or of the HTML part sees."""
        left_out = self._papers[fit.papers :]
        top_title = shorten(self._papers[0].title, _SUBJECT_TITLE) if self._papers else ""
        return MailContext(
            digest=self._view,
            groups=group_papers(self._digest, shown),
            fragments=fragments,
            rest=view_rest(left_out, self._links.web_view),
            links=self._links,
            top_title=top_title,
        )
