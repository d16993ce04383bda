"""The wheel installs by pipx and by uv, and works from there, away from the tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from digest import __version__


def run(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command whose tools keep all in a folder."""
    kept = (
        "PIPX_HOME",
        "PIPX_BIN_DIR",
        "PIPX_MAN_DIR",
        "UV_TOOL_DIR",
        "UV_TOOL_BIN_DIR",
        "UV_CACHE_DIR",
    )
    environ = {
        **os.environ,
        **{name: str(folder / name) for name in kept},
        "UV_PYTHON_DOWNLOADS": "never",
    }
    environ.pop("PYTHONPATH", None)
    return subprocess.run(  # noqa: S603 - ours
        words, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install pipx and uv into a folder of their own, and return where their programs are."""
    if not os.environ.get("DIGEST_WHEEL"):
        pytest.skip("DIGEST_WHEEL names no wheel: .ci/packaging builds one")
    folder = tmp_path_factory.mktemp("tools")
    assert run(folder, sys.executable, "-m", "venv", "venv").returncode == 0
    done = run(
        folder, "venv/bin/python", "-m", "pip", "install", "--quiet", "--retries=1", "pipx", "uv"
    )
    if done.returncode:
        pytest.skip(f"pipx and uv can't be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder / "venv" / "bin"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("words", "programs"),
    [(("pipx", "install"), "PIPX_BIN_DIR"), (("uv", "tool", "install"), "UV_TOOL_BIN_DIR")],
)
def test_what_it_installs_runs_the_demo(
    tools: Path, tmp_path: Path, words: tuple[str, ...], programs: str
) -> None:
    done = run(tmp_path, tools / words[0], *words[1:], os.environ["DIGEST_WHEEL"])
    assert done.returncode == 0, done.stderr
    assert __version__ in run(tmp_path, tmp_path / programs / "digest", "--version").stdout
    done = run(tmp_path, tmp_path / programs / "digest", "demo")
    assert done.returncode == 0, done.stderr
    assert {"digest.html", "digest.eml", "slack.json", "feed.atom"} <= {
        one.name for one in (tmp_path / "demo").iterdir()
    }
