"""The first command anybody runs."""

from __future__ import annotations

import os
from pathlib import Path

from tests.integration.cli.lively import run_process


def test_the_demo_goes_as_it_says(tmp_path: Path) -> None:
    done = run_process("demo", environ=dict(os.environ), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing new, nothing sent ✓" in done.stdout
    assert "only that one, as a replacement ✓" in done.stdout
    assert {"digest.html", "digest.eml", "slack.json", "feed.atom"} <= {
        path.name for path in (tmp_path / "demo").iterdir()
    }
