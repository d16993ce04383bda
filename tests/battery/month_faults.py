"""What goes wrong on one request in five: kinds of fault, each as often as it deserves, drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

SHARE = 0.2
"""The part of all requests that is spoiled."""

_SECONDS = 0.3
"""Real seconds of a silence or a delay: long enough to be one, short enough for thousands of requests."""


@dataclass(frozen=True)
class Mishap:
    """One kind of fault.

    Attributes:
        kind: as the stand-in calls it.
        weight: how often it comes, against the others.
        options: of the fault; a list stands for one of its values, drawn anew for each set.
        is_searched: it means something to the search API alone.
    """

    kind: str
    weight: float
    options: dict[str, Any] = field(default_factory=dict)
    is_searched: bool = False


MISHAPS = (
    Mishap("429", 1.0),
    Mishap("429", 1.0, {"retry_after": [30, 90, 600, 1800]}),
    Mishap("rate_200", 1.0),
    Mishap("503", 2.0),
    Mishap("406", 1.0),
    Mishap("403", 0.12),
    Mishap("500", 1.5),
    Mishap("reset", 1.5),
    Mishap("hang", 1.0, {"seconds": _SECONDS}),
    Mishap("truncate", 1.5, {"keep": [0.1, 0.5, 0.9]}),
    Mishap("drip", 1.0, {"seconds": _SECONDS}),
    Mishap("slow", 1.0, {"seconds": _SECONDS}),
    Mishap("empty_page", 1.0),
    Mishap("empty_zero", 1.0),
    Mishap("short_page", 1.5),
    Mishap("shift", 1.0, {"by": [1, -3]}, is_searched=True),
    Mishap("unsorted", 1.0),
    Mishap("malformed", 1.0),
    Mishap("bomb", 0.5),
    Mishap("xxe", 0.5),
    Mishap("html", 1.0),
    Mishap("content_type", 0.5),
    Mishap("gzip", 1.0),
    Mishap("stale", 2.0, {"hours": [24, 24, 6, 48]}),
)


def plan_faults(draw: random.Random, share: float = SHARE) -> list[dict[str, Any]]:
    """Return the faults of one stretch of time, for the stand-in's `/_control/faults`.

    A request takes the first fault that wins its draw, so each one's chance is what is left by those before.
    """
    return [
        fault
        for path in ("/oai", "/api/query")
        for fault in _plan_path(path, [m for m in MISHAPS if path != "/oai" or not m.is_searched], draw, share)
    ]


def _plan_path(path: str, mishaps: list[Mishap], draw: random.Random, share: float) -> list[dict[str, Any]]:
    total, left = sum(mishap.weight for mishap in mishaps), 1.0
    planned = []
    for mishap in mishaps:
        chance = share * mishap.weight / total
        options = {
            name: draw.choice(value) if isinstance(value, list) else value
            for name, value in mishap.options.items()
        }
        planned.append({"kind": mishap.kind, "path": path, "probability": chance / left, **options})
        left -= chance
    return planned
