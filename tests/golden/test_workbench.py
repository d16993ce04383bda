"""What the commands around a query print, in a terminal of a hundred columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.conftest import Golden
from tests.integration.cli.conftest import (  # noqa: F401 - fixtures are found by their names here
    Shell,
    _fortnight,
    _logging_as_it_was,
    digest,
    world,
)

SHOWN = {
    "check": ["check", "cat:cs.PF and abs:GPU OR (ti:the Schrödinger) ANDNOT au:del_maestro"],
    "preview-store": ["preview", "gpu", "--days", "11", "--papers", "2"],
    "preview-arxiv": ["preview", "cat:cs.PF ANDNOT ti:latency", "--days", "30", "--papers", "1"],
    "diff": ["diff", "cat:cs.PF ANDNOT cat:cs.DC", "cat:cs.PF AND abs:GPU", "--from", "store", "--papers", "2"],
    "explain": ["explain", "gpu", "2611.15012"],
    "explain-not": ["explain", "abs:zebra OR (cat:cs.PF ANDNOT (abs:gpu OR ti:okapi))", "2611.15012"],
}


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("name", SHOWN)
def test_the_workbench_looks_as_it_did(
    digest: Shell,  # noqa: F811 - the fixture
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    golden(f"query-{name}.terminal.txt", digest("query", *SHOWN[name]).out)
