"""Runs that are killed: what they leave in doubt, claimed, and in the temporary folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from digest.branch.step import opened_branch
from digest.config import load_config
from digest.model.clock import ManualClock
from tests.command_line import ROOT
from tests.fakes.arxiv import DemoArxiv
from tests.integration.branch.conftest import Repository
from tests.integration.branch.test_state import MORNING

READERS = tuple(f"reader{number:02d}@digest.example" for number in range(12))
HOOK = "DIGEST_SLACK_WEBHOOKS_TEAM"
_PATIENCE = 30.0


def write_readers(folder: Path, *others: str) -> None:
    """Let the digest of a clone go to twelve readers, and to other places."""
    path = folder / "digest.toml"
    destinations = [f"mailto:{reader}" for reader in READERS]
    destinations += others
    places = ", ".join(f'"{destination}"' for destination in destinations)
    path.write_text(re.sub("to = .*", f"to = [{places}]", path.read_text()))


def die_at(repository: Repository, folder: Path, is_time: Callable[[], bool]) -> None:
    """Start a run, and kill it as soon as it is time."""
    call = [sys.executable, "-m", "digest", "run"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT), **repository.environ}
    process = subprocess.Popen(  # noqa: S603 - our own command
        call, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    until = time.monotonic() + _PATIENCE
    while not is_time() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.kill()
    assert is_time(), process.communicate()[0].decode()
    process.communicate()


def die_at_silence(repository: Repository, folder: Path) -> None:
    """Let a run die while it waits for a mail server that never says hello."""
    script = repository.world.mail.script
    others = script.waiting
    script.delay("CONNECT", 600)
    die_at(repository, folder, lambda: script.waiting == others)


def count_held(repository: Repository, folder: Path) -> int:
    return repository(folder, "delivery", "list", "--state", "needs-you").count("needs you")


@pytest.mark.parametrize(("deaths", "held"), [(2, 0), (3, 1), (4, 2)])
def test_deaths_in_a_row_hold_only_mails_that_were_being_sent_when_they_came(
    repository: Repository, deaths: int, held: int
) -> None:
    folder = repository.clone("one")
    write_readers(folder)
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    for _ in range(deaths):
        die_at_silence(repository, folder)
        repository.advance(hours=2)
    repository(folder, "run", expect=4 if held else 0)
    assert count_held(repository, folder) == held
    got = [mail.recipients[0] for mail in repository.world.mail.mails]
    assert len(got) == len(set(got)) == len(READERS) - held


def test_each_run_fails_while_a_mail_of_a_dead_run_needs_the_operator(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    write_readers(folder)
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    for _ in range(3):
        die_at_silence(repository, folder)
        repository.advance(hours=2)
    for _ in range(2):
        repository(folder, "run", expect=4)
        repository.advance(hours=2)
    (number,) = re.findall(r"(?m)^(\d+) +needs you", repository(folder, "delivery", "list"))
    repository(folder, "delivery", "cancel", number)
    repository(folder, "run")


def test_no_mail_is_held_by_one_death_where_the_operator_wants_none_twice(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    write_readers(folder)
    repository(folder, "run")
    repository.environ["DIGEST_MAIL_ON_AMBIGUOUS"] = "hold"
    repository.world.clock.set(MORNING)
    die_at_silence(repository, folder)
    repository.advance(hours=2)
    repository(folder, "run", expect=4)
    assert count_held(repository, folder) == 1
    assert len(repository.world.mail.mails) == len(READERS) - 1


def test_a_post_that_nobody_can_ask_about_is_not_held_by_a_death_among_the_mails(
    repository: Repository,
) -> None:
    folder = repository.clone("one")
    write_readers(folder, "slack-webhook:team")
    repository.environ[HOOK] = (
        f"{repository.world.slack.url.rstrip('/')}/services/T000/B000/Xyzzy77Plugh"
    )
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    die_at_silence(repository, folder)
    repository.advance(hours=2)
    repository.environ[HOOK] = "http://127.0.0.1:9/services/T000/B000/Xyzzy77Plugh"
    repository(folder, "run", expect=4)
    assert count_held(repository, folder) == 0
    assert "slack-webhook:team" in repository(folder, "delivery", "list", "--state", "waiting")


def test_what_a_killed_run_left_decrypted_is_removed_by_the_next_unless_it_lives(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository.clone("one")
    scratch = tmp_path / "scratch"
    tools = tmp_path / "tools"
    scratch.mkdir()
    tools.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    repository.environ["TMPDIR"] = str(scratch)
    repository(folder, "run")
    assert list(scratch.iterdir()) == []
    wrapper = tools / "git"
    path = repository.environ.get("PATH", os.environ["PATH"])
    wrapper.write_text(
        f'#!/bin/sh\n[ "$1" = hash-object ] && kill -9 $PPID\nexec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    repository.environ["PATH"] = f"{tools}:{path}"
    die_at(repository, folder, lambda: len(list(scratch.glob("*/*.db"))) == 2)
    (left,) = {one.parent for one in scratch.glob("*/digest.db")}
    repository.environ["PATH"] = path
    (scratch / "digest-state-mine").mkdir()
    config = load_config(folder / "digest.toml", repository.environ)
    with opened_branch(config, repository.world.clock, "living") as branch:
        assert not left.exists()
        (living,) = {one.parent for one in scratch.glob("*/digest.db")}
        repository(folder, "status")
        assert branch.store.path == living / "digest.db"
        assert living.exists()
    assert [one.name for one in scratch.iterdir()] == ["digest-state-mine"]


@pytest.mark.parametrize("dies", [False, True])
def test_a_state_and_a_lease_of_a_clock_that_went_ahead_are_put_right_by_the_run_that_is_told_to(
    repository: Repository, *, dies: bool
) -> None:
    folder = repository.clone("one")
    write_readers(folder)
    repository(folder, "run")
    repository.world.clock.set(MORNING)
    with DemoArxiv([], ManualClock(MORNING + timedelta(days=30))) as ahead:
        right = repository.environ["DIGEST_TEST_CLOCK"]
        repository.environ["DIGEST_TEST_CLOCK"] = ahead.clock_url
        if dies:
            die_at_silence(repository, folder)
        else:
            repository(folder, "run", "--now")
        repository.environ["DIGEST_TEST_CLOCK"] = right
    for command in (["run"], ["subscription", "pause", "digest"]) if dies else (["run"],):
        assert "`digest run --accept-clock`" in repository(
            folder, *command, expect=4 if dies else 3
        )
    assert "Put right: " in repository(folder, "run", "--accept-clock")
    got = [mail.recipients[0] for mail in repository.world.mail.mails]
    assert sorted(got) == sorted(READERS)
    repository.world.clock.advance(timedelta(days=5))
    repository(folder, "run", "--now")
    assert len(repository.world.mail.mails) == 2 * len(READERS)
