"""The page of a maintainer says what there is: rooms, states, files, names, tests."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from digest.model.messages import DeliveryState
from tests.contract.store.test_outbox_invariants import ARROWS

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "digest"
PAGE = (HOUSE / "README.md").read_text(encoding="utf-8")
PAPERS = [
    HOUSE / "README.md",
    *sorted((ROOT / ".github").glob("[SC][EO]*.md")),
    *(ROOT / ".github").rglob("*.yml"),
]
TEXT, LIST = PAGE.split("## Every file")
SPANS = [
    span
    for span in re.findall(r"`([^`\n]+)`", re.sub(r"(?ms)^```.*?^```$", "", PAGE))
    if " " not in span
]
FAR = {("dead", "held"), ("sending", "suppressed")}
"""Arrows of a whole pass of mails, and of a database that was restored.

No event of one delivery.
"""


def test_the_rooms_are_the_layers_that_the_imports_keep_to() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    shown = re.findall(
        r"(?m)^([a-z]+(?: [|:] [a-z]+)*)  ", re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE)[0]
    )
    assert shown == contracts[0]["layers"]


def test_the_diagram_has_the_states_and_the_arrows_of_a_delivery() -> None:
    arrows = {(one, other) for one, other in re.findall(r"(?m)^    (\w+) --> (\w+)", PAGE)}
    assert {state for arrow in arrows for state in arrow} == set(DeliveryState)
    assert (
        arrows
        == {(str(one), str(other)) for one, others in ARROWS.items() for other in others} | FAR
    )


def write_list() -> str:
    """Return the list of files.

    Known lines as they are, a new module's from its docstring, none that is gone.
    """
    said = dict(re.findall(r"(?m)^- `(\S+)`: (.*)$", LIST))
    lines = defaultdict[str, list[str]](list)
    for path in sorted(HOUSE.rglob("*.py")):
        name = str(path.relative_to(HOUSE))
        room = path.relative_to(HOUSE).parts[0]
        first, *_ = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split(
            "."
        )
        if path.name != "__init__.py":
            lines["Alone" if path.parent == HOUSE else room].append(
                f"- `{name}`: {said.get(name, first)}\n"
            )
    assert {*lines, "Alone"} == {*re.findall(r"(?m)^### (\w+)$", LIST)}
    return re.sub(
        r"(?m)(^### (\w+)\n\n)(?:- .*\n)*", lambda found: found[1] + "".join(lines[found[2]]), LIST
    )


def test_every_module_has_a_line_and_every_line_a_module(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        (HOUSE / "README.md").write_text(PAGE.replace(LIST, write_list()), encoding="utf-8")
    else:
        assert write_list() == LIST, "look, then run with --update-golden"


def test_every_path_that_it_names_is_there() -> None:
    places = (ROOT, HOUSE, HOUSE / "deliver/transports", ROOT / "templates/web")
    paths = {span for span in SPANS if "/" in span or span.endswith((".py", ".md", ".html"))}
    assert {path for path in paths if not any((place / path).exists() for place in places)} == {
        "rules.py",
        "step.py",
    }


def test_every_name_that_it_names_is_somewhere_in_the_house() -> None:
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for room in (HOUSE, ROOT / "tests")
        for path in room.rglob("*.py")
    )
    named = {
        span
        for span in SPANS
        if re.fullmatch(r"[\w.]+", span) and ("_" in span or span[:1].isupper())
    }
    names = {name.rpartition(".")[2] for name in named}
    assert len(names) > 30
    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: path.name)
def test_what_a_newcomer_is_told_to_run_or_to_read_is_there(paper: Path) -> None:
    text = paper.read_text(encoding="utf-8")
    named = set(
        re.findall(r"(?<![\w/.-])((?:\.ci|\.github|digest|tests|templates)/[\w./-]*\w)", text)
    )
    assert {name for name in named if not (ROOT / name).exists()} == set()
    links = re.findall(r"\]\(([^):]+)\)", text)
    assert [link for link in links if not (paper.parent / link).exists()] == []
