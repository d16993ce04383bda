"""What strangers call their things.

No control character of theirs reaches the terminal of the operator.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from digest.cli import cli
from tests.command_line import ROOT, run_digest
from tests.fakes.loopback import Answer
from tests.fakes.zotero import FakeLibrary, Zotero
from tests.unit.cli.test_output import HOSTILE, STYLED

EVIL = "".join(HOSTILE)
PATIENCE = 60


def list_unwanted(text: str) -> list[str]:
    """Return what a terminal would obey, our own styles left aside."""
    return [
        sign
        for sign in STYLED.sub("", text)
        if unicodedata.category(sign) in ("Cc", "Cf") and sign != "\n"
    ]


@pytest.fixture
def zotero() -> Iterator[Zotero]:
    library = FakeLibrary(is_public=True)
    library.collections = [{"key": "E", "name": f"Evil {EVIL} name", "parentCollection": False}]
    for number in range(4):
        library.add(f"Paper {number} {EVIL}", "E", abstractNote=f"GPUs and queues {number} {EVIL}")
    with Zotero(users_1=library) as server:
        yield server


@pytest.fixture
def environ(zotero: Zotero, tmp_path: Path) -> dict[str, str]:
    return {
        "DIGEST_ZOTERO_URL": zotero.url,
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PYTHONPATH": str(ROOT),
    }


def show_on_terminal(folder: Path, environ: dict[str, str], *arguments: str) -> str:
    """Run a command on a terminal that shows colours; return each byte that reached it, as text."""
    terminal, other_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", **environ}
    command = [sys.executable, "-m", "digest", *arguments]
    process = subprocess.Popen(  # noqa: S603 - our own command
        command, cwd=folder, env=environment, stdout=other_end, stderr=other_end, stdin=other_end
    )
    os.close(other_end)
    raw = b""
    try:
        while more := os.read(terminal, 65_536):
            raw += more
    except OSError:  # as Linux says that nobody is left at the other end
        pass
    process.wait(PATIENCE)
    os.close(terminal)
    return raw.decode(errors="replace").replace("\r\n", "\n")


def test_names_of_collections_and_papers_do_not_move_the_cursor(
    environ: dict[str, str], tmp_path: Path
) -> None:
    shown = show_on_terminal(tmp_path, environ, "library", "show", "zotero:1")
    assert "Evil" in shown
    assert "\x1b[1m" in shown  # it takes our styles for a terminal's
    progress = shown.replace("\r\x1b[K", "")
    assert list_unwanted(progress) == []


@pytest.mark.parametrize(
    "words", [("library", "show", "zotero:1"), ("library", "show", "zotero:1/nothing")]
)
def test_without_a_terminal_they_are_taken_out_as_well(
    environ: dict[str, str], tmp_path: Path, words: tuple[str, ...]
) -> None:
    shown = run_digest(tmp_path, environ, *words)
    assert "Evil" in shown.stdout + shown.stderr
    assert list_unwanted(shown.stdout + shown.stderr) == []


def test_json_keeps_them_as_escapes(environ: dict[str, str], tmp_path: Path) -> None:
    shown = run_digest(tmp_path, environ, "library", "show", "--json", "zotero:1").stdout
    assert list_unwanted(shown) == []
    assert "\\u001b[2J" in shown


@pytest.mark.parametrize(
    "words",
    [
        ("try", f"ti:{EVIL}"),
        ("query", "show", f'"{EVIL}'),
        ("explain", EVIL),
        (f"--{EVIL}",),
        (EVIL,),
    ],
)
def test_an_error_repeats_what_was_typed_without_them(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    shown = run_digest(tmp_path, {"DIGEST_ARXIV_API_URL": "http://127.0.0.1:9/"}, *words)
    assert shown.returncode > 0
    assert shown.stderr
    assert list_unwanted(shown.stdout + shown.stderr) == []


def test_what_a_server_answers_is_told_without_them(
    zotero: Zotero, environ: dict[str, str], tmp_path: Path
) -> None:
    zotero.orders = [Answer(EVIL.encode("utf-8", "replace"), 400, headers=(("X-Evil", "yes"),))] * 9
    shown = run_digest(tmp_path, environ, "library", "show", "zotero:1")
    assert shown.returncode == 4
    assert list_unwanted(shown.stdout + shown.stderr) == []


def test_a_mistake_of_ours_is_shown_with_its_traceback_without_them(tmp_path: Path) -> None:
    with patch.object(cli, "main", side_effect=RuntimeError(f"a stranger said {EVIL}!")):
        shown = run_digest(tmp_path, {}, "status")
    assert shown.returncode == 1
    assert "Traceback" in shown.stderr
    assert "a stranger said" in shown.stderr
    assert list_unwanted(shown.stderr) == []
