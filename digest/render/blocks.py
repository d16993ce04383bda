"""Compiles readable text to Block Kit, within Slack's limits.

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

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from digest.model.errors import TemplateError
from digest.render.text import VALUE_END, VALUE_START, strip_marks, to_plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


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


MOST_BLOCKS = 45
"""Slack refuses more than 50; the rest is room for what Slack adds."""

MOST_TEXT_BYTES = 9_000
SECTION_TEXT = 3_000
HEADER_TEXT = 150
CONTEXT_ELEMENTS = 10
BLOCK_ID = 255
FALLBACK_TEXT = 4_000
"""Longer top-level texts may be split into several messages."""

METADATA_BYTES = 1_000
_TOLD = 3

_KNOWN = {
    "divider": {"type", "block_id"},
    "header": {"type", "block_id", "text"},
    "section": {"type", "block_id", "text"},
    "context": {"type", "block_id", "elements"},
}
"""What the blocks we send hold. Whatever else Slack knows has limits of its own, which nothing here looks at."""

_EVENT_TYPE = re.compile(r"[a-z][a-z0-9_]*")
_MENTION = re.compile(r"<[!@#]")
"""How Slack writes whom a message calls."""
_TEXT_TYPES = ("plain_text", "mrkdwn")


def frame_payload(fallback: str, blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put what every message carries around its blocks: no unfurling, no parsing of words."""
    return {
        "text": fallback[:FALLBACK_TEXT],
        "blocks": list(blocks),
        "unfurl_links": False,
        "unfurl_media": False,
        "parse": "none",
    }


def make_payload(name: str, compiled: Compiled) -> dict[str, Any]:
    """Return the message that a template became, as Slack takes it.

    Raises:
        TemplateError: Slack would refuse it.
    """
    payload = frame_payload(compiled.fallback, compiled.blocks)
    refusals = validate_blocks(payload)
    if refusals:
        raise TemplateError(
            f"{name}: Slack would refuse it: {'; '.join(refusals[:_TOLD])}",
            hint="A template has a line `fallback: …` and at least one block; https://docs.slack.dev/reference/block-kit/blocks",
        )
    return payload


def validate_blocks(payload: Mapping[str, Any]) -> list[str]:
    """Return what Slack, or our own care, would refuse in a message; empty for a sound one.

    Each problem starts with its place as a JSON pointer.
    """
    blocks = payload.get("blocks", [])
    problems = _check_frame(payload)
    if not 1 <= len(blocks) <= MOST_BLOCKS:
        problems.append(f"/blocks: {len(blocks)} blocks, 1 to {MOST_BLOCKS} are allowed")
    size = 0
    for index, block in enumerate(blocks):
        problems += _check_block(block, f"/blocks/{index}")
        size += sum(len(text.encode("utf-8", "replace")) for text in _texts_of(block))
    if size > MOST_TEXT_BYTES:
        problems.append(f"/blocks: {size} bytes of text, {MOST_TEXT_BYTES} are allowed")
    return problems + _check_block_ids(blocks)


def _check_frame(payload: Mapping[str, Any]) -> list[str]:
    problems = _check_string(payload.get("text", ""), "/text", FALLBACK_TEXT)
    for name in ("unfurl_links", "unfurl_media"):
        if payload.get(name) is not False:
            problems.append(f"/{name}: must be false, or Slack fetches every link")
    if payload.get("parse", "none") != "none":
        problems.append("/parse: must be none, or words such as @here become mentions")
    if "link_names" in payload:
        problems.append("/link_names: must not be there")
    return problems + _check_metadata(payload.get("metadata"))


def _check_metadata(metadata: Mapping[str, Any] | None) -> list[str]:
    if metadata is None:
        return []
    problems = []
    if not _EVENT_TYPE.fullmatch(str(metadata.get("event_type", ""))):
        problems.append("/metadata/event_type: small letters, digits and _ only")
    if len(json.dumps(metadata.get("event_payload", {})).encode("utf-8")) > METADATA_BYTES:
        problems.append(f"/metadata/event_payload: more than {METADATA_BYTES} bytes")
    return problems


def _check_block(block: Mapping[str, Any], place: str) -> list[str]:
    kind = block.get("type")
    unknown = sorted(set(block) - _KNOWN[kind]) if kind in _KNOWN else []
    return [f"{place}/{name}: is nothing we send" for name in unknown] + _check_content(block, place)


def _check_content(block: Mapping[str, Any], place: str) -> list[str]:
    match block.get("type"):
        case "divider":
            return []
        case "header":
            return _check_text(block.get("text"), f"{place}/text", HEADER_TEXT, ("plain_text",))
        case "section":
            return _check_text(block.get("text"), f"{place}/text", SECTION_TEXT)
        case "context":
            return _check_elements(block.get("elements", []), f"{place}/elements")
        case other:
            return [f"{place}/type: {other!r} is no block we send"]


def _check_elements(elements: list[Mapping[str, Any]], place: str) -> list[str]:
    problems = [
        problem
        for index, element in enumerate(elements)
        for problem in _check_text(element, f"{place}/{index}", SECTION_TEXT)
    ]
    if not 1 <= len(elements) <= CONTEXT_ELEMENTS:
        problems.append(f"{place}: {len(elements)} elements, 1 to {CONTEXT_ELEMENTS} are allowed")
    return problems


def _check_text(text: object, place: str, longest: int, types: tuple[str, ...] = _TEXT_TYPES) -> list[str]:
    if not isinstance(text, dict):
        return [f"{place}: missing"]
    problems = _check_string(text.get("text", ""), f"{place}/text", longest)
    if text.get("type") not in types:
        problems.append(f"{place}/type: {text.get('type')!r}, but {' or '.join(types)} is needed")
    if text.get("type") == "plain_text" and text.get("emoji") is not False:
        problems.append(f"{place}/emoji: must be false, or :words: become pictures")
    if text.get("type") == "mrkdwn" and text.get("verbatim") is not True:
        problems.append(f"{place}/verbatim: must be true, or words such as @here become mentions")
    return problems


def _check_string(text: str, place: str, longest: int) -> list[str]:
    problems = []
    if not 1 <= len(text) <= longest:
        problems.append(f"{place}: {len(text)} characters, 1 to {longest} are allowed")
    if _MENTION.search(text):
        problems.append(f"{place}: holds a mention")
    return problems


def _check_block_ids(blocks: list[Mapping[str, Any]]) -> list[str]:
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    problems = ["/blocks: a block_id occurs twice"] if len(set(ids)) < len(ids) else []
    return problems + [f"/blocks: block_id longer than {BLOCK_ID}" for one in ids if len(one) > BLOCK_ID]


def _texts_of(block: Mapping[str, Any]) -> list[str]:
    objects = [block.get("text"), *block.get("elements", ())]
    return [str(one["text"]) for one in objects if isinstance(one, dict) and "text" in one]
