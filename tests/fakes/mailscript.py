"""What a scripted mail server says instead of yes, step by step."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """Where in a mail transaction something can happen."""

    CONNECT = "CONNECT"
    EHLO = "EHLO"
    AUTH = "AUTH"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    """Before the 354 that lets the message come."""
    END = "END"
    """After the final dot."""
    QUIT = "QUIT"


@dataclass(slots=True)
class Cue:
    """One deviation from the ordinary course.

    Attributes:
        step: where.
        reply: what is said, such as `451 4.3.0 try later`; "" leaves the ordinary reply.
        is_dropped: the connection is cut without a word.
        is_stored: whether a message that ended in a cut or a scripted reply is kept all the same.
        delay: seconds of real time before anything happens.
        times: how often it still happens.
        skip: how often it still doesn't.
        match: text the command's argument must contain.
    """

    step: Step
    reply: str = ""
    is_dropped: bool = False
    is_stored: bool = False
    delay: float = 0.0
    times: int = 1
    skip: int = 0
    match: str = ""


class Script:
    """Cues still to come; the first that applies is taken. Safe between threads."""

    def __init__(self) -> None:
        self._cues: list[Cue] = []
        self._lock = threading.Lock()

    def reply(self, step: str, reply: str, *, times: int = 1, skip: int = 0, match: str = "") -> None:
        """Answer a step with this line; nothing is stored unless the line begins with 2."""
        self._add(Cue(Step(step), reply, is_stored=reply.startswith("2"), times=times, skip=skip, match=match))

    def drop(self, step: str, *, is_stored: bool = True, times: int = 1, skip: int = 0, match: str = "") -> None:
        """Cut the connection at a step; at `END` the message is kept unless told otherwise."""
        self._add(Cue(Step(step), is_dropped=True, is_stored=is_stored, times=times, skip=skip, match=match))

    def delay(self, step: str, seconds: float, *, times: int = 1, skip: int = 0, match: str = "") -> None:
        """Answer a step as usual, but late."""
        self._add(Cue(Step(step), is_stored=True, delay=seconds, times=times, skip=skip, match=match))

    def take(self, step: Step, argument: str) -> Cue | None:
        """Return what happens at a step, None for the ordinary course."""
        with self._lock:
            for cue in self._cues:
                if cue.step is step and cue.match in argument and self._applies(cue):
                    return cue
        return None

    def clear(self) -> None:
        """Forget every cue."""
        with self._lock:
            self._cues.clear()

    def _add(self, cue: Cue) -> None:
        with self._lock:
            self._cues.append(cue)

    def _applies(self, cue: Cue) -> bool:
        if cue.skip:
            cue.skip -= 1
            return False
        cue.times -= 1
        if cue.times <= 0:
            self._cues.remove(cue)
        return True
