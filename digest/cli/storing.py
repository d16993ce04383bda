"""The store beside its configuration: for commands that look at an installation or edit it, and nothing else.

They work beside a running worker, and never make a database: that is for `run`, `serve` and `migrate`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from digest.cli.opening import choose_clock, load, set_up_logging
from digest.config.zones import choose_zone, write_with_zone
from digest.store import open_store
from digest.subscriptions import DestinationKind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime, tzinfo

    import click

    from digest.clock import Clock
    from digest.config import Config
    from digest.store import Store
    from digest.subscriptions import Destination


@dataclass(frozen=True, slots=True)
class Installation:
    """What such a command works with.

    Attributes:
        config: what the operator configured.
        store: the database, which is there and of this release.
        clock: the time.
        now: the moment the command was called (UTC).
        zone: the zone times are shown in; None for the machine's own.
    """

    config: Config
    store: Store
    clock: Clock
    now: datetime
    zone: tzinfo | None

    def show(self, destination: Destination) -> str:
        """Return a destination as the operator wrote it: paths count from the configuration's folder."""
        path = Path(destination.address)
        if destination.kind is DestinationKind.FILE and path.is_relative_to(self.config.folder):
            return f"file:{path.relative_to(self.config.folder)}"
        return str(destination)

    def write_until(self, moment: datetime | None) -> str:
        """Write the end of a pause as ` until Mon 30 Nov`, or ` until Mon 30 Nov 06:00 Berlin`; "" for none.

        Midnight says neither time nor zone: a day was meant.
        """
        if moment is None:
            return ""
        local = moment.astimezone(self.zone)
        is_midnight = (local.hour, local.minute) == (0, 0)
        return f" until {local:%a %-d %b}" if is_midnight else f" until {write_with_zone(moment, self.zone)}"


@contextmanager
def opened_store(ctx: click.Context, *, warns: bool = False) -> Iterator[Installation]:
    """Open the database of the installation the call means, and close it afterwards.

    Args:
        ctx: the call.
        warns: see `load`.

    Raises:
        ConfigurationError: the configuration can't be used.
        StoreError: there is no database yet, or it can't be used as it is.
    """
    config = load(ctx, warns=warns)
    set_up_logging(ctx)
    store = open_store(config.store.url, is_reading=True)
    try:
        clock = choose_clock(config)
        yield Installation(config, store, clock, clock.now(), choose_zone(config))
    finally:
        store.close()
