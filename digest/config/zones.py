"""The zone in which moments are shown to the operator, and its name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.model.cadences import CadenceKind

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from digest.config.settings import Config
    from digest.model.cadences import Cadence, QuietHours


def choose_zone(config: Config) -> tzinfo | None:
    """Return the zone a screen's times are shown in; None for the machine's own.

    One screen shows one zone: that of `defaults.when`, where it has none of `defaults.quiet_hours`, else the one
    zone all subscriptions share.
    """
    shared = {_find_zone(one.cadence, one.quiet_hours) for one in config.subscriptions} - {""}
    name = _find_zone(config.defaults.when, config.defaults.quiet_hours or None)
    if not name and len(shared) == 1:
        (name,) = shared
    return ZoneInfo(name) if name else None


def _find_zone(cadence: Cadence, quiet: QuietHours | None) -> str:
    """Return the zone that a schedule names, "" for none: an announcement is the same moment everywhere."""
    if cadence.kind is CadenceKind.CLOCK:
        return cadence.zone
    return quiet.zone if quiet is not None else ""


def name_zone(zone: tzinfo | None, now: datetime) -> str:
    """Name a zone by its place, such as `Berlin`; the machine's own by what it calls itself now."""
    if isinstance(zone, ZoneInfo):
        return zone.key.rpartition("/")[2].replace("_", " ")
    return now.astimezone(zone).tzname() or "local time"


def write_with_zone(moment: datetime, zone: tzinfo | None) -> str:
    """Write a moment as `Fri 20 Nov 09:05 Berlin`, for words that are read away from any screen."""
    return f"{moment.astimezone(zone):%a %-d %b %H:%M} {name_zone(zone, moment)}"
