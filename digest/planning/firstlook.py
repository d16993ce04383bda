"""The first look of a new saved query: enough to see that it works, never a flood."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from digest.comparing import StoredChange

FIRST_LOOK_PAPERS = 15
"""Shown where the days looked back hold fewer."""


def choose_first_look(candidates: Iterable[StoredChange], days: int, now: datetime) -> tuple[StoredChange, ...]:
    """Return the papers a new saved query shows once: the last `days` days, or the newest 15 if those hold fewer.

    Args:
        candidates: the newest change of each paper that matches, in any order.
        days: how far to look back; 0 for no first look.
        now: the moment of looking (UTC).

    A paper counts by the submission of its present version: the stored history tells no announcement
    dates from before Digest first looked.
    """
    if days <= 0:
        return ()
    newest = sorted(candidates, key=lambda change: (change.paper.updated, change.paper.id), reverse=True)
    recent = [change for change in newest if change.paper.updated >= now - timedelta(days=days)]
    return tuple(recent if len(recent) >= FIRST_LOOK_PAPERS else newest[:FIRST_LOOK_PAPERS])
