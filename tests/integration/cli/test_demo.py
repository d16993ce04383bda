"""The first command anybody runs."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import httpx

from tests.command_line import ROOT, run_digest

_PATIENCE = 60


def test_the_demo_goes_as_it_says(tmp_path: Path) -> None:
    done = run_digest(tmp_path, {}, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "follow 1 · gpu 4 · perf 6 = 11 matches, 9 papers" in done.stdout
    assert "mail 1 ✓   Slack 2 ✓   feed 1 ✓" in done.stdout
    assert "✓ checked again" in done.stdout
    assert "✓ one paper got a second version" in done.stdout
    assert "Pages" not in done.stdout
    assert {"digest.html", "digest.eml", "mail.html", "slack.json", "feed.atom"} <= {
        path.name for path in (tmp_path / "demo").iterdir()
    }


def test_on_a_terminal_the_demos_pages_stay_until_a_key_is_pressed(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if not pid:  # pragma: no cover - the other process
        os.chdir(tmp_path)
        os.environ["PYTHONPATH"] = str(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "digest", "demo"])  # noqa: S606 - ours
    said = _read_until(terminal, "ends the demo")
    found = re.search(r"http://127\.0\.0\.1:\d+/d/\S+", said)
    assert found, said
    assert "papers" in httpx.get(found[0]).text
    os.write(terminal, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    mail = (tmp_path / "demo" / "mail.html").read_text()
    assert found[0] in mail


def _read_until(terminal: int, words: str) -> str:
    said = ""
    end = time.monotonic() + _PATIENCE
    while words not in said and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            said += os.read(terminal, 65_536).decode(errors="replace")
    return said
