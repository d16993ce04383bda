"""Compiles readable text to Block Kit, within Slack's limits.

Blank lines separate blocks. What a block becomes depends on how its first line starts:

    fallback: text      what is read out and shown where blocks are not (once, no block)
    # text              a header
    ---                 a divider
    > text              a context line, small and grey (neighbouring lines are one block)
    anything else       a section

Only what the template itself writes at the start of a line counts: values carry marks, so a paper
called "# one" or "---" stays a paragraph. Source: https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from digest.model.errors import TemplateError
from digest.render.text import VALUE_END, VALUE_START, strip_marks, to_plain_text

Block = dict[str, Any]

_FALLBACK = "fallback:"
_HEADER = "# "
_DIVIDER = "---"
_CONTEXT = "> "
_NOTHING = ("", "#", ">")
_BLANKS = re.compile(r"[ \t]+")
_EMPTY_VALUES = re.compile(f"{VALUE_START}{VALUE_END}")


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a template became: its blocks, and the text shown where blocks are not."""

    fallback: str
    blocks: tuple[Block, ...]

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of text in all blocks together."""
        return sum(len(text.encode("utf-8")) for block in self.blocks for text in list_texts(block))


def compile_blocks(rendered: str) -> Compiled:
    """Compile a rendered template."""
    fallback: list[str] = []
    blocks: list[Block] = []
    for lines in _split_paragraphs(rendered):
        if lines[0].startswith(_FALLBACK):
            fallback.append(_join([line.removeprefix(_FALLBACK) for line in lines], " "))
        elif lines[0].rstrip() == _DIVIDER:
            blocks.append({"type": "divider"})
        elif lines[0].startswith(_HEADER):
            blocks += _build_header(lines)
        elif lines[0].startswith(_CONTEXT):
            blocks += _build_context(lines)
        else:
            texts = _pack([strip_marks(line) for line in lines])
            # Slack folds long sections; what is folded is not seen.
            blocks += [{"type": "section", "text": _write_mrkdwn(text), "expand": True} for text in texts]
    return Compiled(" ".join(fallback), tuple(blocks))


def list_texts(block: Block) -> list[str]:
    """Return every text of a header, section or context block."""
    objects = [block["text"]] if "text" in block else []
    objects += [element for element in block.get("elements", ()) if "text" in element]
    return [str(one["text"]) for one in objects]


def _split_paragraphs(rendered: str) -> Iterator[list[str]]:
    """Yield lines that belong together; headers, dividers and fallbacks stand alone."""
    lines: list[str] = []
    kind = ""
    for raw in rendered.split("\n"):
        line = _BLANKS.sub(" ", _EMPTY_VALUES.sub("", raw)).strip(" ")
        if raw.strip() and line in _NOTHING:
            continue  # only an empty value stood there: as if the line were not written
        found = _classify(line)
        if lines and (found != kind or kind in (_HEADER, _DIVIDER, _FALLBACK)):
            yield lines
            lines = []
        kind = found
        if line:
            lines.append(line)
    if lines:
        yield lines


def _classify(line: str) -> str:
    if not line:
        return ""
    if line == _DIVIDER:
        return _DIVIDER
    return next((start for start in (_FALLBACK, _HEADER, _CONTEXT) if line.startswith(start)), "text")


def _build_header(lines: list[str]) -> list[Block]:
    text = _cut(to_plain_text(_join([line.removeprefix(_HEADER) for line in lines], " ")), HEADER_TEXT)
    if not text:
        return []
    return [{"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}]


def _build_context(lines: list[str]) -> list[Block]:
    texts = _pack([strip_marks(line.removeprefix(_CONTEXT)).strip() for line in lines])
    return [{"type": "context", "elements": [_write_mrkdwn(text)]} for text in texts]


def _write_mrkdwn(text: str) -> Block:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _pack(lines: list[str]) -> list[str]:
    """Join lines into texts that a section may hold, breaking between lines only."""
    texts: list[str] = []
    for line in filter(None, lines):
        if texts and len(texts[-1]) + 1 + len(line) <= SECTION_TEXT:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line)
    return texts


def _join(lines: list[str], separator: str) -> str:
    return separator.join(strip_marks(line).strip() for line in lines).strip()


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


MOST_BLOCKS = 45
"""Slack refuses more than 50; the rest is room for what Slack adds."""

MOST_TEXT_BYTES = 9_000
SECTION_TEXT = 3_000
HEADER_TEXT = 150
FALLBACK_TEXT = 4_000
"""Longer top-level texts may be split into several messages."""

_TOLD = 3
_MENTION = re.compile(r"<[!@#]")
"""How Slack writes whom a message calls."""


def make_payload(name: str, compiled: Compiled) -> dict[str, Any]:
    """Return the message that a template became, as Slack takes it: no unfurling, no parsing of words.

    Raises:
        TemplateError: Slack would refuse it, or it would call somebody.
    """
    refusals = list(_find_refusals(compiled))
    if refusals:
        raise TemplateError(
            f"{name}: Slack would refuse it: {'; '.join(refusals[:_TOLD])}",
            hint="A template has a line `fallback: …` and at least one block; https://docs.slack.dev/reference/block-kit/blocks",
        )
    return {
        "text": compiled.fallback[:FALLBACK_TEXT],
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
    for text in (compiled.fallback, *(text for block in compiled.blocks for text in list_texts(block))):
        if len(text) > SECTION_TEXT:
            yield f"{len(text):,} characters in one line, {SECTION_TEXT:,} are allowed"
        if _MENTION.search(text):
            yield f"a mention in {text[:40]!r}"
