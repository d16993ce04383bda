"""Divides a digest into Slack messages: titles to the channel, the papers to its thread.

An incoming webhook knows no thread. It gets the channel's message alone, which then counts and links the papers
whose titles it does not list.

How many parts there are and what is in each follows from the digest and the templates alone:
addresses, tokens and answers change nothing, so a part means the same on every attempt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Links, Share
from digest.model.subscriptions import DestinationKind
from digest.render.blocks import MOST_BLOCKS, MOST_TEXT_BYTES, Compiled, compile_blocks, make_payload
from digest.render.contexts import PostContext, SlackPageContext
from digest.render.digests import (
    find_most,
    group_papers,
    view_digest,
    view_papers,
    view_rest,
)
from digest.render.environments import Templates
from digest.render.papers import PaperView

TOP, THREAD = "slack/digest.txt", "slack/thread.txt"
"""The templates: the message in the channel, and one in its thread."""

MOST_TITLES = 10
"""How many titles the message in the channel lists."""

EVENT_TYPE = "digest_posted"

_MOST_PAPERS = 200
"""A template may put many papers into one block, so that blocks alone are no bound."""

_MOST_PAGES = 999


def write_slack_payload(parts: SlackParts, delivery: Delivery, links: Links) -> dict[str, Any]:
    """Build the body of `chat.postMessage` for one part."""
    payload = {
        "channel": delivery.remote_address or delivery.destination.address,
        **write_webhook_payload(parts, delivery, links),
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"delivery": delivery.idempotency_key}},
        "client_msg_id": delivery.idempotency_key,
    }
    if delivery.part and delivery.parent_remote_id:
        payload["thread_ts"] = delivery.parent_remote_id
    return payload


def write_webhook_payload(parts: SlackParts, delivery: Delivery, links: Links) -> dict[str, Any]:
    """Build the body for an incoming webhook: the same message, without channel, thread or metadata."""
    name, compiled = parts.compile(delivery, links)
    if not _fits(compiled):
        raise TemplateError(
            f"{name}: {len(compiled.blocks)} blocks of {compiled.text_bytes:,} bytes are too much for a message",
            hint=f"A message holds {MOST_BLOCKS} blocks and {MOST_TEXT_BYTES:,} bytes of text.",
        )
    return make_payload(name, compiled)


def encode_payload(payload: dict[str, Any]) -> bytes:
    """Write a payload as JSON in UTF-8, always the same for the same payload."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


class SlackParts:
    """The messages one digest becomes, divided once."""

    def __init__(self, templates: Templates, digest: Digest) -> None:
        self._templates = templates
        self._digest = digest
        self._view = view_digest(digest)
        self._papers: Sequence[PaperView] = view_papers(digest)
        self._most_titles = min(MOST_TITLES, digest.shown)

    @cached_property
    def shares(self) -> tuple[Share, ...]:
        """Which papers each part tells: the first, in the channel, none; those in its thread all of them.

        Each of these is as full as Slack's limits allow. One that Slack refuses all the same shows fewer papers,
        and counts and links the others.
        """
        shown = self._digest.shown
        top = Share(0, 0, self._most_titles)
        self._write_top(top, Links(), has_thread=True)  # a fault in it is found before anything is frozen
        shares = [top]
        while (start := shares[-1].behind) < shown:
            most = self._count_fitting(start)
            if most < 1:
                raise TemplateError(
                    f"{THREAD}: paper {start + 1} alone takes more than a Slack message has room for",
                    hint=f"A message holds {MOST_BLOCKS} blocks and {MOST_TEXT_BYTES:,} bytes of text.",
                )
            shares.append(Share(start, start + most, most))
        return tuple(shares)

    def compile(self, delivery: Delivery, links: Links) -> tuple[str, Compiled]:
        """Compile one part; return its template's name with it."""
        part = delivery.part
        share = delivery.share or self.shares[part]
        if part:
            compile_page = partial(self._compile_page, share, part, delivery.parts - 1, links)
            return THREAD, compile_page(find_most(share.shown, lambda count: _fits(compile_page(count))))
        return TOP, self._write_top(share, links, has_thread=delivery.destination.kind is DestinationKind.SLACK)

    def _write_top(self, share: Share, links: Links, *, has_thread: bool) -> Compiled:
        """Compile the message for the channel with as many titles as there is room for."""
        compile_top = partial(self._compile_top, self._digest.shown if has_thread else 0, links)
        return compile_top(find_most(share.shown, lambda count: _fits(compile_top(count))))

    def _compile_top(self, in_thread: int, links: Links, count: int) -> Compiled:
        """Compile the message for the channel with the first `count` titles."""
        context = PostContext(
            digest=self._view,
            papers=tuple(self._papers[:count]),
            in_thread=in_thread,
            rest=view_rest(self._papers[in_thread or count :], links.web_view),
            links=links,
        )
        return compile_blocks(self._templates.render(TOP, context))

    def _compile_page(self, share: Share, page: int, pages: int, links: Links, count: int) -> Compiled:
        """Compile a message of the thread that shows the first `count` papers of its share."""
        papers = self._papers[share.first : share.behind]
        context = SlackPageContext(
            digest=self._view,
            groups=group_papers(self._digest, papers[:count]),
            rest=view_rest(papers[count:], links.web_view),
            first=share.first + 1,
            last=share.behind,
            page=page,
            pages=pages,
        )
        return compile_blocks(self._templates.render(THREAD, context))

    def _count_fitting(self, first: int) -> int:
        """Return how many papers fit into a message of the thread that begins with one."""
        most = min(_MOST_PAPERS, self._digest.shown - first)
        usual = min(MOST_BLOCKS, most)  # most templates give each paper a block of its own, or more
        fitting = find_most(usual, partial(self._fits, first))
        if fitting == usual < most:
            fitting += find_most(most - usual, lambda more: self._fits(first, usual + more))
        return fitting

    def _fits(self, first: int, count: int) -> bool:
        """Whether a message of the thread may show so many papers, whatever its place."""
        share = Share(first, first + count, count)
        return _fits(self._compile_page(share, _MOST_PAGES, _MOST_PAGES, Links(), count))


def _fits(compiled: Compiled) -> bool:
    return len(compiled.blocks) <= MOST_BLOCKS and compiled.text_bytes <= MOST_TEXT_BYTES
