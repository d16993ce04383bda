"""What holds for every command that looks or edits."""

from __future__ import annotations

import io
import sqlite3
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryFile
from unittest.mock import patch

import pytest
from rich.cells import cell_len

from digest.__main__ import main
from digest.store import lock_worker
from tests.command_line import run_process
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

LOOKING = [
    ["status"],
    ["coverage"],
    ["coverage", "--checks"],
    ["query", "list"],
    ["explain", "2611.15012"],
    ["run", "--dry-run"],
    ["subscription", "list"],
    ["subscription", "show", "perf-team"],
    ["feed", "list"],
    ["feed", "list", "perf-team", "--secret"],
    ["delivery", "list"],
    ["delivery", "show", "13"],
]

WORKBENCH = [
    ["query", "show", "perf"],
    ["try", "perf", "--against", "gpu", "--days", "7"],
    ["explain", "2611.15012", "perf"],
]
"""Commands that need no installation: without one they ask arXiv."""

EDITING = [
    ["subscription", "pause", "gpu-mail"],
    ["subscription", "resume", "perf-mail"],
    ["subscription", "unsubscribe", "gpu-mail", "reader@digest.example"],
    ["feed", "rotate", "perf-team"],
    ["feed", "revoke", "perf-team"],
    ["delivery", "retry", "13"],
    ["delivery", "cancel", "13"],
]


def read_all(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(path) as conn:
        names = [
            name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        rows = {name: conn.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    conn.close()
    return rows


@pytest.mark.parametrize("command", [*LOOKING, *WORKBENCH], ids=" ".join)
def test_looking_changes_nothing_and_speaks_json(
    world: World, digest: Shell, command: list[str]
) -> None:
    before = read_all(world.folder / "digest.db")
    digest(*command)
    assert digest(*command, "--json").json
    assert read_all(world.folder / "digest.db") == before


@pytest.mark.parametrize("command", [*LOOKING, *EDITING], ids=" ".join)
def test_without_a_database_each_says_what_makes_it_and_makes_none(
    empty: World, digest: Shell, command: list[str]
) -> None:
    said = digest(*command, expect=3)
    assert "there is no database" in said.err
    assert "`digest run`" in said.err
    assert not list(empty.folder.glob("digest.db*"))


def test_looking_and_editing_work_beside_a_running_worker(world: World, digest: Shell) -> None:
    store = world.open_store()
    with lock_worker(store):
        for command in [*LOOKING, *WORKBENCH, *EDITING[:-1]]:
            digest(*command)
    store.close()


@pytest.mark.parametrize(
    "command",
    [
        ["query", "list"],
        ["subscription", "list"],
        ["feed", "list"],
        ["delivery", "list"],
        ["status"],
    ],
    ids=" ".join,
)
def test_an_installation_without_anything_says_what_to_do_next(
    empty: World, digest: Shell, command: list[str]
) -> None:
    config = (empty.folder / "digest.toml").read_text(encoding="utf-8")
    (empty.folder / "digest.toml").write_text(config[: config.index("[queries]")], encoding="utf-8")
    digest("db", "migrate")
    said = digest(*command)
    assert "`digest run`" in said.out
    assert digest(*command, "--json").code == 0


@pytest.mark.usefixtures("fresh")
def test_without_a_configuration_each_says_how_to_write_one(digest: Shell) -> None:
    for command in [*LOOKING, *EDITING]:
        assert "`digest init` makes one" in digest(*command, expect=3).err


def say(encoding: str, command: list[str]) -> tuple[bytes, bytes]:
    """Return the bytes that a command writes to a terminal of an encoding, and to its errors."""
    with TemporaryFile() as log:
        out = io.TextIOWrapper(io.BytesIO(), encoding)
        err = io.TextIOWrapper(log, encoding)
        with redirect_stdout(out), redirect_stderr(err), patch("sys.argv", ["digest", *command]):
            with pytest.raises(SystemExit):
                main()
            out.flush()
        log.seek(0)
        return out.buffer.getvalue(), log.read()


def test_commands_are_real_processes_too(world: World) -> None:
    done = run_process(world.folder, world.environ, "query", "show", "pref")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: there is no saved query 'pref'\nhint:  Did you mean 'perf'?\n"
    done = run_process(world.folder, world.environ, "status")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    done = run_process(world.folder, {"PYTHONIOENCODING": "cp437"}, "status")
    assert "-> Mend it in digest.toml. `digest doctor`" in done.stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["explain", "2611.15012", "perf-team"], "- follow: it lacks"),
        (["config", "show"], " ???εστ "),
        (["query", "show", "perf"], "below 10?? s"),
        (["query", "show", "ti:λ OR"], "ti:? OR"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("world")
def test_a_sign_the_terminals_encoding_lacks_is_ascii_where_it_is_ours_else_a_question_mark(
    command: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIGEST_MAIL_FROM_NAME", "Δίγεστ")
    out, err = say("cp437", command)
    assert said.encode("cp437") in out + err
    assert b"\\u" not in err


@pytest.mark.parametrize(
    "command",
    [
        ["export", "--query", "cat:cs.PF", "--abstracts"],
        ["export", "--query", "cat:cs.PF", "--format", "ris"],
        ["preview", "perf-team", "--as", "page"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("world")
def test_what_programs_read_is_the_same_in_any_encoding_of_the_terminal(command: list[str]) -> None:
    assert say("cp437", command)[0] == say("utf-8", command)[0] != b""


@pytest.mark.parametrize(
    "command",
    [
        *LOOKING,
        *WORKBENCH,
        ["coverage", "--requests"],
        ["templates", "list"],
        ["templates", "list", "email/digest.html"],
        ["config", "show"],
        ["preview", "perf-team"],
        ["subscription", "pause", "gpu-mail"],
        ["subscription", "unsubscribe", "gpu-mail", "reader@digest.example"],
        ["delivery", "retry", "4", "13"],
        ["feed", "revoke", "perf-team"],
        ["db", "check"],
        ["db", "backup"],
        ["run"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("world")
def test_no_line_is_wider_than_a_terminal_of_80_columns_but_for_one_word(
    command: list[str], digest: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wide = [line.strip() for line in digest(*command).lines if cell_len(line) > 80]
    assert [line for line in wide if " " in line and "://" not in line] == [], (
        "but for what is to be copied"
    )
