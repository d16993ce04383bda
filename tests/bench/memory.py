"""The memory reading a page takes, over a process that does the same but for the reading.

`python -m tests.bench.memory hold|parse|tree atom|oai FILE` prints the highest resident memory
(bytes) of a process that holds the file's bytes, reads them with our reader, or builds lxml's whole
tree of them: the tree is there to show that memory which Python does not manage is counted too.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from lxml import etree

from digest.arxiv.atom import parse_atom
from digest.arxiv.oai import parse_oai

LIMIT: Final = 10_000_000
"""Bytes over the page's own, with everything the page was read into."""

_READERS: dict[str, Callable[[bytes], object]] = {"atom": parse_atom, "oai": parse_oai}
_STATUS = Path("/proc/self/status")


def is_measurable() -> bool:
    """Whether this system tells a process's own peak; what `getrusage` says may be the parent's."""
    return _STATUS.exists() and "VmHWM:" in _STATUS.read_text(encoding="ascii")


def measure_growth(interface: str, page: Path, doing: str = "parse") -> int:
    """Return how many bytes more a process needs that reads a page than one that holds it."""
    reading = _run(doing, interface, str(page))
    holding = _run("hold", interface, str(page))
    return reading - holding


def _run(*words: str) -> int:
    command = [sys.executable, "-m", "tests.bench.memory", *words]
    root = Path(__file__).parents[2]
    done = subprocess.run(  # noqa: S603 - ourselves
        command, cwd=root, check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def _read_status(name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+) kB$", _STATUS.read_text(encoding="ascii"), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1_024


def _read_page(doing: str, interface: str, page: str) -> None:
    body = Path(page).read_bytes()
    kept: object = None
    if doing == "parse":
        kept = _READERS[interface](body)
    elif doing == "tree":
        kept = etree.fromstring(body)
    sys.stdout.write(f"{_read_status('VmHWM')}\n")
    del kept


if __name__ == "__main__":
    _read_page(*sys.argv[1:])
