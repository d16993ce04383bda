"""The house as seen from outside.

What lies at the top, how long files are, what a help text costs.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.density import measure_files

ROOT = Path(__file__).parents[2]
LONGEST = 700
DENSEST = 12.0
"""Nodes of the syntax tree a statement, in the functions of one file."""

_JUDGED_FROM = 30
"""Statements in functions from which on a file is judged by itself.

A smaller one is mostly tables.
"""

FULLEST = {"digest/cli": 32, "digest/store": 26}
HEAVY = (
    *(
        "alembic",
        "anyio",
        "apscheduler",
        "asyncio",
        "httpx",
        "jinja2",
        "lxml",
        "numpy",
        "psycopg",
        "rich",
    ),
    *("slack_sdk", "smtplib", "sqlalchemy", "sqlite3", "starlette", "uvicorn"),
)


def tracked() -> list[str]:
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(  # noqa: S603 - git from the path
        listing,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("not a git checkout")
    return done.stdout.splitlines()


def test_nothing_but_what_belongs_there_lies_at_the_top() -> None:
    top = {name.partition("/")[0] for name in tracked()}
    visible = {name for name in top if not name.startswith(".")}
    assert visible == {"pyproject.toml", "README.md", "LICENSE", "digest", "templates", "tests"}


def measure_lines(names: list[str]) -> dict[str, int]:
    """Return the length of each file that is there."""
    lengths = {}
    for name in names:
        path = ROOT / name
        if path.exists():
            text = path.read_text(encoding="utf-8")
            lengths[name] = len(text.splitlines())
    return lengths


def test_no_file_is_longer_than_the_cap() -> None:
    sources = [name for name in tracked() if name.endswith(".py")]
    lengths = measure_lines(sources)
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def list_sources(room: str) -> list[str]:
    sources = [name for name in tracked() if name.startswith(f"{room}/") and name.endswith(".py")]
    return [name for name in sources if (ROOT / name).exists()]


def test_no_folder_of_the_house_is_crowded() -> None:
    folders = Counter(name.rpartition("/")[0] for name in list_sources("digest"))
    crowded = {name for name, files in folders.items() if files > FULLEST.get(name, 20)}
    assert crowded == set()


@pytest.mark.parametrize(
    ("root", "nodes", "packed"),
    [
        ("digest", 8.5, 4.0),
        ("tests", 9.0, 6.0),
    ],
)
def test_each_line_can_be_read_once(
    root: str, nodes: float, packed: float, record_property: Callable[[str, object], None]
) -> None:
    measured = measure_files(list_measured(root))
    record_property("statements", measured.statements)
    assert measured.nodes_per_act <= nodes
    assert measured.packed_per_thousand <= packed
    assert measured.wide == 0


def test_no_file_of_the_house_is_dense() -> None:
    dense = {}
    for path in list_measured("digest"):
        measured = measure_files([path])
        if measured.acts > _JUDGED_FROM and measured.nodes_per_act > DENSEST:
            dense[path.name] = measured.nodes_per_act
    assert dense == {}


def list_measured(root: str) -> list[Path]:
    """Return the files of a room that are measured: migrations stay as they were written."""
    paths = [ROOT / name for name in list_sources(root)]
    return [path for path in paths if "versions" not in path.parts]


def test_the_unit_tests_lie_as_the_rooms_do() -> None:
    files = [name.split("/") for name in tracked()]
    rooms = {parts[1] for parts in files if parts[0] == "digest"}
    tests = [parts for parts in files if parts[:2] == ["tests", "unit"]]
    tested = {parts[2] for parts in tests if len(parts) > 3}
    assert tested <= rooms


def test_no_room_is_a_bag() -> None:
    bags = {"utils", "helpers", "common", "core", "managers", "base"}
    names = set()
    for path in tracked():
        if path.startswith("digest/"):
            names |= {Path(part).stem for part in path.split("/")}
    assert names & bags == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_nothing_of_the_network_the_database_or_the_web(arguments: list[str]) -> None:
    code = (
        "import sys; from digest.cli import run_cli; run_cli(sys.argv[1:]); "
        "print(' '.join(sorted(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    modules = done.stderr.splitlines()[-1].split()
    loaded = {name.partition(".")[0] for name in modules}
    assert loaded & set(HEAVY) == set()


def test_a_run_loads_no_other_command_and_no_preview() -> None:
    code = "import sys, digest.cli.run; print(' '.join(sys.modules))"
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    others = {"digest.cli.status", "digest.cli.subscription", "digest.people.preferences"}
    assert loaded & (others | {"digest.inspect.preview"}) == set()


def test_the_command_and_the_module_are_one() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "digest", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("digest ")


def test_kinds_of_destination_are_named_in_their_table_and_where_messages_go() -> None:
    """All other rooms ask the table what is true of a kind."""
    own = ("digest/model/destinations.py", "digest/config/addresses.py")
    mentions = 0
    for name in list_sources("digest"):
        if name not in own and not name.startswith("digest/deliver/transports/"):
            source = (ROOT / name).read_text(encoding="utf-8")
            mentions += len(re.findall(r"\bDestinationKind\.[A-Z]", source))
    assert mentions <= 15
