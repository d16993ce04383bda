"""The real command line, as a process of its own or in this one."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from digest.cli import run_cli

ROOT = Path(__file__).parents[1]


def run_process(
    folder: Path, environ: Mapping[str, str], *arguments: str, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end as a process of its own.

    After `timeout` seconds it counts as hanging.
    """
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "digest", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environ},
        capture_output=True,
        text=True,
        encoding=environ.get("PYTHONIOENCODING"),
        timeout=timeout,
        check=False,
    )


def run_digest(
    folder: Path, environ: Mapping[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end in this process, which takes a tenth of the time."""
    out = io.StringIO()
    err = io.StringIO()
    with chdir(folder), patch.dict(os.environ, environ), redirect_stdout(out), redirect_stderr(err):
        code = run_cli(list(arguments))
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
