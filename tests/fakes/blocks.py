"""Slack's limits on Block Kit, checked as Slack does.

All complaints at once, each with a JSON pointer.

Limits: https://docs.slack.dev/reference/block-kit/blocks and …/composition-objects. The limit on
the text of all blocks together is undocumented; the strictest value measured in public is used.
Only the four kinds of block that we send are known here: whatever else Slack knows is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_BLOCKS = 50
MOST_TEXT_BYTES = 10_600
"""UTF-8 bytes of all texts together (https://github.com/slackapi/bolt-js/issues/2509)."""

_TEXT = 3_000
_HEADER = 150
_CONTEXT_ELEMENTS = 10
_BLOCK_ID = 255


def check_blocks(blocks: object) -> list[str]:
    """Return what is wrong with a message's blocks, as Slack words it.

    Nothing where all is well.
    """
    if not isinstance(blocks, list):
        return [_complain("", "must be an array")]
    found: list[str] = []
    for n, block in enumerate(blocks):
        found += _check_block(block, f"/{n}")
    if len(blocks) > MOST_BLOCKS:
        found.append(_complain("", f"no more than {MOST_BLOCKS} items allowed"))
    ids = [
        str(block["block_id"])
        for block in blocks
        if isinstance(block, dict) and "block_id" in block
    ]
    if len({*ids}) < len(ids):
        found.append(_complain("", "block_id must be unique"))
    return found


def measure_text(blocks: object) -> int:
    """Return how many UTF-8 bytes of text the blocks hold together."""
    return sum(len(text.encode()) for text in list_texts(blocks))


def list_texts(blocks: object) -> Iterator[str]:
    """Yield every text of the blocks, in order of appearance, as sent."""
    if isinstance(blocks, list):
        for block in blocks:
            yield from list_texts(block)
    elif isinstance(blocks, dict):
        for name, value in blocks.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from list_texts(value)


def _complain(pointer: str, words: str) -> str:
    return f"[ERROR] {words} [json-pointer:/blocks{pointer}]"


def _check_block(block: Any, at: str) -> Iterator[str]:  # noqa: ANN401 - whatever was sent
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in ("section", "header", "context", "divider"):
        yield _complain(f"{at}/type", f"unsupported type: {kind}")
        return
    if len(str(block.get("block_id", ""))) > _BLOCK_ID:
        yield _complain(f"{at}/block_id", f"must be less than {_BLOCK_ID + 1} characters")
    if kind == "section":
        yield from _check_text(block.get("text"), f"{at}/text")
    elif kind == "header":
        yield from _check_text(block.get("text"), f"{at}/text", _HEADER, ("plain_text",))
    elif kind == "context":
        elements = block.get("elements")
        if not isinstance(elements, list) or not 1 <= len(elements) <= _CONTEXT_ELEMENTS:
            yield _complain(f"{at}/elements", f"must be an array of 1 to {_CONTEXT_ELEMENTS} items")
            return
        for n, element in enumerate(elements):
            yield from _check_text(element, f"{at}/elements/{n}")


def _check_text(
    value: object, at: str, most: int = _TEXT, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")
) -> Iterator[str]:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        yield _complain(at, f"must be a text object of type {' or '.join(kinds)}")
        return
    text = value.get("text")
    if not isinstance(text, str) or not 1 <= len(text) <= most:
        yield _complain(f"{at}/text", f"must be a string of 1 to {most} characters")
    odd = {"plain_text": "verbatim", "mrkdwn": "emoji"}[value["type"]]
    if odd in value:
        yield _complain(at, f"additional property not allowed: {odd}")
