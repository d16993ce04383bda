"""The first command anybody runs."""

from __future__ import annotations

from pathlib import Path

from tests.command_line import run_digest


def test_the_demo_goes_as_it_says(tmp_path: Path) -> None:
    done = run_digest(tmp_path, {}, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "follow 1 · gpu 4 · perf 6 = 9 papers" in done.stdout
    assert "mail 1 ✓   Slack 2 ✓   feed 1 ✓" in done.stdout
    assert "nothing new, nothing sent ✓" in done.stdout
    assert "only that one, as a replacement ✓" in done.stdout
    assert {"digest.html", "digest.eml", "slack.json", "feed.atom"} <= {
        path.name for path in (tmp_path / "demo").iterdir()
    }
