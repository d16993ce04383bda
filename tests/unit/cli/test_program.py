"""What is said to type next can be copied as it stands."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from digest.cli import run_cli, show_error
from digest.cli.commands import name_command
from digest.model.errors import ConfigurationError


@pytest.mark.parametrize(
    ("called", "found", "name"),
    [
        (".venv/bin/digest", None, ".venv/bin/digest"),
        ("/elsewhere/bin/digest", None, "/elsewhere/bin/digest"),
        (".venv/bin/digest", "/usr/bin/digest", "digest"),
        ("digest/__main__.py", None, "digest"),
        (".venv/bin/preprint-digest", "/usr/bin/preprint-digest", "preprint-digest"),
        (
            "/cache/uv/archive-v0/X1/bin/preprint-digest",
            "/cache/bin/preprint-digest",
            "uvx preprint-digest",
        ),
    ],
)
def test_the_command_goes_by_its_path_where_the_shell_would_not_find_it(
    monkeypatch: pytest.MonkeyPatch, called: str, found: str | None, name: str
) -> None:
    monkeypatch.setattr(sys, "argv", [str(Path.cwd() / called)])
    monkeypatch.setattr(shutil, "which", lambda _name: found)
    assert name_command() == name


def test_hints_quote_commands_as_they_are_called_here(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(Path.cwd() / ".venv/bin/digest")])
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    show_error(
        ConfigurationError(
            "no digest.toml", hint="Write one with `digest init`, see `digest try --help`."
        )
    )
    hint = capsys.readouterr().err.splitlines()[1]
    assert (
        hint == "hint:  Write one with `.venv/bin/digest init`, see `.venv/bin/digest try --help`."
    )


def test_help_names_the_command_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/preprint-digest"])
    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/preprint-digest")
    for command in ("missed", "explain"):
        run_cli([command, "--help"])
        said = capsys.readouterr().out
        assert said.startswith(f"Usage: preprint-digest {command} ")
        assert f"  preprint-digest {command}" in said
        assert "  digest" not in said
