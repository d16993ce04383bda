"""Reads a library's file in a process of its own: whatever the file holds, that process can be stopped.

A pattern or a parser can't be interrupted in a thread, and meanwhile no other thread runs.
"""

from __future__ import annotations

import pickle
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final

from digest.interest.files import read_library
from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryReading

FILE_SECONDS: Final = 20.0
"""How long reading one file may take."""

_LARGEST: Final = 20_000_000
"""Bytes a file may have."""

_SMALLER: Final = "Export fewer papers, such as those of one collection."


def load_file(name: str, path: Path) -> bytes:
    """Return the bytes of a library's file.

    Raise `ConfigurationError`: there is none, it is no file (but a folder, a pipe or a device), or it is too large.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            kind = "a folder" if stat.S_ISDIR(found.st_mode) else "a pipe or a device"
            raise ConfigurationError(
                f"{name} can't be read: it is {kind}, and no file", hint="Name the file of a library."
            )
        size = found.st_size
        content = b""
        if size <= _LARGEST:
            with path.open("rb") as file:
                content = file.read(_LARGEST + 1)
                size = len(content)
    except OSError as error:
        raise ConfigurationError(
            f"{name} can't be read: {error.strerror}", hint="Check the path and its permissions."
        ) from error
    if size > _LARGEST:
        raise ConfigurationError(f"{name} has more than {_LARGEST // 1_000_000} MB", hint=_SMALLER)
    return content


def read_apart(name: str, content: bytes, seconds: float) -> LibraryReading:
    """Read the file of a library in another process, for so many seconds at most.

    Raise `ConfigurationError`: see `read_library`; or it takes longer, or its reader fails.
    """
    command = [sys.executable, "-P", "-m", __name__, name]
    try:
        done = subprocess.run(  # noqa: S603 - our own module; the name is shown, never run
            command, input=content, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigurationError(
            f"{name} can't be read: that takes more than {seconds:.0f} seconds", hint=_SMALLER
        ) from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConfigurationError(f"{name} can't be read: its reader failed ({said})", hint=_SMALLER)
    answer = pickle.loads(done.stdout)  # noqa: S301 - our own process wrote it
    if isinstance(answer, ConfigurationError):
        raise answer
    return answer


def main() -> None:
    """Read what is given, and write what came of it."""
    try:
        answer: object = read_library(sys.argv[1], sys.stdin.buffer.read())
    except ConfigurationError as error:
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
