"""Messages that wait for the end of quiet hours, in words: until when, and what sends them before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from digest.config.zones import write_with_zone
from digest.counting import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, tzinfo

    from digest.cli.storing import Installation
    from digest.messages import Delivery
    from digest.store.overview import Waits

_SENDS = "digest delivery retry --in-quiet-hours"
_MOST_NAMED = 20


def describe_put_off(here: Installation, delivery: Delivery) -> str:
    """Say until when a delivery waits, and what sends it before; "" for one that waits for no quiet hours."""
    if not delivery.is_put_off(here.now):
        return ""
    end = _describe_end(1, delivery.not_before, is_first=False, zone=here.zone)
    return f"for {end}; to send it before: {_SENDS} {delivery.id}"


def describe_waits(waits: Waits, zone: tzinfo | None) -> str:
    """Say how many messages wait and until when; "" for none."""
    if waits.first_at is None:
        return ""
    end = _describe_end(waits.number, waits.first_at, is_first=waits.number > 1, zone=zone)
    return f"{count(waits.number, 'message')} waiting for {end}"


def describe_when(here: Installation, ends: Mapping[int, datetime], ids: Sequence[int]) -> str:
    """Say when some deliveries go that quiet hours keep, given when these end by delivery; "" where none do."""
    moments = sorted({ends[id_] for id_ in ids if id_ in ends})
    if not moments:
        return ""
    return f"after {_describe_end(len(ids), moments[0], is_first=len(moments) > 1, zone=here.zone)}"


def advise(ids: Sequence[int]) -> str:
    """Say what sends before their end what waits for quiet hours."""
    named = " ".join(map(str, ids)) if len(ids) <= _MOST_NAMED else "ID…"
    return f"To send before that what waits for quiet hours: {_SENDS} {named}"


def _describe_end(number: int, moment: datetime, *, is_first: bool, zone: tzinfo | None) -> str:
    whose = "its reader's" if number == 1 else "their readers'"
    return f"the end of {whose} quiet hours, {'the first ' if is_first else ''}{write_with_zone(moment, zone)}"
