"""An arXiv on 127.0.0.1 that answers what a test tells it to, well or badly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.fakes.loopback import Answer, Ending, LoopbackServer, Request


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "application/atom+xml; charset=utf-8"
    ending: Ending = Ending.WHOLE
    delay: float = 0.0


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]


class ScriptedArxiv(LoopbackServer):
    """Serves replies in order, or those of a function; keeps every request."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.answer: Callable[[Seen], Reply] = lambda _: Reply(b"nothing left in the script", 410)
        super().__init__(self._take)

    def script(self, *replies: Reply) -> None:
        """Answer with these, one after the other."""
        left = iter(replies)
        self.answer = lambda _: next(left, Reply(b"nothing left in the script", 410))

    def _take(self, request: Request) -> Answer:
        seen = Seen(request.method, request.path, dict(request.params), request.headers)
        self.seen.append(seen)
        said = self.answer(seen)
        headers = tuple(said.headers.items())
        return Answer(said.body, said.status, said.media_type, headers, said.ending, said.delay)
