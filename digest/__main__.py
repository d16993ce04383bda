"""`python -m digest` and the command `digest`."""

from __future__ import annotations

import gc
import io
import sys

_THRESHOLD = 20_000
"""New objects between two looks for garbage, of which Python's 700 would take a tenth of a command's start."""


def main() -> None:
    """Run the command line and exit with its code."""
    from digest.cli import run_cli  # noqa: PLC0415 - keeps `import digest.__main__` free of click

    gc.set_threshold(_THRESHOLD)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where a program has neither
            stream.reconfigure(errors="replace")  # a `?` for what an old terminal's encoding lacks
    raise SystemExit(run_cli())


if __name__ == "__main__":
    main()
