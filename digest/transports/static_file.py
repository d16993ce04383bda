"""Whole files, such as a feed or a page: written all at once, and only if they differ.

A reader that opens the file at any moment sees the old bytes or the new ones, also after a power cut.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from typing import TYPE_CHECKING
from uuid import uuid4

from digest.errors import DeliveryError

if TYPE_CHECKING:
    from pathlib import Path

_HINTS = {
    errno.ENOSPC: "The disk is full: make room; it is tried again by itself.",
    errno.EDQUOT: "The quota is used up: make room; it is tried again by itself.",
    errno.EROFS: "The file system is read-only: mount it for writing, or name another folder.",
    errno.EACCES: "Let the account Digest runs as write there, or name another folder.",
    errno.EPERM: "Let the account Digest runs as write there, or name another folder.",
    errno.ENOTDIR: "A file stands where a folder should be: move it, or name another folder.",
    errno.EEXIST: "A file stands where a folder should be: move it, or name another folder.",
    errno.EISDIR: "A folder stands where the file should be: move it, or name another file.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def write_if_changed(path: Path, data: bytes) -> bool:
    """Make `path` hold `data`; return whether anything had to be written.

    Missing folders are made. An existing file keeps its permissions, and a symbolic link stays one.

    Raises:
        DeliveryError: the disk is full or read-only, or permission is missing; the old file is untouched.
    """
    try:
        target = path.resolve()
        if holds(target, data):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except OSError as error:
        raise judge_disk(path, error) from error
    return True


def holds(path: Path, data: bytes) -> bool:
    """Tell whether the file exists with exactly these bytes.

    Raises:
        OSError: it exists and cannot be read.
    """
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


def judge_disk(path: Path, error: OSError) -> DeliveryError:
    """Turn a disk's failure into an error that says what to mend; nothing was written, so repeating is safe."""
    reason = error.strerror or str(error)
    return DeliveryError(f"{path} can't be written: {reason}", hint=_HINTS.get(error.errno or 0, ""))


def _replace(target: Path, data: bytes) -> None:
    # In the same folder, since only a rename within one file system is atomic; hidden, so that nothing
    # that serves or watches the folder picks it up.
    temporary = target.with_name(f".{uuid4().hex}.part")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except OSError:
        with contextlib.suppress(OSError):  # the first failure is the one worth reporting
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself survive a power cut, where the system can."""
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder; the file itself is safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
