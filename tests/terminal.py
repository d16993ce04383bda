"""The command line on a real terminal: what is typed at which prompt, and all that is seen."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.command_line import ROOT

_PATIENCE = 60
_CONTROLS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_PROMPTS = ("> ", ": ")
INTERRUPT = "\x03"


def hold_dialogue(
    folder: Path,
    environ: Mapping[str, str],
    *arguments: str,
    typed: Iterable[tuple[str, str | Callable[[], str]]] = (),
) -> tuple[int, str]:
    """Run one command on a terminal of 80 columns.

    Return its exit code, and the screen without colours.

    Of `typed`, each is what is waited for on the screen, and the line that is then typed, or what
    gives that line.
    """
    pid, terminal = pty.fork()
    if not pid:  # pragma: no cover - the other process
        os.chdir(folder)
        # Tests run in the background inherit a Ctrl-C that is ignored; a person's terminal never
        # does.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **environ}
        command = [sys.executable, "-m", "digest", *arguments]
        os.execve(sys.executable, command, environment)  # noqa: S606 - our own
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    raw = ""
    seen = 0
    for words, line in typed:
        end = time.monotonic() + _PATIENCE
        while words not in (screen := _clean(raw))[seen:] or not screen.endswith(_PROMPTS):
            assert time.monotonic() < end, f"{words!r} never came:\n{screen}"
            raw += _read(terminal)
        seen = len(screen)
        answer = line if isinstance(line, str) else line()
        if answer == INTERRUPT:
            time.sleep(
                1
            )  # between a prompt and its reading Python does not hear it, and nobody is as quick
        os.write(terminal, (answer if answer == INTERRUPT else f"{answer}\n").encode())
    while more := _read(terminal, wait=_PATIENCE):
        raw += more
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), _clean(raw)


def _clean(raw: str) -> str:
    return _CONTROLS.sub("", raw).replace("\r\n", "\n")


def _read(terminal: int, wait: float = 1) -> str:
    """Return what came by now, controls and all; "" where nothing did, or the command has ended."""
    if not select.select([terminal], [], [], wait)[0]:
        return ""
    try:
        return os.read(terminal, 65_536).decode(errors="replace")
    except OSError:  # as Linux says that nobody is left at the other end
        return ""
