"""What a pass costs that finds nothing to do, in an installation as one person has it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from digest.model.clock import ManualClock
from tests.acceptance.made import made_up
from tests.fakes.arxiv import DemoArxiv
from tests.fakes.config_file import write_config
from tests.fakes.mail import MailSink

QUERIES: Final = 20
_HERE = Path(__file__).parents[2]
_PAPERS = 40
_ROUNDS = 5
_SETTLING = 6
"""Runs until every saved query has had its first look: each run gives a few."""

_MEGABYTE = 1024  # of ru_maxrss, which Linux gives in KiB
_NOW = datetime(2026, 11, 20, 3, 47, tzinfo=UTC)
_SUBMITTED = datetime(2026, 11, 19, 9, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds of processor time, and megabytes at its peak."""

    seconds: float
    megabytes: float


def measure_idle_run(*, asks: bool) -> Cost:
    """Return what `digest run` takes at least, where nothing is new.

    Args:
        asks: whether it asks arXiv all the same; else the last look is fresh.
    """
    with tempfile.TemporaryDirectory(prefix="digest-bench-") as folder, ExitStack() as stack:
        clock = ManualClock(_NOW)
        papers = [made_up(number, _SUBMITTED, id=f"2611.{number:05d}") for number in range(1, _PAPERS + 1)]
        arxiv = stack.enter_context(DemoArxiv(papers, clock))
        mail = stack.enter_context(MailSink())
        _write_config(Path(folder), arxiv, mail)
        environment = {**os.environ, "DIGEST_TEST_CLOCK": arxiv.clock_url, "PYTHONPATH": str(_HERE)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
        for _ in range(_SETTLING):
            _run(folder, environment)
        costs = [_run(folder, environment, *(["--now"] if asks else [])) for _ in range(_ROUNDS)]
    return Cost(min(cost.seconds for cost in costs), min(cost.megabytes for cost in costs))


def _run(folder: str, environment: dict[str, str], *options: str) -> Cost:
    command = [sys.executable, "-m", "digest", "run", *options]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"digest run ended with {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _MEGABYTE)


def _write_config(folder: Path, arxiv: DemoArxiv, mail: MailSink) -> None:
    queries = {f"query-{number}": f"cat:cs.PF AND ti:{number}" for number in range(1, QUERIES + 1)}
    text = write_config(
        arxiv.url,
        queries,
        [{"name": "me", "follow": list(queries), "to": "mailto:reader@example.org"}],
        mail={"smtp": mail.url},
        defaults={"when": "daily at 02:00 UTC"},
    )
    (folder / "digest.toml").write_text(text, encoding="utf-8")
