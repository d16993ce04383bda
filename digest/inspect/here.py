"""Where and when an answer is read: the zone of its times, the day, and the folder of its paths."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from digest.model.clock import name_zone, write_day, write_moment, write_with_zone
from digest.model.destinations import Destination

_NEAR_DAYS = {-1: "yesterday", 0: "today", 1: "tomorrow"}


@dataclass(frozen=True, slots=True)
class Here:
    """When and where an answer is read.

    `zone` is None for the zone of the machine. `folder` holds the configuration.
    """

    now: datetime
    zone: tzinfo | None
    folder: Path

    @property
    def zone_name(self) -> str:
        """The zone as a heading says it."""
        return name_zone(self.zone, self.now)

    def show(self, destination: Destination) -> str:
        """Return a destination as the operator writes it, a path from the folder on."""
        if destination.traits.is_path:
            path = destination.address.removeprefix(f"{self.folder}/")
            return f"{destination.kind}:{path}"
        return str(destination)

    def write(self, moment: datetime | None) -> str:
        """Write a moment as `Fri 20 Nov 09:05`, "–" for none."""
        if moment is None:
            return "–"
        return write_moment(moment, self.zone, self.now)

    def write_day(self, moment: datetime) -> str:
        """Write the day of a moment as `Fri 20 Nov`."""
        day = moment.astimezone(self.zone).date()
        return write_day(day, self.now)

    def write_near(self, moment: datetime) -> str:
        """Write a moment within six days as `today 09:05` or `Tue 09:05`.

        One that is longer ago is its day alone, and a later one is written with its date.
        """
        local = moment.astimezone(self.zone)
        today = self.now.astimezone(self.zone).date()
        days = (local.date() - today).days
        is_within_six_days = abs(days) <= 6  # noqa: PLR2004 - so that a weekday names one day
        if is_within_six_days:
            weekday = f"{local:%a}"
            return f"{_NEAR_DAYS.get(days, weekday)} {local:%H:%M}"
        if days < 0:
            return self.write_day(moment)
        return self.write(moment)

    def write_until(self, moment: datetime | None) -> str:
        """Write the end of a pause: ` until Mon 30 Nov`, or ` until Mon 30 Nov 06:00 Berlin`.

        It begins with a blank, and is "" if the pause has no end. At midnight only the day is
        written: a day was meant.
        """
        if moment is None:
            return ""
        local = moment.astimezone(self.zone)
        is_midnight = (local.hour, local.minute) == (0, 0)
        if is_midnight:
            return f" until {self.write_day(moment)}"
        return f" until {write_with_zone(moment, self.zone, self.now)}"
