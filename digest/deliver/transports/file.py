"""Writes messages and feeds as whole files."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from digest.config.addresses import expand_home
from digest.model.destinations import Destination
from digest.model.errors import DeliveryError
from digest.model.messages import SITE_INDEX, IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying

_SUFFIXES = {
    "message/rfc822": ".eml",
    "application/json": ".json",
    "text/html": ".html",
    "text/plain": ".txt",
    "application/atom+xml": ".atom",
}

_MARKS = {
    ".html": b'<meta name="generator" content="Digest ',
    ".js": b"// Digest ",
    ".atom": b"<generator>Digest</generator>",
    ".xml": b"<generator>Digest</generator>",
    ".json": b'"name": "Digest"',
}
"""By what each file of a site, and each feed, is known as ours; it is near the start."""

_HEAD = 4_096

_HINTS = {
    errno.ENOSPC: Saying.DISK_FULL,
    errno.EDQUOT: Saying.QUOTA_USED,
    errno.EROFS: Saying.READ_ONLY,
    errno.EACCES: Saying.NOT_ALLOWED,
    errno.EPERM: Saying.NOT_ALLOWED,
    errno.ENOTDIR: Saying.FILE_FOR_FOLDER,
    errno.EEXIST: Saying.FILE_FOR_FOLDER,
    errno.EISDIR: Saying.FOLDER_FOR_FILE,
    errno.EBUSY: Saying.MOUNTED_ALONE,
    errno.ENAMETOOLONG: Saying.SHORTER_NAME,
}


class FolderTransport:
    """Writes each message into the folder its destination names, below `root` if that is relative.

    A message's file name is a function of the message, and a file that already holds its bytes
    counts as taken. Another message that wants the same name gets its own, so nothing is ever
    overwritten. But a page of a site that has its name is this digest's, whatever it links to by
    now.
    """

    def __init__(self, *, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()  # who finds a name free gets it

    def resolve(self, destination: Destination) -> str:
        """Return the folder's full path."""
        return str(self._folder(destination).resolve())

    def send(
        self,
        message: Message,
        destination: Destination,
        is_ours: IsOurs = always_ours,  # noqa: ARG002 - a file written twice is one file
    ) -> Receipt:
        """Write the file, whole or not at all."""
        with self._lock:
            path, is_there = self._locate(message, destination)
            if is_there:
                return Receipt(str(path), "was there already")
            (write_own if _is_page(message.body) else write_if_changed)(path, message.body)
            return Receipt(str(path), "written")

    def find(
        self,
        message: Message,
        destination: Destination,
        begun_at: datetime,  # noqa: ARG002 - a file that holds these bytes is this message, whenever it came
    ) -> Receipt | None:
        """Tell whether the message's file is there."""
        path, is_there = self._locate(message, destination)
        return Receipt(str(path), "was there already") if is_there else None

    def close(self) -> None:
        """Do nothing: no file stays open between messages."""

    def _folder(self, destination: Destination) -> Path:
        return self._root / expand_home(destination.address)

    def _locate(self, message: Message, destination: Destination) -> tuple[Path, bool]:
        """Return the message's path, and whether it is there already."""
        path = self._folder(destination) / _choose_name(message)
        if _is_page(message.body):
            return path, _is_page(read_head(path) or b"")
        try:
            if path.exists() and not holds(path, message.body):
                path = path.with_stem(f"{path.stem}-{message.idempotency_key}")
            return path, holds(path, message.body)
        except OSError as error:
            raise classify_disk_error(path, error) from error


def _choose_name(message: Message) -> str:
    name = message.name or message.idempotency_key + _SUFFIXES.get(message.media_type, "")
    if name.startswith(".") or Path(name).name != name or "\\" in name or not name.isprintable():
        raise DeliveryError(
            Said.of(Saying.NO_FILE_NAME, repr(name)),
            permanent=True,
            hint=Said.of(Saying.PLAIN_NAME),
        )
    return name


def _is_page(start: bytes) -> bool:
    return _MARKS[".html"] in start[:_HEAD]


def read_head(path: Path) -> bytes | None:
    """Return how a file begins, None if it is not there."""
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise classify_disk_error(path, error) from error


def write_own(path: Path, data: bytes, *, is_of_site: bool = True) -> bool:
    """Do as `write_if_changed`, but never over a file that is not of ours.

    A page of a site is not written beside such a first page either.
    """
    for one in (path, path.with_name(SITE_INDEX)) if is_of_site else (path,):
        head = read_head(one)
        if head is not None and _MARKS[one.suffix.lower()] not in head:
            raise DeliveryError(Said.of(Saying.NOT_OURS, str(one)))
    return write_if_changed(path, data)


def write_if_changed(path: Path, data: bytes) -> bool:
    """Make `path` hold `data`; return whether anything had to be written.

    Missing folders are made. An existing file keeps its permissions, and a symbolic link stays one.
    If the disk does not take it, the old file is untouched.
    """
    try:
        target = path.resolve()
        if holds(target, data):
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except OSError as error:
        raise classify_disk_error(path, error) from error
    return True


def holds(path: Path, data: bytes) -> bool:
    """Tell whether the file exists with exactly these bytes."""
    try:
        return path.stat().st_size == len(data) and path.read_bytes() == data
    except FileNotFoundError:
        return False


def classify_disk_error(path: Path, error: OSError) -> DeliveryError:
    """Turn a disk's failure into an error that says what to correct.

    Nothing was written, so repeating is safe.
    """
    return DeliveryError(
        Said.of(Saying.NOT_WRITTEN, str(path), error.strerror or str(error)),
        hint=Said.of(_HINTS.get(error.errno or 0, Saying.NOTHING)),
    )


def _replace(target: Path, data: bytes) -> None:
    # In the same folder: only a rename within one file system is atomic. Hidden, so that nothing
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
    """Make the new name itself survive a power cut, if the system can."""
    with contextlib.suppress(
        OSError
    ):  # some file systems cannot sync a folder; the file itself is safe
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
