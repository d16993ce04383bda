"""The one door to every medium: digests, feeds and alarms in, bytes out."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from digest.model.errors import DigestError
from digest.model.messages import Delivery, Digest, Feed, Links, Message, Share
from digest.model.subscriptions import SLACK_KINDS, Destination, DestinationKind
from digest.render.contexts import POST_SUFFIX, AlarmContext, LetterContext
from digest.render.digests import write_page, write_post
from digest.render.environments import Templates, find_shipped_templates
from digest.render.feeds import fit_feed, write_atom, write_json_feed
from digest.render.mail import MailIdentity, MailPapers, write_digest_mail, write_digest_text, write_head
from digest.render.mime import write_mail
from digest.render.slack import (
    SlackParts,
    address_payload,
    compile_blocks,
    encode_payload,
    make_payload,
    write_slack_payload,
    write_webhook_payload,
)
from digest.render.terminal import write_terminal
from digest.render.text import clean_markup, clean_text, flow_text
from digest.render.webhook import write_alarm_event, write_digest_event

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance


MAIL, SLACK = "email/alarm.txt", "slack/alarm.txt"

CONSOLE_WIDTH = 80
_KEPT_DIGESTS = 8
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Envelope:
    """Where a message to the operator goes.

    Attributes:
        remote_address: what the other side calls it, "" where that is its address.
        key: names the message: a repetition has the same.
    """

    destination: Destination
    remote_address: str
    key: str
    identity: MailIdentity


class Renderer:
    """Renders digests and feeds for every medium. Safe to share between threads.

    Args:
        folders: the operator's template folders, first come first served; the shipped one is always last.
    """

    def __init__(self, folders: Sequence[Path] = ()) -> None:
        self.templates = Templates(folders, find_shipped_templates())
        # Counting a digest's parts and rendering each of them divide it the same; once is enough.
        self._divide = lru_cache(maxsize=_KEPT_DIGESTS)(partial(SlackParts, self.templates))
        self._papers = MailPapers(self.templates)

    def divide(self, digest: Digest, destination: Destination) -> tuple[Share | None, ...]:
        """Return which papers each message of a digest at a destination tells; None for one that tells all."""
        if destination.kind not in SLACK_KINDS:
            return (None,)
        return self._divide(digest).divide(destination)

    def render(  # noqa: PLR0911 - one for each kind
        self, digest: Digest, delivery: Delivery, links: Links, identity: MailIdentity
    ) -> Message:
        """Render one part for the delivery's destination.

        Raises:
            DigestError: the destination is one that readers fetch from, so nothing is sent there.
        """
        destination = delivery.destination
        match destination.kind:
            case DestinationKind.MAIL:
                body = write_digest_mail(self._papers, digest, delivery, links, identity)
                return _write_message("message/rfc822", body, digest, delivery, ".eml")
            case DestinationKind.SLACK:
                body = encode_payload(write_slack_payload(self._divide(digest), delivery, links))
                return _write_message("application/json", body, digest, delivery, _part_suffix(delivery))
            case DestinationKind.WEBHOOK:
                body = write_digest_event(digest, delivery, links)
                return _write_message("application/json", body, digest, delivery, ".json")
            case DestinationKind.SLACK_WEBHOOK:
                body = encode_payload(write_webhook_payload(self._divide(digest), delivery, links))
                return _write_message("application/json", body, digest, delivery, _part_suffix(delivery))
            case DestinationKind.CONSOLE:
                text = self.render_terminal(digest, width=CONSOLE_WIDTH, color=False, limit=None)
                return _write_message("text/plain", text.encode(), digest, delivery, ".txt")
            case DestinationKind.FILE if not destination.is_pulled:
                text = self.render_page(digest.hide_library(), links)  # others may read it, as on a site
                return _write_message("text/html", text.encode(), digest, delivery, ".html")
            case DestinationKind.FILE | DestinationKind.FEED:
                raise DigestError(f"{destination} is a feed: nothing is sent there")
            case kind:
                text = write_post(self.templates, f"{kind}{POST_SUFFIX}", digest, links)
                return _write_message("text/markdown", text.encode(), digest, delivery, ".md")

    def render_text(self, digest: Digest, links: Links) -> str:
        """Render plain text in lines of at most 78 characters, as far as words and links allow."""
        return write_digest_text(self._papers, digest, links)

    def render_terminal(self, digest: Digest, *, width: int, color: bool, limit: int | None) -> str:
        """Render for a terminal of so many columns, listing at most `limit` papers."""
        return write_terminal(self.templates, digest, width=width, color=color, limit=limit)

    def render_page(self, digest: Digest, links: Links) -> str:
        """Render the whole digest as a page of its own, as `digests.write_page` says."""
        return write_page(self.templates, digest, links)

    def render_atom(self, feed: Feed) -> bytes:
        """Render a feed as Atom (RFC 4287)."""
        return fit_feed(partial(write_atom, self.templates), feed)

    def render_json_feed(self, feed: Feed) -> bytes:
        """Render a feed as JSON Feed 1.1."""
        return fit_feed(partial(write_json_feed, self.templates), feed)

    def render_web(self, name: str, context: DataclassInstance) -> str:
        """Render a page of the web shell, `error.html` or `web/error.html`, from its context dataclass."""
        return self.templates.render(f"web/{name.removeprefix('web/')}", context)

    def render_alarm(self, context: AlarmContext, envelope: Envelope) -> Message:
        """Render a message to the operator."""
        destination, key, identity = envelope.destination, envelope.key, envelope.identity
        media_type, suffix = "application/json", ".json"
        if destination.kind is DestinationKind.WEBHOOK:
            body = write_alarm_event(context, key, identity.date)
        elif destination.kind in SLACK_KINDS:
            payload = make_payload(SLACK, compile_blocks(self.templates.render(SLACK, context)))
            if destination.kind is DestinationKind.SLACK:
                channel = envelope.remote_address or destination.address
                payload = address_payload(payload, channel, key, {"alarm": key})
            body = encode_payload(payload)
        else:
            subject, _, text = clean_markup(self.templates.render(MAIL, context).strip()).partition("\n")
            subject, text = clean_text(subject), text.strip()
            media_type, suffix, body = "text/plain", ".txt", f"{subject}\n\n{text}\n".encode()
            if destination.kind is DestinationKind.MAIL:
                fields = write_head(identity, identity.from_name, destination.address, subject, key)
                media_type, suffix, body = "message/rfc822", ".eml", write_mail(fields, key, flow_text(text))
        return Message(media_type, body, key, f"alarm-{key}{suffix}")

    def render_letter(self, context: LetterContext, delivery: Delivery, identity: MailIdentity) -> Message:
        """Render the mail with a link that somebody asked for on a page."""
        key = delivery.idempotency_key
        text = clean_markup(self.templates.render("email/letter.txt", context)).strip()
        headers = write_head(identity, identity.from_name, delivery.destination.address, context.subject, key)
        return Message("message/rfc822", write_mail(headers, key, flow_text(text)), key, f"letter-{key}.eml")

    def web_style_hash(self) -> str:
        """Return the source expression that allows the pages' one `<style>` in a Content-Security-Policy."""
        style = self.templates.read_source("web/style.css")
        return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


def _write_message(media_type: str, body: bytes, digest: Digest, delivery: Delivery, suffix: str) -> Message:
    name = _UNNAMEABLE.sub("-", f"{digest.subscription}-{digest.slot}").strip("-.")
    return Message(media_type, body, delivery.idempotency_key, f"{name}{suffix}")


def _part_suffix(delivery: Delivery) -> str:
    return f"-{delivery.part + 1}.json" if delivery.part else ".json"
