"""What commands print, in a terminal of 80 columns."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.golden.conftest import Golden
from tests.integration.cli.conftest import (
    Shell,
    _fortnight,  # noqa: F401 - a fixture, found by name
    _logging_as_it_was,  # noqa: F401 - the same
    digest,  # noqa: F401 - the same
    world,  # noqa: F401 - the same
)
from tests.integration.cli.fortnight import NOW, World
from tests.integration.cli.test_library import BIB, WHALES
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
    "add": [
        "add",
        "cat:cs.DC AND abs:scheduling",
        "--name",
        "tail",
        "--to",
        "feed",
        "--to",
        "#papers",
    ],
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
    "explain-query-unmet": [
        "explain",
        "2611.15012",
        "abs:zebra OR (cat:cs.PF ANDNOT (abs:gpu OR ti:okapi))",
    ],
    "missed": ["missed", "thesis.bib", "--limit", "3"],
    "library-show": ["library", "show", "lab.bib"],
    "library-check": ["library", "check", "perf-team"],
    "explain-near": ["explain", "2611.15012", "gpu-mail"],
    "explain-excluded": ["explain", "2611.15012", "perf"],
    "subscription-show-keys": ["subscription", "show", "perf-team"],
    "query-list-unreadable": ["query", "list"],
    "run-dry": ["run", "--dry-run"],
    "status": ["status"],
}
EDITED = {
    "library-check": ('name = "perf-team"', 'name = "perf-team"\nlibrary = "whales.bib"'),
    "explain-near": (
        'name = "gpu-mail"',
        """name = "gpu-mail"\nlibrary = "thesis.bib"\nread_first = ["perf", "ti:zebra"]
read_last = 'ti:"tail latency"'""",
    ),
    "explain-excluded": (
        'name = "perf-team"',
        'name = "perf-team"\nexclude_papers = ["2611.15012"]',
    ),
    "subscription-show-keys": (
        'name = "perf-team"',
        """name = "perf-team"\nexclude = 'author:"Keiko Lindquell"'
exclude_papers = ["2611.00042", "2611.00043"]\nlibrary = "thesis.bib"
not_like = "zotero:12"\nread_first = ["perf", "ti:zebra"]\nread_last = "ti:survey\"""",
    ),
    "query-list-unreadable": ('perf = "cat:cs.PF"', 'perf = "cat:cs.PF AND ("'),
}
"""What was edited in digest.toml, and taken over by a run, before some of them."""

_OF_THIS_RUN = (
    (r" after \d+ s ", " after 1 s "),
    (r"[\d,]+ kB", "400 kB"),
    (r"(?m)^(answer|Message-ID|  Message-ID:) .*$", r"\1 …"),
)
"""What differs from run to run."""


@pytest.fixture(autouse=True)
def _a_desk(
    world: World,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for file, text in (("thesis.bib", LIBRARY), ("lab.bib", BIB), ("whales.bib", WHALES)):
        (world.folder / file).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", SHOWN)
def test_a_screen_looks_as_it_did(
    digest: Shell,  # noqa: F811 - the fixture
    world: World,  # noqa: F811 - the fixture
    golden: Golden,
    name: str,
) -> None:
    if name in EDITED:
        world.edit(*EDITED[name])
        digest("run")
    text = digest(*SHOWN[name]).out.replace(str(world.folder), "…")
    for pattern, instead in _OF_THIS_RUN:
        text = re.sub(pattern, instead, text)
    golden(f"{name}.terminal.txt", text)
    assert [line for line in text.splitlines() if cell_len(line) > 80] == []


def test_what_is_said_of_a_refused_message_from_the_refusal_to_its_end(
    digest: Shell,  # noqa: F811 - the fixture
    world: World,  # noqa: F811 - the same
    golden: Golden,
) -> None:
    said = []

    def call(line: str, expect: int = 0) -> None:
        done = digest(*line.split(), expect=expect)
        told = [text for text in done.err.splitlines() if text.startswith(("error", "hint"))]
        said.append(
            "\n".join([f"$ digest {line}", *done.out.rstrip().splitlines(), *told, f"({expect})\n"])
        )

    channel = world.slack.workspace.channels["C000PAPERS"]
    world.slack.workspace.channels["C000PAPERS"] = replace(channel, is_archived=True)
    world.mail.script.clear()
    digest("delivery", "cancel", "4", "13")
    world.edit('broken = "ti:(gpu OR"', 'broken = "ti:gpu"')
    world.arxiv.replace("2611.15012", comment="now with a second half")
    world.clock.set(NOW + timedelta(days=4))
    call("run", 4)
    call("run", 4)
    call("status")
    call("delivery show 15")
    call("delivery retry --failed")
    world.clock.set(NOW + timedelta(days=11, hours=1))
    call("run", 4)
    call("delivery show 15")
    text = "\n".join(said).replace(str(world.folder), "…")
    for pattern, instead in _OF_THIS_RUN:
        text = re.sub(pattern, instead, text)
    golden("refused.terminal.txt", text)


def test_the_page_of_what_was_missed_looks_as_it_did(
    digest: Shell,  # noqa: F811 - the fixture
    golden: Golden,
) -> None:
    Path("thesis.bib").write_text(f"{LIBRARY}@misc{{odd}}", encoding="utf-8")
    digest("missed", "thesis.bib", "--output", "missed.html")
    page = Path("missed.html").read_text(encoding="utf-8")
    golden("missed.web.html", re.sub("(?s)<style>.*?</style>", "<style>…</style>", page))
