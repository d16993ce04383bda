"""Every medium behind one door: digests and feeds in, bytes out."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from digest.errors import DigestError
from digest.messages import Links, Message
from digest.render.alarms import write_alarm
from digest.render.atom import write_atom
from digest.render.contexts import PageContext, WeeklyPageContext
from digest.render.digest_view import group_papers, view_digest, view_papers
from digest.render.environments import Templates
from digest.render.feed_entries import fit_feed
from digest.render.folders import find_shipped_templates
from digest.render.fragments import Fragments
from digest.render.json_feed import write_json_feed
from digest.render.mail import render_mail_text, write_digest_mail, write_digest_text
from digest.render.mail_forms import MailForms
from digest.render.slack import SlackParts, encode_payload, write_slack_payload, write_webhook_payload
from digest.render.terminal import write_terminal
from digest.render.webhook import write_digest_event
from digest.render.weekly import as_fields, choose_template, view_week
from digest.subscriptions import SLACK_KINDS, DestinationKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance

    from digest.messages import Delivery, Digest, Feed, Share
    from digest.render.alarms import Envelope
    from digest.render.checking import TemplateProblem
    from digest.render.contexts import AlarmContext
    from digest.render.mail import MailIdentity
    from digest.subscriptions import Destination

CONSOLE_WIDTH = 96
_KEPT_DIGESTS = 8
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


class Renderer:
    """Renders digests and feeds for every medium. Safe to share between threads.

    Args:
        folders: the operator's template folders, first come first served; the shipped one is always last.

    Raises:
        TemplateError: the shipped templates are missing.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.templates = Templates(folders, find_shipped_templates())
        # Counting a digest's parts and rendering each of them divide it the same; once is enough.
        self._divide = lru_cache(maxsize=_KEPT_DIGESTS)(partial(SlackParts, self.templates))
        self._fragments = Fragments(self.templates)
        self._mails = MailForms(partial(render_mail_text, self._fragments))

    def count_parts(self, digest: Digest, destination: Destination) -> int:
        """Return how many messages a digest takes at a destination; every `render_*` divides it the same.

        Raises:
            TemplateError: a Slack template cannot be rendered, or leaves no room for a paper.
        """
        return len(self.divide(digest, destination))

    def divide(self, digest: Digest, destination: Destination) -> tuple[Share | None, ...]:
        """Return which papers each message of a digest at a destination tells; None for one that tells all.

        Raises:
            TemplateError: a Slack template cannot be rendered, or leaves no room for a paper.
        """
        return self._divide(digest).shares if destination.kind in SLACK_KINDS else (None,)

    def find_share(self, digest: Digest, delivery: Delivery, earlier: Sequence[bytes]) -> Share | None:
        """Return which papers a delivery tells that an older release planned; see `SlackParts.find_share`.

        Raises:
            TemplateError: a Slack template cannot be rendered, or leaves no room for a paper.
        """
        is_divided = delivery.share is None and delivery.destination.kind in SLACK_KINDS
        return self._divide(digest).find_share(delivery, earlier) if is_divided else delivery.share

    def render(self, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity) -> Message:
        """Render one part for the delivery's destination.

        Raises:
            TemplateError: a template cannot be rendered.
            ConfigurationError: an address cannot be written into a mail's header.
            DigestError: the destination is one that readers fetch from, so nothing is sent there.
        """
        destination = delivery.destination
        match destination.kind:
            case DestinationKind.MAIL:
                return self.render_mail(digest, delivery, links, identity)
            case DestinationKind.SLACK:
                return self.render_slack(digest, delivery, links)
            case DestinationKind.WEBHOOK:
                event = write_digest_event(digest, delivery, links)
                return _write_message("application/json", event, digest, delivery, ".json")
            case DestinationKind.SLACK_WEBHOOK:
                return self.render_webhook(digest, delivery, links)
            case DestinationKind.CONSOLE:
                body = self.render_terminal(digest, width=CONSOLE_WIDTH, color=False, limit=None)
                return _write_message("text/plain", body.encode(), digest, delivery, ".txt")
            case DestinationKind.FILE if not destination.is_pulled:
                body = self.render_page(digest, links)
                return _write_message("text/html", body.encode(), digest, delivery, ".html")
            case _:
                raise DigestError(f"{destination} is a feed: nothing is sent there")

    def render_mail(self, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity) -> Message:
        """Render a mail of one text and one HTML part, as the bytes that are sent.

        Raises:
            TemplateError: a template cannot be rendered, or takes more room than a mail has.
            ConfigurationError: an address cannot be written into a header.
        """
        body = write_digest_mail(self._mails.write(digest, links), digest, delivery, links, identity)
        return _write_message("message/rfc822", body, digest, delivery, ".eml")

    def render_slack(self, digest: Digest, delivery: Delivery, links: Links) -> Message:
        """Render the body of `chat.postMessage` for one part.

        Part 0 goes to the channel; the others carry `thread_ts` once the delivery knows its parent.

        Raises:
            TemplateError: a template cannot be rendered or breaks Slack's limits.
        """
        body = encode_payload(write_slack_payload(self._divide(digest), delivery, links))
        return _write_message("application/json", body, digest, delivery, _part_suffix(delivery))

    def render_webhook(self, digest: Digest, delivery: Delivery, links: Links) -> Message:
        """Render one part for a Slack incoming webhook.

        Raises:
            TemplateError: a template cannot be rendered or breaks Slack's limits.
        """
        body = encode_payload(write_webhook_payload(self._divide(digest), delivery, links))
        return _write_message("application/json", body, digest, delivery, _part_suffix(delivery))

    def render_text(self, digest: Digest, links: Links) -> str:
        """Render plain text in lines of at most 78 characters, as far as words and links allow."""
        return write_digest_text(self._fragments, digest, links)

    def render_terminal(self, digest: Digest, *, width: int, color: bool, limit: int | None) -> str:
        """Render for a terminal of so many columns, listing at most `limit` papers of each kind."""
        return write_terminal(self.templates, digest, width=width, color=color, limit=limit)

    def render_page(self, digest: Digest, links: Links) -> str:
        """Render the whole digest as a page of its own: every paper, nothing cut, no script, no image."""
        papers = view_papers(digest, unfolds=True)
        context = PageContext(view_digest(digest), group_papers(digest, papers), links)
        if digest.is_round_up:
            context = WeeklyPageContext(**as_fields(context), week=view_week(digest, papers))
        return self.templates.render(choose_template("web/digest.html", digest), context)

    def render_atom(self, feed: Feed) -> bytes:
        """Render a feed as Atom (RFC 4287)."""
        return fit_feed(partial(write_atom, self.templates), feed)

    def render_json_feed(self, feed: Feed) -> bytes:
        """Render a feed as JSON Feed 1.1."""
        return fit_feed(partial(write_json_feed, self.templates), feed)

    def render_web(self, name: str, context: DataclassInstance) -> str:
        """Render a page of the web shell, `leave.html` or `web/leave.html`, from its context dataclass.

        Raises:
            TemplateError: there is no such page, or it cannot be rendered.
        """
        return self.templates.render(f"web/{name.removeprefix('web/')}", context)

    def render_alarm(self, context: AlarmContext, envelope: Envelope) -> Message:
        """Render a message to the operator.

        Raises:
            TemplateError: a template cannot be rendered, or Slack would refuse what it makes.
            ConfigurationError: an address cannot be written into a mail's header.
        """
        return write_alarm(self.templates, context, envelope)

    def check(self) -> tuple[TemplateProblem, ...]:
        """Render every template with sample contexts; return what is wrong, nothing if all is well."""
        from digest.render.checking import check_templates  # noqa: PLC0415 - only `templates check` needs samples

        return check_templates(self.templates)

    def web_style_hash(self) -> str:
        """Return the source expression that allows the pages' one `<style>` in a Content-Security-Policy."""
        style = self.templates.read_source("web/style.css")
        return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


def _write_message(media_type: str, body: bytes, digest: Digest, delivery: Delivery, suffix: str) -> Message:
    name = _UNNAMEABLE.sub("-", f"{digest.subscription}-{digest.slot}").strip("-.")
    return Message(media_type, body, delivery.idempotency_key, f"{name}{suffix}")


def _part_suffix(delivery: Delivery) -> str:
    return f"-{delivery.part + 1}.json" if delivery.part else ".json"
