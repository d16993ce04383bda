"""Reads a library's file in a process of its own, which can be stopped whatever the file holds.

A pattern or a parser can't be interrupted in a thread, and meanwhile no other thread runs.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Final

from digest.model.errors import ConfigurationError
from digest.model.libraries import LibraryReading

FILE_SECONDS: Final = 30.0
"""How long reading one file may take."""

_LARGEST: Final = 20_000_000
"""Bytes a file may have."""

_FEWER: Final = "Export fewer papers, such as those of one collection."


def load_file(name: str, path: Path) -> bytes:
    """Return the bytes of a library's file.

    Raise `ConfigurationError`: there is none, it is a folder, a pipe or a device, or it is too
    large.
    """
    try:
        size = path.stat().st_size
        content = path.read_bytes() if path.is_file() and size <= _LARGEST else b""
    except OSError as error:
        raise ConfigurationError(
            f"{name} can't be read: {error.strerror}", hint="Check the path and its permissions."
        ) from error
    if not path.is_file():
        hint = "It is a folder, a pipe or a device. Name the file of a library."
        raise ConfigurationError(f"{name} is no file", hint=hint)
    if size > _LARGEST:
        raise ConfigurationError(f"{name} has more than {_LARGEST // 1_000_000} MB", hint=_FEWER)
    return content


def read_apart(name: str, content: bytes, seconds: float) -> LibraryReading:
    """Read the file of a library in another process, for so many seconds at most.

    Raise `ConfigurationError`: see `read_library`; or it takes longer, or that process dies.
    """
    command = [sys.executable, "-P", "-m", __name__, name]
    try:
        done = subprocess.run(  # noqa: S603 - our own module; the name is shown, never run
            command, input=content, stdout=subprocess.PIPE, timeout=seconds, check=False
        )
        answer: LibraryReading | Exception = pickle.loads(done.stdout)  # noqa: S301 - we wrote it
    except (subprocess.TimeoutExpired, EOFError) as error:
        raise ConfigurationError(
            f"{name} could not be read in {seconds:g} seconds", hint=_FEWER
        ) from error
    if isinstance(answer, Exception):
        raise answer
    return answer


def main() -> None:
    """Read the file that is given, and write what came of it.

    Its texts are cut into words as each pass does: what would take a pass too long takes too long
    here.
    """
    from digest.interest.files import read_library  # noqa: PLC0415 - it loads parsers
    from digest.interest.nearness import Texts  # noqa: PLC0415 - as above

    answer: LibraryReading | Exception
    try:
        answer = read_library(sys.argv[1], sys.stdin.buffer.read())
        Texts.read((paper.title, paper.abstract) for paper in answer.papers)
    except Exception as error:  # noqa: BLE001 - who waits for it raises it
        answer = error
    sys.stdout.buffer.write(pickle.dumps(answer))


if __name__ == "__main__":
    main()
