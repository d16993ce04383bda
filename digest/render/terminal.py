"""A digest for a terminal: the same lines for the same width, with colour or with [brackets].

The template writes logical lines. A tab separates what stands left from what is set to the right
edge; where both do not fit, the right part gets a line of its own. Long lines are broken under their
own beginning, as wide as a terminal shows them (CJK letters take two columns).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from digest.render.contexts import TerminalContext, WeeklyTerminalContext
from digest.render.digest_view import group_papers, view_digest, view_papers
from digest.render.terminal_styles import END, STARTS, apply_styles, strip_styles
from digest.render.weekly import as_fields, choose_template, view_week

if TYPE_CHECKING:
    from digest.messages import Digest
    from digest.render.environments import Templates

NARROWEST = 40
_GAP = 2
_INDENT = re.compile(rf"[{END}{''.join(STARTS.values())}]*(?: *\d+  | +|)")
_OPEN_STYLE = re.compile(f"[{''.join(STARTS.values())}]")


def write_terminal(templates: Templates, digest: Digest, *, width: int, color: bool, limit: int | None) -> str:
    """Write a digest for a terminal of `width` columns.

    Args:
        templates: where `terminal/digest.txt` is.
        digest: what is shown; its cap does not count here.
        width: columns, at least 40.
        color: whether to use ANSI sequences.
        limit: how many papers of each kind are listed, None for all.

    Raises:
        TemplateError: the template cannot be rendered.
    """
    papers = view_papers(digest)
    groups = group_papers(digest, papers)
    shown = tuple(replace(group, papers=group.papers[:limit]) for group in groups)
    context = TerminalContext(view_digest(digest), shown)
    if digest.is_round_up:
        context = WeeklyTerminalContext(**as_fields(context), week=view_week(digest, papers))
    rendered = templates.render(choose_template("terminal/digest.txt", digest), context)
    lines = [part for line in rendered.rstrip("\n").split("\n") for part in lay_out(line, max(width, NARROWEST))]
    return "".join(f"{apply_styles(line, color=color)}\n" for line in lines)


def lay_out(line: str, width: int) -> list[str]:
    """Lay one logical line out within `width` columns."""
    left, tab, right = line.partition("\t")
    left, right = left.rstrip(" "), right.strip(" ")
    if not (tab and right):
        return _break(left, width)
    lines = _break(left, width)
    room = width - measure(lines[-1]) - _GAP
    if measure(right) <= room:
        lines[-1] += " " * (width - measure(lines[-1]) - measure(right)) + right
        return lines
    indent = " " * measure(_beginning(left))
    return lines + _break(indent + right, width)


def measure(text: str) -> int:
    """Return how many columns a text takes."""
    from rich.cells import cell_len  # noqa: PLC0415 - only those who print to a terminal pay for it

    return cell_len(strip_styles(apply_styles(text, color=False)))


def _beginning(line: str) -> str:
    match = _INDENT.match(line)
    return match[0] if match else ""


def _break(line: str, width: int) -> list[str]:
    if measure(line) <= width:
        return [line]
    indent = " " * min(measure(_beginning(line)), width // 2)
    lines = [""]
    for word in _split_words(line, width - len(indent)):
        joined = f"{lines[-1]} {word}" if lines[-1] not in ("", indent) else lines[-1] + word
        if lines[-1].strip() and measure(joined) > width:
            lines.append(indent + word)
        else:
            lines[-1] = joined
    return _carry_styles(lines, indent)


def _split_words(line: str, width: int) -> list[str]:
    beginning = _beginning(line)
    words: list[str] = []
    for word in line[len(beginning) :].split(" "):
        words += _split_wide(word, width)
    words[0] = beginning + words[0]
    return words


def _split_wide(word: str, width: int) -> list[str]:
    """Cut a word wider than a line, such as a title in Chinese, wherever the line is full."""
    if measure(word) <= width:
        return [word]
    parts, used = [""], 0
    for letter in word:
        size = measure(letter) if letter >= " " else 0
        if used + size > width:
            parts.append("")
            used = 0
        parts[-1] += letter
        used += size
    return parts


def _carry_styles(lines: list[str], indent: str) -> list[str]:
    """End an open style at each line's end and open it again behind the next line's indent."""
    carried: list[str] = []
    style = ""
    for number, line in enumerate(lines):
        text = f"{indent}{style}{line[len(indent) :]}" if style and number else line
        style = ""
        for letter in text:
            if _OPEN_STYLE.match(letter):
                style = letter
            elif letter == END:
                style = ""
        carried.append(text + (END if style else ""))
    return carried
