"""Sets of ids as bytes: sorted 64-bit integers, little-endian. One small blob instead of many rows."""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_WIDTH = 8


def pack(ids: Iterable[int]) -> bytes:
    """Return ids as bytes, sorted, each once."""
    packed = array("q", sorted(set(ids)))
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack(blob: bytes) -> tuple[int, ...]:
    """Return the ids of a blob, in growing order.

    Raises:
        ValueError: the blob was not packed here.
    """
    packed = array("q")
    packed.frombytes(blob)
    if sys.byteorder == "big":
        packed.byteswap()
    return tuple(packed)


def count_packed(blob: bytes) -> int:
    """Return how many ids a blob holds."""
    return len(blob) // _WIDTH
