"""The operator's own zone: what shows moments to whoever runs an installation shows them in it, and names it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.subscriptions import CadenceKind

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from digest.config.settings import Config


def choose_zone(config: Config) -> tzinfo | None:
    """Return the zone a screen's times are shown in; None for the machine's own.

    One screen shows one zone: that of `defaults.when`, else the one zone all subscriptions share.
    """
    cadences = (config.defaults.when, *(subscription.cadence for subscription in config.subscriptions))
    zones = [cadence.zone for cadence in cadences if cadence.kind is CadenceKind.CLOCK]
    if config.defaults.when.kind is not CadenceKind.CLOCK and len(set(zones)) != 1:
        return None
    return ZoneInfo(zones[0])


def name_zone(zone: tzinfo | None, now: datetime) -> str:
    """Name a zone by its place, such as `Berlin`; the machine's own by what it calls itself now."""
    if isinstance(zone, ZoneInfo):
        return zone.key.rpartition("/")[2].replace("_", " ")
    return now.astimezone(zone).tzname() or "local time"


def write_with_zone(moment: datetime, zone: tzinfo | None) -> str:
    """Write a moment as `Fri 20 Nov 09:05 Berlin`, for words that are read away from any screen."""
    return f"{moment.astimezone(zone):%a %-d %b %H:%M} {name_zone(zone, moment)}"
