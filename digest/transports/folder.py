"""A folder that gets one file per message: `.eml`, `.html`, `.txt` … as the message is named."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from digest.errors import DeliveryError
from digest.messages import Receipt
from digest.transports.fence import always_ours
from digest.transports.static_file import holds, judge_disk, write_if_changed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from digest.messages import Message
    from digest.subscriptions import Destination

_SUFFIXES = {
    "message/rfc822": ".eml",
    "application/json": ".json",
    "text/html": ".html",
    "text/plain": ".txt",
    "application/atom+xml": ".atom",
}


class FolderTransport:
    """Writes each message into the folder its destination names.

    A message's file name is a function of the message, and a file that already holds its bytes counts
    as taken: sending it again after a crash writes nothing. Another message that wants the same name
    gets its own, so nothing is ever overwritten.

    Args:
        root: folder that relative destinations are below.
    """

    def __init__(self, *, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()  # who finds a name free gets it

    def resolve(self, destination: Destination) -> str:
        """Return the folder's full path."""
        return str(self._folder(destination).resolve())

    def send(
        self,
        message: Message,
        destination: Destination,
        is_ours: Callable[[], bool] = always_ours,  # noqa: ARG002 - a file written twice is one file
    ) -> Receipt:
        """Write the file, whole or not at all.

        Raises:
            DeliveryError: the message's name is no file name, or the disk does not take it (try again).
        """
        with self._lock:
            path, is_there = self._locate(message, destination)
            if is_there:
                return Receipt(str(path), "was there already")
            write_if_changed(path, message.body)
            return Receipt(str(path), "written")

    def find(self, message: Message, destination: Destination, begun_at: datetime) -> Receipt | None:  # noqa: ARG002 - a file that holds these bytes is this message, whenever it came
        """Tell whether the message's file is there.

        Raises:
            DeliveryError: the folder cannot be read.
        """
        path, is_there = self._locate(message, destination)
        return Receipt(str(path), "was there already") if is_there else None

    def close(self) -> None:
        """Do nothing: no file stays open between messages."""

    def _folder(self, destination: Destination) -> Path:
        return self._root / Path(destination.address).expanduser()

    def _locate(self, message: Message, destination: Destination) -> tuple[Path, bool]:
        """Return the message's path, and whether it is there already."""
        path = self._folder(destination) / _choose_name(message)
        try:
            if path.exists() and not holds(path, message.body):
                path = path.with_stem(f"{path.stem}-{message.idempotency_key}")
            return path, holds(path, message.body)
        except OSError as error:
            raise judge_disk(path, error) from error


def _choose_name(message: Message) -> str:
    name = message.name or message.idempotency_key + _SUFFIXES.get(message.media_type, "")
    if name.startswith(".") or Path(name).name != name or "\\" in name or not name.isprintable():
        raise DeliveryError(
            f"{name!r} can't be a file's name",
            permanent=True,
            hint="Names carry no folder, no leading dot and no control characters.",
        )
    return name
