"""Renders digests, feeds, alarms, letters and pages: the one door to every medium."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path

from digest.config.settings import MailSettings
from digest.model.destinations import LONGEST_POST, Destination, Medium
from digest.model.errors import DigestError, TemplateError
from digest.model.messages import (
    SITE_FEEDS,
    SITE_INDEX,
    Delivery,
    Digest,
    Feed,
    Links,
    Message,
    Share,
)
from digest.render.contexts import (
    POST_SUFFIX,
    AlarmContext,
    Context,
    LetterContext,
    PageContext,
    PostContext,
    TerminalContext,
)
from digest.render.digests import find_most, group_papers, view_digest, view_papers, view_rest
from digest.render.feeds import fit_feed, write_atom, write_json_feed
from digest.render.mail import (
    MailIdentity,
    MailPapers,
    write_digest_mail,
    write_digest_text,
    write_head,
)
from digest.render.mime import flow_text, write_mail
from digest.render.slack import (
    SlackParts,
    address_payload,
    compile_blocks,
    encode_payload,
    make_payload,
    write_slack_payload,
)
from digest.render.templates import Templates, find_shipped_templates
from digest.render.terminal import NARROWEST, lay_out_lines
from digest.render.text import clean_markup, clean_text
from digest.render.webhook import write_alarm_event, write_digest_event

CONSOLE_WIDTH = 80
_KEPT_DIGESTS = 8
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_JSON = "application/json"
_SLACK_ALARM = "slack/alarm.txt"


class Renderer:
    """Renders digests and feeds for every medium. Safe to share between threads.

    `folders`: the operator's template folders, first come first served; the shipped one is always
        last.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.templates = Templates(folders, find_shipped_templates())
        # To count a digest's parts and to render each of them, it is divided once.
        self._slack_parts = lru_cache(maxsize=_KEPT_DIGESTS)(partial(SlackParts, self.templates))
        self._papers = MailPapers(self.templates)

    @staticmethod
    def identify(mail: MailSettings, made_at: datetime) -> MailIdentity:
        """Return who a mail is from, and when it was made."""
        domain = mail.from_address.rpartition("@")[2] or "localhost"
        return MailIdentity(mail.from_address, mail.from_name, domain, made_at)

    def divide(self, digest: Digest, destination: Destination) -> tuple[Share | None, ...]:
        """Return which papers are in each message of a digest at a destination.

        None if one message has all.
        """
        if destination.traits.medium is not Medium.SLACK:
            return (None,)
        return self._slack_parts(digest).divide(destination)

    def render(
        self, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
    ) -> Message:
        """Render one part for the delivery's destination.

        Raise `DigestError`: the destination is one that readers fetch from, so nothing is sent
        there.
        """
        destination = delivery.destination
        if destination.is_pulled:
            raise DigestError(f"{destination} is a feed: nothing is sent there")
        match destination.traits.medium:
            case Medium.MAIL:
                body = write_digest_mail(self._papers, digest, delivery, links, identity)
                return _write_message("message/rfc822", body, digest, delivery, ".eml")
            case Medium.SLACK:
                payload = write_slack_payload(self._slack_parts(digest), delivery, links)
                suffix = f"-{delivery.part + 1}.json" if delivery.part else ".json"
                return _write_message(_JSON, encode_payload(payload), digest, delivery, suffix)
            case Medium.EVENT:
                body = write_digest_event(digest, delivery, links)
                return _write_message(_JSON, body, digest, delivery, ".json")
            case Medium.TERMINAL:
                text = self.render_terminal(digest, width=CONSOLE_WIDTH, color=False, limit=None)
                return _write_message("text/plain", text.encode(), digest, delivery, ".txt")
            case Medium.PAGE:
                return self._render_for_site(digest, delivery, links)
            case Medium.POST | Medium.FEED:
                name = f"{destination.kind}{POST_SUFFIX}"
                text = write_post(self.templates, name, digest, links)
                return _write_message("text/markdown", text.encode(), digest, delivery, ".md")

    def _render_for_site(self, digest: Digest, delivery: Delivery, links: Links) -> Message:
        """Render a digest's page for a site, with links to the files beside it in the folder."""
        beside = Links(home=links.home, refs=links.refs, archive=SITE_INDEX, feed=SITE_FEEDS[0])
        body = self.render_site_page(digest, beside, "")
        name = name_page(digest.subscription, digest.slot)
        return Message("text/html", body, delivery.idempotency_key, name)

    def render_text(self, digest: Digest, links: Links) -> str:
        """Render plain text in lines of at most 78 characters, as far as words and links allow."""
        return write_digest_text(self._papers, digest, links)

    def render_terminal(self, digest: Digest, *, width: int, color: bool, limit: int | None) -> str:
        """Render for a terminal of `width` columns (at least 40), with at most `limit` papers.

        If that is None, with all that the digest shows.
        """
        width = max(width, NARROWEST)
        papers = view_papers(digest)
        shown = papers[: digest.shown]
        listed = shown[:limit]
        left_out = papers[len(listed) :]
        context = TerminalContext(
            digest=view_digest(digest),
            groups=group_papers(digest, listed),
            rest=view_rest(left_out, ""),
            width=width,
        )
        text = self.templates.render("terminal/digest.txt", context)
        return lay_out_lines(text, width, color=color)

    def render_page(self, digest: Digest, links: Links, *, is_static: bool = False) -> str:
        """Render the whole digest as a page of its own: every paper with its abstract, no image."""
        view = view_digest(digest)
        groups = group_papers(digest, view_papers(digest))
        context = PageContext(digest=view, groups=groups, links=links, is_static=is_static)
        return self.templates.render("web/digest.html", context)

    def render_site_page(self, digest: Digest, links: Links, made: str) -> bytes:
        """Render a digest's page for a site, which others may read; `made`: see `mark_page`."""
        html = self.render_page(digest.hide_library(), links, is_static=True)
        return mark_page(html, made)

    def render_feed(self, feed: Feed, suffix: str) -> bytes:
        """Render a feed as `atom` (RFC 4287) or `json` (JSON Feed 1.1)."""
        write = write_json_feed if suffix == "json" else write_atom
        return fit_feed(partial(write, self.templates), feed)

    def render_web(self, name: str, context: Context) -> str:
        """Render a page of the web shell, such as `error.html`, from its context."""
        return self.templates.render(f"web/{name}", context)

    def render_alarm(
        self,
        context: AlarmContext,
        destination: Destination,
        key: str,
        identity: MailIdentity,
        channel: str,
    ) -> Message:
        """Render a message to the operator.

        `key` names it: a repetition has the same. `channel` is what Slack calls the destination.
        """
        name = f"alarm-{key}"
        medium = destination.traits.medium
        if medium is Medium.EVENT:
            body = write_alarm_event(context, key, identity.date)
            return Message(_JSON, body, key, f"{name}.json")
        if medium is Medium.SLACK:
            compiled = compile_blocks(self.templates.render(_SLACK_ALARM, context))
            payload = make_payload(_SLACK_ALARM, compiled)
            if not destination.traits.is_named:
                payload = address_payload(payload, channel, key, {"alarm": key})
            return Message(_JSON, encode_payload(payload), key, f"{name}.json")
        rendered = self.templates.render("email/alarm.txt", context).strip()
        subject, _, text = clean_markup(rendered).partition("\n")
        if medium is Medium.MAIL:
            fields = write_head(identity, identity.from_name, destination.address, subject, key)
            return _write_plain_mail(fields, text, key, f"{name}.eml")
        body = f"{clean_text(subject)}\n\n{text.strip()}\n".encode()
        return Message("text/plain", body, key, f"{name}.txt")

    def render_letter(
        self, context: LetterContext, delivery: Delivery, identity: MailIdentity
    ) -> Message:
        """Render the mail with a link that somebody asked for on a page."""
        key = delivery.idempotency_key
        to = delivery.destination.address
        fields = write_head(identity, identity.from_name, to, context.subject, key)
        text = clean_markup(self.templates.render("email/letter.txt", context))
        return _write_plain_mail(fields, text, key, f"letter-{key}.eml")

    def web_style_hash(self) -> str:
        """Return what allows the pages' one `<style>` in a Content-Security-Policy: its hash."""
        style = self.templates.read_source("web/style.css").encode()
        hashed = hashlib.sha256(style).digest()
        return f"'sha256-{base64.b64encode(hashed).decode()}'"


def mark_page(html: str, made: str) -> bytes:
    """Return a page of a site with a mark in its head: `made`, a hash of all it was made of.

    By that the page is known again, and not made anew while nothing has changed.
    """
    head = f'<head>\n<meta name="generator" content="Digest {made}">'
    return html.replace("<head>", head, 1).encode()


def name_page(subscription: str, slot: str) -> str:
    """Return the file name of a digest's page on a site.

    No other digest has it: where the slot ends and the subscription begins is certain.
    """
    moment = _NOT_IN_FILE_NAMES.sub("-", slot)
    return f"{moment}-{subscription}.html"


def write_post(templates: Templates, name: str, digest: Digest, links: Links) -> str:
    """Return a digest as one message in Markdown, with as many papers as there is room for.

    The others are counted.
    """
    view = view_digest(digest)
    papers = view_papers(digest)

    def render(most: int) -> str:
        listed = papers[:most]
        context = PostContext(
            digest=view,
            groups=group_papers(digest, listed),
            rest=view_rest(papers[most:], links.web_view),
            links=links,
            papers=listed,
        )
        return templates.render(name, context).strip()

    def fits(most: int) -> bool:
        return len(render(most)) <= LONGEST_POST

    most = find_most(digest.shown, fits)
    text = render(most)
    if len(text) > LONGEST_POST:
        raise TemplateError(
            f"{name} takes more than {LONGEST_POST:,} characters even without papers"
        )
    return text


def _write_message(
    media_type: str, body: bytes, digest: Digest, delivery: Delivery, suffix: str
) -> Message:
    name = _NOT_IN_FILE_NAMES.sub("-", f"{digest.subscription}-{digest.slot}").strip("-.")
    return Message(media_type, body, delivery.idempotency_key, f"{name}{suffix}")


def _write_plain_mail(fields: list[tuple[str, str]], text: str, key: str, name: str) -> Message:
    body = write_mail(fields, key, flow_text(text.strip()))
    return Message("message/rfc822", body, key, name)
