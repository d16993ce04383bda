"""Writes messages to a text stream."""

from __future__ import annotations

import sys
import threading
from datetime import datetime
from typing import TextIO

from digest.model.destinations import Destination
from digest.model.errors import DeliveryError
from digest.model.messages import IsOurs, Message, Receipt, always_ours
from digest.model.said import Said, Saying


class ConsoleTransport:
    """Prints each message; without a stream, to standard output as it is when sending."""

    def __init__(self, *, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def resolve(self, destination: Destination) -> str:  # noqa: ARG002 - a console has one address: itself
        """Return "": a console has no address."""
        return ""

    def send(
        self,
        message: Message,
        destination: Destination,  # noqa: ARG002 - the same
        is_ours: IsOurs = always_ours,  # noqa: ARG002 - nobody else prints on it
    ) -> Receipt:
        """Print the message, ending its last line."""
        stream = self._stream or sys.stdout
        text = message.body.decode("utf-8", "replace")
        try:
            with self._lock:
                stream.write(text if text.endswith("\n") else text + "\n")
                stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream has been closed
            raise DeliveryError(
                Said.of(Saying.CONSOLE_FAILED, str(error)),
                hint=Said.of(Saying.CONSOLE_READER_GONE),
            ) from error
        return Receipt("", "printed")

    def find(
        self,
        message: Message,  # noqa: ARG002 - every transport is asked alike
        destination: Destination,  # noqa: ARG002 - every transport is asked alike
        begun_at: datetime,  # noqa: ARG002 - every transport is asked alike
    ) -> Receipt | None:
        """Never answer, but raise a permanent `DeliveryError`.

        A stream does not remember what it showed.
        """
        raise DeliveryError(Said.of(Saying.CONSOLE_NOT_ASKED), permanent=True)

    def close(self) -> None:
        """Do nothing: the stream belongs to the caller."""
