"""Slack's limits on Block Kit, checked as Slack does: all complaints at once, each with a JSON pointer.

Limits: https://docs.slack.dev/reference/block-kit/blocks and …/composition-objects. The limit on the
text of all blocks together is undocumented; the strictest value measured in public is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MOST_BLOCKS = 50
MOST_TEXT_BYTES = 10_600
"""UTF-8 bytes of all texts together (https://github.com/slackapi/bolt-js/issues/2509)."""

_TEXT = 3_000
_HEADER = 150
_FIELDS = (10, 2_000)
_CONTEXT_ELEMENTS = 10
_ACTIONS = 25
_ACTION_ID = 255
_BUTTON = {"value": 2_000, "url": 3_000, "accessibility_label": 75}
_LABEL = 75
_OPTIONS = {"overflow": 5, "static_select": 100}
_OPTION = {"value": 150, "url": 3_000}
_OPTION_WORDS = {"text": 75, "description": 75}
_CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
_IMAGE = {"image_url": 3_000, "alt_text": 2_000}
_IMAGE_TITLE = 2_000
_MARKDOWN = 12_000
_TABLE_ROWS, _TABLE_COLUMNS = 100, 20
_BLOCK_ID = 255
_ACTING = ("button", "overflow", "static_select")


def check_blocks(blocks: object) -> list[str]:
    """Return what is wrong with a message's blocks, as Slack words it; nothing where all is well."""
    if not isinstance(blocks, list):
        return [_complain("", "must be an array")]
    if len(blocks) > MOST_BLOCKS:
        return [_complain("", f"no more than {MOST_BLOCKS} items allowed")]
    found = [complaint for n, block in enumerate(blocks) for complaint in _check_block(block, f"/{n}")]
    kinds = [block.get("type") for block in blocks if isinstance(block, dict)]
    if kinds.count("table") > 1:
        found.append(_complain("", "only one table is allowed"))
    if sum(len(str(block.get("text"))) for block in blocks if _is_markdown(block)) > _MARKDOWN:
        found.append(_complain("", f"markdown must be less than {_MARKDOWN + 1} characters together"))
    ids = [block["block_id"] for block in blocks if isinstance(block, dict) and "block_id" in block]
    if len({str(name) for name in ids}) < len(ids):
        found.append(_complain("", "block_id must be unique"))
    return found


def measure_text(blocks: object) -> int:
    """Return how many UTF-8 bytes of text the blocks hold together."""
    if isinstance(blocks, list):
        return sum(map(measure_text, blocks))
    if not isinstance(blocks, dict):
        return 0
    own = blocks.get("text")
    return (len(own.encode()) if isinstance(own, str) else 0) + sum(map(measure_text, blocks.values()))


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


def _check_block(block: object, at: str) -> Iterator[str]:
    if not isinstance(block, dict):
        yield _complain(at, "must be an object")
        return
    check = _CHECKS.get(str(block.get("type")))
    if check is None:
        yield _complain(f"{at}/type", f"unsupported type: {block.get('type')}")
        return
    if len(str(block.get("block_id", ""))) > _BLOCK_ID:
        yield _complain(f"{at}/block_id", f"must be less than {_BLOCK_ID + 1} characters")
    yield from check(block, at)


def _check_text(
    value: object, at: str, most: int = _TEXT, kinds: tuple[str, ...] = ("plain_text", "mrkdwn")
) -> Iterator[str]:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        yield _complain(at, f"must be a text object of type {' or '.join(kinds)}")
        return
    yield from _check_length(value.get("text"), f"{at}/text", most)
    odd = {"plain_text": "verbatim", "mrkdwn": "emoji"}[value["type"]]
    if odd in value:
        yield _complain(at, f"additional property not allowed: {odd}")


def _check_length(value: object, at: str, most: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield _complain(at, "must be a string")
    elif not value:
        yield _complain(at, "must be more than 0 characters")
    elif len(value) > most:
        yield _complain(at, f"must be less than {most + 1} characters")


def _check_list(value: object, at: str, most: int) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield _complain(at, "must provide at least one item")
    elif len(value) > most:
        yield _complain(at, f"no more than {most} items allowed")


def _check_section(block: dict[str, Any], at: str) -> Iterator[str]:
    if "text" not in block and "fields" not in block:
        yield _complain(at, "missing required field: text or fields")
    if "text" in block:
        yield from _check_text(block["text"], f"{at}/text")
    if "fields" in block:
        yield from _check_list(block["fields"], f"{at}/fields", _FIELDS[0])
        for n, field in enumerate(block["fields"] or ()):
            yield from _check_text(field, f"{at}/fields/{n}", _FIELDS[1])
    if "accessory" in block:
        yield from _check_element(block["accessory"], f"{at}/accessory", (*_ACTING, "image"))


def _check_header(block: dict[str, Any], at: str) -> Iterator[str]:
    yield from _check_text(block.get("text"), f"{at}/text", _HEADER, ("plain_text",))


def _check_context(block: dict[str, Any], at: str) -> Iterator[str]:
    elements = block.get("elements")
    yield from _check_list(elements, f"{at}/elements", _CONTEXT_ELEMENTS)
    for n, element in enumerate(elements or ()):
        if isinstance(element, dict) and element.get("type") == "image":
            yield from _check_image(element, f"{at}/elements/{n}")
        else:
            yield from _check_text(element, f"{at}/elements/{n}")


def _check_actions(block: dict[str, Any], at: str) -> Iterator[str]:
    elements = block.get("elements")
    yield from _check_list(elements, f"{at}/elements", _ACTIONS)
    for n, element in enumerate(elements or ()):
        yield from _check_element(element, f"{at}/elements/{n}", _ACTING)


def _check_element(element: object, at: str, kinds: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(element, dict) or element.get("type") not in kinds:
        yield _complain(f"{at}/type", f"must be one of {', '.join(kinds)}")
        return
    if element["type"] == "image":
        yield from _check_image(element, at)
        return
    if "action_id" in element:
        yield from _check_length(element["action_id"], f"{at}/action_id", _ACTION_ID)
    if "confirm" in element:
        yield from _check_words(element["confirm"], f"{at}/confirm", _CONFIRM)
    if element["type"] == "button":
        yield from _check_text(element.get("text"), f"{at}/text", _LABEL, ("plain_text",))
        yield from _check_lengths(element, at, _BUTTON)
    else:
        yield from _check_list(element.get("options"), f"{at}/options", _OPTIONS[element["type"]])
        for n, option in enumerate(element.get("options") or ()):
            yield from _check_words(option, f"{at}/options/{n}", _OPTION_WORDS)
            yield from _check_lengths(option, f"{at}/options/{n}", _OPTION)


def _check_words(value: object, at: str, most: Mapping[str, int]) -> Iterator[str]:
    """Complain of the text objects of an object."""
    if not isinstance(value, dict):
        yield _complain(at, "must be an object")
        return
    for name, limit in most.items():
        if name in value:
            yield from _check_text(value[name], f"{at}/{name}", limit)


def _check_lengths(value: object, at: str, most: Mapping[str, int]) -> Iterator[str]:
    for name, limit in most.items():
        if isinstance(value, dict) and name in value:
            yield from _check_length(value[name], f"{at}/{name}", limit)


def _check_image(element: dict[str, Any], at: str) -> Iterator[str]:
    for name, most in _IMAGE.items():
        yield from _check_length(element.get(name), f"{at}/{name}", most)
    if "title" in element:
        yield from _check_text(element["title"], f"{at}/title", _IMAGE_TITLE, ("plain_text",))


def _check_markdown(block: dict[str, Any], at: str) -> Iterator[str]:
    yield from _check_length(block.get("text"), f"{at}/text", _MARKDOWN)


def _check_table(block: dict[str, Any], at: str) -> Iterator[str]:
    yield from _check_list(block.get("rows"), f"{at}/rows", _TABLE_ROWS)
    for n, row in enumerate(block.get("rows") or ()):
        yield from _check_list(row, f"{at}/rows/{n}", _TABLE_COLUMNS)


def _is_markdown(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "markdown"


def _check_rich_text(block: dict[str, Any], at: str) -> Iterator[str]:
    elements = block.get("elements")
    if not isinstance(elements, list):
        yield _complain(f"{at}/elements", "must be an array")
        return
    for n, element in enumerate(elements):
        yield from _check_rich_element(element, f"{at}/elements/{n}")


def _check_rich_element(element: object, at: str) -> Iterator[str]:
    kind = element.get("type") if isinstance(element, dict) else None
    if not isinstance(element, dict) or kind not in _RICH:
        yield _complain(f"{at}/type", f"unsupported type: {kind}")
    elif kind in _RICH_PARTS:
        for n, part in enumerate(element.get("elements") or ()):
            yield from _check_rich_element(part, f"{at}/elements/{n}")
    elif kind == "text":
        yield from _check_length(element.get("text"), f"{at}/text", _TEXT)
    elif kind == "link":
        yield from _check_length(element.get("url"), f"{at}/url", _BUTTON["url"])


def _check_divider(_block: dict[str, Any], _at: str) -> Iterator[str]:
    return iter(())


_RICH_PARTS = ("rich_text_section", "rich_text_list", "rich_text_quote", "rich_text_preformatted")
_RICH = (*_RICH_PARTS, "text", "link", "emoji", "user", "channel", "date")
_CHECKS: dict[str, Callable[[dict[str, Any], str], Iterator[str]]] = {
    "section": _check_section,
    "header": _check_header,
    "context": _check_context,
    "actions": _check_actions,
    "image": _check_image,
    "rich_text": _check_rich_text,
    "divider": _check_divider,
    "markdown": _check_markdown,
    "table": _check_table,
}
