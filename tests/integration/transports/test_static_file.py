"""Whole files on a real disk: all at once, only if they differ, and never half."""

from __future__ import annotations

import errno
import os
import resource
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from digest.deliver.transports.file import classify_disk_error, write_if_changed
from digest.model.errors import DeliveryError

NOBODY = 65534
"""The account without rights: permissions do not stop root."""


def test_a_file_is_written_with_its_folders_and_then_left_alone_until_it_differs(
    tmp_path: Path,
) -> None:
    path = tmp_path / "feeds" / "deep" / "gpu.atom"
    assert write_if_changed(path, b"one")
    first = path.stat()
    assert not write_if_changed(path, b"one")
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (first.st_mtime_ns, first.st_ino)
    assert write_if_changed(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in path.parent.iterdir()] == ["gpu.atom"]


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(versions=st.lists(st.binary(max_size=50), min_size=1, max_size=6))
def test_the_file_always_holds_the_last_bytes_and_a_write_happens_exactly_when_they_change(
    tmp_path: Path, versions: list[bytes]
) -> None:
    path = tmp_path / "page.html"
    path.unlink(missing_ok=True)
    before: bytes | None = None
    for version in versions:
        assert write_if_changed(path, version) == (version != before)
        assert path.read_bytes() == version
        before = version


def test_a_reader_sees_the_old_bytes_or_the_new_ones_and_nothing_between(tmp_path: Path) -> None:
    path = tmp_path / "feed.json"
    versions = [bytes([letter]) * 200_000 for letter in b"ab"]
    write_if_changed(path, versions[0])
    seen: set[bytes] = set()
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        write_if_changed(path, versions[(number + 1) % 2])
    is_over.set()
    reader.join()
    assert seen <= set(versions)


def test_a_disk_that_takes_no_more_leaves_the_old_file_and_no_debris(tmp_path: Path) -> None:
    path = tmp_path / "gpu.atom"
    write_if_changed(path, b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(DeliveryError) as caught:
            write_if_changed(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not caught.value.permanent
    assert not caught.value.ambiguous
    assert str(path) in caught.value.message
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["gpu.atom"]


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "account"),
        (errno.ENOTDIR, "folder"),
    ],
)
def test_each_way_a_disk_refuses_is_worth_a_retry_and_says_what_to_mend(
    code: int, word: str
) -> None:
    failure = classify_disk_error(Path("feeds/gpu.atom"), OSError(code, os.strerror(code)))
    assert not failure.permanent
    assert not failure.ambiguous
    assert os.strerror(code) in failure.message
    assert word in failure.hint


def test_a_file_in_the_folders_place_and_a_folder_in_the_files_are_both_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "feeds").write_bytes(b"a file")
    with pytest.raises(DeliveryError, match=r"feeds/gpu\.atom can't be written") as caught:
        write_if_changed(tmp_path / "feeds" / "gpu.atom", b"x")
    assert "where a folder should be" in caught.value.hint
    (tmp_path / "page.html").mkdir()
    with pytest.raises(DeliveryError) as caught:
        write_if_changed(tmp_path / "page.html", b"x")
    assert "where the file should be" in caught.value.hint


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Let permissions hold, as they do for the account that a service should run as."""
    if is_root := os.geteuid() == 0:
        os.seteuid(NOBODY)
    yield
    if is_root:
        os.seteuid(0)


@pytest.mark.usefixtures("unprivileged")
def test_a_folder_nobody_may_write_to_says_whom_to_let_in() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o500)
        with pytest.raises(DeliveryError) as caught:
            write_if_changed(Path(folder) / "gpu.atom", b"x")
    assert "account" in caught.value.hint


def test_a_file_keeps_its_permissions_and_a_new_one_gets_the_usual(tmp_path: Path) -> None:
    path = tmp_path / "gpu.atom"
    before = os.umask(0o022)
    try:
        write_if_changed(path, b"one")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o640)
    write_if_changed(path, b"two")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "real.atom").write_bytes(b"one")
    link = tmp_path / "gpu.atom"
    link.symlink_to("real.atom")
    assert write_if_changed(link, b"two")
    assert link.is_symlink()
    assert (tmp_path / "real.atom").read_bytes() == b"two"
