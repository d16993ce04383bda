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
    environ = {**os.environ, "UV_PYTHON_DOWNLOADS": "never"}
    for name in kept:
        environ[name] = str(folder / name)
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
    made = run(folder, sys.executable, "-m", "venv", "venv")
    assert made.returncode == 0
    pip = ("venv/bin/python", "-m", "pip", "install", "--quiet", "--retries=1")
    done = run(folder, *pip, "pipx", "uv")
    if done.returncode:
        *_, last_line = done.stderr.strip().splitlines()
        pytest.skip(f"pipx and uv can't be installed here: {last_line}")
    return folder / "venv" / "bin"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("words", "programs"),
    [(("pipx", "install"), "PIPX_BIN_DIR"), (("uv", "tool", "install"), "UV_TOOL_BIN_DIR")],
)
def test_what_it_installs_runs_the_demo(
    tools: Path, tmp_path: Path, words: tuple[str, ...], programs: str
) -> None:
    tool, *arguments = words
    done = run(tmp_path, tools / tool, *arguments, os.environ["DIGEST_WHEEL"])
    assert done.returncode == 0, done.stderr
    program = tmp_path / programs / "digest"
    done = run(tmp_path, program, "--version")
    assert __version__ in done.stdout
    done = run(tmp_path, program, "demo")
    assert done.returncode == 0, done.stderr
    written = {file.name for file in (tmp_path / "demo").iterdir()}
    assert {"digest.html", "digest.eml", "slack.json", "feed.atom"} <= written
