"""`digest try`: one look at arXiv that stores and sends nothing."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from digest.model.clock import ManualClock
from tests.command_line import run_digest
from tests.fakes.archive import read_demo_papers
from tests.fakes.arxiv import DemoArxiv
from tests.integration.cli.conftest import Shell
from tests.integration.cli.fortnight import World

QUERY = "cat:cs.PF AND abs:GPU"


def call_try(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    environ = {
        "XDG_STATE_HOME": str(folder / "state"),
        "DIGEST_ARXIV_API_URL": f"{url}/api/query",
        "DIGEST_ARXIV_CONTACT": "ops@example.org",
    }
    return run_digest(folder, environ, "try", QUERY)


def test_where_arxiv_cannot_be_reached_it_says_so_in_one_line_and_points_at_the_demo(
    tmp_path: Path,
) -> None:
    done = call_try(tmp_path, "http://127.0.0.1:1")
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert (done.returncode, len(errors), done.stdout) == (4, 1, "")
    assert "arXiv can't be reached from here" in errors[0]
    assert "digest demo" in done.stderr


def test_it_shows_the_papers_and_leaves_no_file_but_its_pace(tmp_path: Path) -> None:
    clock = ManualClock(datetime(2026, 11, 20, 12, tzinfo=UTC))
    with DemoArxiv(read_demo_papers(), clock) as arxiv:
        done = call_try(tmp_path, arxiv.url)
    assert done.returncode == 0, done.stderr
    assert "Tail latency below 10⁻³ s" in done.stdout
    assert "Nothing was sent" in done.stdout
    assert "From now on" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


def test_what_is_wrong_with_the_configuration_is_said_before_arxiv_is_asked(tmp_path: Path) -> None:
    (tmp_path / "digest.toml").write_text("[arxiv]\nkontact = 3\n", encoding="utf-8")
    done = call_try(tmp_path, "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: digest.toml: arxiv.kontact: there is no such setting")


def test_where_no_poll_comes_nobody_is_told_of_the_next_one(world: World, digest: Shell) -> None:
    world.arxiv.faults.add("503", retry_after="3600")
    assert "hint:  Call it again later." in digest("try", "cat:cs.PF", expect=4).err
    said = digest("try", "cat:cs.PF", expect=4).err
    assert "the next request is sent in 60 min at the earliest" in said
    assert "hint:  Call it again then: until then nothing is asked." in said


@pytest.mark.usefixtures("world")
def test_a_query_that_can_bring_nothing_ends_with_why(digest: Shell) -> None:
    said = digest("try", "cat:cs.CVV")
    assert "Try another word" not in said.out
    assert (
        said.lines[-1]
        == "This brings nothing: 'cs.CVV' is not a category of arXiv; perhaps cs.CV is meant."
    )
    assert "Try another spelling of the name" in digest("try", "au:Zzyzxova").out
