"""A readable text, as a Slack template renders it, compiled to Block Kit.

Blank lines separate blocks. What a block becomes is told by how its first line starts:

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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from digest.render.mrkdwn import VALUE_END, VALUE_START, strip_marks, to_plain_text
from digest.render.slack_limits import HEADER_TEXT, SECTION_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator

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
            blocks += _build_sections(lines)
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


def _build_sections(lines: list[str]) -> list[Block]:
    return [{"type": "section", "text": _write_mrkdwn(text)} for text in _pack([strip_marks(x) for x in lines])]


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
