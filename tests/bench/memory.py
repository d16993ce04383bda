"""The memory reading a page takes, over a process that does the same but for the reading.

`python -m tests.bench.memory hold|parse|tree atom|oai FILE` prints the highest resident memory (bytes) of a
process that holds the file's bytes, reads them with our reader, or builds lxml's whole tree of them: the
tree is there to show that memory which Python does not manage is counted too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from lxml import etree

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai

LIMIT: Final = 10_000_000
"""Bytes over the page's own, with everything the page was read into."""

_READERS = {"atom": parse_atom, "oai": parse_oai}
_STATUS = Path("/proc/self/status")
_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def is_measurable() -> bool:
    """Whether this system tells a process's own peak; what `getrusage` says may be the parent's."""
    return _STATUS.exists() and _PEAK.search(_STATUS.read_text(encoding="ascii")) is not None


def measure_growth(interface: str, page: Path, doing: str = "parse") -> int:
    """Return how many bytes more a process needs at its peak that reads a page than one that holds it."""
    return _run(doing, interface, page) - _run("hold", interface, page)


def _run(doing: str, interface: str, page: Path) -> int:
    command = [sys.executable, "-m", "tests.bench.memory", doing, interface, str(page)]
    root = Path(__file__).parents[2]
    done = subprocess.run(  # noqa: S603 - ourselves
        command, cwd=root, check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def main(doing: str, interface: str, page: str) -> None:
    """Do what is asked and print the peak."""
    body = Path(page).read_bytes()
    kept: object = None
    if doing == "parse":
        kept = _READERS[interface](body)
    elif doing == "tree":
        kept = etree.fromstring(body)
    peak = _PEAK.search(_STATUS.read_text(encoding="ascii"))
    assert peak is not None
    sys.stdout.write(f"{int(peak[1]) * 1_024}\n")
    del kept


if __name__ == "__main__":
    main(*sys.argv[1:])
