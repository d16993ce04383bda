"""A mail server that speaks line by line and shows the very bytes that crossed the wire."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import BinaryIO, Self, cast


class WireServer:
    """Takes one connection after another on 127.0.0.1.

    Args:
        offers: what EHLO lists.
        verdict: the reply to the final dot; None says nothing, and waits for the client to go.
        weary: what it says to the next command after a mail it took, before it closes; "" for not a
            word.
        reads: bytes of a mail's body read before the connection is cut; None for all.
        replies: how a command begins → what is said instead of yes; "" cuts the connection.
        context: TLS from the first byte.
        dribbles: where it begins to send small pieces of an answer that never ends, and the piece:
            the greeting, a command, `TLS` for the handshake, or `END` for the verdict.
    """

    def __init__(
        self,
        *,
        offers: tuple[str, ...] = ("8BITMIME",),
        verdict: str | None = "250 2.0.0 Ok: queued as WIRE1",
        weary: str | None = None,
        reads: int | None = None,
        replies: Mapping[str, str] | None = None,
        context: ssl.SSLContext | None = None,
        dribbles: tuple[str, bytes] = ("", b""),
    ) -> None:
        self._dribbles = dribbles
        self.commands: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._offers = offers
        self._verdict = verdict
        self._weary = weary
        self._reads = reads
        self._replies = replies or {}
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._connection: socket.socket | None = None
        self._is_over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for one in (self._socket, self._connection):
            if one is not None:
                with suppress(OSError):  # the client may have left already
                    socket.socket.shutdown(one, socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(timeout=5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # the test is over
            if self._is_over:
                connection.close()
                return
            self.connections += 1
            self._connection = connection
            with connection, suppress(OSError):  # clients may leave, or dislike the certificate
                if self._context is not None:
                    self._connection = connection = self._context.wrap_socket(
                        connection, server_side=True
                    )
                with connection, connection.makefile("rwb", buffering=0) as stream:
                    self._talk(cast("BinaryIO", stream))

    def _dribble(self, stream: BinaryIO, place: str) -> None:
        """Begin here what never ends, if it is the place for it.

        Until the client leaves, or the test is over.
        """
        if not self._dribbles[0] or not place.upper().startswith(self._dribbles[0]):
            return
        while not self._is_over:
            stream.write(self._dribbles[1])
            threading.Event().wait(0.02)
        raise ConnectionAbortedError

    def _talk(self, stream: BinaryIO) -> None:
        self._dribble(stream, "GREETING")
        _say(stream, "220 wire.example")
        mails = len(self.bodies)
        is_refused = False
        while line := _read_line(stream):
            command = line.decode("utf-8").rstrip("\r\n")
            self.commands.append(command)
            self._dribble(stream, command)
            verb = command.split(" ")[0].upper()
            if self._weary is not None and len(self.bodies) > mails:
                _say(stream, *filter(None, [self._weary]))
                return
            said = (
                words
                for start, words in self._replies.items()
                if command.upper().startswith(start.upper())
            )
            reply = next(said, "250 fine")
            if verb == "EHLO":
                listed = ["wire.example", *self._offers]
                _say(
                    stream,
                    *(
                        f"250{'-' if i + 1 < len(listed) else ' '}{word}"
                        for i, word in enumerate(listed)
                    ),
                )
            elif verb == "DATA":
                _say(stream, "503 5.5.1 no valid recipients" if is_refused else "354 go on")
                if not is_refused and not self._take_body(stream):
                    return
            elif verb == "QUIT":
                _say(stream, "221 bye")
                return
            else:
                if not reply:
                    return
                if verb in ("MAIL", "RCPT"):
                    is_refused = (is_refused and verb == "RCPT") or not reply.startswith("250")
                _say(stream, reply)
                if verb == "STARTTLS" and self._dribbles[0] == "TLS":
                    stream.write(
                        b"\x16\x03\x03\x40\x00"
                    )  # the head of a long record, which never comes whole
                    self._dribble(stream, "TLS")

    def _take_body(self, stream: BinaryIO) -> bool:
        """Return whether the conversation goes on."""
        body = b""
        while not (line := _read_line(stream)).startswith(b".\r\n"):
            body += line
            if not line or (self._reads is not None and len(body) >= self._reads):
                return False
        self.bodies.append(body)
        self._dribble(stream, "END")
        if self._verdict is None:
            stream.read(1)
            return False
        _say(stream, self._verdict)
        return True


def _say(stream: BinaryIO, *lines: str) -> None:
    stream.write("".join(f"{line}\r\n" for line in lines).encode())


def _read_line(stream: BinaryIO) -> bytes:
    """Read up to CRLF and nothing else: a bare LF is no line end here."""
    line = b""
    while not line.endswith(b"\r\n") and (byte := stream.read(1)):
        line += byte
    return line
