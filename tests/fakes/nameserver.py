"""A name server on 127.0.0.1 that knows the TXT records it is given."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Self

import dns.message
import dns.rcode
import dns.rrset

from tests.fakes.loopback import LOOPBACK

_LONGEST_STRING = 255


class NameServer:
    """Answers over UDP while its context lasts.

    A name above or beside none of its records does not exist.
    """

    def __init__(self, records: Mapping[str, Sequence[str]], *, is_silent: bool = False) -> None:
        self.records = dict(records)
        self._is_silent = is_silent
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((LOOPBACK, 0))
        self._thread = threading.Thread(target=self._live, daemon=True, name="nameserver")
        self._is_over = False

    @property
    def address(self) -> str:
        """Where it listens, as `host:port`."""
        return f"{LOOPBACK}:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", self._socket.getsockname())
        self._thread.join()
        self._socket.close()

    def _live(self) -> None:
        while True:
            asked, sender = self._socket.recvfrom(4096)
            if self._is_over:
                return
            if not self._is_silent:
                self._socket.sendto(self._answer(asked), sender)

    def _answer(self, asked: bytes) -> bytes:
        question = dns.message.from_wire(asked)
        reply = dns.message.make_response(question)
        name = question.question[0].name.to_text(omit_final_dot=True)
        texts = self.records.get(name, ())
        if texts:
            reply.answer.append(
                dns.rrset.from_text(f"{name}.", 60, "IN", "TXT", *map(_quote, texts))
            )
        elif not any(known == name or known.endswith(f".{name}") for known in self.records):
            reply.set_rcode(dns.rcode.NXDOMAIN)
        return reply.to_wire()


def _quote(text: str) -> str:
    """Write a record as a zone file has it: in strings of at most 255 bytes."""
    starts = range(0, len(text), _LONGEST_STRING)
    return " ".join(f'"{text[start : start + _LONGEST_STRING]}"' for start in starts)
