"""Runs of neighbouring values, many at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Number = TypeVar("_Number", bound=np.integer)


def take_runs(values: NDArray[_Number], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[_Number]:
    """Return runs of values one behind the other: of each, where it starts and how long it is."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return values[np.arange(total) + np.repeat(starts - ends + counts, counts)]
