"""Where and when an answer is read: the zone of its times, the day, and the folder of its paths."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from digest.model.clock import name_zone, write_day, write_moment, write_with_zone
from digest.model.destinations import Destination, Medium

_NEAR_DAYS = {-1: "yesterday", 0: "today", 1: "tomorrow"}


@dataclass(frozen=True, slots=True)
class Here:
    """When and where an answer is read.

    The zone is None for the machine's own; the folder is the configuration's.
    """

    now: datetime
    zone: tzinfo | None
    folder: Path

    @property
    def zone_name(self) -> str:
        """The zone as a heading says it."""
        return name_zone(self.zone, self.now)

    def show(self, destination: Destination) -> str:
        """Return a destination as the operator wrote it."""
        is_path = destination.traits.medium is Medium.PAGE
        if is_path:
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
        """Write a moment as `today 09:05` or `Tue 09:05`, and one of another week with its date."""
        local = moment.astimezone(self.zone)
        today = self.now.astimezone(self.zone).date()
        days = (local.date() - today).days
        is_this_week = -7 < days < 7  # noqa: PLR2004 - a week
        if is_this_week:
            weekday = f"{local:%a}"
            return f"{_NEAR_DAYS.get(days, weekday)} {local:%H:%M}"
        if days < 0:
            return self.write_day(moment)
        return self.write(moment)

    def write_until(self, moment: datetime | None) -> str:
        """Write the end of a pause: ` until Mon 30 Nov`, or ` until Mon 30 Nov 06:00 Berlin`.

        It is "" for none. Midnight says neither time nor zone: a day was meant.
        """
        if moment is None:
            return ""
        local = moment.astimezone(self.zone)
        is_midnight = (local.hour, local.minute) == (0, 0)
        if is_midnight:
            return f" until {self.write_day(moment)}"
        return f" until {write_with_zone(moment, self.zone, self.now)}"
