"""How `digest.toml` is replaced: whole, with its mode, and with the file before beside it."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from digest.config.replacement import (
    ConfigFile,
    read_config_file,
    read_file_before,
    replace_config_file,
)
from digest.model.errors import ConfigurationError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "digest.toml"
    path.write_text('templates = "one"\n', encoding="utf-8")
    return path


def test_a_file_is_replaced_and_the_one_before_stands_beside_it_with_its_mode(path: Path) -> None:
    path.chmod(0o640)
    replace_config_file(read_config_file(path), b'templates = "two"\n')
    before = path.with_name("digest.toml.before")
    assert [one.read_text() for one in (path, before)] == [
        'templates = "two"\n',
        'templates = "one"\n',
    ]
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path, before)] == [0o640, 0o640]
    assert sorted(one.name for one in path.parent.iterdir()) == [
        "digest.toml",
        "digest.toml.before",
    ]


def test_the_last_ten_changes_come_back_one_by_one(path: Path) -> None:
    for number in range(12):
        replace_config_file(read_config_file(path), f"x = {number}".encode())
    found = []
    for _ in range(10):
        file = read_config_file(path)
        replace_config_file(file, read_file_before(file), is_undone=True)
        found.append(path.read_text())
    assert found == [f"x = {number}" for number in range(10, 0, -1)]
    with pytest.raises(UsageError, match=r"there is no digest\.toml\.before: no change"):
        read_file_before(read_config_file(path))
    assert list(path.parent.iterdir()) == [path]


_IN_A_MOUNT = """\
mount --bind "$1/mounted" "$1/digest.toml" && cd "$2" && exec "$3" -c '
import pathlib, sys
from digest.config.replacement import read_config_file, replace_config_file
replace_config_file(read_config_file(pathlib.Path(sys.argv[1]) / "digest.toml"), b"x = 1")
' "$1"
"""


def test_a_file_that_is_mounted_by_itself_is_not_replaced_and_the_folder_is_named(
    path: Path,
) -> None:
    mounted = path.rename(path.with_name("mounted"))
    path.touch()
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", _IN_A_MOUNT]
    try:
        nothing = [*command[:3], "true"]
        subprocess.run(nothing, check=True, capture_output=True)  # noqa: S603 - fixed words
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("nothing can be mounted here")
    places = [str(path.parent), str(Path(__file__).parents[3]), sys.executable]
    done = subprocess.run(  # noqa: S603 - fixed words
        [*command, "sh", *places], capture_output=True, text=True, check=False
    )
    assert "digest.toml can't be replaced: Device or resource busy" in done.stderr
    assert mounted.read_text() == 'templates = "one"\n'


def test_a_link_stays_a_link_and_the_file_before_stands_beside_the_file(
    path: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link = folder / "linked.toml"
    link.symlink_to(path)
    replace_config_file(read_config_file(link), b"")
    assert link.is_symlink()
    assert path.read_bytes() == b""
    assert path.with_name("digest.toml.before").exists()


def test_a_file_that_changed_since_it_was_read_is_left_alone(path: Path) -> None:
    file = read_config_file(path)
    path.write_text('templates = "theirs"\n', encoding="utf-8")
    with pytest.raises(UsageError, match="somebody else has changed"):
        replace_config_file(file, b"")
    assert path.read_text() == 'templates = "theirs"\n'
    assert list(path.parent.iterdir()) == [path]


def test_a_mark_and_line_ends_of_windows_are_no_part_of_the_text(path: Path) -> None:
    assert ConfigFile(path, b"\xef\xbb\xbfa = 1\r\nb = 2\r\n").text == "a = 1\nb = 2\n"


def test_a_file_that_is_not_there_is_made_by_init_not_by_a_change(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_config_file(tmp_path / "digest.toml")
    assert "`digest init` makes one" in caught.value.hint


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the owner of everything may write everywhere"
)
def test_a_folder_that_takes_no_file_is_named(path: Path) -> None:
    path.parent.chmod(0o500)
    try:
        with pytest.raises(ConfigurationError, match="can't be replaced: Permission denied"):
            replace_config_file(read_config_file(path), b"")
    finally:
        path.parent.chmod(0o700)
