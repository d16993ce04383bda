"""The command line called as people call it, in the folder of an installation."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from digest.cli import run_cli
from tests.integration.cli.fortnight import NOW, World, live_through, surrounded


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was printed
        return json.loads(self.out)


class Shell:
    """Calls commands in-process, and keeps what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, expect: int = 0) -> Said:
        self._capsys.readouterr()
        code = run_cli(list(arguments))
        captured = self._capsys.readouterr()
        said = Said(code, captured.out, captured.err)
        assert code == expect, said
        return said


@pytest.fixture(autouse=True)
def _a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fold no sentence: what a narrow terminal makes of it stands in golden files."""
    monkeypatch.setenv("COLUMNS", "1000")


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers = list(root.handlers)
    level = root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def digest(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture(scope="session")
def _fortnight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Live through the fortnight; return where, and a copy of what it left."""
    folder = tmp_path_factory.mktemp("fortnight")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.lower().endswith("_proxy"):
                patch.delenv(name)
        live_through(folder)
    return folder, Path(shutil.copytree(folder, tmp_path_factory.mktemp("pristine") / "copy"))


@pytest.fixture
def world(_fortnight: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """Give the installation as the fortnight left it, as the folder one works in.

    What is outside of it is made anew.
    """
    folder, pristine = _fortnight
    shutil.rmtree(folder)
    shutil.copytree(pristine, folder)
    with surrounded(folder, NOW) as world:
        monkeypatch.chdir(folder)
        for name, text in world.environ.items():
            monkeypatch.setenv(name, text)
        yield world


@pytest.fixture
def empty(world: World) -> World:
    """Give the same configuration without a database: nothing was ever run."""
    for name in ("digest.db", "digest.db.lock"):
        (world.folder / name).unlink(missing_ok=True)
    return world


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder to work in, without any configuration."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
