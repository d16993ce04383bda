"""When a look that came to its end is not believed: arXiv answers from replicas and caches, too."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date, datetime

    from digest.papers import ArxivId

CONFIRMED_AFTER = timedelta(minutes=30)
"""An answer that nothing is there is believed when a second look at least so much later says it again."""


@dataclass(frozen=True, slots=True)
class Walked:
    """A look that came to its end.

    Attributes:
        window_from: the first UTC day asked for.
        papers: how many papers came.
        quarantined: how many entries came that nobody could read.
        highest: `ArxivId.announcement_order` of the newest paper, (0, 0) where none came.
        ended_at: when it ended (UTC).
        was_widened: nothing was found, and then nothing in a much longer span either.
    """

    window_from: date
    papers: int
    quarantined: int
    highest: tuple[int, int]
    ended_at: datetime
    was_widened: bool = False


def doubt_harvest(walked: Walked, newest: tuple[ArxivId, date | None] | None, last_empty: datetime | None) -> str:
    """Say why a harvest can't have shown everything; "" where nothing speaks against it.

    Args:
        walked: the harvest.
        newest: the newest paper that was stored before it, with its datestamp.
        last_empty: when the harvest before it ended (UTC), if that one found nothing either.
    """
    since = f"{walked.window_from:%a} {walked.window_from.day} {walked.window_from:%b}"
    if newest is not None and newest[1] is not None and newest[1] >= walked.window_from:
        id_, _ = newest
        if walked.highest < id_.announcement_order and not walked.quarantined:
            return f"arXiv showed an older state than before: {id_} is not among what was touched since {since}"
    if walked.papers or walked.quarantined or walked.was_widened:
        return ""
    if last_empty is not None and walked.ended_at - last_empty >= CONFIRMED_AFTER:
        return ""
    return f"arXiv says that nothing was touched since {since}; that is believed when a later look says it, too"


def doubt_search(walked: Walked, last_total: int | None, last_empty: datetime | None) -> str:
    """Say why a search that found nothing is not believed; "" where it is.

    Args:
        walked: the search.
        last_total: how many papers arXiv had for it at the last complete look; None before the first.
        last_empty: when the search before it ended (UTC), if that one found nothing either.
    """
    if walked.papers or walked.quarantined or not last_total:
        return ""
    if last_empty is not None and walked.ended_at - last_empty >= CONFIRMED_AFTER:
        return ""
    return f"arXiv found nothing where it had {last_total:,} papers; that is believed when a later look says it"
