"""The real command line, as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_digest(
    folder: Path, environ: Mapping[str, str], *arguments: str, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end.

    Args:
        folder: where it is run.
        environ: what it finds in its environment besides ours.
        arguments: the command, such as `run`, `--json`.
        timeout: seconds after which it counts as hanging.
    """
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "digest", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
