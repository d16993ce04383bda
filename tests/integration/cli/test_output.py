"""Output that a full disk or a closed pipe does not take.

A clear error, or none, and the work is done.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.web.world import World, live_in

FULL = Path("/dev/full")
COMMANDS = (
    *(
        "--help",
        "--version",
        "run --help",
        "help mail",
        "config show",
        "config show --json",
        "status",
    ),
    *("status --json", "export --subscription perf-team", "subscription list", "delivery list"),
    *(
        "query list",
        "coverage",
        "templates list",
        "slack manifest",
        "preview perf-team",
        "try cat:cs.PF",
    ),
    *(
        "doctor --quick",
        "library show",
        "feed list",
        "webhook secret",
        "run --dry-run",
        "run --json",
        "run",
    ),
)

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with live_in(tmp_path_factory.mktemp("output")) as world:
        world.write_config(to=("mailto:reader@example.org", "feed"))
        assert world.call("run").returncode == 0
        yield world


def call(
    world: World, words: str, out: int | Path, err: int | Path = subprocess.PIPE
) -> tuple[int, str]:
    """Run a command as a process with standard output and error led somewhere.

    Return its code and its errors.
    """
    leads = [one if isinstance(one, int) else os.open(one, os.O_WRONLY) for one in (out, err)]
    try:
        done = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "digest", *words.split()],
            cwd=world.folder,
            env=world.environment(),
            stdin=subprocess.DEVNULL,
            stdout=leads[0],
            stderr=leads[1],
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        for lead in leads:
            if lead > 2:
                os.close(lead)
    return done.returncode, done.stderr or ""


@pytest.mark.parametrize("words", COMMANDS)
def test_an_answer_that_a_full_disk_does_not_take_is_told_as_such(world: World, words: str) -> None:
    code, errors = call(world, words, FULL)
    assert code == 1, errors
    assert "error: Digest can't go on: No space left on device\n" in errors
    assert "hint:" in errors
    assert "Traceback" not in errors
    assert "Exception ignored" not in errors


def test_a_run_whose_answer_is_lost_has_sent_its_digests(tmp_path: Path) -> None:
    with live_in(tmp_path) as world:
        world.write_config(to=("mailto:reader@example.org",))
        assert call(world, "run", FULL, FULL)[0] == 1
        assert len(world.mail.mails) == 1


def test_a_run_whose_progress_is_lost_has_sent_its_digests_and_ends_well(tmp_path: Path) -> None:
    with live_in(tmp_path) as world:
        world.write_config(to=("mailto:reader@example.org",))
        assert call(world, "run", subprocess.DEVNULL, FULL)[0] == 0
        assert len(world.mail.mails) == 1


@pytest.mark.parametrize("words", ["run", "status", "doctor --quick", "config show", "--help"])
def test_what_standard_error_does_not_take_stops_no_work(world: World, words: str) -> None:
    assert (
        call(world, words, subprocess.DEVNULL, FULL)[0] == call(world, words, subprocess.DEVNULL)[0]
    )


@pytest.mark.parametrize("words", ["run", "config show", "status --json"])
def test_if_neither_is_taken_the_code_says_so(world: World, words: str) -> None:
    assert call(world, words, FULL, FULL)[0] == 1


def test_an_error_that_nobody_can_read_keeps_its_code(world: World) -> None:
    assert call(world, "delivery show 999", subprocess.DEVNULL, FULL)[0] == 2


@pytest.mark.parametrize(
    "words",
    [
        "config show",
        "help mail",
        "status --json",
        "export --subscription perf-team",
        "run",
        "--help",
    ],
)
@pytest.mark.parametrize("is_both", [False, True], ids=["stdout", "both"])
def test_a_reader_that_has_left_is_no_failure(world: World, words: str, *, is_both: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    code, errors = call(world, words, writer, os.dup(writer) if is_both else subprocess.PIPE)
    assert code == 0
    assert "Traceback" not in errors
    assert "rror" not in errors
