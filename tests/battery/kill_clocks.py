"""Hosts whose clocks are wrong.

Each process lives under libfaketime, and is ahead or behind from its start on.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path

import click

from tests.battery.kill_world import PacedClock

_FOLDERS = ("usr/lib/*/faketime", "usr/lib*/faketime", "usr/local/lib*/faketime")


def find_library() -> Path:
    """Return where libfaketime is.

    Raises:
        ClickException: it is not installed; the message says what to install.
    """
    for folder in _FOLDERS:
        for library in sorted(Path("/").glob(f"{folder}/libfaketimeMT.so.1")):
            return library
    raise click.ClickException(
        "--skew needs libfaketime: apt-get install faketime (Debian and Ubuntu)"
    )


class HostClock:
    """One host's clock: simulated time, put wrong anew for each process that is started there.

    Args:
        clock: simulated time as it really is.
        file: what libfaketime reads again every second.
        skew: seconds it is ahead or behind, where it is.
        seed: of what is drawn.
    """

    def __init__(self, clock: PacedClock, file: Path, skew: float, seed: str) -> None:
        self._clock = clock
        self._file = file
        self._skew = skew
        self._draw = random.Random(seed)  # noqa: S311 - the same clocks for the same seed
        self._off = 0.0
        self._library = find_library()
        clock.followers.append(self.write)

    def start(self) -> dict[str, str]:
        """Put it wrong, or right, and return the environment of a process that lives by it."""
        self._off = self._draw.choice((-self._skew, 0.0, self._skew))
        self.write()
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def write(self) -> None:
        """Say how far it is from this machine's own."""
        ahead = (self._clock.now() - datetime.now(UTC)).total_seconds() + self._off
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{ahead:+.3f}", encoding="ascii")
        fresh.replace(self._file)
