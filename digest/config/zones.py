"""Zones as configured: that of the operator's screens and its name, and those that were hardly meant."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from digest.subscriptions import CadenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    from digest.cadences import Cadence, QuietHours
    from digest.config.settings import Config


_PLACES_OF_ABBREVIATIONS = {
    "EST": "America/New_York",
    "EST5EDT": "America/New_York",
    "CST6CDT": "America/Chicago",
    "MST": "America/Denver",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
}
_WITHOUT_SUMMER = ("EST", "MST")
"""Zones by a name that people use for places whose clocks are put forward in summer, which theirs are not."""


def remark_on_zones(config: Config) -> Iterator[str]:
    """Yield what looks like a slip in the zones of `when` and `quiet_hours`: none, told once for all, or EST."""
    keys = ["defaults", *(f"subscriptions.{subscription.name}" for subscription in config.subscriptions)]
    cadences = [config.defaults.when, *(subscription.cadence for subscription in config.subscriptions)]
    hours = [config.defaults.quiet_hours, *(subscription.quiet_hours for subscription in config.subscriptions)]
    places = [_find_place(config, f"{key}.when") for key in keys]
    without = {place: one for place, one in zip(places, cadences, strict=True) if not one.names_zone}
    if without:
        first = next(iter(without.values()))
        elsewhere = str(replace(first, zone="Europe/Berlin"))
        yield (
            f"{', '.join(without)}: when names no time zone, so it is read as UTC; "
            f'write "{first}" if that is meant, else a place: "{elsewhere}"'
        )
    zones = {place: one.zone for place, one in zip(places, cadences, strict=True)}
    zones |= {
        _find_place(config, f"{key}.quiet_hours"): one.zone for key, one in zip(keys, hours, strict=True) if one
    }
    for place, zone in zones.items():
        if zone in _PLACES_OF_ABBREVIATIONS:
            wrong = ", and an hour off while clocks are put forward" if zone in _WITHOUT_SUMMER else ""
            yield f"{place}: {zone} is no place{wrong}; write {_PLACES_OF_ABBREVIATIONS[zone]}, for one"


def _find_place(config: Config, key: str) -> str:
    """Return where a key's value was written, for what is inherited where the default was."""
    origin = config.origins.get(key, "")
    return config.origins.get(origin, origin)


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
    """Return the zone that a schedule names, "" for none: a mailing is followed wherever anybody is."""
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
