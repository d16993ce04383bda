"""What commands print, in a terminal of 80 columns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.golden.conftest import Golden
from tests.integration.cli.conftest import Shell, _fortnight, _logging_as_it_was, digest, world  # noqa: F401 - fixtures are found by their names here
from tests.integration.cli.test_missed import LIBRARY

SHOWN = {
    "query-show": ["query", "show", "perf", "--limit", "2"],
    "query-show-text": [
        *("query", "show", "cat:cs.PF and abs:GPU OR (ti:the Schrödinger) ANDNOT au:del_maestro"),
        *("--limit", "2"),
    ],
    "query-list": ["query", "list"],
    "try-against": [
        *("try", "cat:cs.PF AND abs:GPU", "--against", "cat:cs.PF ANDNOT cat:cs.DC", "--days", "9"),
        *("--limit", "2"),
    ],
    "subscription-list": ["subscription", "list"],
    "add": ["add", "cat:cs.DC AND abs:scheduling", "--name", "tail", "--to", "feed", "--to", "#papers"],
    "subscription-edit": ["subscription", "edit", "gpu-mail", "show=20", "--add-query", "perf"],
    "subscription-remove": ["subscription", "remove", "old-mail", "--dry-run"],
    "subscription-show": ["subscription", "show", "perf-team"],
    "delivery-list": ["delivery", "list", "--limit", "3"],
    "delivery-show-mail": ["delivery", "show", "10"],
    "delivery-show-slack": ["delivery", "show", "12"],
    "delivery-show-failed": ["delivery", "show", "13"],
    "feed-list": ["feed", "list"],
    "coverage": ["coverage", "--days", "16"],
    "coverage-checks": ["coverage", "--checks", "--limit", "2"],
    "explain": ["explain", "2611.15012"],
    "explain-nowhere": ["explain", "2611.99999"],
    "explain-sent": ["explain", "2611.14991", "gpu-mail"],
    "explain-unmet": ["explain", "https://arxiv.org/abs/2611.14987", "gpu-mail"],
    "explain-query": ["explain", "2611.15012", "gpu"],
    "explain-query-unmet": ["explain", "2611.15012", "abs:zebra OR (cat:cs.PF ANDNOT (abs:gpu OR ti:okapi))"],
    "missed": ["missed", "thesis.bib", "--limit", "3"],
    "run-dry": ["run", "--dry-run"],
    "status": ["status"],
}
_OF_THIS_RUN = (
    (r" after \d+ s ", " after 1 s "),
    (r"[\d,]+ kB", "400 kB"),
    (r"(?m)^(answer|Message-ID|  Message-ID:) .*$", r"\1 …"),
)
"""What differs from run to run."""


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize("name", SHOWN)
def test_a_screen_looks_as_it_did(
    digest: Shell,  # noqa: F811 - the fixture
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path("thesis.bib").write_text(LIBRARY, encoding="utf-8")
    text = digest(*SHOWN[name]).out
    for pattern, instead in _OF_THIS_RUN:
        text = re.sub(pattern, instead, text)
    golden(f"{name}.terminal.txt", text)
    assert [line for line in text.splitlines() if cell_len(line) > 80] == []


@pytest.mark.usefixtures("world")
def test_the_page_of_what_was_missed_looks_as_it_did(
    digest: Shell,  # noqa: F811 - the fixture
    golden: Golden,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    Path("thesis.bib").write_text(f"{LIBRARY}@misc{{odd}}", encoding="utf-8")
    digest("missed", "thesis.bib", "--output", "missed.html")
    page = Path("missed.html").read_text(encoding="utf-8")
    golden("missed.web.html", re.sub("(?s)<style>.*?</style>", "<style>…</style>", page))
