"""What decides reads codes: no words of an error, a report or a stored refusal."""

from __future__ import annotations

import ast
from pathlib import Path

HOUSE = Path(__file__).parents[2] / "digest"

WORDS = {"message", "hint", "what", "reason", "remedy", "detail", "last_error", "failure"}
"""Attributes that hold words for people, or what has them."""

READS = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition"),
    *("split", "splitlines", "find", "index", "count"),
}

CUT = {
    "serve/schedule.py: error.message.split('\\n')",
}
"""A text is cut for one line of a log."""

OF_OTHERS = {"store/engine.py: str(error.orig).split()"}
"""Words that others say, and that have no code."""


def is_worded(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "str":
        return any(name in ast.unparse(node) for name in ("error", "failure", "exc"))
    return isinstance(node, ast.Attribute) and node.attr in WORDS


def reads_words(node: ast.AST) -> bool:
    """Whether an expression takes words apart, or compares them."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in READS:
            return is_worded(node.func.value)
        is_pattern = node.func.attr in ("match", "search", "fullmatch")
        return is_pattern and any(map(is_worded, node.args))
    if isinstance(node, ast.Compare):
        sides = (node.left, *node.comparators)
        has_text = any(isinstance(one, ast.Constant | ast.JoinedStr) for one in sides)
        is_identity = any(isinstance(one, ast.Is | ast.IsNot) for one in node.ops)
        return has_text and not is_identity and any(map(is_worded, sides))
    return False


def test_nothing_is_decided_by_words() -> None:
    found = set()
    for path in HOUSE.rglob("*.py"):
        where = path.relative_to(HOUSE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if reads_words(node):
                found.add(f"{where}: {ast.unparse(node)}")
    assert found == CUT | OF_OTHERS
