"""Words that several listings share: moments in the operator's own zone, counts, texts cut to fit."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

BARS = "▁▂▃▄▅▆▇█"


def write_moment(moment: datetime | None, zone: tzinfo | None) -> str:
    """Write a moment as `Fri 20 Nov 09:05`, "–" where there is none."""
    return f"{moment.astimezone(zone):%a %-d %b %H:%M}" if moment else "–"


def cut(text: str, width: int) -> str:
    """Fold a text's white space and cut it to so many letters, between words if it can be; … shows the cut."""
    folded = " ".join(text.split())
    if len(folded) <= width:
        return folded
    head = folded[: width - 1]
    whole = head if folded[width - 1] == " " else head.rpartition(" ")[0]
    return (whole if len(whole) > width * 2 // 3 else head).rstrip(" ,;:.") + "…"


def wrap(text: str, width: int) -> list[str]:
    """Fold a text into lines of so many letters, between words alone; one line at least."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def describe_guarantee(source: str) -> str:
    """Say what a source promises, and what it does not."""
    if source == "harvest":
        return "every paper arXiv announces, however late after submission; ids are checked for holes"
    return (
        "what arXiv's search shows of each saved query, 8 days back nightly, 35 weekly, 100 monthly; about"
        " 6 papers in 10,000 come later still, and arXiv's index must be complete"
    )


def draw_sparkline(counts: tuple[int, ...]) -> str:
    """Draw up to 30 days as five bars of six days each."""
    weeks = [sum(counts[start : start + 6]) for start in range(0, len(counts), 6)]
    highest = max(weeks, default=0) or 1
    return "".join(BARS[-(-week * (len(BARS) - 1) // highest)] for week in weeks)
