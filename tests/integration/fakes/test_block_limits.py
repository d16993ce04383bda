"""Each limit of Block Kit that the fake Slack keeps, at its end and one beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.blocks import check_blocks

BUTTON = {"type": "button", "text": {"type": "plain_text", "text": "Open"}}


def actions(**button: object) -> dict[str, Any]:
    return {"type": "actions", "elements": [BUTTON | button]}


def options(kind: str, count: int, **option: object) -> dict[str, Any]:
    listed = [{"text": {"type": "plain_text", "text": "x"}, "value": "x"} | option] * count
    return {"type": "actions", "elements": [{"type": kind, "options": listed}]}


def words(length: int, kind: str = "plain_text") -> dict[str, Any]:
    return {"type": kind, "text": "x" * length}


def picture(**more: object) -> dict[str, Any]:
    return {"type": "image", "image_url": "https://made.example/a.png", "alt_text": "x"} | more


ROWS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "section text": (lambda n: {"type": "section", "text": words(n)}, 3_000),
    "section fields": (lambda n: {"type": "section", "fields": [words(1)] * n}, 10),
    "section field": (lambda n: {"type": "section", "fields": [words(n)]}, 2_000),
    "header": (lambda n: {"type": "header", "text": words(n)}, 150),
    "context elements": (lambda n: {"type": "context", "elements": [words(1)] * n}, 10),
    "context text": (lambda n: {"type": "context", "elements": [words(n)]}, 3_000),
    "actions elements": (lambda n: {"type": "actions", "elements": [BUTTON] * n}, 25),
    "button text": (lambda n: actions(text=words(n)), 75),
    "button value": (lambda n: actions(value="x" * n), 2_000),
    "button url": (lambda n: actions(url="x" * n), 3_000),
    "button label": (lambda n: actions(accessibility_label="x" * n), 75),
    "action id": (lambda n: actions(action_id="x" * n), 255),
    "confirm title": (lambda n: actions(confirm={"title": words(n)}), 100),
    "confirm text": (lambda n: actions(confirm={"text": words(n)}), 300),
    "confirm yes": (lambda n: actions(confirm={"confirm": words(n)}), 30),
    "confirm no": (lambda n: actions(confirm={"deny": words(n)}), 30),
    "overflow options": (lambda n: options("overflow", n), 5),
    "select options": (lambda n: options("static_select", n), 100),
    "option text": (lambda n: options("overflow", 1, text=words(n)), 75),
    "option value": (lambda n: options("overflow", 1, value="x" * n), 150),
    "option description": (lambda n: options("overflow", 1, description=words(n)), 75),
    "option url": (lambda n: options("overflow", 1, url="x" * n), 3_000),
    "image url": (lambda n: picture(image_url="x" * n), 3_000),
    "image words": (lambda n: picture(alt_text="x" * n), 2_000),
    "image title": (lambda n: picture(title=words(n)), 2_000),
    "block id": (lambda n: {"type": "divider", "block_id": "x" * n}, 255),
    "table rows": (lambda n: {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]] * n}, 100),
    "table columns": (lambda n: {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * n]}, 20),
    "markdown": (lambda n: {"type": "markdown", "text": "x" * n}, 12_000),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_limit_is_taken_to_its_end_and_not_beyond(row: str) -> None:
    make, most = ROWS[row]
    assert check_blocks([make(most)]) == []
    assert check_blocks([make(most + 1)]) != []


def test_a_message_holds_one_table_and_markdown_of_a_certain_length_together() -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "x"}]]}
    assert check_blocks([table, table]) != []
    assert check_blocks([{"type": "markdown", "text": "x" * 6_001}] * 2) != []
