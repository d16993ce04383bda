"""Where and when an answer is read: the zone of its times, the day it is, the folder its paths count from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from digest.model.clock import name_zone, write_day, write_moment, write_with_zone
from digest.model.destinations import Destination, DestinationKind


@dataclass(frozen=True, slots=True)
class Here:
    """When and where an answer is read: in a zone, None for the machine's own, in the configuration's folder."""

    now: datetime
    zone: tzinfo | None
    folder: Path

    @property
    def zone_name(self) -> str:
        """The zone as a heading says it."""
        return name_zone(self.zone, self.now)

    def show(self, destination: Destination) -> str:
        """Return a destination as the operator wrote it."""
        if destination.kind is DestinationKind.FILE:
            return f"file:{destination.address.removeprefix(f'{self.folder}/')}"
        return str(destination)

    def write(self, moment: datetime | None) -> str:
        """Write a moment as `Fri 20 Nov 09:05`, "–" for none."""
        return write_moment(moment, self.zone, self.now) if moment else "–"

    def write_day(self, moment: datetime) -> str:
        """Write the day of a moment as `Fri 20 Nov`."""
        return write_day(moment.astimezone(self.zone).date(), self.now)

    def write_near(self, moment: datetime) -> str:
        """Write a moment as `today 09:05` or `Tue 09:05`, and one of another week with its date."""
        local, today = moment.astimezone(self.zone), self.now.astimezone(self.zone).date()
        days = (local.date() - today).days
        if not -7 < days < 7:  # noqa: PLR2004 - a week
            return self.write_day(moment) if days < 0 else self.write(moment)
        names = {-1: "yesterday", 0: "today", 1: "tomorrow"}
        return f"{names.get(days, f'{local:%a}')} {local:%H:%M}"

    def write_until(self, moment: datetime | None) -> str:
        """Write the end of a pause as ` until Mon 30 Nov`, or ` until Mon 30 Nov 06:00 Berlin`; "" for none.

        Midnight says neither time nor zone: a day was meant.
        """
        if moment is None:
            return ""
        local = moment.astimezone(self.zone)
        is_midnight = (local.hour, local.minute) == (0, 0)
        return f" until {self.write_day(moment) if is_midnight else write_with_zone(moment, self.zone, self.now)}"
