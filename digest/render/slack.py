"""Divides a digest into Slack messages: the first titles to the channel, the papers to its thread.

A thread has three messages at most. If they have no room for all papers with their sentences, the
thread goes on from the titles in the channel with further titles. What has no room even so is
counted and linked.

An incoming webhook knows no thread. It gets the channel's message alone, which then counts and
links the papers whose titles it does not list.

The digest and the templates alone decide how many parts there are and what is in each. So a part
means the same on every attempt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from digest.model.destinations import Destination
from digest.model.errors import TemplateError
from digest.model.messages import Delivery, Digest, Form, Links, Share
from digest.model.subscriptions import Abstracts
from digest.render.contexts import PostContext, SlackPageContext
from digest.render.digests import find_most, group_papers, view_digest, view_papers, view_rest
from digest.render.papers import PaperView
from digest.render.templates import Templates
from digest.render.text import VALUE_END, VALUE_START, shorten, strip_marks, to_plain_text

Block = dict[str, Any]

TOP = "slack/digest.txt"
"""The template of the message in the channel."""

THREAD = "slack/thread.txt"
"""The template of a message in its thread."""

MOST_TITLES = 10
"""How many titles the message in the channel lists."""

MOST_IN_THREAD = 3
"""How many messages a thread has."""

EVENT_TYPE = "digest_posted"

MOST_BLOCKS = 45
"""Slack refuses more than 50; the rest is room for what Slack adds."""

MOST_TEXT_BYTES = 9_000
SECTION_TEXT = 3_000
HEADER_TEXT = 150

_MOST_PAPERS = 100
"""A message has no room for more titles."""

_LONGEST_URL = "https://example.org/".ljust(300, "x")
"""What is counted is linked, as a rule: there must be room for the address."""

_FALLBACK = "fallback:"
_HEADER = "# "
_DIVIDER = "---"
_CONTEXT = "> "
_NOTHING = ("", "#", ">")
_BLANKS = re.compile(r"[ \t]+")
_EMPTY_VALUES = re.compile(f"{VALUE_START}{VALUE_END}")
_MOST_REFUSALS = 3
_MENTION = re.compile(r"<[!@#]")
"""How Slack writes whom a message calls."""


def write_slack_payload(parts: SlackParts, delivery: Delivery, links: Links) -> dict[str, Any]:
    """Build the body of `chat.postMessage` for one part.

    That for an incoming webhook has no channel and no thread.
    """
    template, compiled = parts.compile(delivery, links)
    payload = make_payload(template, compiled)
    if not delivery.destination.traits.is_named:
        key = delivery.idempotency_key
        channel = delivery.remote_address or delivery.destination.address
        payload = address_payload(payload, channel, key, {"delivery": key})
    if delivery.part and delivery.parent_remote_id:
        payload["thread_ts"] = delivery.parent_remote_id
    return payload


def address_payload(
    payload: dict[str, Any], channel: str, key: str, about: dict[str, str]
) -> dict[str, Any]:
    """Return a message for a channel, under a key that Slack takes once.

    `about` is metadata by which the message is found.
    """
    metadata = {"event_type": EVENT_TYPE, "event_payload": about}
    return {"channel": channel, **payload, "metadata": metadata, "client_msg_id": key}


def encode_payload(payload: dict[str, Any]) -> bytes:
    """Write a payload as JSON in UTF-8, always the same for the same payload."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


class SlackParts:
    """The messages that one digest becomes, divided once."""

    def __init__(self, templates: Templates, digest: Digest) -> None:
        self._templates = templates
        self._digest = digest
        self._view = view_digest(digest)
        self._papers: Sequence[PaperView] = view_papers(digest)

    def divide(self, destination: Destination) -> tuple[Share, ...]:
        """Return which papers are in each message at a destination."""
        if destination.traits.is_named:  # an incoming webhook knows no thread
            return (replace(self._shares[0], end=self._digest.shown),)
        return self._shares

    @cached_property
    def _shares(self) -> tuple[Share, ...]:
        """Which papers are in the message in the channel, and in each of its thread.

        All in the thread have one form: the fullest for which three messages have room, else
        titles. Each message is as full as Slack's limits allow. If Slack refuses one all the same,
        it is rendered with fewer papers, and counts and links the others.
        """
        top = Share(0, 0, min(MOST_TITLES, self._digest.shown))
        self._write_top(top, Links(), top.shown)  # a fault in it is found before anything is frozen
        for form in _list_forms(self._digest)[:-1]:
            thread = self._fill_thread(0, form)
            if all(share.shown == share.count for share in thread):
                return top, *thread
        listed = replace(top, end=top.shown)
        return listed, *self._fill_thread(top.shown, Form.TITLE)

    def _fill_thread(self, first: int, form: Form) -> list[Share]:
        """Return the shares from one paper on; the last one has all that are left, shown or not."""
        shares: list[Share] = []
        while first < self._digest.shown:
            is_last = len(shares) + 1 == MOST_IN_THREAD
            most = self._count_fitting(first, form, is_last=is_last)
            if most < 1:
                raise TemplateError(
                    f"{THREAD}: paper {first + 1} alone takes more than a Slack message has room"
                    " for",
                    hint=f"A message holds {MOST_BLOCKS} blocks and {MOST_TEXT_BYTES:,} bytes of"
                    " text.",
                )
            end = self._digest.shown if is_last else first + most
            shares.append(Share(first, end, most, form))
            first = end
        return shares

    def compile(self, delivery: Delivery, links: Links) -> tuple[str, Compiled]:
        """Compile one part with as many papers as there is room for, and name its template."""
        share = delivery.share or self.divide(delivery.destination)[delivery.part]
        if delivery.part:
            template = THREAD
            write = partial(self._write_page, share, delivery.parts - 1, links)
        else:
            template = TOP
            write = partial(self._write_top, share, links)
        most = find_most(share.shown, lambda count: write(count).fits)
        return template, write(most)

    def _write_top(self, share: Share, links: Links, count: int) -> Compiled:
        """Write the message in the channel, with the first `count` titles."""
        in_thread = self._digest.shown - share.end
        unlisted = in_thread if share.end else in_thread - count
        listed = tuple(self._papers[:count])
        left_out = (*self._papers[count : share.end], *self._papers[self._digest.shown :])
        context = PostContext(
            digest=self._view,
            groups=group_papers(self._digest, listed),
            papers=listed,
            in_thread=in_thread,
            unlisted=unlisted,
            rest=view_rest(left_out, links.web_view),
            links=links,
        )
        return compile_blocks(self._templates.render(TOP, context))

    def _write_page(self, share: Share, pages: int, links: Links, count: int) -> Compiled:
        """Write a message of the thread that shows the first `count` papers of its share."""
        papers = self._papers[share.first : share.end]
        listed = papers[:count]
        left_out = papers[count:]
        first = share.first + 1
        last = share.first + (count or share.count)
        context = SlackPageContext(
            digest=self._view,
            groups=group_papers(self._digest, listed),
            form=share.form,
            rest=view_rest(left_out, links.web_view),
            links=links,
            first=first,
            last=last,
            pages=pages,
        )
        return compile_blocks(self._templates.render(THREAD, context))

    def _count_fitting(self, first: int, form: Form, *, is_last: bool) -> int:
        """Return how many papers fit into a message of the thread that begins with one."""
        links = Links(web_view=_LONGEST_URL)
        shown = self._digest.shown

        def fits(count: int) -> bool:
            end = shown if is_last else first + count
            share = Share(first, end, count, form)
            return self._write_page(share, MOST_IN_THREAD, links, count).fits

        return find_most(min(_MOST_PAPERS, shown - first), fits)


def _list_forms(digest: Digest) -> tuple[Form, ...]:
    """Return the forms that the papers of a thread may have, the fullest first.

    Changes have one alone.
    """
    if all(entry.shows_change for entry in digest.entries[: digest.shown]):
        return (Form.TITLE,)
    if digest.abstracts is Abstracts.FULL:
        return Form.ABSTRACT, Form.SENTENCE, Form.TITLE
    is_long = any(group.form is Form.TITLE for group in digest.groups)
    return (Form.TITLE,) if is_long else (Form.SENTENCE, Form.TITLE)


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a template became: its blocks, and the text that is shown if blocks can't be."""

    fallback: str
    blocks: tuple[Block, ...]

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of text in all blocks together."""
        return sum(len(text.encode("utf-8")) for text in self.texts)

    @property
    def fits(self) -> bool:
        """Whether a message has room for it."""
        return len(self.blocks) <= MOST_BLOCKS and self.text_bytes <= MOST_TEXT_BYTES

    @property
    def texts(self) -> list[str]:
        """Every text in all blocks together."""
        texts: list[str] = []
        for block in self.blocks:
            texts += list_texts(block)
        return texts


def compile_blocks(rendered: str) -> Compiled:
    """Compile a rendered template to Block Kit, within Slack's limits.

    Blank lines separate blocks. What a block becomes depends on how its first line starts:

        fallback: text      what is read out, and shown if blocks can't be (once, no block)
        # text              a header
        ---                 a divider
        > text              a context line, small and grey (neighbouring lines are one block)
        anything else       a section

    Only what the template itself writes at the start of a line counts: marks enclose values, so a
    paper called "# one" or "---" stays a paragraph. Source:
    https://docs.slack.dev/reference/block-kit/blocks
    """
    fallback: list[str] = []
    blocks: list[Block] = []
    for lines in _split_paragraphs(rendered):
        start = _find_start(lines[0])
        texts = [line.removeprefix(start) for line in lines]
        if start == _FALLBACK:
            fallback.append(_join(texts, " "))
        elif start == _DIVIDER:
            blocks.append({"type": "divider"})
        elif start == _HEADER:
            blocks += _write_header(texts)
        elif start == _CONTEXT:
            blocks += _write_context(texts)
        else:
            blocks += _write_sections(texts)
    return Compiled(" ".join(fallback), tuple(blocks))


def _find_start(line: str) -> str:
    """Return the sign at the start of a line, which says what block it is; "" for a section."""
    if line.rstrip() == _DIVIDER:
        return _DIVIDER
    for start in (_FALLBACK, _HEADER, _CONTEXT):
        if line.startswith(start):
            return start
    return ""


def _write_header(lines: list[str]) -> Iterator[Block]:
    text = to_plain_text(_join(lines, " "))
    if text:
        header = {"type": "plain_text", "text": shorten(text, HEADER_TEXT), "emoji": False}
        yield {"type": "header", "text": header}


def _write_context(lines: list[str]) -> Iterator[Block]:
    for text in _pack([strip_marks(line).strip() for line in lines]):
        yield {"type": "context", "elements": [_write_mrkdwn(text)]}


def _write_sections(lines: list[str]) -> Iterator[Block]:
    # Slack folds long sections; what is folded is not seen.
    for text in _pack([strip_marks(line) for line in lines]):
        yield {"type": "section", "text": _write_mrkdwn(text), "expand": True}


def list_texts(block: Block) -> list[str]:
    """Return every text of a header, section or context block."""
    objects = [block["text"]] if "text" in block else []
    objects += [element for element in block.get("elements", ()) if "text" in element]
    return [str(one["text"]) for one in objects]


def _split_paragraphs(rendered: str) -> Iterator[list[str]]:
    """Yield the lines of each block; each line of a header, divider or fallback is a block."""
    lines: list[str] = []
    before = ""
    for raw in rendered.split("\n"):
        without_values = _EMPTY_VALUES.sub("", raw)
        line = _BLANKS.sub(" ", without_values).strip(" ")
        if raw.strip() and line in _NOTHING:
            continue  # a line of nothing but an empty value counts as not written
        start = _find_start(line)
        is_new = start != before or not line or start in (_HEADER, _DIVIDER, _FALLBACK)
        if lines and is_new:
            yield lines
            lines = []
        before = start
        if line:
            lines.append(line)
    if lines:
        yield lines


def _write_mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _pack(lines: list[str]) -> list[str]:
    """Join lines to as few texts as Slack's limit allows."""
    texts: list[str] = []
    for line in lines:
        if not line:
            continue
        joined = f"{texts[-1]}\n{line}" if texts else line
        if texts and len(joined) <= SECTION_TEXT:
            texts[-1] = joined
        else:
            texts.append(line)
    return texts


def _join(lines: list[str], separator: str) -> str:
    return separator.join(strip_marks(line).strip() for line in lines).strip()


def make_payload(name: str, compiled: Compiled) -> dict[str, Any]:
    """Return the message that a template became, as Slack takes it.

    Slack neither shows what links lead to nor looks for names in its words.

    One that Slack would refuse, or that would call somebody, is a `TemplateError`.
    """
    refusals = list(_find_refusals(compiled))
    if refusals:
        raise TemplateError(
            f"{name}: Slack would refuse it: {'; '.join(refusals[:_MOST_REFUSALS])}",
            hint="A template has a line `fallback: …` and at least one block;"
            " https://docs.slack.dev/reference/block-kit/blocks",
        )
    return {
        "text": compiled.fallback,
        "blocks": list(compiled.blocks),
        "unfurl_links": False,
        "unfurl_media": False,
        "parse": "none",
    }


def _find_refusals(compiled: Compiled) -> Iterator[str]:
    if not compiled.fallback:
        yield "there is no fallback"
    if not 1 <= len(compiled.blocks) <= MOST_BLOCKS:
        yield f"{len(compiled.blocks)} blocks, 1 to {MOST_BLOCKS} are allowed"
    if compiled.text_bytes > MOST_TEXT_BYTES:
        yield f"{compiled.text_bytes:,} bytes of text, {MOST_TEXT_BYTES:,} are allowed"
    for text in (compiled.fallback, *compiled.texts):
        if len(text) > SECTION_TEXT:
            yield f"{len(text):,} characters in one line, {SECTION_TEXT:,} are allowed"
        if _MENTION.search(text):
            yield f"a mention in {text[:40]!r}"
