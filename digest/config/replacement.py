"""Replaces `digest.toml` at once and whole, and keeps the last ten files of before beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from digest.config.document import read_document
from digest.model.errors import ConfigurationError, UsageError

_KEPT = 10
"""Files of before, each one change older."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file as it was when it was read."""

    path: Path
    content: bytes

    @property
    def target(self) -> Path:
        """The file itself, if the path leads to it by links."""
        return self.path.resolve()

    def list_before(self) -> list[Path]:
        """Where the files before the last changes are kept, the newest first."""
        target = self.target
        newest = f"{target.name}.before"
        names = [newest, *(f"{newest}{number}" for number in range(2, _KEPT + 1))]
        return [target.with_name(name) for name in names]

    @property
    def text(self) -> str:
        """Its text, without a byte order mark.

        Lines end in a line feed alone, also once a command has changed it.
        """
        return self.content.decode("utf-8-sig").replace("\r\n", "\n")


def read_config_file(path: Path) -> ConfigFile:
    """Read a configuration file, to change it."""
    read_document(path)
    return ConfigFile(path, path.read_bytes())


def read_file_before(file: ConfigFile) -> bytes:
    """Return what the file held before the last change."""
    before = file.list_before()[0]
    try:
        return before.read_bytes()
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no {before.name}: no change of {file.path.name} by a command is left to be "
            "undone",
            hint=f"Only the last {_KEPT} changes by command can be undone.",
        ) from error
    except OSError as error:
        raise _explain(before, error) from error


def replace_config_file(file: ConfigFile, content: bytes, *, is_undone: bool = False) -> None:
    """Replace a file by another content; what it held is kept beside it. Mode and owner stay.

    Who reads meanwhile finds the one or the other whole. A crash between the renamings leaves the
    file as it was, and what it was to hold under a name of its own beside it.

    One that `is_undone` was the file before, which is no longer kept; those before it move up.

    Refused if somebody else changed the file since it was read. If it can't be written, it is as it
    was.
    """
    target = file.target
    new = None
    kept = None
    try:
        new = _write_beside(target, content)
        kept = None if is_undone else _write_beside(target, file.content)
        if target.read_bytes() != file.content:
            raise UsageError(
                f"somebody else has changed {file.path} meanwhile, so nothing was written",
                hint="Call it again.",
            )
        if kept is None:
            _take_back(file.list_before())
        else:
            _keep(kept, file.list_before())
        new.replace(target)  # last: what it held is safe by now
    except OSError as error:
        raise _explain(file.path, error) from error
    finally:
        for left in (new, kept):
            if left is not None:
                left.unlink(missing_ok=True)


def _keep(newest: Path, files: Sequence[Path]) -> None:
    """Move the files that are kept down by one, the oldest first, and put another before them."""
    for newer, older in reversed(list(pairwise(files))):
        _move(newer, older)
    _move(newest, files[0])


def _take_back(files: Sequence[Path]) -> None:
    """Remove the newest of the files that are kept, and move the others up by one."""
    files[0].unlink()
    for newer, older in pairwise(files):
        _move(older, newer)


def _move(file: Path, place: Path) -> None:
    if file.exists():
        file.replace(place)


def _write_beside(target: Path, content: bytes) -> Path:
    """Write a new file beside another, safe on the disk and with the other's mode and owner."""
    like = target.stat()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        own = os.stat(name)  # noqa: PTH116 - a name from `mkstemp`
        if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
            os.chown(name, like.st_uid, like.st_gid)
        os.chmod(name, like.st_mode & 0o7777)  # noqa: PTH101 - the same
    except BaseException:
        os.unlink(name)  # noqa: PTH108 - the same
        raise
    return Path(name)


def _explain(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"{path} can't be replaced: {error.strerror or error}",
        hint="Check who owns it and its folder, and the room on the disk. In a container, mount "
        "the whole folder.",
    )
