"""Figures by which the health of a running process is judged."""

from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

STALE_POLL = timedelta(days=2)
"""Looks complete daily, also on days without a mailing: two days without one need an operator."""

LONGEST_TURNS: Mapping[str, float] = MappingProxyType(
    {
        "poll": 4 * 3600.0,  # a very first look goes through weeks of papers, at arXiv's pace
        "plan": 1800.0,
        "deliver-mail": 1800.0,  # ten minutes beside mails that hang, ten more over the last one's final dot
        "deliver-posts": 1200.0,
        "heartbeat": 120.0,
        "reload": 1800.0,
    }
)
"""Seconds after which a turn counts as stuck, by job."""

_LONGEST_OTHER = 3600.0


def is_stuck(job: str, seconds: float) -> bool:
    """Tell whether a job has been at the same turn for too long."""
    return seconds > LONGEST_TURNS.get(job, _LONGEST_OTHER)
