"""Real processes of `digest serve`: started, killed, paused, asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.battery.kill_clocks import HostClock

ROOT = Path(__file__).parents[2]
_STOPS_WITHIN = 60.0
"""Seconds after which it hangs, however busy the machine is.

How soon it should stop is for others to judge.
"""

_LOOK = 0.02

LONGEST_AIM = 0.2
"""Seconds within which a kill strikes, at a moment nothing here decides; many mails' time."""


class Replica:
    """One process of the installation in a folder, and its successors.

    Attributes:
        number: its place among the replicas.
        started_at: when the present process was started (`time.monotonic()`).
        starts: how many processes there were.
        strange_exits: how processes ended that nobody had ended.
        clock: its host's own, where it does not live by the test clock.
    """

    def __init__(
        self,
        number: int,
        folder: Path,
        environment: dict[str, str],
        command: list[str],
        clock: HostClock | None = None,
    ) -> None:
        self.number = number
        self._folder = folder
        self._clock = clock
        self._environment = {**os.environ, **environment, "PYTHONPATH": str(ROOT)}
        self._command = [sys.executable, "-m", *command]
        self._process: subprocess.Popen[bytes] | None = None
        self.started_at = 0.0
        self.starts = 0
        self.strange_exits: list[str] = []

    @property
    def log(self) -> Path:
        """Everything all its processes said on stderr."""
        return self._folder / f"replica-{self.number}.log"

    @property
    def url(self) -> str:
        """Where it serves, "" while it does not yet."""
        words = (
            self._out.read_text(encoding="utf-8", errors="replace").split()
            if self._out.exists()
            else []
        )
        return words[2] if words[:2] == ["Serving", "at"] else ""

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        environment = self._environment | (self._clock.start() if self._clock else {})
        with self._out.open("wb") as out, self.log.open("ab") as err:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                self._command, cwd=self._folder, env=environment, stdout=out, stderr=err
            )
        self.started_at = time.monotonic()
        self.starts += 1

    def kill(self, after: float = 0.0) -> None:
        """End it, whatever it does, paused or not.

        At once, or have another process do it after so many seconds.

        This one's threads take turns: whoever wants to kill gets his turn when a server here has
        just answered, which is no moment like any other for whom it answered.
        """
        if self._process is not None:
            if after:
                wait_and_kill = ("sh", "-c", 'sleep "$0" && kill -KILL "$1"')
                subprocess.run(  # noqa: S603 - ours
                    [*wait_and_kill, f"{after:.6f}", str(self._process.pid)], check=False
                )
            else:
                self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def hasten(self) -> None:
        """Let it look at its file, and so at arXiv, now rather than at its job's next turn."""
        if self.is_alive and self.url:
            self._signal(signal.SIGHUP)

    def ask_to_stop(self) -> None:
        self._signal(signal.SIGTERM)

    def await_stop(self) -> int:
        """Return how it ended after it was asked to.

        One that does not end is killed and counts as strange.
        """
        assert self._process is not None
        try:
            code = self._process.wait(_STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self.kill()
            self.strange_exits.append(
                f"replica {self.number} did not stop within {_STOPS_WITHIN:g} s"
            )
            return -signal.SIGKILL
        if code:
            self.strange_exits.append(f"replica {self.number} stopped with exit code {code}")
        return code

    def note_strange_exit(self) -> bool:
        """Whether it ended by itself; it is noted, for it never should."""
        if self._process is None or self._process.poll() is None:
            return False
        self.strange_exits.append(
            f"replica {self.number} ended by itself: exit code {self._process.returncode}"
        )
        return True

    @property
    def _out(self) -> Path:
        return self._folder / f"replica-{self.number}.out"

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)


def await_ready(replicas: list[Replica], seconds: float = 120.0) -> None:
    """Wait until all of them serve.

    Raises:
        TimeoutError: one does not.
    """
    until = time.monotonic() + seconds
    while not all(replica.url for replica in replicas):
        if time.monotonic() > until or not all(replica.is_alive for replica in replicas):
            raise TimeoutError(
                "a replica does not serve: " + " ".join(str(one.log) for one in replicas)
            )
        time.sleep(_LOOK)


def count_complaints(replicas: list[Replica]) -> Counter[str]:
    """Return how often each kind of error or traceback stands in the logs.

    For the curious, not the verdict.
    """
    counted: Counter[str] = Counter()
    for replica in replicas:
        if replica.log.exists():
            for line in replica.log.read_text(encoding="utf-8", errors="replace").splitlines():
                if "level=error" in line or line.startswith("Traceback"):
                    said = line.partition("level=error")[2] or line
                    counted[
                        "".join("#" if letter.isdigit() else letter for letter in said[:160])
                    ] += 1
    return counted
