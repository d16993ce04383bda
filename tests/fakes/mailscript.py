"""What a scripted mail server says instead of yes, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.fakes.faults import Orders


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
    """One deviation from the ordinary course at a step whose argument contains `match`.

    A reply of "" leaves the ordinary one; `is_stored` keeps a message though its sender is told
    otherwise. `delay` is in seconds of real time.
    """

    step: Step
    reply: str = ""
    is_dropped: bool = False
    is_stored: bool = False
    delay: float = 0.0
    times: int = 1
    skip: int = 0
    match: str = ""


class Script(Orders[Cue]):
    """Cues still to come; the first that applies is taken."""

    def reply(self, step: str, reply: str, **fields: Any) -> None:  # noqa: ANN401 - fields of Cue
        """Answer a step with this line; nothing is stored unless the line begins with 2."""
        self.order(Cue(Step(step), reply, is_stored=reply.startswith("2"), **fields))

    def drop(self, step: str, *, is_stored: bool = True, **fields: Any) -> None:  # noqa: ANN401
        """Cut the connection at a step; at `END` the message is kept unless told otherwise."""
        self.order(Cue(Step(step), is_dropped=True, is_stored=is_stored, **fields))

    def delay(self, step: str, seconds: float, **fields: Any) -> None:  # noqa: ANN401 - the same
        """Answer a step as usual, but late."""
        self.order(Cue(Step(step), is_stored=True, delay=seconds, **fields))

    def take(self, step: Step, argument: str) -> Cue | None:
        """Return what happens at a step, None for the ordinary course."""
        return self.take_first(lambda cue: cue.step is step and cue.match in argument)
