"""What Slack would refuse of a message, told to whoever writes its template: in the template's own terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from digest.errors import TemplateError
from digest.render.blocks import Compiled, list_texts
from digest.render.slack_limits import (
    MENTION,
    MOST_BLOCKS,
    MOST_TEXT_BYTES,
    SECTION_TEXT,
    frame_payload,
    validate_blocks,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 40
"""Characters of a text that a problem quotes."""

_USUAL_FALLBACK = "fallback: {{ digest.title }}, {{ digest.day }}: {{ digest.headline }}"
_FALLBACKS = {"slack/alarm.txt": "fallback: {{ headline }}"}
"""What the shipped templates have; `digest` is seen by all but the alarm's."""


def make_payload(name: str, compiled: Compiled) -> dict[str, Any]:
    """Return the message that a template became, as Slack takes it.

    Args:
        name: the template's, such as `slack/digest.txt`.
        compiled: what it became.

    Raises:
        TemplateError: Slack would refuse it; it says what is wrong in the template, and what to write.
    """
    payload = frame_payload(compiled.fallback, compiled.blocks)
    refusals = validate_blocks(payload)
    if not refusals:
        return payload
    problems = list(_find_problems(name, compiled))
    # Nothing else goes wrong with what a template compiles to; if it does, Slack's own terms are told.
    what = "; ".join(problem for problem, _ in problems) or f"Slack would refuse it: {'; '.join(refusals[:3])}"
    hints = list(dict.fromkeys(hint for _, hint in problems))
    hint = " ".join(hints) or "What Slack takes: https://docs.slack.dev/reference/block-kit/blocks"
    raise TemplateError(f"{name}: {what}", hint=hint)


def _find_problems(name: str, compiled: Compiled) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a message, and what to write instead."""
    if not compiled.fallback:
        yield (
            "the line `fallback: …` is missing, or empty: a notification shows that line alone",
            f"Write it anew at the top, such as `{_FALLBACKS.get(name, _USUAL_FALLBACK)}`.",
        )
    if not compiled.blocks:
        yield (
            "there is nothing to show, as no paragraph stands beside the line `fallback: …`",
            "Write one below the line `fallback: …`, which is there on a quiet day too behind a blank line.",
        )
    if len(compiled.blocks) > MOST_BLOCKS:
        yield (
            f"{len(compiled.blocks)} paragraphs, headings and dividers: a message takes {MOST_BLOCKS}",
            "Leave fewer blank lines: lines that follow one another are one paragraph.",
        )
    if compiled.text_bytes > MOST_TEXT_BYTES:
        yield (
            f"{compiled.text_bytes:,} bytes of text are too much: a message takes {MOST_TEXT_BYTES:,}",
            "Show less of each paper.",
        )
    for text in [compiled.fallback, *(text for block in compiled.blocks for text in list_texts(block))]:
        yield from _find_faults(text, is_fallback=text is compiled.fallback)


def _find_faults(text: str, *, is_fallback: bool) -> Iterator[tuple[str, str]]:
    if mention := MENTION.search(text):
        called = text[mention.start() : mention.start() + _SHOWN].partition("\n")[0]
        yield (
            f"“{called}” would call somebody: Slack reads <!, <@ and <# as mentions",
            "Leave it out; an address is written as {{ link(url, label) }}.",
        )
    if len(text) > SECTION_TEXT and not is_fallback:
        yield (
            f"a line of {len(text):,} characters is too long (“{text[:_SHOWN]}…”): Slack takes {SECTION_TEXT:,}",
            "Break it into several, or show less.",
        )
