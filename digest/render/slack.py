"""A digest as Slack messages: one to the channel with the top papers, the rest in its thread.

How many parts there are and what is in each follows from the digest and the templates alone:
addresses, tokens and answers change nothing, so a part means the same on every attempt.
"""

from __future__ import annotations

import json
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from digest.errors import DigestError, TemplateError
from digest.messages import Links
from digest.render.blocks import Compiled, compile_blocks
from digest.render.contexts import SlackDigestContext, SlackPageContext, WeeklySlackContext
from digest.render.digest_view import group_papers, view_digest, view_papers, view_rest
from digest.render.slack_limits import FALLBACK_TEXT, MOST_BLOCKS, MOST_TEXT_BYTES, validate_blocks
from digest.render.weekly import as_fields, choose_template, view_week

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from digest.messages import Delivery, Digest
    from digest.render.environments import Templates
    from digest.render.presentation import PaperView

TOP_PAPERS = 5
"""How many papers the message in the channel shows."""

EVENT_TYPE = "digest_posted"

_LONGEST_LINK = 300
_MOST_PAGES = 999
_WIDEST_LINKS = Links(
    unsubscribe="",
    unsubscribe_mail="",
    web_view=f"https://{'w' * _LONGEST_LINK}",
    feed=f"https://{'f' * _LONGEST_LINK}",
    home=f"https://{'h' * _LONGEST_LINK}",
)
"""Stand for any addresses while pages are measured, so that these never change the paging."""


def write_slack_payload(parts: SlackParts, delivery: Delivery, links: Links) -> dict[str, Any]:
    """Build the body of `chat.postMessage` for one part.

    Raises:
        TemplateError: a template cannot be rendered or breaks Slack's limits.
        DigestError: the digest has no such part.
    """
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
    """Build the body for an incoming webhook: the same message, without channel, thread or metadata.

    Raises:
        TemplateError: a template cannot be rendered or breaks Slack's limits.
        DigestError: the digest has no such part.
    """
    payload = frame_payload(parts.compile(delivery.part, links))
    problems = validate_blocks(payload)
    if problems:
        name = "slack/page.txt" if delivery.part else "slack/digest.txt"
        raise TemplateError(
            f"{name}: Slack would refuse this message: {'; '.join(problems[:3])}",
            hint="Every message needs a line `fallback: …`, and at least one block.",
        )
    return payload


def encode_payload(payload: dict[str, Any]) -> bytes:
    """Write a payload as JSON in UTF-8, always the same for the same payload."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def frame_payload(compiled: Compiled) -> dict[str, Any]:
    """Put what every message carries around compiled blocks: no unfurling, no parsing of words."""
    return {
        "text": compiled.fallback[:FALLBACK_TEXT],
        "blocks": list(compiled.blocks),
        "unfurl_links": False,
        "unfurl_media": False,
        "parse": "none",
    }


class SlackParts:
    """The messages one digest becomes, divided once."""

    def __init__(self, templates: Templates, digest: Digest) -> None:
        self._templates = templates
        self._digest = digest
        self._view = view_digest(digest)
        self._papers: Sequence[PaperView] = view_papers(digest)
        self._week = view_week(digest, self._papers) if digest.is_round_up else None
        # A round-up that names the papers which matched the most has all papers in its thread.
        self._top_papers = 0 if self._week is not None and self._week.most_matched else TOP_PAPERS

    @cached_property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Which papers (0-based, the first and the one behind the last) each part shows.

        Part 0 goes to the channel, the others to its thread, each as full as Slack's limits allow.

        Raises:
            TemplateError: not even one paper fits, or a template cannot be rendered.
        """
        shown = self._digest.shown
        ranges = [(0, _find_most(min(self._top_papers, shown), self._fits_top))]
        while (start := ranges[-1][1]) < shown:
            most = _find_most(min(MOST_BLOCKS, shown - start), partial(self._fits, start))
            if most < 1:
                raise TemplateError(
                    f"slack/page.txt: paper {start + 1} alone takes more than a Slack message has room for",
                    hint=f"A message holds {MOST_BLOCKS} blocks and {MOST_TEXT_BYTES:,} bytes of text.",
                )
            ranges.append((start, start + most))
        return tuple(ranges)

    def compile(self, part: int, links: Links) -> Compiled:
        """Compile one part.

        Raises:
            TemplateError: a template cannot be rendered.
            DigestError: there is no such part.
        """
        if part >= len(self.ranges):
            raise DigestError(
                f"digest {self._digest.id} has {len(self.ranges)} parts for Slack, there is no part {part}"
            )
        first, behind = self.ranges[part]
        if part == 0:
            return self._compile_top(behind, links)
        return self._compile_page(first, behind, part, len(self.ranges) - 1)

    def _compile_top(self, count: int, links: Links) -> Compiled:
        """Compile the message for the channel with the first `count` papers."""
        shown = self._digest.shown
        context = SlackDigestContext(
            digest=self._view,
            papers=tuple(self._papers[:count]),
            groups=group_papers(self._digest, self._papers[:count]),
            in_thread=shown - count,
            rest=view_rest(self._papers[shown:], links.web_view),
            links=links,
        )
        if self._week is not None:
            context = WeeklySlackContext(**as_fields(context), week=self._week)
        return compile_blocks(self._templates.render(choose_template("slack/digest.txt", self._digest), context))

    def _compile_page(self, first: int, behind: int, page: int, pages: int) -> Compiled:
        """Compile a message of the thread with papers `first` to `behind` (0-based, exclusive)."""
        context = SlackPageContext(
            digest=self._view,
            groups=group_papers(self._digest, self._papers[first:behind]),
            first=first + 1,
            last=behind,
            page=page,
            pages=pages,
        )
        return compile_blocks(self._templates.render("slack/page.txt", context))

    def _fits_top(self, count: int) -> bool:
        """Whether the channel's message may show so many papers, whatever its links."""
        return _fits(self._compile_top(count, _WIDEST_LINKS)) and _fits(self._compile_top(count, Links()))

    def _fits(self, first: int, count: int) -> bool:
        """Whether a message of the thread may show so many papers, whatever its place."""
        return _fits(self._compile_page(first, first + count, _MOST_PAGES, _MOST_PAGES))


def _fits(compiled: Compiled) -> bool:
    return len(compiled.blocks) <= MOST_BLOCKS and compiled.text_bytes <= MOST_TEXT_BYTES


def _find_most(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest count up to `most` that fits, 0 for none, asking as rarely as halving allows."""
    if most < 1 or fits(most):
        return max(most, 0)
    fewest, above = 0, most
    while above - fewest > 1:
        middle = (fewest + above) // 2
        if fits(middle):
            fewest = middle
        else:
            above = middle
    return fewest
