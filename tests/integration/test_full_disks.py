"""A disk that is full, read-only, or dead.

A real one, small, mounted for the test. Nothing is lost or doubled.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event

import pytest

from digest.config import load_config
from digest.model.clock import Clock
from digest.serve.configuration import sync_config
from digest.serve.installation import open_site
from digest.serve.schedule import EVERY, Schedule
from digest.serve.steps import recover, run_pass
from digest.site import Site
from digest.store import backups, lock_worker
from digest.web.endpoints import find_failures
from tests.harness.serving import wait_until
from tests.integration.cli.conftest import Said, Shell
from tests.integration.web.world import SUNDAY, World, live_in, make_paper

OFTEN = dict.fromkeys(EVERY, 0.2)
MAIL = ("mailto:reader@example.org",)
LATER = make_paper(
    15_003, "A later paper about stopwatches", datetime.fromisoformat("2026-11-20T12:00Z")
)

_SHUT_DOWN = 0x8004587D
"""FS_IOC_SHUTDOWN (ioctl_fs(2), <linux/fs.h>).

From then on everything on that file system is an I/O error.
"""


@dataclass(frozen=True)
class SlowTime:
    """The world's time, in which waiting takes a moment of ours too.

    What waits for a disk lets it happen.
    """

    world: Clock
    is_simulated: bool = True

    def now(self) -> datetime:
        return self.world.now()

    def sleep(self, seconds: float) -> None:
        Event().wait(min(seconds, 0.1))
        self.world.sleep(seconds)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Call it with mount's words for a disk of its own; it is gone afterwards."""
    with ExitStack() as stack:

        def call(*words: str) -> Path:
            if not (shutil.which("mount") and shutil.which("mkfs.ext4")):
                pytest.skip("there is nothing here to make and mount a file system with")
            place = tmp_path / "disk"
            place.mkdir()
            done = subprocess.run(  # noqa: S603 - made up here
                ["mount", *words, str(place)],  # noqa: S607 - from the path
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                pytest.skip(f"this account may mount nothing: {done.stderr.strip()}")
            stack.callback(subprocess.run, ["umount", "-l", str(place)], check=True)
            return place

        yield call


@pytest.fixture
def disk(mount: Callable[..., Path]) -> Path:
    """A disk of four megabytes."""
    return mount("-t", "tmpfs", "-o", "size=4m", "none")


def fill(disk: Path) -> Path:
    """Fill a disk to its last byte; return the file to remove."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


@contextmanager
def living(folder: Path) -> Iterator[World]:
    folder.mkdir(exist_ok=True)
    with live_in(folder) as world:
        world.write_config(to=MAIL)
        yield world


@contextmanager
def scheduled(world: World) -> Iterator[tuple[Schedule, Site]]:
    """Let an installation's jobs run, as `digest serve` does."""
    config = load_config(world.folder / "digest.toml", world.environ)
    site = open_site(config, SlowTime(world.clock), owner="test", jitter=lambda: 0.5)
    schedule = Schedule(site, every=OFTEN)
    try:
        with lock_worker(site.store):
            recover(site)
            sync_config(site)
            schedule.start()
            yield schedule, site
    finally:
        assert schedule.stop(grace=5, force=20)
        site.close()


def await_turn(schedule: Schedule, job: str) -> None:
    """Wait until the turn that a job is at has ended, and one more."""

    def count() -> int:
        return next(turn.turns for turn in schedule.pulse.board.list_turns() if turn.job == job)

    before = count()
    wait_until(lambda: count() >= before + 2)


@pytest.fixture
def digest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Said]:

    def call(world: World, *words: str, expect: int = 0) -> Said:
        monkeypatch.setenv("DIGEST_CONFIG", str(world.folder / "digest.toml"))
        monkeypatch.setenv("DIGEST_TEST_CLOCK", world.arxiv.clock_url)
        return Shell(capsys)(*words, expect=expect)

    return call


def announce_later(world: World) -> None:
    world.arxiv.add(LATER)
    world.clock.sleep((SUNDAY - world.clock.now()).total_seconds())


def titles(world: World) -> int:
    return sum(LATER.title in str(mail.message) for mail in world.mail.mails)


def is_sound(site: Site) -> bool:
    with site.store.read() as conn:
        return not backups.load_violations(conn)


def test_serving_survives_a_full_disk_says_so_and_goes_on_by_itself_once_there_is_room(
    disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with ExitStack() as stack:
        world = stack.enter_context(living(disk / "here"))
        world.write_config(
            to=MAIL, when="at once"
        )  # a turn by the clock may pass between a look and the next
        schedule, site = stack.enter_context(scheduled(world))
        wait_until(lambda: _states(site) == ["sent"])
        filler = fill(disk)
        announce_later(world)
        wait_until(lambda: schedule.pulse.troubles)
        assert any(
            "failed last time (StoreError)" in reason
            for reason in find_failures(site, schedule.pulse)
        )
        assert titles(world) == 0
        filler.unlink()
        world.mail.wait_for(2, timeout=60)
        wait_until(lambda: not schedule.pulse.troubles)
        wait_until(lambda: not find_failures(site, schedule.pulse))
        assert is_sound(site)
    assert titles(world) == 1
    assert "its disk is full" in caplog.text


def test_a_run_on_a_full_or_read_only_disk_says_what_is_wrong_and_the_next_one_does_it_all(
    disk: Path, digest: Callable[..., Said]
) -> None:
    with living(disk / "here") as world:
        digest(world, "run")
        announce_later(world)
        filler = fill(disk)
        full = digest(world, "run", expect=3)
        filler.unlink()
        _remount(disk, "ro")
        locked = [
            digest(world, *words, expect=3)
            for words in (["run"], ["subscription", "pause", "perf-team"])
        ]
        _remount(disk, "rw")
        assert titles(world) == 0
        digest(world, "run")
    assert "can't be used, its disk is full: " in full.err
    assert "Make room on it" in full.err
    for said in locked:
        assert "readonly" in said.err.lower().replace("-", "")
    assert titles(world) == 1


def test_a_backup_that_finds_no_room_leaves_nothing_behind_and_an_old_one_alone(
    disk: Path, digest: Callable[..., Said]
) -> None:
    with living(disk / "here") as world:
        site = world.open()
        run_pass(site)
        site.close()
        kept = disk / "kept.db"
        digest(world, "db", "backup", str(kept))
        before = kept.read_bytes()
        filler = fill(disk)
        with filler.open("r+b") as file:
            file.truncate(filler.stat().st_size - 200_000)  # room for a connection, not for a copy
        for words in (
            ("db", "backup", str(disk / "more.db")),
            ("db", "backup", str(kept), "--force"),
            ("db", "restore", str(kept), "--sent-until", "now"),
        ):
            failed = digest(world, *words, expect=3)
            assert "full" in failed.err or "No space left" in failed.err
        assert kept.read_bytes() == before
        assert not [*disk.glob("*more*"), *disk.glob(".*"), *(disk / "here").glob(".*")]
        filler.unlink()
        site = world.open()
        assert is_sound(site)
        site.close()


def test_after_the_disk_has_died_under_it_nothing_is_lost_and_nothing_doubled(
    mount: Callable[..., Path], tmp_path: Path
) -> None:
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(12 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)  # noqa: S603, S607 - ours
    disk = mount("-o", "loop", str(image))
    with living(disk / "here") as world:
        with scheduled(world) as (schedule, site):
            world.mail.wait_for(1)
            wait_until(lambda: _states(site) == ["sent"])
            await_turn(schedule, "deliver-mail")
            _kill_disk(disk)
            announce_later(world)
            wait_until(lambda: schedule.pulse.troubles)
            assert find_failures(site, schedule.pulse)
        assert len(world.mail.mails) == 1
        subprocess.run(["umount", str(disk)], check=True)  # noqa: S603, S607 - ours
        again = ["mount", "-o", "loop", str(image), str(disk)]
        subprocess.run(again, check=True)  # noqa: S603 - the same
        with scheduled(world) as (_, site):
            world.mail.wait_for(2)
            wait_until(lambda: _states(site) == ["sent", "sent"])
            assert is_sound(site)
    assert len(world.mail.mails) == 2
    assert titles(world) == 1


def _states(site: Site) -> list[str]:
    with site.store.read() as conn:
        return list(conn.exec_driver_sql("SELECT state FROM deliveries ORDER BY id").scalars())


def _remount(disk: Path, mode: str) -> None:
    command = ["mount", "-o", f"remount,{mode}", str(disk)]
    subprocess.run(command, check=True)  # noqa: S603 - ours


def _kill_disk(disk: Path) -> None:
    handle = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(
            handle, _SHUT_DOWN, struct.pack("I", 2)
        )  # 2: what is not on the disk yet is gone
    finally:
        os.close(handle)
