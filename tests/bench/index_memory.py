"""The memory an index of saved queries takes.

`python -m tests.bench.index_memory COUNT` prints by how many bytes a process has grown that added so many queries,
and by how many more at most while it held a day's papers against them: whatever it took from the system.
"""

from __future__ import annotations

import gc
import re
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from digest.query import parse_query
from digest.query.index.reverse_index import ReverseIndex
from tests.bench.papers import load_day
from tests.querying import QueryWriter, read_queries

_STATUS: Final = Path("/proc/self/status")


class Growth(NamedTuple):
    """Bytes: what the index keeps, once it is ready; and the most a match took besides."""

    kept: int
    matching: int


def measure(count: int) -> Growth:
    """Return how a process of its own grows with so many queries."""
    command = [sys.executable, "-m", "tests.bench.index_memory", str(count)]
    done = subprocess.run(  # noqa: S603 - ourselves
        command, cwd=Path(__file__).parents[2], check=True, capture_output=True, text=True
    )
    kept, matching = map(int, done.stdout.split())
    return Growth(kept, matching)


def _read_status(name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1_024


def main(count: int) -> None:
    """Build an index, match once, and print both figures."""
    _, day, others = load_day()
    texts = [query.text for query in islice(read_queries(QueryWriter(others, 1).write_realistic), count)]
    small: ReverseIndex[int] = ReverseIndex()
    small.add(0, parse_query("cat:cs.PF"))
    small.match(day)  # so that numpy, and what reading a day takes, are there before
    gc.collect()
    begun = _read_status("VmRSS")
    index: ReverseIndex[int] = ReverseIndex()
    for key, text in enumerate(texts):
        index.add(key, parse_query(text))
    index.match(day[:1])
    gc.collect()
    kept = _read_status("VmRSS") - begun
    matches = index.match(day)
    matching = _read_status("VmHWM") - begun - kept
    sys.stdout.write(f"{kept} {matching}\n")
    del matches


if __name__ == "__main__":
    main(int(sys.argv[1]))
